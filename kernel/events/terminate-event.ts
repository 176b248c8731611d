import type { Request } from '../../lib/http/request.ts'
import type { Response } from '../../lib/http/response.ts'
import { RequestType } from '../request-type.ts'
import { KernelEvent, type RequestKernel } from './kernel-event.ts'

/** The response was sent, or its client has left: the time for work that nobody waits for. */
export class TerminateEvent extends KernelEvent {
  static readonly eventName = 'kernel.terminate'
  readonly response: Response
  /** Whether all of the response was sent; the client may have left before. */
  readonly isSent: boolean

  constructor(kernel: RequestKernel, request: Request, response: Response, isSent = true) {
    super(kernel, request, RequestType.Main)
    this.response = response
    this.isSent = isSent
  }
}
