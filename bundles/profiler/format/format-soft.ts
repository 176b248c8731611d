import { asList } from '../reading/read-soft.ts'
import { formatValue, type Row } from './format-value.ts'

/** Writes a value of a profile for people, as nothing when there is none. */
export function formatText(value: unknown): string {
  return value === undefined || value === null ? '' : formatValue(value)
}

/** Writes a moment, given in milliseconds since 1970, in ISO 8601; empty for what is none. */
export function formatMoment(value: unknown): string {
  const date = new Date(typeof value === 'number' ? value : Number.NaN)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

/** Writes a number of bytes for people, exactly: `1,234 bytes`; empty for what is none. */
export function formatSize(value: unknown): string {
  return typeof value === 'number' ? `${value.toLocaleString('en')} ${value === 1 ? 'byte' : 'bytes'}` : ''
}

/** Makes rows of a list of names and values, sorted by name; those that come twice stay in their order. */
export function toPairRows(pairs: unknown): Row[] {
  return asList(pairs)
    .filter(pair => Array.isArray(pair))
    .map(([name, value]) => ({ name: formatText(name), value: formatText(value) }))
    .sort((a, b) => compare(a.name.toLowerCase(), b.name.toLowerCase()))
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
