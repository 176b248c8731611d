import { t } from 'tap'
import { createDependent, findProfile, type ProfileData, startProfiled } from '#tests/support/start-profiled.ts'

/** Pages that fail, or in which something fails: what the client sends, the code, and what the sentence says of it. */
const pages: readonly (readonly [name: string, code: string, said: string | RegExp])[] = [
  [
    'errors',
    `reply(422, { title: 'Refused', errors: [{ pointer: '#/email', detail: 'must be an address' }, { pointer: '#/a', detail: 'b' }, { pointer: '#/c', detail: 'd' }] }, 'application/problem+json')`,
    'email must be an address, and 2 more',
  ],
  [
    'password',
    `reply(422, { errors: { password: ['hunter22 is too short'] } }, 'application/problem+json')`,
    'password is refused',
  ],
  [
    'violations',
    `reply(400, { violations: [{ propertyPath: 'age', message: 'must be positive' }] }, 'application/problem+json')`,
    'age must be positive',
  ],
  ['detail', `reply(409, { detail: 'The order is closed.' }, 'application/problem+json')`, 'The order is closed'],
  [
    'json',
    `reply(422, { errors: [{ field: 'email', message: 'is taken' }] }, 'application/json')`,
    'the response says email is taken',
  ],
  ['silent', `reply(403, {}, 'application/json')`, ''],
  ['allow', `reply(405, {}, 'application/json', { allow: 'GET, HEAD' })`, 'the path takes GET, HEAD'],
  ['thrown', `throw Object.assign(new Error('No such order.'), { status: 404, statusCode: 404 })`, 'No such order'],
  ['refused', `throw Object.assign(new Error('Wait a minute.'), { status: 429, statusCode: 429 })`, 'Wait a minute'],
  [
    'upstream',
    `await fetch(self + '/ok'); await fetch(self + '/silent'); await fetch(self + '/status/503'); return reply(200, {}, 'application/json')`,
    'GET /status/503 answered 503',
  ],
  ['missing', `await fetch(self + '/silent'); return reply(200, {}, 'application/json')`, 'GET /silent answered 403'],
  [
    'console',
    `console.error('The price of %s is gone', 7); return reply(200, {}, 'application/json')`,
    /console\.error at app\.mjs:\d+: The price of 7 is gone/,
  ],
  ['status/503', `reply(503, {}, 'application/json')`, ''],
  ['ok', `reply(200, {}, 'application/json')`, ''],
]

const functions = `const pages = {${pages.map(([name, code]) => `'/${name}': async (self, reply) => { ${/^(?:throw|await|console)/.test(code) ? code : `return ${code}`} }`).join(',\n')}}`

const servers: Readonly<Record<string, string>> = {
  express: `
    import express from 'express'
    const app = express()
    for (const [path, page] of Object.entries(pages)) app.get(path, (request, response) => page(self(), (status, body, type, headers = {}) =>
      response.status(status).set(headers).type(type).send(JSON.stringify(body))))
    app.use((error, request, response, next) => response.status(error.status).send('sorry'))
    const server = app.listen(0, '127.0.0.1', ready)`,
  fastify: `
    import Fastify from 'fastify'
    const app = Fastify()
    for (const [path, page] of Object.entries(pages)) app.get(path, (request, response) => page(self(), (status, body, type, headers = {}) =>
      response.code(status).headers(headers).type(type).send(JSON.stringify(body))))
    const server = app.server
    app.listen({ port: 0, host: '127.0.0.1' }).then(ready)`,
  koa: `
    import Koa from 'koa'
    const app = new Koa()
    app.silent = true
    app.use(context => pages[context.path](self(), (status, body, type, headers = {}) => {
      context.set(headers)
      Object.assign(context, { status, type, body: JSON.stringify(body) })
    }))
    const server = app.listen(0, '127.0.0.1', ready)`,
}

for (const [name, source] of Object.entries(servers)) {
  t.test(`${name}: the sentence, the head and the toolbar name why a request has failed, or nothing`, async t => {
    const program = `${source.match(/import .*/)?.[0]}
      ${functions}
      const self = () => 'http://127.0.0.1:' + server.address().port
      const ready = () => console.log(JSON.stringify([server.address().port]))
      process.stdin.on('end', () => server.close().closeAllConnections()).resume()
      ${source.replace(/import .*/, '')}`
    const { stop, url, viewer } = await startProfiled(t, program, {}, createDependent(t, name))
    for (const [path, , said] of pages.filter(([path]) => path !== 'ok' && path !== 'status/503')) {
      await (await fetch(`${url}/${path}`)).text()
      const { overview, summary } = (await findProfile(viewer, `/${path}`)) as ProfileData & {
        readonly overview: { readonly sentence: string }
      }
      const { sentence } = overview
      if (said === '')
        t.match(sentence, /\d in [\d.]+ m?s(?:: (?:handler|the handler|middleware|framework)[^;]*)?\.$/, path)
      else t.match(sentence, said, path)
      t.notMatch(sentence, 'hunter22', path)
      if (Number(summary.status) < 400 || said === '') continue
      const html = await (await fetch(`${viewer}/_profiler/${summary.token}?panel=request`)).text()
      t.match(/<ul class="badges".*?<\/ul>/s.exec(html)?.[0], `${said}<`, `${path}: the head`)
      t.match(await (await fetch(`${viewer}/_wdt/${summary.token}`)).text(), said, `${path}: the toolbar`)
    }
    await stop()
  })
}

/** Servers with a route below a path. They pass their address to `ready`. */
const routed: Readonly<Record<string, string>> = {
  express: `
    import express from 'express'
    const router = express.Router().get('/orders/:id', (request, response) => response.json({}))
    const server = express().use('/api', router).listen(0, '127.0.0.1', () => ready(server.address()))`,
  fastify: `
    import Fastify from 'fastify'
    const app = Fastify()
    app.register(async api => void api.get('/orders/:id', async () => ({})), { prefix: '/api' })
    await app.listen({ port: 0, host: '127.0.0.1' })
    ready(app.server.address())`,
  koa: `
    import Koa from 'koa'
    import Router from '@koa/router'
    const router = new Router({ prefix: '/api' }).get('/orders/:id', context => { context.body = {} })
    const server = new Koa().use(router.routes()).listen(0, '127.0.0.1', () => ready(server.address()))`,
  hono: `
    import { serve } from '@hono/node-server'
    import { Hono } from 'hono'
    const app = new Hono().route('/api', new Hono().get('/orders/:id', context => context.json({})))
    serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ready)`,
}

for (const [name, source] of Object.entries(routed)) {
  t.test(`${name}: a 404 names the nearest route that a request has met, or none`, async t => {
    const program = `
      const ready = ({ port }) => console.log(JSON.stringify([port]))
      process.stdin.on('end', () => process.exit()).resume()
      ${source}`
    const { stop, url, viewer } = await startProfiled(t, program, {}, createDependent(t, name, '@koa/router'))
    const say = async (path: string, method = 'GET') => {
      await (await fetch(url + path, { method })).text()
      return ((await findProfile(viewer, path)) as ProfileData & { readonly overview: { readonly sentence: string } })
        .overview.sentence
    }
    const met = 'the nearest route seen so far is GET /api/orders/:id'
    t.notMatch(await say('/api/order/5'), 'nearest', 'before the first request')
    t.notMatch(await say('/api/orders/7'), 'nearest')
    t.match(await say('/api/order/7'), met)
    t.match(await say('/api/orders/8', 'DELETE'), met)
    t.notMatch(await say('/favicon.ico'), 'nearest', 'no route is similar')
    await stop()
  })
}
