import { closestTo, type FetchedPage, fetchPage } from './browser.ts'
import { LiveList } from './live-list.ts'
import { updateTimes } from './times.ts'

/** Milliseconds after the last key before the list is filtered. */
const debounce = 200

/**
 * Makes the list of profiles interactive: it is filtered as the user types, shows new profiles, pins without a page load,
 * and has keyboard navigation.
 */
export function enhanceList(): void {
  const search = document.getElementById('search')
  const results = document.getElementById('results')
  if (!(search instanceof HTMLFormElement) || results === null) return
  const onShown = () => {
    showLocalSpans(results)
    live.onShown()
    limitSelection(results)
  }
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
  document.addEventListener('keydown', event => moveFocus(event, results))
}

/** Names the bars of the histogram in the time zone of the browser; the server writes UTC. Their links have the exact times. */
function showLocalSpans(results: HTMLElement): void {
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
  for (const link of results.querySelectorAll('.histogram a')) {
    const { searchParams } = new URL(link.getAttribute('href') ?? '', location.href)
    const toDate = (name: string) => new Date(Number(searchParams.get(name)) * 1000)
    const counts = (link.getAttribute('aria-label') ?? '').replace(/^.* UTC: /, '')
    const label = `${format.formatRange(toDate('start'), toDate('end'))}: ${counts}`
    link.setAttribute('aria-label', label)
    const title = link.querySelector('title')
    if (title !== null) title.textContent = label
  }
}

/** The URL of the results: the same as that of the submitted form. */
function urlOf(search: HTMLFormElement): string {
  const fields = [...new FormData(search)].flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && value !== '' && name !== 'token' ? [[name, value]] : [],
  )
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
    // Keyboard navigation continues at the same row.
    if (focused) this.#focus(focused, '.entry')
    results.dataset.live = fresh.dataset.live
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
  return [...results.querySelectorAll<HTMLElement>('tr[data-token]')]
}

function selectedIn(results: HTMLElement): HTMLInputElement[] {
  return [...results.querySelectorAll<HTMLInputElement>('.select input:checked')]
}

/** `j` and `k` move the focus from row to row; Enter opens the profile, as for any link. */
function moveFocus(event: KeyboardEvent, results: HTMLElement): void {
  const { altKey, ctrlKey, key, metaKey } = event
  if (altKey || ctrlKey || metaKey || (key !== 'j' && key !== 'k')) return
  if (closestTo(event, 'input:not([type=checkbox]), select, textarea') !== null) return
  const rows = rowsOf(results)
  const current = rows.findIndex(row => row.contains(document.activeElement))
  const next = key === 'j' ? current + 1 : Math.max(0, current - 1)
  rows[Math.min(next, rows.length - 1)]?.querySelector<HTMLElement>('.entry')?.focus()
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
