import type { Foundation } from '../../../kernel/bundle.ts'
import type { DebugGate } from '../../../kernel/debug/debug-gate.ts'
import {
  ControllerArgumentsEvent,
  ExceptionEvent,
  FinishRequestEvent,
  KernelEvent,
  RequestEvent,
  ResponseEvent,
  TerminateEvent,
} from '../../../kernel/events.ts'
import type { RequestContext } from '../../../kernel/request-context.ts'
import type { Event, EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import {
  type DispatchTracer,
  TraceableEventDispatcher,
} from '../../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import type { Headers } from '../../../lib/http/headers.ts'
import type { Request } from '../../../lib/http/request.ts'
import { noteDeclaration } from '../../../lib/stack/declaration-sites.ts'
import { profileLink } from '../profile/links.ts'
import { kernelSubjects } from '../subjects/recorded-by-kernels.ts'
import { findListenerSite } from './code-places.ts'
import { type ProfileCollector, toServerTiming } from './collect.ts'
import { middlewarePart } from './middleware-trace.ts'
import { ignoredSpan } from './more-events.ts'
import type { Profiler } from './profiler.ts'
import type { Recording } from './recording.ts'
import type { Trace } from './trace.ts'

/**
 * Lets a kernel report its events and renders to a recording: returns its services with a
 * dispatcher and a view that do so.
 */
export function traceKernel(foundation: Foundation, { findTrace, profiler }: Recording): Foundation {
  const { context, directory } = foundation
  const recorder = createRequestRecorder({ profiler, context, directory })
  const dispatcher = new TraceableEventDispatcher(foundation.dispatcher, recorder)
  const view = kernelSubjects.reduce((view, subject) => subject.traceView?.(view, findTrace) ?? view, foundation.view)
  return { ...foundation, dispatcher, view }
}

interface RequestRecorderServices {
  readonly profiler: Profiler
  readonly context: RequestContext
  /** The directory of the application: files are shown as seen from it. */
  readonly directory: string
}

/**
 * Drives the profiler by the events of each request: the first dispatch begins its trace, `kernel.finish_request`
 * finishes it, and the end of `kernel.terminate` ends it, after all listeners, so that no work of a listener is missed.
 */
export function createRequestRecorder({ context, directory, profiler }: RequestRecorderServices): DispatchTracer {
  /** Events during which a listener that fails is skipped. */
  const skipping = new WeakSet<Event>()
  const traceOf = (event: Event) => profiler.find(event instanceof KernelEvent ? event.request : context.current)
  return {
    noteListener({ listener }) {
      noteDeclaration([listener], TraceableEventDispatcher.prototype.on)
    },
    originOf: ({ listener }) => findListenerSite(listener, directory)?.site,
    beginDispatch(event, listeners, options) {
      const trace = event instanceof RequestEvent ? profiler.begin(event.request) : traceOf(event)
      if (trace === undefined) return ignoredSpan
      if (event instanceof TerminateEvent) trace.sentAt = trace.elapsed()
      // A mounted handler has answered, or has failed.
      if (event instanceof ResponseEvent || event instanceof ExceptionEvent) middlewarePart.find(trace)?.finish()
      // Its listeners may log the error, and write a page for it.
      if (event instanceof ExceptionEvent) trace.failedAt ??= trace.elapsed()
      const span = trace.events.beginDispatch(event, listeners)
      if (!(event instanceof KernelEvent)) return span
      if (options?.onFailure !== undefined) skipping.add(event)
      return {
        end(hasFailed, error) {
          span.end(hasFailed)
          // Includes errors that reach no listener of kernel.exception: of an error page, or of a listener of
          // kernel.terminate.
          if (hasFailed) trace.addThrown(error)
          // Not earlier: the error page shows the last error, which must not be the error of a skipped listener.
          const isLate = event instanceof TerminateEvent || undefined
          for (const skipped of trace.skipped) trace.addThrown(skipped, isLate)
          takeResult(event, trace, profiler)
        },
      }
    },
    beginCall(event, listener) {
      const trace = traceOf(event)
      if (trace === undefined) return ignoredSpan
      const span = trace.events.beginCall(event, listener)
      // Other failures end the event, and are recorded with it.
      if (!skipping.has(event)) return span
      return {
        end(hasFailed, error) {
          span.end(hasFailed)
          if (hasFailed) trace.skipped.push(error)
        },
      }
    },
  }
}

/** Copies the result of an event to its trace. Two events also finish and end the trace. */
function takeResult(event: KernelEvent, trace: Trace, profiler: Profiler): void {
  // A listener may have replaced the error.
  if (event instanceof ExceptionEvent) trace.addThrown(event.error)
  if (event instanceof ControllerArgumentsEvent) trace.controller = event.controller.name
  else if (event instanceof ResponseEvent) trace.response = event.response
  else if (event instanceof FinishRequestEvent) finish(trace, profiler)
  else if (event instanceof TerminateEvent) profiler.terminate(trace, event)
}

/** Ends the event trace before the profiler collects the trace. */
function finish(trace: Trace, profiler: Profiler): void {
  const mounted = middlewarePart.find(trace)
  mounted?.finish()
  const name = mounted?.handler || mounted?.route?.handler
  if (name) trace.controller = name
  trace.events.finish()
  profiler.finish(trace)
}

/** The priority of Symfony's profiler: after the error was logged, and before it is answered. */
const exceptionPriority = 0

/** Symfony's priority. Later listeners add only the headers of the session and for robots. */
const responsePriority = -100

interface ProfilerListenerServices {
  readonly profiler: Profiler
  readonly debugGate: DebugGate
  /** The collectors whose times are in the header `server-timing`. */
  readonly collectors: readonly ProfileCollector[]
}

/** Records errors, and names the profile in the headers of the response. */
export class ProfilerListener {
  readonly #services: ProfilerListenerServices

  constructor(services: ProfilerListenerServices) {
    this.#services = services
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ExceptionEvent, this, 'onException', exceptionPriority)
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', responsePriority)
  }

  onException({ error, request }: ExceptionEvent): void {
    this.#services.profiler.find(request)?.addThrown(error)
  }

  onResponse(event: ResponseEvent): void {
    const { collectors, debugGate, profiler } = this.#services
    const { isMainRequest, request } = event
    const trace = profiler.find(request)
    if (trace === undefined || !profiler.keeps(trace) || !debugGate.allows(request)) return
    const { token } = trace
    event.complete(({ headers }) => {
      // A copy of a completed response.
      if (headers.get('x-debug-token') === token) return
      nameProfile(headers, request, token)
      if (isMainRequest) headers.append('server-timing', toServerTiming(trace, collectors))
    })
  }
}

/**
 * Names the profile of a request in the headers of its response. If the response came from a sub-request, it names the
 * profile of the sub-request already: that becomes the previous profile.
 */
export function nameProfile(headers: Headers, request: Request, token: string): void {
  const previous = headers.get('x-debug-token')
  if (previous !== null) headers.set('x-previous-debug-token', previous)
  headers.set('x-debug-token', token)
  headers.set('x-debug-token-link', `${request.origin}${profileLink(token)}`)
}
