import type { DebugGate } from '../../../kernel/debug-gate.ts'
import { ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'

/** After the listeners of applications, so that one of them can set its own value. */
const priority = -255

/**
 * Keeps pages of development out of search engines. Registered only in debug mode. Clients that may not see debug
 * output get no such header, as in production.
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
