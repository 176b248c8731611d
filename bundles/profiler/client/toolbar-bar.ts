import { createElement, recall, remember } from './browser.ts'
import { enablePlaces } from './places.ts'

/** Opens and folds the toolbar. */
const shortcut = 'Alt+Shift+P'

/** The number of times that the toolbar is attached again after a script of the page has removed it. */
const attachLimit = 50

/**
 * The toolbar: an element beside the body, so that it survives a replaced body, and the text of the page does not include
 * it. Its shadow root separates its styles from those of the page.
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

  /** `extra` are items for each profile: they are inserted before the last one. */
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
    items?.lastElementChild?.before(...this.#extra)
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
    const { build = '', exception = '', sentence = '', status = '', tone = 'plain' } = this.#section.dataset
    const isFolded = this.#isFolded
    this.#frame.toggleAttribute('data-folded', isFolded)
    this.#host.toggleAttribute('data-folded', isFolded)
    this.#section.hidden = isFolded
    this.#toggle.setAttribute('aria-expanded', String(!isFolded))
    const purpose = `${isFolded ? 'Show' : 'Hide'} the profiler toolbar (${shortcut})`
    this.#toggle.title = isFolded && sentence !== '' ? `${sentence}\n${purpose}` : purpose
    const label = `${isFolded ? 'Show' : 'Hide'} the profiler toolbar`
    this.#toggle.replaceChildren(createElement('span', { class: 'toolbar-title' }, label))
    this.#fit()
    if (!isFolded) return
    const mark = (text: string, tone: string) => {
      this.#toggle.append(' ', createElement('span', { class: 'toolbar-mark', 'data-tone': tone }, text))
    }
    mark(status, tone)
    if (exception !== '') mark(exception, 'error')
    if (build !== '') mark(build, 'error')
    if (this.#errors > 0) mark(`${this.#errors} browser ${this.#errors === 1 ? 'error' : 'errors'}`, 'error')
    if (this.#failures > 0) mark(`${this.#failures} failed ${this.#failures === 1 ? 'request' : 'requests'}`, 'error')
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
  // The pointer and the focus are in an element.
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
 * Loads the toolbar of a profile, with retries while the server does not respond. Gives `undefined` when all retries fail,
 * or when `isWanted` becomes false.
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
