import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FinishRequestEvent, RequestEvent } from 'sinfonietta'
import { createFinishRequestEvent, createRequestEvent } from 'sinfonietta/testing'

class LoadListener {
  current = 0

  onRequest(_event: RequestEvent): void {
    this.current++
  }

  onFinishRequest(_event: FinishRequestEvent): void {
    this.current--
  }
}

test('kernel.finish_request: a request that is over is no longer counted', () => {
  const listener = new LoadListener()
  listener.onRequest(createRequestEvent())
  assert.equal(listener.current, 1)
  listener.onFinishRequest(createFinishRequestEvent())
  assert.equal(listener.current, 0)
})
