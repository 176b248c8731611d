import type { Request } from '../../lib/http/request.ts'
import type { RequestType } from '../request-type.ts'
import { AnswerableEvent } from './answerable-event.ts'
import type { RequestKernel } from './kernel-event.ts'

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
