import { Readable } from 'node:stream'
import {
  type Bundle,
  createFrameworkBundle,
  createPageCache,
  HttpError,
  type PageCache,
  type Request,
  Response,
  ResponseEvent,
} from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'

interface Tap {
  teardown(task: () => unknown): unknown
}

/** An application whose pages all have a public policy, and say how often their controller was called. */
async function start(t: Tap, register: Bundle['register'], { first = [] as Bundle[], variables = {} } = {}) {
  const pages = createPageCache()
  const bundles = [createFrameworkBundle(), ...first, pages, { name: 'shop', register }]
  const kernel = await createTestKernel({ bundles, variables: { ...variables, APP_ENV: 'prod' } })
  t.teardown(kernel.close)
  const get = async (target: string, headers: Record<string, string> = {}) => {
    const { headers: answered, status, text } = await kernel.client.get(target, { headers })
    return { text, status, age: answered.get('age'), headers: answered }
  }
  return { ...kernel, pages, get, textOf: async (...asked: Parameters<typeof get>) => (await get(...asked)).text }
}

const minute = { sMaxAge: 60 } as const

/** Declares pages below a policy. The function of a page gets its count of calls. */
function declare(
  routes: Parameters<Bundle['register']>[0]['routes'],
  pages: Record<string, (request: Request, calls: number) => unknown>,
  policy: { sMaxAge: number; staleWhileRevalidate?: number; vary?: string[]; etag?: boolean } = minute,
) {
  for (const [name, answer] of Object.entries(pages)) {
    let calls = 0
    const controller = (request: Request) => answer(request, ++calls)
    routes.add({ name, path: `/${name}`, methods: ['GET'], defaults: { _cache: policy }, controller })
  }
}

/** A page of the millisecond of a purge is not stored: it may be older. */
async function nextMillisecond(): Promise<void> {
  const now = Date.now()
  while (Date.now() === now) await new Promise(resolve => setImmediate(resolve))
}

const count = (_request: Request, calls: number) => Response.text(`call ${calls}`)

t.test('a page is stored for all clients, each with its own headers', async t => {
  const { client, get, textOf } = await start(t, ({ routes }) => {
    declare(routes, { page: count })
    declare(routes, { tagged: count }, { sMaxAge: 60, etag: true })
    routes.add({
      name: 'own',
      path: '/own',
      defaults: { _cache: { maxAge: 60 } },
      controller: r => count(r, Math.random()),
    })
    routes.get('plain', '/plain', request => count(request, Math.random()))
  })
  const first = await get('/page')
  const second = await get('/page')
  t.strictSame([first.text, first.age], ['call 1', null])
  t.strictSame([second.text, second.age], ['call 1', '0'])
  t.equal(second.headers.get('cache-control'), 'public, s-maxage=60')
  t.equal(second.headers.get('content-type'), 'text/plain; charset=UTF-8')
  t.not(second.headers.get('x-request-id'), first.headers.get('x-request-id'))
  const head = await client.request('HEAD', '/page')
  t.strictSame([head.status, head.headers.get('age')], [200, '0'], 'HEAD from GET')
  const etag = (await get('/tagged')).headers.get('etag') ?? ''
  const known = await get('/tagged', { 'if-none-match': etag })
  t.strictSame([known.status, known.age], [304, '0'])
  t.not(await textOf('/own'), await textOf('/own'), 'a private policy')
  t.not(await textOf('/plain'), await textOf('/plain'), 'no policy')
})

t.test('what is for one client, or for one request, is never stored', async t => {
  const html = (init: Record<string, string>) => (_request: Request, calls: number) =>
    Response.html(`call ${calls}`, { headers: init })
  const pages: Record<string, (request: Request, calls: number) => unknown> = {
    cookie: html({ 'set-cookie': 'a=1' }),
    own_private: html({ 'cache-control': 'private, max-age=60' }),
    qualified: html({ 'cache-control': 'public, max-age=60, private="x-user"' }),
    no_store: html({ 'cache-control': 'public, s-maxage=60, no-store' }),
    no_cache: html({ 'cache-control': 'public, s-maxage=60, no-cache' }),
    upper: html({ 'cache-control': 'Public, S-MaxAge=60, No-Store' }),
    zero: html({ 'cache-control': 'public, s-maxage=0, max-age=60' }),
    twice: html({ 'cache-control': 'public, s-maxage=60, s-maxage=0' }),
    invalid: html({ 'cache-control': 'public, s-maxage=1e9' }),
    quoted: html({ 'cache-control': 'max-age=60, ext="public, s-maxage=60"' }),
    no_lifetime: html({ 'cache-control': 'public' }),
    old: html({ 'cache-control': 'public, max-age=60', age: '60' }),
    expired: html({ 'cache-control': 'public', expires: 'Sun, 06 Nov 1994 08:49:37 GMT' }),
    star: html({ vary: '*' }),
    created: (_request, calls) => Response.html(`call ${calls}`, { status: 201 }),
    moved: (_request, calls) => Response.redirect(`/page?${calls}`),
    broken: (_request, calls) => {
      throw new HttpError(500, `call ${calls}`)
    },
    missing: (_request, calls) => {
      throw new HttpError(404, `call ${calls}`, { headers: { 'cache-control': 'public, s-maxage=60' } })
    },
    stream: (_request, calls) => Response.stream(Readable.from([`call ${calls}`])),
    used: async (request, calls) => {
      await request.session.get('user')
      return Response.html(`call ${calls}`)
    },
    later: count,
    switched: (request, calls) => {
      request.attributes.set('_cache', false)
      return Response.html(`call ${calls}`)
    },
  }
  const { client, get } = await start(t, ({ dispatcher, routes }) => {
    declare(routes, { ...pages, stored: count })
    dispatcher.on(ResponseEvent, ({ request, response }) => {
      if (request.path === '/later') response.headers.set('set-cookie', 'b=1')
    })
  })
  const stored: string[] = []
  for (const name of Object.keys(pages)) {
    await get(`/${name}`)
    if ((await get(`/${name}`)).age !== (name === 'old' ? '60' : null)) stored.push(name)
  }
  t.strictSame(stored, [])
  t.equal((await get('/stored')).text, 'call 1')
  for (const headers of [{ authorization: 'Bearer a' }, { range: 'bytes=0-1' }, { 'content-length': '1' }]) {
    const { headers: answered } = await client.get('/stored', {
      headers,
      ...('content-length' in headers && { body: 'a' }),
    })
    t.equal(answered.get('age'), null, `a request with ${Object.keys(headers)} is not answered by a stored page`)
  }
  t.strictSame([(await get('/stored')).text, (await get('/stored')).age], ['call 1', '0'], 'and stores none')
})

t.test('a page depends on the request headers that it lists', async t => {
  const { textOf } = await start(t, ({ routes }) => {
    const language = ({ headers }: Request, calls: number) =>
      Response.text(`${headers.get('accept-language')} ${calls}`)
    declare(routes, { listed: language }, { sMaxAge: 60, vary: ['Accept-Language'] })
    declare(routes, {
      own: (request, calls) => {
        const response = language(request, calls)
        response.headers.set('vary', 'ACCEPT-language,X-Theme')
        return response
      },
      readable: (request, calls) =>
        Response.text(`${calls}`, { headers: { 'access-control-allow-origin': request.headers.get('origin') ?? '' } }),
    })
  })
  for (const path of ['/listed', '/own']) {
    t.equal(await textOf(path, { 'accept-language': 'de' }), 'de 1')
    t.equal(await textOf(path, { 'accept-language': 'en' }), 'en 2')
    t.equal(await textOf(path, { 'accept-language': 'de' }), 'de 1')
    t.equal(await textOf(path, { 'accept-language': 'en' }), 'en 2')
    t.equal(await textOf(path), 'null 3')
  }
  t.equal(await textOf('/own', { 'accept-language': 'de', 'x-theme': 'dark' }), 'de 4')
  t.equal(await textOf('/readable', { origin: 'https://a.example' }), '1')
  t.equal(await textOf('/readable', { origin: 'https://b.example' }), '2', 'the origin that may read it')
})

t.test('of 300 requests for a page at once, one makes it', async t => {
  let calls = 0
  const waiting: (() => void)[] = []
  const { client, textOf } = await start(t, ({ routes }) => {
    declare(routes, {
      slow: async request => {
        calls++
        await new Promise<void>(resolve => waiting.push(resolve))
        const headers = { vary: 'x-theme', ...(request.query.has('cookie') && { 'set-cookie': 'a=1' }) }
        if (request.query.has('fail')) throw new HttpError(500, 'failed')
        return Response.text(`page ${request.headers.get('x-theme')}`, { headers })
      },
    })
  })
  const ask = async (target: string, themes: string[]) => {
    calls = 0
    const asked = Array.from({ length: 300 }, (_, index) =>
      client.get(target, { headers: { 'x-theme': themes[index % themes.length] ?? '' } }),
    )
    const timer = setInterval(() => waiting.splice(0).map(resolve => resolve()), 1)
    const answers = await Promise.all(asked)
    clearInterval(timer)
    return { calls, answers: answers.map(({ status, text }) => `${status} ${text}`) }
  }
  t.strictSame(await ask('/slow', ['light']), { calls: 1, answers: Array(300).fill('200 page light') })
  const both = await ask('/slow?two', ['light', 'dark', 'light'])
  t.equal(both.calls, 2, 'one for each variant')
  t.strictSame(new Set(both.answers), new Set(['200 page light', '200 page dark']))
  t.equal((await ask('/slow?cookie', ['light'])).calls, 300, 'a page that cannot be stored is made for each client')
  t.equal((await ask('/slow?cookie', ['light'])).calls, 300, 'without waiting for another one')
  t.equal((await ask('/slow?fail', ['light'])).calls, 300, 'a failure is not shared')
  t.equal(await textOf('/slow', { 'x-theme': 'light' }), 'page light')
})

t.test('a page is purged by its tags, and by a change of its URL', async t => {
  let release = () => {}
  const { client, get, pages, textOf } = await start(t, ({ routes }) => {
    const tagged = (tags: string) => (_request: Request, calls: number) =>
      Response.text(`call ${calls}`, { headers: { 'cache-tag': tags } })
    declare(routes, { one: tagged('events, event-1'), two: tagged('events,event-2'), none: count })
    declare(routes, {
      slow: async (_request, calls) => {
        if (calls === 1) await new Promise<void>(resolve => (release = resolve))
        return Response.text(`call ${calls}`, { headers: { 'cache-tag': 'events' } })
      },
    })
    routes.post('change', '/one', () => Response.redirect('/two?page=1', 303))
    routes.post('refuse', '/two', () => Response.text('no', { status: 422 }))
  })
  const all = async () => {
    await nextMillisecond()
    return [await textOf('/one'), await textOf('/two'), await textOf('/none')]
  }
  t.strictSame(await all(), ['call 1', 'call 1', 'call 1'])
  t.equal((await get('/one')).headers.get('cache-tag'), null, 'tags are not sent')
  await pages.purge('event-1')
  t.strictSame(await all(), ['call 2', 'call 1', 'call 1'])
  await pages.purge('events', 'nothing')
  t.strictSame(await all(), ['call 3', 'call 2', 'call 1'])
  await pages.clear()
  t.strictSame(await all(), ['call 4', 'call 3', 'call 2'])
  await textOf('/two?page=1')
  await client.post('/one')
  t.strictSame(await all(), ['call 5', 'call 3', 'call 2'], 'a POST to the URL')
  t.equal(await textOf('/two?page=1'), 'call 5', 'and its Location')
  await client.post('/two')
  t.strictSame(await all(), ['call 5', 'call 3', 'call 2'], 'but not a refused one')

  const first = textOf('/slow')
  await new Promise(resolve => setImmediate(resolve))
  await pages.purge('events')
  await nextMillisecond()
  t.equal(await textOf('/slow'), 'call 2', 'a page that is being made is not waited for')
  release()
  t.equal(await first, 'call 1')
  t.equal(await textOf('/slow'), 'call 2', 'and not stored')
  for (const tag of ['', 'a,b', ' a', 'a\nb']) await t.rejects(pages.purge(tag), { code: 'ARGUMENT_INVALID' })
  await t.rejects(createPageCache().purge('a'), { message: /not in the list of bundles/ })
  t.throws(() => createPageCache({ bytes: 0 }), { code: 'ARGUMENT_INVALID' })
})

t.test('fragments are cached apart from their page', async t => {
  const shop = (pages: PageCache): Bundle => ({
    name: 'shop',
    register({ kernel, routes }) {
      const insert = (target: string) => async (request: Request, calls: number) => {
        const { body } = await kernel.handle(request.duplicate({ method: 'GET', target }), { catchErrors: false })
        return Response.text(`page ${calls} with ${body}`)
      }
      declare(routes, {
        news: (request, calls) =>
          Response.text(`news ${calls} ${request.attributes.get('_locale')}`, { headers: { 'cache-tag': 'news' } }),
        whole: insert('/news'),
        with_cart: insert('/cart'),
      })
      let calls = 0
      routes.group({ prefix: '/:_locale' }, group => {
        group.get('page', '/page', async request => {
          await request.session.get('user')
          return insert('/news')(request, ++calls)
        })
      })
      const cart = async () => Response.text('cart', { headers: { 'cache-control': 'private' } })
      routes.get('cart', '/cart', cart)
      routes.post('purge', '/purge', async () => {
        await pages.purge('news')
        return Response.empty()
      })
    },
  })
  const pages = createPageCache()
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), pages, shop(pages)] })
  t.teardown(close)
  const textOf = async (target: string) => (await client.get(target)).text
  t.equal(await textOf('/de/page'), 'page 1 with news 1 de')
  t.equal(await textOf('/de/page'), 'page 2 with news 1 de', 'in a page that is made for each client')
  t.equal(await textOf('/en/page'), 'page 3 with news 2 en', 'in the language of the page')
  t.equal(await textOf('/news'), 'news 3 undefined', 'not for the page of the same URL')
  t.equal(await textOf('/whole'), 'page 1 with news 4 undefined')
  t.equal(await textOf('/whole'), 'page 1 with news 4 undefined')
  await client.post('/purge')
  await nextMillisecond()
  t.equal(await textOf('/whole'), 'page 2 with news 5 undefined', 'a page has the tags of its fragments')
  t.equal(await textOf('/de/page'), 'page 4 with news 6 de')
  t.equal(await textOf('/with_cart'), 'page 1 with cart')
  t.equal(await textOf('/with_cart'), 'page 2 with cart', 'a private fragment makes its page private')
})

t.test('debug output is neither stored nor sent to others', async t => {
  const pages = createPageCache()
  const page = '<!doctype html><html><head></head><body><p>page</p></body></html>'
  const register: Bundle['register'] = ({ routes }) => {
    declare(routes, { page: () => Response.html(page) })
  }
  const bundles = [createFrameworkBundle(), createProfilerBundle(), pages, { name: 'shop', register }]
  const { client, close, createClient } = await createTestKernel({ bundles })
  t.teardown(close)
  const first = await client.get('/page')
  const second = await client.get('/page')
  t.match(first.text, 'data-profiler-toolbar')
  t.match(second.text, 'data-profiler-toolbar')
  t.equal(second.headers.get('age'), '0')
  t.not(second.headers.get('x-debug-token'), first.headers.get('x-debug-token'), 'each request has its profile')
  t.notMatch(second.text, first.headers.get('x-debug-token') ?? '')
  const stranger = await createClient({ remoteAddress: '203.0.113.9' }).get('/page', {
    headers: { host: 'shop.example' },
  })
  t.equal(stranger.text, page)
  t.strictSame(
    [...stranger.headers].filter(([name]) => name.startsWith('x-debug')),
    [],
  )
})

t.test('a cache that would store nothing is a warning', async t => {
  const answer = () => Response.text('a')
  const warningsOf = async (defaults: { _cache: object }) => {
    const { records } = await start(
      t,
      ({ routes }) => void routes.add({ name: 'a', path: '/a', defaults, controller: answer }),
    )
    return records.filter(({ level }) => level === 'warning').map(({ message }) => message)
  }
  t.match(await warningsOf({ _cache: { maxAge: 60 } }), [/^The page cache stores nothing: .*sMaxAge/])
  t.strictSame(await warningsOf({ _cache: minute }), [])
})
