import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Redis } from 'ioredis'
import { createPool } from 'mysql2/promise'
import { createClientPool } from 'redis'
import type { Request } from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { type Test, t } from 'tap'
import { instrumentations } from '#bundles/opentelemetry/instrumentations.ts'
import { Response } from '#lib/http/response.ts'
import type { ExportedSpan } from '#tests/support/decode-traces.ts'
import { findPort } from '#tests/support/find-port.ts'
import { lacksMariadb, startMariadb } from '#tests/support/start-mariadb.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'
import { createTracedKernel } from './traced-kernel.ts'

/** The spans of calls of overlapping requests, each of which works with its own number, by that number. */
async function runTraced(t: Test, work: (number: number) => Promise<unknown>, environment = 'prod') {
  const kernel = await createTracedKernel(t, {
    variables: { APP_ENV: environment },
    bundles: environment === 'dev' ? [createProfilerBundle()] : [],
    register({ routes }) {
      const controller = async ({ query }: Request) => {
        await work(Number(query.get('number')))
        return Response.text('')
      }
      routes.add({ name: 'work', path: '/work', controller })
    },
  })
  const numbers = Array.from({ length: 60 }, (_, index) => index)
  await Promise.all(numbers.map(number => kernel.client.get(`/work?number=${number}`)))
  await kernel.close()
  const { spans } = kernel.receiver
  return numbers.map(number => {
    const root = spans.find(({ attributes }) => attributes['url.query'] === `number=${number}`)
    const ofTrace = spans.filter(({ traceId }) => traceId === root?.traceId)
    const parents = new Set(ofTrace.filter(({ kind }) => kind !== 3).map(({ spanId }) => spanId))
    const calls = ofTrace.filter(({ kind, parentId }) => kind === 3 && parents.has(parentId))
    return { number, calls, count: spans.filter(({ kind }) => kind === 3).length }
  })
}

/** A command says which request it belongs to: its key is not part of a span. */
const commands = ['get', 'exists', 'type', 'ttl', 'strlen'] as const

const commandOf = (number: number) => commands[number % commands.length] ?? 'get'

function checkCommands(t: Test, requests: Awaited<ReturnType<typeof runTraced>>, perRequest: number): void {
  const wrong = requests.filter(({ calls, number }) => {
    const names = calls.map(({ name }) => name)
    return names.length !== perRequest || names.some(name => name !== commandOf(number).toUpperCase())
  })
  t.strictSame(wrong, [], 'each request has its own commands')
  t.equal(requests[0]?.count, requests.length * perRequest, 'each command has one span')
}

t.test('commands of Redis have spans in the trace of their request', { skip: lacksRedis }, async t => {
  const socket = await startRedis(t)
  const redis = new Redis(socket)
  const pool = createClientPool({ socket }, { maximum: 2, acquireTimeout: 0 })
  await Promise.all([redis.ping(), pool.connect()])
  t.teardown(() => {
    redis.disconnect()
    pool.destroy()
  })
  const useIoredis = (number: number) => redis[commandOf(number)]('k')
  const nodeRedis = { get: 'get', exists: 'exists', type: 'type', ttl: 'ttl', strlen: 'strLen' } as const
  const usePool = (number: number) => pool[nodeRedis[commandOf(number)]]('k')
  const useBoth = (number: number) => Promise.all([useIoredis(number), usePool(number), usePool(number)])

  for (const environment of ['prod', 'dev']) {
    await t.test(environment, async t => checkCommands(t, await runTraced(t, useBoth, environment), 3))
  }

  await t.test('by the conventions, without the key', async t => {
    const [request] = await runTraced(t, async number => {
      if (number !== 0) return
      await redis.multi().set('secret', 1).get('secret').exec()
      await redis.lpush('secret', 1).catch(() => {})
    })
    const place = { 'db.namespace': '0', 'server.address': socket.host, 'server.port': socket.port }
    const ofCommand = (name: string) => ({
      'db.system.name': 'redis',
      'db.query.text': name,
      'db.query.summary': name,
      'db.operation.name': name,
      ...place,
    })
    t.strictSame(request?.calls.map(describeSpan), [
      { name: 'MULTI', status: 0, ...ofCommand('MULTI'), 'db.operation.batch.size': 2 },
      { name: 'LPUSH', status: 2, ...ofCommand('LPUSH'), 'error.type': 'ReplyError' },
    ])
  })

  await t.test('a library with an instrumentation has the spans of that only', async t => {
    instrumentations.push({
      instrumentationName: '@opentelemetry/instrumentation-ioredis',
      setTracerProvider() {},
      getConfig: () => ({}),
      setConfig() {},
      getModuleDefinitions: () => [],
    })
    t.teardown(() => instrumentations.pop())
    checkCommands(t, await runTraced(t, useBoth), 2)
  })
})

t.test('queries of mysql2 have spans in the trace of their request', { skip: lacksMariadb }, async t => {
  const pool = createPool({ ...(await startMariadb(t)), connectionLimit: 2 })
  t.teardown(() => pool.end())
  const requests = await runTraced(t, async number => {
    await pool.query(`SELECT 7 AS number${number}`)
    await pool.execute(`SELECT ? AS number${number}`, [7])
  })
  const statements = (number: number) => [`SELECT ? AS number${number}`, `SELECT ? AS number${number}`]
  t.strictSame(
    requests.filter(
      ({ calls, number }) =>
        JSON.stringify(calls.map(({ attributes }) => attributes['db.query.text'])) !==
        JSON.stringify(statements(number)),
    ),
    [],
  )
  t.match(requests[0]?.calls[0]?.attributes, { 'db.system.name': 'mysql', 'db.response.returned_rows': 1 })
})

/** Calls a URL until its response has ended. */
type Call = (url: string, headers?: Readonly<Record<string, string>>) => Promise<unknown>

const callByHttp: Call = async (url, headers = {}) => {
  const [response] = await once(get(url, { headers }), 'response')
  return text(response)
}

const callByFetch: Call = async (url, headers = {}) => (await fetch(url, { headers })).text()

for (const [client, call] of [
  ['fetch', callByFetch],
  ['node:http', callByHttp],
] as const) {
  t.test(`calls of ${client} have spans, and carry their trace context`, t => testSpans(t, call))
  t.test(`a call of ${client} with a trace context of the application carries no other`, t => testOwn(t, call))
}

async function testSpans(t: Test, call: Call) {
  const received = new Map<string, string>()
  const server = createServer((request, response) => {
    received.set(String(request.url), String(request.headers.traceparent))
    response.statusCode = request.url?.startsWith('/0') ? 404 : 200
    response.end('text')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const closed = `http://127.0.0.1:${await findPort()}/`
  const origin = `http://127.0.0.1:${port}`
  const requests = await runTraced(t, async number => {
    await call(`${origin}/${number}?token=secret`)
    await call(closed).catch(() => {})
  })
  const wrong = requests.filter(({ calls: [call, failed, ...more], number }) => {
    const url = call?.attributes['url.full']
    const sent = received.get(`/${number}?token=secret`)
    const isOwn = url === `${origin}/${number}?token=******` && sent === `00-${call?.traceId}-${call?.spanId}-01`
    return !isOwn || failed?.attributes['error.type'] !== 'ECONNREFUSED' || more.length > 0
  })
  t.strictSame(wrong, [])
  const common = { 'http.request.method': 'GET', 'server.address': '127.0.0.1', 'server.port': port, name: 'GET' }
  t.hasStrict(requests[0]?.calls.map(describeSpan)[0], {
    ...common,
    status: 2,
    'http.response.status_code': 404,
    'error.type': '404',
  })
  t.hasStrict(requests[1]?.calls.map(describeSpan)[0], { ...common, status: 0, 'http.response.status_code': 200 })
}

async function testOwn(t: Test, call: Call) {
  const received: unknown[] = []
  const server = createServer((request, response) => {
    received.push(request.rawHeaders.filter((_, index, texts) => /^traceparent$/i.test(String(texts[index - 1]))))
    response.end('text')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const own = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  const [request] = await runTraced(t, async number => {
    if (number !== 0) return
    await call(`http://127.0.0.1:${port}/`, { Traceparent: own })
  })
  t.strictSame(received, [[own]])
  t.equal(request?.calls.length, 1, 'the call has its span')
}

function describeSpan({ attributes, name, status }: ExportedSpan) {
  return { name, status, ...attributes }
}
