import { AsyncLocalStorage, createHook } from 'node:async_hooks'
import { performance } from 'node:perf_hooks'
import { guard } from '../../../lib/guard.ts'
import { readClock } from '../../../lib/own-globals.ts'
import { findFirst } from '../../../lib/share.ts'

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
  /**
   * The token of the main request that was active before and after it, which blocked the event
   * loop; empty when it is not known.
   */
  readonly by: string
  /** Whether both were in the same turn of the event loop: all of the time is its own work. */
  readonly isOwn: boolean
  /** The function of a framework in whose context the activity at its end was; `undefined` if it is not known. */
  readonly code: object | undefined
}

/** The main request of recorded work. */
export interface Actor {
  readonly token: string
  /** When the main request, or its sub-request, began. */
  readonly start: number
}

/**
 * What is known of the event loop at the latest activity. There is one event loop in the process. The
 * numbers of the loop are read after a pause only: in a shorter time the loop cannot have waited for long.
 */
export const eventLoop = {
  /** Milliseconds that it has waited since it started: for timers, sockets and other threads. */
  idle: 0,
  /** The number of its turns. */
  turn: 0,
  /** How often the activity was of another request than the one before. */
  switches: 0,
}

/** The number of gaps that are kept: there cannot be more between two ticks of `LoopWatch`. */
const gapLimit = 8

const { nodeTiming } = performance
const gaps: Gap[] = []
let latest = 0
let latestToken = ''

/**
 * The functions of frameworks, as contexts of what they start. While callbacks are not followed,
 * there is none: it makes each `await` slower on Node 20.
 */
const functions = new AsyncLocalStorage<object | undefined>()
const findFunction = () => functions.getStore()

/** Records activity. It is called some dozen times per request, and must cost next to nothing. */
export function noteActivity(now: number, actor: Actor): void {
  if (ended !== undefined) noteEnd()
  note(now, actor, now - latest >= leastPause ? readLoop() : eventLoop)
}

function note(
  now: number,
  { start, token }: Actor,
  { idle, turn }: LoopNumbers,
  findCode: () => object | undefined = findFunction,
): void {
  if (now - latest >= leastBlock) {
    // Of two requests, the first may have gone on after its activity, or the second may have worked before its own.
    const by = start <= latest && token === latestToken ? token : ''
    const isOwn = by !== '' && turn === eventLoop.turn
    gaps.push({ start: latest, end: now, idle: idle - eventLoop.idle, by, isOwn, code: findCode() })
    if (gaps.length > gapLimit) gaps.shift()
  }
  eventLoop.turn = turn
  eventLoop.idle = idle
  latest = now
  if (token !== latestToken) eventLoop.switches++
  latestToken = token
}

type LoopNumbers = Pick<typeof eventLoop, 'idle' | 'turn'>

function readLoop(): LoopNumbers {
  return { idle: readIdleTime(), turn: nodeTiming.uvMetricsInfo.loopCount }
}

/** The end of the latest callback, until it is known that the next one is of another request, or begins later. */
let ended:
  | {
      readonly at: number
      readonly actor: Actor
      readonly loop: LoopNumbers
      readonly code: object | undefined
    }
  | undefined

function noteEnd(): void {
  const end = ended
  ended = undefined
  if (end !== undefined && end.at > latest) note(end.at, end.actor, end.loop, () => end.code)
}

/**
 * The begins and ends of so many callbacks are activity of the request in whose context they run: of the first
 * callbacks of a process, and of those after a block without a known owner. It would be a cost of each callback.
 */
const callbackLimit = 10_000

/** The work of no recorded request. */
const noActor: Actor = { token: '', start: 0 }

/** Finds the main request in whose context code runs. Each kernel has a context of its own. */
type FindActor = () => Actor | undefined

const searches = new Set<FindActor>()

/** Asks a function for the owners of callbacks, until the returned function is called. */
export function searchOwners(find: FindActor): () => void {
  searches.add(find)
  return () => {
    searches.delete(find)
    if (searches.size === 0) ignoreCallbacks()
  }
}

let callbacksLeft = callbackLimit

let isFollowing = false

/** Starts to follow callbacks, if there are any left. */
export function watchCallbacks(): void {
  if (callbacksLeft <= 0 || searches.size === 0) return
  isFollowing = true
  hook.enable()
}

/** No request is in flight, or no callback is left. */
export function ignoreCallbacks(): void {
  isFollowing = false
  hook.disable()
  functions.disable()
}

/**
 * The rest of the running code is that of a function of a framework, until the returned function
 * is called; `undefined` if callbacks are not followed.
 */
export function enterFunction(code: object): (() => void) | undefined {
  if (!isFollowing) return undefined
  const outer = functions.getStore()
  functions.enterWith(code)
  return () => functions.enterWith(outer)
}

/** A block had no known owner: a next one like it has. */
export function watchMoreCallbacks(): void {
  callbacksLeft = callbackLimit
  watchCallbacks()
}

const hook = createHook({
  before: guard('callbacks', () => {
    if (callbacksLeft-- <= 0) ignoreCallbacks()
    const now = readClock()
    const actor = findOwner()
    // Callbacks of one request without a pause are one block, also in several turns.
    const isSame = actor.token === ended?.actor.token && functions.getStore() === ended.code
    if (ended !== undefined && isSame && now - ended.at < leastPause) ended = undefined
    else {
      noteEnd()
      // Its own function has not run yet.
      note(now, actor, readLoop(), () => undefined)
    }
    eventLoop.turn = nodeTiming.uvMetricsInfo.loopCount
  }),
  after: guard('callbacks', () => {
    const at = readClock()
    const loop = at - latest >= leastPause ? readLoop() : { ...eventLoop }
    ended = { at, actor: findOwner(), loop, code: functions.getStore() }
  }),
})

function findOwner(): Actor {
  return findFirst(searches, find => find()) ?? noActor
}

/** Reads how long the event loop has waited since it started, in milliseconds. */
export function readIdleTime(): number {
  return nodeTiming.idleTime
}

/**
 * Finds the gaps between a time and now in which the event loop was blocked; since that time it has waited
 * for `idle` milliseconds. A callback mostly follows a wait, so that a gap with both begins with the wait.
 */
export function findBlocks(from: number, now: number, idle: number): Gap[] {
  if (ended !== undefined) noteEnd()
  const open = { start: latest, end: now, idle: readIdleTime() - eventLoop.idle, by: '', isOwn: false, code: undefined }
  return [...gaps, open]
    .map(gap => ({ ...gap, start: Math.max(from, gap.start) + Math.min(idle, gap.idle) }))
    .filter(({ end, start }) => end - start >= leastBlock)
}
