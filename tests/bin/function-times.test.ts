import { get } from 'node:http'
import { t } from 'tap'
import { provenSample } from '#tests/support/sample.ts'
import { createDependent, findProfile, type ProfileData, startProfiled } from '#tests/support/start-profiled.ts'

/** Each page has a function that is at work, or waits, for this time, in milliseconds. */
const long = 120

/** It blocks the event loop without CPU time. */
const block = `const block = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${long})`

/** Applications, and of each page the function whose time it is; `!` before one whose time it is not. */
const applications: Readonly<Record<string, readonly [source: string, pages: Readonly<Record<string, string>>]>> = {
  express: [
    `
    import express from 'express'
    const app = express()
    app.use('/behind', function audit(request, response, next) { next(); block() })
    app.use('/between', function first(request, response, next) { next(); block() }, function second(request, response, next) { next() })
    app.use('/wait', function audit(request, response, next) { setTimeout(next, ${long}) })
    app.use('/before', function audit(request, response, next) { block(); next() })
    app.use('/nested', express.Router().use(function audit(request, response, next) { next(); block() }))
    app.use('/error', (request, response, next) => next(new Error('It has failed.')))
    app.use('/error', function audit(error, request, response, next) { next(error); block() })
    app.use('/error', async function answer(error, request, response, next) { await sleep(5); response.send('handled') })
    app.get('/:page', async function show(request, response) { if (request.params.page === 'own') block(); await sleep(5); response.send('ok') })
    const server = app.listen(0, '127.0.0.1', ready)`,
    { behind: 'audit', between: 'first', wait: 'audit', before: 'audit', nested: 'audit', error: 'audit', own: 'show' },
  ],
  fastify: [
    `
    import Fastify from 'fastify'
    import { Readable } from 'node:stream'
    const app = Fastify()
    const slow = () => Readable.from((async function* () { yield 'a'; await sleep(${long}); yield 'b' })())
    app.addHook('onRequest', function check(request, reply, done) { done(); if (request.url === '/behind') block() })
    app.addHook('preHandler', async function guard(request) { if (request.url === '/wait') await sleep(${long}) })
    app.addHook('onSend', async function compress(request, reply, body) { return body })
    app.addHook('onSend', function sign(request, reply, body, done) { if (request.url === '/sign') block(); done(null, body) })
    app.get('/stream', async function stream(request, reply) { return reply.send(slow()) })
    for (const path of ['/behind', '/wait', '/sign']) app.get(path, async function show() { await sleep(5); return 'ok' })
    app.listen({ port: 0, host: '127.0.0.1' }).then(ready)
    const { server } = app`,
    { behind: 'check', wait: 'guard', sign: 'sign', stream: '!sign' },
  ],
  koa: [
    `
    import Koa from 'koa'
    const app = new Koa()
    app.use(async function audit(context, next) { await next(); if (context.path === '/behind') block() })
    app.use(function first(context, next) { const following = next(); if (context.path === '/meanwhile') block(); return following })
    app.use(async function show(context) { await sleep(5); context.body = 'ok' })
    const server = app.listen(0, '127.0.0.1', ready)`,
    { behind: 'audit', meanwhile: 'first' },
  ],
  nest: [
    `
    import 'reflect-metadata'
    import { Controller, Get, Injectable, Module, UseInterceptors } from '@nestjs/common'
    import { NestFactory } from '@nestjs/core'
    import { delay, map, tap } from 'rxjs'
    class Tap { intercept(context, next) { return next.handle().pipe(tap(block)) } }
    class Outer { async intercept(context, next) { return next.handle().pipe(map(value => { block(); return value })) } }
    class Inner { intercept(context, next) { return next.handle() } }
    class Late { intercept(context, next) { return next.handle().pipe(delay(${long})) } }
    class Early { intercept(context, next) { block(); return next.handle() } }
    const classes = { tap: [Tap], outer: [Outer, Inner], inner: [Inner, Tap], late: [Late], early: [Early] }
    class Pages {}
    for (const [name, interceptors] of Object.entries(classes)) {
      Pages.prototype[name] = async () => { await sleep(5); return 'ok' }
      for (const each of interceptors) Injectable()(each)
      for (const decorate of [Get(name), UseInterceptors(...interceptors)])
        decorate(Pages.prototype, name, Object.getOwnPropertyDescriptor(Pages.prototype, name))
    }
    Controller()(Pages)
    class App {}
    Module({ controllers: [Pages] })(App)
    const app = await NestFactory.create(App, { logger: false })
    await app.listen(0, '127.0.0.1')
    const server = app.getHttpServer()
    ready()`,
    { tap: 'Tap', outer: 'Outer', inner: 'Tap', late: 'Late', early: 'Early' },
  ],
}

type Row = readonly [kind: string, name: string, start: number, duration: number | null]

for (const [name, [source, pages]] of provenSample(Object.entries(applications), 1)) {
  t.test(`${name}: the time belongs to the function that is at work, also while others wait`, async t => {
    const { stop, url, viewer } = await startProfiled(
      t,
      `import { setTimeout as sleep } from 'node:timers/promises'
      ${block}
      const ready = () => process.stdout.write(JSON.stringify([server.address().port]) + '\\n')
      process.stdin.on('end', () => process.exit()).resume()
      ${source}`,
      {},
      createDependent(t, 'express', 'koa', '@nestjs/core'),
    )
    const wrong: string[] = []
    for (const [page, expected] of Object.entries(pages)) {
      await (await fetch(`${url}/${page}`)).text()
      const { data } = await findProfile(viewer, `/${page}`)
      const rows = ((data.events?.spans ?? []) as readonly Row[]).filter(([kind]) => kind === 'function')
      const times = new Map<string, number>()
      for (const [, name, , duration] of rows) times.set(name, (times.get(name) ?? 0) + (duration ?? 0) / 1000)
      const isOther = expected.startsWith('!')
      // A busy machine may stop any other function for a moment.
      if ((times.get(expected.replace('!', '')) ?? 0) > long - 5 === isOther)
        wrong.push(`${page}: ${expected} of ${[...times].join(' ')}`)
    }
    t.strictSame(wrong, [])
    await stop()
  })
}

/** Functions of frameworks that call one another by `next`. */
const sequence = `
    app.use(async function audit({ url }, response, next) {
      if (url === '/before') { await sleep(1); toil() }
      next()
      if (url === '/after-next') toil()
      if (url === '/timer') setTimeout(toil, 1)
    })
    async function show({ url }, response) {
      if (url === '/at-once') toil()
      await sleep(30)
      if (url === '/own') toil()
      response.end('ok')
    }`

const inSequence = { before: 'audit', 'after-next': 'audit', timer: 'audit', 'at-once': 'show', own: 'show' }

/**
 * Applications whose functions go on while the handler waits: of each page, the function that
 * blocks the event loop; empty if it is not known.
 */
const blockers: Readonly<Record<string, readonly [source: string, pages: Readonly<Record<string, string>>]>> = {
  express: [
    `
    import express from 'express'
    const app = express()
    const use = (path, code) => app.use(path, code)
    use('/after-next', async function audit(request, response, next) { await next(); toil() })
    use('/after-timer', async function audit(request, response, next) { next(); await sleep(1); toil() })
    use('/callback', function audit(request, response, next) { setTimeout(toil, 1); next() })
    use('/microtask', async function audit(request, response, next) { next(); await null; toil() })
    use('/thread', function audit(request, response, next) { next(); stat('.', toil) })
    use('/at-once', function audit(request, response, next) { toil(); next() })
    use('/of-two', async function first(request, response, next) { next(); await sleep(1); toil() })
    use('/of-two', async function second(request, response, next) { next(); await sleep(5) })
    use('/own', async function audit(request, response, next) { next(); await sleep(1) })
    use('/finish', function audit(request, response, next) { response.on('finish', toil); next() })
    use('/behind', async function audit(request, response, next) { await null; next() })
    app.get('/behind', async function show(request, response) { toil(); response.send('ok') })
    app.get('/:page', async function show(request, response) { await sleep(30); if (request.params.page === 'own') toil(); response.send('ok') })
    const server = app.listen(0, '127.0.0.1', ready)`,
    {
      ...{ 'after-next': 'audit', 'after-timer': 'audit', callback: 'audit', microtask: 'audit', thread: 'audit' },
      ...{ 'at-once': 'audit', 'of-two': 'first', own: 'show', finish: '', behind: 'show' },
    },
  ],
  fastify: [
    `
    import Fastify from 'fastify'
    const app = Fastify()
    app.addHook('onRequest', async function audit(request) { if (request.url === '/timer') setTimeout(toil, 1) })
    app.addHook('preHandler', function guard(request, reply, done) { done(); if (request.url === '/done') sleep(1).then(toil) })
    for (const path of ['/timer', '/done', '/own'])
      app.get(path, async function show() { await sleep(30); if (path === '/own') toil(); return 'ok' })
    app.listen({ port: 0, host: '127.0.0.1' }).then(ready)
    const { server } = app`,
    { timer: 'audit', done: 'guard', own: 'show' },
  ],
  koa: [
    `
    import Koa from 'koa'
    const app = new Koa()
    app.use(async function audit(context, next) {
      const following = next()
      if (context.path === '/meanwhile') { await sleep(1); toil() }
      await following
      if (context.path === '/behind') { await sleep(1); toil() }
    })
    app.use(async function show(context) { await sleep(30); if (context.path === '/own') toil(); context.body = 'ok' })
    const server = app.listen(0, '127.0.0.1', ready)`,
    { meanwhile: 'audit', behind: 'audit', own: 'show' },
  ],
  polka: [
    `
    import polka from 'polka'
    const app = polka()
    ${sequence}
    app.get('/:page', show)
    app.listen(0, '127.0.0.1', ready)
    const { server } = app`,
    inSequence,
  ],
  '@tinyhttp/app': [
    `
    import { App } from '@tinyhttp/app'
    const app = new App()
    ${sequence}
    app.get('/:page', show)
    const server = app.listen(0, ready, '127.0.0.1')`,
    inSequence,
  ],
  '@hapi/hapi': [
    `
    import Hapi from '@hapi/hapi'
    const app = Hapi.server({ host: '127.0.0.1' })
    app.ext('onPreHandler', async function audit({ path }, h) { if (path === '/before') { await sleep(1); toil() } return h.continue })
    app.route({ path: '/{page}', method: 'GET', async handler({ path }) { await sleep(30); if (path === '/own') toil(); return 'ok' } })
    const server = app.listener
    app.start().then(ready)`,
    { before: 'audit', own: 'handler' },
  ],
}

for (const [name, [source, pages]] of provenSample(Object.entries(blockers), 2)) {
  t.test(`${name}: a block belongs to the function that has started it, and has one finding`, async t => {
    const { stop, url, viewer } = await startProfiled(
      t,
      `import { setTimeout as sleep } from 'node:timers/promises'
      import { stat } from 'node:fs'
      const spent = () => { const { system, user } = process.cpuUsage(); return (system + user) / 1000 }
      const toil = () => { const end = spent() + 220; while (spent() < end); }
      const ready = () => process.stdout.write(JSON.stringify([server.address().port]) + '\\n')
      process.stdin.on('end', () => process.exit()).resume()
      ${source}`,
      {},
      createDependent(t, ...Object.keys(blockers)),
    )
    const wrong: string[] = []
    for (const [page, expected] of Object.entries(pages)) {
      await (await fetch(`${url}/${page}`)).text()
      const { findings, summary } = (await findProfile(viewer, `/${page}`)) as ProfileData & {
        readonly findings: readonly { readonly rule: string; readonly problem: string }[]
      }
      const [, found = ''] = / in `?(\w+)`?\.$/.exec(findings[0]?.problem ?? '') ?? []
      const rules = findings.map(({ rule }) => rule).join()
      const text = await (await fetch(`${viewer}/_profiler/${summary.token}.md`)).text()
      const other = ['audit', 'guard', 'first', 'second', 'show'].find(
        each => each !== expected && text.split('\n')[0]?.includes(each),
      )
      if (found !== expected || rules !== 'blocked-loop' || other !== undefined)
        wrong.push(`${page}: ${rules} in ${found}, not in ${expected}; ${text.split('\n')[0]}`)
    }
    t.strictSame(wrong, [])
    await stop()
  })
}

t.test('a wait for the client, for a thread and between the parts of a stream is none of the framework', async t => {
  const { stop, url, viewer } = await startProfiled(
    t,
    `import { setTimeout as sleep } from 'node:timers/promises'
    import { Readable } from 'node:stream'
    import express from 'express'
    const app = express()
    const whole = Buffer.alloc(24e6)
    app.get('/large', (request, response) => Readable.from((function* () { for (let at = 0; at < 24; at++) yield whole.subarray(0, 1e6) })()).pipe(response))
    app.get('/at-once', (request, response) => { response.write(whole); response.write('b'); response.once('drain', () => response.end()) })
    app.get('/events', async (request, response) => {
      response.type('text/event-stream')
      for (let at = 0; at < 4; at++) { response.write('data: a\\n\\n'); await sleep(60) }
      response.end()
    })
    app.get('/thread', (request, response) => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300); response.send('ok') })
    const server = app.listen(0, '127.0.0.1', () => process.stdout.write(JSON.stringify([server.address().port]) + '\\n'))
    process.stdin.on('end', () => process.exit()).resume()`,
    {},
    createDependent(t, 'express'),
  )
  const overviewOf = async (page: string) => {
    const { summary } = await findProfile(viewer, `/${page}`)
    return (await fetch(`${viewer}/_profiler/${summary.token}.md`)).text()
  }
  for (const page of ['large', 'at-once']) {
    await new Promise(resolve =>
      get(`${url}/${page}`, message => message.once('data', () => message.pause()).on('close', resolve)).on(
        'response',
        message => setTimeout(() => message.resume(), 400),
      ),
    )
    t.match(await overviewOf(page), /the client took [\d.]+ m?s.* to read the response/, page)
  }
  await (await fetch(`${url}/events`)).text()
  const events = await overviewOf('events')
  t.match(events, /: the event stream of \d+ events took/)
  t.notMatch(events, 'Waiting in the framework')
  await (await fetch(`${url}/thread`)).text()
  const thread = await overviewOf('thread')
  t.match(thread, /: the handler took/)
  t.match(thread, /blocked the event loop for .*, in `Atomics\.wait\(\)`/)
  await stop()
})
