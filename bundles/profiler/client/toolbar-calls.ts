import { createElement } from './browser.ts'
import { probePath } from './browser-probes.ts'

/** A completed request of the page to its own server. */
export interface Call {
  /** Without a fragment. */
  readonly url: string
  /** 0 without a response, or when the browser does not report it. */
  readonly status: number
  /** Milliseconds. */
  readonly duration: number
  /** The token of its profile; `undefined` without one. */
  readonly token: string | undefined
}

/** Older calls are removed. */
const callLimit = 100

/** Requests by scripts; requests by other initiators are listed only if they have a profile. */
const scriptInitiators: readonly string[] = ['fetch', 'xmlhttprequest', 'beacon']

/**
 * Collects the calls of a page from the resource timing of the browser, so that no function of the page is replaced. The
 * Server-Timing header of a response contains the token of its profile.
 */
export class CallList {
  readonly #onCall: (call: Call) => void
  #calls: Call[] = []

  constructor(onCall: (call: Call) => void) {
    this.#onCall = onCall
  }

  /** The latest first. */
  get calls(): readonly Call[] {
    return this.#calls
  }

  /** Collects future calls, and earlier ones of this page. */
  watch(): void {
    const observer = new PerformanceObserver(list => {
      for (const entry of list.getEntries()) this.#add(entry as PerformanceResourceTiming)
    })
    observer.observe({ type: 'resource', buffered: true })
  }

  clear(): void {
    this.#calls = []
  }

  #add(entry: PerformanceResourceTiming): void {
    const url = new URL(entry.name)
    url.hash = ''
    if (url.origin !== location.origin || isOwn(url.pathname)) return
    if (entry.responseStatus === 404 && probePath.test(url.pathname)) return
    const token = tokenOf(entry)
    if (token === undefined && !scriptInitiators.includes(entry.initiatorType)) return
    const call = { url: url.href, status: entry.responseStatus, duration: entry.duration, token }
    this.#calls = [call, ...this.#calls].slice(0, callLimit)
    this.#onCall(call)
  }
}

/** The token of the profile of the page, from its response. For a 304 it differs from the token in the HTML. */
export function findPageToken(): string | undefined {
  const [entry] = performance.getEntriesByType('navigation')
  return entry === undefined ? undefined : tokenOf(entry as PerformanceNavigationTiming)
}

/** Browsers give `serverTiming` only to secure contexts, which include pages of this machine. */
function tokenOf({ serverTiming = [] }: Partial<PerformanceResourceTiming>): string | undefined {
  const token = serverTiming.find(({ name }) => name === 'profile')?.description
  return token !== undefined && /^\w+$/.test(token) ? token : undefined
}

function isOwn(path: string): boolean {
  return path.startsWith('/_profiler/') || path.startsWith('/_wdt/')
}

/** The toolbar item that lists the calls of the page since it was loaded. */
export class CallsItem {
  readonly element: HTMLLIElement
  readonly #list: CallList
  readonly #text = createElement('span', { class: 'toolbar-text' })
  readonly #button: HTMLButtonElement
  readonly #rows = createElement('tbody')

  constructor(list: CallList, onClear: () => void) {
    this.#list = list
    const title = createElement('span', { class: 'toolbar-title' }, 'Requests of this page')
    // Other items link to a panel. This one has none: with the focus, it shows its details, as all items do.
    this.#button = createElement('button', { class: 'toolbar-link', type: 'button' }, title, ' ', this.#text)
    const clear = createElement('button', { class: 'toolbar-button', type: 'button' }, 'Clear')
    clear.addEventListener('click', onClear)
    const headings = ['Status', 'Request', 'Time'].map(text => createElement('th', { scope: 'col' }, text))
    const table = createElement(
      'table',
      { class: 'toolbar-table' },
      createElement('thead', {}, createElement('tr', {}, ...headings)),
      this.#rows,
    )
    const heading = createElement('p', { class: 'toolbar-heading' }, 'Requests of this page ', clear)
    const details = createElement('div', { class: 'toolbar-details' }, heading, table)
    this.element = createElement('li', { class: 'toolbar-item toolbar-item-calls', hidden: '' }, this.#button, details)
  }

  /** The number of failed calls. */
  get failures(): number {
    return this.#list.calls.filter(({ status }) => status >= 400).length
  }

  update(): void {
    const { calls } = this.#list
    const { failures } = this
    this.element.hidden = calls.length === 0
    this.#text.textContent = `${calls.length} ${calls.length === 1 ? 'request' : 'requests'}`
    if (failures > 0) this.#text.textContent += `, ${failures} failed`
    this.#button.classList.toggle('toolbar-link-error', failures > 0)
    this.#rows.replaceChildren(...calls.map(toRow))
  }
}

function toRow({ duration, status, token, url }: Call): HTMLTableRowElement {
  const target = url.slice(location.origin.length)
  const tone = status >= 400 ? 'toolbar-row-error' : undefined
  const link = token === undefined ? target : createElement('a', { href: `/_profiler/${token}` }, target)
  return createElement(
    'tr',
    { class: tone },
    createElement('td', {}, status === 0 ? '–' : String(status)),
    createElement('td', { class: 'toolbar-target' }, link),
    createElement('td', {}, `${duration.toFixed(duration < 10 ? 1 : 0)} ms`),
  )
}
