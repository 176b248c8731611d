import { constants, type NodeGCPerformanceDetail, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import type { RequestContext } from '../../../kernel/request-context.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { findGap, type Gap } from './event-trace.ts'
import type { Trace } from './trace.ts'

/** Milliseconds between two looks. */
const interval = 20

/** Milliseconds; a look that comes so much too late is not worth a note. */
const leastBlock = 50

/**
 * Notes on the requests in flight when the event loop was blocked, and by which of them: a timer that comes late says that
 * it was, and whoever did something first afterwards was at work. CPU time tells it from a machine that was asleep or
 * busy with other things.
 */
export class LoopWatch {
  readonly #open: () => Iterable<Trace>
  #timer: NodeJS.Timeout | undefined
  #looked = 0
  #cpu = 0

  /** Finds the main requests that are not kept yet. */
  constructor(open: () => Iterable<Trace>) {
    this.#open = open
  }

  /** Begins to look, unless it does; ends by itself when no request is in flight. */
  readonly start = (): void => {
    if (this.#timer !== undefined) return
    this.#remember()
    // For its own sake no process goes on.
    this.#timer = setInterval(() => this.#look(), interval).unref()
  }

  /** Ends at once. */
  readonly stop = (): void => {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    const traces = [...this.#open()]
    if (traces.length === 0) {
      this.stop()
      return
    }
    const due = this.#looked + interval
    const before = this.#cpu
    this.#remember()
    // Mostly it is not late.
    if (this.#looked - due < leastBlock) return
    const gap = findGap(due, this.#looked)
    for (const trace of traces) noteBlock(trace, gap, this.#cpu - before)
  }

  #remember(): void {
    const { system, user } = process.cpuUsage()
    this.#cpu = (user + system) / 1000
    this.#looked = performance.now()
  }
}

/** As far as the request was in flight. */
function noteBlock({ start, usage }: Trace, gap: Gap, cpu: number): void {
  if (usage === undefined) return
  const from = Math.max(start, gap.start)
  const duration = Math.min(usage.end, gap.end) - from
  if (duration >= leastBlock) usage.addBlock(from - start, duration, Math.min(cpu, duration), gap.by)
}

/** An entry of the type `gc`; the types of node say of none what its details are. */
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
 * Notes the runs of the garbage collector on the traces that it has interrupted. Node tells of a run up to two turns of
 * the event loop later, when a short request is over, but not kept yet.
 */
export class GcWatch {
  readonly #open: () => Iterable<Trace>

  /** Finds the main requests that are not kept yet. */
  constructor(open: () => Iterable<Trace>) {
    this.#open = open
  }

  /** Begins to listen, until the returned function is called; the process is not kept alive by it. */
  start(): () => void {
    const observer = new PerformanceObserver(list => this.#take(list.getEntries() as GcRun[]))
    observer.observe({ entryTypes: ['gc'] })
    return () => observer.disconnect()
  }

  #take(runs: readonly GcRun[]): void {
    for (const trace of this.#open()) for (const run of runs) notePause(trace, run)
  }
}

function notePause({ start, usage }: Trace, { detail, duration, startTime }: GcRun): void {
  if (usage === undefined || startTime + duration < start || startTime > usage.end) return
  usage.addPause(startTime - start, duration, kinds[detail.kind])
}

/** What the watch works with. */
export interface HangWatchServices {
  /** Finds the main requests that are not kept yet. */
  readonly open: () => Iterable<Trace>
  readonly context: RequestContext
  readonly logger: Logger
  /** Milliseconds after which something is said to hang; 5 seconds by default. */
  readonly limit?: number
}

/** Logs once for each request which listener or controller has not ended for too long: nothing else would name it. */
export class HangWatch {
  readonly #services: HangWatchServices
  readonly #limit: number
  readonly #reported = new WeakSet<Trace>()
  #timer: NodeJS.Timeout | undefined

  constructor(services: HangWatchServices) {
    this.#services = services
    this.#limit = services.limit ?? 5_000
  }

  /** Begins to look, unless it does; ends by itself when no request is in flight. */
  readonly start = (): void => {
    // The process may end meanwhile.
    this.#timer ??= setInterval(() => this.#look(), this.#limit / 5).unref()
  }

  /** Ends at once. */
  readonly stop = (): void => {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    const traces = [...this.#services.open()]
    if (traces.length === 0) this.stop()
    for (const trace of traces) {
      if (trace.duration !== undefined || trace.elapsed() < this.#limit || this.#reported.has(trace)) continue
      this.#reported.add(trace)
      this.#report(trace)
    }
  }

  #report(main: Trace): void {
    const { context, logger } = this.#services
    const { controller, events, request } = findHanging(main)
    const culprit = describe(events.openCall, controller)
    const seconds = Math.round(main.elapsed() / 1000)
    const { method, url } = request
    // The line belongs to the request, and so to its profile.
    context.run(request, () => {
      logger.warning('{culprit} has not ended after {seconds} s: {method} {url}.', { culprit, seconds, method, url })
    })
  }
}

/** The innermost request that is handled still. */
function findHanging(trace: Trace): Trace {
  const child = trace.children.findLast(({ duration }) => duration === undefined)
  return child === undefined ? trace : findHanging(child)
}

function describe(call: Trace['events']['openCall'], controller: string | undefined): string {
  if (call !== undefined) return `The listener ${call.listener} of ${call.event}`
  return controller === undefined ? 'An argument of the controller' : `The controller ${controller}`
}
