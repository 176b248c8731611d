import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { diag, trace } from '@opentelemetry/api'
import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { createOpenTelemetryBundle } from 'sinfonietta/opentelemetry'
import { createRequest, createTestKernel, type TestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { instrumentations, type LibraryInstrumentation } from '#bundles/opentelemetry/instrumentations.ts'
import { loadPackages } from '#bundles/opentelemetry/load-packages.ts'
import { ExportReports } from '#bundles/opentelemetry/provider.ts'
import { findEndpoint, openTelemetrySettings } from '#bundles/opentelemetry/settings.ts'
import { Settings } from '#lib/env/settings.ts'
import { Response } from '#lib/http/response.ts'
import { createRecorder } from '#tests/support/recording-logger.ts'
import { startTraceReceiver } from '#tests/support/trace-receiver.ts'
import { until } from '#tests/support/until.ts'

async function boot(t: Test, variables: Readonly<Record<string, string>>): Promise<TestKernel> {
  const kernel = await createTestKernel({
    bundles: [createOpenTelemetryBundle(), createFrameworkBundle()],
    variables: { APP_ENV: 'prod', ...variables },
  })
  t.teardown(() => kernel.close())
  return kernel
}

/** Spans are exported at once, and few are kept. */
function hurry(t: Test): void {
  const limits = { OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '2', OTEL_BSP_MAX_QUEUE_SIZE: '4' }
  Object.assign(process.env, limits)
  t.teardown(() => {
    for (const name of Object.keys(limits)) delete process.env[name]
  })
}

async function listen(t: Test, server: Server): Promise<string> {
  const sockets = new Set<Socket>()
  server.on('connection', socket => sockets.add(socket.on('error', () => undefined)))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const warningsOf = ({ records }: Pick<TestKernel, 'records'>) =>
  records
    .filter(({ channel, level }) => channel === 'opentelemetry' && level === 'warning')
    .map(({ message }) => message)

/** Sends requests, which have four spans each or more. */
async function send({ client }: TestKernel, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent++) {
    if ((await client.get('/none')).status !== 404) throw new Error('The request was not handled.')
  }
}

t.test('protobuf and JSON contain the same', async t => {
  const [protobuf, json] = await Promise.all(
    ['http/protobuf', 'http/json'].map(async protocol => {
      const receiver = await startTraceReceiver(t)
      const kernel = await boot(t, {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
        OTEL_SERVICE_NAME: 'same',
      })
      const headers = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', tracestate: 'a=1' }
      await kernel.client.get('/none?page=1', { headers })
      await kernel.close()
      return receiver
    }),
  )
  const comparable = (receiver: typeof protobuf) =>
    receiver?.spans
      .filter(({ name }) => !name.startsWith('kernel.'))
      .map(({ end, parentId, spanId, start, ...span }) => ({
        ...span,
        lasts: end >= start,
        hasId: /^[\da-f]{16}$/.test(spanId),
        parent: parentId === '00f067aa0ba902b7' ? 'the caller' : 'another',
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  t.ok((comparable(protobuf)?.length ?? 0) >= 4)
  t.strictSame(comparable(protobuf), comparable(json))
  t.equal(protobuf?.exports[0]?.headers['content-type'], 'application/x-protobuf')
  t.equal(json?.exports[0]?.headers['content-type'], 'application/json')
})

t.test('traces go to the path of OTLP below the endpoint, or to the URL for traces', async t => {
  const receiver = await startTraceReceiver(t)
  const pathOf = async (variables: Readonly<Record<string, string>>) => {
    const kernel = await boot(t, variables)
    await send(kernel, 1)
    await kernel.close()
    return receiver.exports.at(-1)?.path
  }
  const { url } = receiver
  t.equal(await pathOf({ OTEL_EXPORTER_OTLP_ENDPOINT: url }), '/v1/traces')
  t.equal(await pathOf({ OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/otlp/` }), '/otlp/v1/traces')
  t.equal(
    await pathOf({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/traces/` }),
    '/traces/',
  )
  const count = receiver.exports.length
  await pathOf({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SDK_DISABLED: 'true' })
  await pathOf({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_EXPORTER: 'none' })
  t.equal(receiver.exports.length, count, 'OTEL_SDK_DISABLED and the exporter "none" turn tracing off')
})

t.test('a back end that is gone costs its spans and one warning', async t => {
  hurry(t)
  const server = createServer()
  const url = await listen(t, server)
  await new Promise(resolve => server.close(resolve))
  const kernel = await boot(t, { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_TIMEOUT: '200' })
  await send(kernel, 10)
  await until(() => warningsOf(kernel).length > 0)
  await send(kernel, 10)
  await kernel.close()
  const warnings = warningsOf(kernel)
  t.equal(warnings.length, 1)
  t.match(warnings[0], /^Spans of OpenTelemetry were lost: .*ECONNREFUSED/)
})

t.test('a warning of the packages is logged', async t => {
  const kernel = await boot(t, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' })
  diag.warn('The limit of the attributes is reached')
  t.strictSame(warningsOf(kernel), ['Spans of OpenTelemetry were lost: The limit of the attributes is reached.'])
  await kernel.close()
})

t.test('a back end that answers with an error gets each batch once, and is reported once', async t => {
  hurry(t)
  const receiver = await startTraceReceiver(t, () => 500)
  const kernel = await boot(t, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
  await send(kernel, 10)
  await until(() => warningsOf(kernel).length > 0)
  await send(kernel, 10)
  await kernel.close()
  t.strictSame(warningsOf(kernel), ['Spans of OpenTelemetry were lost: Internal Server Error.'])
  const ids = receiver.spans.map(({ spanId }) => spanId)
  t.equal(new Set(ids).size, ids.length)
})

t.test('a back end that is slow delays no request, and few spans wait for it', async t => {
  hurry(t)
  let connections = 0
  const url = await listen(
    t,
    createServer(() => connections++),
  )
  const kernel = await boot(t, { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_TIMEOUT: '300' })
  const begin = performance.now()
  await send(kernel, 100)
  // On a busy machine, the first ones have ended.
  const ended = Math.floor((performance.now() - begin) / 300)
  t.ok(connections <= 1 + ended, 'one batch is sent at a time')
  await kernel.close()
  t.ok(connections <= 10 + ended, `${connections} connections for 400 spans or more: the others were dropped`)
  t.equal(warningsOf(kernel).length, 1)
})

t.test('spans were lost: a warning at once, later ones once a minute, with the number of those between', async t => {
  const { logger, records } = createRecorder()
  let now = 0
  const reports = new ExportReports(logger, () => now)
  reports.fail(new Error('first'))
  for (now of [1, 59_999]) reports.fail(new Error('omitted'))
  now = 60_000
  reports.fail(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }))
  now = 200_000
  reports.fail(new TypeError())
  now = 300_000
  reports.fail('text')
  t.strictSame(
    records.map(({ context, message }) => [message, context.omitted]),
    [
      ['Spans of OpenTelemetry were lost: first.', undefined],
      ['Spans of OpenTelemetry were lost: ECONNREFUSED.', 2],
      ['Spans of OpenTelemetry were lost: TypeError.', undefined],
      ['Spans of OpenTelemetry were lost: text.', undefined],
    ],
  )
})

t.test('a missing package is an error that names the command which installs it', async t => {
  const missing = () => Promise.reject(Object.assign(new Error('not found'), { code: 'ERR_MODULE_NOT_FOUND' }))
  await t.rejects(loadPackages('http/protobuf', missing), {
    code: 'OPENTELEMETRY_PACKAGE_MISSING',
    message: /npm install @opentelemetry\/api@1\.9 .*@opentelemetry\/exporter-trace-otlp-proto@0\.223$/,
  })
  await t.rejects(loadPackages('http/json', missing), { message: /@opentelemetry\/exporter-trace-otlp-http@0\.223$/ })
  const broken = new Error('broken')
  await t.rejects(
    loadPackages('http/json', () => Promise.reject(broken)),
    broken,
  )
})

t.test('two kernels in one process trace their requests separately', async t => {
  const receivers = [await startTraceReceiver(t), await startTraceReceiver(t)]
  const kernels: TestKernel[] = []
  for (const { url } of receivers) kernels.push(await boot(t, { OTEL_EXPORTER_OTLP_ENDPOINT: url }))
  for (const kernel of kernels) await send(kernel, 2)
  for (const kernel of kernels) await kernel.close()
  const counts = receivers.map(({ spans }) => spans.filter(({ kind }) => kind === 2).length)
  t.strictSame(counts, [2, 2])
  const [first, second] = receivers.map(({ spans }) => new Set(spans.map(({ traceId }) => traceId)))
  t.strictSame(
    [...(first ?? [])].filter(id => second?.has(id)),
    [],
  )
})

function addInstrumentation(t: Test, setTracerProvider: LibraryInstrumentation['setTracerProvider']): void {
  instrumentations.push({
    instrumentationName: 'library',
    setTracerProvider,
    getConfig: () => ({}),
    setConfig() {},
    getModuleDefinitions: () => [],
  })
  t.teardown(() => instrumentations.pop())
}

t.test('with an instrumentation and debug, there are spans without an endpoint, which nothing sends', async t => {
  let provider: unknown
  addInstrumentation(t, given => {
    provider = given
  })
  const seen = async (variables: Readonly<Record<string, string>>) => {
    provider = undefined
    let isRecording: boolean | undefined
    const own = { name: 'own', register() {} }
    const kernel = await createTestKernel({
      bundles: [createOpenTelemetryBundle(), createFrameworkBundle(), own],
      variables,
    })
    kernel.app.routes.add({
      name: 'x',
      path: '/x',
      controller: async () => {
        isRecording = trace.getActiveSpan()?.isRecording()
        return Response.text('')
      },
    })
    await kernel.client.get('/x')
    await kernel.close()
    return [provider !== undefined, isRecording]
  }
  t.strictSame(await seen({ APP_ENV: 'dev' }), [true, true])
  t.strictSame(await seen({ APP_ENV: 'dev', OTEL_TRACES_SAMPLER: 'always_off' }), [true, true])
  t.strictSame(await seen({ APP_ENV: 'prod' }), [false, undefined])
  t.strictSame(await seen({ APP_ENV: 'dev', OTEL_SDK_DISABLED: '1' }), [false, undefined])
})

t.test('without an endpoint, a log message has the ids of its span only if the client sent a context', async t => {
  addInstrumentation(t, () => undefined)
  const kernel = await boot(t, { APP_ENV: 'dev' })
  const { logger } = kernel.app
  const traceIds: (string | undefined)[] = []
  const removeObserver = logger.observe(({ message, span }) => {
    if (message === 'Here.') traceIds.push(span?.traceId)
  })
  kernel.app.routes.add({
    name: 'x',
    path: '/x',
    controller: () => {
      logger.info('Here.')
      return Response.text('')
    },
  })
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  await kernel.client.get('/x')
  await kernel.client.get('/x', { headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` } })
  logger.info('Here.')
  trace.getTracer('library').startActiveSpan('outside of a request', span => {
    logger.info('Here.')
    span.end()
  })
  removeObserver()
  t.strictSame(traceIds, [undefined, traceId, undefined, undefined])
})

t.test('a wrong setting stops the start, without the secret', async t => {
  const wrong = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318',
    OTEL_EXPORTER_OTLP_TIMEOUT: '0',
    OTEL_EXPORTER_OTLP_HEADERS: 'no-name',
    OTEL_RESOURCE_ATTRIBUTES: 'team=%',
    OTEL_TRACES_SAMPLER_ARG: '1.5',
  }
  const error = await boot(t, wrong).then(
    () => undefined,
    (error: unknown) => error,
  )
  const { message } = error as Error
  for (const name of Object.keys(wrong)) t.match(message, `  ${name} `)
  t.notMatch(message, 'no-name')
  const useless = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1/v1/traces/', OTEL_TRACES_SAMPLER_ARG: '0.5' }
  await t.rejects(boot(t, useless), {
    message: /OTEL_EXPORTER_OTLP_ENDPOINT ends with \/v1\/traces[\s\S]*OTEL_TRACES_SAMPLER_ARG has no effect without/,
  })
  const settings = new Settings({ variables: { OTEL_TRACES_EXPORTER: 'otlp' } })
  settings.declare('opentelemetry', openTelemetrySettings)
  t.equal(findEndpoint(settings.of(openTelemetrySettings)), 'http://localhost:4318/v1/traces', 'of the specification')
})

t.test('an application without a package.json is an unknown service; work before the start has no span', async t => {
  const receiver = await startTraceReceiver(t)
  const seen: unknown[] = []
  const early: Bundle = {
    name: 'early',
    register({ context, view }) {
      seen.push(context.run(createRequest(), () => trace.getActiveSpan()))
      t.throws(() => view.render('none', {}), { code: /^VIEW_TEMPLATE_/ })
    },
  }
  const kernel = await createTestKernel({
    bundles: [early, createOpenTelemetryBundle(), createFrameworkBundle()],
    variables: { APP_ENV: 'prod', OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
    directory: t.testdir(),
  })
  await send(kernel, 1)
  await kernel.close()
  t.strictSame(seen, [undefined])
  const [span] = receiver.spans
  t.match(span?.resource, { 'service.name': /^unknown_service/, 'service.version': undefined })
})
