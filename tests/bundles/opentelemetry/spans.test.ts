import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { t } from 'tap'
import { currentRequest, defineController } from '#kernel/controller.ts'
import { RequestEvent, TerminateEvent } from '#kernel/events.ts'
import { HttpError } from '#lib/errors/http-error.ts'
import type { Request } from '#lib/http/request.ts'
import { Response } from '#lib/http/response.ts'
import type { ReceivedSpan } from '#tests/support/decode-traces.ts'
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
function withoutListeners(spans: readonly ReceivedSpan[]): ReceivedSpan[] {
  return spans.filter(({ name }) => !name.startsWith('kernel.') || name.includes('SlowListener'))
}

t.test('a request has a span with its children: controller, template and sub-request', async t => {
  const kernel = await createTracedKernel(t, {
    directory: t.testdir(files),
    register({ dispatcher, routes, view }) {
      const page = async (request: Request) => new Response(await view.render('own/page', { title: 'Hello' }, request))
      routes.add({ name: 'blog', path: '/blog/:slug', controller: defineController('blog', [currentRequest], page) })
      routes.add({ name: 'part', path: '/part', controller: defineController('part', [], () => new Response('x')) })
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
    register({ routes }) {
      const fail = () => {
        throw new RangeError('password=opensesame is wrong')
      }
      routes.add({ name: 'fail', path: '/fail', controller: fail })
      routes.add({ name: 'late', path: '/late', controller: async () => fail() })
      const miss = () => {
        throw new HttpError(404, 'no such thing')
      }
      routes.add({ name: 'miss', path: '/miss', controller: miss })
    },
  })
  for (const path of ['/fail', '/late', '/miss', '/none']) await kernel.client.get(path)
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
  t.equal(
    receiver.span('GET').attributes['http.route'],
    undefined,
    'a request without a route has the name of its method',
  )
  t.equal(receiver.spans.filter(({ name }) => name === 'sub-request error_controller').length, 4)
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

t.test('unusual requests have a span, too', async t => {
  const kernel = await createTracedKernel(t)
  const { raw } = await serveKernel(t, kernel)
  await raw('BREW /pot HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  await raw('GET / HTTP/1.0\r\n\r\n')
  await kernel.close()
  const { receiver } = kernel
  t.match(receiver.spans.find(({ attributes }) => attributes['network.protocol.version'] === '1.0')?.attributes, {
    'server.address': undefined,
    'server.port': undefined,
    'url.path': '/',
  })
})

t.test('a span ends when the response was sent, also if the client has left or the stream fails', async t => {
  let ended = 0
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
        await delay(1)
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
  await fetch(`${url}/broken`)
    .then(response => response.text())
    .catch(() => undefined)
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
