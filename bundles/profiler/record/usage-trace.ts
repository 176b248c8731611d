import type { EventLoopUtilization } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { roundTime } from '../profile/format.ts'

/** One run of the garbage collector, in milliseconds from the start of the request. */
export interface GcPause {
  readonly start: number
  readonly duration: number
  /** `minor` frees what was short-lived, `major` all that can be freed, `incremental` is a step of a major one. */
  readonly kind: string | undefined
}

/** The runs of the garbage collector while a trace went on. */
export interface GcPauses {
  count: number
  /** Milliseconds of all of them. */
  total: number
  /** The first 20. */
  readonly first: GcPause[]
}

/** A time in which the event loop did not turn. Times are in milliseconds, the start from that of the trace. */
export interface LoopBlock {
  readonly start: number
  readonly duration: number
  /** How much of it was CPU time of the process. */
  readonly cpu: number
  /** The token of the main request that was at work; empty when nobody knows. */
  readonly by: string
}

const pauseLimit = 20
const blockLimit = 20

/** Milliseconds that a reading is good for while requests follow one another so closely that nobody looks at the figures of one. */
const closeLifetime = 1

/** Something whose usage is noted while it is in flight. */
interface InFlight {
  readonly usage: UsageTrace | undefined
}

/** What the process had used when a main request began. All of it is of the whole process, whoever has used it. */
export class UsageTrace {
  readonly process: ProcessUsage
  readonly loop: EventLoopUtilization = performance.eventLoopUtilization()
  /** How many other main requests were in flight already. */
  readonly others: number
  /** How many others were in flight at most, until it was over. */
  most: number
  /** When the request was over, by `performance.now()`. */
  end: number = Number.POSITIVE_INFINITY
  /** Also when the request is over: the garbage collector tells of its runs two turns of the event loop later. */
  readonly pauses: GcPauses = { count: 0, total: 0, first: [] }
  /** Also when the request is over: the timer that finds out comes with the next turn. */
  readonly blocks: LoopBlock[] = []
  readonly #isExact: boolean

  constructor(others: number) {
    const now = performance.now()
    this.process = readProcessUsage(others === 0 ? closeLifetime : sharedLifetime)
    this.#isExact = this.process.readAt >= now
    this.others = others
    this.most = others
  }

  /** What the process has used by now, as exactly as what it had used before. */
  readProcess(): ProcessUsage {
    const lifetime = this.#isExact ? 0 : closeLifetime
    return readProcessUsage(this.most === 0 ? lifetime : sharedLifetime)
  }

  /** Takes note of the garbage collector's run. */
  addPause(start: number, duration: number, kind: string | undefined): void {
    const { pauses } = this
    pauses.count++
    pauses.total = roundTime(pauses.total + duration)
    if (pauses.first.length < pauseLimit)
      pauses.first.push({ start: roundTime(start), duration: roundTime(duration), kind })
  }

  /** Takes note that the event loop was blocked. */
  addBlock(start: number, duration: number, cpu: number, by: string): void {
    if (this.blocks.length === blockLimit) return
    this.blocks.push({ start: roundTime(start), duration: roundTime(duration), cpu: roundTime(cpu), by })
  }
}

/** Begins to note the usage of a request beside those that are in flight already, which are told that there is one more. */
export function startUsage(inFlight: readonly InFlight[]): UsageTrace {
  for (const { usage } of inFlight)
    if (usage !== undefined && usage.most < inFlight.length) usage.most = inFlight.length
  return new UsageTrace(inFlight.length)
}

/** What the whole process has used so far. */
export interface ProcessUsage {
  /** Bytes of the heap in use, and those it may grow to. */
  readonly heap: number
  readonly heapLimit: number
  /** The most bytes of memory that the process has ever held (resident set size). */
  readonly peak: number
  /** Microseconds of CPU time. */
  readonly user: number
  readonly system: number
  /** By `performance.now()`. */
  readonly readAt: number
}

/** Milliseconds that a reading is good for while several requests are in flight: then it says little of one of them. */
export const sharedLifetime = 10

/** Milliseconds after which the rate is looked at. */
const rateInterval = 100

/** Readings that are wanted in a millisecond: of two for each request, no client wants so many that is not a test of load. */
const loadRate = 0.5

let last: ProcessUsage | undefined
let wanted = 0
let countedSince = 0
let isUnderLoad = false

/**
 * What the process has used, by now or up to so many milliseconds ago; under load up to ten. To ask the system for each of
 * many requests would cost more than most of what is recorded, up to 40 µs.
 */
export function readProcessUsage(lifetime: number): ProcessUsage {
  const now = performance.now()
  countWanted(now)
  if (last === undefined || now - last.readAt > (isUnderLoad ? sharedLifetime : lifetime)) {
    const { heap_size_limit: heapLimit, used_heap_size: heap } = getHeapStatistics()
    const { maxRSS, systemCPUTime, userCPUTime } = process.resourceUsage()
    last = { user: userCPUTime, system: systemCPUTime, peak: maxRSS * 1024, heap, heapLimit, readAt: now }
  }
  return last
}

function countWanted(now: number): void {
  wanted++
  const counted = now - countedSince
  if (counted < rateInterval) return
  isUnderLoad = wanted / counted > loadRate
  wanted = 0
  countedSince = now
}
