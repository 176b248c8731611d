import { t } from 'tap'
import type { TerminateEvent } from '../../kernel/events/terminate-event.ts'
import { createRequest, createTerminateEvent } from '../../kernel/testing/event-factories.ts'

class ReceiptListener {
  readonly #send: (order: unknown) => void

  constructor(send: (order: unknown) => void) {
    this.#send = send
  }

  onTerminate({ isSent, request }: TerminateEvent): void {
    if (isSent && request.attributes.has('order')) this.#send(request.attributes.get('order'))
  }
}

t.test('kernel.terminate: the receipt goes out when the page has arrived', async t => {
  const sent: unknown[] = []
  const listener = new ReceiptListener(order => sent.push(order))
  const request = createRequest('/order', { method: 'POST', attributes: { order: 7 } })

  listener.onTerminate(createTerminateEvent({ request, isSent: false }))
  t.strictSame(sent, [])
  listener.onTerminate(createTerminateEvent({ request }))
  t.strictSame(sent, [7])
})
