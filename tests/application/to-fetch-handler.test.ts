import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { Hono } from 'hono'
import {
  createFrameworkBundle,
  EventStream,
  ExceptionEvent,
  type FetchHandlerOptions,
  mountFetchHandler,
  setCookie,
  TerminateEvent,
  toFetchHandler,
  WebSocketUpgrade,
} from 'sinfonietta'
import { createTestKernel, type TestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { siteBundle } from '#bundles/site/site-bundle.ts'
import { Response } from '#lib/http/response.ts'
import type { RequestHandler } from '#lib/routing/route-collection.ts'
import { createHandlerBundle } from '#tests/support/handler-bundle.ts'
import { probeBundle } from '#tests/support/probe-bundle.ts'
import { serveKernel } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

const { Request: WebRequest } = globalThis

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

interface Ended {
  readonly path: string
  readonly isSent: boolean
  readonly status: number
  readonly sentBytes: number | undefined
  readonly error: unknown
}

/** A kernel with the site, the probe routes and these handlers; `ended` are the requests that have ended. */
async function boot(
  t: Test,
  handlers: Readonly<Record<string, RequestHandler>> = {},
  variables: Record<string, string> = { APP_ENV: 'prod' },
): Promise<TestKernel & { ended: Ended[] }> {
  const bundles = [createFrameworkBundle(), siteBundle, probeBundle, createHandlerBundle(handlers)]
  const kernel = await createTestKernel({ bundles, variables })
  t.teardown(() => kernel.close())
  const ended: Ended[] = []
  kernel.app.dispatcher.on(
    TerminateEvent,
    ({ isSent, request: { path }, response: { status }, sentBytes, streamError }) => {
      ended.push({ path, isSent, status, sentBytes, error: streamError })
    },
  )
  return { ...kernel, ended }
}

t.test('text, several cookies, and kernel.terminate after the body was read', async t => {
  const { ended, ...kernel } = await boot(t, {
    '/cookies': () => {
      const response = Response.text('made', { status: 201 })
      setCookie(response.headers, 'a', '1')
      setCookie(response.headers, 'b', '2')
      return response
    },
    '/empty': () => Response.empty(),
    '/reset': () => Response.text('dropped', { status: 205 }),
  })
  const handle = toFetchHandler(kernel)
  const response = await handle(new WebRequest('http://shop.test/cookies'))
  t.equal(response.status, 201)
  t.match(response.headers.getSetCookie(), [/^a=1/, /^b=2/])
  t.strictSame(ended, [], 'the body was not read')
  t.equal(await response.text(), 'made')
  await until(() => ended.length === 1)
  t.match(ended.splice(0), [{ path: '/cookies', isSent: true, status: 201 }])

  t.equal((await handle(new WebRequest('http://shop.test/empty'))).body, null)
  t.equal((await handle(new WebRequest('http://shop.test/reset'))).body, null)
  const head = await handle(new WebRequest('http://shop.test/text', { method: 'HEAD' }))
  t.strictSame([head.body, head.headers.get('content-length')], [null, '4'])
  await until(() => ended.length === 3)
  t.match(ended, [{ isSent: true }, { isSent: true }, { isSent: true }])
})

t.test('a body that is cancelled, and a client that leaves', async t => {
  const source = new PassThrough()
  const { ended, ...kernel } = await boot(t, {
    '/endless': () => {
      source.write('begun')
      return Response.stream(source)
    },
    '/waits': ({ signal }) =>
      new Promise(resolve => signal.addEventListener('abort', () => resolve(Response.text('late')))),
  })
  const handle = toFetchHandler(kernel)
  const cancelled = await handle(new WebRequest('http://shop.test/text'))
  await cancelled.body?.cancel()
  await until(() => ended.length === 1)
  t.match(ended.splice(0), [{ path: '/text', isSent: false }])

  const leaving = new AbortController()
  const endless = await handle(new WebRequest('http://shop.test/endless', { signal: leaving.signal }))
  const reader = endless.body?.getReader()
  t.equal(String(Buffer.from((await reader?.read())?.value ?? [])), 'begun')
  leaving.abort()
  await t.rejects(async () => void (await reader?.read()), { name: 'AbortError' })
  await until(() => ended.length === 1)
  t.match(ended.splice(0), [{ path: '/endless', isSent: false, sentBytes: 5 }])
  t.ok(source.destroyed)

  const waiting = new AbortController()
  const answer = handle(new WebRequest('http://shop.test/waits', { signal: waiting.signal }))
  setImmediate(() => waiting.abort())
  await t.rejects(answer, { name: 'AbortError' })
  await until(() => ended.length === 1)
  t.match(ended.splice(0), [{ path: '/waits', isSent: false }])
  await t.rejects(handle(new WebRequest('http://shop.test/text', { signal: AbortSignal.abort() })), {
    name: 'AbortError',
  })
})

t.test('a request body is a stream, which is cancelled if it is not read', async t => {
  const kernel = await boot(t, {
    '/echo': async request => Response.text(await request.text()),
    '/unread': () => Response.text('unread'),
  })
  const handle = toFetchHandler(kernel)
  let isCancelled = false
  const stream = () =>
    new ReadableStream({
      pull: controller => controller.enqueue(Buffer.from('x'.repeat(70_000))),
      cancel() {
        isCancelled = true
      },
    })
  const post = (path: string, body: ReadableStream, headers = {}) =>
    handle(new WebRequest(`http://shop.test${path}`, { method: 'POST', body, duplex: 'half', headers }))
  t.equal(await (await post('/unread', stream())).text(), 'unread')
  await until(() => isCancelled)
  isCancelled = false
  const refused = await post('/echo', stream())
  t.equal(refused.status, 413, 'the limits hold')
  await refused.text()
  await until(() => isCancelled)
  const short = await post('/echo', new Blob(['abc']).stream(), { 'content-length': '4' })
  t.equal(short.status, 400)
  const body = new URLSearchParams({ a: '1' })
  t.equal(await (await handle(new WebRequest('http://shop.test/echo', { method: 'POST', body }))).text(), 'a=1')
  const used = new WebRequest('http://shop.test/echo', { method: 'POST', body })
  await used.text()
  await t.rejects(handle(used), TypeError)
})

t.test('a stream that fails before its first chunk becomes an error page, later an error of the body', async t => {
  const fails = (chunks: readonly string[]) => () =>
    Response.stream(
      Readable.from(
        (async function* () {
          yield* chunks
          throw new Error('on purpose')
        })(),
      ),
    )
  const { ended, records, ...kernel } = await boot(t, {
    '/first': fails([]),
    '/second': fails(['one']),
    '/used': () => {
      const body = new PassThrough()
      body.destroy()
      return Response.stream(body)
    },
  })
  const handle = toFetchHandler(kernel)
  const page = await handle(new WebRequest('http://shop.test/first'))
  t.equal(page.status, 500)
  t.match(await page.text(), /<html/)
  await t.rejects((await handle(new WebRequest('http://shop.test/second'))).text())
  t.match(await (await handle(new WebRequest('http://shop.test/used'))).text(), /<html/)
  await until(() => ended.length === 3)
  t.match(ended, [
    { path: '/first', isSent: true, status: 500 },
    { path: '/second', isSent: false, sentBytes: 3, error: { message: 'on purpose' } },
    { path: '/used', isSent: true, status: 500 },
  ])
  t.strictSame(
    records.filter(({ message }) => message === 'A response could not be sent.'),
    [],
  )
})

t.test('an error page may be a stream that fails, too, and the client may leave before it', async t => {
  const failing = () => Response.stream(Readable.from(failsSoon()))
  const { app, ended, records, ...kernel } = await boot(t, { '/fails': failing, '/leaves': failing })
  const leaving = new AbortController()
  app.dispatcher.on(ExceptionEvent, event => {
    if (event.request.path === '/leaves') leaving.abort()
    event.respond(Response.stream(Readable.from(failsSoon())))
  })
  const handle = toFetchHandler({ app, ...kernel })
  const page = await handle(new WebRequest('http://shop.test/fails'))
  t.strictSame([page.status, await page.text()], [500, 'Internal Server Error\n'])
  const { signal } = leaving
  await t.rejects(handle(new WebRequest('http://shop.test/leaves', { signal })), { name: 'AbortError' })
  await until(() => ended.length === 2)
  t.match(ended, [{ isSent: true }, { isSent: false }])
  t.ok(records.some(({ message }) => message === 'A response could not be sent.'))
})

t.test('a client that leaves is noticed after a garbage collection, too, also by a mounted handler', async t => {
  const noticed: string[] = []
  const { app, ...kernel } = await boot(t, {
    '/waits': async ({ signal }) => {
      await once(signal, 'abort')
      noticed.push('kernel')
      return Response.text('late')
    },
  })
  mountFetchHandler(app.routes, '/mounted', async ({ signal }) => {
    await once(signal, 'abort')
    noticed.push('mount')
    return new globalThis.Response('late')
  })
  const handle = toFetchHandler({ app, ...kernel })
  for (const path of ['/waits', '/mounted']) {
    const leaving = new AbortController()
    const answered = handle(new WebRequest(`http://shop.test${path}`, { signal: leaving.signal }))
    await nextTurn()
    collectGarbage()
    await nextTurn()
    leaving.abort()
    await t.rejects(answered, { name: 'AbortError' })
  }
  await until(() => noticed.length === 2)
})

async function* failsSoon(): AsyncGenerator<string> {
  await nextTurn()
  yield* []
  throw new Error('on purpose')
}

t.test('the client: its connection by an option, its host by the URL, debug output only with a socket', async t => {
  const kernel = await boot(
    t,
    { '/client': ({ clientIp, origin, url }) => Response.json([clientIp, origin, url]) },
    { APP_ENV: 'dev', TRUSTED_PROXIES: '192.0.2.7', TRUSTED_HEADERS: 'x-forwarded-for,x-forwarded-proto' },
  )
  const ask = async (options: FetchHandlerOptions<[]>, url: string, headers = {}) =>
    (await toFetchHandler(kernel, options)(new WebRequest(url, { headers }))).json()
  t.strictSame(await ask({}, 'https://shop.test:444/client?a'), [
    'unknown',
    'https://shop.test:444',
    'https://shop.test:444/client?a',
  ])
  const connection = () => ({ remoteAddress: '192.0.2.7' })
  const headers = { host: 'public.test', 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' }
  t.strictSame(await ask({ connection }, 'http://inner.test/client', headers), [
    '192.0.2.1',
    'https://public.test',
    'https://public.test/client',
  ])
  const local = toFetchHandler(kernel, { connection: () => ({ remoteAddress: '127.0.0.1' }) })
  const error = await (await local(new WebRequest('http://localhost/boom'))).text()
  t.notMatch(error, /Boom/, 'an address alone does not prove that the client is on this machine')
})

t.test('in a Hono application, and behind a server of node that passes its sockets', async t => {
  const kernel = await boot(t, { '/client': ({ peerAddress }) => Response.text(peerAddress) }, { APP_ENV: 'dev' })
  const handle = toFetchHandler(kernel, { connection: (_request, { socket }: { readonly socket: Socket }) => socket })
  const hono = new Hono<{ Bindings: { readonly socket: Socket } }>()
  hono.all('/hono/*', c => handle(new WebRequest(c.req.url.replace('/hono', ''), c.req.raw), c.env))
  const server = createServer((incoming, outgoing) => void pass(incoming).then(answer => answer.pipe(outgoing)))
  async function pass(incoming: IncomingMessage): Promise<Readable> {
    const request = new WebRequest(`http://${incoming.headers.host}${incoming.url}`)
    const response = await hono.fetch(request, { socket: incoming.socket })
    return Readable.from([`${response.status} ${await response.text()}`])
  }
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const ask = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text()
  t.equal(await ask('/hono/client'), '200 127.0.0.1')
  t.match(await ask('/hono/boom'), /^500 [\s\S]*Boom/, 'with a socket the debug gate decides as in a server')
})

/** What a client sees of a response: node adds fields of the connection, and the time. */
function outline(status: number, headers: Iterable<readonly [string, string]>, body: string): unknown {
  const own = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding', 'x-request-id'])
  const fields = [...headers].filter(([name]) => !own.has(name)).map(([name, value]) => `${name}: ${value}`)
  // The page of an error has the id of the request.
  return { status, fields: fields.sort(), body: body.replace(/[\da-f-]{36}/, 'id') }
}

t.test('property: the server and the handler answer each request in the same way', async t => {
  // Error pages have the id of the request, which a trusted proxy can set.
  const proxy = { TRUSTED_PROXIES: '127.0.0.1', TRUSTED_HEADERS: 'x-request-id' }
  const kernel = await boot(t, {}, { APP_ENV: 'prod', ...proxy })
  const { url } = await serveKernel(t, kernel)
  const handle = toFetchHandler(kernel, { connection: () => ({ remoteAddress: '127.0.0.1' }) })
  const paths = [
    '/',
    '/text',
    '/json',
    '/empty',
    '/stream',
    '/redir',
    '/boom',
    '/teapot',
    '/item/7',
    '/wild/a%2fb',
    '/nope',
  ]
  const more = ['/status/204', '/status/304', '/status/503', '/partnership', '/slash', '/multi', '/post-only', '/%zz']
  const requests = fc.record({
    path: fc.constantFrom(...paths, ...more),
    query: fc.constantFrom('', '?', '?a=1&b=%20'),
    method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'),
    accept: fc.constantFrom('*/*', 'application/json', 'text/html'),
    encoding: fc.constantFrom('identity', 'gzip', 'br'),
    etag: fc.constantFrom(undefined, '"1"', '*'),
    body: fc.option(fc.string({ maxLength: 20 }), { nil: undefined }),
  })
  await fc.assert(
    fc.asyncProperty(requests, async ({ accept, body, encoding, etag, method, path, query }) => {
      const headers = {
        accept,
        'x-request-id': 'a-request',
        'accept-encoding': encoding,
        ...(etag !== undefined && { 'if-none-match': etag }),
        ...(body !== undefined && { 'content-type': 'text/plain' }),
      }
      const target = `${url}${path}${query}`
      const sent = method === 'GET' || method === 'HEAD' ? undefined : body
      // For some methods node sends a body without its length.
      const length = sent === undefined ? {} : { 'content-length': Buffer.byteLength(sent) }
      const served = await new Promise<unknown>((resolve, reject) => {
        const sending = httpRequest(target, { method, headers: { ...headers, ...length } }, answer => {
          const chunks: Buffer[] = []
          answer.on('data', chunk => chunks.push(chunk))
          answer.on('end', () => {
            const { rawHeaders } = answer
            const fields = rawHeaders.flatMap((name, at): [string, string][] =>
              at % 2 === 0 ? [[name.toLowerCase(), String(rawHeaders[at + 1])]] : [],
            )
            resolve(outline(Number(answer.statusCode), fields, Buffer.concat(chunks).toString('latin1')))
          })
        })
        sending.on('error', reject)
        sending.end(sent)
      })
      const response = await handle(
        new WebRequest(target, { method, headers, ...(sent !== undefined && { body: sent }) }),
      )
      const content = Buffer.from(await response.arrayBuffer()).toString('latin1')
      t.strictSame(outline(response.status, response.headers, content), served, `${method} ${path}${query}`)
    }),
    { numRuns: 150 },
  )
})

t.test('events are a stream, and a WebSocket is refused with 426', async t => {
  const { ended, records, ...kernel } = await boot(t, {
    '/prices': request => {
      request.sendEarlyHints(['</app.css>; rel=preload; as=style'])
      return new EventStream(request, stream => {
        stream.send({ data: 'one' })
        stream.end()
      })
    },
    '/talk': request => new WebSocketUpgrade(request, () => t.fail('no handler is called')),
  })
  const handler = toFetchHandler(kernel)
  t.equal(await (await handler(new WebRequest('http://localhost/prices'))).text(), ':\n\ndata: one\n\n')
  const headers = { connection: 'Upgrade', upgrade: 'websocket' }
  const refused = await handler(new WebRequest('http://localhost/talk', { headers }))
  t.strictSame([refused.status, await refused.text()], [426, 'Upgrade Required\n'])
  await until(() => ended.length === 2)
  t.strictSame(
    ended.map(({ isSent, status }) => [isSent, status]),
    [
      [true, 200],
      [true, 426],
    ],
  )
  t.notOk(records.some(({ level }) => level === 'critical'))
})
