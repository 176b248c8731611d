import { ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { isNotModified, toNotModified } from '../../../lib/http/conditions.ts'

/** Last: no other listener changes the response or its etag after it. */
const priority = -1200

/** Answers 304 if the client has the same version of a page, by its etag or its last change. */
export class ConditionalListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', priority)
  }

  onResponse({ isMainRequest, request, response }: ResponseEvent): void {
    if (isMainRequest && isNotModified(request, response)) toNotModified(response)
  }
}
