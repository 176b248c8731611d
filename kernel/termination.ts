import { describeListener } from '../lib/event-dispatcher/describe-listener.ts'
import type { DispatchOptions, EventDispatcher } from '../lib/event-dispatcher/event-dispatcher.ts'
import { removeFiles } from '../lib/http/controller-file.ts'
import type { Request } from '../lib/http/request.ts'
import type { Response } from '../lib/http/response.ts'
import type { Logger } from '../lib/log/logger.ts'
import type { Signals } from '../lib/signals.ts'
import { type RequestKernel, TerminateEvent } from './events.ts'
import { FinishedRequest } from './finished-request.ts'
import type { RequestContext } from './request-context.ts'
import { after, type Eventual } from './steps.ts'

/** The services that a termination calls. */
interface TerminationServices {
  readonly dispatcher: EventDispatcher
  readonly context: RequestContext
  readonly logger: Logger
  readonly signals?: Signals
}

/** Ends main requests, after their responses were sent. */
export class Termination {
  readonly #kernel: RequestKernel
  readonly #dispatcher: EventDispatcher
  readonly #context: RequestContext
  readonly #logger: Logger
  readonly #signals: Signals | undefined

  constructor(kernel: RequestKernel, { context, dispatcher, logger, signals }: TerminationServices) {
    this.#kernel = kernel
    this.#dispatcher = dispatcher
    this.#context = context
    this.#logger = logger
    this.#signals = signals
  }

  /** Notes the start of a main request, if a listener of `request.finished` reads it. */
  begin(request: Request): void {
    if (this.#signals?.has('request.finished') && request.parent === undefined) request.startedAt = performance.now()
  }

  /** Ends a main request: see `HttpKernel.terminate`. */
  end(
    request: Request,
    response: Response,
    isSent: boolean,
    streamError: unknown,
    sentBytes: number | undefined,
  ): Eventual<void> {
    if (streamError !== undefined) {
      const context = { exception: streamError, sentBytes }
      this.#context.run(request, () => this.#log(request).error('A response was cut off: its stream failed.', context))
    }
    // In production there is mostly no listener.
    const pending = this.#dispatcher.needs(TerminateEvent)
      ? this.#dispatch(new TerminateEvent(this.#kernel, request, response, isSent, streamError, sentBytes))
      : undefined
    if (request.startedAt !== undefined) {
      this.#context.run(request, this.#emitFinished, new FinishedRequest(request, response, isSent, sentBytes))
    }
    const hasFiles = request.hasBody || request.attributes.has('_temporary_files')
    return hasFiles ? after(pending, request, removeFiles) : pending
  }

  #dispatch(event: TerminateEvent): Eventual<void> {
    try {
      return this.#context.run(event.request, this.#callListeners, event)
    } catch (error) {
      this.#log(event.request).critical('The event kernel.terminate failed.', { exception: error })
      return undefined
    }
  }

  readonly #emitFinished = (finished: FinishedRequest): void => this.#signals?.emit('request.finished', finished)

  readonly #callListeners = (event: TerminateEvent): Promise<void> | undefined => {
    const { dispatchOptions } = event.request
    const options = dispatchOptions === undefined ? this.#options : { ...dispatchOptions, ...this.#options }
    return this.#dispatcher.dispatch(event, options)
  }

  /** A failure after the response is independent of any error before it. Later listeners are still called. */
  readonly #options: DispatchOptions = {
    onFailure: (failure, listener, event) => {
      const message = 'The listener {listener} of kernel.terminate failed.'
      this.#log((event as TerminateEvent).request).critical(message, {
        listener: describeListener(listener),
        exception: failure,
      })
    },
  }

  /** The log of a request: its messages have the id of the request also without the request context. */
  #log({ id }: Request): Logger {
    return this.#logger.withRequestId(id)
  }
}
