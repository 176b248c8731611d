import { RequestEvent, TerminateEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'

/** After routing: a request without a route never waits for its body. */
const requestPriority = 10

/** After all listeners that may need an uploaded file. */
const terminatePriority = -2048

/**
 * Reads JSON, form and text bodies before the controller runs. A route can set the limit: `_body_limit` in its
 * defaults. Removes uploaded files at the end of the request.
 */
export class BodyListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', requestPriority)
    dispatcher.subscribe(TerminateEvent, this, 'onTerminate', terminatePriority)
  }

  onRequest({ isMainRequest, request }: RequestEvent): Promise<void> | undefined {
    if (!isMainRequest || !request.hasBody) return undefined
    const limit = request.attributes.get('_body_limit')
    if (typeof limit === 'number') request.body.limit = limit
    return request.body.read()
  }

  onTerminate({ request }: TerminateEvent): Promise<void> | undefined {
    return request.hasBody ? request.body.dispose() : undefined
  }
}
