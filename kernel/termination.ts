import {
  type DispatchOptions,
  describeListener,
  type EventDispatcher,
} from '../lib/event-dispatcher/event-dispatcher.ts'
import { removeFiles } from '../lib/http/file-response.ts'
import type { Request } from '../lib/http/request.ts'
import type { Response } from '../lib/http/response.ts'
import type { Logger } from '../lib/log/logger.ts'
import type { Signals } from '../lib/signals.ts'
import { FinishedRequest, type RequestKernel, type ResponseEnd, TerminateEvent, wholeResponse } from './events.ts'
import type { RequestContext } from './request-context.ts'
import { after, type Eventual } from './steps.ts'

interface TerminationServices {
  readonly dispatcher: EventDispatcher
  readonly context: RequestContext
  readonly logger: Logger
  /** For the signal `request.finished`. */
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
  end(request: Request, response: Response, end: ResponseEnd = wholeResponse): Eventual<void> {
    if (end.streamError !== undefined) {
      const context = { exception: end.streamError, sentBytes: end.sentBytes }
      this.#context.run(request, () =>
        this.#logger.withRequestId(request.id).error('A response was cut off: its stream failed.', context),
      )
    }
    // In production there is mostly no listener.
    const pending = this.#dispatcher.needs(TerminateEvent)
      ? this.#dispatch(new TerminateEvent(this.#kernel, request, response, end))
      : undefined
    if (request.startedAt !== undefined) {
      this.#context.run(request, this.#emitFinished, new FinishedRequest(request, response, end))
    }
    const hasFiles = request.hasBody || request.attributes.has('_temporary_files')
    return hasFiles ? after(pending, request, removeFiles) : pending
  }

  #dispatch(event: TerminateEvent): Eventual<void> {
    try {
      return this.#context.run(event.request, this.#callListeners, event)
    } catch (error) {
      this.#logger.withRequestId(event.request.id).critical('The event kernel.terminate failed.', { exception: error })
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
      this.#logger.withRequestId((event as TerminateEvent).request.id).critical(message, {
        listener: describeListener(listener),
        exception: failure,
      })
    },
  }
}
