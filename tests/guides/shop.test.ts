import { t } from 'tap'
import { frameworkBundle } from '../../bundles/framework/framework-bundle.ts'
import { createTestKernel } from '../../kernel/testing/create-test-kernel.ts'
import { shopBundle } from './shop-bundle.ts'

t.test('a search says what was found', async t => {
  const { client, close } = await createTestKernel({ bundles: [frameworkBundle, shopBundle] })
  t.teardown(close)

  const response = await client.get('/search?for=booth')
  t.equal(response.status, 200)
  t.strictSame(response.json(), { found: ['booth'] })
  t.equal((await client.get('/search')).status, 400)
})

t.test('a form, a redirect and a cookie', async t => {
  const { client, close, createClient, records } = await createTestKernel({
    bundles: [frameworkBundle, shopBundle],
  })
  t.teardown(close)

  const cart = await client.post('/cart', { form: { item: 'booth' }, redirect: 'follow' })
  t.equal(cart.text, 'In your cart: booth')
  t.equal(cart.redirects[0]?.status, 303)
  t.equal((await client.get('/cart')).text, 'In your cart: booth', 'its cookie was kept')

  const somebodyElse = createClient({ base: 'https://shop.test', remoteAddress: '203.0.113.9' })
  t.equal((await somebodyElse.get('/cart')).text, 'In your cart: nothing')

  const empty = await client.post('/cart', { headers: { accept: 'application/json' } })
  t.match(empty.json(), { status: 422, detail: 'Say which item.' })
  t.ok(records.some(({ message }) => message === 'Uncaught HttpError: "Say which item."'))
})

t.test('files are uploaded as from a browser', async t => {
  const { client, close } = await createTestKernel({ bundles: [frameworkBundle, shopBundle] })
  t.teardown(close)

  const one = { name: 'one.png', type: 'image/png', content: Buffer.from('…') }
  const two = { name: 'two.png', type: 'image/png', content: Buffer.from('…') }
  const response = await client.post('/photos', { upload: { album: 'Summer', photo: [one, two] } })
  t.equal(response.text, '2 photos')
})
