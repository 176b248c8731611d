import { closestTo, countOf, createElement, updateTimes } from './browser.ts'
import { type FetchedPage, fetchPage, fieldsOf } from './page.ts'
import { Preview } from './preview.ts'

/** Milliseconds after the last key before the list is filtered. */
const debounce = 200

/**
 * Makes the list of profiles interactive: it is filtered as the user types, shows new profiles,
 * pins without a page load, and has keyboard navigation with a preview.
 */
export function enhanceList(): void {
  const search = document.getElementById('search')
  const results = document.getElementById('results')
  if (!(search instanceof HTMLFormElement) || results === null) return
  const onShown = () => {
    showLocalSpans(results)
    live.onShown()
    limitSelection(results)
    preview.mark()
  }
  const preview = new Preview(document.getElementById('preview'))
  const list = new ListLoader(results, { onLoad: () => live.onLoad(), onShown })
  const live = new LiveList(results, list)
  onShown()

  let timer = 0
  search.addEventListener('input', ({ target }) => {
    // A token opens its profile, when the form is submitted.
    if (target instanceof HTMLInputElement && target.name === 'token') return
    clearTimeout(timer)
    timer = setTimeout(() => void list.load(urlOf(search), { changesUrl: true }), debounce)
  })
  results.addEventListener('submit', event => {
    const { submitter } = event
    if (!(submitter instanceof HTMLButtonElement) || !submitter.matches('.pin')) return
    event.preventDefault()
    void list.submit(submitter)
  })
  document.addEventListener('keydown', event => {
    // Enter opens the profile, as for any link.
    const row = moveFocus(event, rowsOf(results), '.entry')
    if (event.key === 'Escape') preview.close()
    else if (row !== undefined) preview.show(row)
  })
}

/**
 * Names the bars of the histogram in the time zone of the browser; the server writes UTC. Their
 * links have the exact times.
 */
function showLocalSpans(results: HTMLElement): void {
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
  for (const link of results.querySelectorAll('.histogram a')) {
    const { searchParams } = new URL(link.getAttribute('href') ?? '', location.href)
    const toDate = (name: string) => new Date(Number(searchParams.get(name)) * 1000)
    const title = link.querySelector('title')
    if (title === null) continue
    const counts = String(title.textContent).replace(/^.* UTC: /, '')
    title.textContent = `${format.formatRange(toDate('start'), toDate('end'))}: ${counts}`
  }
}

/** The URL of the results: the same as that of the submitted form. */
function urlOf(search: HTMLFormElement): string {
  const fields = fieldsOf(search).filter(([name]) => name !== 'token')
  return `${search.action}?${new URLSearchParams(fields)}`
}

/** How a loaded list is shown. */
interface LoadOptions {
  /** Whether the URL of the page changes to the loaded one. */
  readonly changesUrl?: boolean
  /** Whether rows that were not in the list before are marked. */
  readonly marksNew?: boolean
}

/** Called when a request begins, and when its results are shown. */
interface ListCallbacks {
  readonly onLoad: () => void
  readonly onShown: () => void
}

/** Loads the list from the server and replaces the shown one. */
class ListLoader {
  readonly #results: HTMLElement
  readonly #callbacks: ListCallbacks
  #loading: AbortController | undefined

  constructor(results: HTMLElement, callbacks: ListCallbacks) {
    this.#results = results
    this.#callbacks = callbacks
  }

  /** Whether a request is in progress. */
  get isLoading(): boolean {
    return this.#loading !== undefined
  }

  /** Loads a page of the list. Gives false when that fails, or when a later call replaces this one. */
  async load(url: string, options: LoadOptions = {}, init: RequestInit = {}): Promise<boolean> {
    this.#loading?.abort()
    const loading = new AbortController()
    this.#loading = loading
    this.#callbacks.onLoad()
    let isShown = false
    try {
      const page = await fetchPage(url, { ...init, signal: loading.signal })
      isShown = this.#loading === loading && this.#show(page, options)
    } catch {
      // The server may be restarting: the live list retries.
    }
    if (this.#loading === loading) this.#loading = undefined
    return isShown
  }

  /** Sends the form of a button in a row, shows the list again, and gives the focus back to the button. */
  async submit(button: HTMLButtonElement): Promise<void> {
    const token = button.closest('tr')?.dataset.token
    const isDone = await this.load(button.formAction, {}, { method: 'POST' })
    if (isDone) this.#focus(token, '.pin')
  }

  #show({ document: page, url }: FetchedPage, { changesUrl = false, marksNew = false }: LoadOptions): boolean {
    const fresh = page.getElementById('results')
    if (fresh === null) return false
    const results = this.#results
    const known = new Set(rowsOf(results).map(({ dataset }) => dataset.token))
    const selected = new Set(selectedIn(results).map(({ value }) => value))
    for (const row of rowsOf(fresh)) if (marksNew && !known.has(row.dataset.token)) row.classList.add('is-new')
    for (const box of fresh.querySelectorAll<HTMLInputElement>('.select input')) box.checked = selected.has(box.value)
    updateTimes(fresh)
    const focused = results.contains(document.activeElement) && document.activeElement?.closest('tr')?.dataset.token
    results.replaceChildren(...fresh.childNodes)
    // The counts of the footer are those of the list.
    document.querySelector('.recording > p')?.replaceWith(...page.querySelectorAll('.recording > p'))
    // Keyboard navigation continues at the same row.
    if (focused) this.#focus(focused, '.entry')
    Object.assign(results.dataset, fresh.dataset)
    document.title = page.title
    if (changesUrl) history.replaceState(null, '', url)
    this.#callbacks.onShown()
    return true
  }

  #focus(token: string | undefined, selector: string): void {
    const row = rowsOf(this.#results).find(({ dataset }) => dataset.token === token)
    row?.querySelector<HTMLElement>(selector)?.focus({ preventScroll: true })
  }
}

function rowsOf(results: HTMLElement): HTMLElement[] {
  return [...results.querySelectorAll<HTMLElement>('tr[data-token]:not([hidden])')]
}

function selectedIn(results: HTMLElement): HTMLInputElement[] {
  return [...results.querySelectorAll<HTMLInputElement>('.select input:checked')]
}

/** The row to which `j`, `k`, or an arrow moves; its link or its line gets the focus. `undefined` for other keys. */
function moveFocus(event: KeyboardEvent, rows: readonly HTMLElement[], focused: string): HTMLElement | undefined {
  const { altKey, ctrlKey, key, metaKey } = event
  const step = ['k', 'ArrowUp', '', 'ArrowDown', 'j'].indexOf(key) - 2
  if (altKey || ctrlKey || metaKey || Math.abs(step) > 2 || step === 0) return undefined
  if (closestTo(event, 'input:not([type=checkbox]), select, textarea, .preview, dialog') !== null) return undefined
  const current = rows.findLastIndex(row => row.contains(document.activeElement))
  const row = rows[Math.max(0, Math.min(current + Math.sign(step), rows.length - 1))]
  if (row === undefined) return undefined
  event.preventDefault()
  row.querySelector<HTMLElement>(focused)?.focus()
  return row
}

/** What gets the focus of an item: its line, or the link of a line without details. */
const itemTarget = ':is(summary, .item-text a)'

/** `j` and `k` move the focus from item to item of a panel, and Enter unfolds or opens one, as any summary or link. */
export function enableItems(): void {
  document.addEventListener('keydown', event => {
    if (event.key !== 'j' && event.key !== 'k') return
    const items = [...document.querySelectorAll<HTMLElement>(`.item:has(${itemTarget})`)]
    moveFocus(
      event,
      items.filter(item => item.checkVisibility()),
      itemTarget,
    )
  })
}

/** Limits the selection to two profiles: the third one replaces the first. */
function limitSelection(results: HTMLElement): void {
  const bar = results.querySelector<HTMLElement>('.compare-bar')
  const text = bar?.querySelector('p')
  const button = bar?.querySelector('button')
  if (!bar || !text || !button) return
  const boxes = [...results.querySelectorAll<HTMLInputElement>('.select input')]
  let selected = boxes.filter(({ checked }) => checked)
  const showSelection = () => {
    text.textContent = selected.length === 2 ? '2 selected' : '1 selected: select another one, then'
    button.disabled = selected.length !== 2
  }
  for (const box of boxes) {
    box.addEventListener('change', () => {
      selected = box.checked ? [...selected, box] : selected.filter(other => other !== box)
      for (const extra of selected.splice(0, selected.length - 2)) extra.checked = false
      showSelection()
    })
  }
  showSelection()
}

/** Loads the list again. */
interface Loader {
  /** Whether a request is in progress: the live list waits for it. */
  readonly isLoading: boolean
  load(url: string, options: { readonly marksNew: boolean }): Promise<boolean>
}

/** Milliseconds between two loads, so that a busy server is not loaded further. The first one waits for nothing. */
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
 * Shows new profiles of all server processes while the page is visible. The list does not change while it is in
 * use (below the pointer, with the focus, or with a selection): then a button shows the number of new profiles.
 */
class LiveList {
  readonly #results: HTMLElement
  readonly #loader: Loader
  readonly #state = createElement('span', { class: 'live-state' })
  readonly #button = createElement('button', { class: 'button small news', type: 'button', hidden: '' })
  readonly #announcer = createElement('p', { class: 'unseen', role: 'status' })
  readonly #pending = new Set<string>()
  /** The pending tokens that the results of the current request include. */
  #requested: readonly string[] = []
  #hasMany = false
  #isResting = false
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

  /**
   * To be called when results are shown: adds the button and the state to them, and opens the stream for their filters.
   */
  onShown(): void {
    for (const token of this.#requested) this.#pending.delete(token)
    this.#button.hidden = true
    this.#results.querySelector('.live')?.append(this.#button, this.#state)
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
    // The stream begins with the profiles that were stored after those of the page.
    const source = new EventSource(`${this.#streamUrl}&after=${this.#results.dataset.newest}`)
    this.#source = source
    source.addEventListener('open', () => {
      this.#failures = 0
      this.#showState('Live')
    })
    source.addEventListener('profiles', ({ data }) => {
      for (const token of String(data).split(' ')) this.#pending.add(token)
      if (this.#pending.size > pendingLimit) this.#stopCounting()
      this.#schedule(this.#isResting ? loadInterval : 0)
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
    this.#isResting = true
    setTimeout(() => {
      this.#isResting = false
    }, loadInterval)
    if (await this.#loader.load(location.href, { marksNew: true })) this.#announce(count)
  }

  #announce(count: number): void {
    this.#unannounced = Math.max(this.#unannounced, count)
    if (count === 0 || this.#announceTimer !== 0) return
    this.#announcer.textContent = countOf(count, 'new profile')
    this.#unannounced = 0
    this.#announceTimer = setTimeout(() => {
      this.#announceTimer = 0
      if (this.#unannounced > 0) this.#announce(this.#unannounced)
    }, announcementInterval)
  }
}

/** Updates the statistics of routes, or of one route, when there are new profiles. */
export function enhanceRoutes(): void {
  const results = document.querySelector<HTMLElement>('#route-statistics, #route')
  if (results === null) return
  let isLoading = false
  const load = async (url: string) => {
    isLoading = true
    live.onLoad()
    // The server may be restarting: the stream reconnects.
    const page = await fetchPage(url).catch(() => undefined)
    isLoading = false
    const fresh = page?.document.getElementById(results.id)
    if (!fresh) return false
    results.replaceChildren(...fresh.childNodes)
    Object.assign(results.dataset, fresh.dataset)
    updateTimes(results)
    live.onShown()
    return true
  }
  const live: LiveList = new LiveList(results, {
    get isLoading() {
      return isLoading
    },
    load,
  })
  live.onShown()
}
