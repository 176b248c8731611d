/** Milliseconds; a shorter block of the event loop is not recorded. */
export const leastBlock = 50

/** A time without recorded activity. Times are by `performance.now()`. */
export interface Gap {
  readonly start: number
  readonly end: number
  /** The token of the main request that was active next, which blocked the event loop; empty when it is not known. */
  readonly by: string
}

/** The main request of recorded work. */
export interface Actor {
  readonly token: string
  /** When the main request, or its sub-request, began. */
  readonly start: number
}

/** More gaps cannot occur between two ticks of the watch. */
const gapLimit = 8

// There is one event loop in the process.
let latest = 0
const gaps: Gap[] = []

/** Records activity. It is called some dozen times per request, and must cost next to nothing. */
export function noteActivity(now: number, actor: Actor): void {
  if (now - latest >= leastBlock) {
    gaps.push({ start: latest, end: now, by: actor.start > latest ? '' : actor.token })
    if (gaps.length > gapLimit) gaps.shift()
  }
  latest = now
}

/** Finds the longest gap between a time and now. */
export function findGap(from: number, now: number): Gap {
  const open = { start: latest, end: now, by: '' }
  return [...gaps, open]
    .map(({ by, end, start }) => ({ start: Math.max(from, start), end, by }))
    .reduce((longest, gap) => (gap.end - gap.start > longest.end - longest.start ? gap : longest))
}
