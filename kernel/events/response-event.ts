import type { Request } from '../../lib/http/request.ts'
import type { Response } from '../../lib/http/response.ts'
import type { RequestType } from '../request-type.ts'
import { KernelEvent, type RequestKernel } from './kernel-event.ts'

/** A response is built: listeners add headers to it, replace it or take note of it. */
export class ResponseEvent extends KernelEvent {
  static readonly eventName = 'kernel.response'
  response: Response

  constructor(kernel: RequestKernel, request: Request, type: RequestType, response: Response) {
    super(kernel, request, type)
    this.response = response
  }
}
