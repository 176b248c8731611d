import { createElement } from './browser.ts'

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
      ...this.#errors.list.slice(0, rowLimit).map((error, index) => toRow(error, `${panel}#browser-error-${index}`)),
    )
  }
}

function toRow({ file = '', kind, line, message }: PageError, link: string): HTMLElement {
  const place =
    file === '' ? '' : ` · ${file.replace(`${location.origin}/`, '/')}${line === undefined ? '' : `:${line}`}`
  return createElement(
    'div',
    { class: 'toolbar-row toolbar-row-error' },
    createElement('dt', {}, kind),
    createElement('dd', {}, createElement('a', { href: link }, `${message.slice(0, 200)}${place}`)),
  )
}
