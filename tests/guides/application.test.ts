import { t } from 'tap'
import { frameworkBundle } from '../../bundles/framework/framework-bundle.ts'
import type { Bundle } from '../../kernel/bundle.ts'
import { queryValue } from '../../kernel/controller/arguments.ts'
import { defineController } from '../../kernel/controller/controller.ts'
import { createTestKernel } from '../../kernel/testing/create-test-kernel.ts'
import { RecordingDispatcher } from '../../kernel/testing/recording-dispatcher.ts'
import { HttpError } from '../../lib/errors/http-error.ts'
import type { Request } from '../../lib/http/request.ts'
import { Response } from '../../lib/http/response.ts'
import { linkProject } from '../support/project.ts'

const shopBundle: Bundle = {
  name: 'shop',
  register({ routes }) {
    const search = defineController('search', [queryValue('for')], text => Response.json({ found: [text] }))
    routes.add({ name: 'search', path: '/search', methods: ['GET'], controller: search })
    routes.add({ name: 'add', path: '/cart', methods: ['POST'], controller: addToCart })
    routes.add({ name: 'cart', path: '/cart', methods: ['GET'], controller: showCart })
    routes.add({ name: 'photos', path: '/photos', methods: ['POST'], controller: countPhotos })
  },
}

async function addToCart(request: Request): Promise<Response> {
  const item = (await request.formData()).get('item')
  if (typeof item !== 'string') throw new HttpError(422, 'Say which item.')
  await request.session.set('item', item)
  return Response.redirect('/cart', 303)
}

async function showCart(request: Request): Promise<Response> {
  return Response.text(`In your cart: ${(await request.session.get('item')) ?? 'nothing'}`)
}

async function countPhotos(request: Request): Promise<Response> {
  const photos = (await request.formData()).getAll('photo')
  return Response.text(`${photos.length} photos`)
}

t.test('a search says what was found', async t => {
  const { client, close } = await createTestKernel({ bundles: [frameworkBundle, shopBundle] })
  t.teardown(close)

  const response = await client.get('/search?for=booth')
  t.equal(response.status, 200)
  t.strictSame(response.json(), { found: ['booth'] })
  t.equal((await client.get('/search')).status, 400)
})

t.test('a form, a redirect and the session', async t => {
  const { client, close, createClient, records } = await createTestKernel({
    bundles: [frameworkBundle, shopBundle],
    directory: linkProject(t),
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

t.test('a wrong address is answered by the error page, which is a sub-request', async t => {
  const dispatcher = new RecordingDispatcher()
  const { client, close } = await createTestKernel({ bundles: [frameworkBundle, shopBundle], dispatcher })
  t.teardown(close)

  t.equal((await client.get('/card')).status, 404)
  t.strictSame(dispatcher.sequence.slice(0, 3), ['kernel.request', 'kernel.exception', 'kernel.request (sub)'])
})
