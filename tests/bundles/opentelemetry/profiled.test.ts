import { createOpenTelemetryBundle } from 'sinfonietta/opentelemetry'
import { t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { toText } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { startTraceReceiver } from '#tests/support/trace-receiver.ts'
import { until } from '#tests/support/until.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentId = '00f067aa0ba902b7'
const headers = { traceparent: `00-${traceId}-${parentId}-01` }
const fail = () => {
  throw new Error('broken')
}

t.test('a profile has the id of its trace, and the error page shows it', async t => {
  const receiver = await startTraceReceiver(t)
  const kernel = await createProfiledKernel(t, {
    bundles: [createOpenTelemetryBundle()],
    handlers: { '/fail': fail },
    variables: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
  })
  const { client, profileOf, records } = kernel
  const own = await client.get('/fail')
  const continued = await client.get('/fail', { headers })
  await client.get('/_profiler/')
  const profile = await profileOf(own)
  const id = String(profile.collectors.request?.traceId)
  t.match(id, /^[\da-f]{32}$/)
  t.equal(profile.collectors.request?.parentSpanId, undefined)
  t.match(toText(own.text), `Trace ${id}`)
  t.match((await client.get('/fail', { headers: { accept: 'text/markdown' } })).text, /^Trace [\da-f]{32}$/m)
  t.match((await profileOf(continued)).collectors.request, { traceId, parentSpanId: parentId })
  const subRequest = await profileOf(own, 'x-previous-debug-token')
  t.match(subRequest.collectors.request, { traceId: id, parentSpanId: undefined }, 'that of a sub-request, too')

  const logged = records.filter(({ span }) => span?.traceId === traceId)
  t.ok(
    logged.some(({ message }) => message.includes('broken')),
    'its log messages have the id',
  )
  await kernel.close()
  const roots = receiver.spans.filter(span => span.kind === 2)
  t.strictSame(
    roots.map(({ attributes }) => attributes['url.path']),
    ['/fail', '/fail', '/fail'],
    'pages of the profiler have no span',
  )
  const span = roots.find(span => span.traceId === id)
  t.equal(span?.parentId, '')
  t.ok(logged.every(({ span }) => receiver.spans.some(({ spanId }) => spanId === span?.spanId)))
})

t.test('the export of spans is no HTTP client call of a request', async t => {
  // A full batch is exported at once, when the span of a request ends.
  process.env.OTEL_BSP_MAX_EXPORT_BATCH_SIZE = '1'
  t.teardown(() => delete process.env.OTEL_BSP_MAX_EXPORT_BATCH_SIZE)
  const receiver = await startTraceReceiver(t)
  const kernel = await createProfiledKernel(t, {
    bundles: [createOpenTelemetryBundle()],
    handlers: { '/x': () => Response.text('x') },
    variables: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
  })
  const answers = [await kernel.client.get('/x'), await kernel.client.get('/x')]
  await until(() => receiver.exports.length > 0)
  for (const answer of answers) {
    const profile = await kernel.profileOf(answer)
    t.strictSame(profile.collectors.http?.calls ?? [], [])
  }
})

t.test('without tracing, a profile has the id of the trace that its client has sent', async t => {
  const { client, profileOf } = await createProfiledKernel(t, { handlers: { '/fail': fail } })
  const answer = await client.get('/fail', { headers })
  t.match((await profileOf(answer)).collectors.request, { traceId, parentSpanId: parentId })
  t.match(toText(answer.text), `Trace ${traceId}`)
  const plain = await client.get('/fail')
  t.match((await profileOf(plain)).collectors.request, { traceId: undefined, parentSpanId: undefined })
  t.notMatch(toText(plain.text), /Trace [\da-f]/)
})
