import { Readable } from 'node:stream'
import express from 'express'
import {
  addNodeMiddleware,
  createFrameworkBundle,
  EventStream,
  type NodeHandler,
  RequestEvent,
  TerminateEvent,
} from 'sinfonietta'
import { createTestKernel, type TestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { createHandlerBundle } from '#tests/support/handler-bundle.ts'
import { until } from '#tests/support/until.ts'

/** A kernel with a middleware before the routing, or at a priority. */
async function boot(t: Test, middleware: NodeHandler, priority?: number): Promise<TestKernel> {
  const handlers = createHandlerBundle({
    '/page': () => Response.html('<p>page</p>', { headers: { 'x-both': 'page' } }),
    '/echo': async request => Response.text(await request.text()),
    '/empty': () => Response.empty(),
    '/stream': () => Response.stream(Readable.from(['one ', 'two'])),
    '/fails': () => {
      throw new Error('on purpose')
    },
    '/breaks': () =>
      Response.stream(
        new Readable({
          read() {
            this.destroy(new Error('broken'))
          },
        }),
      ),
  })
  const bundle = {
    name: 'connecting',
    register: ({ dispatcher }: TestKernel['app']) => addNodeMiddleware(dispatcher, middleware, priority),
  }
  const bundles = [createFrameworkBundle(), handlers, bundle]
  const kernel = await createTestKernel({ bundles, variables: { APP_ENV: 'prod' } })
  t.teardown(() => kernel.close())
  return kernel
}

t.test('headers of a middleware stay, those of the kernel come first', async t => {
  const { client } = await boot(t, function secure(_request, response, next) {
    response.setHeader('x-secure', ['1', '2'])
    response.setHeader('x-both', 'middleware')
    next()
  })
  const page = await client.get('/page')
  t.strictSame([page.status, page.text], [200, '<p>page</p>'])
  t.strictSame([page.headers.getAll('x-secure'), page.headers.getAll('x-both')], [['1', '2'], ['page']])
  t.match(page.headers.get('content-type'), 'text/html; charset=UTF-8')
  const missing = await client.get('/nothing')
  t.strictSame([missing.status, missing.headers.get('x-secure')], [404, '1, 2'], 'error pages have them, too')
  t.equal((await client.get('/fails')).status, 500)
  const empty = await client.get('/empty')
  t.strictSame([empty.status, empty.headers.get('content-type')], [204, null])
  t.equal((await client.get('/stream')).text, 'one two')
  const head = await client.head('/page')
  t.strictSame([head.status, head.text, head.headers.get('x-secure')], [200, '', '1, 2'])
  t.match(await client.post('/echo', { body: 'sent' }), { text: 'sent' }, 'a body that it does not read is left')
  t.equal((await client.get('/breaks')).status, 500)
})

t.test('a middleware answers instead of the kernel, or refuses with an error', async t => {
  const app = express()
  app.get('/page', (_request, response) => void response.status(401).send('who are you?'))
  app.get('/echo', (_request, _response, next) => next(Object.assign(new Error('refused'), { status: 403 })))
  const { app: kernel, client } = await boot(t, app)
  t.match(await client.get('/page'), { status: 401, text: 'who are you?' })
  t.equal((await client.get('/echo')).status, 403)
  t.match(await client.get('/stream'), { status: 200, text: 'one two' })
  t.ok(
    kernel.dispatcher.listeners(RequestEvent).some(({ name }) => name === 'app'),
    'it has its name in the profiler',
  )
})

t.test('functions of the response that a middleware replaces are called with the response of the kernel', async t => {
  const ended: unknown[] = []
  const { client } = await boot(
    t,
    (_request, response, next) => {
      const { end, writeHead } = response
      response.writeHead = (status: number) => {
        response.setHeader('x-status', status)
        return writeHead.call(response, status)
      }
      response.end = (content: unknown) => end.call(response, `${content}!`, 'utf8')
      response.on('finish', () => ended.push(response.statusCode))
      next()
    },
    0,
  )
  const page = await client.get('/page')
  t.strictSame([page.text, page.headers.get('x-status')], ['<p>page</p>!', '200'])
  t.strictSame(ended, [200])
})

t.test('a middleware that reads a body has its limits', async t => {
  const { client } = await boot(t, express.text({ limit: '10mb' }))
  const headers = { 'content-type': 'text/plain' }
  t.equal((await client.post('/page', { headers, body: 'x' })).status, 200)
  t.equal((await client.post('/page', { headers, body: 'x'.repeat(2 ** 20 + 1) })).status, 413)
  t.equal((await client.post('/echo', { headers, body: 'x' })).status, 500, 'the body was read already')
})

t.test('a sub-request does not run the middleware again', async t => {
  let calls = 0
  const { app, client } = await boot(t, (_request, _response, next) => {
    calls++
    next()
  })
  app.routes.add({
    name: 'outer',
    path: '/outer',
    controller: request => app.kernel.handle(request.duplicate({ target: '/page?a' })),
  })
  t.equal((await client.get('/outer?b')).text, '<p>page</p>')
  t.equal(calls, 1)
})

t.test('a response keeps its class, and its stream ends when the client leaves', async t => {
  const { app, client } = await boot(t, (_request, response, next) => {
    response.setHeader('x-seen', 'yes')
    next()
  })
  const ended: string[] = []
  const source = new Readable({ read: () => undefined })
  app.routes.get('endless', '/endless', () => Response.stream(source))
  app.routes.get('events', '/events', request => {
    return new EventStream(request, stream => {
      stream.send({ data: 'one' })
      return () => ended.push('events')
    })
  })
  const classes: boolean[] = []
  app.dispatcher.on(TerminateEvent, ({ response }) => void classes.push(response instanceof EventStream))
  const events = await client.open('/events')
  t.strictSame(
    [events.headers.get('x-seen'), events.headers.get('content-type')],
    ['yes', 'text/event-stream; charset=UTF-8'],
  )
  await events.readUntil('data: one')
  await events.close()
  source.push('begun')
  const endless = await client.open('/endless')
  await endless.readUntil('begun')
  await endless.close()
  await until(() => source.destroyed && ended.length === 1)
  t.strictSame([classes, ended], [[true, false], ['events']])
})
