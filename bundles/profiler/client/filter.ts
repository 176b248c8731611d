import { createStatus, fetchPage, fieldsOf, openAround } from './page.ts'

/**
 * Makes `<input data-filter="id" hidden>` filter the rows of the element with that id: its table rows, or
 * the children of a list. A radio button with this attribute filters too, by the `data-` attribute of its
 * name: see {@link RowFilter}. Without scripts the form of the controls is submitted; with scripts it has no
 * button, and the URL of the page follows the filter. If the rows need several pages, the server filters.
 */
export function enableFiltering(root: ParentNode): void {
  const controls = [...root.querySelectorAll<HTMLInputElement>('[data-filter]')]
  for (const id of new Set(controls.map(({ dataset }) => dataset.filter ?? ''))) {
    const target = document.getElementById(id)
    if (target === null || root.querySelector(`[data-rows="${id}"]`) !== null) continue
    connect(
      controls.filter(({ dataset }) => dataset.filter === id),
      target,
    )
  }
}

function connect(controls: readonly HTMLInputElement[], target: HTMLElement): void {
  const filter = new RowFilter(controls, target)
  const status = createStatus()
  const apply = () => {
    status.textContent = filter.apply()
  }
  for (const control of controls) {
    // Fewer rows are seen at once.
    control.hidden &&= control.form === null && rowsOf(target).length < 8
    control.addEventListener('input', () => {
      apply()
      if (control.form !== null) updateUrl(control.form)
    })
    if (!isText(control)) continue
    // The status is outside of the label, because all text in a label is the name of its control.
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
  url.search = new URLSearchParams(fieldsOf(form)).toString()
  history.replaceState(history.state, '', url)
}

/**
 * Hides the rows of a table or list that do not match all controls. All words of a text must occur
 * in the row. The value of a chosen radio button named `level` must be one of the words in
 * `data-level`; an empty value matches all rows.
 */
class RowFilter {
  readonly #controls: readonly HTMLInputElement[]
  readonly #target: HTMLElement
  readonly #texts = new WeakMap<HTMLElement, string>()

  constructor(controls: readonly HTMLInputElement[], target: HTMLElement) {
    this.#controls = controls
    this.#target = target
  }

  /** Shows and hides rows, and opens closed details that contain a match. Says how many were found. */
  apply() {
    const rows = rowsOf(this.#target)
    const texts = this.#controls.filter(isText)
    const words = texts.flatMap(({ value }) => value.toLowerCase().split(/\s+/).filter(Boolean))
    const choices = this.#controls.filter(control => !isText(control) && control.checked && control.value !== '')
    let found = 0
    for (const row of rows) {
      const isFound =
        choices.every(({ name, value }) => hasWord(row.dataset[name], value)) &&
        words.every(word => this.#textOf(row).includes(word))
      row.hidden = !isFound
      if (isFound) found++
      if (isFound && words.length > 0) openAround(row, this.#target)
    }
    return words.length > 0 || choices.length > 0 ? `${found} of ${rows.length}` : ''
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

function isText({ type }: HTMLInputElement): boolean {
  return type !== 'radio'
}

function hasWord(text: string | undefined, word: string): boolean {
  return text !== undefined && (text === word || text.split(' ').includes(word))
}

/**
 * Makes the event tree easier to search. `<input data-tree-filter="id" hidden>` filters the tree with that id: it shows
 * the rows that contain the text, with their ancestors and descendants. Events of sub-requests can be opened in place.
 */
export function enhanceEventTree(root: ParentNode): void {
  for (const input of root.querySelectorAll<HTMLInputElement>('input[data-tree-filter]')) {
    const tree = document.getElementById(input.dataset.treeFilter ?? '')
    if (tree === null) continue
    input.hidden = false
    input.addEventListener('input', () => filter(tree, input.value.trim().toLowerCase()))
    offerSubRequests(tree)
  }
}

function filter(tree: Element, text: string): void {
  for (const row of tree.querySelectorAll('li')) {
    // The text of a row includes its descendants: the ancestors of a match are matches.
    row.hidden = !String(row.textContent).toLowerCase().includes(text) && !hasMatchAbove(row, tree, text)
    if (text !== '' && !row.hidden) for (const details of row.querySelectorAll(':scope > details')) open(details)
  }
}

/** Whether an ancestor matches by its own name: the listeners of a matching event are shown. */
function hasMatchAbove(row: Element, tree: Element, text: string): boolean {
  for (let above = row.parentElement; above !== null && above !== tree; above = above.parentElement) {
    const line = above.matches('li') ? above.querySelector(':scope > details > .line .name') : null
    if (line?.textContent?.toLowerCase().includes(text)) return true
  }
  return false
}

function open(details: Element): void {
  if (details instanceof HTMLDetailsElement) details.open = true
}

/** A sub-request that is unfolded has its events instead of a link to them. */
function offerSubRequests(tree: Element): void {
  for (const link of tree.querySelectorAll<HTMLAnchorElement>('[data-tree] > a')) {
    const load = async () => link.parentElement?.replaceWith(await fetchTree(link.href))
    // If it cannot be loaded, the link stays.
    link.closest('details')?.addEventListener('toggle', () => void load().catch(() => undefined), { once: true })
  }
}

/**
 * Loads the event tree of another profile. Its links become absolute, and its ids are removed:
 * this page has the same ids.
 */
async function fetchTree(url: string): Promise<Element> {
  const page = await fetchPage(url)
  const tree = page.document.getElementById('event-tree')
  if (tree === null) throw new Error('The profile has no events.')
  for (const link of tree.querySelectorAll('a')) link.href = new URL(link.getAttribute('href') ?? '', url).href
  for (const element of tree.querySelectorAll('[id]')) element.removeAttribute('id')
  tree.removeAttribute('id')
  offerSubRequests(tree)
  return tree
}
