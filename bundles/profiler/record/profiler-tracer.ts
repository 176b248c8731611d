import path from 'node:path'
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
import type { Event, Listener, RegisteredListener } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import {
  type DispatchTracer,
  type Span,
  TraceableEventDispatcher,
} from '../../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import { locateFrame, parseStack } from '../../../lib/stack/stack-frames.ts'
import { ignoredSpan } from './event-trace.ts'
import type { Profiler } from './profiler.ts'
import type { Trace } from './trace.ts'

/** What a tracer works with. */
export interface ProfilerTracerServices {
  readonly profiler: Profiler
  readonly context: RequestContext
  readonly sites: ListenerSites
  /** Files are told relative to it. */
  readonly directory: string
  /** Whether a controller, or what stands in the place of one, is one of the profiler's own pages. */
  readonly isOwn: (controller: unknown) => boolean
}

/**
 * Follows requests by their events: a trace begins with the first dispatch of its request, and is collected when the last
 * one is over, so that nothing a listener does at the end is missed.
 */
export class ProfilerTracer implements DispatchTracer {
  readonly #profiler: Profiler
  readonly #context: RequestContext
  readonly #sites: ListenerSites
  readonly #directory: string
  readonly #isOwn: (controller: unknown) => boolean

  constructor({ context, directory, isOwn, profiler, sites }: ProfilerTracerServices) {
    this.#profiler = profiler
    this.#context = context
    this.#sites = sites
    this.#directory = directory
    this.#isOwn = isOwn
  }

  noteListener({ listener }: RegisteredListener): void {
    this.#sites.note(listener)
  }

  originOf({ listener }: RegisteredListener): string | undefined {
    return this.#sites.find(listener, this.#directory)
  }

  beginDispatch(event: Event, listeners: readonly RegisteredListener[]): Span {
    const trace = event instanceof RequestEvent ? this.#profiler.begin(event.request, event.type) : this.#traceOf(event)
    if (trace === undefined) return ignoredSpan
    if (event instanceof TerminateEvent) trace.sentAt = trace.elapsed()
    const span = trace.events.beginDispatch(event, listeners)
    if (!(event instanceof KernelEvent)) return span
    return {
      end: (hasFailed, error) => {
        span.end(hasFailed)
        // Also what nobody is asked about: the error of an error page, or of a listener that sees a request end.
        if (hasFailed) trace.noteThrown(error)
        // Only now: until the error page is made, the error that it answers is the last one.
        for (const skipped of trace.skipped) trace.noteThrown(skipped)
        this.#take(event, trace)
      },
    }
  }

  beginCall(event: Event, listener: RegisteredListener): Span {
    const trace = this.#traceOf(event)
    if (trace === undefined) return ignoredSpan
    if (event instanceof RequestEvent) this.#dismissOwn(trace)
    const span = trace.events.beginCall(event, listener)
    if (!(event instanceof KernelEvent)) return span
    // Otherwise the event ends with the failure.
    const isSkipped = event instanceof TerminateEvent || event.request.dispatching?.onFailure !== undefined
    if (!isSkipped) return span
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

  /** Takes note of what an event has brought. */
  #take(event: KernelEvent, trace: Trace): void {
    if (event instanceof RequestEvent) this.#dismissOwn(trace)
    // A listener may have replaced it.
    if (event instanceof ExceptionEvent) trace.noteThrown(event.error)
    if (event instanceof ControllerArgumentsEvent) trace.controller = event.controller.name
    else if (event instanceof ResponseEvent) trace.response = event.response
    else if (event instanceof FinishRequestEvent) this.#finish(trace)
    else if (event instanceof TerminateEvent) this.#profiler.terminate(trace, event)
  }

  /** As soon as it is routed: what is still to come, such as its body, is not worth recording, also where it fails. */
  #dismissOwn(trace: Trace): void {
    if (this.#isOwn(trace.request.attributes.get('_controller'))) this.#profiler.dismiss(trace)
  }

  /** Whatever was open during the request is closed before it is collected. */
  #finish(trace: Trace): void {
    trace.events.finish()
    this.#profiler.finish(trace)
  }
}

/** `subscribe` calls `on`: who has called that counts. */
const dispatcherFolder = path.join('lib', 'event-dispatcher') + path.sep

/**
 * Knows where listeners were registered: mostly in the file that they are written in. A stack is caught with each of
 * them, which costs a few microseconds; it is only read, with source maps, when somebody asks.
 */
export class ListenerSites {
  readonly #stacks = new WeakMap<Listener, { message: string; stack?: string }>()

  /** Takes note of whoever adds this listener now. */
  note(listener: Listener): void {
    const caught = { message: '' }
    Error.captureStackTrace(caught, TraceableEventDispatcher.prototype.on)
    this.#stacks.set(listener, caught)
  }

  /** File, relative to the project, and line; `undefined` when it is not known. */
  find(listener: Listener, directory: string): string | undefined {
    for (const frame of parseStack(this.#stacks.get(listener))) {
      const { file } = locateFrame(frame, directory)
      if (file !== undefined && !file.startsWith(dispatcherFolder)) return `${file}:${frame.line}`
    }
    return undefined
  }
}
