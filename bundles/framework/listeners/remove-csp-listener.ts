import type { DebugGate } from '../../../kernel/debug-gate.ts'
import { ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'

/** After listeners that set the header. */
const priority = -128

/**
 * Removes the Content-Security-Policy of a failed page from the debug error page, as Symfony's ErrorListener does. The
 * error page has its own strict policy in a `<meta>` element. Registered only in debug mode.
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
    response.headers.delete('content-security-policy')
  }
}
