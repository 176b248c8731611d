import { createElement } from './create-element.ts'
import type { Call, CallList } from './toolbar-call-list.ts'

/** The item of the bar that lists the calls of the page since it was loaded. */
export class CallsItem {
  readonly element: HTMLLIElement
  readonly #list: CallList
  readonly #text = createElement('span', { class: 'toolbar-text' })
  readonly #link: HTMLButtonElement
  readonly #rows = createElement('tbody')

  constructor(list: CallList, onClear: () => void) {
    this.#list = list
    const title = createElement('span', { class: 'toolbar-title' }, 'Requests of this page')
    // There is no panel to go to: what it does is to show its details, as all items do when they have the focus.
    this.#link = createElement('button', { class: 'toolbar-link', type: 'button' }, title, ' ', this.#text)
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
    this.element = createElement('li', { class: 'toolbar-item toolbar-item-calls', hidden: '' }, this.#link, details)
  }

  /** How many of the calls have failed. */
  get failures(): number {
    return this.#list.calls.filter(({ status }) => status >= 400).length
  }

  update(): void {
    const { calls } = this.#list
    const { failures } = this
    this.element.hidden = calls.length === 0
    this.#text.textContent = `${calls.length} ${calls.length === 1 ? 'request' : 'requests'}`
    if (failures > 0) this.#text.textContent += `, ${failures} failed`
    this.#link.classList.toggle('toolbar-link-error', failures > 0)
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
