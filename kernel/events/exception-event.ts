import type { Request } from '../../lib/http/request.ts'
import type { RequestType } from '../request-type.ts'
import { AnswerableEvent } from './answerable-event.ts'
import type { RequestKernel } from './kernel-event.ts'

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
