import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel, RecordingDispatcher } from 'sinfonietta/testing'
import { shopBundle } from './shop-bundle.ts'

test('an unknown URL is answered by the error page, which is a sub-request', async t => {
  const dispatcher = new RecordingDispatcher()
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), shopBundle], dispatcher })
  t.after(close)

  assert.equal((await client.get('/card')).status, 404)
  assert.deepEqual(dispatcher.sequence.slice(0, 3), ['kernel.request', 'kernel.exception', 'kernel.request (sub)'])
})
