import path from 'node:path'
import { t } from 'tap'
import { checkFrameworks, type Framework, start } from '#tests/support/check-frameworks.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { findProfile, startProfiled } from '#tests/support/start-profiled.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const preload = path.join(import.meta.dirname, '../../bin/exports/profile.js')
const { NODE_ENV: _, PROFILER_VIEWER: __, ...environment } = process.env

/**
 * The same application in each framework: two pages below a path, an error that the application
 * answers itself, and a refusal.
 */
const express = `
import express from 'express'
${start}
const router = express.Router()
router.use(function check(request, response, next) { next() })
router.get('/users/:id', function showUser(request, response) { console.log('a user'); response.json(request.params) })
router.get('/reset/:token', (request, response) => { console.log('reset', request.url, request.params.token); response.end() })
router.get('/fail', () => { throw new RangeError('The page is broken.') })
router.get('/next', (request, response, next) => next(new TypeError('The next page is broken.')))
router.get('/gone', () => { throw Object.assign(new Error('It is gone.'), { status: 404 }) })
const app = express()
app.use(function early(request, response, next) { if (request.url.includes('reset')) console.log('early %s\\n', request.url); next() })
app.use(express.json())
app.use('/api', router)
app.use('/books', express.Router().get('/', (request, response) => response.end()))
app.use('/sub/:secret', express.Router().get('/page', (request, response) => response.end()))
app.get(['/one', '/two'], (request, response) => response.send('some'))
app.all('/{*rest}', function rest(request, response) { response.status(404).send() })
app.use(function answer(error, request, response, next) { response.status(error.status ?? 500).send('handled') })
const server = app.listen(0, '127.0.0.1', () => report(server))
`
const fastify = (name: string) => `
import Fastify from '${name}'
${start}
const app = Fastify()
app.addHook('onRequest', async function check() {})
app.register(async api => {
  api.get('/users/:id', { preHandler: [function own(request, reply, done) { done() }] }, function showUser(request, reply) {
    console.log('a user')
    reply.send(request.params)
  })
  api.get('/reset/:token', (request, reply) => { console.log('reset', request.url); reply.send() })
  api.get('/fail', () => { throw new RangeError('The page is broken.') })
  api.get('/next', async () => { throw new TypeError('The next page is broken.') })
  api.get('/gone', async () => { throw Object.assign(new Error('It is gone.'), { status: 404 }) })
}, { prefix: '/api' })
app.all('*', function rest(request, reply) { reply.status(404).send() })
app.setErrorHandler((error, request, reply) => reply.status(error.status ?? 500).send('handled'))
app.listen({ host: '127.0.0.1', port: 0 }).then(() => report(app.server))
`
const koa = `
import Koa from 'koa'
import Router from '@koa/router'
${start}
const app = new Koa()
app.silent = true
app.use(async function check(context, next) {
  await next()
  await new Promise(resolve => setTimeout(resolve, 2))
})
const router = new Router({ prefix: '/api' })
router.get('/users/:id', async function showUser(context) { console.log('a user'); context.body = context.params })
router.get('/reset/:token', context => { console.log('reset', context.url); context.body = '' })
router.get('/fail', () => { throw new RangeError('The page is broken.') })
router.get('/next', async () => { throw new TypeError('The next page is broken.') })
router.get('/gone', context => context.throw(404, 'It is gone.'))
app.use(router.routes())
app.use(new Router().all('/{*rest}', function rest(context) { context.status = 404 }).routes())
const server = app.listen(0, '127.0.0.1', () => report(server))
`
const hono = `
import { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { serve } from '@hono/node-server'
${start}
const app = new Hono()
app.use(async function check(context, next) {
  await next()
  await new Promise(resolve => setTimeout(resolve, 2))
})
const api = new Hono()
api.get('/users/:id', function showUser(context) { console.log('a user'); return context.json(context.req.param()) })
api.get('/reset/:token', context => { console.log('reset', context.req.url); return context.text('') })
api.get('/fail', () => { throw new RangeError('The page is broken.') })
api.get('/gone', async () => { throw new HTTPException(404, { message: 'It is gone.' }) })
app.route('/api', api)
const own = new Hono()
own.get('/next', () => { throw new TypeError('The next page is broken.') })
own.onError((error, context) => context.text('handled', 500))
app.route('/api', own)
app.all('*', function rest(context) { return context.text('', 404) })
app.onError((error, context) => error.getResponse?.() ?? context.text('handled', 500))
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, () => report(server))
`
const hapi = `
import Hapi from '@hapi/hapi'
import { Boom } from '@hapi/boom'
${start}
const server = Hapi.server({ host: '127.0.0.1', port: 0, debug: false })
server.auth.scheme('none', () => ({ authenticate() { throw new Boom('Dropped, because it is optional.', { statusCode: 401 }) } }))
server.auth.strategy('none', 'none')
server.auth.default({ strategy: 'none', mode: 'try' })
server.ext('onPreHandler', function check(request, h) { return h.continue })
server.route([
  { method: 'GET', path: '/api/users/{id}', options: { pre: [function own() { return 1 }] }, handler: function showUser(request) { console.log('a user'); return request.params } },
  { method: 'GET', path: '/api/reset/{token}', handler: request => { console.log('reset', request.path); return '' } },
  { method: 'GET', path: '/api/fail', handler: () => { throw new RangeError('The page is broken.') } },
  { method: 'GET', path: '/api/next', handler: async () => { throw new TypeError('The next page is broken.') } },
  { method: 'GET', path: '/api/gone', handler: () => { throw new Boom('It is gone.', { statusCode: 404 }) } },
  { method: 'GET', path: '/{rest*}', handler: function rest(request, h) { return h.response('').code(404) } },
])
server.start().then(() => report(server.listener))
`
const polka = `
import polka from 'polka'
${start}
const api = polka()
api.use(function check(request, response, next) { next() })
api.get('/users/:id', function own(request, response, next) { next() }, function showUser(request, response) {
  console.log('a user')
  response.end(JSON.stringify(request.params))
})
api.get('/reset/:token', (request, response) => { console.log('reset', request.originalUrl); response.end() })
api.get('/fail', (request, response, next) => next(new RangeError('The page is broken.')))
api.get('/next', (request, response, next) => setImmediate(next, new TypeError('The next page is broken.')))
api.get('/gone', (request, response, next) => next(Object.assign(new Error('It is gone.'), { status: 404 })))
const app = polka()
app.use('/api', api)
app.listen(0, '127.0.0.1', () => report(app.server))
`
const tinyhttp = `
import { App } from '@tinyhttp/app'
${start}
const onError = (error, request, response) => response.status(error.status ?? 500).send('handled')
const api = new App({ onError })
api.use(function check(request, response, next) { next() })
api.get('/users/:id', function own(request, response, next) { next() }, function showUser(request, response) {
  console.log('a user')
  response.end(JSON.stringify(request.params))
})
api.get('/reset/:token', (request, response) => { console.log('reset', request.url); response.end() })
api.get('/fail', (request, response) => { throw new RangeError('The page is broken.') })
api.get('/next', async () => { throw new TypeError('The next page is broken.') })
api.get('/gone', (request, response, next) => next(Object.assign(new Error('It is gone.'), { status: 404 })))
const app = new App({ onError })
app.use('/api', api)
app.get('*', function rest(request, response) { response.status(404).end() })
const server = app.listen(0, () => report(server), '127.0.0.1')
`
const h3 = `
import { H3, HTTPError } from 'h3'
import { serve } from 'h3'
${start}
const api = new H3()
api.get('/users/:id', function showUser(event) { console.log('a user'); return event.context.params }, {
  middleware: [function own() {}],
})
api.get('/reset/:token', event => { console.log('reset', event.url.pathname); return '' })
api.get('/fail', () => { throw new RangeError('The page is broken.') })
api.get('/next', async () => { throw new TypeError('The next page is broken.') })
api.get('/gone', () => { throw new HTTPError('It is gone.', { status: 404 }) })
const app = new H3({ silent: true })
app.use(function check() {})
app.mount('/api', api)
app.all('/**', function rest(event) { event.res.status = 404; return '' })
const server = serve(app, { hostname: '127.0.0.1', port: 0, silent: true })
server.ready().then(() => report(server.node.server))
`
const nest = (imported: string, adapter: string) => `
import 'reflect-metadata'
import { BadRequestException, Controller, Get, Injectable, Module, NotFoundException, Param, UseGuards, UseInterceptors } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
${imported}
${start}
class Users {
  showUser(id) { console.log('a user'); return { id } }
  reset(token) { console.log('reset', '/api/reset/' + token) }
  fail() { throw new RangeError('The page is broken.') }
  async next() { throw new TypeError('The next page is broken.') }
  gone() { throw new NotFoundException('It is gone.') }
}
class Guard { canActivate() { return true } }
class Interceptor { intercept(context, next) { return next.handle() } }
class Pipe {
  transform(id) {
    if (id === 'odd') throw new BadRequestException('It is odd.')
    return id
  }
}
for (const each of [Guard, Interceptor, Pipe]) Injectable()(each)
const decorate = (name, ...decorators) => {
  for (const each of decorators) each(Users.prototype, name, Object.getOwnPropertyDescriptor(Users.prototype, name))
}
decorate('showUser', Get('users/:id'), UseGuards(Guard), UseInterceptors(Interceptor))
Param('id', Pipe)(Users.prototype, 'showUser', 0)
decorate('reset', Get('reset/:token'))
Param('token')(Users.prototype, 'reset', 0)
for (const name of ['fail', 'next', 'gone']) decorate(name, Get(name))
Controller('api')(Users)
class App {}
Module({ controllers: [Users] })(App)
NestFactory.create(App, ${adapter} { logger: false }).then(async app => {
  await app.listen(0, '127.0.0.1')
  report(app.getHttpServer())
})
`

const same = (...names: readonly string[]) => Object.fromEntries(names.map(name => [name, name]))
const inExpress = [
  'middleware:',
  'early FILE',
  'jsonParser FILE',
  'router FILE',
  'check FILE',
  'handler:',
  'showUser FILE',
]
const inFastify = ['onRequest:', 'check FILE', 'preHandler:', 'own FILE', 'handler:', 'showUser FILE']
const inKoa = ['middleware:', 'check FILE', 'router FILE', 'handler:', 'showUser FILE']
const inNest = [
  'guard:',
  'Guard FILE',
  'interceptor:',
  'Interceptor FILE',
  'pipe:',
  'Pipe FILE',
  'handler:',
  'Users.showUser FILE',
]

const frameworks: Readonly<Record<string, Framework>> = {
  'Express 5': { source: express, packages: same('express'), calls: inExpress, handler: 'showUser' },
  'Express 4': {
    source: express.replace('/{*rest}', '*'),
    packages: { express: 'express4' },
    calls: ['middleware:', 'query FILE', 'expressInit FILE', ...inExpress.slice(1)],
    handler: 'showUser',
  },
  'Fastify 5': { source: fastify('fastify'), packages: same('fastify'), calls: inFastify, handler: 'showUser' },
  'Fastify 4': { source: fastify('fastify4'), packages: same('fastify4'), calls: inFastify, handler: 'showUser' },
  Koa: { source: koa, packages: same('koa', '@koa/router'), calls: inKoa, last: 'check FILE', handler: 'showUser' },
  'Koa with koa-router': {
    source: koa.replace('@koa/router', 'koa-router'),
    // The same router has two names.
    packages: { ...same('koa'), 'koa-router': '@koa/router' },
    calls: inKoa,
    last: 'check FILE',
    handler: 'showUser',
  },
  Hono: {
    source: hono,
    packages: same('hono', '@hono/node-server'),
    calls: ['middleware:', 'check FILE', 'handler:', 'showUser FILE'],
    last: 'check FILE',
    handler: 'showUser',
  },
  Hapi: {
    source: hapi,
    packages: same('@hapi/hapi'),
    parameter: name => `{${name}}`,
    calls: ['onPreHandler:', 'check FILE', 'function:', 'own FILE', 'handler:', 'showUser FILE'],
    handler: 'showUser',
  },
  Polka: {
    source: polka,
    packages: same('polka'),
    calls: ['middleware:', 'check FILE', 'own FILE', 'handler:', 'showUser FILE'],
    handler: 'showUser',
  },
  tinyhttp: {
    source: tinyhttp,
    packages: same('@tinyhttp/app'),
    calls: ['middleware:', 'check FILE', 'own FILE', 'handler:', 'showUser FILE'],
    handler: 'showUser',
  },
  H3: {
    source: h3,
    packages: same('h3'),
    calls: ['middleware:', 'check FILE', 'own FILE', 'handler:', 'showUser FILE'],
    handler: 'showUser',
  },
  'Nest on Express': { source: nest('', ''), packages: same('@nestjs/core'), calls: inNest, handler: 'Users.showUser' },
  'Nest on Fastify': {
    source: nest("import { FastifyAdapter } from '@nestjs/platform-fastify'", 'new FastifyAdapter(),'),
    packages: same('@nestjs/core'),
    calls: inNest,
    handler: 'Users.showUser',
  },
}

/**
 * The programs. Express 4 and Express 5 have one name; the others of CommonJS are one copy for both kinds of modules.
 */
const programs: readonly (readonly [ending: '.mjs' | '.cjs', names: readonly string[]])[] = [
  ['.mjs', ['Express 5', 'Fastify 5', 'Koa', 'Hono']],
  ['.mjs', ['Express 4', 'Fastify 4', 'Koa with koa-router']],
  ['.mjs', ['Nest on Express', 'Nest on Fastify']],
  ['.mjs', ['Hapi', 'Polka', 'tinyhttp', 'H3']],
  ['.cjs', ['Express 4', 'Koa', 'Hono']],
]

for (const [ending, names] of programs) {
  t.test(`profiles of ${names.join(', ')} in ${ending}`, t =>
    checkFrameworks(t, ending, Object.fromEntries(Object.entries(frameworks).filter(([name]) => names.includes(name)))),
  )
}

t.test('a framework that a dependency of a dependency wraps is recorded, too', async t => {
  const source = `
import { Koa, Router, express } from 'wrapper'
const router = new Router().get('/users/:id', function showUser() { throw new RangeError('The page is broken.') })
const app = new Koa()
app.use(async (context, next) => next().catch(() => { context.status = 500 }))
app.use(router.routes())
const other = express()
other.get('/books/:id', function showBook() { throw new RangeError('The page is broken.') })
other.use((error, request, response, next) => response.status(500).end())
app.use(context => { context.respond = false; other(context.req, context.res) })
const server = app.listen(0, '127.0.0.1', () => process.stdout.write('[' + server.address().port + ']\\n'))
process.stdin.on('end', () => process.exit()).resume()
`
  const wrapper = {
    'package.json': JSON.stringify({
      name: 'wrapper',
      exports: './index.mjs',
      dependencies: same('koa', '@koa/router', 'express'),
    }),
    'index.mjs': `
export { default as Koa } from 'koa'
export { default as Router } from '@koa/router'
export { default as express } from 'express'
`,
    node_modules: { express: t.fixture('symlink', path.join(root, 'node_modules/express4')) },
  }
  const cwd = t.testdir({
    'package.json': JSON.stringify({ dependencies: { ...same('outer'), 'not-installed': '*' } }),
    node_modules: {
      outer: { 'package.json': JSON.stringify({ dependencies: same('middle') }) },
      middle: { 'package.json': JSON.stringify({ dependencies: same('outer', 'wrapper') }) },
      wrapper,
    },
  })
  const { stop, url, viewer } = await startProfiled(t, source, {}, cwd)
  for (const [page, name] of [
    ['users', 'showUser'],
    ['books', 'showBook'],
  ] as const) {
    await (await fetch(`${url}/${page}/7`)).text()
    const { summary } = await findProfile(viewer, `/${page}/7`)
    t.match(summary, { route: `GET /${page}/:id`, controller: name, exception: 'RangeError', status: 500 })
  }
  await stop()
})

t.test('a route that passes a request on is not its route', async t => {
  const source = `
import Koa from 'koa'
import Router from '@koa/router'
import { Hono } from 'hono'
import { serve } from '@hono/node-server'
const router = new Router()
router.get('/{*file}', (context, next) => next())
router.get('/users/:id', context => { context.body = '' })
const app = new Hono()
app.get('/users/*', (context, next) => next())
app.get('/users/:id', context => context.text(''))
const servers = [new Koa().use(router.routes()).listen(0, '127.0.0.1'), serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 })]
await Promise.all(servers.map(server => new Promise(resolve => server.once('listening', resolve))))
process.stdout.write(JSON.stringify(servers.map(server => server.address().port)) + '\\n')
process.stdin.on('end', () => process.exit()).resume()
`
  const folders = ['koa', '@koa', 'hono', '@hono'].map(name => [
    name,
    t.fixture('symlink', path.join(root, 'node_modules', name)),
  ])
  const cwd = t.testdir({
    'package.json': JSON.stringify({ dependencies: same('koa', '@koa/router', 'hono') }),
    node_modules: Object.fromEntries(folders),
  })
  const { ports, stop, viewer } = await startProfiled(t, source, {}, cwd)
  for (const port of ports) {
    await (await fetch(`http://127.0.0.1:${port}/users/${port}`)).text()
    t.match((await findProfile(viewer, `/users/${port}`)).summary, { route: 'GET /users/:id' })
  }
  await stop()
})

t.test('the route of a router that is mounted below parameters has their names, at any depth', async t => {
  const source = (name: string) => `
import express from '${name}'
import { createServer } from 'node:http'
const app = express()
app.use('/literal', (request, response, next) => next())
const team = express.Router({ mergeParams: true }).get('/', answer).get('/members/:id', answer)
const org = express.Router().get('/', answer).use('/teams/:team', team).use(['/squads/:squad', '/crews/:crew'], team)
app.use('/orgs/:org/', org)
app.use('/:kind/deep', express.Router().use('/:one', express.Router().use('/:two', express.Router().get('/end', answer))))
app.use(/^.pattern.[0-9]+/, team)
app.use('/APP', express().use('/:id', express().get('/page', answer)))
app.use('/orgs', express.Router().get('/:org/other', answer))
app.use(express.Router().use('/x/:x', (request, response, next) => next()).get('/x/:y/z', answer))
app.use('/broken/:id', express.Router().get('/now', () => { throw new RangeError('broken') }))
app.use((error, request, response, next) => response.status(500).end())
const server = createServer(app).listen(0, '127.0.0.1', () => process.stdout.write('[' + server.address().port + ']\\n'))
function answer(request, response) { response.end() }
process.stdin.on('end', () => process.exit()).resume()
`
  const routes = {
    '/orgs/acme': '/orgs/:org',
    '/orgs/acme/': '/orgs/:org',
    '/orgs/acme/teams/blue': '/orgs/:org/teams/:team',
    '/orgs/acme/teams/blue/members/7': '/orgs/:org/teams/:team/members/:id',
    // Which path of a list has matched is not known.
    '/orgs/acme/squads/one/members/7': '/orgs/acme/squads/one/members/:id',
    '/orgs/acme/crews/one/members/7': '/orgs/acme/crews/one/members/:id',
    '/orgs/acme/other': '/orgs/:org/other',
    '/books/deep/same/same/end': '/:kind/deep/:one/:two/end',
    '/pattern/12/members/7': '/pattern/12/members/:id',
    '/app/7/page': '/APP/:id/page',
    '/x/1/z': '/x/:y/z',
    '/broken/7/now': '/broken/:id/now',
    '/literal/7': '/literal/*',
  }
  for (const name of ['express', 'express4']) {
    const { stop, url, viewer } = await startProfiled(t, source(name))
    const found: Record<string, unknown> = {}
    for (const target of Object.keys(routes)) {
      await (await fetch(url + target)).text()
      found[target] = (await findProfile(viewer, target)).summary.route
    }
    const expected = Object.entries(routes).map(([target, pattern]) => [target, `GET ${pattern}`])
    t.strictSame(found, Object.fromEntries(expected), name)
    await stop()
  }
})

t.test('a call that no stack names is in the function that runs', async t => {
  const source = `
import { get } from 'node:http'
import express from 'express'
const app = express()
app.get('/later', function showLater(request, response) {
  const address = 'http://127.0.0.1:' + server.address().port + '/other'
  process.nextTick(get, address, inner => inner.resume().on('end', () => response.end()))
})
const server = app.listen(0, '127.0.0.1', () => process.stdout.write('[' + server.address().port + ']\\n'))
process.stdin.on('end', () => process.exit()).resume()
`
  const cwd = t.testdir({ 'package.json': JSON.stringify({ dependencies: same('express') }), node_modules: {} })
  const { stop, url, viewer } = await startProfiled(t, source, {}, cwd)
  await (await fetch(`${url}/later`)).text()
  const { data } = await findProfile(viewer, '/later')
  t.match(data.http, { calls: [{ caller: { function: 'showLater', file: 'app.mjs', line: 5, isIn: true } }] })
  await stop()
})

// Nest 12 is one of ES modules, of which some need `reflect-metadata` without importing it.
t.test('the index of Nest is loaded before its other files, which need what it loads', async t => {
  const core = {
    'package.json': '{ "type": "module" }',
    'index.js': "import './metadata.js'",
    'metadata.js': 'globalThis.metadata = new Map()',
    exceptions: { 'exceptions-handler.js': 'metadata.clear()\nexport class ExceptionsHandler { next() {} }' },
  }
  const source = `
import '@nestjs/core/index.js'
import { ExceptionsHandler } from '@nestjs/core/exceptions/exceptions-handler.js'
process.stdout.write(typeof new ExceptionsHandler().next)
`
  const cwd = t.testdir({
    'app.mjs': source,
    'package.json': JSON.stringify({ dependencies: same('@nestjs/core') }),
    node_modules: { '@nestjs': { core } },
  })
  const env = { ...environment, PROFILER_PORT: '0' }
  const ran = await runProcess(t, [process.execPath, '--import', preload, 'app.mjs'], { cwd, env })
  t.match(ran, { code: 0, stdout: 'function' }, ran.stderr)
})
