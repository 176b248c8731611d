import { isDeepStrictEqual } from 'node:util'

/** Whether something is in both of two and the same, in both and another, or in one of them only. */
export type Change = 'same' | 'changed' | 'onlyFirst' | 'onlySecond'

/** Something that is in at least one of two, and what it is there. */
export interface Compared<value> {
  readonly key: string
  readonly first: value | undefined
  readonly second: value | undefined
  readonly change: Change
}

/**
 * Compares what two have by its keys, in the order in which either has it first: whichever of them is called the first one,
 * the order is the same.
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
): Change {
  if (second === undefined) return 'onlyFirst'
  if (first === undefined) return 'onlySecond'
  return isSame(first, second) ? 'same' : 'changed'
}
