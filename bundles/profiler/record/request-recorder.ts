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
import type { DispatchOptions, Event, RegisteredListener } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { DispatchTracer, TraceSpan } from '../../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import { ignoredSpan } from './event-trace.ts'
import type { ListenerSites } from './listener-sites.ts'
import type { Profiler } from './profiler.ts'
import type { Trace } from './trace.ts'

/** The services that the recorder uses. */
export interface RequestRecorderServices {
  readonly profiler: Profiler
  readonly context: RequestContext
  readonly sites: ListenerSites
  /** The directory of the application: files are shown as seen from it. */
  readonly directory: string
}

/**
 * Drives the profiler by the events of each request: the first dispatch begins its trace, `kernel.finish_request`
 * finishes it, and the end of `kernel.terminate` ends it, after all listeners, so that no work of a listener is missed.
 */
export class RequestRecorder implements DispatchTracer {
  readonly #profiler: Profiler
  readonly #context: RequestContext
  readonly #sites: ListenerSites
  readonly #directory: string
  /** Events during which a listener that fails is skipped. */
  readonly #skipping = new WeakSet<Event>()

  constructor({ context, directory, profiler, sites }: RequestRecorderServices) {
    this.#profiler = profiler
    this.#context = context
    this.#sites = sites
    this.#directory = directory
  }

  noteListener({ listener }: RegisteredListener): void {
    this.#sites.note(listener)
  }

  originOf({ listener }: RegisteredListener): string | undefined {
    return this.#sites.find(listener, this.#directory)?.site
  }

  beginDispatch(event: Event, listeners: readonly RegisteredListener[], options?: DispatchOptions): TraceSpan {
    const trace = event instanceof RequestEvent ? this.#profiler.begin(event.request) : this.#traceOf(event)
    if (trace === undefined) return ignoredSpan
    if (event instanceof TerminateEvent) trace.sentAt = trace.elapsed()
    const span = trace.events.beginDispatch(event, listeners)
    if (!(event instanceof KernelEvent)) return span
    if (options?.onFailure !== undefined) this.#skipping.add(event)
    return {
      end: (hasFailed, error) => {
        span.end(hasFailed)
        // Includes errors that reach no listener of kernel.exception: of an error page, or of a listener of
        // kernel.terminate.
        if (hasFailed) trace.addThrown(error)
        // Not earlier: the error page shows the last error, which must not be the error of a skipped listener.
        for (const skipped of trace.skipped) trace.addThrown(skipped)
        this.#afterEvent(event, trace)
      },
    }
  }

  beginCall(event: Event, listener: RegisteredListener): TraceSpan {
    const trace = this.#traceOf(event)
    if (trace === undefined) return ignoredSpan
    const span = trace.events.beginCall(event, listener)
    if (!(event instanceof KernelEvent)) return span
    // Other failures end the event, and are recorded with it.
    if (!this.#skipping.has(event)) return span
    return {
      end: (hasFailed, error) => {
        span.end(hasFailed)
        if (hasFailed) trace.skipped.push(error)
      },
    }
  }

  #traceOf(event: Event): Trace | undefined {
    return this.#profiler.find(event instanceof KernelEvent ? event.request : this.#context.current)
  }

  /** Copies the result of an event to its trace. Two events also finish and end the trace. */
  #afterEvent(event: KernelEvent, trace: Trace): void {
    // A listener may have replaced the error.
    if (event instanceof ExceptionEvent) trace.addThrown(event.error)
    if (event instanceof ControllerArgumentsEvent) trace.controller = event.controller.name
    else if (event instanceof ResponseEvent) trace.response = event.response
    else if (event instanceof FinishRequestEvent) this.#finish(trace)
    else if (event instanceof TerminateEvent) this.#profiler.end(trace, event)
  }

  /** Ends the event trace before the profiler collects the trace. */
  #finish(trace: Trace): void {
    trace.events.finish()
    this.#profiler.finish(trace)
  }
}
