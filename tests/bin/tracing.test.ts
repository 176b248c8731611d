import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { t } from 'tap'
import { startTraceReceiver, toTree } from '#tests/support/trace-receiver.ts'
import { startFixture, startProgram, startSite } from './site-process.ts'

const production = { APP_ENV: 'prod', APP_SECRET: 'of one’s own, and long enough for production', LOG_LEVEL: 'debug' }

t.test('the traces of two processes that call each other are one tree', async t => {
  const receiver = await startTraceReceiver(t)
  const variables = { ...production, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }
  const shop = startFixture(t, 'calling-site', { ...variables, OTEL_SERVICE_NAME: 'shop' })
  const stock = startFixture(t, 'calling-site', {
    ...variables,
    // A restart in development stops the server in the same way.
    APP_ENV: 'dev',
    OTEL_SERVICE_NAME: 'stock',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=hidden,team=blue%20team',
  })
  const [first, second] = [await shop.url(), await stock.url()]
  const answer = await fetch(`${first}/call?next=${second}&next=${first}`)
  t.equal(await answer.text(), `end of ${first} of ${second}`)
  for (const site of [shop, stock]) {
    site.child.kill()
    t.equal(await site.end(), 0)
  }
  const spans = receiver.spans.filter(({ name }) => !name.startsWith('kernel.'))
  t.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1)
  const named = spans.map(span => ({ ...span, name: `${span.resource['service.name']}: ${span.name}` }))
  t.strictSame(toTree(named), [
    'shop: GET /call',
    '  shop: controller /call',
    // The application sends the context of its controller itself, which its HTTP client call leaves as it is.
    '    shop: GET',
    '    stock: GET /call',
    '      stock: controller /call',
    '        stock: GET',
    '        shop: GET /call',
    '          shop: controller /call',
  ])
  t.equal(spans.find(({ resource }) => resource['service.name'] === 'stock')?.resource.team, 'blue team')
  t.strictSame(
    new Set(receiver.exports.map(({ headers }) => headers['content-type'])),
    new Set(['application/x-protobuf', 'application/json']),
  )
  const line = shop.stdout.split('\n').find(text => text.includes('Matched route')) ?? '{}'
  t.equal(JSON.parse(line).trace_id, spans[0]?.traceId, 'log lines have the id of the trace')
  t.ok(spans.some(({ spanId }) => spanId === JSON.parse(line).span_id))
})

t.test('workers send their last spans when the server stops', async t => {
  const receiver = await startTraceReceiver(t)
  const site = startSite(t, ['--port=0', '--workers=2'], { ...production, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
  const url = await site.url()
  for (let sent = 0; sent < 8; sent++) {
    t.equal((await fetch(`${url}/partnership`)).status, 200)
  }
  site.child.kill()
  t.equal(await site.end(), 0)
  t.equal(receiver.spans.filter(({ name }) => name === 'GET /partnership').length, 8)
})

t.test('a back end that never answers delays the stop by two seconds at most', async t => {
  const sockets = new Set<import('node:net').Socket>()
  const silent = createServer(socket => sockets.add(socket.on('error', () => undefined)))
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const endpoint = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const export60 = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_TIMEOUT: '60000' }
  const site = startSite(t, ['--port=0'], { ...production, ...export60 })
  const url = await site.url()
  t.equal((await fetch(`${url}/partnership`)).status, 200)
  const begin = performance.now()
  site.child.kill()
  t.equal(await site.end(), 0)
  const time = performance.now() - begin
  // Without the limit it would be a minute, the timeout of an export.
  t.ok(time > 1_900 && time < 50_000, `${time} ms`)
  t.match(site.stdout, /Spans of OpenTelemetry were lost: the endpoint has not taken them within 2000 ms\./)
})

t.test('mistakes in the settings of tracing stop the start, in the main process and with workers', async t => {
  const variables = {
    ...production,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318',
    OTEL_TRACES_SAMPLER: 'sometimes',
    OTEL_TRACES_SAMPLER_ARG: '2',
    OTEL_EXPORTER_OTLP_HEADERS: 'secret-without-a-name',
    OTEL_EXPORTER_OTLP_TIMEOUT: '0',
    OTEL_RESOURCE_ATTRIBUTES: 'team=%',
  }
  for (const options of [[], ['--workers=1']]) {
    const site = startSite(t, ['--port=0', ...options], variables)
    t.not(await site.end(), 0)
    for (const name of Object.keys(variables).filter(name => name.startsWith('OTEL_'))) t.match(site.stderr, name)
    t.notMatch(site.stderr, 'secret-without-a-name')
  }
})

t.test('without the packages the server says what to install; without an endpoint it starts', async t => {
  const hide = `export async function resolve(name, context, next) {
    if (name.startsWith('@opentelemetry/')) throw Object.assign(new Error(name), { code: 'ERR_MODULE_NOT_FOUND' })
    return next(name, context)
  }`
  const hook = JSON.stringify(`data:text/javascript,${encodeURIComponent(hide)}`)
  const register = `import { register } from 'node:module'; register(${hook})`
  const command = [
    process.execPath,
    `--import=data:text/javascript,${encodeURIComponent(register)}`,
    'dist/bin/serving/worker.js',
    '.',
    '--port=0',
  ]
  const site = startProgram(t, command, { ...production, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })
  t.equal(await site.end(), 1)
  t.match(site.stderr, 'The bundle "opentelemetry"')
  t.match(site.stderr, 'npm install @opentelemetry/api@1.9 @opentelemetry/context-async-hooks@2')
  const other = startProgram(t, command, production)
  t.equal((await fetch(`${await other.url()}/partnership`)).status, 200)
})
