import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Test, t } from 'tap'
import { type Hooks, openRunner, takeDeclarations } from '#bundles/libraries/declarations.ts'
import { listLibraries } from '#bundles/libraries/libraries.ts'
import { changeFiles } from '#bundles/libraries/library.ts'
import { type FrameworkWork, observeFrameworks } from '#kernel/contracts/functions.ts'

type Load = Parameters<Parameters<NonNullable<Hooks['registerHooks']>>[0]['load']>[2]

/** The load hook of Node 22.15 and later, which Node 20 does not have. */
let load: (url: string, context: object, next: Load) => ReturnType<Load> = (url, context, next) => next(url, context)

const hooks: Hooks = {
  registerHooks(given) {
    load = given.load.bind(given)
  },
}

for (const { beside, declares } of await listLibraries())
  if (declares !== undefined) takeDeclarations(declares, beside, hooks)

type Module = Readonly<Record<string, (...values: unknown[]) => unknown>>

/** Imports a module as Node does with the load hook. */
async function importModule(t: Test, code: string): Promise<Module> {
  const file = path.join(t.testdir(), `module-${code.length}.mjs`)
  const url = pathToFileURL(file).href
  const { source } = load(url, {}, () => ({ format: 'module', source: Buffer.from(code) }))
  writeFileSync(file, String(source))
  t.equal(String(source).slice(0, code.length), code, 'each place in the code stays where it is')
  return import(url)
}

/** What a framework reports. */
class Work implements Pick<FrameworkWork, 'route' | 'noteRoute' | 'measure' | 'fail'> {
  route: FrameworkWork['route']
  readonly reports: unknown[] = []

  noteRoute(route: NonNullable<FrameworkWork['route']>): void {
    this.route ??= route
  }

  measure(phase: string, name: string): (hasFailed: boolean) => void {
    return hasFailed => void this.reports.push([phase, name, hasFailed])
  }

  fail(error: unknown): void {
    this.reports.push(error)
  }
}

/** What calls report, of functions that a module declares. */
async function record(t: Test, code: string, call: (module: Module) => unknown): Promise<readonly unknown[]> {
  return recordCall(await importModule(t, code), call)
}

async function recordCall(module: Module, call: (module: Module) => unknown): Promise<readonly unknown[]> {
  const work = new Work()
  const stop = observeFrameworks(() => work as unknown as FrameworkWork)
  await Promise.resolve(call(module)).catch(error => work.reports.push(['thrown', error]))
  stop()
  return [work.route?.pattern, ...work.reports]
}

const broken = new RangeError('The shelf is empty.')
const shelf = () => Promise.reject(broken)

t.test('SvelteKit: the route, its functions, and errors that are answered', async t => {
  const code = `
export async function record_span({ fn }) { return fn() }
function handle_error_and_jsonify$1(event, state, error) { return { message: error.message } }
export { handle_error_and_jsonify$1 as handle }`
  const attributes = { 'http.route': '/items/[id]', 'sveltekit.load.node_id': 'src/routes/items/+page.server.js' }
  const span = (name: string, fn: () => unknown) => ({ name, attributes, fn })
  const reports = await record(t, code, async ({ handle, record_span: run }) => {
    t.equal(await run?.(span('sveltekit.load', () => Promise.resolve(7))), 7)
    t.equal(await run?.(span('sveltekit.resolve', () => 8)), 8)
    t.strictSame(handle?.({}, {}, broken), { message: broken.message })
    handle?.({}, {}, Object.assign(new Error('Not Found'), { status: 404 }))
    await run?.(span('sveltekit.endpoint', shelf))
  })
  t.strictSame(reports, [
    '/items/[id]',
    ['load', 'src/routes/items/+page.server.js', false],
    broken,
    ['handler', '/items/[id]', true],
    broken,
    ['thrown', broken],
  ])
  const unknown = { name: 'sveltekit.resolve', attributes: { 'http.route': 'unknown' }, fn: () => 1 }
  t.strictSame(await record(t, `${code}\n`, ({ record_span: run }) => run?.(unknown)), [undefined])
})

t.test('Astro: the route, its pages and endpoints, and errors that are answered', async t => {
  const code = `
async function callMiddleware(onRequest, context, next) { return next() }
async function renderEndpoint(mod, context) { return mod.GET(context) }
async function renderPage(result, factory) { return factory() }
function renderErrorFromState(state, request, options) { return options.status }
export { callMiddleware, renderEndpoint, renderPage, renderErrorFromState }`
  const reports = await record(t, code, async module => {
    await module.callMiddleware?.(undefined, { routePattern: '/404' }, () => 1)
    await module.callMiddleware?.(undefined, { routePattern: '/items/[id]', params: {} }, () => 1)
    await module.renderPage?.({}, () => 'page', {}, undefined, true, { route: '/items/[id]' })
    t.equal(module.renderErrorFromState?.({}, {}, { status: 500, error: broken }), 500)
    await module.renderEndpoint?.({ GET: shelf }, { routePattern: '/items/[id]' })
  })
  t.strictSame(reports, [
    '/items/[id]',
    ['rendering', '/items/[id]', false],
    broken,
    ['handler', '/items/[id]', true],
    broken,
    ['thrown', broken],
  ])
})

t.test('React Router: the route, its loaders and actions, and errors of components', async t => {
  const code = `
function matchServerRoutes(manifest, handler, path) { return path === '/none' ? null : manifest }
async function callRouteHandler(handler, args) { return handler(args) }
function getStaticContextFromError(routes, context, error) { return { error } }
export { matchServerRoutes, callRouteHandler, getStaticContextFromError }`
  const matches = [{}, { path: 'shop' }, { path: 'items/:id' }, {}].map(route => ({ route, params: { id: '7' } }))
  const reports = await record(t, code, async module => {
    t.equal(module.matchServerRoutes?.([], {}, '/none'), null)
    t.equal(module.matchServerRoutes?.(matches, {}, '/shop/items/7'), matches)
    await module.callRouteHandler?.(() => 1, { pattern: 'shop/items/:id', request: { method: 'GET' } })
    t.strictSame(module.getStaticContextFromError?.([], {}, broken), { error: broken })
    await module.callRouteHandler?.(shelf, { unstable_pattern: '/shop', request: { method: 'POST' } })
  })
  t.strictSame(reports, [
    '/shop/items/:id',
    ['loader', '/shop/items/:id', false],
    broken,
    ['action', '/shop', true],
    broken,
    ['thrown', broken],
  ])
})

const h3 = `
class H3Event {
  constructor(pattern) { this.node = { req: {}, res: {} }; this.context = { matchedRoute: pattern && { path: pattern } } }
  get handled() { return true }
}
function sendError(event, error) { return error.statusCode }
async function errorHandler(error, event) { return error.statusCode }
export { H3Event, sendError, errorHandler }`

t.test('Nitro, and h3 1: the route, and the errors of routes, without what the framework wraps them in', async t => {
  const wrapped = Object.assign(new Error(broken.message, { cause: broken }), { statusCode: 500 })
  const gone = Object.assign(new Error('gone', { cause: broken }), { statusCode: 404 })
  const report = (pattern: string | undefined, error: object, name = 'errorHandler') =>
    record(t, h3, async module => {
      const event = Reflect.construct(module.H3Event ?? Object, [pattern])
      t.equal(event.handled, true)
      await module[name]?.(...(name === 'sendError' ? [event, error] : [error, event]))
    })
  t.strictSame(await report('/items/:id', wrapped), ['/items/:id', broken])
  t.strictSame(await report('/items/:id', gone, 'sendError'), ['/items/:id', gone])
  t.strictSame(await report('/**', wrapped), ['/**', broken], 'a route for all paths')
  t.strictSame(await report('/**', gone), ['/**'], 'a page that Nuxt does not have')
  t.strictSame(await report(undefined, gone), [undefined], 'a path without a route')
})

t.test('Nuxt: the page is the route, not the route for all pages', async t => {
  const code = `
function createRouterMatcher() {}
function createRouter({ push }) {
  const guards = []
  return { afterEach(guard) { guards.push(guard) }, push() { for (const each of guards) each(push) } }
}
export { createRouter }`
  const visit = (matched: readonly object[]) =>
    record(t, code, ({ createRouter }) =>
      (createRouter?.({ push: { matched, params: {} } }) as Module | undefined)?.push?.(),
    )
  t.strictSame(await visit([{ path: '/shop' }, { path: '/shop/items/:id()' }]), ['/shop/items/:id'])
  t.strictSame(await visit([]), [undefined])
})

t.test('tRPC: the error of a procedure, without what wraps it', async t => {
  const code = 'function getErrorShape({ error }) { return error.message }\nexport { getErrorShape }'
  const wrapped = new Error(broken.message, { cause: broken })
  const report = (type: string) =>
    record(t, code, ({ getErrorShape: shape }) => t.equal(shape?.({ error: wrapped, type }), broken.message))
  t.strictSame(await report('query'), [undefined, broken])
  t.strictSame(await report('unknown'), [undefined], 'a path without a procedure')
})

t.test('tRPC of CommonJS: the exports of a file with a hash in its name cannot be replaced', async t => {
  const code = `function getErrorShape(options) { return options.error.message }
exports.other = 1
Object.defineProperty(exports, 'getErrorShape', { enumerable: true, get() { return getErrorShape } })`
  const dist = { 'getErrorShape-BA_-hNuh.cjs': code, 'getErrorShape-none.cjs': code }
  const folder = path.join(
    t.testdir({ node_modules: { '@trpc': { server: { dist } } } }),
    'node_modules/@trpc/server/dist',
  )
  for (const { changes, name } of await listLibraries()) if (name === '@trpc/server') changeFiles(changes ?? {})
  const require = createRequire(import.meta.url)
  const report = (file: string) =>
    recordCall(require(path.join(folder, file)), ({ getErrorShape: shape, other }) => {
      t.strictSame([shape?.name, shape?.length, other], ['getErrorShape', 1, 1])
      t.equal(shape?.({ error: broken, type: 'query' }), broken.message)
    })
  t.strictSame(await report('getErrorShape-BA_-hNuh.cjs'), [undefined, broken])
  t.strictSame(await report('getErrorShape-none.cjs'), [undefined])
})

t.test('a declaration is only taken where the code has it, and stays what it was', async t => {
  const code = `/*
function renderPage() {}
*/
export async function callMiddleware(one, two, three) { throw new RangeError('broken') }
export const renderEndpoint = 'a text'
export function other(error) { return error }
function sendError() {}
//# sourceMappingURL=none.map`
  const { callMiddleware: call, renderEndpoint } = await importModule(t, code)
  t.strictSame([call?.name, call?.length], ['callMiddleware', 3])
  t.equal(renderEndpoint as unknown, 'a text')
  const stack: string = await Promise.resolve(call?.(1, {})).then(String, (error: Error) => error.stack ?? '')
  t.match(stack.split('\n')[1], /^ {4}at \S*callMiddleware \(\S+module-\d+\.mjs:4:63\)$/)
  t.notMatch(stack, /libraries|observe-calls/)
  const plain = { format: 'commonjs', source: code }
  t.equal(
    load('file:///a.cjs', {}, () => plain),
    plain,
    'a CommonJS module',
  )
  const other = { format: 'module', source: 'export const a = 1' }
  t.equal(
    load('file:///a.mjs', {}, () => other),
    other,
  )
  t.match(
    load('file:///a.mjs', {}, () => ({ format: 'module', source: null })),
    { source: null },
  )
})

t.test('a module that a runner of Vite evaluates', async t => {
  const folder = t.testdir({
    dist: {
      node: {
        'module-runner.js': `
const AsyncFunction = (async () => {}).constructor
export class ESModulesEvaluator { runInlinedModule(context, code) { return new AsyncFunction(code + '\\nreturn exports')() } }`,
      },
    },
  })
  await openRunner(folder)
  const { ESModulesEvaluator } = await import(path.join(folder, 'dist/node/module-runner.js'))
  const evaluate = (code: string) => new ESModulesEvaluator().runInlinedModule({}, `const exports = {}\n${code}`)
  t.strictSame(await evaluate(''), {})
  const module = await evaluate(
    'function renderErrorFromState(a, b, c) {}\nexports.run = (...a) => renderErrorFromState(...a)',
  )
  const work = new Work()
  const stop = observeFrameworks(() => work as unknown as FrameworkWork)
  module.run?.({}, {}, { error: broken })
  stop()
  t.strictSame(work.reports, [broken])
})

t.test('nothing happens without load hooks', async t => {
  t.equal(takeDeclarations({ never: () => undefined }, '', {}), undefined)
})
