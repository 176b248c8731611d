import { formatText } from '../format/format-soft.ts'
import { asList } from '../reading/read-soft.ts'

/** Reads names and values of a profile, headers or parameters: all values of each name, but for some names. */
export function readPairs(pairs: unknown, hasCase: boolean, without: readonly string[]): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (const [name, value] of asList(pairs).map(asList)) {
    if (typeof name !== 'string' || without.includes(name.toLowerCase())) continue
    const key = hasCase ? name : name.toLowerCase()
    const known = values.get(key)
    if (known === undefined) values.set(key, [formatText(value)])
    else known.push(formatText(value))
  }
  return new Map([...values].sort(([a], [b]) => (a < b ? -1 : 1)))
}
