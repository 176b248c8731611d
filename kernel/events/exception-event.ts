import type { Request } from '../../lib/http/request.ts'
import type { Response } from '../../lib/http/response.ts'
import type { HttpKernel } from '../http-kernel.ts'
import type { RequestType } from '../request-type.ts'
import { KernelEvent } from './kernel-event.ts'

/** Something was thrown: listeners may replace the error, or answer in its place. */
export class ExceptionEvent extends KernelEvent {
  static readonly eventName = 'kernel.exception'
  error: unknown
  /** Whether the response keeps its own status; else it gets that of the error, unless it is an error or redirect itself. */
  keepsStatus = false
  #response: Response | undefined

  constructor(kernel: HttpKernel, request: Request, type: RequestType, error: unknown) {
    super(kernel, request, type)
    this.error = error
  }

  get response(): Response | undefined {
    return this.#response
  }

  /** Answers in place of the error; no further listener is called. */
  respond(response: Response): void {
    this.#response = response
    this.stopPropagation()
  }
}
