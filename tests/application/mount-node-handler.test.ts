import { once } from 'node:events'
import { type ClientRequest, request as httpRequest } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import express from 'express'
import {
  createFrameworkBundle,
  kernelRequestOf,
  type MountOptions,
  mountFetchHandler,
  mountNodeHandler,
  type NodeHandler,
  RequestEvent,
  ResponseEvent,
  TerminateEvent,
} from 'sinfonietta'
import { createTestKernel, type TestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { openConnection, type Served, serveKernel } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

async function boot(
  t: Test,
  handler: NodeHandler,
  { path = '/legacy', ...options }: MountOptions & { path?: string } = {},
  variables: Record<string, string> = { APP_ENV: 'prod' },
): Promise<TestKernel> {
  const mounting = {
    name: 'mounting',
    register: ({ routes }: TestKernel['app']) => mountNodeHandler(routes, path, handler, options),
  }
  const kernel = await createTestKernel({ bundles: [createFrameworkBundle(), mounting], variables })
  t.teardown(() => kernel.close())
  return kernel
}

async function start(
  t: Test,
  handler: NodeHandler,
  options?: MountOptions & { path?: string },
): Promise<TestKernel & Served> {
  const kernel = await boot(t, handler, options)
  return { ...kernel, ...(await serveKernel(t, kernel)) }
}

t.test('an Express application answers below its path', async t => {
  const app = express()
  app.set('etag', 'strong')
  app.use(express.json())
  app.use((_request, response, next) => {
    response.cookie('a', '1')
    response.append('x-seen', 'yes')
    next()
  })
  app.get('/', (_request, response) => void response.send('root'))
  app.get('/page/:id', (request, response) => {
    const { baseUrl, hostname, ip, originalUrl, params, protocol, url } = request
    response.cookie('b', '2').status(201).json({ baseUrl, hostname, ip, originalUrl, params, protocol, url })
  })
  app.post('/json', (request, response) => void response.json(request.body))
  app.get('/go', (_request, response) => void response.redirect('/legacy/'))
  app.get('/none', (_request, response) => void response.status(204).end())
  app.get('/fails', () => {
    throw Object.assign(new Error('short and stout'), { status: 418 })
  })
  app.get('/secret', () => {
    // The error of a client of another server: the application has not made its message for clients.
    throw Object.assign(new Error('a secret'), { statusCode: 403 })
  })
  app.get('/public', () => {
    throw Object.assign(new Error('for all'), { status: 403, expose: true })
  })
  app.get('/odd/:status', request => {
    throw Object.assign(new Error('odd'), { status: Number(request.params.status) })
  })
  const { createClient, url } = await start(t, app)
  t.equal(await (await fetch(`${url}/legacy`)).text(), 'root')
  t.equal(await (await fetch(`${url}/legacy/`)).text(), 'root')
  const page = await fetch(`${url}/legacy/page/a%20b?x=1`)
  t.equal(page.status, 201)
  t.strictSame(page.headers.getSetCookie(), ['a=1; Path=/', 'b=2; Path=/'])
  t.strictSame([page.headers.get('x-seen'), page.headers.get('connection')], ['yes', 'keep-alive'])
  t.match(await page.json(), {
    baseUrl: '/legacy',
    hostname: '127.0.0.1',
    ip: '127.0.0.1',
    originalUrl: '/legacy/page/a%20b?x=1',
    params: { id: 'a b' },
    protocol: 'http',
    url: '/page/a%20b?x=1',
  })
  const client = createClient({ base: 'https://shop.test', remoteAddress: '192.0.2.1' })
  t.match((await client.get('/legacy/page/1')).json(), { ip: '192.0.2.1', protocol: 'https', hostname: 'shop.test' })
  t.match(await client.post('/legacy/json', { json: { a: [1] } }), { status: 200, text: '{"a":[1]}' })
  const wrong = { body: '{', headers: { 'content-type': 'application/json' } }
  t.equal((await client.post('/legacy/json', wrong)).status, 400, 'an error of a middleware has its status')
  const go = await client.get('/legacy/go')
  t.strictSame([go.status, go.headers.get('location')], [302, '/legacy/'])
  const none = await client.get('/legacy/none')
  t.strictSame([none.status, none.text, none.headers.get('content-type')], [204, '', null])
  t.match(await client.get('/legacy/fails'), { status: 418 }, 'the error page of the kernel')
  const secret = await client.get('/legacy/secret', { headers: { accept: 'application/json' } })
  t.match(secret.json(), { status: 403, detail: 'Forbidden' })
  const shown = await client.get('/legacy/public', { headers: { accept: 'application/json' } })
  t.match(shown.json(), { status: 403, detail: 'for all' })
  for (const status of [200, 302, 399, 600]) {
    t.equal((await client.get(`/legacy/odd/${status}`)).status, 500, `${status} is no status of an error`)
  }
  t.equal((await client.get('/legacy/nothing')).status, 404, 'next() has no next route')
  t.equal((await client.get('/legacy%2Fpage/1')).status, 404, 'an encoded slash is none')
  const head = await client.head('/legacy/')
  t.strictSame([head.status, head.text, head.headers.get('content-length')], [200, '', '4'])
  const etag = String((await client.get('/legacy/')).headers.get('etag'))
  t.equal((await client.get('/legacy/', { headers: { 'if-none-match': etag } })).status, 304)
})

t.test('a handler at the root gets all paths, as they were sent', async t => {
  const seen: unknown[] = []
  const handler: NodeHandler = (request, response) => {
    seen.push([
      request.url,
      request.method,
      request.httpVersion,
      request.headers['x-a'],
      kernelRequestOf(request)?.path,
    ])
    response.end()
  }
  const root = await boot(t, handler, { path: '/' })
  await root.client.get('/')
  await root.client.delete('/a//%2eb/?c', { headers: { 'x-a': 'é' } })
  const below = await boot(t, handler)
  await below.client.get('/legacy//x/')
  t.strictSame(seen, [
    ['/', 'GET', '1.1', undefined, '/'],
    ['/a//%2eb/?c', 'DELETE', '1.1', 'é', '/a//.b/'],
    ['//x/', 'GET', '1.1', undefined, '/legacy//x/'],
  ])
})

t.test('a path with a segment "." or ".." is 400 for handlers of both kinds: they may resolve it', async t => {
  let calls = 0
  const { app, client } = await boot(t, (_request, response) => {
    calls++
    response.end()
  })
  mountFetchHandler(app.routes, '/fetched', () => {
    calls++
    return new globalThis.Response()
  })
  const rests = ['/../other', '/%2e%2E/other', '/a/./b', '/..', '/a/%2e', '/%2E./']
  const paths = ['/legacy', '/fetched'].flatMap(mount => rests.map(rest => mount + rest))
  const answers = await Promise.all(paths.map(async path => [path, (await client.get(path)).status]))
  t.strictSame(
    answers,
    paths.map(path => [path, 400]),
  )
  t.equal(calls, 0)
  t.equal((await client.get('/legacy/..a/b..')).status, 200)
})

t.test('a mount in a group of routes has the path and the name of the group', async t => {
  const { app, client } = await boot(t, (_request, response) => void response.end('old'), { path: '/', priority: -1 })
  app.routes.group({ prefix: '{/:_locale}/admin', name: 'admin_', requirements: { _locale: /de|en/ } }, group => {
    mountNodeHandler(group, '/legacy', (request, response) => {
      const { baseUrl } = request as typeof request & { baseUrl: string }
      response.end(`${baseUrl} ${request.url}`)
    })
  })
  t.ok(app.routes.find('admin_legacy'))
  t.equal((await client.get('/de/admin/legacy/a/b?x')).text, '/de/admin/legacy /a/b?x')
  t.equal((await client.get('/admin/legacy/')).text, '/admin/legacy /')
  t.equal((await client.get('/fr/admin/legacy')).text, 'old', 'a mount of a low priority answers the rest')
})

t.test('listeners change the response of a handler, compress it, and see its end', async t => {
  const ended: unknown[] = []
  const { app, url } = await start(t, (request, response) => {
    response.setHeader('transfer-encoding', 'chunked')
    response.writeHead(200, 'Fine', { 'content-type': 'text/plain', connection: 'close', 'x-none': undefined })
    if (request.url === '/short') response.end('x'.repeat(5_000))
    else {
      response.write('one ')
      setImmediate(() => setImmediate(() => response.end('two')))
    }
  })
  app.dispatcher.on(ResponseEvent, ({ response }) => response.headers.set('x-late', 'yes'))
  app.dispatcher.on(
    TerminateEvent,
    ({ isSent, response, sentBytes }) => void ended.push([isSent, response.status, response.originalSize, sentBytes]),
  )
  const short = await fetch(`${url}/legacy/short`)
  t.strictSame([short.headers.get('content-encoding'), short.headers.get('x-late')], ['gzip', 'yes'])
  t.equal((await short.text()).length, 5_000)
  const long = await fetch(`${url}/legacy/long`, { headers: { 'accept-encoding': 'identity' } })
  t.strictSame(
    [await long.text(), long.statusText, long.headers.get('transfer-encoding')],
    ['one two', 'OK', 'chunked'],
  )
  await until(() => ended.length === 2)
  t.strictSame(ended, [
    [true, 200, 5_000, undefined],
    [true, 200, undefined, 7],
  ])
})

t.test('all forms of the head, and an answer without a type', async t => {
  const forms: Record<string, NodeHandler> = {
    '/pairs': (_request, response) => response.writeHead(200, ['x-a', '1', 'x-a', '2']).end(),
    '/nested': (_request, response) =>
      response
        .writeHead(200, [
          ['x-a', '1'],
          ['x-a', '2'],
        ] as never)
        .end(),
    '/status': (_request, response) => response.writeHead(202).end(),
    '/untyped': (_request, response) => void response.end(Buffer.from([1])),
    '/early': (_request, response) => {
      const called: string[] = []
      response.writeContinue(() => called.push('continue'))
      response.writeProcessing()
      response.writeEarlyHints({ link: '</a.css>; rel=preload' }, () => called.push('hints'))
      response.flushHeaders()
      response.end(called.join())
    },
    '/twice': (_request, response) => {
      response.writeHead(200)
      response.writeHead(201)
    },
    '/large': (_request, response) => response.writeHead(999).end(),
    '/invalid': (_request, response) => void response.writeHead(99),
  }
  const { client } = await boot(t, (request, response, next) => forms[request.url ?? '']?.(request, response, next))
  t.strictSame((await client.get('/legacy/pairs')).headers.getAll('x-a'), ['1', '2'])
  t.strictSame((await client.get('/legacy/nested')).headers.getAll('x-a'), ['1', '2'])
  t.equal((await client.get('/legacy/status')).status, 202)
  t.equal((await client.get('/legacy/untyped')).headers.get('content-type'), 'application/octet-stream')
  const early = await client.get('/legacy/early')
  t.strictSame(
    [early.text, early.request.attributes.get('_early_hints')],
    ['continue,hints', ['</a.css>; rel=preload']],
  )
  t.equal((await client.get('/legacy/twice')).status, 500)
  t.equal((await client.get('/legacy/invalid')).status, 500)
  t.equal((await client.get('/legacy/large')).status, 500, 'the kernel has no such status')
})

t.test('bodies are streams in both directions, with back pressure', async t => {
  let written = 0
  let drained = false
  const { url } = await start(t, async (request, response) => {
    if (request.url === '/echo') {
      request.pipe(response)
      return
    }
    const chunk = Buffer.alloc(65_536)
    while (response.write(chunk)) written++
    await once(response, 'drain')
    drained = true
    response.end()
  })
  const sending = httpRequest(`${url}/legacy/echo`, { method: 'POST' })
  sending.write('first ')
  const [answer] = await once(sending, 'response')
  t.equal(String((await once(answer, 'data'))[0]), 'first ')
  sending.end('second')
  t.equal(String((await once(answer, 'data'))[0]), 'second')
  const large = 'x'.repeat(1_000_000)
  t.equal(await (await fetch(`${url}/legacy/echo`, { method: 'POST', body: large })).text(), large)
  const flood = await (await fetch(`${url}/legacy/flood`)).arrayBuffer()
  t.ok(flood.byteLength > 65_536 * written)
  t.ok(drained && written < 100, `${written} chunks until the handler has to wait`)
})

t.test('the limit of bodies holds; a handler without an error listener is answered for', async t => {
  const reading = express()
  reading.use(express.text({ limit: '10mb' }))
  reading.post('/', (request, response) => void response.json(request.body.length))
  const { client } = await boot(t, reading)
  const post = (to: TestKernel['client'], body: string | ReadableStream) =>
    to.post('/legacy', { body: body as string, headers: { 'content-type': 'text/plain' } })
  t.match(await post(client, 'x'.repeat(2 ** 20)), { text: '1048576' })
  t.equal((await post(client, 'x'.repeat(2 ** 20 + 1))).status, 413)
  const { url } = await start(t, reading)
  const chunked = () => new Blob(['x'.repeat(2 ** 20 + 1)]).stream()
  const init = { method: 'POST', duplex: 'half', headers: { 'content-type': 'text/plain' } } as const
  t.equal((await fetch(`${url}/legacy`, { ...init, body: chunked() })).status, 413, 'of an undeclared length')
  const piping = await start(t, (request, response) => void request.pipe(response))
  await t.rejects((await fetch(`${piping.url}/legacy`, { ...init, body: chunked() })).text(), 'the head was sent')
  const counting = await start(t, (request, response) => void request.resume().on('end', () => response.end()))
  t.equal((await fetch(`${counting.url}/legacy`, { ...init, body: chunked() })).status, 413)
  const unread = await start(t, (_request, response) => void response.end('unread'))
  t.equal(await (await fetch(`${unread.url}/legacy`, { ...init, body: chunked() })).text(), 'unread')
})

t.test('an upload that breaks off is one error of the request', async t => {
  const errors: string[] = []
  let begun = 0
  const { app, port } = await start(t, (request, response) => {
    begun++
    request.on('error', ({ message }) => errors.push(message))
    if (request.url === '/read') request.resume()
    response.on('close', () => errors.push('closed'))
  })
  let ended = 0
  app.dispatcher.on(TerminateEvent, () => void ended++)
  for (const path of ['/read', '/unread']) {
    const { socket } = openConnection(port)
    socket.write(`POST /legacy${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc`)
    const before = ended
    await until(() => begun > before)
    socket.destroy()
    await until(() => ended > before)
    await nextTurn()
  }
  t.equal(errors.filter(message => message !== 'closed').length, 2, errors.join())
})

t.test('a client that leaves closes the messages of the handler', async t => {
  const seen: string[] = []
  let waiting: ClientRequest | undefined
  const { app, url } = await start(t, (request, response) => {
    request.on('aborted', () => seen.push('aborted')).resume()
    response.on('close', () => seen.push(`closed ${response.writableFinished}`))
    if (request.url === '/waiting') setImmediate(() => waiting?.destroy())
    else response.write('begun')
  })
  const statuses: unknown[] = []
  app.dispatcher.on(TerminateEvent, ({ isSent, response }) => void statuses.push([isSent, response.status]))
  const leaving = new AbortController()
  await fetch(`${url}/legacy/streaming`, { signal: leaving.signal })
  leaving.abort()
  await until(() => seen.length > 0 && statuses.length > 0)
  t.strictSame([seen.splice(0).at(-1), statuses.splice(0)], ['closed false', [[false, 200]]])
  app.dispatcher.on(RequestEvent, async ({ request }) => {
    if (request.path !== '/legacy/early') return
    waiting?.destroy()
    await once(request.signal, 'abort')
  })
  waiting = httpRequest(`${url}/legacy/early`)
    .on('error', () => undefined)
    .end()
  await until(() => statuses.length > 0)
  t.strictSame([seen.splice(0).at(-1), statuses.splice(0)], ['closed false', [[false, 499]]])
  waiting = httpRequest(`${url}/legacy/waiting`)
    .on('error', () => undefined)
    .end()
  await until(() => statuses.length > 0)
  t.strictSame([seen.at(-1), statuses], ['closed false', [[false, 499]]])
})

t.test('a handler that fails, that closes its socket, or that answers twice', async t => {
  const handlers: Record<string, NodeHandler> = {
    '/rejects': async () => {
      await nextTurn()
      throw new Error('on purpose')
    },
    '/throws': () => {
      throw undefined
    },
    '/destroys': (_request, response) => void response.destroy(),
    '/requests': request => void request.destroy(new Error('on purpose')),
    '/socket': ({ socket }) => {
      socket.setTimeout(1).setNoDelay().setKeepAlive().ref().unref().read()
      socket.destroy()
    },
    '/late': (_request, response, next) => {
      response.write('begun')
      setImmediate(() => setImmediate(() => next('a text')))
    },
    '/router': (_request, _response, next) => next('router'),
    '/status': (_request, _response, next) => next(Object.assign(new Error('teapot'), { status: 218 })),
  }
  const { client, records } = await boot(t, (request, response, next) =>
    handlers[request.url ?? '']?.(request, response, next),
  )
  for (const path of ['/rejects', '/throws', '/destroys', '/requests', '/socket', '/status']) {
    t.equal((await client.get(`/legacy${path}`)).status, 500, path)
  }
  await t.rejects(client.get('/legacy/late'), /broke off/)
  t.equal((await client.get('/legacy/router')).status, 404)
  t.match(records.map(({ context }) => context.message).join('\n'), /on purpose[\s\S]*has closed the connection/)
})

t.test('a sub-request has no body, and a fragment may come from a handler', async t => {
  const { app, client } = await boot(t, (request, response) => {
    const { 'content-length': length = 'none', 'x-a': own } = request.headers
    let content = ''
    request.on('data', chunk => {
      content += chunk
    })
    request.on('end', () => response.end(`${own} ${length} <${content}>`))
  })
  app.routes.add({
    name: 'outer',
    path: '/outer',
    controller: async request => {
      const response = await app.kernel.handle(request.duplicate({ method: 'GET', target: '/legacy/inner' }))
      return response
    },
  })
  const { text } = await client.post('/outer', { body: 'for the main request', headers: { 'x-a': 'yes' } })
  t.equal(text, 'yes none <>')
})
