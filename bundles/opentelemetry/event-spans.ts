import type { Application } from '../../kernel/bundle.ts'
import { ControllerArgumentsEvent, ExceptionEvent, KernelEvent, TerminateEvent } from '../../kernel/events.ts'
import type { DispatchTracer, TraceSpan } from '../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import type { RequestSpans } from './request-spans.ts'

/** Milliseconds. Nearly all calls of listeners take less, and have no span. */
const shortestCall = 1

const noSpan: TraceSpan = { end() {} }

/**
 * Creates the tracer of the dispatcher. It ends the span of a request, records errors, and adds a span for each call of a
 * listener that took a millisecond or more.
 */
export function createListenerTracer(findSpans: () => RequestSpans | undefined): DispatchTracer {
  return {
    beginDispatch(event) {
      if (event instanceof ExceptionEvent) findSpans()?.addError(event.request, event.error)
      else if (event instanceof TerminateEvent) findSpans()?.end(event)
      return noSpan
    },
    beginCall(event, { name }) {
      const spans = findSpans()
      if (spans === undefined || !(event instanceof KernelEvent)) return noSpan
      const { request } = event
      const { eventName } = event.constructor as typeof KernelEvent & { readonly eventName: string }
      const start = performance.now()
      return {
        end(hasFailed) {
          const duration = performance.now() - start
          if (duration >= shortestCall) spans.addEnded(request, `${eventName} ${name}`, duration, hasFailed)
        },
      }
    },
  }
}

/** After all other listeners, which may replace the controller. */
const lastPriority = -4096

/** Adds the listener that gives the controller of a traced request its span. */
export function traceControllers({ dispatcher }: Pick<Application, 'dispatcher'>, spans: RequestSpans): void {
  const listener = (event: ControllerArgumentsEvent) => {
    if (spans.find(event.request) === undefined) return
    const { controller } = event
    const { name } = controller
    const call = (...values: unknown[]) =>
      spans.within(`controller ${name}`, { 'code.function.name': name }, () => controller.call(...values))
    event.controller = { ...controller, call }
  }
  dispatcher.on(ControllerArgumentsEvent, listener, lastPriority, 'traceController')
}
