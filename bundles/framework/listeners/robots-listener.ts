import type { DebugGate } from '../../../kernel/debug-gate.ts'
import { ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'

/** After every other header listener, so that a page can still say something else about itself. */
const priority = -255

/**
 * Keeps what debugging shows out of search engines; registered while debug is on. A client that may not see debug output
 * gets what production sends: the header would name the site as one of development.
 */
export class RobotsListener {
  readonly #debugGate: Pick<DebugGate, 'allows'>

  constructor(debugGate: Pick<DebugGate, 'allows'>) {
    this.#debugGate = debugGate
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', priority)
  }

  onResponse({ request, response }: ResponseEvent): void {
    if (response.headers.has('x-robots-tag') || !this.#debugGate.allows(request)) return
    response.headers.set('x-robots-tag', 'noindex')
  }
}
