import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EventDispatcher, RequestEvent, Response } from 'sinfonietta'
import { createRequestEvent, RecordingDispatcher } from 'sinfonietta/testing'

/** Before routing, whose priority is 32. */
const priority = 64

class MaintenanceListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', priority)
  }

  onRequest(event: RequestEvent): void {
    event.respond(Response.text('Back soon.', { status: 503 }))
  }
}

test('maintenance is called before routing', async () => {
  const dispatcher = new RecordingDispatcher()
  dispatcher.on(RequestEvent, () => assert.fail('must not run'), 32, 'router')
  new MaintenanceListener().subscribe(dispatcher)

  await dispatcher.dispatch(createRequestEvent())
  assert.deepEqual(dispatcher.calls, ['kernel.request MaintenanceListener.onRequest'])

  const { skipped, stoppedBy } = dispatcher.last(RequestEvent)
  assert.equal(stoppedBy, 'MaintenanceListener.onRequest')
  assert.deepEqual(skipped, ['router'])
})
