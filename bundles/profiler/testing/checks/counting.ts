import type { Examination } from '../profile-check.ts'

/** What was counted, and how it is told. */
export interface Count {
  /** Undefined where one is enough. */
  readonly wanted: number | undefined
  readonly actual: number
  readonly found: string
}

/** Compares a number with the wanted one, or with one at least. */
export function examineCount({ actual, found, wanted }: Count): Examination {
  const expected = wanted ?? 'at least 1'
  return { holds: wanted === undefined ? actual > 0 : actual === wanted, expected, actual, found }
}

/** Completes a claim with how often it is meant: `call it`, `call it twice`. */
export function withCount(claim: string, count: number | undefined): string {
  return count === undefined ? claim : `${claim} ${toTimes(count)}`
}

/** Writes how often: `once`, `3 times`. */
export function toTimes(count: number): string {
  return ['not at all', 'once', 'twice'][count] ?? `${count} times`
}

/** Writes a number of things: `1 call`, `2 calls`. */
export function toAmount(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

const listLimit = 20

/** Lists texts, those at the end only counted where they are many. */
export function toEnumeration(texts: readonly string[]): string {
  const rest = texts.length - listLimit
  return [...texts.slice(0, listLimit), ...(rest > 0 ? [`${rest} more`] : [])].join(', ')
}

/** Whether the names stand in a list in this order; others may stand between them. */
export function standInOrder(names: readonly string[], list: readonly string[]): boolean {
  let next = 0
  for (const name of list) if (name === names[next]) next++
  return next === names.length
}
