import { observeValidations } from '../../../kernel/argument-sources.ts'
import type { Application, Foundation } from '../../../kernel/bundle.ts'
import { ThrownFrames } from '../../../kernel/thrown-frames.ts'
import { Callers } from '../../../lib/stack/callers.ts'
import type { RenderTracer } from '../../../lib/view/traceable-view.ts'
import { createRunningSearch, type ListenerSites } from '../record/code-places.ts'
import type { ProfileCollector } from '../record/collect.ts'
import { ContentCopier } from '../record/copy.ts'
import type { Profiler } from '../record/profiler.ts'
import type { Trace } from '../record/trace.ts'
import { ConfigCollector, ServerCollector } from './config/record.ts'
import { consoleCollector, observeConsole } from './console/record.ts'
import { createCpuCollector } from './cpu/record.ts'
import { createEventsCollector } from './events/record.ts'
import { ExceptionCollector, watchCrashes } from './exception/record.ts'
import { observeSessions, RequestCollector, ResponseCollector, SessionCollector } from './exchange/record.ts'
import { createHttpCollector } from './http/record.ts'
import { CallWatch, watchFetch, watchNodeHttp, watchSignals } from './http/watch-calls.ts'
import { createLoggerCollector, isRecordedWarning, observeLog, observeWarnings } from './logs/record.ts'
import { memoryCollector, usagePart } from './memory/record.ts'
import { GcWatch, HangWatch, LoopWatch, observeSyncCalls } from './memory/watches.ts'
import { createQueriesCollector, QueryRecorder } from './queries/record.ts'
import { RouterCollector } from './router/record.ts'
import { createRenderTracer, createTemplatesCollector } from './templates/record.ts'
import { createLateCollector, createTimeCollector } from './time/record.ts'
import { createValidationRecorder, validationCollector } from './validation/record.ts'

/** Creates the profiler's own collectors, in the order in which they run. */
export function createCollectors(app: Application, sites: ListenerSites): ProfileCollector[] {
  const { debugGate, directory, dispatcher, redactor } = app
  const contents = new ContentCopier(redactor)
  const collectors = [
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
    createQueriesCollector(redactor),
    createHttpCollector(redactor, contents),
    validationCollector,
    new ServerCollector(app, process),
    new ConfigCollector(app),
  ]
  return [...collectors, createLateCollector(collectors)]
}

/** Records what no request starts, such as blocks of the event loop, and what bundles may log or print while they are registered. */
interface ProcessObservation {
  readonly renders: RenderTracer
  /** Called when the trace of a main request has begun. */
  readonly onBegin: (trace: Trace) => void
  readonly stops: readonly (() => void)[]
}

/** Starts to record what the process does. */
export function observeProcess(foundation: Foundation, profiler: Profiler): ProcessObservation {
  const { context, debugGate, directory, redactor } = foundation
  const findTrace = (request = context.current) => profiler.find(request)
  const unwritten = () => profiler.unstored
  const loop = new LoopWatch(unwritten)
  const hangs = new HangWatch({ unwritten, context, logger: foundation.logger.channel('profiler') })
  const services = { findTrace, redactor, directory, terminal: process.stdout, isRecorded: isRecordedWarning }
  return {
    renders: createRenderTracer(findTrace),
    onBegin(trace) {
      usagePart.of(trace)
      loop.start()
      hangs.start()
    },
    stops: [
      loop.stop,
      hangs.stop,
      observeLog(foundation, findTrace),
      // In production the console and the modules of Node.js stay as they are.
      ...(debugGate.isDebug
        ? [observeConsole(services), observeWarnings(services), observeSyncCalls(services), watchSignals()]
        : []),
    ],
  }
}

/** The functions that stop recording what an application calls: at once, or what libraries publish, when it has booted. */
interface RequestObservation {
  readonly now: readonly (() => void)[]
  readonly whenBooted: () => readonly (() => void)[]
}

/** Starts to record what requests do, some of it when the kernel has booted. */
export function observeRequests(app: Application, profiler: Profiler, sites: ListenerSites): RequestObservation {
  const { context, directory, logger, queries, redactor } = app
  const findTrace = (request = context.current) => profiler.find(request)
  const findRunning = createRunningSearch(new ThrownFrames(app), sites, directory)
  const recorder = new QueryRecorder({ findTrace, callers: new Callers(directory), findRunning, redactor })
  const calls = new CallWatch(findTrace, new Callers(directory), findRunning)
  return {
    now: [
      observeSessions(app, profiler),
      queries.observe(recorder),
      observeValidations(createValidationRecorder(findTrace, redactor)),
    ],
    whenBooted: () => [
      new GcWatch(() => profiler.unstored).start(),
      watchFetch(calls),
      watchNodeHttp(calls),
      watchCrashes(profiler, context, logger.channel('profiler')),
    ],
  }
}
