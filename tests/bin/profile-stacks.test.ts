import { once } from 'node:events'
import path from 'node:path'
import { type Test, t } from 'tap'
import { startProcess } from '#tests/support/start-process.ts'
import { until } from '#tests/support/until.ts'

const preload = path.join(import.meta.dirname, '../../bin/exports/profile.js')
const { NODE_ENV: _, PROFILER_VIEWER: __, ...environment } = process.env

/** Each application prints its port. The stack of a call is what the application sees of it. */
const start = `
import fs from 'node:fs'
import { basename } from 'node:path'
const report = server => process.stdout.write('PORT ' + basename(import.meta.filename, '.mjs') + ' ' + server.address().port + '\\n')
const seen = []
;(globalThis.seenByApplications ??= []).push(seen)
const stack = name => { function here() { return new Error(name).stack } return here() }
const sync = () => { try { fs.readFileSync('/missing') } catch (error) { return error.stack } }
`

/**
 * The pages of each framework: a stack, an error of each kind that the framework answers, and an error of a library.
 */
const express = (name: string) => `
import express from '${name}'
${start}
const app = express()
const note = name => void seen.push(stack(name))
app.use(express.json())
app.use(function first(request, response, next) { note('first'); response.on('finish', () => note('finish')); next() })
app.param('id', (request, response, next) => { note('param'); next() })
const router = express.Router()
router.use((request, response, next) => { note('inner'); next() }, function named(request, response, next) { next() })
router.get('/users/:id', function show(request, response) { note('show'); response.send(seen.splice(0).join('\\n')) })
router.get('/throw', () => { throw new RangeError('thrown') })
router.get('/async', async () => { await null; throw new RangeError('later') })
router.get('/next', (request, response, next) => next(new TypeError('passed')))
router.get('/timer', (request, response, next) => setTimeout(() => next(new TypeError('passed later')), 1))
router.get('/sent', (request, response) => { response.send('1'); response.setHeader('a', 'b') })
router.get('/sync', (request, response) => response.send(sync()))
router.get('/handled', () => { throw Object.assign(new Error('handled'), { isHandled: true }) })
app.use('/api', router)
app.use(function answer(error, request, response, next) {
  if (error.isHandled) response.status(500).send(stack('answer') + '\\n' + error.stack)
  else next(error)
})
const server = app.listen(0, '127.0.0.1', () => report(server))
`
const fastify = (name: string) => `
import Fastify from '${name}'
${start}
const app = Fastify()
const note = name => void seen.push(stack(name))
app.addHook('onRequest', (request, reply, done) => { note('hook'); done() })
app.addHook('preHandler', async () => note('async hook'))
app.register(async api => {
  api.get('/users/:id', { preHandler: [function own(request, reply, done) { note('own'); done() }] }, function show(request, reply) {
    note('show')
    reply.send(seen.splice(0).join('\\n'))
  })
  api.get('/throw', () => { throw new RangeError('thrown') })
  api.get('/async', async () => { await null; throw new RangeError('later') })
  api.get('/next', (request, reply) => { reply.send(new TypeError('passed')) })
  api.get('/sync', () => sync())
}, { prefix: '/api' })
app.setErrorHandler((error, request, reply) => reply.status(500).send(stack('answer') + '\\n' + error.stack))
app.listen({ host: '127.0.0.1', port: 0 }).then(() => report(app.server))
`
const koa = `
import Koa from 'koa'
import Router from '@koa/router'
${start}
const app = new Koa()
const note = name => void seen.push(stack(name))
app.use(async function first(context, next) {
  note('first')
  try { await next() } catch (error) {
    if (!error.isHandled) throw error
    context.body = stack('answer') + '\\n' + error.stack
  }
})
app.use(function second(context, next) { note('second'); return next() })
const router = new Router({ prefix: '/api' })
router.get('/users/:id', (context, next) => { note('own'); return next() }, async function show(context) { note('show'); context.body = seen.splice(0).join('\\n') })
router.get('/throw', () => { throw new RangeError('thrown') })
router.get('/async', async () => { await null; throw new RangeError('later') })
router.get('/sync', context => { context.body = sync() })
router.get('/handled', async () => { throw Object.assign(new Error('handled'), { isHandled: true }) })
app.use(router.routes())
const server = app.listen(0, '127.0.0.1', () => report(server))
`
const hono = `
import { Hono } from 'hono'
import { serve } from '@hono/node-server'
${start}
const app = new Hono()
const note = name => void seen.push(stack(name))
app.use(async function first(context, next) { note('first'); await next() })
const api = new Hono()
api.get('/users/:id', async (context, next) => { note('own'); await next() }, async function show(context) { note('show'); return context.text(seen.splice(0).join('\\n')) })
api.get('/throw', () => { throw new RangeError('thrown') })
api.get('/async', async () => { await null; throw new RangeError('later') })
api.get('/sync', async context => context.text(sync()))
app.route('/api', api)
const own = new Hono()
own.get('/handled', async () => { throw new Error('handled') })
own.onError((error, context) => context.text(stack('answer') + '\\n' + error.stack, 500))
app.route('/api', own)
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, () => report(server))
`
const nest = `
import 'reflect-metadata'
import { Controller, Get, Injectable, Module, Param, UseGuards, UseInterceptors } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
${start}
const note = name => void seen.push(stack(name))
class Users {
  show() { note('show'); return seen.splice(0).join('\\n') }
  throw() { throw new RangeError('thrown') }
  async async() { await null; throw new RangeError('later') }
  sync() { return sync() }
}
class Guard { canActivate() { note('guard'); return true } }
class Interceptor { intercept(context, next) { note('interceptor'); return next.handle() } }
class Pipe { transform(id) { note('pipe'); return id } }
class Filter { catch(error, host) { host.switchToHttp().getResponse().status(500).send(stack('answer') + '\\n' + error.stack) } }
for (const each of [Guard, Interceptor, Pipe]) Injectable()(each)
const decorate = (name, ...decorators) => {
  for (const each of decorators) each(Users.prototype, name, Object.getOwnPropertyDescriptor(Users.prototype, name))
}
decorate('show', Get('users/:id'), UseGuards(Guard), UseInterceptors(Interceptor))
Param('id', Pipe)(Users.prototype, 'show', 0)
for (const name of ['throw', 'async', 'sync']) decorate(name, Get(name))
Controller('api')(Users)
class App {}
Module({ controllers: [Users] })(App)
NestFactory.create(App, { logger: false }).then(async app => {
  app.useGlobalFilters(new Filter())
  await app.listen(0, '127.0.0.1')
  report(app.getHttpServer())
})
`
const plain = `
import http from 'node:http'
${start}
const server = http.createServer((request, response) => {
  const seen = [stack('listener')]
  const note = name => void seen.push(stack(name))
  const pages = {
    '/api/users/7': () => request.on('data', () => note('data')).on('end', () => { note('end'); response.end(seen.join('\\n')) }),
    '/api/throw': () => { try { response.writeHead(1) } catch (error) { response.end(error.stack) } },
    '/api/async': async () => { try { await fetch('/relative') } catch (error) { response.end(error.stack + '\\n' + error.cause?.stack) } },
    '/api/sync': () => response.end(sync()),
    '/api/next': () => {
      response.end('x', () => note('callback'))
      try { response.setHeader('a', 'b') } catch (error) { console.error(error) }
      response.on('close', () => { console.trace('closed'); console.error(seen.join('\\n')) })
    },
    '/api/sent': () => {
      console.log({ get stack() { return 1 }, [Symbol.for('nodejs.util.inspect.custom')]: () => stack('inspected') })
      console.table([stack('table')])
      request.on('mine', () => note('mine'))
      request.emit('mine')
      response.on('pipe', () => note('pipe')).emit('pipe')
      response.end(seen.join('\\n'))
    },
  }
  ;(pages[request.url] ?? (() => response.end()))()
})
server.listen(0, '127.0.0.1', () => report(server))
`

const applications: Readonly<Record<string, string>> = {
  plain,
  express: express('express'),
  fastify: fastify('fastify'),
  fastify4: fastify('fastify4'),
  koa,
  hono,
  nest,
  express4: express('express4'),
}

/** All applications in one process, and a server that sets the limit of stacks. */
const program = `
import http from 'node:http'
${Object.keys(applications)
  .map(name => `import './${name}.mjs'`)
  .join('\n')}
const limits = http.createServer((request, response) => {
  Error.stackTraceLimit = Number(request.url.slice(1))
  for (const seen of globalThis.seenByApplications) seen.length = 0
  response.end()
})
limits.listen(0, '127.0.0.1', () => process.stdout.write('PORT limits ' + limits.address().port + '\\n'))
`

const targets = ['users/7', 'throw', 'next', 'timer', 'sent', 'sync', 'handled', 'missing', 'async', 'last']

/** Its rejections end the process, so the last requests are to it. */
const fragile = 'express4'

/** The first limit is an option of Node, the others are set while the process runs. */
const limits = [3, 1000, 10] as const

/** The answers of the applications, by application, target and limit, and the output of their process. */
async function run(t: Test, options: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const child = startProcess(t, [process.execPath, `--stack-trace-limit=${limits[0]}`, ...options, 'all.mjs'], {
    cwd: t.testdirName,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...environment, PROFILER_PORT: '0' },
  })
  const closed = once(child, 'close')
  const output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.setEncoding('utf8').on('data', text => {
      output[stream] += text
    })
  }
  const names = ['limits', ...Object.keys(applications)]
  const findPorts = () =>
    new Map([...output.stdout.matchAll(/PORT (\w+) (\d+)\n/g)].map(([, name, port]) => [name, port]))
  await until(() => findPorts().size === names.length)
  const ports = findPorts()
  const answers: Record<string, string> = {}
  for (const limit of limits) {
    if (limit !== limits[0]) await fetch(`http://127.0.0.1:${ports.get('limits')}/${limit}`)
    for (const name of Object.keys(applications)) {
      const isLast = name !== fragile || limit === limits.at(-1)
      for (const target of isLast ? targets : targets.slice(0, -2)) {
        const body = target === 'users/7' ? { method: 'POST', body: 'abc' } : {}
        const request = { signal: AbortSignal.timeout(10_000), ...(name === 'plain' && body) }
        answers[`${name}: ${target} with ${limit}`] = await fetch(
          `http://127.0.0.1:${ports.get(name)}/api/${target}`,
          request,
        ).then(
          async response => `${response.status} ${await response.text()}`,
          () => 'no answer',
        )
      }
    }
  }
  child.kill()
  await closed
  const { stderr, stdout } = output
  // On Node 20 and 22, a frame of Node is at the end of each stack as soon as a process has an AsyncLocalStorage.
  const own = /^(?:Profiler: |.* has the uncaught exception).*\n|\n[^\n]*callbackTrampoline[^\n]*/gm
  const all = { ...answers, stdout: stdout.replace(/PORT .*\n/g, ''), stderr }
  return Object.fromEntries(Object.entries(all).map(([target, text]) => [target, text.replace(own, '')]))
}

t.test('errors and their stacks are those of the programs alone, whatever their limit', async t => {
  const files = Object.entries(applications).map(([name, source]) => [`${name}.mjs`, source])
  const packages = ['express', 'express4', 'fastify', 'fastify4', 'koa', '@koa/router', 'hono', '@nestjs/core']
  t.testdir({
    ...Object.fromEntries(files),
    'all.mjs': program,
    'package.json': JSON.stringify({ dependencies: Object.fromEntries(packages.map(name => [name, '*'])) }),
  })
  const [wanted, found] = await Promise.all([run(t, []), run(t, ['--import', preload])])
  for (const [target, text] of Object.entries(wanted)) t.equal(found[target], text, target)
})
