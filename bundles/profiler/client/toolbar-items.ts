import { createElement } from './browser.ts'
import { probePath } from './browser-probes.ts'

/** A completed request of the page to its own server. */
export interface Call {
  /** The URL without its fragment. */
  readonly url: string
  /** 0 without a response, or when the browser does not report it. */
  readonly status: number
  /** Milliseconds. */
  readonly duration: number
  /** The token of its profile; `undefined` without one. */
  readonly token: string | undefined
  /** Empty if it is not known: only the response of a recorded request names it. */
  readonly method: string
  /** A short content type such as `json`, or what has caused the call, such as `fetch`. */
  readonly type: string
  /** Bytes of the body, as they were sent; 0 if the browser does not report them. */
  readonly size: number
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

  /** The calls of the page, the latest first. */
  get calls(): readonly Call[] {
    return this.#calls
  }

  /**
   * Finds the call that has loaded a page: that of its URL, or else a later one than `last` with its path. Libraries add
   * parameters when they load a part of a page.
   */
  findPage(url: string, last: Call | undefined): Call | undefined {
    const profiled = this.#calls.filter(({ token }) => token !== undefined)
    const later = profiled.slice(0, last === undefined || !profiled.includes(last) ? undefined : profiled.indexOf(last))
    const { pathname } = new URL(url)
    return profiled.find(call => call.url === url) ?? later.find(call => new URL(call.url).pathname === pathname)
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
    const { duration, encodedBodySize: size, responseStatus: status, serverTiming } = entry
    const method = token === undefined ? '' : (findTiming('method', serverTiming) ?? 'GET')
    const call = { url: url.href, status, duration, token, method, type: typeOf(entry), size }
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
  const token = findTiming('profile', serverTiming)
  return token !== undefined && /^\w+$/.test(token) ? token : undefined
}

function findTiming(wanted: string, timings: readonly PerformanceServerTiming[]): string | undefined {
  return timings.find(({ name }) => name === wanted)?.description
}

/** Some browsers do not report the content type. */
function typeOf({ contentType = '', initiatorType }: PerformanceResourceTiming & { contentType?: string }): string {
  return /^[\w-]+\/(?:[\w.-]+\+)?([\w.-]+)/.exec(contentType)?.[1] ?? initiatorType
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
    const headings = ['Status', 'Method', 'Request', 'Type', 'Size', 'Time'].map(text =>
      createElement('th', { scope: 'col' }, text),
    )
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
    const groups = new Map<string, [Call, ...Call[]]>()
    for (const call of calls) {
      const key = `${call.method} ${call.url}`
      const group = groups.get(key)
      if (group === undefined) groups.set(key, [call])
      else group.push(call)
    }
    this.#rows.replaceChildren(...[...groups.values()].map(toRow))
  }
}

/** The row of the calls with one method and URL: the latest one, and how many there are. */
function toRow([latest, ...others]: readonly [Call, ...Call[]]): HTMLTableRowElement {
  const { duration, method, size, status, token, type, url } = latest
  const target = url.slice(location.origin.length)
  const tone = [latest, ...others].some(({ status }) => status >= 400) ? 'toolbar-row-error' : undefined
  const times = others.length === 0 ? '' : ` × ${others.length + 1}`
  const link = token === undefined ? target : createElement('a', { href: `/_profiler/${token}` }, target)
  return createElement(
    'tr',
    { class: tone },
    createElement('td', {}, status === 0 ? '–' : String(status)),
    createElement('td', {}, method || '–'),
    createElement('td', { class: 'toolbar-target' }, link, times),
    createElement('td', {}, type),
    createElement('td', {}, size === 0 ? '–' : formatSize(size)),
    createElement('td', {}, `${duration.toFixed(duration < 10 ? 1 : 0)} ms`),
  )
}

function formatSize(bytes: number): string {
  return bytes < 1024 ? `${bytes} B` : `${(bytes / 1024).toFixed(1)} KiB`
}

/** An error of the page. */
export interface PageError {
  readonly kind: 'exception' | 'rejection' | 'console' | 'resource' | 'policy'
  readonly message: string
  /** The address of the script. */
  readonly file?: string | undefined
  readonly line?: number | undefined
}

/** The errors of the page since it was loaded, which another script collects. */
export interface PageErrors {
  readonly list: PageError[]
  /** Called after each new error. */
  onError?: () => void
}

/** The errors of this page; `undefined` when no script collects them. */
export function findPageErrors(): PageErrors | undefined {
  const key = Symbol.for('profiler.page-errors')
  return (window as { [key]?: PageErrors })[key]
}

/** The most rows. */
const rowLimit = 5

/** The toolbar item that lists the errors of the page. */
export class ErrorsItem {
  readonly element: HTMLLIElement
  readonly #errors: PageErrors
  readonly #text = createElement('span', { class: 'toolbar-text' })
  readonly #link: HTMLAnchorElement
  readonly #rows = createElement('dl')

  constructor(errors: PageErrors) {
    this.#errors = errors
    const title = createElement('span', { class: 'toolbar-title' }, 'Browser')
    this.#link = createElement('a', { class: 'toolbar-link toolbar-link-error' }, title, ' ', this.#text)
    const heading = createElement('p', { class: 'toolbar-heading' }, 'Errors of this page')
    const details = createElement('div', { class: 'toolbar-details' }, heading, this.#rows)
    this.element = createElement('li', { class: 'toolbar-item toolbar-item-browser', hidden: '' }, this.#link, details)
  }

  /** The number of errors. */
  get count(): number {
    return this.#errors.list.length
  }

  /** Shows the errors that are known now. `path` is that of the profile of the page. */
  update(path: string): void {
    const { count } = this
    const panel = `${path}?panel=browser`
    this.element.hidden = count === 0
    this.#link.href = panel
    this.#text.textContent = `${count} browser ${count === 1 ? 'error' : 'errors'}`
    this.#rows.replaceChildren(
      ...this.#errors.list
        .slice(0, rowLimit)
        .map((error, index) => toErrorRow(error, `${panel}#browser-error-${index}`)),
    )
  }
}

function toErrorRow({ file = '', kind, line, message }: PageError, link: string): HTMLElement {
  const place =
    file === '' ? '' : ` · ${file.replace(`${location.origin}/`, '/')}${line === undefined ? '' : `:${line}`}`
  return createElement(
    'div',
    { class: 'toolbar-row toolbar-row-error' },
    createElement('dt', {}, kind),
    createElement('dd', {}, createElement('a', { href: link }, `${message.slice(0, 200)}${place}`)),
  )
}
