import { isDeepStrictEqual } from 'node:util'

/** Whether a value is equal in both profiles, different, or in one of them only. */
export type DifferenceKind = 'same' | 'changed' | 'onlyFirst' | 'onlySecond'

/** A value that is in at least one of two profiles. */
export interface Compared<value> {
  readonly key: string
  readonly first: value | undefined
  readonly second: value | undefined
  readonly change: DifferenceKind
}

/**
 * Compares two maps by key. A key is sorted by its lower position in the two maps, so the order is the same if the maps
 * are exchanged.
 */
export function compareMaps<value>(
  first: ReadonlyMap<string, value>,
  second: ReadonlyMap<string, value>,
  isSame: (first: value, second: value) => boolean = isDeepStrictEqual,
): Compared<value>[] {
  const positions = new Map<string, number>()
  for (const keys of [first.keys(), second.keys()]) {
    for (const [position, key] of [...keys].entries()) {
      positions.set(key, Math.min(position, positions.get(key) ?? position))
    }
  }
  const keys = [...positions].sort(([a, one], [b, other]) => one - other || (a < b ? -1 : 1))
  return keys.map(([key]) => {
    const [one, other] = [first.get(key), second.get(key)]
    return { key, first: one, second: other, change: changeOf(one, other, isSame) }
  })
}

function changeOf<value>(
  first: value | undefined,
  second: value | undefined,
  isSame: (first: value, second: value) => boolean,
): DifferenceKind {
  if (second === undefined) return 'onlyFirst'
  if (first === undefined) return 'onlySecond'
  return isSame(first, second) ? 'same' : 'changed'
}
