import type { EventLoopUtilization } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { roundTime } from '../../profile/format.ts'
import type { CollectorOf } from '../../record/collect.ts'
import { type Trace, TracePart } from '../../record/trace.ts'
import type { GcPause, LoopBlock, SyncCallData } from './data.ts'

/** Collects the resources that the process used from the start of a main request until its response was sent. */
export const memoryCollector: CollectorOf<'memory'> = {
  name: 'memory',
  collect(trace) {
    const usage = usagePart.find(trace)
    if (usage === undefined) return undefined
    const { heap, heapLimit, peak, system, user } = usage.readProcess(trace)
    const { active, idle } = performance.eventLoopUtilization(usage.loop)
    usage.end = performance.now()
    return {
      wall: roundTime(usage.end - trace.start),
      cpu: { user: (user - usage.process.user) / 1000, system: (system - usage.process.system) / 1000 },
      loop: { active: roundTime(active), idle: roundTime(idle) },
      heap: { before: usage.process.heap, after: heap, limit: heapLimit },
      peak,
      requests: { others: trace.others, most: trace.mostOthers },
      pauses: usage.pauses,
      blocks: usage.blocks,
      ...(usage.syncCalls.length > 0 && { syncCalls: usage.syncCalls }),
    }
  },
  summarize: () => ({ memory: readProcessUsage(sharedLifetime).heap }),
}

const pauseLimit = 20

const blockLimit = 20

const syncCallLimit = 20

/** Milliseconds that a reading is reused while requests follow one another closely. */
const closeLifetime = 1

/** The resources that the whole process uses from the start of a main request. */
export class UsageTrace {
  readonly process: ProcessUsage
  readonly loop: EventLoopUtilization = performance.eventLoopUtilization()
  /** When the request ended, by `performance.now()`. */
  end: number = Number.POSITIVE_INFINITY
  /**
   * Mutable, because the collector hands it out before all runs are known: they are reported up to two turns of the
   * event loop later, also after the end of the request.
   */
  readonly pauses: { count: number; total: number; readonly first: GcPause[] } = { count: 0, total: 0, first: [] }
  /** A block is detected by a timer in the next turn, also after the end of the request. */
  readonly blocks: LoopBlock[] = []
  /** Long synchronous calls for files and processes. */
  readonly syncCalls: SyncCallData[] = []
  readonly #isExact: boolean

  constructor({ others }: Pick<Trace, 'others'>) {
    const now = performance.now()
    this.process = readProcessUsage(others === 0 ? closeLifetime : sharedLifetime)
    this.#isExact = this.process.readAt >= now
  }

  /** Reads the current usage of the process, as exactly as at the start. */
  readProcess({ mostOthers }: Pick<Trace, 'mostOthers'>): ProcessUsage {
    const lifetime = this.#isExact ? 0 : closeLifetime
    return readProcessUsage(mostOthers === 0 ? lifetime : sharedLifetime)
  }

  /** Records a run of the garbage collector. */
  addPause(start: number, duration: number, kind: string | undefined): void {
    const { pauses } = this
    pauses.count++
    pauses.total = roundTime(pauses.total + duration)
    if (pauses.first.length < pauseLimit)
      pauses.first.push({ start: roundTime(start), duration: roundTime(duration), kind })
  }

  /** Records a long synchronous call. */
  addSyncCall({ caller, duration, name, start }: SyncCallData): void {
    if (this.syncCalls.length === syncCallLimit) return
    this.syncCalls.push({ name, start: roundTime(start), duration: roundTime(duration), caller })
  }

  /** Records a block of the event loop. */
  addBlock(
    start: number,
    duration: number,
    cpu: number,
    { by, isAlone, isOwn }: Pick<LoopBlock, 'by' | 'isOwn' | 'isAlone'>,
  ): void {
    if (this.blocks.length === blockLimit) return
    this.blocks.push({
      start: roundTime(start),
      duration: roundTime(duration),
      cpu: roundTime(cpu),
      by,
      isOwn,
      isAlone,
    })
  }
}

/** The usage of the process from the start of a main request. */
export const usagePart: TracePart<UsageTrace> = new TracePart('memory', trace => new UsageTrace(trace))

/** The resources that the whole process has used since its start. */
interface ProcessUsage {
  /** Bytes of the heap in use, and the bytes to which it may grow. */
  readonly heap: number
  readonly heapLimit: number
  /** The greatest resident set size of the process, in bytes. */
  readonly peak: number
  /** Microseconds of CPU time. */
  readonly user: number
  readonly system: number
  /** By `performance.now()`. */
  readonly readAt: number
}

/** Milliseconds for which a reading is reused while several requests are in flight: a process's usage is not that of one of them. */
export const sharedLifetime = 10

/** Milliseconds after which the rate is computed again. */
const rateInterval = 100

/** Readings per millisecond that count as a load test. A request takes two. */
const loadRate = 0.5

let last: ProcessUsage | undefined

let wanted = 0

let countedSince = 0

let isUnderLoad = false

/**
 * Reads what the process has used; a reading is reused for `lifetime` milliseconds, under load for ten. A system call
 * for each request would cost up to 40 µs, more than most of the recording.
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
