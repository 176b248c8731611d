import { appendCause } from '../lib/errors/append-cause.ts'
import { HttpError } from '../lib/errors/http-error.ts'
import {
  type DispatchOptions,
  type EventClass,
  type EventDispatcher,
  isThenable,
  type RegisteredListener,
} from '../lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '../lib/http/request.ts'
import { Response } from '../lib/http/response.ts'
import type { Logger } from '../lib/log/logger.ts'
import { resolveArguments } from './controller.ts'
import type { ControllerResolver } from './controller-resolver.ts'
import { KERNEL_NO_RESPONSE, KERNEL_TOO_DEEP } from './errors.ts'
import {
  ControllerArgumentsEvent,
  ControllerEvent,
  ExceptionEvent,
  FinishRequestEvent,
  type KernelEvent,
  RequestEvent,
  type RequestKernel,
  RequestType,
  ResponseEvent,
  TerminateEvent,
  ViewEvent,
} from './events.ts'
import { answerLast, type LastResort, lastResort } from './last-resort.ts'
import type { RequestContext } from './request-context.ts'
import { adviseOnResult, asResponse, describeResult } from './response-check.ts'

/** What the kernel works with. */
export interface HttpKernelServices {
  readonly dispatcher: EventDispatcher
  readonly controllers: ControllerResolver
  readonly context: RequestContext
  readonly logger: Logger
  /** Answers an error that nothing else has answered. */
  readonly lastResort?: LastResort
  /** The main requests of which only listeners of core bundles are notified. */
  readonly isolation?: Isolation
}

/** Requests that are handled without the application's listeners. */
interface Isolation {
  readonly tests: readonly ((request: Request) => boolean)[]
  readonly isCore: (listener: RegisteredListener) => boolean
}

/** Whoever nests sub-requests deeper than this has made one that asks for itself, and would never end. */
const depthLimit = 10

/**
 * Turns a request into a response by dispatching the events of its life; everything else is done by their listeners:
 *
 *     kernel.request → controller → controller_arguments → (the controller) [→ view] → response → finish_request
 *     anything thrown → exception → response → finish_request          after sending → terminate
 */
export class HttpKernel implements RequestKernel {
  readonly #dispatcher: EventDispatcher
  readonly #controllers: ControllerResolver
  readonly #context: RequestContext
  readonly #logger: Logger
  readonly #lastResort: LastResort
  readonly #isolation: Isolation | undefined

  constructor(services: HttpKernelServices) {
    this.#dispatcher = services.dispatcher
    this.#controllers = services.controllers
    this.#context = services.context
    this.#logger = services.logger
    this.#lastResort = services.lastResort ?? (() => lastResort())
    this.#isolation = services.isolation
  }

  /**
   * Handles a request. For a main request the promise always gives a response; a sub-request that nobody could answer
   * rejects. With `catchErrors` off, what is thrown reaches the caller and `kernel.exception` is not dispatched.
   */
  handle(request: Request, type: RequestType = RequestType.Main, catchErrors = true): Promise<Response> {
    request.isMainRequest = type === RequestType.Main
    return this.#context.run(request, () => this.#handle(request, type, catchErrors))
  }

  /** Handles what the same request would be with another controller, as a sub-request. */
  forward(
    request: Request,
    controller: unknown,
    attributes: Readonly<Record<string, unknown>> = {},
  ): Promise<Response> {
    const forwarded = request.duplicate()
    for (const [name, value] of Object.entries(attributes)) forwarded.attributes.set(name, value)
    forwarded.attributes.set('_controller', controller)
    return this.handle(forwarded, RequestType.Sub)
  }

  /** Runs a task that belongs to a request outside of its lifecycle: the reading of a stream that is its response. */
  run<result>(request: Request, task: () => result): result {
    return this.#context.run(request, task)
  }

  /**
   * Answers a main request again: the stream of its response failed before anything was sent. The promise always gives a
   * response.
   */
  answerError(request: Request, error: unknown): Promise<Response> {
    return this.#context.run(request, () => this.#answerError(request, RequestType.Main, error))
  }

  /**
   * Dispatches `kernel.terminate`: the response was sent, its client has left, or its stream failed (with that error). Once
   * for each main request; gives a promise only when something is pending, never throws and never rejects.
   */
  terminate(request: Request, response: Response, isSent = true, streamError?: unknown): Promise<void> | undefined {
    const event = new TerminateEvent(this, request, response, isSent, streamError)
    try {
      return this.#context.run(request, () => {
        if (streamError !== undefined) {
          this.#logger.error('A response was cut off: its stream failed.', { exception: streamError })
        }
        return this.#dispatcher.dispatch(event, { ...request.dispatching, onFailure: this.#reportLate })
      })
    } catch (error) {
      this.#logger.critical('The event kernel.terminate failed.', { exception: error })
      return undefined
    }
  }

  /** A failure after the response has nothing to do with an error that was answered. Later listeners are called. */
  readonly #reportLate = (failure: unknown, { name }: RegisteredListener): void => {
    const message = 'The listener {listener} of kernel.terminate failed.'
    this.#logger.critical(message, { listener: name, exception: failure })
  }

  /** The way of every request. Only what is pending is awaited: most listeners and controllers are done at once. */
  async #handle(request: Request, type: RequestType, catchErrors: boolean): Promise<Response> {
    try {
      if (request.depth > depthLimit) throw new KERNEL_TOO_DEEP([depthLimit])
      if (type === RequestType.Main) this.#isolate(request)
      const requested = new RequestEvent(this, request, type)
      const requesting = this.#dispatch(requested)
      if (requesting !== undefined) await requesting
      if (requested.response) return await this.#filterResponse(request, type, requested.response)

      const chosen = new ControllerEvent(this, request, type, this.#controllers.resolve(request))
      const choosing = this.#dispatch(chosen)
      if (choosing !== undefined) await choosing

      const values = resolveArguments(chosen.controller, request)
      const known = Array.isArray(values) ? values : await values
      const prepared = new ControllerArgumentsEvent(this, request, type, chosen.controller, known)
      const preparing = this.#dispatch(prepared)
      if (preparing !== undefined) await preparing

      const returned = prepared.controller.call(...prepared.arguments)
      const result = isThenable(returned) ? await returned : returned
      const response = result instanceof Response ? result : await this.#view(request, type, result)
      const filtered = this.#filterResponse(request, type, response)
      return filtered instanceof Promise ? await filtered : filtered
    } catch (error) {
      if (catchErrors && !isEndless(request, error)) return await this.#answerError(request, type, error)
      await this.#finishRequest(request, type)
      throw error
    }
  }

  async #view(request: Request, type: RequestType, result: unknown): Promise<Response> {
    const viewed = new ViewEvent(this, request, type, result)
    await this.#dispatch(viewed)
    if (viewed.response === undefined) throw new KERNEL_NO_RESPONSE([describeResult(result) + adviseOnResult(result)])
    return viewed.response
  }

  #filterResponse(request: Request, type: RequestType, response: Response): Response | Promise<Response> {
    const event = new ResponseEvent(this, request, type, response)
    const filtering = this.#dispatch(event)
    const finish = () => this.#finishRequest(request, type)
    const finishing = filtering === undefined ? finish() : filtering.then(finish)
    return finishing === undefined ? asResponse(event.response) : finishing.then(() => asResponse(event.response))
  }

  #finishRequest(request: Request, type: RequestType): Promise<void> | undefined {
    return this.#dispatch(new FinishRequestEvent(this, request, type))
  }

  /** No error leaves a main request unanswered; the one who made a sub-request gets it. */
  async #answerError(request: Request, type: RequestType, error: unknown): Promise<Response> {
    const failures: unknown[] = []
    // From here on a listener that fails is skipped: it must not take the error page with it.
    const onFailure: DispatchOptions['onFailure'] = (failure, { name }, event) => {
      appendCause(failure, error)
      failures.push(failure)
      const { eventName } = event.constructor as unknown as EventClass
      const message = 'The listener {listener} of {event} failed while an error was answered.'
      this.#logger.critical(message, { listener: name, event: eventName, exception: failure })
    }
    request.dispatching = { ...request.dispatching, onFailure }
    try {
      return await this.#handleError(request, type, error)
    } catch (thrown) {
      const unanswered = failures.length > 0 ? failures.at(-1) : thrown
      appendCause(unanswered, error)
      if (type === RequestType.Sub) throw unanswered
      this.#logger.critical('An error could not be answered.', { exception: unanswered })
      const errors = unanswered === error ? [error] : [error, unanswered]
      return answerLast(this.#lastResort, request, errors, this.#logger)
    }
  }

  async #handleError(request: Request, type: RequestType, thrown: unknown): Promise<Response> {
    const event = new ExceptionEvent(this, request, type, thrown)
    await this.#dispatch(event)
    if (event.response === undefined) {
      await this.#finishRequest(request, type)
      throw event.error
    }
    const response = asResponse(event.response)
    if (!event.keepsStatus && response.status < 300) giveStatusOf(event.error, response)
    try {
      const filtered = this.#filterResponse(request, type, response)
      return filtered instanceof Promise ? await filtered : filtered
    } catch (failure) {
      appendCause(failure, event.error)
      this.#logger.critical('A listener put something else in the place of the response to an error.', {
        exception: failure,
      })
      return response
    }
  }

  #dispatch(event: KernelEvent): Promise<void> | undefined {
    return this.#dispatcher.dispatch(event, event.request.dispatching)
  }

  #isolate(request: Request): void {
    if (this.#isolation?.tests.some(test => test(request))) request.dispatching = { only: this.#isolation.isCore }
  }
}

/** Which the main request answers, once: the error page of each sub-request could only ask for itself once more. */
function isEndless(request: Request, error: unknown): boolean {
  return request.depth > 0 && error instanceof KERNEL_TOO_DEEP
}

function giveStatusOf(error: unknown, response: Response): void {
  response.status = error instanceof HttpError ? error.status : 500
  if (!(error instanceof HttpError)) return
  for (const [name, value] of Object.entries(error.headers)) response.headers.set(name, value)
}
