/** What a store may hold; whatever is more is removed, oldest segments first. */
export interface StoreLimits {
  readonly bytes: number
  /** Profiles. */
  readonly count: number
  /** Milliseconds. */
  readonly age: number
}

/** What counts of a segment. */
export interface Holding {
  readonly bytes: number
  readonly records: number
  /** When the last of its profiles was kept. */
  readonly newest: number
}

/** Segments that a disk is asked to hold at the most: many processes that end soon leave many small ones. */
const segmentLimit = 1000

/** Profiles that age alone does not remove: a clock that jumps ahead must not empty the store. */
const sparedByAge = 100

/** What there is, and what for. */
export interface Holdings<segment extends Holding> {
  readonly closed: readonly segment[]
  /** Segments that may still be written, and must stay. */
  readonly inUse: readonly Holding[]
  /** What is to be left for the segment that has just begun. */
  readonly room: Pick<Holding, 'bytes' | 'records'>
}

/**
 * Chooses the closed segments to be removed, so that all others keep within the limits. `now` is in milliseconds since
 * 1970.
 */
export function selectExpired<segment extends Holding>(
  { closed, inUse, room }: Holdings<segment>,
  limits: StoreLimits,
  now: number,
): segment[] {
  let bytes = sum(inUse, 'bytes')
  let records = sum(inUse, 'records')
  let segments = inUse.length
  // Newest first: from the first one that is too much on, all are.
  const newestFirst = closed.toReversed().sort((one, other) => other.newest - one.newest)
  const first = newestFirst.findIndex(segment => {
    const isOld = now - segment.newest > limits.age && records >= sparedByAge
    bytes += segment.bytes
    records += segment.records
    segments++
    const isTooMuch = bytes + room.bytes > limits.bytes || records + room.records > limits.count
    return isOld || isTooMuch || segments > segmentLimit
  })
  return first === -1 ? [] : newestFirst.slice(first)
}

function sum(holdings: readonly Holding[], what: 'bytes' | 'records'): number {
  return holdings.reduce((total, holding) => total + holding[what], 0)
}
