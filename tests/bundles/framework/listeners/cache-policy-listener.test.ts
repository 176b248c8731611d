import { Readable } from 'node:stream'
import { type Bundle, type CachePolicy, createFrameworkBundle, HttpError, Response, ResponseEvent } from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { describeCachePolicy, toCacheControl } from '#lib/http/cache-policy.ts'

const page = () => Response.html('<p>page')

/** Starts an application with routes below a group whose pages all caches keep for a minute. */
async function start(t: Tap, register: Bundle['register'], bundles: Bundle[] = []) {
  const kernel = await createTestKernel({
    bundles: [createFrameworkBundle(), { name: 'shop', register }, ...bundles],
  })
  t.teardown(kernel.close)
  return kernel
}

type Tap = { teardown(task: () => unknown): unknown }

t.test('the words of a policy become a Cache-Control', t => {
  const table: [CachePolicy, string | undefined][] = [
    [{ maxAge: 60 }, 'private, max-age=60'],
    [{ maxAge: 0 }, 'private, max-age=0'],
    [{ public: false, maxAge: 60 }, 'private, max-age=60'],
    [{ public: true, maxAge: 60 }, 'public, max-age=60'],
    [{ sMaxAge: 60 }, 'public, s-maxage=60'],
    [{ public: true, sMaxAge: 60, maxAge: 5 }, 'public, max-age=5, s-maxage=60'],
    [{ sMaxAge: 60, staleWhileRevalidate: 30 }, 'public, s-maxage=60, stale-while-revalidate=30'],
    [{ maxAge: 60, staleWhileRevalidate: 30 }, 'private, max-age=60, stale-while-revalidate=30'],
    [{ etag: true }, undefined],
    [{ public: true, etag: true }, 'public, no-cache'],
  ]
  t.strictSame(
    table.map(([policy]) => [policy, toCacheControl(policy)]),
    table,
  )
  const policy = { sMaxAge: 60, vary: ['Accept-Language', 'Accept'], etag: true }
  t.equal(describeCachePolicy({ _cache: policy }), 'public, s-maxage=60; Vary: Accept-Language, Accept; etag')
  t.equal(describeCachePolicy({ _cache: false }), '')
  t.end()
})

t.test('the policy of a group or route applies to successful responses to GET and HEAD', async t => {
  const { client } = await start(t, ({ kernel, routes }) => {
    const defaults = { _cache: { public: true, maxAge: 60, vary: ['Accept-Language'] } } as const
    routes.group({ defaults }, group => {
      group.get('page', '/page', page)
      group.get('empty', '/empty', () => Response.empty())
      group.post('sent', '/page', page)
      group.query('asked', '/page', page)
      group.get('moved', '/moved', () => Response.redirect('/page', 301))
      group.get('missing', '/missing', () => {
        throw new HttpError(404, 'Gone.')
      })
      group.get('failed', '/failed', () => Response.html('no', { status: 500 }))
      const add = (name: string, headers: Record<string, string>) =>
        group.get(name, `/${name}`, () => Response.html('own', { headers }))
      add('own', { 'cache-control': 'no-store' })
      add('languages', { vary: 'accept-language, Accept' })
      add('dated', { 'last-modified': 'Sun, 29 Nov 2026 00:00:00 GMT' })
      group.get('changed', '/changed', request => {
        request.attributes.set('_cache', false)
        return page()
      })
      group.add({ name: 'short', path: '/short', defaults: { _cache: { maxAge: 1 } }, controller: page })
      group.add({ name: 'none', path: '/none', defaults: { _cache: false }, controller: page })
      group.get('slash', '/slash/', page)
    })
    routes.get('forward', '/forward', request => kernel.forward(request, page))
  })
  const shared = 'public, max-age=60'
  const usual = 'no-cache, private'
  const table = [
    ['GET', '/page', 200, shared, 'Accept-Language'],
    ['HEAD', '/page', 200, shared, 'Accept-Language'],
    ['GET', '/empty', 204, shared, 'Accept-Language'],
    ['POST', '/page', 200, usual, null],
    ['QUERY', '/page', 200, usual, null],
    ['GET', '/moved', 301, null, null],
    ['GET', '/missing', 404, usual, 'Accept, Accept-Encoding'],
    ['GET', '/failed', 500, usual, null],
    ['GET', '/own', 200, 'no-store, private', 'Accept-Language'],
    ['GET', '/languages', 200, shared, 'accept-language, Accept'],
    ['GET', '/dated', 200, shared, 'Accept-Language'],
    ['GET', '/changed', 200, usual, null],
    ['GET', '/short', 200, 'private, max-age=1', null],
    ['GET', '/none', 200, usual, null],
    ['GET', '/slash', 301, null, null],
    ['GET', '/forward', 200, usual, null],
  ] as const
  const found = await Promise.all(
    table.map(async ([method, target]) => {
      const { headers, status } = await client.request(method, target)
      return [method, target, status, headers.get('cache-control'), headers.get('vary')]
    }),
  )
  t.strictSame(found, table)
})

t.test('a response for one client never becomes public, and development says why', async t => {
  const { client, records } = await start(t, ({ dispatcher, routes }) => {
    routes.group({ defaults: { _cache: { sMaxAge: 60, maxAge: 60 } } }, group => {
      group.get('page', '/page', page)
      group.get('session', '/session', async request => {
        await request.session.get('user')
        return page()
      })
      group.get('cookie', '/cookie', () => Response.html('', { headers: { 'set-cookie': 'a=1' } }))
      group.get('own', '/own', () =>
        Response.html('', { headers: { 'set-cookie': 'a=1', 'cache-control': 'public, max-age=9' } }),
      )
      group.add({
        name: 'alone',
        path: '/alone',
        defaults: { _cache: { maxAge: 60 } },
        controller: () => Response.html('', { headers: { 'set-cookie': 'a=1' } }),
      })
      group.get('later', '/later', page)
    })
    dispatcher.on(ResponseEvent, ({ request, response }) => {
      if (request.path === '/later') response.headers.set('set-cookie', 'b=1')
    })
  })
  const controlOf = async (target: string, headers: Record<string, string> = {}) =>
    (await client.get(target, { headers })).headers.get('cache-control')
  const usual = 'no-cache, private'
  t.equal(await controlOf('/page'), 'public, max-age=60, s-maxage=60')
  t.equal(await controlOf('/page', { cookie: 'other=1' }), 'public, max-age=60, s-maxage=60')
  t.equal(await controlOf('/page', { authorization: 'Bearer abc' }), usual)
  t.equal(await controlOf('/session'), 'max-age=0, must-revalidate, private')
  t.equal(await controlOf('/cookie'), usual)
  t.equal(await controlOf('/later'), usual, 'also by a cookie of a listener')
  t.equal(await controlOf('/alone'), 'private, max-age=60', 'a private policy stays')
  t.equal(await controlOf('/own'), 'public, max-age=9', 'and what the controller sets')
  t.strictSame(
    records.filter(({ level }) => level === 'warning').map(({ message }) => message),
    [
      ['page', 'its request has an Authorization header'],
      ['session', 'the session was used in tests/bundles/framework/listeners/cache-policy-listener.test.ts:106'],
      ['cookie', 'it sets a cookie'],
      ['later', 'it sets a cookie'],
    ].map(
      ([route, reason]) =>
        `The response is private, although the route "${route}" has a public cache policy: ${reason}.`,
    ),
  )
})

t.test('an etag of a policy gives a 304, also with the toolbar', async t => {
  const register: Bundle['register'] = ({ routes }) => {
    routes.group({ defaults: { _cache: { maxAge: 60, etag: true } } }, group => {
      group.get('page', '/page', () => Response.html('<!doctype html><body><p>page</body>'))
      group.get('version', '/version', () => Response.html('<p>page', { headers: { etag: '"v7"' } }))
      group.get('stream', '/stream', () => Response.stream(Readable.from(['a'])))
      group.get('created', '/created', () => Response.html('<p>page', { status: 202 }))
    })
  }
  for (const bundles of [[], [createProfilerBundle()]]) {
    const { client } = await start(t, register, bundles)
    const etag = (await client.get('/page')).headers.get('etag') ?? ''
    t.match(etag, /^(?:W\/)?"[\da-f]{32}"$/)
    const again = await client.get('/page', { headers: { 'if-none-match': etag } })
    t.strictSame([again.status, again.headers.get('cache-control'), again.text], [304, 'private, max-age=60', ''])
    t.equal((await client.get('/version')).headers.get('etag'), '"v7"')
    t.equal((await client.get('/stream')).headers.get('etag'), null)
    t.equal((await client.get('/created')).headers.get('etag'), null)
  }
})
