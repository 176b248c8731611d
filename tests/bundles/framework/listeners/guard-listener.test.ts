import {
  type Bundle,
  createFrameworkBundle,
  ExceptionEvent,
  HttpError,
  jsonBody,
  type Request,
  Response,
} from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import * as v from 'valibot'
import { ThrownFrames } from '#kernel/debug/thrown-frames.ts'

const answer = () => Response.text('secret')

/** Routes behind a login, and those of an administrator below. */
const register: Bundle['register'] = ({ guards, routes }) => {
  const roleOf = ({ headers }: Request) => headers.get('x-role')
  guards.push({
    name: 'login',
    check: request => (roleOf(request) === null ? Response.redirect('/login', 303) : true),
  })
  guards.push({
    name: 'admin',
    async check(request): Promise<true> {
      await Promise.resolve()
      if (roleOf(request) !== 'admin') throw new HttpError(403, 'Only for administrators.')
      return true
    },
  })
  // Without a check of types.
  const results = { broken: 'yes', lost: undefined, refused: false }
  for (const [name, result] of Object.entries(results)) guards.push({ name, check: () => result as never })
  routes.get('open', '/open', answer)
  routes.group({ prefix: '/shop', guard: 'login' }, shop => {
    shop.get('mine', '/mine', answer)
    shop.add({ name: 'admin', path: '/admin', guard: 'admin', controller: answer })
    shop.group({ guard: 'admin', prefix: '/all' }, all => {
      all.post('change', '', { order: jsonBody(v.object({ id: v.number() })) }, answer)
      all.add({ name: 'again', path: '/again/', guard: 'login', controller: answer })
    })
  })
  for (const name of Object.keys(results)) routes.add({ name, path: `/${name}`, guard: name, controller: answer })
}

t.test('the guards of a route and of its groups decide, the outer one first', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), { name: 'shop', register }] })
  t.teardown(close)
  const asked = [
    ['GET', '/open', null, 200],
    ['GET', '/shop/mine', null, 303],
    ['GET', '/shop/mine', 'reader', 200],
    ['GET', '/shop/admin', null, 303],
    ['GET', '/shop/admin', 'reader', 403],
    ['HEAD', '/shop/admin', 'reader', 403],
    ['GET', '/shop/admin', 'admin', 200],
    // Before the body is read: the client learns nothing of the schema.
    ['POST', '/shop/all', 'reader', 403],
    ['POST', '/shop/all', 'admin', 422],
    // Nor does a correction of the path pass.
    ['GET', '/shop/all/again', null, 303],
    ['GET', '/shop/all/again', 'admin', 301],
    ['GET', '/shop/all/again/', 'admin', 200],
    ['GET', '/shop/nothing', null, 404],
    ['GET', '/broken', 'admin', 500],
    ['GET', '/lost', 'admin', 500],
    ['GET', '/refused', 'admin', 500],
  ] as const
  const found = await Promise.all(
    asked.map(async ([method, target, role]) => {
      const headers = { ...(role !== null && { 'x-role': role }), 'content-type': 'application/json' }
      const { status } = await client.request(method, target, { headers, ...(method === 'POST' && { body: '{}' }) })
      return [method, target, role, status]
    }),
  )
  t.strictSame(found, asked)
})

t.test('a request knows the guard that has refused it, but not one that has failed', async t => {
  const seen: unknown[] = []
  const watching: Bundle = {
    name: 'watching',
    register(app) {
      app.signals.on(
        'request.finished',
        ({ request }) => void seen.push([request.path, request.attributes.get('_guard')]),
      )
    },
  }
  const bundles = [createFrameworkBundle(), { name: 'shop', register }, watching]
  const { client, close } = await createTestKernel({ bundles })
  t.teardown(close)
  for (const target of ['/open', '/shop/mine', '/broken']) await client.get(target)
  await client.get('/shop/admin', { headers: { 'x-role': 'reader' } })
  t.strictSame(seen, [
    ['/open', undefined],
    ['/shop/mine', 'login'],
    ['/broken', undefined],
    ['/shop/admin', 'admin'],
  ])
})

t.test('the error of a guard has the place of the guard, not that of the controller', async t => {
  const { app, client, close } = await createTestKernel({
    bundles: [createFrameworkBundle(), { name: 'shop', register }],
    directory: process.cwd(),
  })
  t.teardown(close)
  let asked: Request | undefined
  app.dispatcher.on(ExceptionEvent, ({ request }) => {
    asked = request
  })
  await client.get('/broken')
  // The stack of a request of a test has frames of the test.
  const error = { name: 'Error', message: 'lost', status: 500, frames: [] }
  const { frames } = new ThrownFrames(app).locate(error as never, asked as never)
  t.match(frames, [{ function: 'guard broken', file: /guard-listener\.test\.ts$/, line: Number }])
})

t.test('hundreds of requests at once are each guarded by their own headers', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), { name: 'shop', register }] })
  t.teardown(close)
  const wrong = await Promise.all(
    Array.from({ length: 400 }, async (_, index) => {
      const role = ['admin', 'reader'][index % 2] ?? ''
      const { status } = await client.get('/shop/admin', { headers: { 'x-role': role } })
      return status === (role === 'admin' ? 200 : 403) ? [] : [[role, status]]
    }),
  )
  t.strictSame(wrong.flat(), [])
})

t.test('a forward to a controller has no guard, for no route was matched', async t => {
  const page: Bundle = {
    name: 'page',
    register: ({ kernel, routes }) => void routes.get('page', '/page', request => kernel.forward(request, answer)),
  }
  const { client, close } = await createTestKernel({
    bundles: [createFrameworkBundle(), { name: 'shop', register }, page],
  })
  t.teardown(close)
  t.equal((await client.get('/page')).status, 200)
})
