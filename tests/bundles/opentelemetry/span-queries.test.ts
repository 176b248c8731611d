import { type Attributes, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { createOpenTelemetryBundle } from 'sinfonietta/opentelemetry'
import { type Test, t } from 'tap'
import { configureInstrumentation, hasOwnChannel } from '#bundles/libraries/libraries.ts'
import { createSpanQueries } from '#bundles/opentelemetry/span-queries.ts'
import { Queries } from '#kernel/contracts/queries.ts'
import { RequestContext } from '#kernel/request-context.ts'
import { Response } from '#lib/http/response.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { lacksMariadb, startMariadb } from '#tests/support/start-mariadb.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'
import { startTraceReceiver } from '#tests/support/trace-receiver.ts'

/** Runs a query within a span, as the instrumentation of this name does. */
async function within(instrumentation: string, system: string, query: () => Promise<unknown>): Promise<void> {
  const attributes = { 'db.system': system, 'db.statement': 'as the span says' }
  await trace.getTracer(instrumentation).startActiveSpan('query', { kind: SpanKind.CLIENT, attributes }, async span => {
    await query()
    span.end()
  })
}

/** What a request records about its queries. */
async function recordQueries(t: Test, handler: () => unknown) {
  const { url } = await startTraceReceiver(t)
  const { client, profileOf } = await createProfiledKernel(t, {
    directory: process.cwd(),
    bundles: [createOpenTelemetryBundle()],
    variables: { OTEL_EXPORTER_OTLP_ENDPOINT: url },
    handlers: {
      async '/traced'() {
        await handler()
        return new Response('')
      },
    },
  })
  const { collectors } = await profileOf(await client.get('/traced'))
  const { queries = [], waits = [] } = collectors.queries ?? {}
  return { queries, waits }
}

/** The sources of the queries of a request whose query is reported by its library and by a span. */
async function sourcesOf(t: Test, instrumentation: string, system: string, query: () => Promise<unknown>) {
  const { queries } = await recordQueries(t, () => within(instrumentation, system, query))
  return queries.map(({ source }) => source)
}

t.test('ioredis: a query is recorded once', { skip: lacksRedis }, async t => {
  const { host, port } = await startRedis(t)
  const { Redis } = await import('ioredis')
  const redis = new Redis({ host, port })
  t.teardown(() => redis.disconnect())
  await redis.ping()
  const query = () => redis.get('key')
  t.strictSame(await sourcesOf(t, '@opentelemetry/instrumentation-ioredis', 'redis', query), ['channel'])
  t.strictSame((await sourcesOf(t, 'another', 'redis', query)).toSorted(), ['channel', 'span'], 'no rule for others')
})

t.test('node-redis: a query is recorded once', { skip: lacksRedis }, async t => {
  const { host, port } = await startRedis(t)
  const { createClient } = await import('redis')
  const redis = createClient({ socket: { host, port } })
  await redis.connect()
  t.teardown(() => redis.destroy())
  const query = () => redis.get('key')
  t.strictSame(await sourcesOf(t, '@opentelemetry/instrumentation-redis', 'redis', query), ['channel'])
})

t.test('mysql2: a query is recorded once', { skip: lacksMariadb }, async t => {
  const server = await startMariadb(t)
  const { default: mysql } = await import('mysql2/promise')
  const pool = mysql.createPool(server)
  t.teardown(() => pool.end())
  const query = () => pool.query('SELECT 1')
  t.strictSame(await sourcesOf(t, '@opentelemetry/instrumentation-mysql2', 'mysql', query), ['channel'])
})

t.test('new and old names of attributes give the same query', async t => {
  const tracer = () => trace.getTracer('another')
  const record = (name: string, attributes: Attributes, end: (span: Span) => void = () => undefined) => {
    const span = tracer().startSpan(name, { kind: SpanKind.CLIENT, attributes })
    end(span)
    span.end()
  }
  const fail = (span: Span) => span.setStatus({ code: SpanStatusCode.ERROR })
  const { queries } = await recordQueries(t, () => {
    const [text, id] = ['SELECT a FROM b WHERE id = :id', 'db.query.parameter.id']
    const now = { 'db.system.name': 'mysql', 'db.query.text': text, [id]: 7, 'db.namespace': 'shop' }
    const before = { 'db.system': 'mysql', 'db.statement': text, [id]: 7, 'db.name': 'shop' }
    record('new', { ...now, 'server.address': 'db', 'server.port': 3306, 'db.response.returned_rows': 2 })
    record('old', { ...before, 'net.peer.name': 'db', 'net.peer.port': 3306 })
    record('old.connect', before)
    record('socket', { ...now, 'server.address': '/run/db', 'server.port': 1 }, span => {
      span.setAttribute('db.response.status_code', 1146)
      span.setStatus({ code: SpanStatusCode.ERROR, message: 'No table' })
    })
    record('operation', { 'db.system': 'mongodb', 'db.operation': 'find', 'db.mongodb.collection': 'shelves' }, fail)
    record('ping', { 'db.system': 'mongodb', 'db.operation.batch.size': 3 }, span => {
      span.recordException('broken (code: 42P01)')
      fail(span)
    })
    record('named', { 'db.system': 'mongodb', 'db.operation.name': 'hello' })
    record('no system', {})
    // The pool of pg runs the query directly after its span for the connection.
    record('pg-pool.connect', before)
    record('after the connection', { 'db.system': 'mongodb' })
  })
  const common = { system: 'mysql', text: 'SELECT a FROM b WHERE id = :id', namespace: 'shop', parameters: [['id', 7]] }
  t.match(queries, [
    { ...common, server: 'db:3306', rows: 2 },
    { ...common, server: 'db:3306', rows: undefined },
    { ...common, server: '/run/db', error: 'No table', code: '1146' },
    { system: 'mongodb', text: 'find shelves', error: 'The query has failed.', code: undefined },
    { system: 'mongodb', text: 'ping', batch: 3, error: 'broken (code: 42P01)', code: '42P01' },
  ])
  t.equal(queries[5]?.text, 'hello')
  t.equal(queries.length, 7)
  t.match(queries[6]?.caller?.file, /span-queries\.test/)
})

t.test('a request that waits for a connection of a pool has the wait, without the time to open a new one', async t => {
  const { waits } = await recordQueries(t, () => {
    const tracer = trace.getTracer('another')
    const startTime = Date.now() - 1000
    const options = { kind: SpanKind.CLIENT, attributes: { 'db.system': 'postgresql' }, startTime }
    tracer.startSpan('pg-pool.connect', options).end(startTime + 80)
    tracer.startActiveSpan('pg-pool.connect', options, asked => {
      tracer.startSpan('pg.connect', options).end(startTime + 390)
      asked.end(startTime + 400)
    })
  })
  t.strictSame(
    waits.map(({ duration, system }) => [system, duration]),
    [['postgresql', 80]],
  )
})

t.test('rows of pg are added to its spans, and a hook of the application is called', async t => {
  const noted: unknown[] = []
  let config: { responseHook?: (span: object, response: object) => void } = {
    responseHook: (_span, response) => noted.push(response),
  }
  const instrumentation = {
    instrumentationName: '@opentelemetry/instrumentation-pg',
    setTracerProvider() {},
    getModuleDefinitions: () => [],
    getConfig: () => config,
    setConfig: (changed: object) => {
      config = changed
    },
  }
  configureInstrumentation({ ...instrumentation, instrumentationName: 'another' })
  const span = { setAttribute: (...attribute: unknown[]) => noted.push(attribute) }
  configureInstrumentation(instrumentation)
  config.responseHook?.(span, { data: { rowCount: 3 } })
  config.responseHook?.(span, { data: { rowCount: null } })
  t.strictSame(noted, [['db.response.returned_rows', 3], { data: { rowCount: 3 } }, { data: { rowCount: null } }])
})

t.test('a library that is loaded, in a version with channels, reports its queries itself', async t => {
  t.equal(hasOwnChannel('another'), false)
  await import('ioredis')
  t.equal(hasOwnChannel('@opentelemetry/instrumentation-ioredis'), true)
})

t.test('reports of spans wait for nothing', async t => {
  const services = { context: new RequestContext(), directory: process.cwd(), queries: new Queries() }
  await t.resolves(createSpanQueries(services).forceFlush())
})
