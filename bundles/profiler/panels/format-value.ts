/** Writes a value of a profile for people: texts as they are, everything else as indented JSON. */
export function formatValue(value: unknown): string {
  if (typeof value === 'string') return value
  return String(JSON.stringify(value, undefined, 2))
}

/** A row of a table with a name and a value. */
export interface Row {
  readonly name: string
  readonly value: string
  /** How a value begins that is so long that the rest is folded. */
  readonly lead?: string
}

const valueLimit = 400
const lineLimit = 12
const leadLimit = 100

/** Makes a row of which a long value is folded. */
export function toRow(name: string, value: string): Row {
  const lines = value.split('\n', lineLimit + 1)
  if (value.length <= valueLimit && lines.length <= lineLimit) return { name, value }
  const start = lines.map(line => line.trim()).join(' ')
  return { name, value, lead: `${start.slice(0, leadLimit)}… (${value.length.toLocaleString('en')} characters)` }
}

/** The properties of an object as rows, sorted by name; none of anything else. */
export function toRows(data: unknown): Row[] {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return []
  return Object.entries(data)
    .map(([name, value]) => toRow(name, formatValue(value)))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}
