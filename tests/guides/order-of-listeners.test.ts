import { t } from 'tap'
import { RequestEvent } from '../../kernel/events/request-event.ts'
import { createRequestEvent } from '../../kernel/testing/event-factories.ts'
import { RecordingDispatcher } from '../../kernel/testing/recording-dispatcher.ts'
import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '../../lib/http/response.ts'

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

t.test('maintenance comes before everybody else', async t => {
  const dispatcher = new RecordingDispatcher()
  dispatcher.on(RequestEvent, () => t.fail('must not run'), 32, 'router')
  new MaintenanceListener().subscribe(dispatcher)

  await dispatcher.dispatch(createRequestEvent())
  t.strictSame(dispatcher.calls, ['kernel.request MaintenanceListener.onRequest'])

  const { skipped, stoppedBy } = dispatcher.last(RequestEvent)
  t.equal(stoppedBy, 'MaintenanceListener.onRequest')
  t.strictSame(skipped, ['router'])
})
