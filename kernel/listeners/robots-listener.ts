import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { ResponseEvent } from '../events/response-event.ts'

/** After every other header listener, so that a page can still say something else about itself. */
const priority = -255

/** Asks search engines to leave a development site out of their index; registered while debug is on. */
export class RobotsListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', priority)
  }

  onResponse({ response }: ResponseEvent): void {
    if (!response.headers.has('x-robots-tag')) response.headers.set('x-robots-tag', 'noindex')
  }
}
