import { Event } from '../lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '../lib/http/request.ts'
import type { Response } from '../lib/http/response.ts'
import type { Controller } from './controller.ts'
import { asResponse } from './response-check.ts'

/** Where a request comes from: outside, or another request. */
export const RequestType = { Main: 'main', Sub: 'sub' } as const

export type RequestType = (typeof RequestType)[keyof typeof RequestType]

/** What a listener can ask of the kernel that dispatches to it. */
export interface RequestKernel {
  /** Handles a request; see `HttpKernel.handle`. */
  handle(request: Request, type?: RequestType, catchErrors?: boolean): Promise<Response>
}

/** A step in the life of a request. */
export abstract class KernelEvent extends Event {
  readonly kernel: RequestKernel
  readonly request: Request
  readonly type: RequestType

  constructor(kernel: RequestKernel, request: Request, type: RequestType) {
    super()
    this.kernel = kernel
    this.request = request
    this.type = type
  }

  /** Whether the request came from outside, and not from another request. */
  get isMainRequest(): boolean {
    return this.type === RequestType.Main
  }
}

/** A step that a listener can end with a response. */
export abstract class AnswerableEvent extends KernelEvent {
  #response: Response | undefined

  get response(): Response | undefined {
    return this.#response
  }

  /** Gives the response; no further listener is called. @throws KERNEL_RESPONSE_INVALID for anything else */
  respond(response: Response): void {
    this.#response = asResponse(response)
    this.stopPropagation()
  }
}

/** A request has come in: listeners add to its attributes, choose its controller, or answer it in the controller's place. */
export class RequestEvent extends AnswerableEvent {
  static readonly eventName = 'kernel.request'
}

/** A controller is chosen: listeners may put another in its place. */
export class ControllerEvent extends KernelEvent {
  static readonly eventName = 'kernel.controller'
  controller: Controller

  constructor(kernel: RequestKernel, request: Request, type: RequestType, controller: Controller) {
    super(kernel, request, type)
    this.controller = controller
  }
}

/** The controller's arguments are resolved: listeners may replace them, and the controller. */
export class ControllerArgumentsEvent extends KernelEvent {
  static readonly eventName = 'kernel.controller_arguments'
  controller: Controller
  arguments: unknown[]

  constructor(kernel: RequestKernel, request: Request, type: RequestType, controller: Controller, values: unknown[]) {
    super(kernel, request, type)
    this.controller = controller
    this.arguments = values
  }
}

/** A controller has returned something that is no response: a listener makes one of it. */
export class ViewEvent extends AnswerableEvent {
  static readonly eventName = 'kernel.view'
  /** What the controller returned. */
  readonly result: unknown

  constructor(kernel: RequestKernel, request: Request, type: RequestType, result: unknown) {
    super(kernel, request, type)
    this.result = result
  }
}

/** A response is built: listeners add headers to it, replace it or take note of it. */
export class ResponseEvent extends KernelEvent {
  static readonly eventName = 'kernel.response'
  response: Response

  constructor(kernel: RequestKernel, request: Request, type: RequestType, response: Response) {
    super(kernel, request, type)
    this.response = response
  }
}

/** A request is handled, well or not: listeners put back what they had changed for it. */
export class FinishRequestEvent extends KernelEvent {
  static readonly eventName = 'kernel.finish_request'
}

/** Something was thrown: listeners may replace the error, or answer in its place. */
export class ExceptionEvent extends AnswerableEvent {
  static readonly eventName = 'kernel.exception'
  error: unknown
  /** Whether the response keeps its own status; else it gets that of the error, unless it is an error or redirect itself. */
  keepsStatus = false

  constructor(kernel: RequestKernel, request: Request, type: RequestType, error: unknown) {
    super(kernel, request, type)
    this.error = error
  }
}

/** The response was sent, its client has left, or its stream failed: the time for work that no client waits for. */
export class TerminateEvent extends KernelEvent {
  static readonly eventName = 'kernel.terminate'
  readonly response: Response
  /** Whether all of the response was sent; the client may have left before, or its stream may have failed. */
  readonly isSent: boolean
  /** Why the stream of the response could not be sent to its end; `undefined` unless it failed. */
  readonly streamError: unknown

  constructor(kernel: RequestKernel, request: Request, response: Response, isSent = true, streamError?: unknown) {
    super(kernel, request, RequestType.Main)
    this.response = response
    this.isSent = isSent
    this.streamError = streamError
  }
}
