import { createRequest, createRequestEvent, createResponseEvent } from 'sinfonietta/testing'
import { t } from 'tap'
import { SessionListener } from '#bundles/framework/listeners/session-listener.ts'
import { type FrameworkSessionOptions, resolveOptions } from '#bundles/framework/options.ts'
import { Response } from '#lib/http/response.ts'
import type { Session } from '#lib/session/session.ts'
import { MemorySessionStore, type SessionData, type SessionStore } from '#lib/session/session-store.ts'
import { createSignals } from '#lib/signals.ts'
import { createRecorder } from '#tests/support/recording-logger.ts'

const day = 86_400_000

function createListener({
  store = new MemorySessionStore() as SessionStore,
  isDebug = true,
  session = {} as FrameworkSessionOptions,
} = {}) {
  const { cookie, times } = resolveOptions({ session })
  const { logger, records } = createRecorder()
  const signals = createSignals(error => logger.error('A signal handler failed.', { exception: error }))
  const services = { store, times, cookie, directory: process.cwd(), logger, isDebug, signals }
  return { listener: new SessionListener(services), records, signals, store }
}

/** A session that was created, and used, at these times. */
function createData(createdAt: number, lastUsedAt = createdAt): SessionData {
  return { createdAt, lastUsedAt, expiresAt: lastUsedAt + day, attributes: { user: 'ada' }, flashes: {} }
}

t.test('a request that does not use its session reads no store, and gets no cookie', async t => {
  const store = { read: () => t.fail('must not be read') } as unknown as SessionStore
  const { listener } = createListener({ store })
  const request = createRequest('/', { headers: { cookie: 'session=abc' } })
  listener.onRequest(createRequestEvent({ request }))
  const event = createResponseEvent({ request })
  t.equal(listener.onResponse(event), undefined)
  t.strictSame([...event.response.headers], [])
})

t.test('what a response forbids proxies and caches stays forbidden', async t => {
  const { listener } = createListener()
  const request = createRequest()
  listener.onRequest(createRequestEvent({ request }))
  await request.session.get('user')
  const response = new Response('', { headers: { 'cache-control': 'no-store, no-transform, public' } })
  await listener.onResponse(createResponseEvent({ request, response }))
  t.equal(response.headers.get('cache-control'), 'max-age=0, must-revalidate, private, no-store, no-transform')
})

t.test('a private lifetime of the application is kept, as in Symfony; any other one is none', async t => {
  const start = Date.now()
  const expires = (seconds: number) => new Date(start + seconds * 1000).toUTCString()
  const rows: [sent: Record<string, string>, lifetime: number][] = [
    [{}, 0],
    [{ 'cache-control': 'no-cache, private' }, 0],
    [{ 'cache-control': 'private' }, 0],
    [{ 'cache-control': 'private, max-age=600' }, 600],
    [{ 'cache-control': 'Max-Age=600 ,PRIVATE' }, 600],
    [{ 'cache-control': 'private, max-age=600', expires: expires(5) }, 600],
    [{ 'cache-control': 'private, max-age=99999999999999999999' }, 2 ** 31],
    [{ 'cache-control': 'private, must-revalidate', expires: expires(600) }, 600],
    [{ 'cache-control': 'private, must-revalidate', expires: '0' }, 0],
    [{ 'cache-control': 'private, must-revalidate', expires: 'never' }, 0],
    [{ 'cache-control': 'private, must-revalidate', expires: new Date(start + 600_000).toISOString() }, 0],
    [{ 'cache-control': 'max-age=600', expires: expires(600) }, 0],
    [{ 'cache-control': 'public, max-age=600' }, 0],
    [{ 'cache-control': 'private, public, max-age=600' }, 0],
    [{ 'cache-control': 'private, s-maxage=600' }, 0],
    [{ 'cache-control': 'private, s-maxage=600, max-age=600' }, 0],
    [{ 'cache-control': 'private="x-user", max-age=600' }, 0],
    [{ 'cache-control': 'private, no-cache, max-age=600' }, 0],
    [{ 'cache-control': 'private, max-age=600, max-age=0' }, 0],
    [{ 'cache-control': 'private, max-age=-1', expires: expires(600) }, 0],
    [{ 'cache-control': 'private, max-age=1h' }, 0],
    [{ 'cache-control': 'private, x-max-age=600' }, 0],
  ]
  const lifetimes = rows.map(async ([sent]): Promise<(typeof rows)[number]> => {
    const { listener } = createListener()
    const request = createRequest()
    listener.onRequest(createRequestEvent({ request }))
    await request.session.get('user')
    const response = new Response('', { headers: sent })
    await listener.onResponse(createResponseEvent({ request, response }))
    const [, lifetime] =
      /^max-age=(\d+), must-revalidate, private$/.exec(String(response.headers.get('cache-control'))) ?? []
    const distance = (Date.parse(String(response.headers.get('expires'))) - start) / 1000 - Number(lifetime)
    return [sent, Math.abs(distance) < 60 ? Number(lifetime) : distance]
  })
  // A date has whole seconds, and some may have passed.
  const round = (lifetime: number) => (lifetime > 540 && lifetime < 600 ? 600 : lifetime)
  const rounded = (await Promise.all(lifetimes)).map(([sent, lifetime]) => [sent, round(lifetime)])
  t.strictSame(rounded, rows)
})

t.test('in debug mode, a change after the response that is not saved is logged once, with its place', async t => {
  const respond = async (isDebug: boolean, isUsed = true) => {
    const { listener, records } = createListener({ isDebug })
    const request = createRequest()
    listener.onRequest(createRequestEvent({ request }))
    if (isUsed) await request.session.set('user', 'ada')
    await listener.onResponse(createResponseEvent({ request }))
    return { records, session: request.session }
  }
  const later: (() => void)[] = []
  t.capture(globalThis, 'setTimeout', (callback: () => void) => {
    later.push(callback)
    return { unref: () => undefined }
  })
  const late = await respond(true)
  await late.session.get('user')
  await late.session.set('user', 'eve')
  await late.session.delete('user')
  const saved = await respond(true)
  await saved.session.set('user', 'eve')
  await saved.session.save()
  const unused = await respond(true, false)
  await unused.session.flash('notice', 'sent')
  const production = await respond(false)
  await production.session.set('user', 'eve')
  for (const callback of later) callback()
  t.match(late.records, [
    {
      level: 'warning',
      message:
        /^session\.set\(\) in tests\/\S+session-listener\.test\.[jt]s:\d+ came after the response, so its change is lost: change the session before, or call session\.save\(\)\.$/,
    },
  ])
  t.match(unused.records, [{ message: /^session\.flash\(\) in / }])
  t.strictSame([late.records.length, saved.records, production.records], [1, [], []])
})

t.test('a session that was written gets a cookie, by which the next request finds it', async t => {
  const { listener } = createListener()
  const first = createRequest()
  listener.onRequest(createRequestEvent({ request: first }))
  await first.session.set('user', 'ada')
  const event = createResponseEvent({ request: first })
  await listener.onResponse(event)
  const { headers } = event.response
  t.match(headers.get('set-cookie'), /^session=[\w-]{22,}; Max-Age=86400; Path=\/; HttpOnly; SameSite=Lax$/)
  t.equal(headers.get('cache-control'), 'max-age=0, must-revalidate, private')
  t.ok(headers.has('expires'))

  const second = createRequest('/', { headers: { cookie: String(headers.get('set-cookie')).split(';', 1).join() } })
  listener.onRequest(createRequestEvent({ request: second }))
  t.equal(await second.session.get('user'), 'ada')
})

t.test('over https the cookie is for https only', async t => {
  const { listener } = createListener()
  const request = createRequest('https://shop.test/')
  listener.onRequest(createRequestEvent({ request }))
  await request.session.set('user', 'ada')
  const event = createResponseEvent({ request })
  await listener.onResponse(event)
  t.match(event.response.headers.get('set-cookie'), /; Secure/)
})

t.test('a session that was ended takes its cookie away', async t => {
  const { listener, store } = createListener()
  await store.insert('known', createData(Date.now()))
  const request = createRequest('/', { headers: { cookie: 'session=known' } })
  listener.onRequest(createRequestEvent({ request }))
  await request.session.invalidate()
  const event = createResponseEvent({ request })
  await listener.onResponse(event)
  t.match(event.response.headers.get('set-cookie'), /^session=; Max-Age=0;/)
})

t.test('a session that was asked for and not used changes nothing', async t => {
  const { listener } = createListener()
  const request = createRequest()
  listener.onRequest(createRequestEvent({ request }))
  t.notOk(request.session.isStarted)
  const event = createResponseEvent({ request })
  await listener.onResponse(event)
  t.strictSame([...event.response.headers], [])
})

t.test('a stateless route must not use it: an error in debug, a log line elsewhere', async t => {
  const use = async (isDebug: boolean) => {
    const { listener, records } = createListener({ isDebug })
    const request = createRequest()
    listener.onRequest(createRequestEvent({ request }))
    request.attributes.set('_stateless', true)
    await request.session.get('user')
    return records
  }
  await t.rejects(use(true), {
    code: 'SESSION_STATELESS',
    message:
      'Session was used while the request was declared stateless: do not use it, or remove _stateless from the route.',
  })
  t.hasStrict(await use(false), [
    { level: 'error', message: 'Session was used while the request was declared stateless.' },
  ])
})

t.test('a sub-request leaves the session to its main request', async t => {
  const { listener } = createListener()
  const request = createRequest()
  listener.onRequest(createRequestEvent({ request }))
  const sub = request.duplicate()
  listener.onRequest(createRequestEvent({ request: sub }))
  await sub.session.set('user', 'ada')
  t.equal(listener.onResponse(createResponseEvent({ request: sub })), undefined)
  const event = createResponseEvent({ request })
  await listener.onResponse(event)
  t.ok(event.response.headers.has('set-cookie'))
})

t.test('each use is signalled, also one that is refused, and nothing a handler does can hurt it', async t => {
  const { listener, records, signals } = createListener()
  const used: string[] = []
  const remove = signals.on('session.used', ({ request, use }) => {
    used.push(`${request.path} ${use.method}`)
    throw new Error('a handler has failed')
  })
  const request = createRequest('/here')
  listener.onRequest(createRequestEvent({ request }))
  await request.session.set('user', 'ada')
  request.attributes.set('_stateless', true)
  await t.rejects(request.session.get('user'), { code: 'SESSION_STATELESS' })
  t.strictSame(used, ['/here set', '/here get'])
  t.hasStrict(records, [{ message: 'A signal handler failed.' }, { message: 'A signal handler failed.' }])
  remove()
})

t.test('a session that is too large fails once, and the response to the error gets no cookie', async t => {
  const { listener } = createListener()
  const request = createRequest()
  listener.onRequest(createRequestEvent({ request }))
  await request.session.set('text', 'x'.repeat(64 * 1024))
  await t.rejects(Promise.resolve(listener.onResponse(createResponseEvent({ request }))), {
    code: 'SESSION_TOO_LARGE',
    message: /^The session has 65\d{3} bytes; the limit is 65536\./,
  })
  const event = createResponseEvent({ request })
  await listener.onResponse(event)
  t.strictSame(Array.from(event.response.headers, ([name]) => name).sort(), ['cache-control', 'expires'])
})

type Use = (session: Session) => Promise<unknown>

/** The Set-Cookie field after a request has used its session. */
async function useSession(listener: SessionListener, use: Use, cookie = '', url = '/'): Promise<string | null> {
  const request = createRequest(url, { headers: { cookie } })
  listener.onRequest(createRequestEvent({ request }))
  await use(request.session)
  const event = createResponseEvent({ request })
  await listener.onResponse(event)
  return event.response.headers.get('set-cookie')
}

t.test('in debug mode the log says why browsers ignore the cookie of a session, if the request shows it', async t => {
  const lost = 'its domain is "Shop.test", but the host of the request is "'
  const insecure =
    'it has secure: true, but the request came without HTTPS; if a proxy has removed it, set TRUSTED_PROXIES'
  const rows: [cookie: object, url: string, reason: string | undefined][] = [
    [{}, 'http://shop.test/', undefined],
    [{ domain: 'Shop.test' }, 'http://shop.test/', undefined],
    [{ domain: '.shop.test' }, 'http://a.b.shop.test/', undefined],
    [{ domain: 'Shop.test' }, 'http://localhost/', `${lost}localhost"`],
    [{ domain: 'Shop.test' }, 'http://myshop.test/', `${lost}myshop.test"`],
    [{ domain: 'Shop.test' }, 'http://test/', `${lost}test"`],
    [{ domain: 'test' }, 'http://shop.test/', 'its domain is "test", but the host of the request is "shop.test"'],
    [{ domain: 'localhost' }, 'http://localhost/', undefined],
    [{ domain: '0.0.1' }, 'http://127.0.0.1/', 'its domain is "0.0.1", but the host of the request is "127.0.0.1"'],
    [{ secure: true }, 'http://shop.test/', insecure],
    [{ secure: true }, 'http://127.0.0.1.shop.test/', insecure],
    [{ secure: true }, 'https://shop.test/', undefined],
    [{ secure: true }, 'http://localhost/', undefined],
    [{ secure: true }, 'http://app.localhost/', undefined],
    [{ secure: true }, 'http://127.0.0.1/', undefined],
    [{ secure: true }, 'http://[::1]/', undefined],
  ]
  const reasons = rows.map(async ([cookie, url]) => {
    const { listener, records } = createListener({ isDebug: true, session: { cookie } })
    await useSession(listener, session => session.set('user', 'ada'), '', url)
    return [cookie, url, records[0]?.context.reason]
  })
  t.strictSame(await Promise.all(reasons), rows)
  const { listener, records } = createListener({ isDebug: false, session: { cookie: { domain: 'other.test' } } })
  await useSession(listener, session => session.set('user', 'ada'))
  t.strictSame(records, [], 'production logs nothing: a proxy may hide host and scheme')
})

t.test('the cookie has the attributes of the options, also when it is taken away', async t => {
  const cookie = { name: 'shop', path: '/shop', domain: 'example.org', sameSite: 'strict' } as const
  const { listener } = createListener({ session: { cookie } })
  const set = await useSession(listener, session => session.set('user', 'ada'))
  t.match(set, /^shop=[\w-]{32}; Max-Age=86400; Domain=example\.org; Path=\/shop; HttpOnly; SameSite=Strict$/)
  const [pair = ''] = String(set).split(';')
  t.equal(await useSession(listener, async session => t.equal(await session.get('user'), 'ada'), pair), null)
  const other = pair.replace('shop=', 'session=')
  t.equal(await useSession(listener, async session => t.equal(await session.get('user'), undefined), other), null)
  const cleared = await useSession(listener, session => session.invalidate(), pair)
  t.equal(cleared, 'shop=; Max-Age=0; Domain=example.org; Path=/shop; HttpOnly; SameSite=Strict')
})

t.test('a cookie is Secure over HTTPS, or always, or never', async t => {
  const isSecure = async (secure: boolean | undefined, url: string): Promise<boolean> => {
    const { listener } = createListener({ session: { cookie: { secure } } })
    const set = await useSession(listener, session => session.set('user', 'ada'), '', url)
    return String(set).includes('; Secure')
  }
  t.strictSame(
    [await isSecure(undefined, 'http://a.test/'), await isSecure(undefined, 'https://a.test/')],
    [false, true],
  )
  t.strictSame([await isSecure(true, 'http://a.test/'), await isSecure(true, 'https://a.test/')], [true, true])
  t.strictSame([await isSecure(false, 'http://a.test/'), await isSecure(false, 'https://a.test/')], [false, false])
})

t.test('lifetime and idle time are the options, and each ends a session', async t => {
  const session = { lifetime: 30 * 86_400, idleTime: 7 * 86_400 }
  const { listener, store } = createListener({ session })
  const now = Date.now()
  const sessions = {
    fresh: createData(now),
    old: createData(now - 29.5 * day, now),
    tooOld: createData(now - 30 * day, now),
    idle: createData(now - 7 * day),
  }
  for (const [id, data] of Object.entries(sessions)) await store.insert(id, { ...data, expiresAt: now + 40 * day })
  const seen: Record<string, unknown> = {}
  const maxAges: Record<string, number> = {}
  for (const id of Object.keys(sessions)) {
    const read: Use = async session => {
      seen[id] = await session.get('user')
      await session.regenerate()
    }
    const set = await useSession(listener, read, `session=${id}`)
    maxAges[id] = Number(/Max-Age=(\d+)/.exec(String(set))?.[1])
  }
  t.strictSame(seen, { fresh: 'ada', old: 'ada', tooOld: undefined, idle: undefined })
  t.equal(maxAges.fresh, 7 * 86_400)
  t.ok(Number(maxAges.old) <= 43_200 && Number(maxAges.old) > 43_000, 'the cookie ends with the session')
  t.strictSame([maxAges.tooOld, maxAges.idle], [Number.NaN, Number.NaN])
})
