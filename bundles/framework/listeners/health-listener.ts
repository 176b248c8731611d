import { RequestEvent } from '../../../kernel/events.ts'
// For the signal that it declares.
import type {} from '../../../kernel/server/node-server.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '../../../lib/http/response.ts'
import type { Signals } from '../../../lib/signals.ts'

/** After invalid requests are refused, and before listeners that may wait or fail. */
const priority = 255

/** Health checks: `/_health/live` is 200 while the process runs, `/_health` until the server drains. */
export class HealthListener {
  #isDraining = false

  constructor(signals: Signals) {
    signals.on('server.draining', () => {
      this.#isDraining = true
    })
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', priority)
  }

  onRequest(event: RequestEvent): void {
    const { method, path } = event.request
    if (!path.startsWith('/_health') || (method !== 'GET' && method !== 'HEAD')) return
    const headers = { 'cache-control': 'no-store' }
    if (path === '/_health/live') event.respond(Response.json({ status: 'live' }, { headers }))
    if (path !== '/_health') return
    const [text, status] = this.#isDraining ? ['draining', 503] : ['ready', 200]
    event.respond(Response.json({ status: text }, { status, headers }))
  }
}
