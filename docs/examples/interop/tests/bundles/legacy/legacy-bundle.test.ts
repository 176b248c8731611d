import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { createLegacyBundle } from '../../../bundles/legacy/legacy-bundle.ts'

test('the old application answers below its path', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), createLegacyBundle()] })
  t.after(close)
  const order = await client.get('/legacy/orders/7')
  assert.equal(order.text, 'order 7 at /legacy/orders/7')
  assert.equal(order.headers.get('set-cookie'), 'seen=7; Path=/')
  assert.equal(order.headers.get('x-powered-by'), 'Express')
  const added = await client.post('/legacy/orders', { json: { id: 8 } })
  assert.deepEqual([added.status, added.text], [201, '{"id":8}'])
  assert.equal((await client.get('/legacy/broken')).status, 500, 'the error page')
  const missing = await client.get('/legacy/nothing')
  assert.equal(missing.status, 404)
  assert.equal(missing.headers.get('x-powered-by'), 'two frameworks')
})
