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
