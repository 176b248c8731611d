import { createElement } from './create-element.ts'

/** Loads what is listed now. */
export interface Loader {
  /** Whether something was asked for that is not here yet: whoever waits for it comes first. */
  readonly isLoading: boolean
  load(address: string, options: { readonly marksNew: boolean }): Promise<boolean>
}

/** Milliseconds between two loads: who is asked very much is not asked more by those who look. */
const pace = 500

/** More new records than this are many. */
const pendingLimit = 1000

/** Milliseconds after the pointer or the focus has left the list. */
const calm = 1000

/** Milliseconds between two announcements to those who hear the page. */
const announcementPace = 5000

/** Milliseconds before the first new try after a stream has ended, and the longest. */
const retry = { first: 500, longest: 30_000 }

/**
 * Follows new records, of all processes of the server, as long as the page is visible. Where somebody is in the list, it
 * does not move: a button tells how many there are.
 */
export class LiveList {
  readonly #results: HTMLElement
  readonly #loader: Loader
  readonly #state = createElement('span', { class: 'live-state' })
  readonly #button = createElement('button', { class: 'button small news', type: 'button', hidden: '' })
  readonly #announcer = createElement('p', { class: 'unseen', role: 'status' })
  readonly #pending = new Set<string>()
  /** Those of them that a page which was asked for will show. */
  #expected: readonly string[] = []
  #hasMany = false
  #source: EventSource | undefined
  #address = ''
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
    for (const left of ['pointerleave', 'focusout', 'change']) {
      results.addEventListener(left, () => this.#schedule(calm))
    }
    document.addEventListener('visibilitychange', () => this.#follow())
    addEventListener('pagehide', () => this.#close())
    addEventListener('pageshow', ({ persisted }) => persisted && this.#follow())
  }

  /** What is known by now will be part of results that were asked for. */
  expect(): void {
    this.#expected = [...this.#pending]
    this.#hasMany = false
  }

  /** Takes its place in results that are new, and follows what they are of. */
  adopt(): void {
    for (const token of this.#expected) this.#pending.delete(token)
    this.#button.hidden = true
    this.#results.querySelector('.list-head')?.append(this.#button, this.#state)
    this.#follow()
  }

  #follow(): void {
    const address = document.hidden ? '' : (this.#results.dataset.live ?? '')
    if (address === this.#address) return
    this.#close()
    this.#address = address
    this.#state.textContent = ''
    if (address !== '') this.#open()
  }

  #open(): void {
    const source = new EventSource(this.#address)
    this.#source = source
    source.addEventListener('open', () => {
      this.#failures = 0
      this.#tell('Live')
      // What came between the page and the stream.
      if (!this.#isInUse() && !this.#loader.isLoading) void this.#load()
    })
    source.addEventListener('records', ({ data }) => {
      for (const token of String(data).split(' ')) this.#pending.add(token)
      if (this.#pending.size > pendingLimit) this.#forget()
      this.#schedule(pace)
    })
    source.addEventListener('reload', () => {
      this.#hasMany = true
      this.#schedule(pace)
    })
    source.addEventListener('error', () => this.#reopen())
  }

  /** So many need not be told one by one. */
  #forget(): void {
    this.#pending.clear()
    this.#hasMany = true
  }

  /** Browsers give up after some errors, and do not wait longer each time. */
  #reopen(): void {
    this.#source?.close()
    this.#tell('Reconnecting')
    const wait = Math.min(retry.first * 2 ** this.#failures++, retry.longest)
    clearTimeout(this.#retryTimer)
    this.#retryTimer = setTimeout(() => this.#open(), wait)
  }

  #close(): void {
    this.#source?.close()
    this.#source = undefined
    this.#address = ''
    clearTimeout(this.#retryTimer)
  }

  #tell(state: string): void {
    this.#state.textContent = state
    this.#state.classList.toggle('is-live', state === 'Live')
  }

  #schedule(delay: number): void {
    if (this.#loadTimer !== 0 || (this.#pending.size === 0 && !this.#hasMany)) return
    this.#loadTimer = setTimeout(() => {
      this.#loadTimer = 0
      if (this.#loader.isLoading) this.#schedule(pace)
      else if (this.#isInUse()) this.#offer()
      else void this.#load()
    }, delay)
  }

  /** Whether something would move below the pointer, the focus or the selection of somebody. */
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

  /** Who has pressed it with a key goes on from the first row. */
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
    this.#announcer.textContent = `${count} new ${count === 1 ? 'record' : 'records'}`
    this.#unannounced = 0
    this.#announceTimer = setTimeout(() => {
      this.#announceTimer = 0
      if (this.#unannounced > 0) this.#announce(this.#unannounced)
    }, announcementPace)
  }
}
