import { t } from 'tap'
import { findProfile, startProfiled } from '#tests/support/start-profiled.ts'

/** Applications by their frameworks. The line that registers the function of a page ends with its path. */
const applications: Readonly<Record<string, string>> = {
  express: `
import express from 'express'
const app = express()
const show = () => (request, response) => response.send('ok')
const wrap = code => async (request, response, next) => { try { await code(request, response) } catch (error) { next(error) } }
const get = (path, code) => app.get(path, wrap(code))
const secure = (path, code) => {
  return get(path, code)
}
class Api { add(path, code) { app.route(path).get(code) } }
const api = new Api()
const build = () => {
  const router = express.Router()
  router.get('/one', show()) // /v1/one /v2/one
  router.get('/two', show()) // /v1/two
  return router
}
get('/helper', show()) // /helper
get('/other', show()) // /other
secure('/secure', show()) // /secure
secure('/secure2', show()) // /secure2
api.add('/class', show()) // /class
api.add('/class2', show()) // /class2
app.use('/v1', build())
app.use('/v2', build())
for (const path of ['/loop', '/loop2']) app.get(path, show()) // /loop /loop2
app.get('/plain', show()) // /plain
const server = app.listen(0, '127.0.0.1', ready)`,
  fastify: `
import Fastify from 'fastify'
const app = Fastify()
const get = (path, handler) => app.route({ method: 'GET', url: path, handler })
get('/helper', async () => 'ok') // /helper
get('/other', async () => 'ok') // /other
app.get('/plain', async () => 'ok') // /plain
app.register(async scope => {
  scope.get('/scope', async () => 'ok') // /scope
})
app.listen({ port: 0, host: '127.0.0.1' }).then(ready)
const { server } = app`,
  koa: `
import Koa from 'koa'
import Router from '@koa/router'
const app = new Koa()
const router = new Router()
const get = (path, code) => router.get(path, code)
get('/helper', context => { context.body = 'ok' }) // /helper
get('/other', context => { context.body = 'ok' }) // /other
router.get('/plain', context => { context.body = 'ok' }) // /plain
app.use(router.routes())
const server = app.listen(0, '127.0.0.1', ready)`,
  hono: `
import { Hono } from 'hono'
import { serve } from '@hono/node-server'
const app = new Hono()
const get = (path, code) => app.get(path, code)
get('/helper', context => context.text('ok')) // /helper
get('/other', context => context.text('ok')) // /other
app.get('/plain', context => context.text('ok')) // /plain
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ready)`,
}

type Row = readonly [kind: string, name: string]

for (const [name, source] of Object.entries(applications)) {
  t.test(`${name}: the place of a function that a helper registers is the call of the helper`, async t => {
    const program = `${source}
function ready() { process.stdout.write(JSON.stringify([server.address().port]) + '\\n') }
process.stdin.on('end', () => process.exit()).resume()
`
    const { stop, url, viewer } = await startProfiled(
      t,
      program,
      {},
      t.testdir({
        node_modules: {},
        'package.json': JSON.stringify({ dependencies: { express: '*', koa: '*', '@koa/router': '*', hono: '*' } }),
      }),
    )
    const wrong: string[] = []
    for (const [at, line] of program.split('\n').entries()) {
      for (const path of line.split(' // ')[1]?.split(' ') ?? []) {
        await (await fetch(url + path)).text()
        const { data } = await findProfile(viewer, path)
        const rows = (data.events?.spans ?? []) as readonly Row[]
        const places = (data.events?.places ?? []) as readonly (readonly [row: number, place: string])[]
        const found = places.filter(([row]) => rows[row]?.[0] === 'function').at(-1)?.[1]
        if (found !== `app.mjs:${at + 1}`) wrong.push(`${path}: ${found} instead of ${at + 1}`)
      }
    }
    t.strictSame(wrong, [])
    await stop()
  })
}
