import type { Request } from '../../lib/http/request.ts'
import type { Response } from '../../lib/http/response.ts'
import type { HttpKernel } from '../http-kernel.ts'
import { RequestType } from '../request-type.ts'
import { KernelEvent } from './kernel-event.ts'

/** The response was sent, or its client has left: the time for work that nobody waits for. */
export class TerminateEvent extends KernelEvent {
  static readonly eventName = 'kernel.terminate'
  readonly response: Response

  constructor(kernel: HttpKernel, request: Request, response: Response) {
    super(kernel, request, RequestType.Main)
    this.response = response
  }
}
