import { createElement } from './create-element.ts'
import { recall, remember } from './memory.ts'

/** What the bar can be unfolded and folded by. */
const shortcut = 'Alt+Shift+P'

/** Who takes the bar off the page again and again does not want it there. */
const attachLimit = 50

/**
 * The bar: an element of its own beside the body, so that whoever replaces the body does not lose it, and texts of the
 * page do not contain it; with a shadow root, so that styles of neither reach the other.
 */
export class Bar {
  readonly #host = document.createElement('profiler-toolbar')
  readonly #frame = createElement('div', { class: 'toolbar-frame', 'data-theme': recall('theme') ?? undefined })
  readonly #toggle = createElement('button', { class: 'toolbar-toggle', type: 'button', 'aria-keyshortcuts': shortcut })
  readonly #extra: HTMLElement
  #section: HTMLElement | undefined
  #isFolded = readIsFolded()
  #failures = 0
  /** What had the focus before the bar was unfolded by a key. */
  #before: Element | null = null

  /** `extra` is an item of the page's own, before the last of each record's. */
  constructor(sheet: CSSStyleSheet, extra: HTMLElement) {
    this.#extra = extra
    const root = this.#host.attachShadow({ mode: 'open' })
    root.adoptedStyleSheets = [sheet]
    root.append(this.#frame)
    this.#toggle.addEventListener('click', () => this.#fold(!this.#isFolded))
    window.addEventListener('keydown', event => this.#onKey(event))
    this.#frame.addEventListener('pointerover', keepInside)
    this.#frame.addEventListener('focusin', keepInside)
    this.#frame.addEventListener('pointerout', event => wake(event, event.relatedTarget))
    this.#frame.addEventListener('focusout', event => wake(event, event.relatedTarget))
  }

  /** Shows a record in the place of another. */
  show(section: HTMLElement): void {
    this.#section = section
    const items = section.querySelector('.toolbar-items')
    items?.insertBefore(this.#extra, items.lastElementChild)
    this.#frame.replaceChildren(section, this.#toggle)
    this.#update()
    if (!this.#host.isConnected) this.#attach()
  }

  /** Shows how many calls of the page have failed, also when it is folded. */
  tell(failures: number): void {
    this.#failures = failures
    this.#update()
  }

  #attach(): void {
    let attempts = 0
    const attach = () => {
      if (this.#host.isConnected || attempts++ > attachLimit) return
      document.documentElement.append(this.#host)
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
    const { exception = '', status = '', tone = 'plain' } = this.#section.dataset
    const isFolded = this.#isFolded
    this.#frame.toggleAttribute('data-folded', isFolded)
    this.#host.toggleAttribute('data-folded', isFolded)
    this.#section.hidden = isFolded
    this.#toggle.setAttribute('aria-expanded', String(!isFolded))
    this.#toggle.title = `${isFolded ? 'Show' : 'Hide'} the profiler toolbar (${shortcut})`
    const label = `${isFolded ? 'Show' : 'Hide'} the profiler toolbar`
    this.#toggle.replaceChildren(createElement('span', { class: 'toolbar-title' }, label))
    if (!isFolded) return
    const mark = (text: string, tone: string) => {
      this.#toggle.append(' ', createElement('span', { class: 'toolbar-mark', 'data-tone': tone }, text))
    }
    mark(status, tone)
    if (exception !== '') mark(exception, 'error')
    if (this.#failures > 0) mark(`${this.#failures} failed`, 'error')
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key === 'Escape') this.#dismiss()
    // The key, not the letter: with Alt, some keyboards write another.
    if (!event.altKey || !event.shiftKey || event.ctrlKey || event.metaKey || event.code !== 'KeyP') return
    event.preventDefault()
    if (this.#isFolded) this.#before = document.activeElement
    this.#fold(!this.#isFolded)
    if (!this.#isFolded) this.#frame.querySelector<HTMLElement>('.toolbar-link')?.focus()
    else if (this.#before instanceof HTMLElement) this.#before.focus()
  }

  /** Hides the details that are open, until the item is left. */
  #dismiss(): void {
    for (const item of this.#frame.querySelectorAll('.toolbar-item:is(:hover, :focus-within)')) {
      item.toggleAttribute('data-dismissed', true)
    }
  }
}

function wake({ target }: Event, next: EventTarget | null): void {
  const item = target instanceof Element ? target.closest('.toolbar-item') : null
  if (!(next instanceof Node && item?.contains(next))) item?.removeAttribute('data-dismissed')
}

/** Unless somebody has decided, it is open for people and folded for programs that click. */
function readIsFolded(): boolean {
  const state = recall('toolbar')
  return state === null ? navigator.webdriver : state === 'folded'
}

/** Details begin where their item does, unless there is too little room to its right. */
function keepInside({ target }: Event): void {
  const item = target instanceof Element ? target.closest('.toolbar-item') : null
  const details = item?.querySelector<HTMLElement>('.toolbar-details')
  if (!details || details.contains(target as Node)) return
  details.style.translate = 'none'
  const { right } = details.getBoundingClientRect()
  const excess = Math.ceil(right - document.documentElement.clientWidth + 8)
  if (excess > 0) details.style.translate = `${-excess}px`
}
