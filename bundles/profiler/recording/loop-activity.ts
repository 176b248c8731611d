/** A time in which no request did anything that is noted. Times are by `performance.now()`. */
export interface Gap {
  readonly start: number
  readonly end: number
  /** The token of who did something next: whoever was at work meanwhile, as only one is at a time; empty where nobody knows. */
  readonly by: string
}

/** Whom something is done for that is noted: a request, with all its sub-requests. */
export interface Actor {
  readonly token: string
  /** When it began, or the sub-request did. */
  readonly start: number
}

/** Milliseconds; shorter ones are of no interest. */
const leastGap = 50

/** So many cannot come between two looks of those who ask. */
const gapLimit = 8

// There is one event loop, and one thread.
let latest = 0
const gaps: Gap[] = []

/** Takes note that somebody does something now. Said some dozen times for each request, so it does next to nothing. */
export function noteActivity(now: number, actor: Actor): void {
  if (now - latest >= leastGap) {
    gaps.push({ start: latest, end: now, by: actor.start > latest ? '' : actor.token })
    if (gaps.length > gapLimit) gaps.shift()
  }
  latest = now
}

/** The longest time without activity between a moment and now. */
export function findGap(from: number, now: number): Gap {
  const open = { start: latest, end: now, by: '' }
  return [...gaps, open]
    .map(({ by, end, start }) => ({ start: Math.max(from, start), end, by }))
    .reduce((longest, gap) => (gap.end - gap.start > longest.end - longest.start ? gap : longest))
}
