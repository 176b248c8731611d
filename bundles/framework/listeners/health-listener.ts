import type { DebugGate } from '../../../kernel/debug-gate.ts'
import { RequestEvent } from '../../../kernel/events.ts'
// For the signal that it declares.
import type {} from '../../../kernel/server/node-server.ts'
import { after, type Eventual } from '../../../kernel/steps.ts'
import { messageOfError } from '../../../lib/errors/flat-error.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '../../../lib/http/response.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import type { Signals } from '../../../lib/signals.ts'
import type { HealthChecks, HealthResult } from '../health-checks.ts'

/** After invalid requests are refused, and before listeners that may wait or fail. */
const priority = 255

/** The services of {@link HealthListener}. */
export interface HealthListenerServices {
  readonly signals: Signals
  readonly checks: HealthChecks
  readonly debugGate: Pick<DebugGate, 'allows'>
  readonly redactor: Redactor
}

/**
 * Health checks. `/_health/live` is 200 while the process answers. `/_health` is 200 while it is ready: all checks of
 * bundles succeed, and the server does not drain.
 */
export class HealthListener {
  readonly #services: HealthListenerServices
  #isDraining = false

  constructor(services: HealthListenerServices) {
    this.#services = services
    services.signals.on('server.draining', () => {
      this.#isDraining = true
    })
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', priority)
  }

  onRequest(event: RequestEvent): Eventual<void> {
    const { method, path } = event.request
    if (!path.startsWith('/_health') || (method !== 'GET' && method !== 'HEAD')) return
    if (path === '/_health/live') return respond(event, 200, { status: 'live' })
    if (path !== '/_health') return
    if (this.#isDraining) return respond(event, 503, { status: 'draining' })
    return after(this.#services.checks.run(), event, this.#respond)
  }

  /** Messages of errors may contain addresses: they are debug output. */
  readonly #respond = (event: RequestEvent, results: readonly HealthResult[]): void => {
    const { debugGate, redactor } = this.#services
    const failed = results.filter(({ hasFailed }) => hasFailed).map(({ name }) => name)
    const hasDetails = results.length > 0 && debugGate.allows(event.request)
    respond(event, failed.length === 0 ? 200 : 503, {
      status: failed.length === 0 ? 'ready' : 'failing',
      ...(failed.length > 0 && { failed }),
      ...(hasDetails && { checks: results.map(result => describe(result, redactor)) }),
    })
  }
}

function describe({ duration, error, hasFailed, name }: HealthResult, redactor: Redactor): object {
  const ms = Math.round(duration * 10) / 10
  return { name, ms, ...(hasFailed && { error: messageOfError(error, text => redactor.text(text)) }) }
}

function respond(event: RequestEvent, status: number, body: object): void {
  event.respond(Response.json(body, { status, headers: { 'cache-control': 'no-store' } }))
}
