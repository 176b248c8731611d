import { ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { isNotModified, toNotModified } from '../../../lib/http/conditions.ts'

/** Last of all: only now is known what would be sent, and under which etag. */
const priority = -1200

/** Answers 304 when a page that names its etag or its last change is the one that the client has. */
export class ConditionalListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', priority)
  }

  onResponse({ isMainRequest, request, response }: ResponseEvent): void {
    if (isMainRequest && isNotModified(request, response)) toNotModified(response)
  }
}
