import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { ResponseEvent } from '../events/response-event.ts'

/** After whoever adds the header to responses. */
const priority = -128

/**
 * Takes the Content-Security-Policy of the failed page off the debug error page, which brings a strict one of its own
 * in a `<meta>`; registered while debug is on.
 */
export class RemoveCspListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', priority)
  }

  onResponse({ request, response }: ResponseEvent): void {
    if (request.attributes.get('_remove_csp_headers') === true) response.headers.delete('content-security-policy')
  }
}
