import childProcess from 'node:child_process'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { constants, type NodeGCPerformanceDetail, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import type { RequestContext } from '../../../../kernel/request-context.ts'
import type { Logger } from '../../../../lib/log/logger.ts'
import { Callers, type Running } from '../../../../lib/stack/callers.ts'
import { findGap, type Gap, leastBlock, readIdleTime } from '../../record/loop-activity.ts'
import type { FindTrace, Trace } from '../../record/trace.ts'
import type { LoopBlock } from './data.ts'
import { usagePart } from './record.ts'

/** Milliseconds between two ticks. */
const interval = 20

/**
 * Records blocks of the event loop on the requests in flight. A timer that fires late although the loop has not waited
 * proves the block; the request that is active first afterwards has caused it. The CPU time distinguishes work from a
 * machine that was busy with other programs.
 */
export class LoopWatch {
  readonly #unwritten: () => Iterable<Trace>
  #timer: NodeJS.Timeout | undefined
  #looked = 0
  #idle = 0
  #cpu = 0

  /** Lists the main requests that are not written yet. */
  constructor(unwritten: () => Iterable<Trace>) {
    this.#unwritten = unwritten
  }

  /** Starts the timer, unless it runs. It stops by itself when no request is in flight. */
  readonly start = (): void => {
    if (this.#timer !== undefined) return
    this.#remember()
    // The timer is unref'd: it does not keep the process running.
    this.#timer = setInterval(() => this.#look(), interval).unref()
  }

  /** Stops the timer. */
  readonly stop = (): void => {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    const traces = [...this.#unwritten()]
    if (traces.length === 0) {
      this.stop()
      return
    }
    const due = this.#looked + interval
    const [cpu, idle] = [this.#cpu, this.#idle]
    this.#remember()
    // The usual case: the timer was not late. If the machine slept, the loop has waited.
    if (this.#looked - due - Math.max(0, this.#idle - idle - interval) < leastBlock) return
    const gap = findGap(due, this.#looked)
    const isAlone = traces.length === 1
    for (const trace of traces) noteBlock(trace, { ...gap, isAlone }, this.#cpu - cpu)
  }

  #remember(): void {
    const { system, user } = process.cpuUsage()
    this.#cpu = (user + system) / 1000
    this.#idle = readIdleTime()
    this.#looked = performance.now()
  }
}

/** Records the part of a block in which the request was in flight. */
function noteBlock(trace: Trace, gap: Gap & Pick<LoopBlock, 'isAlone'>, cpu: number): void {
  const usage = usagePart.find(trace)
  if (usage === undefined) return
  const from = Math.max(trace.start, gap.start)
  const duration = Math.min(usage.end, gap.end) - from
  if (duration >= leastBlock) usage.addBlock(from - trace.start, duration, Math.min(cpu, duration), gap)
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
 * of the event loop later: a short request has ended then, but is not written yet.
 */
export class GcWatch {
  readonly #unwritten: () => Iterable<Trace>

  /** Lists the main requests that are not written yet. */
  constructor(unwritten: () => Iterable<Trace>) {
    this.#unwritten = unwritten
  }

  /** Starts to listen, until the returned function is called. It does not keep the process running. */
  start(): () => void {
    const observer = new PerformanceObserver(list => this.#take(list.getEntries() as GcRun[]))
    observer.observe({ entryTypes: ['gc'] })
    return () => observer.disconnect()
  }

  #take(runs: readonly GcRun[]): void {
    for (const trace of this.#unwritten()) for (const run of runs) notePause(trace, run)
  }
}

function notePause(trace: Trace, { detail, duration, startTime }: GcRun): void {
  const usage = usagePart.find(trace)
  if (usage === undefined || startTime + duration < trace.start || startTime > usage.end) return
  usage.addPause(startTime - trace.start, duration, kinds[detail.kind])
}

/** The services that the watch uses. */
interface HangWatchServices {
  /** Lists the main requests that are not written yet. */
  readonly unwritten: () => Iterable<Trace>
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
    this.#timer ??= setInterval(() => this.#look(), this.#limit / 5).unref()
  }

  /** Stops the timer. */
  readonly stop = (): void => {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    const traces = [...this.#services.unwritten()]
    if (traces.length === 0) this.stop()
    for (const trace of traces) {
      if (trace.duration !== undefined || elapsedSince(trace) < this.#limit || this.#reported.has(trace)) continue
      this.#reported.add(trace)
      this.#report(trace)
    }
  }

  #report(main: Trace): void {
    const { context, logger } = this.#services
    const { controller, events, request } = findHanging(main)
    const culprit = describe(events.openCall, controller)
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
  return performance.now() - start
}

/** The innermost request that has not ended. */
function findHanging(trace: Trace): Trace {
  const child = trace.children.findLast(({ duration }) => duration === undefined)
  return child === undefined ? trace : findHanging(child)
}

function describe(call: Trace['events']['openCall'], controller: string | undefined): string {
  if (call !== undefined) return `The listener ${call.listener} of ${call.event}`
  return controller === undefined ? 'An argument of the controller' : `The controller ${controller}`
}

/** Records long synchronous calls for files and processes on the traces of their main requests, until the returned function is called. */
export function observeSyncCalls({
  directory,
  findTrace,
}: {
  readonly directory: string
  readonly findTrace: FindTrace
}): () => void {
  const callers = new Callers(directory)
  return watchSyncCalls(({ duration, name, start }, below) => {
    const main = findTrace()?.main
    if (main === undefined) return
    const call = { name, start: start - main.start, duration, caller: callers.find(below) }
    usagePart.find(main)?.addSyncCall(call)
  })
}

/** Milliseconds: shorter calls are not reported. In this time, the event loop handles no other request. */
const leastTime = 50

/** A call of a synchronous function of `node:fs` or `node:child_process`. */
export interface SyncCall {
  /** Such as `fs.readFileSync`. */
  readonly name: string
  /** By `performance.now()`. */
  readonly start: number
  readonly duration: number
}

/** Called after a long call, while its caller is on the stack below the function `below`. */
type SyncCallObserver = (call: SyncCall, below: Running) => void

/** The functions belong to the process, and so do their observers: a process may have several kernels. */
const observers = new Set<SyncCallObserver>()

/** Puts back the functions. */
let restore: (() => void) | undefined

/** Whether a function runs: some call others of them. */
let isRunning = false

/**
 * Passes long calls of the synchronous functions for files and processes to an observer, until the returned function is called.
 * A short call costs a fraction of a microsecond. Code that has imported the functions before is observed, too, except for
 * CommonJS modules that keep a function in a variable.
 */
export function watchSyncCalls(observer: SyncCallObserver): () => void {
  observers.add(observer)
  restore ??= patchAll()
  return () => {
    observers.delete(observer)
    if (observers.size > 0) return
    restore?.()
    restore = undefined
  }
}

function patchAll(): () => void {
  const restores = [...patch('fs', fs), ...patch('child_process', childProcess)]
  syncBuiltinESMExports()
  return () => {
    for (const restore of restores) restore()
    syncBuiltinESMExports()
  }
}

/** Replaces the synchronous functions of a module. */
function patch(prefix: string, module: object): (() => void)[] {
  return Object.keys(module).flatMap(key => {
    const original: unknown = Reflect.get(module, key)
    if (!key.endsWith('Sync') || !isFunction(original)) return []
    const observed = observe(`${prefix}.${key}`, original)
    Reflect.set(module, key, observed)
    return [
      () => {
        // Another library may have replaced it since.
        if (Reflect.get(module, key) === observed) Reflect.set(module, key, original)
      },
    ]
  })
}

function isFunction(value: unknown): value is Running {
  return typeof value === 'function'
}

function observe(name: string, original: Running): Running {
  function observed(this: unknown, ...values: never[]): unknown {
    if (isRunning) return Reflect.apply(original, this, values)
    isRunning = true
    const start = performance.now()
    try {
      return Reflect.apply(original, this, values)
    } finally {
      isRunning = false
      const duration = performance.now() - start
      if (duration >= leastTime) report({ name, start, duration }, observed)
    }
  }
  // Its name and length, and such as `realpathSync.native`.
  return Object.defineProperties(observed, Object.getOwnPropertyDescriptors(original))
}

/** Calls the observers. Their errors are dropped: an error would replace the result of the application's call. */
function report(call: SyncCall, below: Running): void {
  for (const observer of observers) {
    try {
      observer(call, below)
    } catch {
      // The application continues; the profile has a gap.
    }
  }
}
