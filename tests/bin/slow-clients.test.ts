import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import { summarizeProfile } from '#bundles/profiler/insight/overview/overview.ts'
import { Response } from '#lib/http/response.ts'
import { createProfiledKernel, waitForProfile } from '#tests/support/profiled-kernel.ts'
import { createDependent, findProfile, type ProfileData, startProfiled } from '#tests/support/start-profiled.ts'
import { serveKernel } from '#tests/support/test-server.ts'

/** What a client sends, by its type. The second half comes later. */
const bodies = {
  'application/json': '{"a":1}',
  'application/x-www-form-urlencoded': 'a=1&b=2',
  'multipart/form-data; boundary=X': '--X\r\ncontent-disposition: form-data; name="a"\r\n\r\nhello\r\n--X--\r\n',
}

/** Milliseconds. A rule reports listeners that take half as long. */
const slowness = 250

async function send(url: string, type: keyof typeof bodies): Promise<string> {
  const body = bodies[type]
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': type, 'content-length': body.length }
    const call = request(url, { method: 'POST', headers }, response => {
      response.resume().on('end', () => resolve(String(response.headers['x-debug-token'])))
    })
    call.on('error', reject).write(body.slice(0, 4))
    void sleep(slowness).then(() => call.end(body.slice(4)))
  })
}

/** The longest part of a request, and whether a listener is blamed. */
interface Judged {
  readonly overview: { readonly parts: readonly { readonly label: string }[] }
  readonly findings: readonly { readonly rule: string }[]
}

function judge({ findings, overview }: Judged): readonly string[] {
  return [overview.parts[0]?.label ?? '', ...findings.flatMap(({ rule }) => (rule === 'slow-listener' ? [rule] : []))]
}

const source = `
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { getRequestListener } from '@hono/node-server'
import Koa from 'koa'
import { createServer } from 'node:http'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const app = express()
const done = (_, reply) => reply.send('done')
app.post('/json', express.json(), done)
app.post('/form', express.urlencoded({ extended: false }), done)
app.post('/raw', express.raw({ type: () => true }), done)
app.post('/iterate', async (message, reply) => { for await (const _ of message); done(message, reply) })
app.post('/pipe', async (message, reply) => { await finished(message.resume()); done(message, reply) })
app.post('/unread', async (message, reply) => { await sleep(${2 * slowness}); done(message, reply) })
app.post('/late', async (message, reply) => { await sleep(${2 * slowness}); for await (const _ of message); done(message, reply) })
const fastify = Fastify()
fastify.addHook('onRequest', async () => {})
fastify.post('/fastify', async () => 'done')
await fastify.ready()
const koa = new Koa()
koa.use(async context => { for await (const _ of context.req); context.body = 'done' })
const hono = new Hono()
hono.post('/hono', async c => c.text(await c.req.text()))
const others = { '/fastify': fastify.routing, '/koa': koa.callback(), '/hono': getRequestListener(hono.fetch) }
const server = createServer((message, reply) => (others[message.url.split('?')[0]] ?? app)(message, reply))
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify([server.address().port])))
process.stdin.on('end', () => server.close(() => process.exit())).resume()
`

t.test('the time in which an application waits for the body of a request is that of the client', async t => {
  const cwd = createDependent(t, 'express', 'fastify', 'hono', 'koa')
  const { stop, url, viewer } = await startProfiled(t, source, {}, cwd)
  const json = 'application/json'
  const form = 'application/x-www-form-urlencoded'
  const expected = new Map<string, string>()
  for (const path of ['/json', '/form', '/raw', '/iterate', '/pipe', '/fastify', '/koa', '/hono'])
    expected.set(path, 'Receiving the body')
  for (const path of ['/unread', '/late']) expected.set(path, 'Waiting in the handler')
  // On a busy machine, the first call of a handler may take longer than the client.
  await Promise.all([...expected.keys()].map(path => fetch(`${url}${path}?warm`, { method: 'POST', body: '' })))
  await Promise.all([...expected.keys()].map(path => send(url + path, path === '/form' ? form : json)))
  for (const [path, label] of expected) {
    t.strictSame(judge((await findProfile(viewer, path)) as ProfileData & Judged), [label], path)
  }
  await stop()
})

t.test('an application of our own waits for the body of a request, too', async t => {
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/json': async request => Response.json(await request.json()),
      '/form': async request => Response.json((await request.formData()).get('a')),
      '/none': async () => Response.html(String(await sleep(2 * slowness))),
    },
  })
  const server = await serveKernel(t, kernel)
  const expected = [
    ['/json', 'application/json', 'Receiving the body'],
    ['/form', 'application/x-www-form-urlencoded', 'Receiving the body'],
    ['/form', 'multipart/form-data; boundary=X', 'Receiving the body'],
    ['/none', 'application/json', 'Waiting in the controller'],
  ] as const
  for (const [path, type, label] of expected) {
    const profile = await waitForProfile(kernel.storage, await send(`${server.url}${path}`, type))
    const findings = findFindings(profile)
    const overview = summarizeProfile({ profile, earlier: [], findings })
    t.strictSame(judge({ overview, findings }), [label], `${path} ${type}`)
  }
})
