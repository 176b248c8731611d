import type { ValueEntry, ValueTree } from '../../../lib/redact/value-tree.ts'
import { formatNumber } from './format.ts'

/** A value as the partial `profiler/tree` shows it. */
export interface TreeView {
  readonly kind: ValueTree['kind']
  /** A string with its quotes; of an object its class, `{}` or `[]`. */
  readonly text: string
  /** The beginning of a long string, which is folded; empty for a short one. */
  readonly start: string
  /** The names of the properties of a closed object, shortened. */
  readonly preview: string
  readonly isOpen: boolean
  /** Whether the value can be unfolded. */
  readonly isNested: boolean
  readonly entries: readonly EntryView[]
  /** The entries after the first 50, in groups: `50 … 99`. */
  readonly groups: readonly { readonly label: string; readonly entries: readonly EntryView[] }[]
  /** The entries after the limit of a tree, as JSON; empty if all are shown. */
  readonly source: string
  /** The number of these entries. */
  readonly sourceCount: string
  /** The number of entries that were not recorded; empty if all were. */
  readonly rest: string
}

/** A property or an item. */
interface EntryView {
  readonly name: string
  readonly value: TreeView
}

/** The most entries of one of several values of a page, such as the content of a message: a page is at most 60 kB. */
export const valueTreeLimit = 100

/** The most entries of a tree, and of all trees of one viewer. The others are shown as text. */
const entryLimit = 500
const groupSize = 50
const depthLimit = 20
const previewLength = 60

/** A tree with more entries is folded at first. */
const openLimit = 12

/** A longer string is folded. */
const textLimit = 500
const startLength = 120

/** Creates the views of values. All values of one viewer share its limit of 500 entries. */
export class TreeViewer {
  #left: number
  readonly #isWhole: boolean

  /** `isWhole`: the entries after the limit are text. Otherwise they are only counted, because another page has them. */
  constructor(limit: number = entryLimit, isWhole = true) {
    this.#left = limit
    this.#isWhole = isWhole
  }

  /** Views a tree. If it is not open, only a small tree is. */
  view(tree: ValueTree, isOpen = false): TreeView {
    const isSmall = countEntries(tree, openLimit + 1) <= openLimit
    return this.#view(tree, isOpen || isSmall, isSmall)
  }

  /** Views plain JSON data. */
  viewJson(value: unknown, isOpen = false): TreeView {
    return this.view(fromJson(value, depthLimit), isOpen)
  }

  #view(tree: ValueTree, isOpen: boolean, isSmall: boolean): TreeView {
    const { entries = [], kind, omitted = 0 } = tree
    if (entries.length + omitted === 0) return viewText(tree)
    if (this.#left === 0 && entries.length > 0) {
      const text = JSON.stringify(toPlain(tree))
      return viewText({
        kind: 'note',
        text: this.#isWhole || text.length <= textLimit ? text : `${cut(text, textLimit)}…`,
      })
    }
    const shown = entries.slice(0, this.#left)
    const others = entries.slice(shown.length)
    // First all properties of an object, then their contents: the outer levels are complete.
    this.#left -= shown.length
    const left = this.#isWhole ? omitted : omitted + others.length
    const views = shown.map(({ name, value }) => ({ name, value: this.#view(value, isSmall, isSmall) }))
    return {
      kind,
      text: writeText(tree),
      start: '',
      preview: isOpen || entries.length === 0 || isArray(tree) ? '' : writePreview(entries),
      isOpen,
      isNested: true,
      entries: views.slice(0, groupSize),
      groups: toGroups(views),
      source: others.length === 0 || !this.#isWhole ? '' : writeJson({ ...tree, entries: others }),
      sourceCount: formatNumber(others.length),
      rest: left === 0 ? '' : formatNumber(left),
    }
  }
}

/** The view of a value without entries. */
function viewText(tree: ValueTree): TreeView {
  const isLong = tree.text.length > textLimit
  return {
    kind: tree.kind,
    text: writeText(tree),
    start: isLong ? `${tree.kind === 'text' ? '"' : ''}${cut(tree.text, startLength)} …` : '',
    preview: '',
    isOpen: false,
    isNested: false,
    entries: [],
    groups: [],
    source: '',
    sourceCount: '',
    rest: '',
  }
}

/** Counts the entries of all levels up to a limit. */
function countEntries({ entries = [] }: ValueTree, limit: number): number {
  let count = entries.length
  for (const { value } of entries) {
    if (count >= limit) break
    count += countEntries(value, limit - count)
  }
  return count
}

function toGroups(views: readonly EntryView[]): TreeView['groups'] {
  const count = Math.max(0, Math.ceil(views.length / groupSize) - 1)
  return Array.from({ length: count }, (_, index) => {
    const from = (index + 1) * groupSize
    const entries = views.slice(from, from + groupSize)
    return { label: `${from} … ${from + entries.length - 1}`, entries }
  })
}

function writeText({ entries = [], kind, omitted = 0, text }: ValueTree): string {
  if (kind === 'text') return `"${text}"`
  if (entries.length + omitted > 0) return text
  return text === 'Object' ? '{}' : text === 'Array(0)' ? '[]' : text
}

function writePreview(entries: readonly ValueEntry[]): string {
  const names = entries.slice(0, groupSize).map(({ name }) => name)
  return cut(names.join(', '), previewLength)
}

/** The beginning of a text, without half of a pair of surrogates. */
function cut(text: string, length: number): string {
  return text.slice(0, length).toWellFormed()
}

function isArray({ kind, text }: ValueTree): boolean {
  return kind === 'object' && text.startsWith('Array(')
}

function fromJson(value: unknown, depth: number): ValueTree {
  if (typeof value === 'string') return { kind: 'text', text: value }
  if (typeof value !== 'object' || value === null) return { kind: 'value', text: String(value) }
  if (depth === 0) return { kind: 'note', text: JSON.stringify(value) }
  const text = Array.isArray(value) ? `Array(${value.length})` : 'Object'
  const entries = Object.entries(value).map(([name, child]) => ({ name, value: fromJson(child, depth - 1) }))
  return { kind: 'object', text, entries }
}

/** Writes a tree as indented JSON. Classes are lost. */
function writeJson(tree: ValueTree): string {
  return JSON.stringify(toPlain(tree), undefined, 2)
}

function toPlain(tree: ValueTree): unknown {
  const { entries = [], kind, text } = tree
  if (kind === 'text' || kind === 'note') return text
  if (kind === 'value') return /^(?:true|false|null|-?\d+(?:\.\d+)?)$/.test(text) ? JSON.parse(text) : text
  const pairs = entries.map(({ name, value }) => [name, toPlain(value)] as const)
  return isArray(tree) ? pairs.map(([, value]) => value) : Object.fromEntries(pairs)
}
