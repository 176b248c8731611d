import { ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'

/** After the listeners of applications, so that one of them can set its own value. */
const priority = -255

/**
 * Keeps the pages of development out of search engines. Registered only in debug mode. Each client gets the header, also one
 * that may not see debug output: a crawler that comes through a tunnel is such a client.
 */
export class RobotsListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', priority)
  }

  onResponse({ response }: ResponseEvent): void {
    if (!response.headers.has('x-robots-tag')) response.headers.set('x-robots-tag', 'noindex')
  }
}
