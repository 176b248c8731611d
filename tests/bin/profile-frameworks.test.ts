import { once } from 'node:events'
import path from 'node:path'
import { type Test, t } from 'tap'
import { startProcess } from '#tests/support/start-process.ts'
import { until } from '#tests/support/until.ts'

const preload = path.join(import.meta.dirname, '../../bin/exports/profile.js')
const { NODE_ENV: _, PROFILER_VIEWER: __, ...environment } = process.env

const start = `
const report = server => process.stdout.write(server.address().port + '\\n')
process.stdin.on('end', () => process.exit()).resume()
`

/** The same application in each framework: two pages below a path, and an error that the application answers itself. */
const express = (name: string) => `
import express from '${name}'
${start}
const router = express.Router()
router.get('/users/:id', function showUser(request, response) { response.json(request.params) })
router.get('/fail', () => { throw new RangeError('The page is broken.') })
router.get('/next', (request, response, next) => next(new TypeError('The next page is broken.')))
const app = express()
app.use('/api', router)
app.get(['/one', '/two'], (request, response) => response.send('some'))
app.use((error, request, response, next) => response.status(418).send('handled'))
const server = app.listen(0, '127.0.0.1', () => report(server))
`
const fastify = (name: string) => `
import Fastify from '${name}'
${start}
const app = Fastify()
app.register(async api => {
  api.get('/users/:id', function showUser(request, reply) { reply.send(request.params) })
  api.get('/fail', () => { throw new RangeError('The page is broken.') })
  api.get('/next', async () => { throw new TypeError('The next page is broken.') })
}, { prefix: '/api' })
app.setErrorHandler((error, request, reply) => reply.status(418).send('handled'))
await app.listen({ host: '127.0.0.1', port: 0 })
report(app.server)
`

interface Found {
  readonly summary: Readonly<Record<string, unknown>> & { readonly token: string; readonly url: string }
}

/** Starts an application, and returns what the list of profiles has of a request. */
async function profile(t: Test, source: string) {
  const cwd = t.testdir({ 'app.mjs': source, node_modules: {} })
  const child = startProcess(t, [process.execPath, '--import', preload, 'app.mjs'], {
    cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...environment, PROFILER_PORT: '0' },
  })
  let output = ''
  let errors = ''
  child.stdout?.setEncoding('utf8').on('data', text => {
    output += text
  })
  child.stderr?.setEncoding('utf8').on('data', text => {
    errors += text
  })
  await until(() => output.includes('\n'))
  const [, viewer = ''] = /^Profiler: (http:\S+)\/_profiler\/\n/.exec(errors) ?? []
  const find = async (target: string) => {
    const response = await fetch(`http://127.0.0.1:${Number(output)}${target}`)
    const text = await response.text()
    let found: Found['summary'] | undefined
    await until(async () => {
      const list = (await (await fetch(`${viewer}/_profiler/search.json`)).json()) as { readonly records: Found[] }
      found = list.records.map(({ summary }) => summary).find(({ url }) => url.endsWith(target))
      return found !== undefined
    })
    const page = await (await fetch(`${viewer}/_profiler/${found?.token}?panel=exception`)).text()
    return { ...found, text, page }
  }
  const stop = async () => {
    child.stdin?.end()
    await once(child, 'exit')
  }
  return { find, stop }
}

for (const [name, source] of Object.entries({
  'Express 5': express('express'),
  'Fastify 4': fastify('fastify4'),
  'Fastify 5': fastify('fastify'),
})) {
  t.test(`${name}: profiles have the pattern of the route, its function, and errors that were answered`, async t => {
    const { find, stop } = await profile(t, source)
    t.match(await find('/api/users/7'), {
      text: '{"id":"7"}',
      route: 'GET /api/users/:id',
      controller: 'showUser',
      exception: null,
      status: 200,
    })
    const failed = await find('/api/fail')
    t.match(failed, { text: 'handled', route: 'GET /api/fail', exception: 'RangeError', status: 418 })
    t.match(failed.page, /The page is broken\.[\s\S]*app\.mjs/, 'with its place in the source')
    t.match(await find('/api/next'), { text: 'handled', route: 'GET /api/next', exception: 'TypeError' })
    t.match(await find('/missing/12'), { route: 'GET /missing/*', exception: null, status: 404 })
    await stop()
  })
}

t.test('Express 4: profiles have the pattern of the route; answered errors are not published', async t => {
  const { find, stop } = await profile(t, express('express4'))
  t.match(await find('/api/users/7'), { text: '{"id":"7"}', route: 'GET /api/users/:id', controller: 'showUser' })
  t.match(await find('/two'), { text: 'some', route: 'GET /one,/two' })
  t.match(await find('/api/fail'), { text: 'handled', status: 418, exception: null })
  t.match(await find('/missing/12'), { route: 'GET /missing/*', status: 404 })
  await stop()
})
