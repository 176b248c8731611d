import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { shopBundle } from './shop-bundle.ts'

test('a search says what was found', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), shopBundle] })
  t.after(close)

  const response = await client.get('/search?for=booth')
  assert.equal(response.status, 200)
  assert.deepEqual(response.json(), { found: ['booth'] })
  assert.equal((await client.get('/search')).status, 400)
})

test('a form, a redirect and a cookie', async t => {
  const { client, close, createClient, records } = await createTestKernel({
    bundles: [createFrameworkBundle(), shopBundle],
  })
  t.after(close)

  const cart = await client.post('/cart', { form: { item: 'booth' }, redirect: 'follow' })
  assert.equal(cart.text, 'In your cart: booth')
  assert.equal(cart.redirects[0]?.status, 303)
  assert.equal((await client.get('/cart')).text, 'In your cart: booth', 'its cookie was kept')

  const somebodyElse = createClient({ base: 'https://shop.test', remoteAddress: '203.0.113.9' })
  assert.equal((await somebodyElse.get('/cart')).text, 'In your cart: nothing')

  const empty = await client.post('/cart', { headers: { accept: 'application/json' } })
  assert.equal(empty.status, 422)
  assert.match(empty.text, /"detail":"The field \\"item\\" is missing\."/)
  assert.ok(records.some(({ message }) => message === 'Uncaught HttpError: "The field "item" is missing."'))
})

test('files are uploaded as from a browser', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), shopBundle] })
  t.after(close)

  const one = { name: 'one.png', type: 'image/png', content: Buffer.from('…') }
  const two = { name: 'two.png', type: 'image/png', content: Buffer.from('…') }
  const response = await client.post('/photos', { upload: { album: 'Summer', photo: [one, two] } })
  assert.equal(response.text, '2 photos')
})
