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

// There is one event loop, and one thread.
let latest = 0
let last: Gap = { start: 0, end: 0, by: '' }

/** Takes note that somebody does something now. Said some dozen times for each request, so it does next to nothing. */
export function noteActivity(now: number, actor: Actor): void {
  if (now - latest >= leastGap) last = { start: latest, end: now, by: actor.start > latest ? '' : actor.token }
  latest = now
}

/** The longest time without activity between two moments, of which the last gap and what follows it are known. */
export function findGap(from: number, until: number): Gap {
  const open = { start: Math.max(from, latest), end: until, by: '' }
  const closed = { ...last, start: Math.max(from, last.start), end: Math.min(until, last.end) }
  return closed.end - closed.start > open.end - open.start ? closed : open
}
