import { once } from 'node:events'
import { type ClientRequest, request as httpRequest } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Hono } from 'hono'
import { setCookie } from 'hono/cookie'
import { type FetchHandler, kernelRequestOf, type MountOptions, mountFetchHandler, RequestEvent } from 'sinfonietta'
import { type Test, t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { startServer, type TestServer } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

const { Response: WebResponse } = globalThis

function start(t: Test, handler: FetchHandler, options: MountOptions & { path?: string } = {}): Promise<TestServer> {
  const { path = '/api', ...route } = options
  return startServer(t, { APP_ENV: 'prod' }, [
    { name: 'mounting', register: ({ routes }) => mountFetchHandler(routes, path, handler, route) },
  ])
}

t.test('a Hono application answers below its path, with every method', async t => {
  const hono = new Hono().basePath('/api')
  hono.get('/', c => c.text('root'))
  hono.get('/length', c => c.text(c.req.header('content-length') ?? 'none'))
  hono.all('/echo/:id', async c =>
    c.json({ method: c.req.method, id: c.req.param('id'), query: c.req.query(), body: await c.req.text() }),
  )
  const { url } = await start(t, hono.fetch)
  t.equal(await (await fetch(`${url}/api`)).text(), 'root')
  t.equal((await fetch(`${url}/api/`)).status, 404, 'the path is not changed: Hono decides')
  t.equal((await fetch(`${url}/apiary`)).status, 404)
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const body = method === 'GET' ? null : 'sent'
    const response = await fetch(`${url}/api/echo/a%20b?x=1`, { method, body })
    t.strictSame(await response.json(), { method, id: 'a b', query: { x: '1' }, body: body ?? '' })
  }
  const bare = httpRequest(`${url}/api/length`, { headers: { 'content-length': '4' } }).end('body')
  const [answer] = await once(bare, 'response')
  t.equal(String((await once(answer, 'data'))[0]), 'none', 'a GET has no body in the Fetch API')
  const missing = await fetch(`${url}/api/nothing`)
  t.strictSame([missing.status, await missing.text()], [404, '404 Not Found'], 'the page of Hono')
})

t.test('status, headers and several Set-Cookie arrive; fields of the connection do not', async t => {
  const hono = new Hono().basePath('/api')
  hono.get('/cookies', c => {
    setCookie(c, 'a', '1')
    setCookie(c, 'b', '2')
    return c.body('made', 201, { 'x-one': 'yes', connection: 'close', 'transfer-encoding': 'chunked' })
  })
  hono.get('/redirect', c => c.redirect('https://example.org/there', 303))
  hono.get('/empty', c => c.body(null, 204))
  hono.get('/same', c => c.body(null, 304, { etag: '"1"' }))
  hono.get('/bytes', () => new WebResponse(new Uint8Array([1, 2])))
  hono.get('/large', () => new WebResponse(new Uint8Array(70_000)))
  const { url } = await start(t, hono.fetch)
  const cookies = await fetch(`${url}/api/cookies`)
  t.strictSame(
    [cookies.status, await cookies.text(), cookies.headers.getSetCookie(), cookies.headers.get('x-one')],
    [201, 'made', ['a=1; Path=/', 'b=2; Path=/'], 'yes'],
  )
  t.equal(cookies.headers.get('content-length'), '4', 'a body that is there at once has a length')
  t.equal(cookies.headers.get('transfer-encoding'), null)
  const redirect = await fetch(`${url}/api/redirect`, { redirect: 'manual' })
  t.strictSame([redirect.status, redirect.headers.get('location')], [303, 'https://example.org/there'])
  const empty = await fetch(`${url}/api/empty`)
  t.strictSame([empty.status, empty.headers.get('content-length')], [204, null])
  const same = await fetch(`${url}/api/same`)
  t.strictSame([same.status, same.headers.get('etag')], [304, '"1"'])
  const bytes = await fetch(`${url}/api/bytes`)
  t.equal(bytes.headers.get('content-type'), 'application/octet-stream', 'not a page')
  const large = await fetch(`${url}/api/large`)
  t.strictSame([(await large.arrayBuffer()).byteLength, large.headers.get('content-length')], [70_000, null])
  const head = await fetch(`${url}/api/bytes`, { method: 'HEAD' })
  t.strictSame([head.status, await head.text(), head.headers.get('content-length')], [200, '', null])
})

t.test('the handler gets the URL and the headers of the client, and the request of the kernel', async t => {
  const seen: unknown[] = []
  const { client, createClient, raw } = await start(
    t,
    request => {
      const { clientIp, path } = kernelRequestOf(request) ?? {}
      seen.push([request.url, clientIp, path, request.headers.get('cookie')])
      return new WebResponse('seen')
    },
    { path: '/' },
  )
  await createClient({ base: 'https://shop.test:444', remoteAddress: '192.0.2.1' }).get('/a/%2e.b//c?d', {
    headers: [
      ['cookie', 'a=1'],
      ['cookie', 'b=2'],
    ],
  })
  await client.get('//evil.test/x')
  await raw('GET / HTTP/1.0\r\n\r\n')
  t.strictSame(seen, [
    ['https://shop.test:444/a/%2e.b//c?d', '192.0.2.1', '/a/..b//c', 'a=1; b=2'],
    ['http://localhost//evil.test/x', '127.0.0.1', '//evil.test/x', null],
    ['http://localhost/', '127.0.0.1', '/', null],
  ])
  t.equal(kernelRequestOf({}), undefined)
})

t.test('a path or a host that a URL would change is refused', async t => {
  const { client } = await start(t, request => new WebResponse(request.url))
  for (const target of ['/api/../admin', '/api/%2E%2e/admin', '/api/.', '/api/a/%2e/b']) {
    t.match(await client.get(target), { status: 400 }, target)
  }
  t.match(await client.get('/api/.../a'), { status: 200, text: 'http://localhost/api/.../a' })
  t.match(await client.get('/api', { headers: { host: '999.1.1.1' } }), { status: 400 })
})

t.test('bodies are streams in both directions', async t => {
  const { url } = await start(t, ({ body }) => {
    const transform = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        controller.enqueue(new TextEncoder().encode(new TextDecoder().decode(chunk).toUpperCase()))
      },
    })
    return new WebResponse(body?.pipeThrough(transform) ?? null, { headers: { 'content-type': 'text/plain' } })
  })
  const sending = httpRequest(`${url}/api`, { method: 'POST' })
  sending.write('first ')
  const [answer] = await once(sending, 'response')
  const [first] = await once(answer, 'data')
  t.equal(String(first), 'FIRST ', 'the answer begins before the request has ended')
  sending.end('second')
  let rest = ''
  for await (const chunk of answer) rest += chunk
  t.equal(rest, 'SECOND')
  const large = 'x'.repeat(1_000_000)
  t.equal(await (await fetch(`${url}/api`, { method: 'POST', body: large })).text(), large.toUpperCase())
})

t.test('a large body is read while its answer is sent, longer than the rest of an unread body', async t => {
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => controller.enqueue(Buffer.from(`${chunk.byteLength},`)),
  })
  const handler: FetchHandler = ({ body }) => new WebResponse(body?.pipeThrough(count) ?? null)
  const { url } = await start(t, handler, { defaults: { _body_limit: 20 * 2 ** 20 } })
  const sending = httpRequest(`${url}/api`, { method: 'POST' })
  sending.write('begun')
  const [answer] = await once(sending, 'response')
  for (let sent = 0; sent < 18; sent++) sending.write(Buffer.alloc(2 ** 20))
  sending.end()
  let text = ''
  for await (const chunk of answer) text += chunk
  const sizes = text.split(',').slice(0, -1).map(Number)
  t.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    18 * 2 ** 20 + 5,
  )
})

t.test('a handler may cancel the body of the request', async t => {
  const { url } = await start(t, async ({ body }) => {
    const reader = body?.getReader()
    const { value } = (await reader?.read()) ?? {}
    await reader?.cancel()
    return new WebResponse(value)
  })
  const response = await fetch(`${url}/api`, { method: 'POST', body: 'x'.repeat(500_000) })
  t.match(await response.text(), /^x+$/)
})

t.test('back pressure: a source is read only as far as the client reads', async t => {
  let chunks = 0
  const { url } = await start(t, () => {
    const body = new ReadableStream({
      pull(controller) {
        chunks++
        controller.enqueue(new Uint8Array(65_536))
      },
    })
    return new WebResponse(body)
  })
  const sending = httpRequest(`${url}/api`).end()
  const [answer] = await once(sending, 'response')
  let before = -1
  let quiet = 0
  await until(() => {
    quiet = chunks === before ? quiet + 1 : 0
    before = chunks
    return quiet === 10
  })
  t.ok(chunks < 1_000, `${chunks} chunks fill the buffers of the connection`)
  answer.destroy()
})

t.test('a client that leaves aborts the signal, and cancels the source of the body', async t => {
  const seen: string[] = []
  let waiting: ClientRequest | undefined
  const { url } = await start(t, async request => {
    request.signal.addEventListener('abort', () => seen.push('aborted'))
    if (request.url.endsWith('/waiting')) {
      setImmediate(() => waiting?.destroy())
      await new Promise(resolve => request.signal.addEventListener('abort', resolve))
    }
    return new WebResponse(
      new ReadableStream({
        start: controller => controller.enqueue(new Uint8Array(1)),
        cancel() {
          seen.push('cancelled')
          throw new Error('a source may fail to cancel')
        },
      }),
    )
  })
  const streaming = new AbortController()
  await fetch(`${url}/api`, { signal: streaming.signal })
  streaming.abort()
  await until(() => seen.length === 2)
  t.strictSame(seen.splice(0).sort(), ['aborted', 'cancelled'])
  waiting = httpRequest(`${url}/api/waiting`)
    .on('error', () => undefined)
    .end()
  await until(() => seen.length === 2)
  t.strictSame(seen.sort(), ['aborted', 'cancelled'])
})

t.test('the signal is aborted when a test closes an open response', async t => {
  const signals: AbortSignal[] = []
  const { client } = await start(t, ({ signal, url }) => {
    signals.push(signal)
    return new WebResponse(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new Uint8Array([65]))
          if (url.endsWith('/ends')) controller.close()
        },
      }),
    )
  })
  for (const path of ['/api/ends', '/api/stays']) {
    const open = await client.open(path)
    await open.readUntil('A')
    if (path === '/api/ends') await t.rejects(open.readUntil('B'))
    await open.close()
  }
  t.strictSame(
    signals.map(({ aborted }) => aborted),
    [false, true],
  )
})

t.test('a signal is not aborted by a response that was sent', async t => {
  const signals: AbortSignal[] = []
  const { url } = await start(t, ({ signal }) => {
    signals.push(signal)
    return new WebResponse('done')
  })
  await (await fetch(`${url}/api`)).text()
  await (await fetch(`${url}/api`)).text()
  t.strictSame(
    signals.map(({ aborted }) => aborted),
    [false, false],
  )
})

t.test('the limit of bodies holds, also for one without a length; a route may have its own', async t => {
  const hono = new Hono()
  hono.post('/*', async c => c.text(`${(await c.req.arrayBuffer()).byteLength}`))
  hono.onError((error, c) => c.text(`refused: ${error.message}`, 500))
  const { url } = await start(t, hono.fetch)
  const small = await start(t, hono.fetch, { defaults: { _body_limit: 4 } })
  const post = (to: string, body: NonNullable<RequestInit['body']>) =>
    fetch(`${to}/api/x`, { method: 'POST', body, duplex: 'half' })
  const streamed = (size: number) =>
    new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(size))
        controller.close()
      },
    })
  t.equal(await (await post(url, new Uint8Array(2 ** 20))).text(), '1048576')
  t.equal((await post(url, new Uint8Array(2 ** 20 + 1))).status, 413, 'the handler is not called')
  t.match(await (await post(url, streamed(2 ** 20 + 1))).text(), /^refused: .*1048576/)
  const form = new globalThis.FormData()
  form.append('file', new Blob([new Uint8Array(2 ** 21)]))
  t.equal((await post(url, form)).status, 200, 'a form with files may be larger')
  t.equal((await post(small.url, 'four')).status, 200)
  t.equal((await post(small.url, 'fives')).status, 413)
})

t.test('a body that a listener has read is passed on; one of another form is an error', async t => {
  const { app, url } = await start(t, async request => new WebResponse(await request.text()))
  app.dispatcher.on(RequestEvent, async ({ request }) => {
    if (request.path === '/api/json') await request.json()
    if (request.path === '/api/form') await request.formData()
  })
  const headers = { 'content-type': 'application/json' }
  t.equal(await (await fetch(`${url}/api/json`, { method: 'POST', headers, body: '{"a":1}' })).text(), '{"a":1}')
  t.equal(await (await fetch(`${url}/api/none`, { method: 'POST' })).text(), '')
  const body = new globalThis.FormData()
  body.append('a', '1')
  t.equal((await fetch(`${url}/api/form`, { method: 'POST', body })).status, 500)
})

t.test('errors of a handler, and results that are no responses, are errors of the kernel', async t => {
  const results: Record<string, () => unknown> = {
    throws: () => {
      throw new Error('on purpose')
    },
    nothing: () => undefined,
    error: () => WebResponse.error(),
    used: async () => {
      const response = new WebResponse('a')
      await response.text()
      return response
    },
    own: () => Response.text('a'),
    fails: () => new WebResponse(new ReadableStream({ start: controller => controller.error('a reason') })),
    later: () => {
      let turns = 0
      return new WebResponse(
        new ReadableStream({
          async pull(controller) {
            await nextTurn()
            if (turns++ === 0) controller.enqueue(new Uint8Array(1))
            else throw 'a reason'
          },
        }),
      )
    },
  }
  const handler = (request: globalThis.Request) => results[request.url.split('/').at(-1) ?? '']?.()
  const { client, records } = await start(t, handler as FetchHandler)
  for (const name of ['throws', 'nothing', 'error', 'used', 'own', 'fails']) {
    t.match(await client.get(`/api/${name}`), { status: 500 }, name)
  }
  await t.rejects(client.get('/api/later'), /broke off/)
  const messages = records.flatMap(({ context: { message } }) => (typeof message === 'string' ? [message] : []))
  t.match(
    messages.join('\n'),
    /on purpose[\s\S]*returned undefined\.[\s\S]*Response\.error\(\)\.[\s\S]*was read already\.[\s\S]*the "Response" of "sinfonietta"\./,
  )
})

t.test('a path without its slash, with one at its end, or with a wildcard is refused', async t => {
  for (const path of ['api', '/api/', '/api/*rest', '/api{/x}']) {
    await t.rejects(
      start(t, () => new WebResponse(), { path }),
      { cause: { code: 'MOUNT_PATH_INVALID' } },
      path,
    )
  }
})

t.test('a handler that is no function is refused', async t => {
  const mistake = { cause: { code: 'MOUNT_HANDLER_INVALID', message: /is an object with the key "fetch"\.$/ } }
  await t.rejects(start(t, { fetch: () => new WebResponse() } as unknown as FetchHandler), mistake)
})
