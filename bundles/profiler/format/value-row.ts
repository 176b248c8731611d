import type { Row } from './format-value.ts'

/** A name and a value as a table shows them. */
export interface ValueRow extends Row {
  /** What others link to; empty for a row that nothing leads to. */
  readonly id: string
  /** The beginning of a long value, which is folded; empty for one that is short. */
  readonly start: string
  /** How long a long value is. */
  readonly size: string
}

/** More is folded. */
const lengthLimit = 500
const lineLimit = 15

const startLength = 120

/** JSON that is shorter is read as well in one line. */
const shortLength = 60

/** Makes a row: JSON is indented, what is long is folded. */
export function toValueRow({ name, value: text }: Row): ValueRow {
  const value = indentJson(text)
  const isLong = value.length > lengthLimit || value.split('\n', lineLimit + 1).length > lineLimit
  if (!isLong) return { id: '', name, value, start: '', size: '' }
  // What begins in the middle of a pair of surrogates is no text.
  const start = text.replaceAll(/\s+/g, ' ').slice(0, startLength).toWellFormed()
  return { id: '', name, value, start: `${start} …`, size: `${text.length.toLocaleString('en')} characters` }
}

function indentJson(text: string): string {
  if (text.length < shortLength || !/^\s*[[{]/.test(text)) return text
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
