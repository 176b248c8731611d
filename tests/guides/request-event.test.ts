import { t } from 'tap'
import type { RequestEvent } from '../../kernel/events/request-event.ts'
import { createRequest, createRequestEvent } from '../../kernel/testing/event-factories.ts'
import { Response } from '../../lib/http/response.ts'

class MaintenanceListener {
  onRequest(event: RequestEvent): void {
    if (event.request.path === '/status') return
    event.respond(Response.text('Back soon.', { status: 503, headers: { 'retry-after': '600' } }))
  }
}

t.test('kernel.request: while we work on it, only the status page is open', async t => {
  const listener = new MaintenanceListener()

  const cart = createRequestEvent({ request: createRequest('/cart') })
  listener.onRequest(cart)
  t.equal(cart.response?.status, 503)
  t.equal(cart.response?.headers.get('retry-after'), '600')
  t.ok(cart.isPropagationStopped, 'nobody after it hears of the request')

  const status = createRequestEvent({ request: createRequest('/status') })
  listener.onRequest(status)
  t.equal(status.response, undefined)
})
