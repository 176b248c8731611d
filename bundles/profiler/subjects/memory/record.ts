import {
  constants,
  type EventLoopUtilization,
  type NodeGCPerformanceDetail,
  type PerformanceEntry,
  PerformanceObserver,
  performance,
} from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { syncCalls } from '../../../../kernel/contracts/process-calls.ts'
import type { RequestContext } from '../../../../kernel/request-context.ts'
import { guard } from '../../../../lib/guard.ts'
import type { Logger } from '../../../../lib/log/logger.ts'
import { readClock, startInterval, stopTimer } from '../../../../lib/own-globals.ts'
import { Callers } from '../../../../lib/stack/callers.ts'
import { roundTime } from '../../profile/format.ts'
import { stopsOf, syncCallLimit } from '../../profile/work.ts'
import type { CollectorOf } from '../../record/collect.ts'
import {
  findBlocks,
  type Gap,
  ignoreCallbacks,
  leastBlock,
  readIdleTime,
  searchOwners,
  watchCallbacks,
  watchMoreCallbacks,
} from '../../record/loop-activity.ts'
import { middlewarePart } from '../../record/middleware-trace.ts'
import type { RecordedSubject } from '../../record/recorded-subject.ts'
import { type FindTrace, type Trace, TracePart } from '../../record/trace.ts'
import type { GcPause, LoopBlock, SyncCallData } from './data.ts'

/**
 * The resources of the process while a main request is handled: memory, CPU and event loop. In
 * production the modules of Node.js stay as they are.
 */
export const memorySubject: RecordedSubject = {
  observeProcess({ context, directory, logger }, { findTrace, onBegin, profiler }) {
    const unstored = () => profiler.unstored
    const loop = new LoopWatch(unstored)
    const hangs = new HangWatch({ unstored, context, logger: logger.channel('profiler') })
    onBegin(trace => {
      usagePart.of(trace).watch = loop
      loop.start()
      hangs.start()
    })
    const stopSearch = searchOwners(() => findTrace()?.main)
    return [loop.stop, hangs.stop, stopSearch, observeSyncCalls(directory, findTrace)]
  },
  createCollectors: () => [memoryCollector],
  observeLibraries: (_, { profiler }) => [new GcWatch(() => profiler.unstored).start()],
}

/** Collects the resources that the process used from the start of a main request until its response was sent. */
const memoryCollector: CollectorOf<'memory'> = {
  name: 'memory',
  collect(trace) {
    const usage = usagePart.find(trace)
    if (usage === undefined) return undefined
    const { heap, heapLimit, peak, system, user } = usage.readProcess(trace)
    const { active, idle } = eventLoopUtilization(usage.activity)
    const now = readClock()
    usage.watch?.look(now, trace)
    usage.end = now
    return {
      wall: roundTime(usage.end - trace.start),
      cpu: { user: (user - usage.process.user) / 1000, system: (system - usage.process.system) / 1000 },
      loop: { active: roundTime(active), idle: roundTime(idle) },
      heap: { before: usage.process.heap, after: heap, limit: heapLimit },
      peak,
      requests: { others: trace.others, most: trace.mostOthers },
      pauses: usage.pauses,
      blocks: usage.blocks,
      ...(trace.events.busy.length > 0 && { busy: trace.events.busy }),
      ...(usage.syncCalls.length > 0 && { syncCalls: usage.syncCalls }),
    }
  },
  findStops(trace) {
    const usage = usagePart.find(trace)
    usage?.watch?.look(readClock())
    return stopsOf(usage && { ...usage, busy: trace.events.busy })
  },
  summarize: () => ({ memory: readProcessUsage(sharedLifetime).heap }),
}

const eventLoopUtilization = performance.eventLoopUtilization.bind(performance)

const pauseLimit = 100

/** Ten seconds of blocks: without a block, what waited meanwhile would be slow. */
const blockLimit = 200

/** Milliseconds that a reading is reused while requests follow one another closely. */
const closeLifetime = 1

/** The resources that the whole process uses from the start of a main request. */
export class UsageTrace {
  readonly process: ProcessUsage
  readonly activity: EventLoopUtilization = eventLoopUtilization()
  /** The watch of the event loop, whose timer may be too late for a request that ends. */
  watch: LoopWatch | undefined
  /** When the request ended, by `performance.now()`. */
  end: number = Number.POSITIVE_INFINITY
  /**
   * Mutable, because the collector hands it out before all runs are known: they are reported up to two turns of the
   * event loop later, also after the end of the request.
   */
  readonly pauses: { count: number; total: number; readonly longest: GcPause[] } = { count: 0, total: 0, longest: [] }
  /** A block is detected when the request ends, else by a timer, also after the end of the request. */
  readonly blocks: LoopBlock[] = []
  /** Long synchronous calls for files and processes. */
  readonly syncCalls: SyncCallData[] = []
  readonly #isExact: boolean

  constructor({ others }: Pick<Trace, 'others'>) {
    const now = readClock()
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
    const { longest } = pauses
    if (longest.length === pauseLimit) {
      const shortest = longest.reduce((one, other) => (other.duration < one.duration ? other : one))
      if (shortest.duration >= duration) return
      longest.splice(longest.indexOf(shortest), 1)
    }
    longest.push({ start: roundTime(start), duration: roundTime(duration), kind })
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
    { by, isAlone, isOwn, span }: Pick<LoopBlock, 'by' | 'isOwn' | 'isAlone' | 'span'>,
  ): void {
    if (this.blocks.length === blockLimit) return
    this.blocks.push({
      start: roundTime(start),
      duration: roundTime(duration),
      cpu: roundTime(cpu),
      by,
      isOwn,
      isAlone,
      ...(span !== undefined && { span }),
    })
  }
}

/** The usage of the process from the start of a main request. */
export const usagePart: TracePart<UsageTrace> = new TracePart(trace => new UsageTrace(trace))

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

/**
 * Milliseconds for which a reading is reused while several requests are in flight: a process's
 * usage is not that of one of them.
 */
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
export function readProcessUsage(lifetime: number, now: number = readClock()): ProcessUsage {
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

/** Milliseconds between two ticks. */
const interval = 20

/**
 * Records blocks of the event loop on the requests in flight. A timer that fires late although the
 * loop has not waited proves the block; the request in whose callback it ran has caused it. The
 * CPU time distinguishes work from a process that did not run.
 */
export class LoopWatch {
  readonly #unstored: () => Iterable<Trace>
  #timer: NodeJS.Timeout | undefined
  /** Of the latest look, in milliseconds. */
  #known = { cpu: 0, idle: 0, looked: 0 }

  /** Lists the main requests that are not stored yet. */
  constructor(unstored: () => Iterable<Trace>) {
    this.#unstored = unstored
  }

  /** Starts the timer, unless it runs. It stops by itself when no request is in flight. */
  readonly start = (): void => {
    if (this.#timer !== undefined) return
    this.#remember()
    watchCallbacks()
    // The timer is unref'd: it does not keep the process running.
    this.#timer = startInterval(this.#tick, interval).unref()
  }

  /** Stops the timer. */
  readonly stop = (): void => {
    stopTimer(this.#timer)
    this.#timer = undefined
    ignoreCallbacks()
  }

  readonly #tick = guard('blocks of the event loop', (): void => {
    const traces = [...this.#unstored()]
    if (traces.length === 0) this.stop()
    else this.#look(traces)
  })

  /**
   * Records a block that the timer could not yet report. Timers run up to 20 ms after it, and the
   * profile of the request may be stored before.
   */
  readonly look = (now: number, ...ended: readonly Trace[]): void => {
    if (now - this.#known.looked >= leastBlock) this.#look([...this.#unstored(), ...ended])
  }

  #look(traces: readonly Trace[]): void {
    const { cpu, idle, looked } = this.#known
    this.#remember()
    const { cpu: cpuNow, idle: idleNow, looked: now } = this.#known
    // The usual case: the timer was not late. If the machine slept, the loop has waited.
    if (now - looked - (idleNow - idle) < leastBlock) return
    const blocks = findBlocks(looked, now, idleNow - idle)
    const isAlone = traces.length === 1
    const total = blocks.reduce((sum, { end, start }) => sum + end - start, 0)
    for (const block of blocks) {
      const share = (cpuNow - cpu) * ((block.end - block.start) / total)
      // Other programs of a busy machine are no callbacks.
      const isKnown = block.isOwn && (block.code !== undefined || !traces.some(trace => middlewarePart.find(trace)))
      if (!isKnown && share >= leastBlock / 2) watchMoreCallbacks()
      for (const trace of traces) noteBlock(trace, { ...block, isAlone }, share)
    }
  }

  #remember(): void {
    const { system, user } = process.cpuUsage()
    this.#known = { cpu: (user + system) / 1000, idle: readIdleTime(), looked: readClock() }
  }
}

/** Records the part of a block in which the request was in flight. */
function noteBlock(trace: Trace, gap: Gap & Pick<LoopBlock, 'isAlone'>, cpu: number): void {
  const usage = usagePart.find(trace)
  if (usage === undefined) return
  const from = Math.max(trace.start, gap.start)
  const duration = Math.min(usage.end, gap.end) - from
  // In several turns, the request may have been active without having blocked.
  const by = gap.isOwn ? gap.by : ''
  if (duration < leastBlock) return
  const code = by === trace.token ? gap.code : undefined
  const span = code && middlewarePart.find(trace)?.indexOf(code)
  usage.addBlock(from - trace.start, duration, Math.min(cpu, duration), { ...gap, by, span })
}

/** An entry of the type `gc`; the types of node leave its details open. */
interface GcRun extends PerformanceEntry {
  readonly detail: NodeGCPerformanceDetail
}

const kinds: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weak callbacks',
}

/**
 * Records the runs of the garbage collector on the requests that they interrupted. Node reports a run up to two turns
 * of the event loop later: a short request has ended then, but is not stored yet.
 */
export class GcWatch {
  readonly #unstored: () => Iterable<Trace>

  /** Lists the main requests that are not stored yet. */
  constructor(unstored: () => Iterable<Trace>) {
    this.#unstored = unstored
  }

  /** Starts to listen, until the returned function is called. It does not keep the process running. */
  start(): () => void {
    const observer = new PerformanceObserver(
      guard('the garbage collection', list => this.#take(list.getEntries() as GcRun[])),
    )
    observer.observe({ entryTypes: ['gc'] })
    return () => observer.disconnect()
  }

  #take(runs: readonly GcRun[]): void {
    for (const trace of this.#unstored()) for (const run of runs) notePause(trace, run)
  }
}

function notePause(trace: Trace, { detail, duration, startTime }: GcRun): void {
  const usage = usagePart.find(trace)
  if (usage === undefined || startTime + duration < trace.start || startTime > usage.end) return
  usage.addPause(startTime - trace.start, duration, kinds[detail.kind])
}

interface HangWatchServices {
  /** Lists the main requests that are not stored yet. */
  readonly unstored: () => Iterable<Trace>
  readonly context: RequestContext
  readonly logger: Logger
  /** Milliseconds after which a request hangs; 5 seconds by default. */
  readonly limit?: number
}

/** Logs once for each hanging request which listener or controller has not ended. */
export class HangWatch {
  readonly #services: HangWatchServices
  readonly #limit: number
  readonly #reported = new WeakSet<Trace>()
  #timer: NodeJS.Timeout | undefined

  constructor(services: HangWatchServices) {
    this.#services = services
    this.#limit = services.limit ?? 5_000
  }

  /** Starts the timer, unless it runs. It stops by itself when no request is in flight. */
  readonly start = (): void => {
    // The timer is unref'd: it does not keep the process running.
    this.#timer ??= startInterval(this.#look, this.#limit / 5).unref()
  }

  /** Stops the timer. */
  readonly stop = (): void => {
    stopTimer(this.#timer)
    this.#timer = undefined
  }

  readonly #look = guard('requests that hang', (): void => {
    const traces = [...this.#services.unstored()]
    if (traces.length === 0) this.stop()
    for (const trace of traces) {
      // Commands and jobs take as long as they take.
      if (
        trace.type !== 'request' ||
        trace.duration !== undefined ||
        elapsedSince(trace) < this.#limit ||
        this.#reported.has(trace)
      )
        continue
      this.#reported.add(trace)
      this.#report(trace)
    }
  })

  #report(main: Trace): void {
    const { context, logger } = this.#services
    const hanging = findHanging(main)
    const { request } = hanging
    const culprit = describe(hanging)
    const seconds = Math.round(elapsedSince(main) / 1000)
    const { method, url } = request
    // The message belongs to the request, and so to its profile.
    context.run(request, () => {
      logger.warning('{culprit} has not ended after {seconds} s: {method} {url}.', { culprit, seconds, method, url })
    })
  }
}

/** Milliseconds since a request began. The watch is no activity of the request, so `elapsed` is not called. */
function elapsedSince({ start }: Trace): number {
  return readClock() - start
}

/** The innermost request that has not ended. */
function findHanging(trace: Trace): Trace {
  const child = trace.children.findLast(({ duration }) => duration === undefined)
  return child === undefined ? trace : findHanging(child)
}

function describe(trace: Trace): string {
  const { controller, events } = trace
  const { openCall: call } = events
  if (call !== undefined) return `The listener ${call.listener.name} of ${call.event}`
  if (controller !== undefined) return `The controller ${controller}`
  // A kernel has dispatched its first event.
  if (events.rows.some(([mark]) => mark === null)) return 'An argument of the controller'
  const running = middlewarePart.find(trace)?.running
  return running === undefined
    ? 'The request'
    : `The request, whose last function is the ${running.phase} ${running.name || 'without a name'},`
}

/**
 * Records long synchronous calls for files and processes on the traces of their main requests,
 * until the returned function is called.
 */
function observeSyncCalls(directory: string, findTrace: FindTrace): () => void {
  const callers = new Callers(directory)
  return syncCalls.observe(({ duration, name, start }, below) => {
    const main = findTrace()?.main
    if (main === undefined) return
    const call = { name, start: start - main.start, duration, caller: callers.find(below) }
    usagePart.find(main)?.addSyncCall(call)
  })
}
