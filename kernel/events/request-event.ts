import type { Response } from '../../lib/http/response.ts'
import { KernelEvent } from './kernel-event.ts'

/** A request has come in: listeners add to its attributes, choose its controller, or answer it. */
export class RequestEvent extends KernelEvent {
  static readonly eventName = 'kernel.request'
  #response: Response | undefined

  get response(): Response | undefined {
    return this.#response
  }

  /** Answers the request: no further listener and no controller is called. */
  respond(response: Response): void {
    this.#response = response
    this.stopPropagation()
  }
}
