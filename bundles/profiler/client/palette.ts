import { createElement, recall, remember } from './browser.ts'
import { setTheme, themes } from './controls.ts'
import { showDialog } from './page.ts'
import { nameKey } from './shortcuts.ts'

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
  }

  open(): void {
    showDialog(this.#dialog)
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
    // A closed dialog keeps the focus until the page is rendered: the keys belong to the page.
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

/** Opens a link by a click: for a file to download, the page stays. */
function openLink(link: string, isNewTab: boolean): void {
  const anchor = createElement('a', { href: link, target: isNewTab ? '_blank' : undefined, hidden: '' })
  document.body.append(anchor)
  anchor.click()
  anchor.remove()
}

/** An entry of the palette. */
export interface PaletteEntry {
  readonly group: string
  readonly label: string
  /** Further text that is searched, such as a value. */
  readonly hint?: string
  readonly link: string
  /**
   * `post` sends a form to the link, `copy` copies the text at the link, `theme` applies one. By
   * default the link is opened.
   */
  readonly act?: 'post' | 'copy' | 'theme'
}

/** An entry that matches, with the positions of the letters in its label and hint. */
interface FoundEntry {
  readonly entry: PaletteEntry
  readonly label: readonly number[]
  readonly hint: readonly number[]
}

/** The most entries that are shown. */
const shownLimit = 50

/** The most choices that are stored. */
const recentLimit = 6

/** Entries that another page has as well: only these are stored as recent choices. */
const lasting: readonly string[] = ['Panel', 'Action', 'Page', 'Route', 'Theme']

/** Finds the entries for a query, the best first. Without a query, recent choices come before the others. */
export function findEntries(entries: readonly PaletteEntry[], query: string): FoundEntry[] {
  const recent = readRecent()
  const rankOf = (entry: PaletteEntry) => {
    const at = recent.indexOf(keyOf(entry))
    return at === -1 ? recentLimit : at
  }
  return entries
    .flatMap(entry => {
      const match = matchFuzzily(query, textOf(entry), entry.label.length)
      return match === undefined ? [] : [{ entry, match, rank: rankOf(entry) }]
    })
    .sort((one, other) => other.match.score - one.match.score || one.rank - other.rank)
    .slice(0, shownLimit)
    .map(({ entry, match }) => toFound(entry, match))
}

/** Stores a choice, so that it comes first the next time; not one that changes something, such as a pause. */
export function rememberEntry(entry: PaletteEntry): void {
  if (!lasting.includes(entry.group) || entry.act === 'post') return
  const key = keyOf(entry)
  const recent = [key, ...readRecent().filter(other => other !== key)].slice(0, recentLimit)
  remember('palette', JSON.stringify(recent))
}

function readRecent(): string[] {
  try {
    const stored = JSON.parse(recall('palette') ?? '[]')
    return Array.isArray(stored) ? stored.map(String) : []
  } catch {
    return []
  }
}

function keyOf({ group, label }: PaletteEntry): string {
  return `${group} ${label}`
}

function textOf({ group, hint = '', label }: PaletteEntry): string {
  return `${label}\n${hint}\n${group}`
}

function toFound(entry: PaletteEntry, { positions }: FuzzyMatch): FoundEntry {
  const { hint = '', label } = entry
  const begin = label.length + 1
  return {
    entry,
    label: positions.filter(position => position < label.length),
    hint: positions.map(position => position - begin).filter(position => position >= 0 && position < hint.length),
  }
}

/** How well a text matches, and the positions of the letters that do. */
interface FuzzyMatch {
  readonly score: number
  readonly positions: readonly number[]
}

/**
 * Matches a query with a text, without regard to capitals. Every word of the query must occur in the
 * text. In the first `labelLength` characters its letters may also be apart, such as `rr` in
 * `Request / Response`. Words in the label, at the beginning of a word, and early in the text count more.
 */
export function matchFuzzily(query: string, text: string, labelLength: number = text.length): FuzzyMatch | undefined {
  const lower = text.toLowerCase()
  const begins = Array.from(lower.matchAll(/[\p{L}\d]+/gu), ({ index }) => index)
  const positions: number[] = []
  let score = 0
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const found = findWord(word, lower, begins) ?? findLetters(word, lower.slice(0, labelLength), begins)
    if (found === undefined) return undefined
    const first = Math.min(...found.positions)
    score += found.score + (first < labelLength ? 40 : 0) - Math.min(first, 30) / 10
    positions.push(...found.positions)
  }
  return { score, positions }
}

function findWord(word: string, text: string, begins: readonly number[]): FuzzyMatch | undefined {
  const begin = begins.find(at => text.startsWith(word, at))
  const at = begin ?? text.indexOf(word)
  if (at === -1) return undefined
  return { score: begin === undefined ? 60 : 100, positions: Array.from(word, (_, index) => at + index) }
}

/** Finds the letters of a word, each at the beginning of a word if possible. */
function findLetters(word: string, text: string, begins: readonly number[]): FuzzyMatch | undefined {
  const positions: number[] = []
  let from = 0
  for (const letter of word) {
    const at = begins.find(begin => begin >= from && text.startsWith(letter, begin)) ?? text.indexOf(letter, from)
    if (at === -1) return undefined
    positions.push(at)
    from = at + 1
  }
  return { score: 30 - Math.min(from - Math.min(...positions), 25), positions }
}
