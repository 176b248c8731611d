import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { salesBundle } from '../../../bundles/sales/sales-bundle.ts'

async function boot(t: TestContext) {
  // As in production: developers also get the stack.
  const variables = { APP_ENV: 'prod' }
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), salesBundle], variables })
  t.after(close)
  return client
}

test('an order is taken with its total', async t => {
  const client = await boot(t)
  const added = await client.post('/orders', { json: { items: [{ name: 'Ink', price: 4 }], tags: ['gift', 'red'] } })
  assert.equal(added.status, 201)
  const order = { id: 1, items: [{ name: 'Ink', price: 4 }], tags: ['gift', 'red'], total: 4 }
  assert.deepEqual(added.json(), order)
  assert.deepEqual((await client.get('/orders?least=4&tag=gift')).json(), [order])
  assert.deepEqual((await client.get('/orders?tag=gift&tag=blue')).json(), [])
})

test('issues are listed with their places', async t => {
  const client = await boot(t)
  const refused = await client.post('/orders', { json: { items: [{ name: 'Ink', price: -1 }], tags: 'gift' } })
  assert.equal(refused.status, 422)
  assert.equal(refused.headers.get('content-type'), 'application/problem+json')
  assert.match(refused.text, /\{"pointer":"#\/items\/0\/price","detail":"A price is not negative\."\}/)
  assert.match(refused.text, /\{"pointer":"#\/tags","detail":"Invalid type: Expected Array but received /)
  const query = await client.get('/orders?least=much')
  assert.equal(query.status, 422)
  assert.match(query.text, /"errors":\[\{"parameter":"least","detail":"It must be a number\."\}\]/)
})

test('a body that is no JSON never reaches the schema', async t => {
  const client = await boot(t)
  assert.equal((await client.post('/orders', { form: { items: 'Ink' } })).status, 415)
  assert.equal(
    (await client.post('/orders', { headers: { 'content-type': 'application/json' }, body: '{' })).status,
    400,
  )
})
