import { Readable } from 'node:stream'
import { mock } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  asInteger,
  type Bundle,
  createFrameworkBundle,
  EventStream,
  ExceptionEvent,
  Headers,
  type Request,
  ResponseEvent,
  setCookie,
  TerminateEvent,
} from 'sinfonietta'
import { createTestKernel, type TestClient, type TestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { routeParameter } from '#kernel/argument-sources.ts'
import { defineController } from '#kernel/controller.ts'
import { Response } from '#lib/http/response.ts'
import type { RequestHandler } from '#lib/routing/route-collection.ts'
import { createHandlerBundle } from '#tests/support/handler-bundle.ts'
import { muteWarnings } from '#tests/support/mute-warnings.ts'
import { probeBundle } from '#tests/support/probe-bundle.ts'

/** Numbers without an end. */
async function* count(): AsyncGenerator<string | Buffer> {
  for (let number = 1; ; number++) {
    const text = `data: ${number}\n\n`
    yield number % 2 === 0 ? text : Buffer.from(text)
    await nextTurn()
  }
}

async function* breakOff(): AsyncGenerator<string> {
  yield 'so far'
  throw new Error('no more')
}

function refusing(): Readable {
  return new Readable({
    read() {
      this.destroy(new Error('nothing at all'))
    },
  })
}

async function boot(variables: Readonly<Record<string, string>> = {}): Promise<TestKernel> {
  const handlers: Readonly<Record<string, RequestHandler>> = {
    '/echo-all': async ({ body, cookies, headers, method }) =>
      Response.json({
        method,
        cookies: [...cookies],
        type: headers.get('content-type'),
        body: Buffer.from(await body.bytes()).toString(),
      }),
    '/cookies': () => {
      const response = Response.redirect('http://localhost/echo-all?a#part', 303)
      setCookie(response.headers, 'a', '1')
      return response
    },
    '/kept': () => Response.redirect('/echo-all', 307),
    '/to': ({ queryString }) => Response.redirect(queryString),
    '/not-modified': () => new Response(null, { status: 304, headers: { etag: '"a"' } }),
    '/broken': () => Response.stream(Readable.from(breakOff())),
    '/refuses': () => Response.stream(refusing()),
    '/feed': () => Response.stream(Readable.from(count()), { headers: { 'content-type': 'text/event-stream' } }),
  }
  const kernel = await createTestKernel({
    bundles: [createFrameworkBundle(), probeBundle, createHandlerBundle(handlers)],
    variables,
  })
  const { dispatcher, routes } = kernel.app
  const step = defineController('chain', { left: routeParameter(asInteger) }, ({ left }) =>
    left === 0 ? Response.text('there') : Response.redirect(`/chain/${left - 1}`),
  )
  routes.add({ name: 'chain', path: '/chain/:left', controller: step })
  routes.add({ name: 'untyped', path: '/untyped', controller: () => new Response() })
  dispatcher.on(ResponseEvent, ({ request, response }) => {
    if (request.path === '/untyped') response.headers.delete('content-type')
  })
  return kernel
}

async function createClient(): Promise<TestClient> {
  return (await boot()).client
}

t.test('a body is text, bytes, JSON or a form, with its type', async t => {
  const client = await createClient()
  const send = async (init: object) => (await client.post('/echo-all', init)).json()
  t.hasStrict(await send({ body: 'text' }), { type: 'application/octet-stream', body: 'text' })
  t.hasStrict(await send({ body: Buffer.from('b'), headers: { 'content-type': 'text/plain' } }), {
    type: 'text/plain',
    body: 'b',
  })
  t.hasStrict(await send({ json: { a: 1 } }), { type: 'application/json', body: '{"a":1}' })
  t.hasStrict(await send({ form: { a: 'b c' } }), { type: 'application/x-www-form-urlencoded', body: 'a=b+c' })
  t.hasStrict(await send({ form: { tag: ['a', 'b'] } }), { body: 'tag=a&tag=b' })
  await t.rejects(send({ form: {}, json: 1 }), new TypeError('A request has one body: give either json or form.'))
  t.hasStrict(await send({}), { method: 'POST', type: null, body: '' })
})

t.test('an upload has fields and files', async t => {
  const client = await createClient()
  const upload = {
    title: 'a"b',
    photo: { name: 'x".png', content: 'pixels' },
    note: { name: 'n', type: 'text/plain', content: '' },
    tag: ['one', 'two'],
  }
  t.strictSame((await client.post('/form', { upload })).json(), [
    ['title', 'a"b'],
    ['photo', 6],
    ['note', 0],
    ['tag', 'one'],
    ['tag', 'two'],
  ])
})

t.test('cookies are kept and sent, and a redirect can be followed', async t => {
  const client = await createClient()
  const redirect = await client.post('/cookies')
  t.equal(client.cookies.get('a'), '1')
  const there = await client.follow(redirect)
  t.hasStrict(there.json(), { method: 'GET', cookies: [['a', '1']] })
  t.strictSame(there.redirects, [redirect])
  t.hasStrict((await client.get('/echo-all', { headers: { cookie: 'b=2' } })).json(), { cookies: [['b', '2']] })
  const head = await client.head('/cookies')
  t.equal((await client.follow(head)).request.method, 'HEAD')
  t.throws(() => client.follow({ ...head, headers: new Headers() }), /\(303\) has no Location/)
})

t.test('a redirect that keeps the method keeps the body, and any other drops both', async t => {
  const client = await createClient()
  const init = { redirect: 'follow', json: { a: 1 }, headers: { 'x-a': '1' } } as const
  const kept = await client.put('/kept', init)
  t.hasStrict(kept.json(), { method: 'PUT', type: 'application/json', body: '{"a":1}' })
  t.equal(kept.request.headers.get('x-a'), '1')
  const dropped = await client.post('/cookies', {
    ...init,
    json: undefined,
    body: 'x',
    headers: { 'content-type': 'a/b' },
  })
  t.hasStrict(dropped.json(), { method: 'GET', type: null, body: '' })
  t.equal((await client.patch('/kept')).status, 307, 'a redirect is not followed by default')
  t.equal((await client.delete('/kept', { redirect: 'follow' })).request.method, 'DELETE')
})

t.test('a chain of redirects is followed to its end, and a circle is not followed for ever', async t => {
  const client = await createClient()
  const there = await client.get('/chain/3', { redirect: 'follow' })
  t.equal(there.status, 200)
  t.strictSame(
    there.redirects.map(({ request }) => request.target),
    ['/chain/3', '/chain/2', '/chain/1'],
  )
  await t.rejects(
    client.get('/chain/11', { redirect: 'follow' }),
    /more than 10 redirects: \/chain\/11 → .* → \/chain\/0/,
  )
  t.equal((await client.get('/not-modified', { redirect: 'follow' })).status, 304)
})

t.test('a redirect may lead to TLS, and not to another site', async t => {
  const client = await createClient()
  const secure = await client.get('/to?http://localhost/to?https://localhost/echo-all', { redirect: 'follow' })
  t.equal(secure.request.url, 'https://localhost/echo-all')
  t.throws(() => client.follow(secure), TypeError)
  await t.rejects(
    client.get('/to?https://pay.test/order', { redirect: 'follow' }),
    new TypeError('The redirect leads to another site, https://pay.test/order: look at its Location instead.'),
  )
})

t.test('a client has an address, a base and headers, which a request may overrule', async t => {
  const { createClient } = await boot({ TRUSTED_PROXIES: '10.0.0.0/8' })
  const client = createClient({
    base: 'https://shop.test',
    remoteAddress: '203.0.113.9',
    headers: { 'accept-language': 'de', 'x-a': '1' },
  })
  const { request } = await client.get('/echo-all', { headers: { 'x-a': '2' } })
  t.hasStrict(request, { url: 'https://shop.test/echo-all', clientIp: '203.0.113.9' })
  t.equal(request.headers.get('accept-language'), 'de')
  t.equal(request.headers.get('x-a'), '2')
  t.equal((await client.get('http://other.test/echo-all?a=1')).request.url, 'http://other.test/echo-all?a=1')
  const headers = { 'x-forwarded-for': '198.51.100.1' }
  const forwarded = await client.get('/echo-all', { headers, remoteAddress: '10.1.2.3' })
  t.equal(forwarded.request.clientIp, '198.51.100.1', 'proxies are trusted that the settings name')
  t.equal((await client.get('/echo-all', { headers })).request.clientIp, '203.0.113.9')
})

t.test('clients of one kernel share no cookies', async t => {
  const { client, createClient } = await boot()
  const redirect = await client.post('/cookies')
  const other = createClient()
  t.equal(other.cookies.get('a'), undefined)
  t.hasStrict((await other.follow(redirect)).json(), { cookies: [] })
})

t.test('streams are read and sent, and HEAD has no body', async t => {
  const client = await createClient()
  t.equal((await client.get('/stream')).text, 'one two three')
  t.equal((await client.head('/stream')).bytes.length, 0)
  t.equal((await client.head('/text')).bytes.length, 0)
  for (const status of [204, 205, 304]) t.equal((await client.get(`/status/${status}`)).bytes.length, 0)
  const sent = await client.post('/echo-all', { body: Readable.from(['one ', 'two']) })
  t.hasStrict(sent.json(), { type: 'application/octet-stream', body: 'one two' })
  t.equal(sent.request.headers.get('transfer-encoding'), 'chunked')
  t.notOk(sent.request.headers.has('content-length'))
})

t.test('the error of a truncated or invalid JSON body contains the body', async t => {
  const { app, client } = await boot()
  const sent: unknown[] = []
  app.dispatcher.on(TerminateEvent, ({ isSent, streamError }) => void sent.push(isSent, String(streamError)))
  const broken = client.get('/broken')
  await t.rejects(broken, {
    message: 'The body of the response to GET /broken broke off.',
    cause: new Error('no more'),
  })
  t.strictSame(sent, [false, 'Error: no more'])
  const opened = await client.open('/broken')
  await t.rejects(opened.readUntil('nowhere'), { message: 'no more' })
  await opened.close()
  t.strictSame(sent.splice(0), [false, 'Error: no more', false, 'Error: no more'])
  const stream = await client.get('/stream')
  t.throws(() => stream.json(), { message: /^The body \(200, [^)]+\) is no JSON: one two three$/ })
  const { json } = await client.get('/untyped')
  t.throws(json, { message: 'The body (200, without a type) is no JSON: ' })
})

t.test('a stream that fails before its first chunk becomes an error page, unless that fails, too', async t => {
  const { app, client } = await boot()
  const sent: unknown[] = []
  app.dispatcher.on(TerminateEvent, ({ isSent, response }) => void sent.push([isSent, response.status]))
  const failed = await client.get('/refuses', { headers: { accept: 'text/plain' } })
  t.equal(failed.status, 500)
  t.match(failed.text, 'nothing at all')
  app.dispatcher.on(ExceptionEvent, event => event.respond(Response.stream(refusing())))
  await t.rejects(client.get('/refuses'), { message: 'The body of the response to GET /refuses broke off.' })
  t.strictSame(sent, [
    [true, 500],
    [false, 500],
  ])
})

t.test('a response that never ends is read as it comes, until the client leaves', async t => {
  const { app, client } = await boot()
  const sent: boolean[] = []
  app.dispatcher.on(TerminateEvent, ({ isSent }) => void sent.push(isSent))
  const feed = await client.open('/feed')
  t.hasStrict(feed, { status: 200, request: { target: '/feed' } })
  t.equal(feed.headers.get('content-type'), 'text/event-stream')
  t.equal(await feed.readUntil('\n\n'), 'data: 1\n\n')
  t.equal(await feed.readUntil('data: 3'), 'data: 2\n\ndata: 3')
  t.strictSame(sent, [])
  await Promise.all([feed.close(), feed.close()])
  t.strictSame(sent, [false])

  const text = await client.open('/echo-all')
  await t.rejects(text.readUntil('nowhere'), /^The response has ended without "nowhere"\. It said: \{"method":"GET"/)
  await text.close()
  const nothing = await client.open('/untyped')
  await t.rejects(nothing.readUntil('x'), /It said: $/)
  await nothing.close()
  t.strictSame(sent, [false, true, true])
})

t.test('a text that does not come, and a kernel that is not closed, are named after ten seconds', async t => {
  muteWarnings(t, 'ExperimentalWarning')
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const warnings: string[] = []
  t.intercept(process, 'emitWarning', { value: (warning: string) => warnings.push(warning) })
  const news = (request: Request) => new EventStream(request, stream => stream.send({ data: 'one' }))
  const bundle: Bundle = { name: 'news', register: ({ routes }) => void routes.get('news', '/', news) }
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), bundle] })
  mock.timers.tick(9_999)
  const stream = await client.open('/')
  await stream.readUntil('one')
  const late = t.rejects(stream.readUntil('two'), { message: /^For ten seconds .* said "two"\. It said: \n\n$/ })
  mock.timers.tick(9_999)
  t.strictSame(warnings, [], 'a request begins the time again')
  mock.timers.tick(1)
  await late
  t.match(warnings, [/^The kernel for tests of tests\/application\/test-client\.test\.ts:\d+ is open/])
  await stream.close()
  await client.get('/nowhere')
  await close()
  mock.timers.tick(20_000)
  t.equal(warnings.length, 1, 'a closed one is not')
})

t.test('a cookie is sent where a browser would send it', async t => {
  const { createClient } = await boot()
  const cases: readonly [setBy: string, fields: readonly string[], askedFor: string, sent: string][] = [
    // Age.
    ['http://localhost/', ['a=1', 'b=2', 'a=; Max-Age=0'], 'http://localhost/', 'b=2'],
    ['http://localhost/', ['a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT'], 'http://localhost/', ''],
    ['http://localhost/', ['a=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT'], 'http://localhost/', 'a=1'],
    ['http://localhost/', ['a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60'], 'http://localhost/', 'a=1'],
    ['http://localhost/', ['a=1; Max-Age=never; Expires=0'], 'http://localhost/', 'a=1'],
    // Path.
    ['http://localhost/a/b', ['a=1'], 'http://localhost/a/c', 'a=1'],
    ['http://localhost/a/b', ['a=1'], 'http://localhost/c', ''],
    ['http://localhost/', ['a=1; Path=/shop'], 'http://localhost/shop/cart?x', 'a=1'],
    ['http://localhost/', ['a=1; Path=/shop'], 'http://localhost/shopping', ''],
    ['http://localhost/', ['a=1; Path=/', 'a=2; Path=/shop'], 'http://localhost/shop', 'a=2; a=1'],
    ['http://localhost/', ['a=1; Path=/', 'a=; Path=/shop; Max-Age=0'], 'http://localhost/shop', 'a=1'],
    // Secure; browsers trust this machine.
    ['https://shop.test/', ['a=1; Secure'], 'https://shop.test/', 'a=1'],
    ['https://shop.test/', ['a=1; Secure'], 'http://shop.test/', ''],
    ['http://shop.test/', ['a=1; Secure'], 'https://shop.test/', ''],
    ['http://localhost/', ['a=1; Secure'], 'http://localhost/', 'a=1'],
    // Host and domain; ports do not count.
    ['http://shop.test:8000/', ['a=1'], 'http://shop.test:9000/', 'a=1'],
    ['https://shop.test/', ['a=1'], 'https://www.shop.test/', ''],
    ['https://www.shop.test/', ['a=1; Domain=.SHOP.test'], 'https://shop.test/', 'a=1'],
    ['https://shop.test/', ['a=1; Domain=shop.test'], 'https://www.shop.test/', 'a=1'],
    ['https://shop.test/', ['a=1; Domain=www.shop.test'], 'https://www.shop.test/', ''],
    ['https://shop.test/', ['a=1; Domain=other.test'], 'https://other.test/', ''],
    ['https://badshop.test/', ['a=1; Domain=shop.test'], 'https://badshop.test/', ''],
    ['https://shop.co.uk/', ['a=1; Domain=co.uk'], 'https://shop.co.uk/', ''],
    ['http://127.0.0.1/', ['a=1; Domain=0.0.1'], 'http://127.0.0.1/', ''],
    ['http://[::1]/', ['a=1'], 'http://[::1]/', 'a=1'],
    // Prefixes.
    ['https://shop.test/', ['__Host-a=1; Path=/; Secure', '__Host-b=1; Path=/'], 'https://shop.test/', '__Host-a=1'],
    ['https://shop.test/', ['__Secure-a=1; Secure', '__Secure-b=1'], 'https://shop.test/', '__Secure-a=1'],
    // What is odd.
    ['http://localhost/', ['x', '=y', '', ';', '; a=1', '='], 'http://localhost/', 'y'],
    [
      'http://localhost/',
      ['a b=1', 'c@=%20"2 3"', '__proto__=4'],
      'http://localhost/',
      'a b=1; c@=%20"2 3"; __proto__=4',
    ],
    ['http://localhost/', ['a=caf\xe9', 'b=b=c'], 'http://localhost/', 'a=caf\xe9; b=b=c'],
    ['http://1.2.3.999/', ['a=1'], 'http://1.2.3.999/', ''],
    ['http://localhost/', ['a=1'], '*', ''],
  ]
  for (const [setBy, fields, askedFor, sent] of cases) {
    const { cookies: jar } = createClient()
    jar.take(new Headers(fields.map(field => ['set-cookie', field])), setBy)
    t.equal(jar.toHeader(askedFor), sent, `${setBy}: ${fields.join(' and ')} for ${askedFor}`)
  }
})

t.test('the cookies of a client are those of its own site', async t => {
  const { createClient } = await boot()
  const client = createClient({ base: 'https://shop.test' })
  client.cookies.set('a', 'b c')
  client.cookies.take(new Headers({ 'set-cookie': 'cart=7; Path=/cart' }))
  client.cookies.take(new Headers({ 'set-cookie': 'other=8' }), 'https://other.test/')
  t.equal(client.cookies.get('a'), 'b c')
  t.equal(client.cookies.get('cart'), '7', 'whatever its path')
  t.equal(client.cookies.get('other'), undefined)
  t.throws(() => client.cookies.set('a b', ''), { code: 'ARGUMENT_INVALID' })
  const sent = async (url: string) => [...(await client.get(url)).request.cookies]
  t.strictSame(await sent('/echo-all'), [['a', 'b c']])
  t.strictSame(await sent('http://shop.test/echo-all'), [], 'as its base is secure')
  t.strictSame(await sent('https://other.test/echo-all'), [['other', '8']])
  t.strictSame(await sent('/cart/1'), [
    ['cart', '7'],
    ['a', 'b c'],
  ])
  const named = createClient({ headers: { host: 'shop.test' } })
  named.cookies.set('a', '1')
  t.strictSame([...(await named.get('/echo-all')).request.cookies], [['a', '1']])
})

t.test('no cookie and no host breaks a client', async t => {
  const { app, client } = await boot()
  app.routes.add({
    name: 'odd',
    path: '/odd',
    controller: () => new Response('', { headers: [['set-cookie', 'x'], ...oddFields] }),
  })
  const oddFields = ['=', 'a b=1; Path=;;', 'c=1; Domain=..; Expires=;'].map(field => ['set-cookie', field] as const)
  t.equal((await client.get('/odd')).status, 200)
  t.equal((await client.get('/odd', { headers: { host: '1.2.3.999' } })).status, 200)
  t.equal((await client.get('/odd', { headers: { host: 'a b' } })).status, 400)
  t.equal((await client.get('/echo-all')).request.headers.get('cookie'), 'x; a b=1')
})

t.test('what other clients have is named', async t => {
  const { client, close } = await boot()
  t.teardown(close)
  const response = await client.get('/echo-all')
  const refused = (member: string, right: string) => {
    const message = `it has no "${member}": use ${right}`
    t.throws(() => Reflect.get(response, member), { code: 'ARGUMENT_INVALID', message })
  }
  refused('body', 'text or json()')
  refused('statusCode', 'status')
  t.equal(Reflect.get(response, 'then'), undefined)
  await t.rejects(client.get('echo-all'), { code: 'ARGUMENT_INVALID', message: /"echo-all" begins with a slash/ })
  t.equal((await client.request('OPTIONS', '*')).status, 204)
})
