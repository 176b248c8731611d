import { t } from 'tap'
import type { ViewEvent } from '../../kernel/events/view-event.ts'
import { createRequest, createViewEvent } from '../../kernel/testing/event-factories.ts'
import { Response } from '../../lib/http/response.ts'

class JsonListener {
  onView(event: ViewEvent): void {
    if (event.request.path.startsWith('/api/')) event.respond(Response.json(event.result))
  }
}

t.test('kernel.view: what a controller of the API returns becomes JSON', async t => {
  const event = createViewEvent({ items: 2 }, { request: createRequest('/api/cart') })
  new JsonListener().onView(event)
  t.equal(event.response?.body, '{"items":2}')
})
