import { formatValue, type Row } from './format-value.ts'

/** The object that something from the disk is; an empty one of anything else. */
export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

/** The list that something from the disk is; an empty one of anything else. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Something from the disk as text: empty when there is nothing. */
export function asText(value: unknown): string {
  return value === undefined || value === null ? '' : formatValue(value)
}

/** A moment, given in milliseconds since 1970, in ISO 8601; empty for what is none. */
export function asMoment(value: unknown): string {
  const date = new Date(typeof value === 'number' ? value : Number.NaN)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

/** A number of bytes for people: `1,234 bytes`. */
export function asBytes(value: unknown): string {
  return typeof value === 'number' ? `${value.toLocaleString('en')} ${value === 1 ? 'byte' : 'bytes'}` : ''
}

/** A list of names and values as rows, sorted by name; those that come twice stay in their order. */
export function toPairRows(pairs: unknown): Row[] {
  return asList(pairs)
    .filter(pair => Array.isArray(pair))
    .map(([name, value]): Row => ({ name: asText(name), value: asText(value) }))
    .sort((a, b) => compare(a.name.toLowerCase(), b.name.toLowerCase()))
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
