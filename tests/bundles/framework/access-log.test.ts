import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { type Bundle, createFrameworkBundle, type FinishedRequest } from 'sinfonietta'
import { createRequest, createTestKernel, type TestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { createProfiledTestKernel } from '#bundles/profiler/testing/create-profiled-test-kernel.ts'
import { Response } from '#lib/http/response.ts'
import { serveKernel } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

const randomId = /^[\da-f]{32}$/

/** A kernel with some routes. `finished` has what the signal has reported. */
async function start(t: Test, variables: Record<string, string> = {}, bundles: readonly Bundle[] = []) {
  const finished: FinishedRequest[] = []
  const shop: Bundle = {
    name: 'shop',
    register({ routes, signals }) {
      signals.on('request.finished', value => finished.push(value))
      const add = (name: string, path: string, controller: () => Response | Promise<Response>) =>
        routes.add({ name, path, methods: ['GET', 'POST'], controller })
      add('article', '/articles/:id', () => Response.text('ä'))
      add('reset', '/reset/:token', () => Response.text('reset'))
      add('stream', '/stream', () => Response.stream(Readable.from(['one', 'two'])))
      add('endless', '/endless', () => Response.stream(Readable.from(endless())))
      add('misleading', '/misleading', () => Response.text('ä', { headers: { 'content-length': 'many' } }))
      add('empty', '/empty', () => new Response(null, { status: 204 }))
      routes.add({ name: 'quiet', path: '/quiet', defaults: { _log: false }, controller: () => Response.text('') })
      add('broken', '/broken', async () => {
        await new Promise(setImmediate)
        throw new Error('broken')
      })
    },
  }
  const kernel = await createTestKernel({
    bundles: [createFrameworkBundle(), shop, ...bundles],
    directory: t.testdir(),
    variables: { APP_ENV: 'prod', APP_SECRET: 'a secret of the test, and of nothing else', ...variables },
  })
  t.teardown(() => kernel.close())
  return { ...kernel, finished, lines: () => linesOf(kernel) }
}

async function* endless(): AsyncGenerator<string> {
  for (;;) {
    await new Promise(setImmediate)
    yield 'tick'
  }
}

function linesOf({ records }: Pick<TestKernel, 'records'>) {
  return records.filter(({ channel }) => channel === 'access').map(({ context, message }) => ({ message, ...context }))
}

t.test('the access log', async t => {
  t.test('production logs a line for each request, with the id that the response has', async t => {
    const { client, records } = await start(t)
    const { headers } = await client.get('/articles/7?token=abc', { headers: { 'user-agent': 'x' } })
    const id = headers.get('x-request-id')
    t.match(id, randomId)
    const access = records.filter(({ channel }) => channel === 'access')
    t.match(access, [
      {
        level: 'info',
        message: 'GET /articles/7 200',
        requestId: id,
        context: { method: 'GET', path: '/articles/7', route: 'article', status: 200, ms: Number, bytes: 2 },
      },
    ])
    t.equal(access[0]?.context.client, '127.0.0.1')
    t.strictSame(Object.keys(access[0]?.context ?? {}), ['method', 'path', 'route', 'status', 'ms', 'bytes', 'client'])
  })

  t.test('secrets in paths are masked, and long paths are cut', async t => {
    const { client, lines } = await start(t)
    await client.get('/reset/c2VjcmV0IHNlY3JldA')
    await client.get(`/${'x'.repeat(3000)}`)
    const [reset, long] = lines()
    t.strictSame([reset?.message, Reflect.get(Object(reset), 'path')], ['GET /reset/****** 200', '/reset/******'])
    t.equal(long?.message, `GET /${'x'.repeat(1022)}… 404`)
    await client.get('/malformed/%zz?key=value')
    t.equal(lines().at(-1)?.message, 'GET /malformed/%zz 400', 'without a query, if the target is malformed as well')
  })

  t.test('a request has the same line as its equals before, and no part of a line of others', async t => {
    const { app, client, lines } = await start(t)
    const requests = fc.array(
      fc.record({
        method: fc.constantFrom('GET', 'POST'),
        host: fc.constantFrom('localhost', 'localhost:71', 'token=abc'),
        path: fc.constantFrom(
          '/articles/7',
          '/articles/8',
          '/reset/first',
          '/articles/password=x',
          '/none/7',
          '/none/8',
        ),
        query: fc.constantFrom('', '?page=2', `?token=${'x'.repeat(300)}`),
      }),
      { minLength: 30, maxLength: 30 },
    )
    const property = fc.asyncProperty(requests, async list => {
      const before = lines().length
      const expected: string[] = []
      for (const { host, method, path, query } of list) {
        const { status } = await client.request(method, path + query, { headers: { host } })
        const origin = host === 'token=abc' ? '' : `http://${host}`
        expected.push(`${method} ${app.redactor.text(origin + path).slice(origin.length)} ${status}`)
      }
      t.strictSame(
        lines()
          .slice(before)
          .map(({ message }) => message),
        expected,
      )
      // What is masked may change at any time.
      app.redactor.add(text => text.replaceAll('8', '9'))
    })
    await fc.assert(property, { numRuns: 5 })
  })

  t.test('health checks are not logged, nor are routes that ask for it', async t => {
    const { client, finished, lines } = await start(t)
    await client.get('/_health')
    await client.get('/_health/live')
    await client.get('/quiet')
    t.strictSame(lines(), [])
    t.equal(finished.length, 3)
  })

  t.test('ACCESS_LOG turns it off, and on in tests', async t => {
    const requestAll = async (variables: Record<string, string>) => {
      const { client, lines } = await start(t, variables)
      await client.get('/articles/7')
      return lines().length
    }
    t.equal(await requestAll({ ACCESS_LOG: '0' }), 0)
    t.equal(await requestAll({ APP_ENV: 'dev', ACCESS_LOG: '0' }), 0)
    t.equal(await requestAll({ APP_ENV: 'test' }), 0)
    t.equal(await requestAll({ APP_ENV: 'test', ACCESS_LOG: '1' }), 1)
  })

  t.test('in development, INFO has one line for each page of a server, and none for an asset', async t => {
    const listInfo = async (variables: Record<string, string>) => {
      const { app, client, records } = await start(t, { APP_ENV: 'dev', ...variables })
      if (variables.ACCESS_LOG === undefined) await client.get('/articles/1')
      app.signals.emit('server.listening', { url: 'http://127.0.0.1:8000', worker: 1 })
      await client.get('/articles/7')
      await client.get('/assets/framework/error.css')
      await client.get('/assets/framework/missing.css')
      return records.filter(({ level }) => level === 'info').map(({ message }) => message)
    }
    const pages = ['GET /articles/7 200', 'GET /assets/framework/missing.css 404']
    t.strictSame(await listInfo({}), pages)
    t.strictSame(await listInfo({ ACCESS_LOG: '1' }), pages.toSpliced(1, 0, 'GET /assets/framework/error.css 200'))
  })

  t.test('a line is no work of its request, so it is not in the profile', async t => {
    const page: Bundle = {
      name: 'page',
      register({ routes }) {
        routes.get('page', '/', () => Response.text(''))
      },
    }
    const variables = { ACCESS_LOG: '1' }
    const kernel = await createProfiledTestKernel({ bundles: [createFrameworkBundle(), page], variables })
    t.teardown(kernel.close)
    const profile = await kernel.expectProfile(await kernel.client.get('/'))
    t.match(linesOf(kernel), [{ message: 'GET / 200' }])
    profile.logged('debug').not.logged('info').not.hadFindings('late-work')
  })

  t.test('a response that a client did not wait for is marked', async t => {
    const kernel = await start(t)
    const { port } = await serveKernel(t, kernel)
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await once(socket, 'data')
    socket.destroy()
    await until(() => kernel.lines().length === 1)
    t.match(kernel.lines(), [{ message: 'GET /endless 200', isSent: false }])
    t.ok(Number(kernel.finished[0]?.bytesSent) > 0)
  })
})

t.test('request.finished', async t => {
  t.test('reports route, bytes and duration of each main request', async t => {
    const { client, finished } = await start(t)
    await client.post('/articles/7', { body: 'hello', headers: { 'content-type': 'text/plain' } })
    await client.get('/stream')
    await client.head('/articles/7')
    await client.get('/empty')
    // Without our server, a field of the application stays.
    await client.get('/misleading')
    await client.get('/nowhere')
    const [first] = finished
    t.strictSame(
      finished.map(({ bytesReceived, bytesSent, isSent, request, response, route }) => [
        request.method,
        route,
        response.status,
        bytesReceived,
        bytesSent > 100 ? 'a page' : bytesSent,
        isSent,
      ]),
      [
        ['POST', 'article', 200, 5, 2, true],
        ['GET', 'stream', 200, 0, 6, true],
        ['HEAD', 'article', 200, 0, 0, true],
        ['GET', 'empty', 204, 0, 0, true],
        ['GET', 'misleading', 200, 0, 2, true],
        ['GET', undefined, 404, 0, 'a page', true],
      ],
    )
    t.ok(Number(first?.duration) >= 0 && Number(first?.duration) < 60_000)
    t.equal(first?.traceId, undefined)
  })

  t.test('knows the trace of a client, and bodies without a declared length', async t => {
    const kernel = await start(t)
    const { raw } = await serveKernel(t, kernel)
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
    const head = `POST /articles/7 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\ntraceparent: 00-${trace}-00f067aa0ba902b7-01\r\n`
    await raw(`${head}Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`)
    await raw(`${head}Content-Type: image/png\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`)
    t.strictSame(
      kernel.finished.map(({ bytesReceived, bytesSent, traceId }) => [bytesReceived, bytesSent, traceId]),
      [
        [5, 2, trace],
        [undefined, 2, trace],
      ],
    )
    t.match(
      kernel.finished[0]?.request.id,
      randomId,
      'without tracing, the trace of a client is not the id of its request',
    )
  })

  t.test('bytes of a text whose client has left are not counted', async t => {
    const { app, finished } = await start(t)
    const request = createRequest('/articles/7')
    await app.kernel.terminate(request, await app.kernel.handle(request), { isSent: false })
    t.strictSame([finished[0]?.isSent, finished[0]?.bytesSent], [false, 0])
  })
})

t.test('the id of a request', async t => {
  t.test('is in the messages of the framework about it, without the request context', async t => {
    const { app, client, records } = await start(t)
    t.equal(
      app.context.run(createRequest(), () => app.context.current),
      undefined,
      'the context is not enabled',
    )
    const { headers, text } = await client.get('/broken')
    const id = String(headers.get('x-request-id'))
    t.equal(records.find(({ level }) => level === 'critical')?.requestId, id)
    t.match(text, `<code title="${id}">${id.slice(0, 8)}</code>`)
  })

  t.test('is in the messages of a bundle that uses the log, also after it has waited', async t => {
    const talking: Bundle = {
      name: 'talking',
      register({ logger, routes }) {
        const controller = async () => {
          logger.warning('Before.')
          await new Promise(setImmediate)
          logger.channel('other').warning('After.')
          return Response.text('')
        }
        routes.add({ name: 'talk', path: '/talk', controller })
      },
    }
    const { client, records } = await start(t, {}, [talking])
    const answers = await Promise.all([client.get('/talk'), client.get('/talk')])
    for (const { headers } of answers) {
      const own = records.filter(({ requestId }) => requestId === headers.get('x-request-id'))
      t.strictSame(
        own.filter(({ level }) => level === 'warning').map(({ message }) => message),
        ['Before.', 'After.'],
      )
    }
  })

  t.test('is that of a trusted proxy if TRUSTED_HEADERS has x-request-id', async t => {
    const ask = async (variables: Record<string, string>, value: string) => {
      const { client } = await start(t, variables)
      return (await client.get('/empty', { headers: { 'x-request-id': value } })).headers.get('x-request-id')
    }
    const trusted = { TRUSTED_PROXIES: '127.0.0.1', TRUSTED_HEADERS: 'x-forwarded-for,x-request-id' }
    t.equal(await ask(trusted, 'f3-a/1:2'), 'f3-a/1:2')
    for (const unsafe of ['', 'a b', '"><b>', 'a,b', 'x'.repeat(129)]) t.match(await ask(trusted, unsafe), randomId)
    t.match(await ask({ TRUSTED_PROXIES: '127.0.0.1' }, 'f3'), randomId)
  })
})
