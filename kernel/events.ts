import { ARGUMENT_INVALID, checkArguments } from '../lib/errors/arguments.ts'
import { HttpError } from '../lib/errors/http-error.ts'
import {
  describeListener,
  Event,
  Failure,
  placeAtListener,
  type RegisteredListener,
} from '../lib/event-dispatcher/event-dispatcher.ts'
import type { KnownAttributes, Request } from '../lib/http/request.ts'
import { discard, Response, wayOfBody } from '../lib/http/response.ts'
import { describeValue } from '../lib/text/describe-value.ts'
import { traceContextOf } from './contracts/trace-context.ts'
import { type Controller, isController } from './controller.ts'
import { KERNEL_RESPONSE_INVALID, KERNEL_RESULT_UNUSED } from './errors.ts'
import type { Eventual } from './steps.ts'

/** How a kernel handles a request. */
export interface HandleOptions {
  /** With `false`, an error rejects the promise, and `kernel.exception` is not dispatched. `true` by default. */
  readonly catchErrors?: boolean
}

/** The kernel as listeners see it. */
export interface RequestKernel {
  /** Handles a request; see `HttpKernel.handle`. */
  handle(request: Request, options?: HandleOptions): Promise<Response>

  /** Handles a request without a promise if nothing is pending; see `HttpKernel.answer`. */
  answer(request: Request, options?: HandleOptions): Eventual<Response>

  /**
   * In development: called with a response that is not sent, that of a call of `event.respond()`
   * or an earlier one, or `undefined` for a controller that is not called.
   */
  readonly onLostAnswer?: ((event: AnswerableEvent, lost: Response | undefined) => void) | undefined
}

/** The base class of the eight events of a request. */
export abstract class KernelEvent extends Event {
  /** The kernel that handles the request; listeners can send it sub-requests. */
  readonly kernel: RequestKernel
  /** The request that is handled. */
  readonly request: Request

  constructor(kernel: RequestKernel, request: Request) {
    super()
    this.kernel = kernel
    this.request = request
  }

  /** Whether the request comes from a client. A sub-request comes from another request, its `parent`. */
  get isMainRequest(): boolean {
    return this.request.parent === undefined
  }
}

/** An event that a listener can answer with a response. */
export abstract class AnswerableEvent extends KernelEvent {
  #response: Response | undefined

  /** The response of a listener; `undefined` while there is none. */
  get response(): Response | undefined {
    return this.#response
  }

  /** The compiler refuses this, too. @throws ARGUMENT_INVALID */
  set response(_response: never) {
    throw new ARGUMENT_INVALID(['event.response', 'it is only read: use event.respond(response)'])
  }

  /**
   * Sets the response and stops the event: later listeners are not called. Of two responses the last one is sent.
   *
   * @throws KERNEL_RESPONSE_INVALID
   */
  respond(response: Response): void {
    const before = this.#response
    this.#response = asResponse(response)
    this.stopPropagation()
    if (before !== undefined && before !== response) this.kernel.onLostAnswer?.(this, before)
  }

  /** @throws KERNEL_RESULT_UNUSED */
  override checkResult(result: unknown, listener: RegisteredListener): void {
    refuseResponse(result, this.#response, listener, 'event.respond(response)')
  }
}

/**
 * 1. A request has come in. Listeners set its attributes and its controller, or answer it instead of the controller.
 */
export class RequestEvent extends AnswerableEvent {
  /** The name in logs and profiles. */
  static readonly eventName = 'kernel.request'
  /**
   * The controller that a sub-request has from the start, as an error page and a forward have; `undefined` for
   * all other requests. Listeners of this event neither answer the sub-request nor replace its controller.
   */
  readonly givenController: KnownAttributes['_controller'] | undefined

  constructor(kernel: RequestKernel, request: Request) {
    super(kernel, request)
    this.givenController = request.parent === undefined ? undefined : request.attributes.get('_controller')
  }

  /**
   * Sets the response and stops the event: later listeners are not called. Of two responses the last one is sent. Has
   * no effect on a sub-request that has its controller: it often has the path of a page that the listener answers.
   *
   * @throws KERNEL_RESPONSE_INVALID
   */
  override respond(response: Response): void {
    if (this.givenController === undefined) {
      super.respond(response)
      this.request.isAnswered = true
      return
    }
    discard(asResponse(response).body)
    this.kernel.onLostAnswer?.(this, response)
  }

  /** @throws KERNEL_RESULT_UNUSED */
  override checkResult(result: unknown, listener: RegisteredListener): void {
    // The listener may return the response that it has set.
    if (this.givenController === undefined) super.checkResult(result, listener)
  }

  /**
   * Fails the request with an error, as if the listener had thrown it. A throw takes a
   * microsecond, so this is for errors that clients cause often.
   */
  fail(error: unknown): void {
    this.failure = new Failure(error)
  }
}

/** 2. The controller is known. Listeners may replace it. */
export class ControllerEvent extends KernelEvent {
  /** The name in logs and profiles. */
  static readonly eventName = 'kernel.controller'
  #controller: Controller

  constructor(kernel: RequestKernel, request: Request, controller: Controller) {
    super(kernel, request)
    this.#controller = controller
  }

  /** The controller that will be called. @throws ARGUMENT_INVALID when it is set to another value */
  get controller(): Controller {
    return this.#controller
  }

  set controller(controller: Controller) {
    this.#controller = asController(controller)
  }
}

/** 3. The arguments of the controller are known. Listeners may replace them, and the controller. */
export class ControllerArgumentsEvent extends KernelEvent {
  /** The name in logs and profiles. */
  static readonly eventName = 'kernel.controller_arguments'
  #controller: Controller
  #arguments: unknown[]

  constructor(kernel: RequestKernel, request: Request, controller: Controller, values: unknown[]) {
    super(kernel, request)
    this.#controller = controller
    this.#arguments = values
  }

  /** The controller that will be called. @throws ARGUMENT_INVALID when it is set to another value */
  get controller(): Controller {
    return this.#controller
  }

  set controller(controller: Controller) {
    this.#controller = asController(controller)
  }

  /** The values that the controller gets. @throws ARGUMENT_INVALID when they are set to another value than a list */
  get arguments(): unknown[] {
    return this.#arguments
  }

  set arguments(values: unknown[]) {
    if (!Array.isArray(values))
      throw new ARGUMENT_INVALID(['event.arguments', `they are a list, not ${describeValue(values)}`])
    this.#arguments = values
  }
}

/** 4. The controller has returned a value that is not a response. A listener makes a response of it. */
export class ViewEvent extends AnswerableEvent {
  /** The name in logs and profiles. */
  static readonly eventName = 'kernel.view'
  /** The value that the controller returned. */
  readonly result: unknown

  constructor(kernel: RequestKernel, request: Request, result: unknown) {
    super(kernel, request)
    this.result = result
  }
}

/** Changes a response of a request. A response may be a copy of one that the function has changed already. */
type Completion = (response: Response, request: Request) => void

/** The completions of a response, the last one first: a list would cost each response as much as a listener. */
interface Completions {
  readonly last: Completion
  readonly before: Completions | undefined
}

function completeAgain({ before, last }: Completions, response: Response, request: Request): void {
  if (before !== undefined) completeAgain(before, response, request)
  last(response, request)
}

/** 5. There is a response. Listeners complete it, replace it, or only read it. */
export class ResponseEvent extends KernelEvent {
  /** The name in logs and profiles. */
  static readonly eventName = 'kernel.response'
  #response: Response
  #completions: Completions | undefined

  constructor(kernel: RequestKernel, request: Request, response: Response) {
    super(kernel, request)
    this.#response = response
  }

  /** The response that will be sent. @throws KERNEL_RESPONSE_INVALID when it is set to another value */
  get response(): Response {
    return this.#response
  }

  set response(response: Response) {
    if (response === this.#response) return
    this.#response = asResponse(response)
    if (this.#completions !== undefined) completeAgain(this.#completions, response, this.request)
  }

  /**
   * Completes the response, and each one that another listener sets in its place: for facts of the
   * request, such as its id or a policy, and not for those of one body, such as its length.
   */
  complete(completion: Completion): void {
    try {
      completion(this.#response, this.request)
    } catch (error) {
      checkArguments('event.complete(completion)', ['function'], completion)
      throw error
    }
    this.#completions = { last: completion, before: this.#completions }
  }

  /** @throws KERNEL_RESULT_UNUSED */
  override checkResult(result: unknown, listener: RegisteredListener): void {
    refuseResponse(result, this.response, listener, 'event.response = response')
  }
}

/** 6. The request is handled, with or without an error. Listeners undo what they changed for it. */
export class FinishRequestEvent extends KernelEvent {
  /** The name in logs and profiles. */
  static readonly eventName = 'kernel.finish_request'
}

/** How the response of a main request has ended. */
export interface ResponseEnd {
  /** Whether the whole response was sent. */
  readonly isSent: boolean
  /** The error of the response's stream; `undefined` if the stream did not fail. */
  readonly streamError?: unknown
  /** Bytes of the response's stream that were sent; `undefined` if the response was no stream. */
  readonly sentBytes?: number | undefined
}

/** The end of a response that was sent. */
export const wholeResponse: ResponseEnd = { isSent: true, streamError: undefined, sentBytes: undefined }

/**
 * 7. For main requests only: the response was sent, its client has left, or its stream failed. Listeners do work that
 * is not urgent: no client waits for it.
 */
export class TerminateEvent extends KernelEvent {
  /** The name in logs and profiles. */
  static readonly eventName = 'kernel.terminate'
  /** The response as it was sent. */
  readonly response: Response
  /** Whether the whole response was sent. */
  readonly isSent: boolean
  /** The error of the response's stream; `undefined` if the stream did not fail. */
  readonly streamError: unknown
  /** Bytes of the response's stream that were sent; `undefined` if the response was no stream. */
  readonly sentBytes: number | undefined

  constructor(kernel: RequestKernel, request: Request, response: Response, end: ResponseEnd = wholeResponse) {
    super(kernel, request)
    this.response = response
    this.isSent = end.isSent
    this.streamError = end.streamError
    this.sentBytes = end.sentBytes
  }
}

/** A main request whose response was sent, whose client has left, or whose stream has failed. */
export class FinishedRequest {
  /** The request that was handled. */
  readonly request: Request
  /** The response as it was sent. */
  readonly response: Response
  /** Whether the whole response was sent. */
  readonly isSent: boolean
  /** Milliseconds from the first event of the request until its response was sent. */
  readonly duration: number
  readonly #sentBytes: number | undefined

  constructor(request: Request, response: Response, { isSent, sentBytes }: ResponseEnd) {
    this.request = request
    this.response = response
    this.isSent = isSent
    this.duration = performance.now() - (request.startedAt ?? performance.now())
    this.#sentBytes = sentBytes
  }

  /** The name of the route; `undefined` if no route has matched. */
  get route(): string | undefined {
    return this.request.attributes.get('_route')
  }

  /**
   * The id of the distributed trace that the request belongs to; `undefined` without tracing and without `traceparent`.
   */
  get traceId(): string | undefined {
    return traceContextOf(this.request)?.traceId
  }

  /** The declared bytes of the request's body, or those that were read; `undefined` if neither is known. */
  get bytesReceived(): number | undefined {
    const { request } = this
    if (!request.hasBody) return 0
    const length = request.headers.get('content-length')
    return length === null ? request.body.peek().bytes?.length : Number(length)
  }

  /**
   * Bytes of the response's body that were sent. They are not counted if the client has left before the end of a text.
   */
  get bytesSent(): number {
    const { isSent, request, response } = this
    const { body } = response
    if (this.#sentBytes !== undefined) return this.#sentBytes
    const isText = typeof body === 'string' || body instanceof Uint8Array
    if (!isText || !isSent || request.method === 'HEAD') return 0
    // The server has counted the bytes. To count those of a page again costs as much as all the rest of its access log.
    const length = response.headers.get('content-length')
    return length !== null && /^\d+$/.test(length) ? Number(length) : Buffer.byteLength(body)
  }
}

/** At any step: something was thrown. Listeners may replace the error, or answer it with a response. */
export class ExceptionEvent extends AnswerableEvent {
  /** The name in logs and profiles. */
  static readonly eventName = 'kernel.exception'

  /** The thrown value. A listener may replace it. */
  error: unknown
  /**
   * Whether the response keeps its own status. By default a response with a status below 300 gets the status of the
   * error: that of an `HttpError`, otherwise 500.
   */
  keepsStatus = false

  constructor(kernel: RequestKernel, request: Request, error: unknown) {
    super(kernel, request)
    this.error = error
  }
}

/** Checks the controller of a listener. @throws ARGUMENT_INVALID */
function asController(controller: unknown): Controller {
  if (isController(controller)) return controller
  const mistake = `it must be a controller, such as toController(function), not ${describeValue(controller)}`
  throw new ARGUMENT_INVALID(['event.controller', mistake])
}

/** The response that a listener returns would have no effect, unless it is the one that the event has. */
function refuseResponse(
  result: unknown,
  current: Response | undefined,
  listener: RegisteredListener,
  call: string,
): void {
  if (!(result instanceof Response) || result === current) return
  throw placeAtListener(new KERNEL_RESULT_UNUSED([describeListener(listener), call]), listener)
}

/** Checks the response of a listener, which may be written in JavaScript. @throws KERNEL_RESPONSE_INVALID */
function asResponse(response: unknown): Response {
  if (response instanceof Response) return response
  throw new KERNEL_RESPONSE_INVALID([describeResult(response)])
}

/**
 * Describes a value that should be a response, as the end of a sentence: `an object with the keys "id", "name".`. The
 * values of the keys are left out: they may be secrets, and error pages and logs contain the message.
 */
export function describeResult(result: unknown): string {
  if (result === undefined) return 'nothing: did you forget a "return" somewhere in your controller?'
  if (result instanceof globalThis.Response) {
    return 'the "Response" of the platform: import "Response" from "sinfonietta".'
  }
  return `${describeValue(result)}.`
}

/** A sentence on how a controller can make a response of its result; empty if that is obvious or impossible. */
export function adviseOnResult(result: unknown): string {
  if (result === undefined || result instanceof globalThis.Response) return ''
  if (result instanceof Error) return ' Throw it, and the answer is an error page.'
  const way = typeof result === 'string' ? 'Response.text() or Response.html()' : wayOfResult(result)
  return ` Use ${way}, or a listener of kernel.view that makes a response of it.`
}

function wayOfResult(result: unknown): string {
  const way = typeof result === 'object' ? wayOfBody(result) : 'Response.json()'
  return way.startsWith('Readable.') ? `Response.stream(${way})` : way
}

/** Gives the response to an error the status and the headers of the error; the status is 500 by default. */
export function copyStatusAndHeaders(error: unknown, response: Response): void {
  response.status = error instanceof HttpError ? error.status : 500
  if (!(error instanceof HttpError)) return
  for (const [name, value] of Object.entries(error.headers)) response.headers.set(name, value)
}
