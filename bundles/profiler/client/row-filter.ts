/** What a filter has left over. */
export interface FilterResult {
  readonly found: number
  readonly total: number
  /** Whether any control asks for anything. */
  readonly isFiltering: boolean
}

type Control = HTMLInputElement | HTMLSelectElement

/**
 * Hides the rows of a table or list that do not meet all of its controls. A text has to occur in a row, word by word. A
 * `<select>` or radio button named `level` asks for its value among the words of `data-level`; an empty value asks for
 * nothing. A checkbox of that name shows the rows that have a `data-level` at all; they are hidden while it is off.
 */
export class RowFilter {
  readonly #controls: readonly Control[]
  readonly #target: HTMLElement
  readonly #texts = new WeakMap<HTMLElement, string>()

  constructor(controls: readonly Control[], target: HTMLElement) {
    this.#controls = controls
    this.#target = target
  }

  /** Shows and hides rows; opens what is folded where something is found in it. */
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

/** The rows of a table within a row belong to that row. */
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
