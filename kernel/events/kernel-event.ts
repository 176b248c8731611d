import { Event } from '../../lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '../../lib/http/request.ts'
import type { Response } from '../../lib/http/response.ts'
import { RequestType } from '../request-type.ts'

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
