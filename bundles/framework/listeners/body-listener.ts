import { RequestEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'

/** After routing: a request without a route never waits for its body. */
const priority = 10

/**
 * Reads JSON, form and text bodies before the controller runs. The defaults of a route can set the limit (`_body_limit`),
 * and leave the body to the controller (`_body_unread`).
 */
export class BodyListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', priority)
  }

  onRequest({ isMainRequest, request }: RequestEvent): Promise<unknown> | undefined {
    if (!isMainRequest || !request.hasBody) return undefined
    const limit = request.attributes.get('_body_limit')
    if (typeof limit === 'number') request.body.limit = limit
    return request.attributes.get('_body_unread') === true ? undefined : request.body.read()
  }
}
