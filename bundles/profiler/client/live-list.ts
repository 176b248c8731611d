import { createElement } from './browser.ts'

/** Loads the list again. */
export interface Loader {
  /** Whether a request is in progress: the live list waits for it. */
  readonly isLoading: boolean
  load(url: string, options: { readonly marksNew: boolean }): Promise<boolean>
}

/** Milliseconds between two loads, so that a busy server is not loaded further. */
const loadInterval = 500

/** New profiles are counted up to this number. */
const pendingLimit = 1000

/** Milliseconds after the pointer or the focus has left the list, before it changes. */
const quietTime = 1000

/** Milliseconds between two announcements of a screen reader. */
const announcementInterval = 5000

/** Milliseconds before a retry after the stream has ended: doubled with each failure. */
const retryDelay = { first: 500, longest: 30_000 }

/**
 * Shows new profiles of all server processes while the page is visible. The list does not change while it is in use (below
 * the pointer, with the focus, or with a selection): then a button shows the number of new profiles.
 */
export class LiveList {
  readonly #results: HTMLElement
  readonly #loader: Loader
  readonly #state = createElement('span', { class: 'live-state' })
  readonly #button = createElement('button', { class: 'button small news', type: 'button', hidden: '' })
  readonly #announcer = createElement('p', { class: 'unseen', role: 'status' })
  readonly #pending = new Set<string>()
  /** The pending tokens that the results of the current request include. */
  #requested: readonly string[] = []
  #hasMany = false
  #source: EventSource | undefined
  #streamUrl = ''
  #failures = 0
  #retryTimer = 0
  #loadTimer = 0
  #announceTimer = 0
  #unannounced = 0

  constructor(results: HTMLElement, loader: Loader) {
    this.#results = results
    this.#loader = loader
    results.before(this.#announcer)
    this.#button.addEventListener('click', ({ detail }) => void this.#showAll(detail === 0))
    for (const type of ['pointerleave', 'focusout', 'change']) {
      results.addEventListener(type, () => this.#schedule(quietTime))
    }
    document.addEventListener('visibilitychange', () => this.#follow())
    addEventListener('pagehide', () => this.#close())
    addEventListener('pageshow', ({ persisted }) => persisted && this.#follow())
  }

  /** To be called when a request for the list begins: its results include all profiles that are known now. */
  onLoad(): void {
    this.#requested = [...this.#pending]
    this.#hasMany = false
  }

  /** To be called when results are shown: adds the button and the state to them, and opens the stream for their filters. */
  onShown(): void {
    for (const token of this.#requested) this.#pending.delete(token)
    this.#button.hidden = true
    this.#results.querySelector('.list-head')?.append(this.#button, this.#state)
    this.#follow()
  }

  #follow(): void {
    const url = document.hidden ? '' : (this.#results.dataset.live ?? '')
    if (url === this.#streamUrl) return
    this.#close()
    this.#streamUrl = url
    this.#state.textContent = ''
    if (url !== '') this.#open()
  }

  #open(): void {
    const source = new EventSource(this.#streamUrl)
    this.#source = source
    source.addEventListener('open', () => {
      this.#failures = 0
      this.#showState('Live')
      // Profiles that were stored between the page load and the start of the stream.
      if (!this.#isInUse() && !this.#loader.isLoading) void this.#load()
    })
    source.addEventListener('profiles', ({ data }) => {
      for (const token of String(data).split(' ')) this.#pending.add(token)
      if (this.#pending.size > pendingLimit) this.#stopCounting()
      this.#schedule(loadInterval)
    })
    source.addEventListener('reload', () => {
      this.#hasMany = true
      this.#schedule(loadInterval)
    })
    source.addEventListener('error', () => this.#reopen())
  }

  /** Over the limit, profiles are not counted. */
  #stopCounting(): void {
    this.#pending.clear()
    this.#hasMany = true
  }

  /** Reconnects with a growing delay: the retry of browsers has none, and ends after some errors. */
  #reopen(): void {
    this.#source?.close()
    this.#showState('Reconnecting')
    const wait = Math.min(retryDelay.first * 2 ** this.#failures++, retryDelay.longest)
    clearTimeout(this.#retryTimer)
    this.#retryTimer = setTimeout(() => this.#open(), wait)
  }

  #close(): void {
    this.#source?.close()
    this.#source = undefined
    this.#streamUrl = ''
    clearTimeout(this.#retryTimer)
  }

  #showState(state: string): void {
    this.#state.textContent = state
    this.#state.classList.toggle('is-live', state === 'Live')
  }

  #schedule(delay: number): void {
    if (this.#loadTimer !== 0 || (this.#pending.size === 0 && !this.#hasMany)) return
    this.#loadTimer = setTimeout(() => {
      this.#loadTimer = 0
      if (this.#loader.isLoading) this.#schedule(loadInterval)
      else if (this.#isInUse()) this.#offer()
      else void this.#load()
    }, delay)
  }

  /** Whether the list is below the pointer, or has the focus or a selection. */
  #isInUse(): boolean {
    const used = this.#results.querySelector('table:hover, .select input:checked, :focus-visible:not(.news)')
    const selection = getSelection()
    const isSelecting = selection !== null && !selection.isCollapsed && this.#results.contains(selection.anchorNode)
    return used !== null || isSelecting
  }

  #offer(): void {
    const count = this.#countUnknown()
    this.#button.textContent = this.#hasMany ? 'Many new' : `${count} new`
    this.#button.hidden = !this.#hasMany && count === 0
    if (!this.#button.hidden) this.#announce(count)
  }

  #countUnknown(): number {
    return [...this.#pending].filter(token => !this.#results.querySelector(`tr[data-token="${token}"]`)).length
  }

  /** After a key press on the button, the focus moves to the first row. */
  async #showAll(isByKey: boolean): Promise<void> {
    await this.#load()
    if (isByKey) this.#results.querySelector<HTMLElement>('.entry')?.focus({ preventScroll: true })
  }

  async #load(): Promise<void> {
    const count = this.#countUnknown()
    if (await this.#loader.load(location.href, { marksNew: true })) this.#announce(count)
  }

  #announce(count: number): void {
    this.#unannounced = Math.max(this.#unannounced, count)
    if (count === 0 || this.#announceTimer !== 0) return
    this.#announcer.textContent = `${count} new ${count === 1 ? 'profile' : 'profiles'}`
    this.#unannounced = 0
    this.#announceTimer = setTimeout(() => {
      this.#announceTimer = 0
      if (this.#unannounced > 0) this.#announce(this.#unannounced)
    }, announcementInterval)
  }
}
