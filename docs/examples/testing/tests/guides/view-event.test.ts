import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Response, type ViewEvent } from 'sinfonietta'
import { createRequest, createViewEvent } from 'sinfonietta/testing'

class JsonListener {
  onView(event: ViewEvent): void {
    if (event.request.path.startsWith('/api/')) event.respond(Response.json(event.result))
  }
}

test('kernel.view: the result of a controller of the API becomes JSON', () => {
  const event = createViewEvent({ items: 2 }, { request: createRequest('/api/cart') })
  new JsonListener().onView(event)
  assert.equal(event.response?.body, '{"items":2}')
})
