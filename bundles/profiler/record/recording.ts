import { observeValidations } from '../../../kernel/arguments/schemas.ts'
import type { Application, Foundation } from '../../../kernel/bundle.ts'
import type { Collector } from '../../../kernel/profiler-contract.ts'
import type { ConnectionWait, QueryEnd, QueryObserver, QueryStart } from '../../../kernel/queries.ts'
import { ThrownFrames } from '../../../kernel/thrown-frames.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { TraceableEventDispatcher } from '../../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import type { Request } from '../../../lib/http/request.ts'
import { maskAndCut, type TextMasker } from '../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import { Callers, type Running } from '../../../lib/stack/callers.ts'
import { createTraceableView } from '../../../lib/view/traceable-view.ts'
import type { View } from '../../../lib/view/view.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { collectData, collectLate, type ProfileCollector } from './collect.ts'
import { ExceptionCollector } from './collectors/exception.ts'
import { ConfigCollector, memoryCollector, ServerCollector } from './collectors/process.ts'
import { createQueriesCollector } from './collectors/queries.ts'
import { RequestCollector } from './collectors/request.ts'
import { ResponseCollector } from './collectors/response.ts'
import { RouterCollector } from './collectors/router.ts'
import { SessionCollector } from './collectors/session.ts'
import { createTimeCollector, lateCollector } from './collectors/time.ts'
import {
  consoleCollector,
  createCpuCollector,
  createEventsCollector,
  createHttpCollector,
  createLoggerCollector,
  createTemplatesCollector,
  validationCollector,
} from './collectors/traces.ts'
import { ContentCopier } from './content.ts'
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
import { captureQuery } from './queries/captured-values.ts'
import { QueryTrace } from './query-trace.ts'
import type { RecordingPolicy } from './recording-policy.ts'
import { RequestRecorder } from './request-recorder.ts'
import { createRunningSearch, type FindRunning } from './running-functions.ts'
import type { Trace } from './trace.ts'
import { createValidationRecorder } from './validation-trace.ts'
import { CallWatch, watchFetch, watchNodeHttp } from './watch-calls.ts'
import { watchSignals } from './watch-signals.ts'

/** The parts that the bundle passes to a recording. */
interface RecordingParts {
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

/** Characters of the message of an error. */
const messageLimit = 4000

/** Milliseconds: a connection that is free is there at once. */
const leastWait = 10

/** The parts that the recorder works with. */
interface QueryRecorderServices {
  /** The trace of a request; of the current request by default. */
  readonly findTrace: (request?: Request) => Trace | undefined
  readonly callers: Pick<Callers, 'find'>
  readonly findRunning: FindRunning
  readonly redactor: TextMasker
}

/** Records each query on the trace of its request, whichever source reports it. */
export class QueryRecorder implements QueryObserver {
  readonly #services: QueryRecorderServices

  constructor(services: QueryRecorderServices) {
    this.#services = services
  }

  begin(start: QueryStart, below?: Running): QueryEnd | undefined {
    const { callers, findRunning, findTrace, redactor } = this.#services
    const trace = findTrace(start.request)
    if (trace === undefined) return undefined
    trace.queries ??= new QueryTrace()
    if (!trace.queries.count(start.system)) return undefined
    const caller = (start.findCaller === undefined ? callers.find(below) : start.findCaller()) ?? findRunning(trace)
    // A span gets its statement and its values after it has begun. They are copies already.
    const raw = start.source === 'span' ? start : captureQuery(start, redactor)
    const query = trace.queries.begin(raw, caller, trace)
    return result => query.finish(result, text => maskAndCut(text, messageLimit, redactor))
  }

  noteWait({ caller, duration, request, system }: ConnectionWait): void {
    const trace = duration < leastWait ? undefined : this.#services.findTrace(request)
    if (trace === undefined) return
    trace.queries ??= new QueryTrace()
    trace.queries.addWait({ system, start: trace.elapsed() - duration, duration, caller })
  }

  isRecorded(request: Request): boolean {
    return this.#services.findTrace(request) !== undefined
  }
}

/** Creates the profiler's own collectors, in the order in which they run. */
export function createCollectors(app: Application, sites: ListenerSites): ProfileCollector[] {
  const { debugGate, directory, dispatcher, redactor } = app
  const contents = new ContentCopier(redactor)
  return [
    // First: the usage of the request does not include the work of the other collectors.
    memoryCollector,
    createCpuCollector(app),
    new RequestCollector(redactor, debugGate),
    new ResponseCollector(redactor, contents),
    new SessionCollector(redactor, directory),
    createEventsCollector(dispatcher, listener => sites.find(listener, directory)),
    createTimeCollector(redactor),
    createLoggerCollector(directory),
    consoleCollector,
    new ExceptionCollector(app),
    new RouterCollector(app),
    createTemplatesCollector(redactor),
    createHttpCollector(redactor, contents),
    createQueriesCollector(redactor),
    validationCollector,
    new ServerCollector(app, process),
    new ConfigCollector(app),
    lateCollector,
  ]
}
