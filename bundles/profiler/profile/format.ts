import type { ValueEntry, ValueTree } from '../../../lib/redact/value-tree.ts'
import type { Caller } from '../../../lib/stack/callers.ts'
import type { Pairs } from './schema.ts'

/**
 * Writes a whole number for people: `12,345`. What `toLocaleString` does costs a hundredth of a second the first time.
 */
export function formatNumber(number: number): string {
  return String(number).replace(/\B(?=(?:\d{3})+$)/g, ',')
}

/** Writes how many there are of something: `1 error`, `1,200 errors`. */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`
}

/** Begins a text with a capital letter. */
export function capitalize(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}

/**
 * Writes a measured number in two significant digits, to compare it at a glance, and from 10 on as
 * a whole number: `0.042`, `8.2`, `236`.
 */
function formatMeasured(number: number): string {
  const size = Math.abs(number)
  return number.toFixed(size === 0 ? 0 : size < 0.0995 ? 3 : size < 0.995 ? 2 : size < 9.95 ? 1 : 0)
}

/** Writes a number of bytes for people, in the units of 1024: `512 B`, `4.2 KiB`, `-1.5 MiB`. */
export function formatBytes(bytes: number): string {
  const size = Math.abs(bytes)
  if (size < 1024) return `${bytes} B`
  if (size < 1024 ** 2) return `${formatMeasured(bytes / 1024)} KiB`
  if (size < 1024 ** 3) return `${formatMeasured(bytes / 1024 ** 2)} MiB`
  return `${formatMeasured(bytes / 1024 ** 3)} GiB`
}

/**
 * Writes milliseconds for people: `0.042 ms`, `8.2 ms`, `236 ms`, `1.3 s`. What was rounded to microseconds before, as
 * in `server-timing`, gives the same text.
 */
export function formatDuration(milliseconds: number): string {
  const time = roundTime(milliseconds)
  return Math.abs(time) >= 999.5 ? `${formatMeasured(time / 1000)} s` : `${formatMeasured(time)} ms`
}

/** Writes microseconds as milliseconds or seconds: `0.012 ms`. */
export function formatMicroseconds(microseconds: number): string {
  return formatDuration(microseconds / 1000)
}

const periods = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

/** Writes a period of at least a second, given in seconds, in at most two units: `1 day`, `1 hour 30 minutes`. */
export function formatPeriod(seconds: number): string {
  let rest = Math.max(1, Math.round(seconds))
  const parts = periods.flatMap(([name, length]) => {
    const count = Math.floor(rest / length)
    rest -= count * length
    return count === 0 ? [] : [formatCount(count, name)]
  })
  return parts.slice(0, 2).join(' ')
}

/** Writes a part of a whole in percent: `12 %`, `4.2 %`; of nothing it is `0 %`. */
export function formatShare(part: number, whole: number): string {
  const percent = whole > 0 ? (part / whole) * 100 : 0
  return percent > 0 && percent < 0.1 ? '<0.1 %' : `${formatMeasured(percent)} %`
}

/** A moment, for a `<time>`: for programs, and for people in UTC. */
export interface FormattedTime {
  readonly iso: string
  readonly day: string
  readonly clock: string
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Writes a moment in milliseconds since 1970. */
export function formatTime(time: number): FormattedTime {
  const date = new Date(time)
  const iso = date.toISOString()
  const day = `${date.getUTCDate()} ${months[date.getUTCMonth()]} ${date.getUTCFullYear()}`
  return { iso, day, clock: iso.slice(-13, -5) }
}

/** Cuts a text to a number of characters, with an ellipsis. Half of a surrogate pair at the cut is replaced. */
export function shorten(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit).toWellFormed()}…`
}

/** Writes a text in one line. */
export function toOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

/** Writes an address as a server sees it: its path and query. */
export function toTarget(url: string): string {
  return url.replace(/^https?:\/\/[^/]*(?=\/)/, '')
}

/** Rounds milliseconds to a microsecond: no clock here is better, and a profile is shorter for it. */
export function roundTime(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000
}

/** Writes a place in the source: `blog/list.ts:24`; empty if it is not known. */
export function formatPlace({ file, line }: Pick<Caller, 'file' | 'line'>): string {
  if (file === undefined) return ''
  return line === undefined ? file : `${file}:${line}`
}

/** Characters that stay encoded: they are invisible, change the direction of the text, or have a meaning in a URL. */
const unreadable = /[\p{C}\p{Z}%;/?:@&=+$,#]/u

/**
 * Decodes a URL for people: `/日本` instead of `/%E6%97%A5%E6%9C%AC`. Sequences that are no text,
 * invisible characters, and those with a meaning in a URL stay encoded. The result is for reading only.
 */
export function toReadableUrl(url: string): string {
  if (!url.includes('%')) return url
  return url.replace(/(?:%[0-9a-f]{2})+/gi, sequence => {
    try {
      return Array.from(decodeURIComponent(sequence), each =>
        unreadable.test(each) ? encodeURIComponent(each) : each,
      ).join('')
    } catch {
      return sequence
    }
  })
}

/** Writes a value of a profile for people: texts as they are, everything else as indented JSON. */
export function formatValue(value: unknown): string {
  if (typeof value === 'string') return value
  return String(JSON.stringify(value, undefined, 2))
}

/** Writes a value of a profile for people; an absent value is an empty text. */
export function formatText(value: unknown): string {
  return value === undefined || value === null ? '' : formatValue(value)
}

/** Writes a moment, given in milliseconds since 1970, in ISO 8601; empty if a Date cannot hold it. */
export function formatMoment(value: number | undefined): string {
  const date = new Date(value ?? Number.NaN)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

/** Writes a number of bytes for people, exactly: `1,234 bytes`; empty when it is not known. */
export function formatSize(value: number | null | undefined): string {
  if (value === null || value === undefined) return ''
  return `${value.toLocaleString('en')} ${value === 1 ? 'byte' : 'bytes'}`
}

/** A row of a table with a name and a value. */
export interface Row {
  readonly name: string
  readonly value: string
  /** Narrow windows lack it: another part of the page, or another panel, has it. */
  readonly isMinor?: true
}

/** Creates an item of the template `profiler/options`: a choice of a menu. */
export function toOption(value: string, label: string, chosen: string | undefined) {
  return { value, label, isSelected: value === chosen }
}

/** The properties of an object as rows, sorted by name; none of anything else. */
export function toRows(data: unknown): Row[] {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return []
  return Object.entries(data)
    .map(([name, value]) => ({ name, value: formatValue(value) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Makes rows of names and values, sorted by name; those that occur twice stay in their order. */
export function toPairRows(pairs: Pairs = []): Row[] {
  return pairs
    .map(([name, value]) => ({ name, value: value === undefined ? '' : formatValue(value) }))
    .sort((a, b) => compare(a.name.toLowerCase(), b.name.toLowerCase()))
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** The values of a header of a recorded request or response, in their order; its name is in lower case. */
export function readHeader(message: { readonly headers: Pairs } | undefined, name: string): string[] {
  const pairs = message?.headers ?? []
  return pairs.filter(([field]) => field.toLowerCase() === name).map(([, value]) => formatText(value))
}

/** A name and a value as a table shows them. */
export interface ValueRow extends Row {
  /** The id for links to the row; empty without such links. */
  readonly id: string
  /** The beginning of a long value, which is folded; empty for one that is short. */
  readonly start: string
  /** How long a long value is. */
  readonly size: string
  /** An object or an array as a tree; `false` for text, and for JSON that is short. */
  readonly tree: TreeView | false
}

/** Longer values are folded. */
const lengthLimit = 500
const lineLimit = 15

/** The length of its beginning, which is always shown. */
const startLength = 120

/** JSON that is shorter is shown in one line. */
const shortLength = 24

/** Makes a row: JSON is a tree, and a long text is folded. */
export function toValueRow({ name, value }: Row): ValueRow {
  const row = { id: '', name, value, start: '', size: '', tree: false } as const
  const json = parseJson(value)
  if (json !== undefined) {
    const short = JSON.stringify(json)
    // Each character counts as one, also when it is escaped.
    if (short.replaceAll(/\\(?:u[\da-f]{4}|.)/g, ' ').length <= shortLength) return { ...row, value: short }
    return { ...row, tree: new TreeViewer(valueTreeLimit).viewJson(json) }
  }
  const isLong = value.length > lengthLimit || value.split('\n', lineLimit + 1).length > lineLimit
  if (!isLong) return row
  // Half of a pair of surrogates is not text.
  const start = value.replaceAll(/\s+/g, ' ').slice(0, startLength).toWellFormed()
  return { ...row, start: `${start} …`, size: `${value.length.toLocaleString('en')} characters` }
}

/** The object or array that a text is as JSON; `undefined` for other text. */
function parseJson(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

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

/** A longer string of a tree is folded. */
const textLimit = 500

/** Creates the views of values. All values of one viewer share its limit of 500 entries. */
export class TreeViewer {
  #left: number
  readonly #isWhole: boolean

  /**
   * `isWhole`: the entries after the limit are text. Otherwise they are only counted, because another page has them.
   */
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
