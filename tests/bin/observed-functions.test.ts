import path from 'node:path'
import { t } from 'tap'
import { runProcess } from '#tests/support/start-process.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const preload = path.join(import.meta.dirname, '../../bin/exports/profile.js')
const { NODE_ENV: _, PROFILER_VIEWER: __, ...environment } = process.env

/** Modules with observed functions. */
const modules = [
  ...['fs', 'child_process', 'crypto', 'http', 'https', 'http2', 'console'].map(name => `node:${name}`),
  ...['pg', 'pg-pool', 'mysql2', 'mongodb', 'postgres', 'redis', 'ioredis', 'reflect-metadata'],
  ...['express', 'express4', 'fastify', 'koa', '@koa/router', 'hono', '@nestjs/core'],
  ...[
    'mysql2/lib/base/pool.js',
    'mongodb/lib/cmap/connection.js',
    'mongodb/lib/cmap/connection_pool.js',
    'mongodb/lib/operations/execute_operation.js',
  ],
  ...['express4/lib/router/layer.js', 'router/lib/layer.js', 'fastify/lib/error-handler.js', 'koa/lib/context.js'],
  ...['guards/guards-consumer', 'pipes/pipes-consumer', 'router/router-execution-context'].map(
    each => `@nestjs/core/${each}.js`,
  ),
]

/**
 * Prints all that can be read of the functions of these modules, and of their classes, and which of them are proxies.
 */
const program = `
import { createRequire } from 'node:module'
import { types } from 'node:util'
const require = createRequire(${JSON.stringify(path.join(root, 'package.json'))})
const seen = new Set()
const lines = []
const proxies = []
const walk = (place, value, depth, shape) => {
  if ((typeof value !== 'function' && typeof value !== 'object') || value === null) return
  if (typeof value === 'function') {
    if (types.isProxy(value)) proxies.push(place)
    const own = Object.entries(Object.getOwnPropertyDescriptors(value)).map(([name, { get, set, value: _, ...rest }]) => [name, typeof get, typeof set, rest])
    lines.push(JSON.stringify([place, value.name, value.length, shape, own, Object.getPrototypeOf(value)?.constructor?.name]))
  }
  if (depth === 0 || seen.has(value)) return
  seen.add(value)
  for (const [name, { get, value: own, set, ...rest }] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
    if (get === undefined && !/^(?:constructor|caller|arguments)$/.test(name)) walk(place + '.' + name, own, depth - 1, [rest, typeof set])
  }
}
for (const name of ${JSON.stringify(modules)}) {
  const file = name.startsWith('node:') ? name : require.resolve(root(name))
  const loaded = await import(file).catch(() => require(file))
  walk(name, { ...loaded }, 4)
}
function root(name) { return /\\.js$/.test(name) ? ${JSON.stringify(path.join(root, 'node_modules'))} + '/' + name : name }
walk('globalThis', { fetch, console, Reflect, Module: process.getBuiltinModule('module').prototype }, 2)
process.stdout.write(JSON.stringify({ lines, proxies }), () => process.exit())
`

t.test('each observed function looks as it does without the profiler', async t => {
  const names = ['express', 'fastify', 'koa', '@koa/router', 'hono', '@nestjs/core']
  const cwd = t.testdir({
    'app.mjs': program,
    'package.json': JSON.stringify({ dependencies: Object.fromEntries(names.map(name => [name, '*'])) }),
  })
  const read = async (options: readonly string[]) => {
    const env = { ...environment, PROFILER_PORT: '0' }
    const { stdout } = await runProcess(t, [process.execPath, ...options, 'app.mjs'], { cwd, env })
    return JSON.parse(stdout) as { readonly lines: readonly string[]; readonly proxies: readonly string[] }
  }
  const [plain, profiled] = await Promise.all([read([]), read(['--import', preload])])
  // Methods that the classes of messages inherit.
  const isInherited = (line: string) => /^\["node:http[s2]?\.\w+\.prototype\.(?:emit|push|write|end)"/.test(line)
  t.strictSame(
    profiled.lines.filter(line => !plain.lines.includes(line) && !isInherited(line)),
    [],
  )
  const observed = profiled.proxies.filter(place => !plain.proxies.includes(place))
  const wanted =
    `readFileSync execFileSync emit push write end writeHead load getConnection command checkOut handle_request handleRequest
    handle_error handleError callback use onerror tryActivate applyPipes createPipesFn log trace fetch defineMetadata query connect`.match(
      /\w+/g,
    ) ?? []
  t.strictSame(
    wanted.filter(name => !observed.some(place => place.endsWith(`.${name}`))),
    [],
  )
})
