import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { failingShop, SHOP_SOLD_OUT } from './failing-shop.ts'

test('the status and the headers are those of the error', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), failingShop] })
  t.after(close)
  const response = await client.get('/order?item=booth')
  assert.equal(response.status, 429)
  assert.equal(response.headers.get('retry-after'), '60')
  assert.equal((await client.get('/order?item=moon')).status, 404)
  assert.equal((await client.get('/order')).status, 400, 'the query parameter is missing')
})

test('an error of a catalogue has a code and a status', async t => {
  const { code, message, status } = new SHOP_SOLD_OUT(['booth', 2])
  assert.deepEqual([code, status, message], ['SHOP_SOLD_OUT', 409, 'Of "booth" there are only 2 left.'])
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), failingShop] })
  t.after(close)
  assert.equal((await client.get('/reserve/booth')).status, 409)
})
