import type { Response } from '../../lib/http/response.ts'
import { asResponse } from '../as-response.ts'
import { KernelEvent } from './kernel-event.ts'

/** A step that a listener can end with a response. */
export abstract class AnswerableEvent extends KernelEvent {
  #response: Response | undefined

  get response(): Response | undefined {
    return this.#response
  }

  /** Gives the response; no further listener is called. @throws KERNEL_RESPONSE_INVALID for anything else */
  respond(response: Response): void {
    this.#response = asResponse(response)
    this.stopPropagation()
  }
}
