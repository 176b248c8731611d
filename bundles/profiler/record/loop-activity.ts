import { performance } from 'node:perf_hooks'

/** Milliseconds; a shorter block of the event loop is not recorded. */
export const leastBlock = 50

/** Milliseconds: after a shorter time without activity, the numbers of the event loop are not read. */
export const leastPause = 0.1

/** A time without recorded activity. Times are by `performance.now()`. */
export interface Gap {
  readonly start: number
  readonly end: number
  /** The token of the main request that was active next, which blocked the event loop; empty when it is not known. */
  readonly by: string
  /** Whether that request was active last, too, in the same turn of the event loop: all of the time is its own work. */
  readonly isOwn: boolean
}

/** The main request of recorded work. */
export interface Actor {
  readonly token: string
  /** When the main request, or its sub-request, began. */
  readonly start: number
}

/**
 * What is known of the event loop at the latest activity. There is one event loop in the process. The numbers of the loop
 * are read after a pause only: in a shorter time the loop cannot have waited for long.
 */
export const eventLoop = {
  /** Milliseconds that it has waited since it started: for timers, sockets and other threads. */
  idle: 0,
  /** The number of its turns. */
  turn: 0,
}

/** The number of gaps that are kept: there cannot be more between two ticks of `LoopWatch`. */
const gapLimit = 8

const { nodeTiming } = performance
const gaps: Gap[] = []
let latest = 0
let latestToken = ''

/** Records activity. It is called some dozen times per request, and must cost next to nothing. */
export function noteActivity(now: number, { start, token }: Actor): void {
  if (now - latest >= leastPause) {
    const turn = nodeTiming.uvMetricsInfo.loopCount
    if (now - latest >= leastBlock) {
      const isOwn = token === latestToken && turn === eventLoop.turn
      gaps.push({ start: latest, end: now, by: start > latest ? '' : token, isOwn })
      if (gaps.length > gapLimit) gaps.shift()
    }
    eventLoop.turn = turn
    eventLoop.idle = readIdleTime()
  }
  latest = now
  latestToken = token
}

/** Reads how long the event loop has waited since it started, in milliseconds. */
export function readIdleTime(): number {
  return nodeTiming.idleTime
}

/** Finds the longest gap between a time and now. */
export function findGap(from: number, now: number): Gap {
  const open = { start: latest, end: now, by: '', isOwn: false }
  return [...gaps, open]
    .map(gap => ({ ...gap, start: Math.max(from, gap.start) }))
    .reduce((longest, gap) => (gap.end - gap.start > longest.end - longest.start ? gap : longest))
}
