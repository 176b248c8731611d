import { observeValidations } from '../../../kernel/arguments/validation.ts'
import type { Application, Foundation } from '../../../kernel/bundle.ts'
import type { Collector } from '../../../kernel/profiler-contract.ts'
import { ThrownFrames } from '../../../kernel/thrown-frames.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { TraceableEventDispatcher } from '../../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import { Callers } from '../../../lib/stack/callers.ts'
import { createTraceableView } from '../../../lib/view/traceable-view.ts'
import type { View } from '../../../lib/view/view.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { collectData, collectLate, type ProfileCollector } from './collect.ts'
import { createCollectors } from './collectors/create-collectors.ts'
import { ListenerSites } from './listener-sites.ts'
import { GcWatch, HangWatch, LoopWatch } from './loop-watch.ts'
import {
  createRenderTracer,
  observeConsole,
  observeSessions,
  observeSyncCalls,
  observeWarnings,
  watchCrashes,
} from './observers.ts'
import { Profiler } from './profiler.ts'
import { ProfilerListener } from './profiler-listener.ts'
import { QueryRecorder } from './query-recorder.ts'
import type { RecordingPolicy } from './recording-policy.ts'
import { RequestRecorder } from './request-recorder.ts'
import { createRunningSearch } from './running-functions.ts'
import type { Trace } from './trace.ts'
import { createValidationRecorder } from './validation-trace.ts'
import { CallWatch, watchFetch, watchNodeHttp } from './watch-calls.ts'
import { watchSignals } from './watch-signals.ts'

/** The parts that the bundle passes to a recording. */
export interface RecordingParts {
  readonly storage: ProfileStorage
  readonly policy: RecordingPolicy
  /** Whether a main request asks for the profiler itself: such requests are not recorded. */
  readonly isForProfiler: (request: Request) => boolean
}

/**
 * Assembles everything that records requests: the dispatcher and the view that trace, the profiler that they report to,
 * the watches of the process, and the collectors that read the traces.
 */
export class Recording {
  readonly profiler: Profiler
  /** The dispatcher of the foundation, traced. */
  readonly dispatcher: EventDispatcher
  /** The view of the foundation, traced. */
  readonly view: View
  readonly #storage: ProfileStorage
  readonly #sites = new ListenerSites()
  readonly #collectors: ProfileCollector[] = []
  readonly #stops: (() => void)[] = []

  constructor(foundation: Foundation, { isForProfiler, policy, storage }: RecordingParts) {
    const { context, directory, redactor, signals } = foundation
    const logger = foundation.logger.channel('profiler')
    const loop = new LoopWatch(() => this.profiler.unwritten)
    const hangs = new HangWatch({ unwritten: () => this.profiler.unwritten, context, logger })
    // Both are created when a request ends: by then all bundles have added their collectors.
    let collectors: readonly Collector<Trace>[] | undefined
    let processData: string | undefined
    this.#storage = storage
    this.profiler = new Profiler({
      storage,
      policy,
      isForProfiler,
      collect: trace => {
        collectors ??= [...this.#collectors, ...foundation.collectors.map(collector => toMasked(collector, redactor))]
        return collectData(trace, collectors, redactor)
      },
      collectLate: trace => collectLate(trace, this.#collectors, redactor),
      processData: () => (processData ??= redactor.knownSecrets(JSON.stringify(describeProcess(this.#collectors)))),
      watchLoop() {
        loop.start()
        hangs.start()
      },
      redactor,
      logger,
      signals,
    })
    // Edits are facts about the process.
    signals.on('files.changed', () => {
      processData = undefined
    })
    context.enable()
    const recorder = new RequestRecorder({ profiler: this.profiler, context, sites: this.#sites, directory })
    this.dispatcher = new TraceableEventDispatcher(foundation.dispatcher, recorder)
    const renders = createRenderTracer(request => this.profiler.find(request ?? context.current))
    this.view = createTraceableView(foundation.view, renders)
    this.#stops.push(observeLog(foundation, this.profiler), loop.stop, hangs.stop)
    // In production the console and the modules of Node.js stay as they are.
    if (!foundation.debugGate.isDebug) return
    const findTrace = () => this.profiler.find(context.current)
    const services = { findTrace, redactor, directory, terminal: process.stdout }
    this.#stops.push(observeConsole(services), observeWarnings(services), observeSyncCalls(services), watchSignals())
  }

  /**
   * Adds the profiler's listener, the watches that run while requests are handled, and the profiler's collectors.
   * `more` are collectors that the bundle has created.
   */
  register(app: Application, more: readonly ProfileCollector[]): void {
    const { context, debugGate, directory, dispatcher, logger, queries, redactor, reservedCollectors, signals } = app
    const { profiler } = this
    this.#collectors.push(...createCollectors(app, this.#sites), ...more)
    reservedCollectors.push(...this.#collectors.map(({ name }) => name))
    new ProfilerListener({ profiler, debugGate }).subscribe(dispatcher)
    observeSessions(app, profiler)
    const gc = new GcWatch(() => profiler.unwritten)
    const findRunning = createRunningSearch(new ThrownFrames(app), this.#sites, directory)
    const calls = new CallWatch(() => profiler.find(context.current), new Callers(directory), findRunning)
    const findTrace = (request = context.current) => profiler.find(request)
    const recorder = new QueryRecorder({ findTrace, callers: new Callers(directory), findRunning, redactor })
    const validations = createValidationRecorder(findTrace, redactor)
    this.#stops.push(queries.observe(recorder), observeValidations(validations))
    signals.on('kernel.booted', () => {
      const crashes = watchCrashes(profiler, context, logger.channel('profiler'))
      this.#stops.push(gc.start(), watchFetch(calls), watchNodeHttp(calls), crashes)
    })
  }

  /** The collectors of these names. */
  collectorsOf(names: readonly string[]): readonly ProfileCollector[] {
    return this.#collectors.filter(({ name }) => names.includes(name))
  }

  /** Stops all watches, waits until the ended requests are written, and closes the store. */
  async close(): Promise<void> {
    for (const stop of this.#stops) stop()
    await this.profiler.whenIdle()
    await this.#storage.close()
  }
}

/** Adds each log message to the trace of its request, until the returned function is called. */
function observeLog({ context, directory, logger }: Foundation, profiler: Profiler): () => void {
  const callers = new Callers(directory)
  const locate = () => callers.find()
  return logger.observe(record => {
    const trace = profiler.find(context.current)
    trace?.logs.add(record, locate)
    trace?.touch()
  })
}

/** The collector of another bundle may return secrets: its data is masked. */
function toMasked(collector: Collector, redactor: Redactor): Collector<Trace> {
  const { name } = collector
  return { name, collect: async trace => redactor.value(name, await collector.collect(trace)) }
}

function describeProcess(collectors: readonly ProfileCollector[]): Record<string, unknown> {
  return Object.fromEntries(collectors.map(collector => [collector.name, collector.describeProcess?.()]))
}
