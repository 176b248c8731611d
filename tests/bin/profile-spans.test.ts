import { spawnSync } from 'node:child_process'
import { t } from 'tap'
import { findProfile, startProfiled } from '#tests/support/start-profiled.ts'

/** The calls of a profile: the phase and the name of each, and that of the call that contains it. */
function callsOf({ events }: Readonly<Record<string, Readonly<Record<string, unknown>>>>): unknown[] {
  const rows = events?.spans as readonly (readonly [
    mark: string,
    name: string,
    number,
    number,
    parent: number,
    flags?: number,
  ])[]
  return rows.flatMap(([mark, name, , , parent, flags]) => {
    const phase = rows[parent]
    const threw = flags === undefined ? [] : ['threw']
    return mark === 'function' ? [[phase?.[1], name, rows[phase?.[4] ?? -1]?.[1], ...threw]] : []
  })
}

const atEnd = "process.stdin.on('end', () => process.exit()).resume()"

/** What a server does without the profiler: it asks itself. */
const printAnswer = `server.once('listening', async () => {
  console.log(await (await fetch('http://127.0.0.1:' + server.address().port + '/late')).text())
  process.exit()
})`

/** Runs `code` for each request, with `trace` and `context` of the API, and writes what it prints. */
const toServer = (code: string, before = '') => `
import http from 'node:http'
import { context, propagation, ROOT_CONTEXT, trace, SpanKind } from '@opentelemetry/api'
const early = trace.getTracer('early')
${before}
const server = http.createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost')
  ${code}
}).listen(0, '127.0.0.1', () => process.stdout.write('[' + server.address().port + ']\\n'))
${atEnd}
`

t.test('without a provider, spans are functions with their route, and the application sees none', async t => {
  const code = `
  const tracer = trace.getTracer('shop')
  const text = await tracer.startActiveSpan('load items', { attributes: { 'http.route': '/items/:id' } }, async function load(span) {
    const inner = tracer.startSpan('count', {}, trace.setSpan(context.active(), span))
    inner.recordException(new RangeError('It is caught.'))
    inner.setAttributes({ more: 2 }).updateName('count all').addEvent('an event').addLink({}).addLinks([])
    const wasRecording = inner.isRecording()
    inner.end()
    if (!wasRecording || inner.isRecording()) throw new Error('A span is recording until its end.')
    const { stack } = new Error('of load')
    span.setAttribute('more', 1).end()
    return [trace.getActiveSpan(), span.spanContext().traceId, stack.split('\\n').slice(1, 3).map(line => line.trim().split(' ')[1]), this].join()
  })
  tracer.startSpan('GET', { kind: SpanKind.CLIENT, attributes: { 'http.request.method': 'GET' } }).end()
  const result = tracer.startActiveSpan('short', span => span.end())
  response.end(text + String(result))`
  const { stop, url, viewer } = await startProfiled(t, toServer(code))
  const text = await (await fetch(`${url}/items/7`)).text()
  t.equal(text, `,${'0'.repeat(32)},load,Server.<anonymous>,undefined`, 'no frame of the profiler, no active span')
  const { data, summary } = await findProfile(viewer, '/items/7')
  t.equal(summary.route, 'GET /items/:id')
  t.strictSame(callsOf(data), [
    ['shop', 'load items', undefined],
    ['shop', 'count', 'load items', 'threw'],
    ['shop', 'short', undefined],
  ])
  t.equal(summary.exception, null, 'an error of a span may be caught')
  await stop()
})

/** A provider of the SDK, which is registered while the application starts, behind a tracer that exists already. */
const provider = `
const { AsyncLocalStorageContextManager } = await import('@opentelemetry/context-async-hooks')
const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = await import('@opentelemetry/sdk-trace-base')
const { W3CTraceContextPropagator } = await import('@opentelemetry/core')
const exporter = new InMemorySpanExporter()
const sdk = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
const registered = [
  trace.setGlobalTracerProvider(sdk), trace.setGlobalTracerProvider(sdk), propagation.setGlobalPropagator(new W3CTraceContextPropagator()),
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()), trace.getTracerProvider().getDelegate() === sdk,
]`

const exported = `
  const tracer = trace.getTracer('shop', '1.2.3')
  await early.startActiveSpan('outer', async outer => {
    await tracer.startActiveSpan('inner', { attributes: { first: 1 } }, async inner => {
      inner.setAttributes({ second: 2 }).setStatus({ code: 2, message: 'no' }).updateName('renamed').recordException(new RangeError('It is caught.'))
      inner.addEvent('an event').end()
    })
    outer.setAttribute('http.route', '/late').end()
  })
  const spans = exporter.getFinishedSpans().map(span => [
    span.name, span.instrumentationScope.name, span.attributes, span.status, span.events.map(({ name }) => name),
    exporter.getFinishedSpans().find(other => other.spanContext().spanId === span.parentSpanContext?.spanId)?.name,
  ])
  exporter.reset()
  response.end(JSON.stringify([registered, spans]))`

t.test('beside a provider of the application, which may come later, what that exports stays the same', async t => {
  const { cwd, stop, url, viewer } = await startProfiled(t, toServer(exported, provider))
  const text = await (await fetch(`${url}/late`)).text()
  const source = toServer(exported, provider).replace(atEnd, printAnswer)
  const plain = spawnSync(process.execPath, ['--input-type=module', '-e', source], { cwd, encoding: 'utf8' })
  t.equal(text, plain.stdout.split('\n')[1])
  t.match(JSON.parse(text), [
    [true, false, true, true, true],
    [
      ['renamed', 'shop', { first: 1, second: 2 }, { code: 2, message: 'no' }, ['exception', 'an event'], 'outer'],
      ['outer', 'early', {}, {}, [], null],
    ],
  ])
  const { data, summary } = await findProfile(viewer, '/late')
  t.equal(summary.route, 'GET /late')
  t.strictSame(callsOf(data), [
    ['early', 'outer', undefined],
    ['shop', 'inner', 'outer', 'threw'],
  ])
  await stop()
})

t.test('the span of a database is a query, unless a library below it has reported the same one', async t => {
  const code = `
  const tracer = trace.getTracer('orm')
  const db = text => ({ attributes: { 'db.system.name': 'mysql' }, kind: SpanKind.CLIENT })
  const find = async (text, work = () => undefined) => {
    const span = tracer.startSpan('find', db())
    await work()
    span.setAttribute('db.query.text', text).setAttribute('db.response.returned_rows', 3).end()
  }
  await find('SELECT 1')
  await find('SELECT 2', () => queries.tracePromise(async () => [], { query: 'SELECT 2', values: [], serverAddress: 'localhost' }))
  const failed = tracer.startSpan('find', db())
  failed.setStatus({ code: 2, message: 'The table does not exist.' }).end()
  response.end()`
  const before = `
import { tracingChannel } from 'node:diagnostics_channel'
const queries = tracingChannel('mysql2:query')`
  const { stop, url, viewer } = await startProfiled(t, toServer(code, before))
  await (await fetch(`${url}/db`)).text()
  const { data } = await findProfile(viewer, '/db')
  t.match(data.queries, {
    queries: [
      { text: 'SELECT ?', source: 'span', rows: 3, caller: { function: 'find', file: 'app.mjs' } },
      { text: 'SELECT ?', server: 'localhost' },
      { text: 'find', error: 'The table does not exist.' },
    ],
  })
  t.equal(Object(data.queries).queries.length, 3)
  t.strictSame(callsOf(data), [])
  await stop()
})

t.test('a copy of the API in a bundle registers with its own version', async t => {
  const before = `
const VERSION = '1.3.1'
const key = Symbol.for('opentelemetry.js.api.1')
const shared = globalThis[key] = globalThis[key] ?? { version: VERSION }
const state = [shared.trace, shared.version === VERSION]
shared.trace = { getTracer: () => ({ startSpan: name => ({ name, end() {} }) }) }`
  const { stop, url, viewer } = await startProfiled(
    t,
    toServer(
      `const span = globalThis[key].trace.getTracer('own').startSpan('work'); span.end(); response.end(JSON.stringify([state, span]))`,
      before,
    ),
  )
  t.equal(await (await fetch(`${url}/own`)).text(), '[[null,true],{"name":"work"}]')
  t.strictSame(callsOf((await findProfile(viewer, '/own')).data), [['own', 'work', undefined]])
  await stop()
})

t.test('spans of Next.js name route, phases and the error of a page, but not an answer that is thrown', async t => {
  const code = `
  const tracer = trace.getTracer('next.js')
  const type = name => ({ attributes: { 'next.span_type': name, 'next.route': '/items/[id]' } })
  if (pathname === '/all') {
    const all = ['Middleware.execute', 'LoadComponents.loadRouteModule', 'ResolveMetadata.generateMetadata', 'Render.renderDocument',
      'Render.getServerSideProps', 'Render.getStaticProps', 'AppRouteRouteHandlers.runHandler', 'Node.runHandler']
    for (const each of all) tracer.startSpan('work', type(each)).end()
    // The application has caught the error of this call.
    const call = tracer.startSpan('fetch GET /', type('AppRender.fetch'))
    call.recordException(new TypeError('fetch failed'))
    call.end()
    return response.end()
  }
  const route = tracer.startSpan('resolve page components', type('NextNodeServer.findPageComponents'))
  route.end()
  tracer.startActiveSpan('render route (app) /items/[id]', type('AppRender.getBodyResult'), span => {
    tracer.startSpan('build component tree', type('NextNodeServer.createComponentTree')).end()
    const digest = pathname.endsWith('/moved') ? 'NEXT_REDIRECT;replace' : '1234'
    span.recordException(Object.assign(new RangeError('The item has no price.'), { digest }))
    span.end()
  })
  response.writeHead(pathname.endsWith('/moved') ? 307 : 500).end()`
  const { stop, url, viewer } = await startProfiled(t, toServer(code))
  for (const name of ['items/7', 'items/moved', 'all']) await fetch(`${url}/${name}`)
  await fetch(`${url}/_next/static/a.js`)
  const { data, summary } = await findProfile(viewer, '/items/7')
  t.match(summary, { route: 'GET /items/[id]', exception: 'RangeError' })
  t.strictSame(callsOf(data), [
    ['rendering', 'page /items/[id]', undefined, 'threw'],
    ['component tree', 'build component tree', 'page /items/[id]'],
  ])
  const all = await findProfile(viewer, '/all')
  t.equal(all.summary.exception, null)
  t.strictSame(callsOf(all.data), [
    ['middleware', 'middleware', undefined],
    ['loading', 'modules of the route', undefined],
    ['metadata', 'generateMetadata /items/[id]', undefined],
    ['rendering', 'page /items/[id]', undefined],
    ['data', 'getServerSideProps', undefined],
    ['data', 'getStaticProps', undefined],
    ['handler', 'route handler /items/[id]', undefined],
    ['handler', 'API route /items/[id]', undefined],
  ])
  t.match(data.exception, { exceptions: [{ properties: { digest: '1234' }, frames: [{ file: 'app.mjs' }] }] })
  t.match((await findProfile(viewer, '/items/moved')).summary, { route: 'GET /items/[id]', exception: null })
  await stop()
})

t.test('an error in a component of Next.js 15 goes to the active span, or to that of the application', async t => {
  const tracer =
    'exports.getTracer = () => tracer\nclass Tracer { getActiveScopeSpan() {} }\nconst tracer = new Tracer()\n'
  const code = `
  const span = getTracer().getActiveScopeSpan()
  span?.setAttribute('a', 1)
  if (span?.isRecording() || span?.spanContext().traceId !== (span && '0'.repeat(32))) throw new Error('It is no span.')
  span?.recordException(Object.assign(new RangeError('The part is broken.'), { digest: '12' }))
  response.end(String(span === undefined))`
  const load = `
import { createRequire } from 'node:module'
const { getTracer } = createRequire(import.meta.url)('next/dist/server/lib/trace/tracer')`
  for (const [name, before] of Object.entries({ none: load, own: load + provider })) {
    const cwd = t.testdir({
      'package.json': '{ "dependencies": { "next": "15" } }',
      node_modules: { next: { 'package.json': '{}', dist: { server: { lib: { trace: { 'tracer.js': tracer } } } } } },
    })
    const { stop, url, viewer } = await startProfiled(t, toServer(code, before), {}, cwd)
    t.equal(await (await fetch(`${url}/${name}`)).text(), String(name === 'own'))
    t.equal((await findProfile(viewer, `/${name}`)).summary.exception, name === 'own' ? null : 'RangeError')
    await stop()
  }
})

t.test('compilations of the server of Next.js, and its search for the paths of a page, are phases', async t => {
  const slow = 'const slow = () => new Promise(resolve => setTimeout(resolve, 20))'
  const dev = {
    'dev-bundler-service.js': `${slow}
class HotReloader { ensurePage() { return slow() } }
exports.DevBundlerService = class { constructor() { this.bundler = { hotReloader: new HotReloader() }; this.ensurePage = page => this.bundler.hotReloader.ensurePage(page) } }`,
    dev: { 'next-dev-server.js': `${slow}\nexports.default = class { getStaticPaths() { return slow() } }` },
  }
  const cwd = t.testdir({
    'package.json': '{ "dependencies": { "next": "16" } }',
    node_modules: {
      next: {
        'package.json': '{}',
        dist: { server: { lib: { 'dev-bundler-service.js': dev['dev-bundler-service.js'] }, dev: dev.dev } },
      },
    },
  })
  const load = `
import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
const service = new (require('next/dist/server/lib/dev-bundler-service').DevBundlerService)()
const server_ = new (require('next/dist/server/dev/next-dev-server').default)()`
  const code = `
  await service.ensurePage({ page: '/items/[id]' })
  await server_.getStaticPaths({ pathname: '/items/[id]' })
  response.end()`
  const { stop, url, viewer } = await startProfiled(t, toServer(code, load), {}, cwd)
  await (await fetch(`${url}/items/7`)).text()
  t.strictSame(callsOf((await findProfile(viewer, '/items/7')).data), [
    ['compilation', '/items/[id]', undefined],
    ['static paths', '/items/[id]', undefined],
  ])
  await stop()
})

t.test('errors of the Edge runtime of Next.js are those of the request, but not its answers', async t => {
  const server = `exports.default = class {
  async runEdgeFunction({ digest }) { throw Object.assign(new TypeError('The handler is broken.'), { digest }) }
  async runMiddleware() { throw new RangeError('The middleware is broken.') }
}`
  const cwd = t.testdir({
    'package.json': '{ "dependencies": { "next": "16" } }',
    node_modules: { next: { 'package.json': '{}', dist: { server: { 'next-server.js': server } } } },
  })
  const load = `
import { createRequire } from 'node:module'
const next = new (createRequire(import.meta.url)('next/dist/server/next-server').default)()`
  const code = `
  const answer = error => response.writeHead(500).end(error.message)
  if (request.url === '/middleware') await next.runMiddleware().catch(answer)
  else await next.runEdgeFunction({ digest: request.url === '/moved' ? 'NEXT_REDIRECT' : '' }).catch(answer)`
  const { stop, url, viewer } = await startProfiled(t, toServer(code, load), {}, cwd)
  const found: unknown[] = []
  for (const path of ['/api', '/middleware', '/moved']) {
    await (await fetch(url + path)).text()
    found.push((await findProfile(viewer, path)).summary.exception)
  }
  t.strictSame(found, ['TypeError', 'RangeError', null])
  await stop()
})

t.test('a tracer whose provider fails later has spans that are none', async t => {
  const before = `
const key = Symbol.for('opentelemetry.js.api.1')
const tracer = globalThis[key].trace.getTracer('own')
globalThis[key].trace = { getTracer() { throw new Error('There is no tracer.') } }`
  const code = `
  tracer.startSpan('work').end()
  response.end(tracer.startActiveSpan('work', span => span.spanContext().traceId))`
  const { output, stop, url, viewer } = await startProfiled(t, toServer(code, before))
  t.equal(await (await fetch(`${url}/none`)).text(), '0'.repeat(32))
  t.strictSame(callsOf((await findProfile(viewer, '/none')).data), [])
  t.match(output.stderr, 'There is no tracer.')
  await stop()
})
