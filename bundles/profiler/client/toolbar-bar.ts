import { countOf, createElement, recall, remember } from './browser.ts'
import { probePath } from './browser-probes.ts'
import { enablePlaces } from './places.ts'

/** The keys that open and fold the toolbar. */
const shortcut = 'Alt+Shift+P'

/** The number of times that the toolbar is attached again after a script of the page has removed it. */
const attachLimit = 50

/**
 * The toolbar: an element beside the body, so that it survives a replaced body, and the text of
 * the page does not include it. Its shadow root separates its styles from those of the page.
 */
export class Bar {
  readonly #host = document.createElement('profiler-toolbar')
  readonly #frame = createElement('div', { class: 'toolbar-frame', 'data-theme': recall('theme') ?? undefined })
  readonly #toggle = createElement('button', { class: 'toolbar-toggle', type: 'button', 'aria-keyshortcuts': shortcut })
  readonly #extra: readonly HTMLElement[]
  #section: HTMLElement | undefined
  #isFolded = readIsFolded()
  #failures = 0
  #errors = 0
  /** The element that had the focus before the shortcut opened the toolbar. */
  #focusedBefore: Element | null = null

  /** `extra` are items for each profile: that of errors is the second one, others are before the last one. */
  constructor(sheet: CSSStyleSheet, extra: readonly HTMLElement[]) {
    this.#extra = extra
    const root = this.#host.attachShadow({ mode: 'open' })
    root.adoptedStyleSheets = [sheet]
    root.append(this.#frame)
    enablePlaces(this.#frame)
    this.#toggle.addEventListener('click', () => this.#fold(!this.#isFolded))
    window.addEventListener('keydown', event => this.#onKey(event))
    window.addEventListener('resize', () => this.#fit())
    this.#frame.addEventListener('pointerover', keepInside)
    this.#frame.addEventListener('focusin', keepInside)
    this.#frame.addEventListener('pointerout', event => undismiss(event, event.relatedTarget))
    this.#frame.addEventListener('focusout', event => undismiss(event, event.relatedTarget))
  }

  /** Shows a profile instead of the previous one. */
  show(section: HTMLElement): void {
    this.#section = section
    const items = section.querySelector('.toolbar-items')
    const [errors = '', ...others] = this.#extra
    items?.firstElementChild?.after(errors)
    items?.lastElementChild?.before(...others)
    this.#frame.replaceChildren(section, this.#toggle)
    this.#update()
    if (!this.#host.isConnected) this.#attach()
  }

  /** Shows the numbers of failed calls and of errors of the page, also when the toolbar is folded. */
  showFailures(failures: number, errors: number): void {
    this.#failures = failures
    this.#errors = errors
    this.#update()
  }

  #attach(): void {
    let attempts = 0
    const attach = () => {
      if (this.#host.isConnected || attempts++ > attachLimit) return
      document.documentElement.append(this.#host)
      this.#fit()
    }
    attach()
    new MutationObserver(attach).observe(document.documentElement, { childList: true })
  }

  #fold(isFolded: boolean): void {
    this.#isFolded = isFolded
    remember('toolbar', isFolded ? 'folded' : 'open')
    this.#update()
  }

  #update(): void {
    if (this.#section === undefined) return
    const {
      build = '',
      mistake = '',
      sentence = '',
      status = '',
      tone = 'plain',
      trouble = '',
      troubleTone = 'error',
    } = this.#section.dataset
    const isFolded = this.#isFolded
    this.#frame.toggleAttribute('data-folded', isFolded)
    this.#host.toggleAttribute('data-folded', isFolded)
    this.#section.hidden = isFolded
    this.#toggle.setAttribute('aria-expanded', String(!isFolded))
    const label = `${isFolded ? 'Show' : 'Hide'} the profiler toolbar`
    const lines = [...(isFolded ? [mistake, sentence] : []), `${label} (${shortcut})`]
    this.#toggle.title = lines.filter(line => line !== '').join('\n')
    this.#toggle.replaceChildren(createElement('span', { class: 'toolbar-title' }, label))
    this.#fit()
    if (!isFolded) return
    const mark = (text: string, tone: string) => {
      this.#toggle.append(' ', createElement('span', { class: `toolbar-mark badge badge-${tone}` }, text))
    }
    mark(status, tone)
    if (trouble !== '') mark(trouble, troubleTone)
    if (build !== '') mark(build, 'error')
    if (this.#errors > 0) mark(countOf(this.#errors, 'browser error'), 'error')
    if (this.#failures > 0) mark(countOf(this.#failures, 'failed request'), 'error')
  }

  /** Leaves out minor items, the last one first, until the others fit; marks the frame if they still do not. */
  #fit(): void {
    const items = this.#frame.querySelector('.toolbar-items')
    const isTight = () => {
      const [end = 0, last = 0] = [items, items?.lastElementChild].map(each => each?.getBoundingClientRect().right)
      return Math.floor(last) > end
    }
    const minor = [...this.#frame.querySelectorAll('.toolbar-minor:not(.toolbar-item-record)')]
    for (const item of minor) item.removeAttribute('data-left-out')
    this.#frame.removeAttribute('data-tight')
    for (const item of minor.reverse()) item.toggleAttribute('data-left-out', isTight())
    this.#frame.toggleAttribute('data-tight', isTight())
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key === 'Escape') this.#dismiss()
    // `code` instead of `key`: with Alt, some keyboard layouts give another letter.
    if (!event.altKey || !event.shiftKey || event.ctrlKey || event.metaKey || event.code !== 'KeyP') return
    event.preventDefault()
    if (this.#isFolded) this.#focusedBefore = document.activeElement
    this.#fold(!this.#isFolded)
    if (!this.#isFolded) this.#frame.querySelector<HTMLElement>('.toolbar-link')?.focus()
    else if (this.#focusedBefore instanceof HTMLElement) this.#focusedBefore.focus()
  }

  /** Hides open details until the pointer or the focus leaves their item. */
  #dismiss(): void {
    for (const item of this.#frame.querySelectorAll('.toolbar-item:is(:hover, :focus-within)')) {
      item.toggleAttribute('data-dismissed', true)
    }
  }
}

function undismiss(event: Event, next: EventTarget | null): void {
  const item = itemOf(event)
  if (!(next instanceof Node && item?.contains(next))) item?.removeAttribute('data-dismissed')
}

function itemOf({ target }: Event): Element | null {
  // The target of events of the pointer and of the focus is an element.
  return (target as Element).closest('.toolbar-item')
}

/** By default the toolbar is open, and folded for automated browsers. */
function readIsFolded(): boolean {
  const state = recall('toolbar')
  return state === null ? navigator.webdriver : state === 'folded'
}

/** Aligns details with their item, and moves them to the left where they would exceed the page. */
function keepInside(event: Event): void {
  const details = itemOf(event)?.querySelector<HTMLElement>('.toolbar-details')
  if (!details || event.composedPath().includes(details)) return
  details.style.translate = 'none'
  const { right } = details.getBoundingClientRect()
  const excess = Math.ceil(right - document.documentElement.clientWidth + 8)
  if (excess > 0) details.style.translate = `${-excess}px`
}

/** Milliseconds before each retry: a restart of the server takes a few seconds. */
const retryDelays: readonly number[] = [300, 600, 1200, 2400, 4800, 9600, 9600, 9600]

/** Retries after a 404: a profile that is still unknown then was not stored. */
const unknownRetries = 2

/**
 * Loads the toolbar of a profile, with retries while the server does not respond. Gives
 * `undefined` when all retries fail, or when `isWanted` becomes false.
 */
export async function loadToolbar(path: string, isWanted: () => boolean): Promise<HTMLElement | undefined> {
  for (let attempt = 0; isWanted(); attempt++) {
    const { body, status } = await loadDocument(path)
    if (body !== undefined) return body
    const delay = retryDelays[attempt]
    if (delay === undefined || (status === 404 && attempt >= unknownRetries)) return undefined
    await new Promise(resolve => setTimeout(resolve, delay))
  }
  return undefined
}

interface Loaded {
  /** 0 without a response. */
  readonly status: number
  readonly body: HTMLElement | undefined
}

/**
 * Uses XMLHttpRequest because it parses the response to a document: a page that requires Trusted Types forbids
 * `innerHTML`, and may forbid a policy of the profiler.
 */
function loadDocument(path: string): Promise<Loaded> {
  return new Promise(resolve => {
    const request = new XMLHttpRequest()
    request.open('GET', path)
    request.responseType = 'document'
    request.timeout = 10_000
    request.addEventListener('loadend', () => {
      const { responseXML, status } = request
      const toolbar = status === 200 && responseXML?.querySelector<HTMLElement>('.toolbar')
      resolve({ status, body: toolbar ? document.importNode(toolbar, true) : undefined })
    })
    request.send()
  })
}

/** Loads the stylesheet, with all lengths in pixels: the application may have changed the size of `1rem`. */
export async function loadStyles(path: string): Promise<CSSStyleSheet> {
  const response = await fetch(path)
  const text = await response.text()
  const sheet = new CSSStyleSheet()
  await sheet.replace(text.replace(/([\d.]+)rem\b/g, (_, size) => `${Number(size) * 16}px`))
  return sheet
}

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
 * Collects the calls of a page from the resource timing of the browser, so that no function of the
 * page is replaced. The Server-Timing header of a response contains the token of its profile.
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
   * Finds the call that has loaded a page: that of its URL, or else a later one than `last` with
   * its path. Libraries add parameters when they load a part of a page.
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
    // Other items link to a panel. This item has no panel: it shows its details when it has the focus, as all items do.
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
    this.#text.textContent = countOf(calls.length, 'request') + (failures > 0 ? `, ${failures} failed` : '')
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
  return bytes < 1024 ? `${bytes} B` : `${(bytes / 1024).toFixed(bytes < 10_189 ? 1 : 0)} KiB`
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
    this.#text.textContent = countOf(count, 'browser error')
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
