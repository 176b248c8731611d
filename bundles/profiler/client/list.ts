import { keepTwoSelected } from './compare.ts'
import { type FetchedPage, fetchPage } from './fetch-page.ts'
import { LiveList } from './live-list.ts'
import { update } from './times.ts'

/** Milliseconds after the last key: whoever types is not interrupted. */
const delay = 200

/** Filters the list of records while one types, pins without leaving it, follows new records, and can be walked with keys. */
export function enhanceList(): void {
  const search = document.getElementById('search')
  const results = document.getElementById('results')
  if (!(search instanceof HTMLFormElement) || results === null) return
  const list = new ListLoader(results)
  const live = new LiveList(results, list)
  list.onLoad = () => live.expect()
  list.onShown = () => {
    live.adopt()
    keepTwoSelected(results)
  }
  list.onShown()

  let timer = 0
  search.addEventListener('input', ({ target }) => {
    // A token is the way to a record, when it is complete.
    if (target instanceof HTMLInputElement && target.name === 'token') return
    clearTimeout(timer)
    timer = setTimeout(() => void list.load(addressOf(search), { keepsAddress: true }), delay)
  })
  results.addEventListener('submit', event => {
    const { submitter } = event
    if (!(submitter instanceof HTMLButtonElement) || !submitter.matches('.pin')) return
    event.preventDefault()
    void list.change(submitter)
  })
  document.addEventListener('keydown', event => walk(event, results))
}

/** What the page is asked for with other results: the server answers as it would to the form. */
function addressOf(search: HTMLFormElement): string {
  const fields = [...new FormData(search)].flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && value !== '' && name !== 'token' ? [[name, value]] : [],
  )
  return `${search.action}?${new URLSearchParams(fields)}`
}

/** How a list that was loaded is shown. */
export interface LoadOptions {
  /** Whether the address of the page becomes the one that was loaded. */
  readonly keepsAddress?: boolean
  /** Whether rows are marked that were not there before. */
  readonly marksNew?: boolean
}

/** Puts results of the server in the place of those that are shown. */
export class ListLoader {
  /** Called when something is asked for, and when it is shown. */
  onLoad: () => void = () => {}
  onShown: () => void = () => {}
  readonly #results: HTMLElement
  #loading: AbortController | undefined

  constructor(results: HTMLElement) {
    this.#results = results
  }

  /** Whether something was asked for that is not shown yet. */
  get isLoading(): boolean {
    return this.#loading !== undefined
  }

  /** Loads a page of the list; false when that was not possible, or something else was asked for meanwhile. */
  async load(address: string, options: LoadOptions = {}, init: RequestInit = {}): Promise<boolean> {
    this.#loading?.abort()
    const loading = new AbortController()
    this.#loading = loading
    this.onLoad()
    try {
      const page = await fetchPage(address, { ...init, signal: loading.signal })
      return this.#loading === loading && this.#show(page, options)
    } catch {
      // The server may be about to restart; whoever follows it tries again.
      return false
    } finally {
      if (this.#loading === loading) this.#loading = undefined
    }
  }

  /** Does what a button of a row says, which leads back to the list, and to the same button. */
  async change(button: HTMLButtonElement): Promise<void> {
    const token = button.closest('tr')?.dataset.token
    const isDone = await this.load(button.formAction, {}, { method: 'POST' })
    if (isDone) this.#results.querySelector<HTMLElement>(`tr[data-token="${token}"] .pin`)?.focus()
  }

  #show({ address, document: page }: FetchedPage, { keepsAddress = false, marksNew = false }: LoadOptions): boolean {
    const fresh = page.getElementById('results')
    if (fresh === null) return false
    const results = this.#results
    const known = new Set(rowsOf(results).map(({ dataset }) => dataset.token))
    const selected = new Set(selectedIn(results).map(({ value }) => value))
    for (const row of rowsOf(fresh)) if (marksNew && !known.has(row.dataset.token)) row.classList.add('is-new')
    for (const box of fresh.querySelectorAll<HTMLInputElement>('.select input')) box.checked = selected.has(box.value)
    update(fresh)
    const focused = results.contains(document.activeElement) && document.activeElement?.closest('tr')?.dataset.token
    results.replaceChildren(...fresh.childNodes)
    // Whoever walks through the list stays where they are.
    if (focused)
      results.querySelector<HTMLElement>(`tr[data-token="${focused}"] .entry`)?.focus({ preventScroll: true })
    results.dataset.live = fresh.dataset.live
    document.title = page.title
    if (keepsAddress) history.replaceState(null, '', address)
    this.onShown()
    return true
  }
}

function rowsOf(results: HTMLElement): HTMLElement[] {
  return [...results.querySelectorAll<HTMLElement>('tr[data-token]')]
}

function selectedIn(results: HTMLElement): HTMLInputElement[] {
  return [...results.querySelectorAll<HTMLInputElement>('.select input:checked')]
}

/** `j` and `k` go from row to row; Enter opens the one that has the focus, as any link. */
function walk({ altKey, ctrlKey, key, metaKey, target }: KeyboardEvent, results: HTMLElement): void {
  if (altKey || ctrlKey || metaKey || (key !== 'j' && key !== 'k')) return
  if (target instanceof Element && target.matches('input:not([type=checkbox]), select, textarea')) return
  const rows = rowsOf(results)
  const current = rows.findIndex(row => row.contains(document.activeElement))
  const next = key === 'j' ? current + 1 : Math.max(0, current - 1)
  rows[Math.min(next, rows.length - 1)]?.querySelector<HTMLElement>('.entry')?.focus()
}
