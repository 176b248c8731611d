import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { silentLogger } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { loadApplication, readSettings } from '#bin/application/application.ts'
import { createNodeServer } from '#bin/application/create-node-server.ts'
import { createSources } from '#bin/application/sources.ts'
import { firstCalls } from '#tests/support/check-frameworks.ts'
import { endFirst } from '#tests/support/start-process.ts'

/** The file in which Node finds the bundles, and its place in profiles. */
const program = createSources('/', undefined).toProgram('/bundles/index.ts').slice(1)
const file = program.replace(/^dist\//, '')

/** A bundle that mounts applications of Express. Each waits for a while, so that requests overlap. */
const express = `
import { setTimeout as delay } from 'node:timers/promises'
import express from 'express'
import { addNodeMiddleware, mountNodeHandler, Response } from 'sinfonietta'

const app = express()
app.use(async function pause(request, response, next) { await delay(Math.random() * 20); next() })
const api = express.Router()
api.get('/users/:id', function check(request, response, next) { setTimeout(next, 5) }, async function showUser(request, response) {
  await delay(Math.random() * 20)
  response.json(request.params)
})
api.get('/fail', () => { throw new RangeError('The page is broken.') })
api.get('/passed', () => { throw Object.assign(new TypeError('It is passed on.'), { status: 418 }) })
app.use('/api', api)
app.use(function answer(error, request, response, next) {
  if (error instanceof TypeError) return next(error)
  response.status(500).send('handled')
})
const first = express()
first.use(function early(request, response, next) { next() })
export const createBundles = async () => [{
  name: 'mounts',
  register({ dispatcher, routes }) {
    mountNodeHandler(routes, '/old', app)
    mountNodeHandler(routes, '/plain', (request, response) => response.end('plain'))
    addNodeMiddleware(dispatcher, first)
    routes.get('own', '/own', () => Response.text('own'))
  },
}]
`

const others = `
import { setTimeout as delay } from 'node:timers/promises'
import 'reflect-metadata'
import { Controller, Get, Module, Param, UseGuards } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import Router from '@koa/router'
import Fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { mountFetchHandler, mountNodeHandler } from 'sinfonietta'

const pause = () => delay(Math.random() * 20)

const koa = new Koa()
koa.silent = true
koa.use(async function check(context, next) { await pause(); await next() })
const router = new Router({ prefix: '/api' })
router.get('/users/:id', async function showUser(context) { await pause(); context.body = context.params })
router.get('/fail', () => { throw new RangeError('The page is broken.') })
koa.use(router.routes())

const fastify = Fastify()
fastify.addHook('onRequest', async function check() { await pause() })
fastify.get('/api/users/:id', async function showUser(request) { await pause(); return request.params })
fastify.get('/api/fail', async () => { throw new RangeError('The page is broken.') })

const hono = new Hono().basePath('/hono')
hono.use(async function check(context, next) { await pause(); await next() })
hono.get('/api/users/:id', async function showUser(context) { await pause(); return context.json(context.req.param()) })
hono.get('/api/fail', () => { throw new RangeError('The page is broken.') })
hono.onError((error, context) => context.text('handled', 500))

class Users {
  async showUser(id) { await pause(); return { id } }
  fail() { throw new RangeError('The page is broken.') }
}
class Guard { async canActivate() { await pause(); return true } }
const decorate = (name, ...decorators) => {
  for (const each of decorators) each(Users.prototype, name, Object.getOwnPropertyDescriptor(Users.prototype, name))
}
decorate('showUser', Get('users/:id'), UseGuards(Guard))
Param('id')(Users.prototype, 'showUser', 0)
decorate('fail', Get('fail'))
Controller('api')(Users)
class App {}
Module({ controllers: [Users] })(App)

export const createBundles = async () => {
  await fastify.ready()
  const nest = await NestFactory.create(App, { logger: false })
  await nest.init()
  return [{
    name: 'mounts',
    register({ routes }) {
      mountNodeHandler(routes, '/koa', koa.callback())
      mountNodeHandler(routes, '/fastify', (request, response) => fastify.routing(request, response))
      mountFetchHandler(routes, '/hono', hono.fetch)
      mountNodeHandler(routes, '/nest', nest.getHttpAdapter().getInstance())
    },
    close: () => nest.close(),
  }]
}
`

type Span = readonly [mark: unknown, name: string, start: number, duration: number | null, parent?: number]

interface Stored {
  readonly summary: { readonly controller: string | null; readonly exception: string | null; readonly route: string }
  readonly data: {
    readonly events: { readonly spans: readonly Span[]; readonly places?: readonly [number, string][] }
    readonly router: {
      readonly route: string
      readonly mounted?: { readonly pattern: string; readonly parameters: unknown }
    }
    readonly exception?: { readonly exceptions: readonly { readonly name: string }[] }
  }
}

/** Serves an application in development, as its command does, and returns what its profiles have. */
async function serve(t: Test, source: string, packages: Readonly<Record<string, string>>) {
  const root = path.resolve(import.meta.dirname, '../../..')
  const directory = t.testdir({
    'package.json': JSON.stringify({ type: 'module', dependencies: packages }),
    node_modules: Object.fromEntries(
      Object.entries({ sinfonietta: '.', ...packages })
        .filter(([name, real]) => name !== real)
        .map(([name, real]) => [
          name,
          t.fixture('symlink', name === 'sinfonietta' ? root : path.join(root, 'node_modules', real)),
        ]),
    ),
  })
  const place = path.join(directory, program)
  mkdirSync(path.dirname(place), { recursive: true })
  writeFileSync(place, source)
  const settings = readSettings(directory, { APP_ENV: 'dev', APP_SECRET: 'a'.repeat(32) })
  const kernel = await loadApplication(settings, { logger: silentLogger, isServed: true, warns: false })
  const server = createNodeServer(kernel.app)
  const url = await server.listen('127.0.0.1', 0)
  endFirst(t, async () => {
    await server.close({ deadline: 1_000, linger: 0 })
    await kernel.close()
  })
  const panel = async (token: string, query: string) => (await fetch(`${url}/_profiler/${token}${query}`)).text()
  return async (target: string, method = 'GET') => {
    const response = await fetch(url + target, { method })
    const text = await response.text()
    const token = String(response.headers.get('x-debug-token'))
    const { data, summary }: Stored = JSON.parse(await panel(token, '.json'))
    const { places = [], spans } = data.events
    /** The functions that frameworks called, below their phases, with their places. */
    const calls = spans.flatMap(([mark, name], index) => {
      const place = places.find(([at]) => at === index)?.[1]
      if (mark === 'phase') return [`${name}:`]
      return mark !== 'function' ? [] : place === undefined ? [name] : [`${name} ${place.replace(/:\d+$/, '')}`]
    })
    const show = (name: string) => panel(token, `?panel=${name}`)
    return {
      ...data,
      ...summary,
      exceptions: data.exception?.exceptions.map(({ name }) => name),
      status: response.status,
      text,
      calls,
      show,
    }
  }
}

const versions = { 'Express 5': { express: 'express' }, 'Express 4': { express: 'express4' } }

for (const [name, packages] of Object.entries(versions)) {
  t.test(`the profile of a mount of ${name} has its route, its functions and the errors that it answers`, async t => {
    const get = await serve(t, express, packages)
    // Express 4 has functions of its own.
    const own = name === 'Express 4' ? [`query ${file}`, `expressInit ${file}`] : []
    const before = ['middleware:', ...own, `early ${file}`]
    const shown = await get('/old/api/users/7')
    t.match(shown, {
      text: '{"id":"7"}',
      route: 'GET /old/api/users/:id',
      controller: 'showUser',
      exception: null,
      router: { mounted: { pattern: '/old/api/users/:id', parameters: { id: '7' } } },
    })
    const middleware = [...own, `pause ${file}`, `router ${file}`, `check ${file}`]
    const expected = [...before, ...middleware, 'handler:', `showUser ${file}`]
    t.strictSame(firstCalls(shown.calls), firstCalls(expected))
    const events = await shown.show('events')
    t.notMatch(events.slice(events.indexOf('Called Listeners')), 'showUser', 'functions are no listeners')
    t.match(
      await shown.show('router'),
      /Route of the handler[\s\S]*\/old\/api\/users\/:id[\s\S]*Parameters of the handler/,
    )
    const failed = await get('/old/api/fail')
    t.match(failed, {
      status: 500,
      text: 'handled',
      exception: 'RangeError',
      route: 'GET /old/api/fail',
      router: { route: 'old', mounted: { pattern: '/old/api/fail' } },
    })
    t.match(await failed.show('exception'), new RegExp(`The page is broken\\.[\\s\\S]*${file}`))
    t.strictSame(failed.calls.slice(-2), ['error handler:', `answer ${file}`])
    const passed = await get('/old/api/passed')
    t.match(passed, { status: 418, exceptions: ['HttpError'] }, 'the kernel answers; the other error is its cause')
    t.equal(passed.calls.at(-1), `answer ${file}`)
    const plain = await get('/plain')
    t.match(plain, { text: 'plain', route: 'plain', controller: 'node handler /plain', router: { mounted: undefined } })
    const route = await get('/own')
    t.strictSame([firstCalls(route.calls), route.router.mounted], [before, undefined], 'a route of the kernel has none')
  })
}

const routes = `
import express from 'express'
import { mountNodeHandler } from 'sinfonietta'

const app = express()
const step = name => Object.defineProperty((request, response, next) => next(), 'name', { value: name })
const end = name => Object.defineProperty((request, response) => response.end(name), 'name', { value: name })
const router = express.Router()
router.all('/router', step('first'), end('anyBook'))
app.use('/in', router)
app.all('/app', end('anyBooks'))
app.all('/several', step('first'), [step('second'), end('anyBooks')])
app.route('/before').all(step('load')).get(end('show')).post(end('save'))
app.route('/after').get(step('load'), end('show')).all(end('refuse'))
app.route('/only').all(step('load'), end('any'))
app.get('/get', step('load'), end('show'))
export const createBundles = async () => [{ name: 'mounts', register: ({ routes }) => mountNodeHandler(routes, '/old', app) }]
`

for (const [name, packages] of Object.entries(versions)) {
  t.test(`the handler of a route of ${name} is its last function for the method, or for all methods`, async t => {
    const get = await serve(t, routes, packages)
    for (const [method, target, before, handler] of [
      ['GET', '/app', [], 'anyBooks'],
      ['POST', '/app', [], 'anyBooks'],
      ['GET', '/several', ['first', 'second'], 'anyBooks'],
      ['DELETE', '/in/router', ['first'], 'anyBook'],
      ['GET', '/before', ['load'], 'show'],
      ['POST', '/before', ['load'], 'save'],
      ['HEAD', '/before', ['load'], 'show'],
      ['GET', '/after', ['load'], 'show'],
      ['PUT', '/after', [], 'refuse'],
      ['GET', '/only', ['load'], 'any'],
      ['HEAD', '/get', ['load'], 'show'],
    ] as const) {
      const { calls, controller } = await get(`/old${target}`, method)
      const names = firstCalls(calls).map(call => call.replace(` ${file}`, ''))
      t.equal(controller, handler, `${method} ${target}`)
      t.strictSame(names.slice(names.length - before.length - 2), [...before, 'handler:', handler])
    }
  })
}

t.test('mounts of Koa, Fastify, Hono and Nest have theirs', async t => {
  const names = ['koa', '@koa/router', 'fastify', 'hono', '@nestjs/core']
  const get = await serve(t, others, Object.fromEntries(names.map(name => [name, name])))
  const expected = {
    '/koa': {
      controller: 'showUser',
      calls: ['middleware:', `check ${file}`, `router ${file}`, 'handler:', `showUser ${file}`],
    },
    '/fastify': { controller: 'showUser', calls: ['onRequest:', `check ${file}`, 'handler:', `showUser ${file}`] },
    '/hono': { controller: 'showUser', calls: ['middleware:', `check ${file}`, 'handler:', `showUser ${file}`] },
    '/nest': { controller: 'Users.showUser', calls: ['guard:', 'Guard', 'handler:', 'Users.showUser'] },
  }
  for (const [mount, { calls, controller }] of Object.entries(expected)) {
    const shown = await get(`${mount}/api/users/7`)
    const mounted = { pattern: `${mount}/api/users/:id`, parameters: { id: '7' } }
    t.match(shown, {
      text: '{"id":"7"}',
      route: `GET ${mount}/api/users/:id`,
      controller,
      exception: null,
      router: { mounted },
    })
    t.ok(firstCalls(shown.calls).join().includes(calls.join()), shown.calls.join())
    const failed = await get(`${mount}/api/fail`)
    const fails = { status: 500, exception: 'RangeError', router: { mounted: { pattern: `${mount}/api/fail` } } }
    t.match(failed, fails, 'the framework has answered its error')
    t.match(await failed.show('exception'), new RegExp(`The page is broken\\.[\\s\\S]*${file}`))
  }
})

t.test('hundreds of requests at once have their own routes and functions', async t => {
  const names = ['koa', '@koa/router', 'fastify', 'hono', '@nestjs/core']
  const get = await serve(t, others, Object.fromEntries(names.map(name => [name, name])))
  const mounts = ['koa', 'fastify', 'hono', 'nest']
  const targets = Array.from({ length: 400 }, (_, index) => `/${mounts[index % mounts.length]}/api/users/${index}`)
  const alone: Record<string, readonly string[]> = {}
  for (const name of mounts) alone[name] = firstCalls((await get(`/${name}/api/users/0`)).calls)
  const found = await Promise.all(targets.map(async target => ({ target, ...(await get(target)) })))
  const wrong = found.filter(({ calls, router, target, text }) => {
    const [, mount = '', , , id] = target.split('/')
    const isOwn =
      JSON.stringify(router.mounted) === JSON.stringify({ pattern: `/${mount}/api/users/:id`, parameters: { id } })
    return text !== JSON.stringify({ id }) || !isOwn || String(firstCalls(calls)) !== String(alone[mount])
  })
  t.strictSame(
    wrong.map(({ calls, router, target }) => [target, calls, router.mounted]),
    [],
  )
})
