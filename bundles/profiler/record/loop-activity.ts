import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { readClock } from '../../../lib/own-globals.ts'

/** Milliseconds; a shorter block of the event loop is not recorded. */
export const leastBlock = 50

/** Milliseconds: after a shorter time without activity, the numbers of the event loop are not read. */
export const leastPause = 0.1

/** A time without recorded activity. Times are by `performance.now()`. */
export interface Gap {
  readonly start: number
  readonly end: number
  /** Milliseconds in which the event loop has waited. */
  readonly idle: number
  /** The token of the main request that was active before and after it, which blocked the event loop; empty when it is not known. */
  readonly by: string
  /** Whether both were in the same turn of the event loop: all of the time is its own work. */
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
    const idle = readIdleTime()
    if (now - latest >= leastBlock) {
      // Of two requests, the first may have gone on after its activity, or the second may have worked before its own.
      const by = start <= latest && token === latestToken ? token : ''
      const isOwn = by !== '' && turn === eventLoop.turn
      gaps.push({ start: latest, end: now, idle: idle - eventLoop.idle, by, isOwn })
      if (gaps.length > gapLimit) gaps.shift()
    }
    eventLoop.turn = turn
    eventLoop.idle = idle
  }
  latest = now
  latestToken = token
  if (endsLeft > 0 && !isEndExpected) expectEnd()
}

/**
 * The ends of so many callbacks of requests, with the microtasks after them, are activity, too: of the first ones of a process, and of
 * those after a block without a known owner. It would be a cost of each callback.
 */
const endLimit = 1000

let endsLeft = endLimit
let isEndExpected = false
let expectedToken = ''

/** A block had no known owner: a next one like it has. */
export function watchEnds(): void {
  endsLeft = endLimit
}

const { nextTick } = process

function expectEnd(): void {
  endsLeft--
  isEndExpected = true
  expectedToken = latestToken
  void scheduleEnd()
}

/** A tick that is scheduled by a microtask runs when no microtask is left. */
async function scheduleEnd(): Promise<void> {
  await undefined
  nextTick(noteEnd)
}

function noteEnd(): void {
  // The callback may have worked for both requests, such as that of a pool.
  if (latestToken === expectedToken) noteActivity(readClock(), { token: latestToken, start: latest })
  isEndExpected = false
}

/** Reads how long the event loop has waited since it started, in milliseconds. */
export function readIdleTime(): number {
  return nodeTiming.idleTime
}

/**
 * Finds the gaps between a time and now in which the event loop was blocked; since that time it has waited for `idle` milliseconds.
 * A callback mostly follows a wait, so that a gap with both begins with the wait.
 */
export function findBlocks(from: number, now: number, idle: number): Gap[] {
  const open = { start: latest, end: now, idle: readIdleTime() - eventLoop.idle, by: '', isOwn: false }
  return [...gaps, open]
    .map(gap => ({ ...gap, start: Math.max(from, gap.start) + Math.min(idle, gap.idle) }))
    .filter(({ end, start }) => end - start >= leastBlock)
}
