import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { t } from 'tap'
import { checkFrameworks, start } from '#tests/support/check-frameworks.ts'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { findProfile, startProfiled } from '#tests/support/start-profiled.ts'

const packages = [
  ...['http-proxy-middleware@3', 'express-http-proxy@2', 'http-proxy@1'],
  ...['restify@11', 'h3@1', 'json-server@0.17', '@feathersjs/koa@5', '@feathersjs/feathers@5'],
  ...['http-server@7', 'application@8', 'config@5', 'encryption@6', 'events@9', 'fold@10', 'logger@6'].map(
    name => `@adonisjs/${name}`,
  ),
]

const restify = `
import restify from 'restify'
${start}
const app = restify.createServer({ handleUncaughtExceptions: false })
app.use(function check(request, response, next) { next() })
app.get('/api/users/:id', function own(request, response, next) { next() }, function showUser(request, response, next) {
  console.log('a user')
  response.json(request.params)
  next()
})
app.get('/api/reset/:token', (request, response, next) => { console.log('reset', request.url); response.send(''); next() })
app.get('/api/fail', async () => { throw new RangeError('The page is broken.') })
app.get('/api/next', (request, response, next) => next(new TypeError('The next page is broken.')))
app.get('/api/gone', (request, response, next) => next(Object.assign(new Error('It is gone.'), { statusCode: 404 })))
app.get('/*', function rest(request, response, next) { response.send(404, ''); next() })
app.listen(0, '127.0.0.1', () => report(app.server))
`
/** Small applications, with a page of each: its URL, and its route. */
const applications: Readonly<Record<string, readonly [source: string, url: string, expected: object]>> = {
  h3: [
    `
import { createServer } from 'node:http'
import { createApp, createRouter, eventHandler, toNodeListener } from 'h3'
const app = createApp()
app.use(createRouter().get('/users/:id', eventHandler(event => { console.log('a user'); throw new RangeError('broken') })))
const server = createServer(toNodeListener(app))
`,
    '/users/7',
    { route: 'GET /users/:id', status: 500 },
  ],
  '@adonisjs/http-server': [
    `
import { createServer } from 'node:http'
import { Application } from '@adonisjs/application'
import { ExceptionHandler } from '@adonisjs/http-server'
import { ServerFactory } from '@adonisjs/http-server/factories'
const application = new Application(new URL('./', import.meta.url), { environment: 'web', importer() {} })
await application.init()
const adonis = new ServerFactory().merge({ app: application }).create()
adonis.getRouter().get('/users/:id', async function showUser() { throw new RangeError('broken') })
adonis.errorHandler(async () => ({ default: ExceptionHandler }))
adonis.use([])
await adonis.boot()
const server = createServer(adonis.handle.bind(adonis))
`,
    '/users/7',
    { route: 'GET /users/:id', exception: 'RangeError', controller: 'showUser', status: 500 },
  ],
  'json-server': [
    `
import jsonServer from 'json-server'
import { createServer } from 'node:http'
const app = jsonServer.create()
app.use(jsonServer.router({ users: [{ id: 7 }] }))
const server = createServer(app)
`,
    '/users',
    { route: 'GET /users', status: 200 },
  ],
  '@feathersjs/koa': [
    `
import { feathers } from '@feathersjs/feathers'
import { bodyParser, errorHandler, koa, rest } from '@feathersjs/koa'
import { createServer } from 'node:http'
const app = koa(feathers())
app.use(errorHandler())
app.use(bodyParser())
app.configure(rest())
app.use('users', { async get() { throw new RangeError('broken') } })
const server = createServer(app.callback())
`,
    '/users/7',
    { exception: 'RangeError', status: 500 },
  ],
}

/** Proxies below an application of Express, for a server that is profiled itself, and for none. */
const proxies: Readonly<Record<string, string>> = {
  'http-proxy-middleware': `
import { createProxyMiddleware } from 'http-proxy-middleware'
const create = target => createProxyMiddleware({ target })`,
  'express-http-proxy': `
import create from 'express-http-proxy'`,
  'http-proxy': `
import httpProxy from 'http-proxy'
const create = target => {
  const proxy = httpProxy.createProxyServer({ target })
  proxy.on('error', (error, request, response) => response.writeHead(502).end())
  return (request, response) => proxy.web(request, response)
}`,
}

t.test('frameworks with many packages', { skip: noRegistry }, async t => {
  const folder = mkdtempSync(path.join(tmpdir(), 'frameworks-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ dependencies: {} }))
  const line = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages]
  const { code, stderr } = await runProcess(t, line, { cwd: folder })
  t.equal(code, 0, stderr)
  await t.test('Restify', t =>
    checkFrameworks(
      t,
      '.mjs',
      {
        Restify: {
          source: restify,
          packages: { restify: 'restify' },
          calls: ['middleware:', 'check FILE', 'own FILE', 'handler:', 'showUser FILE'],
          handler: 'showUser',
        },
      },
      path.join(folder, 'node_modules'),
    ),
  )
  for (const [name, [source, url, expected]] of Object.entries(applications)) {
    await t.test(name, async t => {
      const listening = `
server.listen(0, '127.0.0.1', () => process.stdout.write('[' + server.address().port + ']\\n'))
process.stdin.on('end', () => process.exit()).resume()`
      const program = await startProfiled(t, source + listening, {}, folder)
      const response = await fetch(program.url + url)
      await response.text()
      t.match((await findProfile(program.viewer, url)).summary, expected)
      await program.stop()
    })
  }
  for (const [name, source] of Object.entries(proxies)) {
    await t.test(`${name}: a proxy names its own profile, its server and its error`, async t => {
      const listening = `
import { createServer } from 'node:http'
import express from 'express'
const upstream = createServer((request, response) => response.end('page')).listen(0, '127.0.0.1', () => {
  const server = createServer(app()).listen(0, '127.0.0.1', () =>
    console.log(JSON.stringify([server, upstream].map(each => each.address().port))))
})
function app() {
  const proxy = express()
  proxy.use('/up', (request, response, next) => create('http://127.0.0.1:' + upstream.address().port)(request, response, next))
  return proxy.use('/down', create('http://127.0.0.1:1'))
}
process.stdin.on('end', () => process.exit()).resume()`
      const { ports, stop, url, viewer } = await startProfiled(t, source + listening, {}, folder)
      const response = await fetch(`${url}/up/page`)
      await response.text()
      const { data, summary } = await findProfile(viewer, '/up/page')
      t.equal(response.headers.get('x-debug-token'), summary.token)
      t.match(data.http, { calls: [{ url: `http://127.0.0.1:${ports[1]}/page`, status: 200 }] })
      t.match((await fetch(`${url}/down/page`)).status, /^50[024]$/)
      const failed = await findProfile(viewer, '/down/page')
      const page = await (await fetch(`${viewer}/_profiler/${failed.summary.token}?panel=overview`)).text()
      t.match(page, 'ECONNREFUSED 127.0.0.1:1')
      await stop()
    })
  }
})
