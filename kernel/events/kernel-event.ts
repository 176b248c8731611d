import { Event } from '../../lib/event-dispatcher/event.ts'
import type { Request } from '../../lib/http/request.ts'
import type { HttpKernel } from '../http-kernel.ts'
import type { RequestType } from '../request-type.ts'

/** A step in the life of a request. */
export abstract class KernelEvent extends Event {
  readonly kernel: HttpKernel
  readonly request: Request
  readonly type: RequestType

  constructor(kernel: HttpKernel, request: Request, type: RequestType) {
    super()
    this.kernel = kernel
    this.request = request
    this.type = type
  }

  /** Whether the request came from outside, and not from another request. */
  get isMainRequest(): boolean {
    return this.type === 'main'
  }
}
