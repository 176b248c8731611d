import type { Request } from '../../lib/http/request.ts'
import type { Response } from '../../lib/http/response.ts'
import { RequestType } from '../request-type.ts'
import { KernelEvent, type RequestKernel } from './kernel-event.ts'

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
