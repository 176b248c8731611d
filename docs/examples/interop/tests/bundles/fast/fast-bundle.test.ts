import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { createFastBundle } from '../../../bundles/fast/fast-bundle.ts'

test('an application of Fastify answers below its path', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), createFastBundle()] })
  t.after(close)
  const order = await client.get('/fast/orders/7')
  assert.equal(order.text, '{"id":"7","url":"/orders/7"}')
  const added = await client.post('/fast/orders', { json: { id: 8 } })
  assert.deepEqual([added.status, added.text], [201, '{"id":8}'])
  const refused = await client.post('/fast/orders', { body: '{', headers: { 'content-type': 'application/json' } })
  assert.equal(refused.status, 400, 'its own answer to a mistake')
  const missing = await client.get('/fast/nothing')
  assert.deepEqual([missing.status, JSON.parse(missing.text).message], [404, 'Route GET:/nothing not found'])
})
