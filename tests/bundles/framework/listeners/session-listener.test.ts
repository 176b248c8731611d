import { t } from 'tap'
import { SessionListener } from '#bundles/framework/listeners/session-listener.ts'
import { CookieJar } from '#kernel/testing/cookie-jar.ts'
import { createRequest, createRequestEvent, createResponseEvent } from '#kernel/testing/event-factories.ts'
import { createSignals } from '#lib/create-signals.ts'
import { Response } from '#lib/http/response.ts'
import { MemorySessionStore, type SessionStore } from '#lib/session/session-store.ts'
import { createRecorder } from '#tests/support/recording-logger.ts'

function createListener({ store = new MemorySessionStore() as SessionStore, isDebug = true } = {}) {
  const { logger, records } = createRecorder()
  const signals = createSignals(error => logger.error('A signal handler failed.', { exception: error }))
  return { listener: new SessionListener({ store, logger, isDebug, signals }), records, signals, store }
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

t.test('what a response forbids proxies stays forbidden', async t => {
  const { listener } = createListener()
  const request = createRequest()
  listener.onRequest(createRequestEvent({ request }))
  await request.session.get('user')
  const response = new Response('', { headers: { 'cache-control': 'no-transform, public' } })
  await listener.onResponse(createResponseEvent({ request, response }))
  t.equal(response.headers.get('cache-control'), 'max-age=0, must-revalidate, private, no-transform')
})

t.test('a session that was written gets a cookie, by which the next request finds it', async t => {
  const { listener } = createListener()
  const jar = new CookieJar()
  const first = createRequest()
  listener.onRequest(createRequestEvent({ request: first }))
  await first.session.set('user', 'ada')
  const event = createResponseEvent({ request: first })
  await listener.onResponse(event)
  const { headers } = event.response
  t.match(headers.get('set-cookie'), /^session=[\w-]{22,}; Max-Age=86400; Path=\/; HttpOnly; SameSite=Lax$/)
  t.equal(headers.get('cache-control'), 'max-age=0, must-revalidate, private')
  t.ok(headers.has('expires'))

  jar.take(headers)
  const second = createRequest('/', { headers: { cookie: jar.toHeader() } })
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
  await store.write('known', { createdAt: Date.now(), lastUsedAt: Date.now(), attributes: {}, flashes: {} }, 60)
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
    message: 'Session was used while the request was declared stateless.',
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
