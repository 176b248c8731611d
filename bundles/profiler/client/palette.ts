import { createElement } from './browser.ts'
import { type FoundEntry, findEntries, type PaletteEntry, rememberEntry } from './palette-entries.ts'
import { nameKey } from './shortcuts.ts'
import { setTheme, themes } from './theme.ts'

/** Milliseconds that the result of a copy is shown before the palette closes. */
const shownFor = 700

const listId = 'palette-list'

/** Shows the button of the palette, which searches panels, values, routes, profiles and actions. */
export function enablePalette(button: HTMLButtonElement | null): void {
  if (button === null) return
  button.append(' ', createElement('kbd', {}, nameKey('Mod+k')))
  button.hidden = false
  button.addEventListener('click', () => new Palette(button.dataset.palette ?? '').open())
}

const themeEntries: readonly PaletteEntry[] = themes.map(theme => ({
  group: 'Theme',
  label: `Theme: ${theme}`,
  link: theme,
  act: 'theme',
}))

/** The dialog: a combobox with a list (ARIA Authoring Practices Guide), whose entries are loaded when it opens. */
class Palette {
  readonly #source: string
  readonly #input = createElement('input', {
    type: 'text',
    role: 'combobox',
    placeholder: 'Panels, routes, profiles, actions',
    autocomplete: 'off',
    spellcheck: 'false',
    'aria-label': 'Search',
    'aria-autocomplete': 'list',
    'aria-controls': listId,
    'aria-expanded': 'true',
  })
  readonly #list = createElement('ul', { id: listId, role: 'listbox', 'aria-label': 'Results' })
  readonly #status = createElement('p', { class: 'soft', role: 'status' })
  readonly #dialog = createElement(
    'dialog',
    { class: 'palette', 'aria-label': 'Search' },
    this.#input,
    this.#list,
    this.#status,
  )
  #entries: readonly PaletteEntry[] = []
  #found: readonly FoundEntry[] = []
  #active = 0

  /** `source` is the address of the entries. */
  constructor(source: string) {
    this.#source = source
    this.#input.addEventListener('input', () => this.#search())
    this.#dialog.addEventListener('keydown', event => this.#onKey(event))
    this.#dialog.addEventListener('close', () => this.#dialog.remove())
    // A click beside the dialog has the dialog itself as target.
    this.#dialog.addEventListener('click', event => {
      if (event.target === this.#dialog) this.#dialog.close()
    })
  }

  open(): void {
    document.body.append(this.#dialog)
    this.#dialog.showModal()
    void this.#load()
  }

  async #load(): Promise<void> {
    try {
      const response = await fetch(this.#source, { headers: { accept: 'application/json' } })
      if (!response.ok) throw new Error(`The server responded with ${response.status}.`)
      this.#entries = [...((await response.json()) as PaletteEntry[]), ...themeEntries]
      this.#search()
    } catch {
      this.#status.textContent = 'The server does not respond.'
    }
  }

  #search(): void {
    this.#found = findEntries(this.#entries, this.#input.value)
    this.#status.textContent = this.#found.length === 0 ? 'No results' : ''
    this.#list.replaceChildren(...this.#found.map((found, index) => this.#createOption(found, index)))
    this.#activate(0)
  }

  #createOption({ entry, hint, label }: FoundEntry, index: number): HTMLElement {
    const option = createElement(
      'li',
      { role: 'option', id: `${listId}-${index}`, 'aria-selected': 'false' },
      createElement('span', { class: 'palette-label' }, ...markLetters(entry.label, label)),
      createElement('span', { class: 'palette-hint' }, ...markLetters(entry.hint ?? '', hint)),
      createElement('span', { class: 'palette-group' }, entry.group),
    )
    option.addEventListener('click', event => void this.#choose(entry, event.ctrlKey || event.metaKey))
    option.addEventListener('auxclick', event => {
      if (event.button === 1) void this.#choose(entry, true)
    })
    return option
  }

  /** Marks the entry that Enter chooses. */
  #activate(index: number): void {
    this.#list.children[this.#active]?.setAttribute('aria-selected', 'false')
    this.#active = index
    const option = this.#list.children[index]
    option?.setAttribute('aria-selected', 'true')
    option?.scrollIntoView({ block: 'nearest' })
    if (option === undefined) this.#input.removeAttribute('aria-activedescendant')
    else this.#input.setAttribute('aria-activedescendant', option.id)
  }

  #onKey(event: KeyboardEvent): void {
    const { altKey, ctrlKey, key, metaKey } = event
    const hasModifier = ctrlKey || metaKey
    const count = this.#found.length
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }
    const step = steps[key]
    const entry = this.#found[this.#active]?.entry
    // A closed dialog has the focus until the page is rendered: its keys are those of the page.
    if (altKey || !this.#dialog.open) return
    if (hasModifier && key === 'k') this.#dialog.close()
    else if (key === 'Enter' && entry !== undefined) void this.#choose(entry, hasModifier)
    else if (step !== undefined && !hasModifier && count > 0) {
      const next = this.#active + step
      const isSingle = Math.abs(step) === 1
      this.#activate(isSingle ? (next + count) % count : Math.min(Math.max(next, 0), count - 1))
    } else return
    event.preventDefault()
  }

  async #choose(entry: PaletteEntry, isNewTab: boolean): Promise<void> {
    rememberEntry(entry)
    const { act, link } = entry
    if (act === 'copy') await this.#copy(link)
    this.#dialog.close()
    if (act === 'theme') setTheme(link)
    else if (act === 'post') sendForm(link, isNewTab)
    else if (act === undefined) openLink(link, isNewTab)
  }

  async #copy(link: string): Promise<void> {
    try {
      const text = await (await fetch(link)).text()
      await navigator.clipboard.writeText(text.replace(/^#!.*\n/, ''))
      this.#status.textContent = 'Copied'
    } catch {
      this.#status.textContent = 'Not copied'
    }
    await new Promise(resolve => setTimeout(resolve, shownFor))
  }
}

function markLetters(text: string, positions: readonly number[]): (Node | string)[] {
  const marked = new Set(positions)
  const parts: { text: string; isMarked: boolean }[] = []
  for (const [index, letter] of [...text.split('')].entries()) {
    const isMarked = marked.has(index)
    const last = parts.at(-1)
    if (last?.isMarked === isMarked) last.text += letter
    else parts.push({ text: letter, isMarked })
  }
  return parts.map(({ isMarked, text }) => (isMarked ? createElement('mark', {}, text) : text))
}

function sendForm(link: string, isNewTab: boolean): void {
  const form = createElement('form', { method: 'post', action: link, target: isNewTab ? '_blank' : undefined })
  document.body.append(form)
  form.submit()
  form.remove()
}

/** As a click on a link: a file is saved, and the page stays. */
function openLink(link: string, isNewTab: boolean): void {
  const anchor = createElement('a', { href: link, target: isNewTab ? '_blank' : undefined, hidden: '' })
  document.body.append(anchor)
  anchor.click()
  anchor.remove()
}
