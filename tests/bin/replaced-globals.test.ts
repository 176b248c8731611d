import { once } from 'node:events'
import { connect } from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { type Test, t } from 'tap'
import { startProcess } from '#tests/support/start-process.ts'
import { until } from '#tests/support/until.ts'

const preload = path.resolve(import.meta.dirname, '../../bin/exports/profile.js')
const { NODE_ENV: _, PROFILER_VIEWER: __, ...environment } = process.env

/** What the application replaces while it answers a request. `f` is a function that throws. */
const replacements: Readonly<Record<string, string>> = {
  'setTimeout returns a number': `put(g, 'setTimeout', (task, ms) => (real.setTimeout(task, ms), 1))`,
  'setTimeout throws': `put(g, 'setTimeout', f)`,
  'setInterval returns a number': `put(g, 'setInterval', (task, ms) => (real.setInterval(task, ms).unref(), 1))`,
  'setInterval throws': `put(g, 'setInterval', f)`,
  'clearTimeout throws': `put(g, 'clearTimeout', f), put(g, 'clearInterval', f)`,
  'setImmediate throws': `put(g, 'setImmediate', f)`,
  'queueMicrotask throws': `put(g, 'queueMicrotask', f)`,
  'the timers of the modules throw': `['setTimeout', 'setInterval', 'setImmediate'].forEach(name => {
    put(require('node:timers'), name, f)
    if (name !== 'setInterval') put(require('node:timers/promises'), name, f)
  }), sync()`,
  'the timers of a test': `undo.push(() => mock.timers.reset()), mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate', 'Date'] })`,
  'Date is fake': `put(g, 'Date', class extends Date { constructor(...values) { super(...(values.length ? values : [0])) } static now() { return 0 } })`,
  'Date throws': `put(g, 'Date', f)`,
  'Date.now is 0': `put(Date, 'now', () => 0)`,
  'performance.now is 0': `put(performance, 'now', () => 0)`,
  'performance is empty': `put(g, 'performance', {})`,
  'process.hrtime throws': `put(process, 'hrtime', f)`,
  'AbortController throws': `put(g, 'AbortController', f)`,
  'AbortSignal is gone': `put(g, 'AbortSignal', undefined)`,
  'fetch is gone': `put(g, 'fetch', undefined)`,
  'JSON.parse throws': `put(JSON, 'parse', f)`,
  'JSON.stringify throws': `put(JSON, 'stringify', f)`,
  'JSON is empty': `put(g, 'JSON', {})`,
  'at of lists throws': `put(Array.prototype, 'at', f)`,
  'flatMap of lists throws': `put(Array.prototype, 'flatMap', f)`,
  'map of lists throws': `put(Array.prototype, 'map', f)`,
  'the iterator of lists is wrapped': `wrap(Array.prototype, Symbol.iterator)`,
  'the iterator of lists throws for one list': `put(Array.prototype, Symbol.iterator, function () {
    if (this[0] === 'working %s') throw new Error('no iterator')
    return values.call(this)
  })`,
  'get of maps is wrapped': `wrap(Map.prototype, 'get')`,
  'get of maps throws': `put(Map.prototype, 'get', f)`,
  'set of maps throws': `put(Map.prototype, 'set', f)`,
  'Map throws': `put(g, 'Map', f)`,
  'Set throws': `put(g, 'Set', f)`,
  'get of weak maps throws': `put(WeakMap.prototype, 'get', f)`,
  'set of weak maps throws': `put(WeakMap.prototype, 'set', f)`,
  'then of promises is wrapped': `wrap(Promise.prototype, 'then')`,
  'then of promises throws': `put(Promise.prototype, 'then', f)`,
  'Promise throws': `put(g, 'Promise', f)`,
  'Object.defineProperty is wrapped': `wrap(Object, 'defineProperty')`,
  'Object.defineProperty throws': `put(Object, 'defineProperty', f)`,
  'Object.entries throws': `put(Object, 'entries', f)`,
  'Object.keys throws': `put(Object, 'keys', f)`,
  'Object.assign throws': `put(Object, 'assign', f)`,
  'Object.hasOwn throws': `put(Object, 'hasOwn', f)`,
  'Object.prototype has a property': `Object.prototype.clone = function () { return this }, undo.push(() => delete Object.prototype.clone)`,
  'Reflect.apply throws': `put(Reflect, 'apply', f)`,
  'Reflect.get throws': `put(Reflect, 'get', f)`,
  'Symbol throws': `put(g, 'Symbol', f)`,
  'Error is another class': `put(g, 'Error', class { constructor(message) { this.message = message } })`,
  'Error.captureStackTrace throws': `put(Error, 'captureStackTrace', f)`,
  'Error.prepareStackTrace throws': `put(Error, 'prepareStackTrace', f)`,
  'structuredClone throws': `put(g, 'structuredClone', f)`,
  'Buffer.from throws': `put(Buffer, 'from', f)`,
  'Buffer.concat throws': `put(Buffer, 'concat', f)`,
  'Buffer is gone': `put(g, 'Buffer', undefined)`,
  'URL throws': `put(g, 'URL', f)`,
  'String throws': `put(g, 'String', f)`,
  'Number throws': `put(g, 'Number', f)`,
  'replace of texts throws': `put(String.prototype, 'replace', f)`,
  'split of texts throws': `put(String.prototype, 'split', f)`,
  'Math.round throws': `put(Math, 'round', f)`,
  'the usage of the process throws': `['resourceUsage', 'cpuUsage', 'memoryUsage'].forEach(name => put(process, name, f))`,
  'console.log is wrapped': `wrap(console, 'log')`,
  'emit is wrapped': `wrap(require('node:events').prototype, 'emit')`,
  // The last row: it stays.
  'prototypes are frozen': `[Object, Array, Function, Error, TypeError, Promise, Map, Set, Date, RegExp, String, Number]
    .forEach(each => (Object.freeze(each), Object.freeze(each.prototype)))`,
}

/** The replacements with which no profile can be made: the profiler says so. */
const mayBeLost: ReadonlySet<string> = new Set([
  'JSON.stringify throws',
  'JSON is empty',
  'at of lists throws',
  'flatMap of lists throws',
  'map of lists throws',
  'get of maps throws',
  'set of maps throws',
  'Map throws',
  'get of weak maps throws',
  'set of weak maps throws',
  'Object.defineProperty throws',
  'Object.keys throws',
  'Object.assign throws',
  'Buffer.from throws',
  'Buffer.concat throws',
  'Buffer is gone',
  'Number throws',
  'replace of texts throws',
  'Math.round throws',
  'the usage of the process throws',
])

const application = `
import { createServer } from 'node:http'
import { createRequire, syncBuiltinESMExports as sync } from 'node:module'
import { mock } from 'node:test'
const require = createRequire(import.meta.url)
const g = globalThis
const real = { setTimeout, setInterval, defineProperty: Object.defineProperty, find: Object.getOwnPropertyDescriptor, apply: Reflect.apply }
const print = process.stdout.write.bind(process.stdout)
const values = Array.prototype.values
const undo = []
const f = function () { throw new Error('replaced') }
const put = (target, name, value) => {
  const old = real.find(target, name)
  real.defineProperty(target, name, { configurable: true, writable: true, value })
  undo[undo.length] = () => old === undefined ? delete target[name] : real.defineProperty(target, name, old)
}
const wrap = (target, name) => {
  const old = target[name]
  put(target, name, function (...args) { return real.apply(old, this, args) })
}
const replacements = [${Object.values(replacements).map(code => `() => { ${code} }`)}]
let at = -1
process.on('uncaughtException', error => print('uncaught in row ' + at + ': ' + (error && error.stack) + '\\n'))
process.on('unhandledRejection', error => print('unhandled in row ' + at + ': ' + (error && error.stack) + '\\n'))
const server = createServer((message, reply) => {
  if (message.url === '/replace') {
    replacements[++at]()
    return reply.end('replaced')
  }
  if (message.url === '/restore') {
    for (let last = undo.length - 1; last >= 0; last--) undo[last]()
    undo.length = 0
    sync()
    return reply.end('restored')
  }
  console.log('working %s', message.url, 1)
  let body = ''
  message.setEncoding('utf8')
  message.on('data', chunk => { body += chunk })
  message.on('end', () => {
    real.setTimeout(() => {
      reply.setHeader('x-shop', 'open')
      reply.write('begin ')
      reply.end(body)
      real.setTimeout(() => console.log('late work of ' + message.url), 1)
    }, 2)
  })
})
server.listen(0, '127.0.0.1', () => print(server.address().port + '\\n'))
process.stdin.on('end', () => process.exit(3)).resume()
`

interface Summary {
  readonly url: string
  readonly time: number
  readonly duration: number
}

async function askPage(viewer: string): Promise<void> {
  const signal = AbortSignal.timeout(300)
  await fetch(`http://127.0.0.1:${viewer}/_profiler/`, { signal })
    .then(page => page.text())
    .catch(() => undefined)
}

async function run(t: Test, options: readonly string[]) {
  const child = startProcess(t, [process.execPath, ...options, 'app.mjs'], {
    cwd: t.testdirName,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...environment, PROFILER_PORT: '0' },
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', text => {
      output[name] += text
    })
  }
  await until(() => output.stdout.includes('\n'))
  const port = Number.parseInt(output.stdout, 10)
  output.stdout = ''
  const [, viewer] = /^Profiler: http:\S+:(\d+)\//.exec(output.stderr) ?? []
  const ask = async (port: number, url: string, body = '') => {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1')
    socket.write(
      `POST ${url} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    return (await text(socket)).replace(/^(?:x-debug-token|x-debug-token-link|server-timing|date): .*\r\n/gim, '')
  }
  const list = async () => {
    const found = await (await fetch(`http://127.0.0.1:${viewer}/_profiler/search.json?limit=4`)).json()
    return (found as { records: { summary: Summary }[] }).records.map(({ summary }) => summary)
  }
  const answers: string[] = []
  const lost: string[] = []
  const falseTimes: unknown[] = []
  for (const [index, name] of Object.keys(replacements).entries()) {
    const begin = Date.now()
    await ask(port, '/replace')
    const answer = await ask(port, `/task/${index}`, 'body')
    await until(() => output.stdout.includes(`late work of /task/${index}\n`))
    // The page may fail. Without promises, or what the compression of Node uses, its error is one of the process.
    if (viewer !== undefined && !/romise|concat/.test(name)) await askPage(viewer)
    await ask(port, '/restore')
    answers.push(`${name}: ${answer}${await ask(port, `/again/${index}`)}`)
    await until(() => output.stdout.includes(`late work of /again/${index}\n`))
    if (viewer === undefined) continue
    // It is stored after the request before.
    let stored: readonly Summary[] = []
    await until(async () => {
      stored = await list()
      return stored.some(({ url }) => url.endsWith(`/again/${index}`))
    })
    const found = stored.find(({ url }) => url.endsWith(`/task/${index}`))
    if (found === undefined) lost.push(name)
    else if (found.time < begin - 1 || found.time > Date.now() || found.duration < 1) falseTimes.push([name, found])
  }
  child.stdin?.end()
  return { output, answers, lost, falseTimes, exit: await once(child, 'exit') }
}

t.test(
  'an application that replaces what belongs to the platform is not changed, and recorded with true times',
  { timeout: 120_000 },
  async t => {
    t.testdir({ 'app.mjs': application, 'package.json': '{}', node_modules: {} })
    const [plain, profiled] = await Promise.all([run(t, []), run(t, ['--import', preload])])
    t.strictSame(profiled.answers, plain.answers)
    t.equal(profiled.output.stdout, plain.output.stdout)
    t.strictSame(profiled.exit, [3, null])
    t.strictSame(profiled.falseTimes, [])
    const said = saidIn(profiled.output.stderr)
    t.strictSame(said, [...new Set(said)], 'each part is named once')
    t.ok(said.length > 0)
    t.strictSame(
      profiled.lost.filter(name => !mayBeLost.has(name)),
      [],
    )
  },
)

/** The parts whose recording has failed. */
function saidIn(output: string): string[] {
  return Array.from(output.matchAll(/The recording of (.*) has failed/g), ([, part = '']) => part)
}
