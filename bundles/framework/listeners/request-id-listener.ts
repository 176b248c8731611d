import { ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { setChecked } from '../../../lib/http/headers.ts'

/** The default, as that of the ResponseListener. */
const priority = 0

/** Sends the id of a request to its client, for a question about this request: log lines have the same id. */
export class RequestIdListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', priority)
  }

  onResponse({ request, response }: ResponseEvent): void {
    // The request has checked its id.
    if (request.parent === undefined) setChecked(response.headers, 'x-request-id', request.id)
  }
}
