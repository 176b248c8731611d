import type { DebugGate } from '../../../kernel/debug-gate.ts'
import { ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'

/** After whoever adds the header to responses. */
const priority = -128

/**
 * Replaces the Content-Security-Policy of a failed page on the debug error page, which brings a strict one of its own in a
 * `<meta>`. What a `<meta>` cannot say is that no other page may frame it. Registered while debug is on.
 */
export class RemoveCspListener {
  readonly #debugGate: Pick<DebugGate, 'allows'>

  constructor(debugGate: Pick<DebugGate, 'allows'>) {
    this.#debugGate = debugGate
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', priority)
  }

  onResponse({ request, response }: ResponseEvent): void {
    if (request.attributes.get('_remove_csp_headers') !== true || !this.#debugGate.allows(request)) return
    response.headers.set('content-security-policy', "frame-ancestors 'none'")
  }
}
