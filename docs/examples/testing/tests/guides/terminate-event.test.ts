import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TerminateEvent } from 'sinfonietta'
import { createRequest, createTerminateEvent } from 'sinfonietta/testing'

declare module 'sinfonietta' {
  interface KnownAttributes {
    order: number
  }
}

class ReceiptListener {
  readonly #send: (order: unknown) => void

  constructor(send: (order: unknown) => void) {
    this.#send = send
  }

  onTerminate({ isSent, request }: TerminateEvent): void {
    if (isSent && request.attributes.has('order')) this.#send(request.attributes.get('order'))
  }
}

test('kernel.terminate: the receipt goes out when the page has arrived', () => {
  const sent: unknown[] = []
  const listener = new ReceiptListener(order => sent.push(order))
  const request = createRequest('/order', { method: 'POST', attributes: { order: 7 } })

  listener.onTerminate(createTerminateEvent({ request, isSent: false }))
  assert.deepEqual(sent, [])
  listener.onTerminate(createTerminateEvent({ request }))
  assert.deepEqual(sent, [7])
})
