import { RequestEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { findProblem } from '../../../lib/http/request-checks.ts'

/** Before all listeners that rely on the request. */
const priority = 256

/** Refuses invalid requests, with the reason. */
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
