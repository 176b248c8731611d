import type { Pairs } from './schema.ts'
import { type TreeView, TreeViewer, valueTreeLimit } from './tree-view.ts'

/** Writes a value of a profile for people: texts as they are, everything else as indented JSON. */
export function formatValue(value: unknown): string {
  if (typeof value === 'string') return value
  return String(JSON.stringify(value, undefined, 2))
}

/** A row of a table with a name and a value. */
export interface Row {
  readonly name: string
  readonly value: string
}

/** The properties of an object as rows, sorted by name; none of anything else. */
export function toRows(data: unknown): Row[] {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return []
  return Object.entries(data)
    .map(([name, value]) => ({ name, value: formatValue(value) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** A name and a value as a table shows them. */
export interface ValueRow extends Row {
  /** What others link to; empty for a row that nothing leads to. */
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

const startLength = 120

/** JSON that is shorter is shown in one line. */
const shortLength = 60

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
