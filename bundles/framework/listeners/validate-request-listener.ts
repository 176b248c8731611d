import { RequestEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { findProblem } from '../../../lib/http/request-checks.ts'

/** Before all that believes what the request says of itself. */
const priority = 256

/** Refuses requests that cannot be understood, with the reason; what is checked stands in one list. */
export class ValidateRequestListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', priority)
  }

  onRequest({ isMainRequest, request }: RequestEvent): void {
    if (!isMainRequest) return
    const problem = findProblem(request)
    if (problem !== undefined) throw problem
  }
}
