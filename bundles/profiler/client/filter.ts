import { createElement } from './browser.ts'

/**
 * Makes `<input data-filter="id" hidden>` filter the rows of the element with that id: its table rows, or the children of a
 * list. A `<select>`, a radio button or a checkbox with this attribute filters too, by the `data-` attribute of its name:
 * see {@link RowFilter}. Without scripts the form of the controls is submitted; with scripts it has no button, and the URL
 * of the page follows the filter. If the rows need several pages, the server filters.
 */
export function enableFiltering(root: ParentNode): void {
  const controls = [...root.querySelectorAll<HTMLInputElement | HTMLSelectElement>('[data-filter]')]
  for (const id of new Set(controls.map(({ dataset }) => dataset.filter ?? ''))) {
    const target = document.getElementById(id)
    if (target === null || root.querySelector(`[data-rows="${id}"]`) !== null) continue
    connect(
      controls.filter(({ dataset }) => dataset.filter === id),
      target,
    )
  }
}

function connect(controls: readonly (HTMLInputElement | HTMLSelectElement)[], target: HTMLElement): void {
  const filter = new RowFilter(controls, target)
  const status = createElement('span', { class: 'found', role: 'status' })
  const apply = () => {
    const { found, isFiltering, total } = filter.apply()
    status.textContent = isFiltering ? `${found} of ${total}` : ''
  }
  for (const control of controls) {
    control.hidden = false
    control.addEventListener('input', () => {
      apply()
      if (control.form !== null) updateUrl(control.form)
    })
    if (control.matches('select, [type="radio"], [type="checkbox"]')) continue
    // Outside of the label: inside, it would be a part of the name of the control.
    const place = control.closest('label') ?? control
    place.after(status)
    control.addEventListener('keydown', event => {
      if (!(event instanceof KeyboardEvent) || event.key !== 'Escape' || control.value === '') return
      event.preventDefault()
      control.value = ''
      control.dispatchEvent(new Event('input', { bubbles: true }))
    })
  }
  disableSubmit(controls[0]?.form ?? null)
  apply()
  // Rows that are added later are filtered too.
  new MutationObserver(apply).observe(target, { childList: true, subtree: true })
}

/** The form needs no submit button: each change filters at once. */
function disableSubmit(form: HTMLFormElement | null): void {
  if (form === null) return
  form.addEventListener('submit', event => event.preventDefault())
  for (const button of form.querySelectorAll('button')) button.hidden = true
}

/** Writes the filter to the URL, so that a reload or a shared link shows the same rows. */
function updateUrl(form: HTMLFormElement): void {
  // The URL of the profile, also on the page of the latest profile.
  const url = new URL(form.action)
  const fields = [...new FormData(form)].filter((field): field is [string, string] => field[1] !== '')
  url.search = new URLSearchParams(fields).toString()
  history.replaceState(history.state, '', url)
}

/** The result of a filter. */
interface FilterResult {
  readonly found: number
  readonly total: number
  /** Whether any control has a value. */
  readonly isFiltering: boolean
}

type Control = HTMLInputElement | HTMLSelectElement

/**
 * Hides the rows of a table or list that do not match all controls. All words of a text must occur in the row. The value of
 * a `<select>` or radio button named `level` must be one of the words in `data-level`; an empty value matches all rows. A
 * checkbox named `level` shows the rows with a `data-level`; they are hidden while it is off.
 */
class RowFilter {
  readonly #controls: readonly Control[]
  readonly #target: HTMLElement
  readonly #texts = new WeakMap<HTMLElement, string>()

  constructor(controls: readonly Control[], target: HTMLElement) {
    this.#controls = controls
    this.#target = target
  }

  /** Shows and hides rows, and opens closed details that contain a match. */
  apply(): FilterResult {
    const rows = rowsOf(this.#target)
    const texts = this.#controls.filter(isText)
    const words = texts.flatMap(({ value }) => value.toLowerCase().split(/\s+/).filter(Boolean))
    const switches = this.#controls.filter(isCheckbox)
    const choices = this.#controls.filter(control => !isText(control) && !isCheckbox(control) && isChosen(control))
    let found = 0
    for (const row of rows) {
      const isFound =
        choices.every(({ name, value }) => hasWord(row.dataset[name], value)) &&
        switches.every(({ checked, name }) => checked || row.dataset[name] === undefined) &&
        words.every(word => this.#textOf(row).includes(word))
      row.hidden = !isFound
      if (isFound) found++
      if (isFound && words.length > 0) unfold(row, this.#target)
    }
    const isFiltering = words.length > 0 || choices.length > 0
    return { found, total: rows.length, isFiltering }
  }

  #textOf(row: HTMLElement): string {
    const known = this.#texts.get(row)
    if (known !== undefined) return known
    const text = String(row.textContent).toLowerCase()
    this.#texts.set(row, text)
    return text
  }
}

/** Rows of a nested table belong to the row around it. */
function rowsOf(target: HTMLElement): HTMLElement[] {
  if (target.matches('ul, ol, dl')) return [...target.children].filter(child => child instanceof HTMLElement)
  return [...target.querySelectorAll<HTMLElement>('tbody > tr')].filter(row => {
    const outer = row.parentElement?.closest('tr') ?? null
    return outer === null || !target.contains(outer)
  })
}

function isText(control: Control): boolean {
  return control instanceof HTMLInputElement && !control.matches('[type="radio"], [type="checkbox"]')
}

function isCheckbox(control: Control): control is HTMLInputElement {
  return control instanceof HTMLInputElement && control.type === 'checkbox'
}

function isChosen(control: Control): boolean {
  return control.value !== '' && (control instanceof HTMLSelectElement || control.checked)
}

function hasWord(text: string | undefined, word: string): boolean {
  return text !== undefined && (text === word || text.split(' ').includes(word))
}

function unfold(row: HTMLElement, within: HTMLElement): void {
  for (
    let details = row.parentElement?.closest('details');
    details && within.contains(details);
    details = details.parentElement?.closest('details')
  ) {
    details.open = true
  }
}
