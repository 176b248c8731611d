import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api'
import type { Application } from '../../kernel/bundle.ts'
import { setTraceContext } from '../../kernel/contracts/trace-context.ts'
import { runUnit, type UnitEnd } from '../../kernel/contracts/units.ts'
import { nameOfController } from '../../kernel/controller.ts'
import { ControllerArgumentsEvent, ExceptionEvent, KernelEvent, TerminateEvent } from '../../kernel/events.ts'
import { RequestContext } from '../../kernel/request-context.ts'
import type { DispatchTracer, TraceSpan } from '../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import type { Request } from '../../lib/http/request.ts'
import { Response } from '../../lib/http/response.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import type { RouteCollection } from '../../lib/routing/route-collection.ts'
import { ForwardingView } from '../../lib/view/traceable-view.ts'
import type { View, ViewModel } from '../../lib/view/view.ts'
import { describeException, describeRequest, errorType, nameSpan } from './attributes.ts'
import { requestKey, requestOf } from './instrumentations.ts'
import type { Packages } from './load-packages.ts'

interface RequestSpanServices {
  readonly packages: Packages
  readonly tracer: Tracer
  readonly redactor: Redactor
  readonly routes: RouteCollection
  /** Whether a main request has no span: it is one for a page of the profiler, or a health check. */
  readonly isLeftOut: (request: Request) => boolean
}

/** The span of a request, and the OpenTelemetry context of all its work. */
interface RequestSpan {
  readonly context: Context
  readonly span: Span
  /** The error of the request that was answered with a 5xx, or of its sub-request that failed. */
  error?: unknown
}

/** A call to another process, when it begins. */
interface ClientCall {
  /** The request that makes the call. The default is that of the active context. */
  readonly request?: Request | undefined
  /** Milliseconds since the call began. */
  readonly elapsed?: number
  /** Gets the context of the new span. */
  readonly started?: (context: Context) => void
}

/** Ends the span of a call. `failure` is the `error.type` of a call that has failed. */
export type ClientEnd = (attributes: Attributes, failure: string | undefined) => void

/** A request holds its span under this key: a map from requests to spans would keep the garbage collector busy. */
const spanKey: unique symbol = Symbol('span')

interface Traced {
  [spanKey]?: RequestSpan
}

/**
 * The spans of requests: one of the kind SERVER for each main request, from its arrival until its
 * response was sent, and one for each sub-request. All work for a request runs in an OpenTelemetry
 * context with its span and the request itself.
 */
export class RequestSpans {
  readonly #services: RequestSpanServices
  readonly #propagator: InstanceType<Packages['W3CTraceContextPropagator']>

  constructor(services: RequestSpanServices) {
    this.#services = services
    this.#propagator = new services.packages.W3CTraceContextPropagator()
  }

  /** Runs work for a request. The first work of a request begins its span; that of a sub-request ends it as well. */
  run<result>(request: Request, work: () => result): result {
    const { context } = this.#services.packages
    const traced: Request & Traced = request
    const known = traced[spanKey]
    if (known !== undefined) return context.with(known.context, work)
    if (request.parent !== undefined) return this.#runSubRequest(request, work)
    traced[spanKey] = this.#begin(request)
    return context.with(traced[spanKey].context, work)
  }

  /** The span of a request if it is recorded. */
  find(request: Request): Span | undefined {
    const span = attachedSpan(request)?.span
    return span?.isRecording() === true ? span : undefined
  }

  /**
   * Runs work in a span of its own, which is a child of the active span. It ends with the work, or with its promise.
   */
  within<result>(name: string, attributes: Attributes, work: () => result): result {
    const { packages, tracer } = this.#services
    if (packages.trace.getActiveSpan()?.isRecording() !== true) return work()
    const span = tracer.startSpan(name, { attributes })
    const context = packages.trace.setSpan(packages.context.active(), span)
    return this.#follow(span, () => packages.context.with(context, work))
  }

  /** Begins a span of a call to another process. Its description is made only if the span of the caller is recorded. */
  beginClient(
    describe: () => { readonly name: string; readonly attributes: Attributes },
    { elapsed = 0, request, started }: ClientCall = {},
  ): ClientEnd | undefined {
    const { packages, tracer } = this.#services
    const parent = this.#contextOf(request)
    if (packages.trace.getSpan(parent)?.isRecording() !== true) return undefined
    const startTime = elapsed === 0 ? {} : { startTime: Date.now() - elapsed }
    const { attributes, name } = describe()
    const span = tracer.startSpan(name, { ...startTime, attributes, kind: packages.SpanKind.CLIENT }, parent)
    started?.(packages.trace.setSpan(parent, span))
    return (attributes, failure) => {
      span.setAttributes(attributes)
      if (failure !== undefined) this.#fail(span, failure)
      span.end()
    }
  }

  /** The running code may work for another request: then the call belongs to the span of its request. */
  #contextOf(request: Request | undefined): Context {
    const active = this.#services.packages.context.active()
    const isActive = request === undefined || requestOf(active) === request
    return isActive ? active : (attachedSpan(request)?.context ?? active)
  }

  /** Records work of a request that took a time in milliseconds and has just ended. */
  addEnded(request: Request, name: string, duration: number, hasFailed: boolean): void {
    const parent = attachedSpan(request)
    if (parent === undefined) return
    const end = Date.now()
    const span = this.#services.tracer.startSpan(name, { startTime: end - duration }, parent.context)
    if (hasFailed) span.setStatus({ code: this.#services.packages.SpanStatusCode.ERROR })
    span.end(end)
  }

  /** Records an error of a request. A client's mistake (status 4xx) is no event of the span. */
  addError(request: Request, error: unknown): void {
    const traced = attachedSpan(request)
    const event = describeException(error, this.#services.redactor)
    if (traced === undefined || event === undefined) return
    traced.error = error
    traced.span.addEvent('exception', event)
  }

  /** Ends the span of a main request: its response was sent, or its client has left, or its stream has failed. */
  end({ request, response, isSent, streamError }: TerminateEvent): void {
    const traced = attachedSpan(request)
    const span = this.find(request)
    if (traced === undefined || span === undefined) return
    if (streamError !== undefined) this.addError(request, streamError)
    this.#name(span, request)
    this.#setOutcome(span, response.status, traced.error)
    if (streamError !== undefined) this.#fail(span, errorType(streamError))
    else if (!isSent) span.setAttribute('error.type', 'aborted')
    span.end()
  }

  #begin(request: Request): RequestSpan {
    const { isLeftOut, packages, redactor, tracer } = this.#services
    const { defaultTextMapGetter, INVALID_SPAN_CONTEXT, ROOT_CONTEXT, SpanKind, suppressTracing, trace } = packages
    const empty = ROOT_CONTEXT.setValue(requestKey, request)
    if (isLeftOut(request)) {
      return { context: suppressTracing(empty), span: trace.wrapSpanContext(INVALID_SPAN_CONTEXT) }
    }
    const parent = this.#propagator.extract(empty, readHeaders(request), defaultTextMapGetter)
    const attributes = describeRequest(request, redactor)
    const span = tracer.startSpan(nameSpan(request), { kind: SpanKind.SERVER, attributes }, parent)
    const parentId = trace.getSpanContext(parent)?.spanId
    const { spanId, traceId } = span.spanContext()
    setTraceContext(request, { traceId, parentId, spanId })
    return { context: trace.setSpan(parent, span), span }
  }

  #runSubRequest<result>(request: Request & Traced, work: () => result): result {
    const { packages, tracer } = this.#services
    const { context, trace } = packages
    const parent = context.active().setValue(requestKey, request)
    const span = tracer.startSpan('sub-request', {}, parent)
    const traced: RequestSpan = { context: trace.setSpan(parent, span), span }
    request[spanKey] = traced
    return this.#follow(
      span,
      () => context.with(traced.context, work),
      result => {
        if (!span.isRecording()) return
        this.#name(span, request)
        if (result instanceof Response) this.#setOutcome(span, result.status, traced.error)
      },
    )
  }

  /** Ends a span with the work, after its promise if it returns one. */
  #follow<result>(span: Span, work: () => result, onResult: (result: unknown) => void = () => undefined): result {
    const end = (ending: UnitEnd) => {
      onResult(ending.result)
      if ('error' in ending) this.#fail(span, errorType(ending.error))
      span.end()
    }
    return runUnit({ end }, work)
  }

  /** Names the span by the route, or by the controller of a sub-request without a route. */
  #name(span: Span, request: Request): void {
    const { attributes, parent } = request
    const route = this.#services.routes.find(attributes.get('_route') ?? '')?.path.source
    if (route !== undefined) span.setAttribute('http.route', route)
    if (parent === undefined) span.updateName(nameSpan(request, route))
    else span.updateName(`sub-request ${route ?? nameOfController(attributes.get('_controller'))}`)
  }

  #setOutcome(span: Span, status: number, error: unknown): void {
    span.setAttribute('http.response.status_code', status)
    if (status >= 500) this.#fail(span, error === undefined ? String(status) : errorType(error))
  }

  #fail(span: Span, type: string): void {
    span.setAttribute('error.type', type)
    span.setStatus({ code: this.#services.packages.SpanStatusCode.ERROR })
  }
}

function attachedSpan(request: Request): RequestSpan | undefined {
  const traced: Request & Traced = request
  return traced[spanKey]
}

/** Two fields `traceparent` are malformed; joined by a comma, the propagator refuses them. */
function readHeaders({ headers }: Request): Readonly<Record<string, string | null>> {
  return { traceparent: headers.get('traceparent'), tracestate: headers.get('tracestate') }
}

/** Milliseconds. Nearly all calls of listeners take less, and have no span. */
const shortestCall = 1

const noSpan: TraceSpan = { end() {} }

/**
 * Creates the tracer of the dispatcher. It ends the span of a request, records errors, and adds a
 * span for each call of a listener that took a millisecond or more.
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

/** A view with a span for each render of a page, which includes its partials and the wait for its fragments. */
export class TracedView extends ForwardingView {
  readonly #findSpans: () => RequestSpans | undefined

  constructor(inner: View, findSpans: () => RequestSpans | undefined) {
    super(inner)
    this.#findSpans = findSpans
  }

  override render(name: string, model: ViewModel, request?: Request): string | Promise<string> {
    const render = () => super.render(name, model, request)
    const spans = this.#findSpans()
    return spans === undefined ? render() : spans.within(`render ${name}`, {}, render)
  }
}

/** A request context whose work also runs in the OpenTelemetry context of its request. */
export class TracedContext extends RequestContext {
  readonly #inner: RequestContext
  readonly #findSpans: () => RequestSpans | undefined

  /** `findSpans` gives `undefined` until the packages of OpenTelemetry are loaded. */
  constructor(inner: RequestContext, findSpans: () => RequestSpans | undefined) {
    super()
    this.#inner = inner
    this.#findSpans = findSpans
  }

  override enable(): void {
    this.#inner.enable()
  }

  override end(): void {
    this.#inner.end()
  }

  override get current(): Request | undefined {
    return this.#inner.current
  }

  override run<result>(request: Request, task: () => result): result
  override run<value, result>(request: Request, task: (value: value) => result, value: value): result
  override run<value, result>(request: Request, task: (value?: value) => result, value?: value): result {
    const work = () => this.#inner.run(request, task, value)
    const spans = this.#findSpans()
    return spans === undefined ? work() : spans.run(request, work)
  }

  override carry(...parameters: Parameters<RequestContext['carry']>): () => void {
    return this.#inner.carry(...parameters)
  }

  override enter(request: Request | undefined): void {
    this.#inner.enter(request)
  }
}
