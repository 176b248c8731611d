import { RequestEvent, TerminateEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'

/** After routing: a request that no route takes never waits for its body. */
const requestPriority = 10

/** After everyone who may still want an uploaded file. */
const terminatePriority = -2048

/**
 * Reads JSON, form and text bodies before the controller runs, within the bytes that the route allows by its default
 * `_body_limit`; removes uploaded files when the request is over.
 */
export class BodyListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', requestPriority)
    dispatcher.subscribe(TerminateEvent, this, 'onTerminate', terminatePriority)
  }

  onRequest({ isMainRequest, request }: RequestEvent): Promise<void> | undefined {
    if (!isMainRequest || !request.body.isPresent) return undefined
    const limit = request.attributes.get('_body_limit')
    if (typeof limit === 'number') request.body.limit = limit
    return request.body.read()
  }

  onTerminate({ request }: TerminateEvent): Promise<void> | undefined {
    return request.body.isPresent ? request.body.dispose() : undefined
  }
}
