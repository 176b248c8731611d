import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { type SpanContext, SpanStatusCode, trace } from '@opentelemetry/api'
import { HttpError, type Request, RequestEvent, TerminateEvent } from 'sinfonietta'
import { createRequestEvent } from 'sinfonietta/testing'
import { t } from 'tap'
import { defineController } from '#kernel/controller.ts'
import { Event } from '#lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '#lib/http/response.ts'
import type { ExportedSpan } from '#tests/support/decode-traces.ts'
import { openConnection, serveKernel } from '#tests/support/test-server.ts'
import { toTree } from '#tests/support/trace-receiver.ts'
import { until } from '#tests/support/until.ts'
import { createTracedKernel } from './traced-kernel.ts'

/** Templates of an application, and its manifest. */
const files = {
  'package.json': '{ "name": "acme-shop", "version": "1.2.3" }',
  templates: {
    own: {
      'page.hbs': '<h1>{{title}}</h1>{{> own/part}}{{render "/part"}}',
      'part.hbs': '<p>part</p>',
      'broken.hbs': '{{explode}}',
    },
  },
}

/** Without the calls of listeners that were slow by chance. */
function withoutListeners(spans: readonly ExportedSpan[]): ExportedSpan[] {
  return spans.filter(({ name }) => !name.startsWith('kernel.') || name.includes('SlowListener'))
}

t.test('a request has a span with its children: controller, template and sub-request', async t => {
  const kernel = await createTracedKernel(t, {
    directory: t.testdir(files),
    register({ dispatcher, routes, view }) {
      const page = async (request: Request) => new Response(await view.render('own/page', { title: 'Hello' }, request))
      routes.add({ name: 'blog', path: '/blog/:slug', controller: defineController('blog', page) })
      routes.add({ name: 'part', path: '/part', controller: defineController('part', () => new Response('x')) })
      dispatcher.on(
        RequestEvent,
        ({ isMainRequest }) => (isMainRequest ? delay(5) : undefined),
        900,
        'SlowListener.wait',
      )
    },
  })
  t.equal((await kernel.client.get('/blog/first?page=2')).text, '<h1>Hello</h1><p>part</p>x')
  await kernel.close()
  const { receiver } = kernel
  t.strictSame(toTree(withoutListeners(receiver.spans)), [
    'GET /blog/:slug',
    '  kernel.request SlowListener.wait',
    '  controller blog',
    '    render own/page',
    '      sub-request /part',
    '        controller part',
  ])
  const span = receiver.span('GET /blog/:slug')
  t.equal(span.kind, 2, 'a span of a server')
  t.equal(span.parentId, '')
  t.equal(span.status, 0)
  t.equal(span.scope, 'sinfonietta')
  t.strictSame(span.attributes, {
    'http.request.method': 'GET',
    'url.scheme': 'http',
    'url.path': '/blog/first',
    'url.query': 'page=2',
    'server.address': 'localhost',
    'server.port': 80,
    'client.address': '127.0.0.1',
    'network.protocol.version': '1.1',
    'http.route': '/blog/:slug',
    'http.response.status_code': 200,
  })
  t.ok(span.end > span.start)
  t.strictSame(receiver.span('controller blog').attributes, { 'code.function.name': 'blog' })
  t.strictSame(receiver.span('sub-request /part').attributes, {
    'http.route': '/part',
    'http.response.status_code': 200,
  })
  const wait = receiver.span('kernel.request SlowListener.wait')
  t.ok(wait.end - wait.start >= 4_000_000n, 'the time of the listener')
  const { 'process.pid': pid, ...resource } = span.resource
  t.equal(pid, process.pid)
  t.match(resource, {
    'service.name': 'acme-shop',
    'service.version': '1.2.3',
    'deployment.environment.name': 'prod',
    'telemetry.sdk.language': 'nodejs',
  })
})

t.test('an error is an event of the span, which has failed; a client’s mistake is neither', async t => {
  const kernel = await createTracedKernel(t, {
    register({ dispatcher, routes }) {
      const fail = () => {
        throw new RangeError('password=opensesame is wrong')
      }
      routes.add({ name: 'fail', path: '/fail', controller: fail })
      routes.add({ name: 'late', path: '/late', controller: async () => fail() })
      const miss = () => {
        throw new HttpError(404, 'no such thing')
      }
      routes.add({ name: 'miss', path: '/miss', controller: miss })
      const refuse = async ({ isMainRequest, request }: RequestEvent) => {
        if (request.path !== '/refused' || !isMainRequest) return
        await delay(5)
        throw new Error('refused')
      }
      dispatcher.on(RequestEvent, refuse, 900, 'SlowListener.refuse')
    },
  })
  for (const path of ['/fail', '/late', '/miss', '/none', '/refused']) await kernel.client.get(path)
  await kernel.close()
  const { receiver } = kernel
  for (const name of ['fail', 'late']) {
    const span = receiver.span(`GET /${name}`)
    t.equal(span.status, 2)
    t.match(span.attributes, { 'http.response.status_code': 500, 'error.type': 'RangeError' })
    const [event] = span.events
    t.equal(span.events.length, 1)
    t.equal(event?.name, 'exception')
    t.match(event?.attributes, {
      'exception.type': 'RangeError',
      'exception.message': 'password=****** is wrong',
      'exception.stacktrace': /^at .*spans\.test/,
    })
    const controller = receiver.span(`controller ${name}`)
    t.equal(controller.status, 2)
    t.equal(controller.attributes['error.type'], 'RangeError')
  }
  const missed = receiver.span('GET /miss')
  t.strictSame([missed.status, missed.events, missed.attributes['error.type']], [0, [], undefined])
  t.equal(missed.attributes['http.response.status_code'], 404)
  const refused = receiver.spans.filter(({ name, status }) => name.endsWith('SlowListener.refuse') && status === 2)
  t.equal(refused.length, 1)
  const unnamed = receiver.spans.filter(({ name }) => name === 'GET')
  t.strictSame(
    unnamed.map(({ attributes }) => attributes['http.response.status_code']),
    [404, 500],
    'a request without a route has the name of its method',
  )
  t.equal(receiver.spans.filter(({ name }) => name === 'sub-request error_controller').length, 5)
})

t.test('a failing template fails its render, its controller and its request', async t => {
  const kernel = await createTracedKernel(t, {
    directory: t.testdir(files),
    register({ routes, view }) {
      view.addHelper('explode', () => {
        throw new TypeError('no')
      })
      routes.add({ name: 'x', path: '/x', controller: () => Response.html(view.render('own/broken', {})) })
    },
  })
  t.equal((await kernel.client.get('/x')).status, 500)
  await kernel.close()
  const { receiver } = kernel
  const names = ['GET /x', 'controller x', 'render own/broken']
  t.strictSame(
    names.map(name => receiver.span(name).attributes['error.type']),
    names.map(() => 'VIEW_RENDER_FAILED'),
  )
  t.strictSame(
    names.map(name => receiver.span(name).status),
    [2, 2, 2],
  )
})

t.test('secrets in the path, the query and the headers are masked', async t => {
  const kernel = await createTracedKernel(t, {
    variables: { OTEL_EXPORTER_OTLP_HEADERS: 'x-team=blue,api-key=canary%2Dkey%20long', SHOP_TOKEN: 'canary-setting' },
    register({ routes }) {
      routes.add({ name: 'reset', path: '/reset/:token', controller: () => new Response('') })
    },
  })
  const headers = { 'user-agent': 'spider canary-setting', 'x-api-key': 'canary-header', cookie: 'a=canary-cookie' }
  await kernel.client.get('/reset/canary-path?token=canary-query&page=1', { headers })
  await kernel.close()
  const { exports, spans } = kernel.receiver
  t.notMatch(
    JSON.stringify(spans, (_name, value) => (typeof value === 'bigint' ? '' : value)),
    /canary/,
  )
  const { attributes } = kernel.receiver.span('GET /reset/:token')
  t.match(attributes, {
    'url.path': '/reset/******',
    'url.query': 'token=******&page=1',
    'user_agent.original': 'spider ******',
  })
  t.match(
    exports[0]?.headers,
    { 'x-team': 'blue', 'api-key': 'canary-key long' },
    'the headers of the setting are sent',
  )
})

class Restocked extends Event {
  static readonly eventName = 'stock.changed'
}

t.test('unusual requests have a span, too', async t => {
  const kernel = await createTracedKernel(t, {
    variables: { SHOP_TOKEN: 'secret.example' },
    register({ dispatcher, routes }) {
      dispatcher.on(Restocked, () => delay(5))
      routes.add({
        name: 'stock',
        path: '/stock',
        controller: async () => {
          await dispatcher.dispatch(new Restocked())
          return Response.text('')
        },
      })
    },
  })
  const { app, client } = kernel
  await client.request('BREW', '/pot')
  await client.get('http://secret.example/x?page=1')
  await client.get('/stock')
  const { raw } = await serveKernel(t, kernel)
  await raw('GET / HTTP/1.0\r\n\r\n')
  app.dispatcher.on(RequestEvent, () => delay(5), 900)
  const event = createRequestEvent()
  await app.dispatcher.dispatch(event)
  t.match(event.failure?.error, { code: 'KERNEL_NO_ROUTE' })
  await kernel.close()
  const { receiver } = kernel
  const find = (name: string, value: unknown) =>
    receiver.spans.find(({ attributes }) => attributes[name] === value)?.attributes
  t.match(find('http.request.method_original', 'BREW'), { 'http.request.method': '_OTHER', 'url.path': '/pot' })
  t.equal(receiver.span('HTTP').attributes['http.response.status_code'], 501)
  t.match(find('url.query', 'page=1'), { 'url.path': 'http://******/x' }, 'a masked host')
  const old = find('network.protocol.version', '1.0')
  t.match(old, { 'url.path': '/' })
  t.notOk(Object.keys(old ?? {}).some(name => name.startsWith('server.')))
  t.strictSame(
    receiver.spans.filter(({ name }) => name.startsWith('stock.changed')),
    [],
    'events of the application have no spans',
  )
})

t.test('a span ends when the response was sent, also if the client has left or the stream fails', async t => {
  let ended = 0
  let breakStream: () => void = () => undefined
  const isRead = new Promise<void>(resolve => {
    breakStream = resolve
  })
  const kernel = await createTracedKernel(t, {
    register({ dispatcher, routes }) {
      dispatcher.on(TerminateEvent, () => ended++)
      const slow = async function* () {
        yield 'one'
        await delay(20)
        yield 'two'
      }
      const endless = async function* () {
        for (;;) {
          yield 'x'
          await delay(1)
        }
      }
      const broken = async function* () {
        yield 'one'
        await isRead
        throw new Error('the source is gone')
      }
      const streams = { slow, endless, broken }
      for (const [name, stream] of Object.entries(streams)) {
        routes.add({ name, path: `/${name}`, controller: () => new Response(Readable.from(stream())) })
      }
    },
  })
  const { port, server, url } = await serveKernel(t, kernel)
  t.equal(await (await fetch(`${url}/slow`)).text(), 'onetwo')
  const reader = (await fetch(`${url}/broken`)).body?.getReader()
  await reader?.read()
  breakStream()
  await t.rejects(async () => await reader?.read(), 'the head is sent, so the stream ends without its rest')
  const { received, socket } = openConnection(port)
  socket.write('GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until(() => received().includes('x'))
  socket.destroy()
  await until(() => ended === 3)
  await server.close({ deadline: 5_000 })
  await kernel.close()
  const { receiver } = kernel
  const slow = receiver.span('GET /slow')
  t.ok(slow.end - slow.start >= 15_000_000n, 'the time of the stream is part of it')
  t.ok(slow.end >= receiver.span('controller slow').end + 15_000_000n)
  t.equal(slow.status, 0)
  const broken = receiver.span('GET /broken')
  t.strictSame([broken.status, broken.attributes['error.type'], broken.events.length], [2, 'Error', 1])
  const endless = receiver.span('GET /endless')
  t.strictSame([endless.status, endless.attributes['error.type']], [0, 'aborted'])
})

t.test('health checks have no span, and the work for them none either', async t => {
  const kernel = await createTracedKernel(t)
  await kernel.client.get('/_health')
  await kernel.client.get('/_health/live')
  await kernel.client.get('/_healthy')
  await kernel.close()
  const roots = kernel.receiver.spans.filter(({ parentId }) => parentId === '')
  t.strictSame(
    roots.map(({ attributes }) => attributes['url.path']),
    ['/_healthy'],
  )
})

t.test('a query that the application measures has a span, without its values', async t => {
  const kernel = await createTracedKernel(t, {
    register({ queries, routes }) {
      const read = async () => {
        const rows = await queries.measure(
          'postgresql',
          "SELECT * FROM users u WHERE name = 'canary' AND id = $1",
          [7],
          async () => [1, 2],
        )
        queries.measure('redis', 'GET sess:canary', undefined, () => 'x')
        const failing = () => {
          throw Object.assign(new Error('canary is taken'), { code: '23505' })
        }
        t.throws(() => queries.measure('sqlite', 'insert into users values (1)', undefined, failing))
        const query = { system: 'mysql', source: 'measure', namespace: 'shop' } as const
        queries.begin({ ...query, text: '?', server: 'db.example:3306' })?.({})
        queries.begin({ ...query, text: 'SELECT 1', server: '/run/mysqld.sock' })?.({})
        t.equal(queries.begin({ ...query, source: 'span', text: 'SELECT 2' }), undefined)
        return Response.text(String(rows.length))
      }
      routes.add({ name: 'read', path: '/read', controller: read })
    },
  })
  t.equal((await kernel.client.get('/read')).text, '2')
  kernel.app.queries.measure('postgresql', 'SELECT 3', undefined, () => [])
  await kernel.close()
  const { receiver } = kernel
  const parent = receiver.span('controller read').spanId
  const clients = receiver.spans.filter(({ kind }) => kind === 3)
  t.ok(clients.every(({ parentId }) => parentId === parent))
  t.strictSame(
    clients.map(({ attributes, name, status }) => ({ ...attributes, name, status })),
    [
      {
        'db.system.name': 'postgresql',
        'db.query.text': 'SELECT * FROM users u WHERE name = ? AND id = $1',
        'db.query.summary': 'SELECT users',
        'db.operation.name': 'SELECT',
        'db.response.returned_rows': 2,
        name: 'SELECT users',
        status: 0,
      },
      {
        'db.system.name': 'redis',
        'db.query.text': 'GET',
        'db.query.summary': 'GET',
        'db.operation.name': 'GET',
        name: 'GET',
        status: 0,
      },
      {
        'db.system.name': 'sqlite',
        'db.query.text': 'insert into users values (?)',
        'db.query.summary': 'INSERT users',
        'db.operation.name': 'INSERT',
        'error.type': '23505',
        name: 'INSERT users',
        status: 2,
      },
      {
        'db.system.name': 'mysql',
        'db.query.text': '?',
        'db.query.summary': 'mysql',
        'db.namespace': 'shop',
        'server.address': 'db.example',
        'server.port': 3306,
        name: 'mysql',
        status: 0,
      },
      {
        'db.system.name': 'mysql',
        'db.query.text': 'SELECT ?',
        'db.query.summary': 'SELECT',
        'db.operation.name': 'SELECT',
        'db.namespace': 'shop',
        'server.address': '/run/mysqld.sock',
        name: 'SELECT',
        status: 0,
      },
    ],
  )
})

t.test('spans of libraries and of the application are masked before they are sent', async t => {
  const kernel = await createTracedKernel(t, {
    variables: { SHOP_TOKEN: 'canary-setting' },
    register({ routes }) {
      const controller = () => {
        const link = {
          context: trace.getActiveSpan()?.spanContext() as SpanContext,
          attributes: { token: 'canary-link' },
        }
        const tracer = trace.getTracer('library')
        const attributes = {
          'db.system': 'postgresql',
          'db.statement': "SELECT 'canary-literal'",
          'db.postgresql.values': ['canary-value'],
          'db.connection_string': 'postgresql://user:canary-password@localhost/shop',
          'db.user': 'canary-user',
        }
        const old = tracer.startSpan('pg.query:SELECT canary-setting', { attributes, links: [link] })
        old.setStatus({ code: SpanStatusCode.ERROR, message: 'Wrong value: "canary-status"' })
        old.recordException(new Error("Duplicate entry 'canary-event' for key 'a'"))
        old.addEvent('token=canary-event', { 'exception.message': '' })
        old.end()
        const names = {
          'db.system.name': 'redis',
          'db.query.text': 'SET sess:canary-key ?',
          'db.query.parameter.0': 'canary-parameter',
          'db.operation.parameter.id': 'canary-operation',
          'http.request.header.authorization': ['Bearer canary-header'],
          'url.full': 'https://example.org/?token=canary-url&page=1',
          api_key: 'canary-name',
          'shop.tokens': ['canary-token'],
          'stock.pieces': 3,
          'stock.shelves': ['a', 'b'],
          'stock.counts': [1, 2],
        }
        tracer.startSpan('cache', { attributes: names }).end()
        const other = tracer.startSpan('find', { attributes: { 'db.system': 'mongodb' } })
        other.addEvent('exception', { 'exception.message': 'dup key: { mail: "canary-key" }' })
        other.end()
        const plain = tracer.startSpan('plain')
        plain.setStatus({ code: SpanStatusCode.ERROR, message: 'token=canary-plain' })
        plain.end()
        return Response.text('')
      }
      routes.add({ name: 'x', path: '/x', controller })
    },
  })
  await kernel.client.get('/x')
  await kernel.close()
  const { receiver } = kernel
  const spans = receiver.spans.filter(({ scope }) => scope === 'library')
  t.equal(spans.length, 4)
  t.notMatch(
    JSON.stringify(spans, (_name, value) => (typeof value === 'bigint' ? '' : value)),
    /canary/,
  )
  t.strictSame(receiver.span('SELECT').attributes, { 'db.system': 'postgresql', 'db.statement': 'SELECT ?' })
  t.strictSame(receiver.span('SELECT').links, [{ token: '******' }])
  t.strictSame(receiver.span('cache').attributes, {
    'db.system.name': 'redis',
    'db.query.text': 'SET',
    'http.request.header.authorization': '******',
    'url.full': 'https://example.org/?token=******&page=1',
    api_key: '******',
    'shop.tokens': '******',
    'stock.pieces': 3,
    'stock.shelves': ['a', 'b'],
    'stock.counts': [1, 2],
  })
  t.equal(receiver.span('cache').parentId, receiver.span('controller x').spanId, 'its other parts are as they were')
})
