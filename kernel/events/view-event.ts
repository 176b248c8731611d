import type { Request } from '../../lib/http/request.ts'
import type { Response } from '../../lib/http/response.ts'
import type { HttpKernel } from '../http-kernel.ts'
import type { RequestType } from '../request-type.ts'
import { KernelEvent } from './kernel-event.ts'

/** A controller has returned something that is no response: a listener makes one of it. */
export class ViewEvent extends KernelEvent {
  static readonly eventName = 'kernel.view'
  /** What the controller returned. */
  readonly result: unknown
  #response: Response | undefined

  constructor(kernel: HttpKernel, request: Request, type: RequestType, result: unknown) {
    super(kernel, request, type)
    this.result = result
  }

  get response(): Response | undefined {
    return this.#response
  }

  /** Gives the response; no further listener is called. */
  respond(response: Response): void {
    this.#response = response
    this.stopPropagation()
  }
}
