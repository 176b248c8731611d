import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { type Test, t } from 'tap'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { runProcess, startProcess } from '#tests/support/start-process.ts'
import { findProfile, startProfiled } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

const packages = [
  ...['micro@10', 'moleculer@0.14', 'moleculer-web@0.10', '@orpc/server@1', '@orpc/openapi@1', 'sails@1', 'egg@4'],
  ...['koa@3', 'koa-mount@4', '@koa/router@15', 'connect@3', 'restana@5'],
]

const server = (listener: string) => `
import { createServer } from 'node:http'
const server = createServer(${listener})
`

/** Small applications, as their documentation says, with requests of each: the URL, and the profile. */
const applications: Readonly<Record<string, readonly [source: string, expected: Readonly<Record<string, object>>]>> = {
  micro: [
    `
import { createError, serve } from 'micro'
const answer = serve(async function answerAll(request) {
  if (request.url === '/fail') throw new RangeError('broken')
  throw createError(410, 'gone')
})
${server('answer')}`,
    {
      '/fail': { exception: 'RangeError', controller: 'answerAll', status: 500 },
      '/gone': { exception: 'HttpError', controller: 'answerAll', status: 410 },
    },
  ],
  'moleculer-web': [
    `
import { ServiceBroker } from 'moleculer'
import ApiService from 'moleculer-web'
const broker = new ServiceBroker({ logger: false })
broker.createService({ name: 'users', actions: { find: context => ({ id: context.params.id }), fail() { throw new RangeError('broken') } } })
const aliases = { 'GET users/:id': 'users.find', 'GET fail': 'users.fail' }
const api = broker.createService({ mixins: [ApiService], settings: { server: false, routes: [{ path: '/api', aliases }] } })
await broker.start()
${server('api.express()')}`,
    {
      '/api/users/7': { route: 'GET /api/users/:id', exception: null, controller: 'users.find', status: 200 },
      '/api/fail': { route: 'GET /api/fail', exception: 'RangeError', controller: 'users.fail', status: 500 },
      '/api/none': { route: 'GET /api/none', exception: null, status: 404 },
    },
  ],
  '@orpc/server': [
    `
import { os, ORPCError } from '@orpc/server'
import { OpenAPIHandler } from '@orpc/openapi/node'
import { RPCHandler } from '@orpc/server/node'
const router = {
  find: os.route({ method: 'GET', path: '/planets/{id}' }).handler(async function findPlanet() { return {} }),
  fail: os.handler(async function failing() { throw new RangeError('broken') }),
  gone: os.handler(async () => { throw new ORPCError('GONE', { status: 410 }) }),
}
const [open, rpc] = [new OpenAPIHandler(router), new RPCHandler(router)]
const answer = async (request, response) => {
  const { matched } = request.url.startsWith('/rpc')
    ? await rpc.handle(request, response, { prefix: '/rpc/', context: {} })
    : await open.handle(request, response, { prefix: '/api', context: {} })
  if (!matched) response.writeHead(404).end()
}
${server('answer')}`,
    {
      '/api/planets/7': { route: 'GET /api/planets/{id}', exception: null, controller: 'findPlanet', status: 200 },
      '/rpc/find': { route: 'POST /rpc/find', exception: null, controller: 'findPlanet', status: 200 },
      '/rpc/fail': { route: 'POST /rpc/fail', exception: 'RangeError', controller: 'failing', status: 500 },
      '/rpc/gone': { route: 'POST /rpc/gone', exception: 'ORPCError', status: 410 },
      '/rpc/none': { route: 'POST /rpc/none', exception: null, status: 404 },
    },
  ],
  'koa-mount': [
    `
import Koa from 'koa'
import mount from 'koa-mount'
import Router from '@koa/router'
const forums = new Router({ prefix: '/forums/:id' })
forums.get('/', function showForum(context) { context.body = context.params })
forums.get('/fail', function failing() { throw new RangeError('broken') })
const app = new Koa()
app.silent = true
app.use(mount('/api', new Koa().use(forums.routes())))
${server('app.callback()')}`,
    {
      '/api/forums/7': { route: 'GET /api/forums/:id', exception: null, controller: 'showForum', status: 200 },
      '/api/forums/7/fail': { route: 'GET /api/forums/:id/fail', exception: 'RangeError', status: 500 },
    },
  ],
  sails: [
    `
import sails from 'sails'
const routes = {
  'GET /users/:id': (request, response) => response.json({ id: request.params.id }),
  'GET /fail': () => { throw new RangeError('broken') },
}
const settings = { port: 0, log: { level: 'silent' }, globals: false, hooks: { grunt: false }, routes }
await new Promise((resolve, reject) => sails.lift(settings, error => error ? reject(error) : resolve()))
const { server } = sails.hooks.http
`,
    {
      '/users/7': { route: 'GET /users/:id', exception: null, status: 200 },
      '/fail': { route: 'GET /fail', exception: 'RangeError', status: 500 },
    },
  ],
  connect: [
    `
import connect from 'connect'
process.env.NODE_ENV = 'test'
const app = connect()
app.use('/fail', function failing() { throw new RangeError('broken') })
app.use('/next', (request, response, next) => next(new TypeError('passed on')))
${server('app')}`,
    {
      '/fail': { exception: 'RangeError', status: 500 },
      '/next': { exception: 'TypeError', status: 500 },
      '/none': { exception: null, status: 404 },
    },
  ],
  restana: [
    `
import restana from 'restana'
const service = restana()
service.get('/fail', function failing() { throw new RangeError('broken') })
service.get('/later', async () => { throw new TypeError('later') })
await service.start(0, '127.0.0.1')
const server = service.getServer()`,
    {
      '/fail': { exception: 'RangeError', status: 500 },
      '/later': { exception: 'TypeError', status: 500 },
      '/none': { exception: null, status: 404 },
    },
  ],
  egg: [
    `
import { mkdirSync, writeFileSync } from 'node:fs'
import { start } from 'egg'
for (const folder of ['app/controller', 'config', 'node_modules']) mkdirSync('egg/' + folder, { recursive: true })
writeFileSync('egg/package.json', JSON.stringify({ name: 'app', egg: {} }))
writeFileSync('egg/config/config.default.js', 'module.exports = { keys: "a", logger: { consoleLevel: "NONE" } }')
writeFileSync('egg/app/router.js', \`module.exports = app => {
  app.router.get('/users/:id', app.controller.users.show)
  app.router.get('/fail', app.controller.users.fail)
}\`)
writeFileSync('egg/app/controller/users.js', \`const { Controller } = require('egg')
module.exports = class UsersController extends Controller {
  async show() { this.ctx.body = this.ctx.params }
  async fail() { throw new RangeError('broken') }
}\`)
const app = await start({ baseDir: process.cwd() + '/egg', mode: 'single' })
${server('app.callback()')}`,
    {
      '/users/7': { route: 'GET /users/:id', exception: null, controller: null, status: 200 },
      '/fail': { route: 'GET /fail', exception: 'RangeError', status: 500 },
    },
  ],
}

/** The same program without the profiler. */
async function startPlain(t: Test, cwd: string) {
  const { NODE_ENV: _, ...env } = process.env
  const child = startProcess(t, [process.execPath, 'app.mjs'], { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] })
  let output = ''
  child.stdout?.setEncoding('utf8').on('data', chunk => {
    output += chunk
  })
  const ready = /^\[(\d+)\]$/m
  await until(() => ready.test(output))
  return { child, port: Number(ready.exec(output)?.[1]) }
}

/** The status, the fields in their order, and the body, but for fields of the profiler, and of one request. */
async function ask(port: number | undefined, path: string): Promise<readonly unknown[]> {
  const method = path.startsWith('/rpc') ? 'POST' : 'GET'
  const asked = request({ host: '127.0.0.1', port, path, method, headers: { host: 'localhost' } }).end()
  const [reply]: IncomingMessage[] = await once(asked, 'response')
  const own = /^(?:date|x-debug-token|x-debug-token-link|server-timing|x-readtime|x-request-id|set-cookie)$/i
  const { rawHeaders = [], statusCode } = reply ?? {}
  const fields = rawHeaders.flatMap((name, at) => (at % 2 === 0 && !own.test(name) ? [[name, rawHeaders[at + 1]]] : []))
  return [statusCode, fields, await text(reply as IncomingMessage)]
}

t.test('frameworks with many packages', { skip: noRegistry }, async t => {
  const folder = mkdtempSync(path.join(tmpdir(), 'more-frameworks-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ dependencies: {} }))
  const line = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages]
  const { code, stderr } = await runProcess(t, line, { cwd: folder })
  t.equal(code, 0, stderr)
  for (const [name, [source, requests]] of Object.entries(applications)) {
    await t.test(name, async t => {
      const listening = `
import { once } from 'node:events'
if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening')
process.stdout.write('[' + server.address().port + ']\\n')
process.stdin.on('end', () => process.exit()).resume()`
      const program = await startProfiled(t, source + listening, {}, folder)
      // Sails has one port for both.
      const plain = name === 'sails' ? undefined : await startPlain(t, folder)
      for (const [url, expected] of Object.entries(requests)) {
        const answer = await ask(program.ports[0], url)
        if (plain !== undefined) t.strictSame(answer, await ask(plain.port, url), `the bytes of ${url}`)
        t.match((await findProfile(program.viewer, url)).summary, expected, url)
      }
      plain?.child.stdin?.end()
      await program.stop()
    })
  }
})
