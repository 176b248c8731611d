import { once } from 'node:events'
import { connect } from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { type Test, t } from 'tap'
import { lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'
import { startProcess } from '#tests/support/start-process.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'
import { until } from '#tests/support/until.ts'

const preload = path.join(import.meta.dirname, '../../bin/exports/profile.js')

/**
 * Lets each entry of the profiler throw when `fault` says so: what runs in the stack of the
 * application runs within `guard`, within a call that is observed, or within the report of a
 * framework. The texts are those of the compiled files.
 */
const places: readonly (readonly [file: string, before: string, after: string])[] = [
  ['lib/guard.js', 'apply(task, undefined, values)', '(fault(name, task), apply(task, undefined, values))'],
  ['lib/observe-calls.js', 'begun(self, args)', "(fault('a call of ' + code.name, begun), begun(self, args))"],
  ['lib/observe-calls.js', 'this(result)', "(fault('a result', this), this(result))"],
  ['kernel/contracts/functions.js', 'take(work)', "(fault('a framework', take), take(work))"],
]

const hooks = `
const places = ${JSON.stringify(places)}
export async function load(url, context, next) {
  const loaded = await next(url, context)
  const found = places.filter(([file]) => url.endsWith('/dist/' + file))
  const replace = (source, [file, before, after]) => {
    if (source.split(before).length !== 2) throw new Error(file + ' has not once: ' + before)
    return source.replace(before, () => after)
  }
  return found.length === 0 ? loaded : { ...loaded, source: found.reduce(replace, String(loaded.source)) }
}`

/**
 * Names an entry by its code. `thrown` has those that have thrown, `mode` says which one throws
 * next: all of them, or one.
 */
const faults = `
import { register } from 'node:module'
register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hooks)}))
const keys = new Map()
globalThis.faults = { seen: new Map(), armed: process.env.FAULTS === 'all' ? '*' : '', thrown: 0 }
globalThis.fault = (name, code) => {
  const key = keys.get(code.toString()) ?? keys.set(code.toString(), keys.size + ' ' + name).get(code.toString())
  const isFirst = !faults.seen.has(key)
  faults.seen.set(key, true)
  if (faults.armed !== key && !(faults.armed === '*' && isFirst)) return
  if (faults.armed === key) faults.armed = ''
  faults.thrown++
  throw new RangeError('A fault of the test.')
}`

const program = (postgres: object, redis: object) => `
import { createServer, get } from 'node:http'
import { Readable } from 'node:stream'
import express from 'express'
import { Redis } from 'ioredis'
import pg from 'pg'
const pool = new pg.Pool(${JSON.stringify(postgres)})
const refused = new pg.Pool({ host: '127.0.0.1', port: 2 })
const redis = new Redis(${JSON.stringify(redis)})
const upstream = createServer((request, response) => request.pipe(response)).listen(0, '127.0.0.1')
const up = () => 'http://127.0.0.1:' + upstream.address().port
const app = express()
app.use(express.json(), function check(request, response, next) { next() })
app.get('/text', (request, response) => { console.log('a text %s', request.url); response.send('text') })
app.get('/page', (request, response) => response.send('<!doctype html><html><body>a page</body></html>'))
app.post('/json', (request, response) => response.status(201).json(request.body))
app.get('/stream', (request, response) => Readable.from(['one ', 'two ', 'three']).pipe(response))
app.get('/calls', async (request, response) => {
  const own = await (await fetch(up(), { method: 'POST', body: 'own' })).text()
  get(up(), message => { message.resume().on('end', () => response.send(own)) })
})
app.get('/queries', async (request, response) => {
  const { rows } = await pool.query('SELECT $1::int AS one', [1])
  await redis.set('a', 1)
  response.json([rows, await redis.get('a'), await refused.query('SELECT 1').catch(error => error.code)])
})
app.get('/throw', () => { throw new RangeError('of a page') })
app.get('/late', async (request, response) => { response.send('done'); await new Promise(resolve => setTimeout(resolve, 5)) })
app.get('/twice', (request, response) => { response.send('once'); response.send('twice') })
app.use((error, request, response, next) => {
  if (!response.headersSent) response.status(500).send(error.stack)
})
await pool.query('SELECT 1')
const server = app.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })))
process.stdin.setEncoding('utf8').on('data', line => {
  if (globalThis.faults !== undefined) faults.armed = line.trim()
  console.log(JSON.stringify({ keys: [...(globalThis.faults?.seen.keys() ?? [])], thrown: globalThis.faults?.thrown }))
}).on('end', () => process.exit())
`

const pages = ['/text', '/page', '/stream', '/calls', '/queries', '/throw', '/late', '/twice', '/none']

interface Answer {
  readonly port: number
  readonly keys: readonly string[]
  readonly thrown?: number
}

/** Starts the application, and sends a request for each page. */
async function start(t: Test, cwd: string, options: readonly string[], env: object = {}) {
  const child = startProcess(t, [process.execPath, ...options, 'app.mjs'], {
    cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, PROFILER_PORT: '0', ...env },
  })
  let output = ''
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', part => {
    errors += part
  })
  child.stdout?.setEncoding('utf8').on('data', part => {
    output += part
  })
  const read = async (count: number): Promise<Answer> => {
    const lines = () => output.split('\n').filter(line => line.startsWith('{'))
    await until(() => lines().length >= count || child.exitCode !== null)
    return JSON.parse(lines().at(-1) ?? `{"errors":${JSON.stringify(errors)}}`)
  }
  const { port } = await read(1)
  if (port === undefined) throw new Error(errors)
  let count = 1
  const arm = (key: string) => {
    child.stdin?.write(`${key}\n`)
    return read(++count)
  }
  const visit = () =>
    Promise.all([...pages.map(page => send(port, 'GET', page)), send(port, 'POST', '/json', '{"a":[1,2]}')])
  return { arm, visit, isAlive: () => child.exitCode === null, errors: () => errors }
}

/** Sends a request, and returns the response without the date and the fields of the profiler. */
async function send(port: number, method: string, target: string, body = ''): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const fields = `host: a\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
  socket.write(`${method} ${target} HTTP/1.1\r\n${fields}\r\n\r\n${body}`)
  return `${target} ${await text(socket)}`.replace(/^(?:date|x-debug-\S+|server-timing):.*\r\n/gim, '')
}

t.test(
  'an entry of the profiler that throws changes no answer, and does not end the process',
  { skip: lacksPostgres || lacksRedis },
  async t => {
    const [postgres, { host, port }] = await Promise.all([startPostgres(t), startRedis(t)])
    const cwd = t.testdir({
      'app.mjs': program(postgres, { host, port }),
      'faults.mjs': faults,
      node_modules: {},
      'package.json': '{"dependencies":{"express":"*"}}',
    })
    const plain = await start(t, cwd, [])
    const expected = await plain.visit()
    const options = ['--import', './faults.mjs', '--import', preload]
    const all = await start(t, cwd, options, { FAULTS: 'all' })
    // Without its patch, Express is seen by its channels, whose frames are in the stack of an error.
    const withoutStacks = (answers: readonly string[]) => answers.filter(answer => !answer.startsWith('/throw'))
    for (const time of ['first', 'second', 'third'])
      t.strictSame(withoutStacks(await all.visit()), withoutStacks(expected), `all entries throw once: ${time} visit`)
    t.ok(all.isAlive())
    const one = await start(t, cwd, options)
    t.strictSame(await one.visit(), expected)
    t.strictSame(await one.visit(), expected)
    const { keys } = await one.arm('')
    const changed: string[] = []
    for (const key of keys) {
      await one.arm(key)
      if (JSON.stringify(await one.visit()) !== JSON.stringify(expected) || !one.isAlive()) changed.push(key)
    }
    t.strictSame(changed, [])
    const { thrown = 0 } = await one.arm('')
    t.comment(`${thrown} of ${keys.length} entries have thrown once more`)
    t.ok(keys.length > 40 && thrown > 40, 'entries are found')
  },
)
