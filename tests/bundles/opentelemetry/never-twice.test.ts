import { SpanKind, trace } from '@opentelemetry/api'
import { type Test, t } from 'tap'
import { createOpenTelemetryBundle } from '#bundles/opentelemetry/opentelemetry-bundle.ts'
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

/** The sources of the queries of a request whose query is reported by its library and by a span. */
async function sourcesOf(t: Test, instrumentation: string, system: string, query: () => Promise<unknown>) {
  const { url } = await startTraceReceiver(t)
  const { client, profileOf } = await createProfiledKernel(t, {
    directory: process.cwd(),
    bundles: [createOpenTelemetryBundle()],
    variables: { OTEL_EXPORTER_OTLP_ENDPOINT: url },
    handlers: {
      async '/traced'() {
        await within(instrumentation, system, query)
        return new Response('')
      },
    },
  })
  const { collectors } = await profileOf(await client.get('/traced'))
  return collectors.queries?.queries.map(({ source }) => source)
}

t.test('ioredis: a query is recorded once', { skip: lacksRedis }, async t => {
  const { host, port } = await startRedis(t)
  const { Redis } = await import('ioredis')
  const redis = new Redis({ host, port })
  t.teardown(() => redis.disconnect())
  await redis.ping()
  const query = () => redis.get('key')
  t.strictSame(await sourcesOf(t, '@opentelemetry/instrumentation-ioredis', 'redis', query), ['channel'])
  t.strictSame((await sourcesOf(t, 'another', 'redis', query))?.toSorted(), ['channel', 'span'], 'no rule for others')
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
