import { ARGUMENT_INVALID, checkArguments } from '../lib/errors/arguments.ts'
import { appendCause } from '../lib/errors/flat-error.ts'
import { HttpError, isClientError } from '../lib/errors/http-error.ts'
import {
  type DispatchOptions,
  describeListener,
  type EventClass,
  type EventDispatcher,
  type Failure,
  type RegisteredListener,
} from '../lib/event-dispatcher/event-dispatcher.ts'
import { checkRequest, type KnownAttributes, type Request } from '../lib/http/request.ts'
import { dropForbiddenBody, Response, refuseUsedStream } from '../lib/http/response.ts'
import type { Logger } from '../lib/log/logger.ts'
import type { Signals } from '../lib/signals.ts'
import { describeValue, isKeyed } from '../lib/text/describe-value.ts'
import { type ControllerResolver, resolveArguments } from './controller.ts'
import { KERNEL_NO_RESPONSE, KERNEL_RESPONSE_THROWN, KERNEL_TOO_DEEP } from './errors.ts'
import {
  adviseOnResult,
  ControllerArgumentsEvent,
  ControllerEvent,
  copyStatusAndHeaders,
  describeResult,
  ExceptionEvent,
  FinishRequestEvent,
  type HandleOptions,
  type KernelEvent,
  RequestEvent,
  type RequestKernel,
  type ResponseEnd,
  ResponseEvent,
  ViewEvent,
} from './events.ts'
import { callLastResort, createConstantResponse, type LastResort } from './last-resort.ts'
import type { RequestContext } from './request-context.ts'
import { after, attempt, type Eventual } from './steps.ts'
import { Termination } from './termination.ts'

interface HttpKernelServices {
  readonly dispatcher: EventDispatcher
  readonly controllers: ControllerResolver
  readonly context: RequestContext
  readonly logger: Logger
  /** Answers an error after the error page has failed. By default the response is constant. */
  readonly lastResort?: LastResort
  /** By default the listeners of all bundles are called for every request. */
  readonly isolation?: Isolation
  /** For the signal `request.finished`. */
  readonly signals?: Signals
  readonly onLostAnswer?: RequestKernel['onLostAnswer']
}

/**
 * Turns a request into a response by dispatching the events of its lifecycle. Everything else is done by listeners:
 *
 *     kernel.request → controller → controller_arguments → (the controller) [→ view] → response → finish_request
 *     after an error: exception → response → finish_request          after sending: terminate
 */
export class HttpKernel implements RequestKernel {
  readonly onLostAnswer: RequestKernel['onLostAnswer']
  readonly #dispatcher: EventDispatcher
  readonly #controllers: ControllerResolver
  readonly #context: RequestContext
  readonly #logger: Logger
  readonly #lastResort: LastResort
  readonly #isolation: Isolation | undefined
  readonly #termination: Termination

  constructor(services: HttpKernelServices) {
    this.#dispatcher = services.dispatcher
    this.#controllers = services.controllers
    this.#context = services.context
    this.#logger = services.logger
    this.#lastResort = services.lastResort ?? (() => createConstantResponse())
    this.#isolation = services.isolation
    this.onLostAnswer = services.onLostAnswer
    this.#termination = new Termination(this, services)
  }

  /**
   * Handles a request. A request that was made by `request.duplicate()` is a sub-request. By default the promise of a
   * main request always gives a response; that of a sub-request rejects if the error could not be answered.
   */
  async handle(request: Request, options?: HandleOptions): Promise<Response> {
    checkRequest('kernel.handle(request)', request)
    return this.answer(request, options)
  }

  /**
   * Handles a request like {@link handle}, without a promise if nothing was pending: the response
   * is returned, and the error of a sub-request is thrown.
   */
  answer(request: Request, options?: HandleOptions): Eventual<Response> {
    this.#termination.begin(request)
    const handle = options?.catchErrors === false ? this.#handleUncaught : this.#handleCaught
    return this.#context.run(request, handle, request)
  }

  /**
   * Answers a main request again, after the stream of its response failed before anything was sent. The promise always
   * gives a response.
   */
  async answerError(request: Request, error: unknown): Promise<Response> {
    return this.#context.run(request, () => this.#answerError(request, error))
  }

  /**
   * Dispatches `kernel.terminate` and emits `request.finished`, once for each main request: the
   * response was sent, its client has left, or its stream failed. Then removes uploaded and
   * temporary files. Returns a promise only if something is pending. Never throws and never rejects.
   */
  terminate(request: Request, response: Response, end?: ResponseEnd): Eventual<void> {
    return this.#termination.end(request, response, end)
  }

  /** Handles a sub-request: the same request with another controller. */
  forward(
    request: Request,
    controller: KnownAttributes['_controller'],
    attributes: Readonly<Record<string, unknown>> = {},
  ): Promise<Response> {
    checkRequest('kernel.forward(request, controller)', request)
    if (!controller || !isKeyed(attributes)) {
      const mistake = controller
        ? `the attributes are an object such as { id: 7 }, not ${describeValue(attributes)}`
        : `the controller is a function or a name, not ${describeValue(controller)}`
      throw new ARGUMENT_INVALID(['kernel.forward(request, controller, attributes)', mistake])
    }
    const forwarded = request.duplicate()
    for (const [name, value] of Object.entries(attributes)) forwarded.attributes.set(name, value)
    forwarded.attributes.set('_controller', controller)
    return this.handle(forwarded)
  }

  /** Runs a task in the context of a request, outside of its lifecycle: to read the stream of its response. */
  run<result>(request: Request, task: () => result): result {
    if (typeof task !== 'function') checkArguments('kernel.run(request, task)', ['object', 'function'], request, task)
    return this.#context.run(request, task)
  }

  readonly #handleCaught = (request: Request): Eventual<Response> => attempt(request, this.#begin, this.#answerError)

  readonly #handleUncaught = (request: Request): Eventual<Response> => attempt(request, this.#begin, this.#fail)

  // The steps of a request. Each one ends with the call of the next: at once, or after a promise (see `after`).
  //
  // begin → findController → findArguments → changeArguments → callController → useResult [→ useView] → respond →
  // finish after an error: answerError → dispatchException → useAnswer → respond → finish; without an answer: fail
  //
  // A listener that answers kernel.request leads from findController to respond. Steps are fields,
  // because they are passed on as functions.

  /** `kernel.request`. */
  readonly #begin = (request: Request): Eventual<Response | Failure> => {
    request.dispatchOptions = findDispatchOptions(request, this.#isolation)
    return this.#dispatch(new RequestEvent(this, request), this.#findController)
  }

  /** `kernel.controller`, unless a listener has answered or failed the request. */
  readonly #findController = (event: RequestEvent): Eventual<Response | Failure> => {
    const { failure, givenController, request, response } = event
    if (failure !== undefined) return failure
    if (response !== undefined) return this.#respond(request, response)
    if (givenController !== undefined && request.attributes.get('_controller') !== givenController) {
      request.attributes.set('_controller', givenController)
      this.onLostAnswer?.(event, undefined)
    }
    const controller = this.#controllers.resolve(request)
    return this.#dispatch(new ControllerEvent(this, request, controller), this.#findArguments)
  }

  /** Computes the arguments of the controller. */
  readonly #findArguments = (event: ControllerEvent): Eventual<Response> =>
    after(resolveArguments(event.controller, event.request), event, this.#changeArguments)

  /** `kernel.controller_arguments`. */
  readonly #changeArguments = ({ controller, request }: ControllerEvent, values: unknown[]): Eventual<Response> =>
    this.#dispatch(new ControllerArgumentsEvent(this, request, controller, values), this.#callController)

  readonly #callController = (event: ControllerArgumentsEvent): Eventual<Response> =>
    after(event.controller.call(...event.arguments), event.request, this.#useResult)

  /** `kernel.view`, unless the controller has returned a response. */
  readonly #useResult = (request: Request, result: unknown): Eventual<Response> =>
    result instanceof Response
      ? this.#respond(request, result)
      : this.#dispatch(new ViewEvent(this, request, result), this.#useView)

  /** @throws KERNEL_NO_RESPONSE if no listener of `kernel.view` has made a response of the result */
  readonly #useView = ({ request, response, result }: ViewEvent): Eventual<Response> => {
    if (response === undefined) throw new KERNEL_NO_RESPONSE([describeResult(result) + adviseOnResult(result)])
    return this.#respond(request, response)
  }

  /** `kernel.response`. @throws HTTP_STREAM_USED */
  #respond(request: Request, response: Response): Eventual<Response> {
    if (request.parent === undefined) refuseUsedStream(response, request)
    return this.#dispatch(new ResponseEvent(this, request, response), this.#finish)
  }

  /** `kernel.finish_request`. From here on no listener changes the status. */
  readonly #finish = ({ request, response }: ResponseEvent): Eventual<Response> =>
    // In production there is mostly no listener.
    this.#dispatcher.needs(FinishRequestEvent)
      ? this.#dispatch(new FinishRequestEvent(this, request), () => dropForbiddenBody(response))
      : dropForbiddenBody(response)

  /** `kernel.finish_request` of a request whose error no listener answers. */
  readonly #fail = (request: Request, error: unknown): Eventual<never> =>
    this.#dispatch(new FinishRequestEvent(this, request), () => {
      throw error
    })

  /** A main request always gets a response. The error of a sub-request goes to the caller of `handle`. */
  readonly #answerError = (request: Request, thrown: unknown): Eventual<Response> => {
    const error = refuseThrownResponse(thrown)
    if (isEndless(request, error)) return this.#fail(request, error)
    const failures: unknown[] = []
    // From here on the error of a listener is logged, and not thrown: the error page must not fail with the listener.
    const onFailure: DispatchOptions['onFailure'] = (failure, listener, event) => {
      appendCause(failure, error)
      failures.push(failure)
      const { eventName } = event.constructor as unknown as EventClass
      const message = 'The listener {listener} of {event} failed while an error was answered.'
      this.#log(request)[levelOfFailure(failure, error)](message, {
        listener: describeListener(listener),
        event: eventName,
        exception: failure,
      })
    }
    request.dispatchOptions = { ...request.dispatchOptions, onFailure }
    return attempt(new ExceptionEvent(this, request, error), this.#dispatchException, (_event, failure) => {
      const unanswered = failures.length > 0 ? failures.at(-1) : failure
      appendCause(unanswered, error)
      if (request.parent !== undefined) throw unanswered
      this.#log(request).critical('An error could not be answered.', { exception: unanswered })
      const errors = unanswered === error ? [error] : [error, unanswered]
      return callLastResort(this.#lastResort, request, errors, this.#log(request))
    })
  }

  /** `kernel.exception`. */
  readonly #dispatchException = (event: ExceptionEvent): Eventual<Response> => this.#dispatch(event, this.#useAnswer)

  /** @throws the error, as listeners have left it, if no listener has answered it */
  readonly #useAnswer = (event: ExceptionEvent): Eventual<Response> => {
    const { error, keepsStatus, request, response } = event
    if (response === undefined) return this.#fail(request, error)
    if (!keepsStatus && response.status < 300) copyStatusAndHeaders(error, response)
    return this.#respond(request, response)
  }

  /** The log of a request: its messages have the id of the request also without the request context. */
  #log({ id }: Request): Logger {
    return this.#logger.withRequestId(id)
  }

  /** Dispatches an event, and goes on with the next step. */
  #dispatch<event extends KernelEvent, result>(
    event: event,
    next: (event: event) => Eventual<result>,
  ): Eventual<result> {
    return after(this.#dispatcher.dispatch(event, event.request.dispatchOptions), event, next)
  }
}

/** The level of a listener's failure after a first error. A client can repeat its mistake as often as it likes. */
function levelOfFailure(failure: unknown, first: unknown): 'critical' | 'error' | 'info' {
  if (!isMistakeOfClient(first)) return 'critical'
  // A guard refuses the error page as it has refused the request.
  return isMistakeOfClient(failure) ? 'info' : 'error'
}

function isMistakeOfClient(error: unknown): boolean {
  return error instanceof HttpError && isClientError(error.status)
}

/** A response is an error only because it is thrown: other frameworks do that. */
function refuseThrownResponse(thrown: unknown): unknown {
  try {
    return thrown instanceof Response ? new KERNEL_RESPONSE_THROWN([]) : thrown
  } catch {
    // A proxy may refuse.
    return thrown
  }
}

/** Chooses the main requests for which only the listeners of core bundles are called. */
interface Isolation {
  /** One test that returns `true` is enough. */
  readonly tests: readonly ((request: Request) => boolean)[]
  readonly isCore: (listener: RegisteredListener) => boolean
}

/** The limit of nested sub-requests. Deeper nesting means that a sub-request requests itself, without an end. */
const depthLimit = 10

/** The dispatch options for a request. A sub-request inherits those of its parent. @throws KERNEL_TOO_DEEP */
function findDispatchOptions(request: Request, isolation: Isolation | undefined): DispatchOptions | undefined {
  if (request.parent === undefined) {
    return isolation?.tests.some(test => test(request)) ? { only: isolation.isCore } : undefined
  }
  if (depthOf(request) > depthLimit) throw new KERNEL_TOO_DEEP([depthLimit])
  return request.parent.dispatchOptions
}

/** The number of ancestors of a request; 0 for a main request. */
function depthOf(request: Request): number {
  let depth = 0
  for (let { parent } = request; parent !== undefined; parent = parent.parent) depth++
  return depth
}

/**
 * Whether a sub-request has failed because the nesting is too deep. Only the main request answers this error: the error
 * page of each sub-request would request itself again.
 */
function isEndless(request: Request, error: unknown): boolean {
  return request.parent !== undefined && error instanceof KERNEL_TOO_DEEP
}
