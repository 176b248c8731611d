import { t } from 'tap'
import type { FinishRequestEvent } from '../../kernel/events/finish-request-event.ts'
import type { RequestEvent } from '../../kernel/events/request-event.ts'
import { createFinishRequestEvent, createRequestEvent } from '../../kernel/testing/event-factories.ts'

class LoadListener {
  current = 0

  onRequest(_event: RequestEvent): void {
    this.current++
  }

  onFinishRequest(_event: FinishRequestEvent): void {
    this.current--
  }
}

t.test('kernel.finish_request: a request that is over is no longer counted', async t => {
  const listener = new LoadListener()
  listener.onRequest(createRequestEvent())
  t.equal(listener.current, 1)
  listener.onFinishRequest(createFinishRequestEvent())
  t.equal(listener.current, 0)
})
