import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import {
  connect as connectInHttp2,
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { t } from 'tap'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { recordServer } from '#tests/support/record-server.ts'
import { until } from '#tests/support/until.ts'

const failing = () => {
  let isFirst = true
  return new Readable({
    read() {
      if (isFirst) this.push('x')
      else this.destroy(new Error('The disk has failed.'))
      isFirst = false
    },
  })
}

const upstreamError = () => Object.assign(new Error('The upstream has gone.'), { code: 'ECONNRESET' })
const cut = 'The server has broken the response off before it was complete.'

interface Exchange<message, reply> {
  readonly message: message
  readonly reply: reply
}

type Case<message, reply> = readonly [
  /** What the server does after the head, or what the client does: `end`, `reset` or `leave`. */
  name: string,
  act: ((exchange: Exchange<message, reply>) => void) | 'end' | 'reset' | 'destroy',
  /** The message of the error with which the server breaks off, or that the client has left. */
  answer: string,
]

const inHttp1: readonly Case<IncomingMessage, ServerResponse>[] = [
  ['destroy of the reply', ({ reply }) => void reply.destroy(), cut],
  ['destroy of the reply with an error', ({ reply }) => void reply.on('error', () => {}).destroy(new Error('a')), 'a'],
  ['destroy of the message', ({ message }) => void message.destroy(), cut],
  ['destroy of the socket', ({ message }) => void message.socket.destroy(), cut],
  ['destroy of the socket with an error', ({ message }) => void message.socket.destroy(new Error('b')), 'b'],
  ['end of the socket', ({ message }) => void message.socket.end(), cut],
  ['reset of the socket', ({ message }) => void message.socket.resetAndDestroy(), cut],
  ['a pipeline that fails', ({ reply }) => void pipeline(failing(), reply, () => {}), 'The disk has failed.'],
  [
    'the reset of another connection',
    ({ reply }) => void reply.on('error', () => {}).destroy(upstreamError()),
    'The upstream has gone.',
  ],
  ['a timeout of the reply', ({ reply }) => void reply.setTimeout(1), cut],
  ['the end of the client', 'end', 'the client has left'],
  ['a reset of the client', 'reset', 'the client has left'],
]

const inHttp2: readonly Case<Http2ServerRequest, Http2ServerResponse>[] = [
  [
    'a code of the server',
    ({ reply }) => reply.stream.close(2),
    'Stream closed with error code NGHTTP2_INTERNAL_ERROR',
  ],
  ['a cancellation by the server', ({ reply }) => reply.stream.close(8), cut],
  ['an end of the stream without its content', ({ reply }) => reply.stream.close(), cut],
  ['destroy of the stream', ({ reply }) => void reply.stream.destroy(), cut],
  ['destroy of the reply with an error', ({ reply }) => void reply.stream.destroy(new Error('c')), 'c'],
  ['destroy of the session', ({ reply }) => reply.stream.session?.destroy(), cut],
  ['a pipeline that fails', ({ reply }) => void pipeline(failing(), reply, () => {}), 'The disk has failed.'],
  ['a cancellation by the client', 'end', 'the client has left'],
  ['a reset of the connection', 'reset', 'the client has left'],
  ['the end of the connection', 'destroy', 'the client has left'],
]

function describe({ collectors, summary }: Profile): string {
  if (summary.outcome === 'aborted') return 'the client has left'
  const { exceptions = [] } = collectors.exception ?? {}
  return `${summary.outcome}: ${exceptions[0]?.message}`
}

for (const hasHead of [true, false]) {
  const when = hasHead ? 'after the head' : 'before the head'

  t.test(`HTTP/1: who has ended an exchange ${when}`, async t => {
    const server = createServer((message, reply) => {
      reply.on('error', () => {})
      if (hasHead) reply.write('begin')
      const [, act] = inHttp1[Number(message.url?.slice(1))] ?? []
      if (typeof act === 'function') act({ message, reply })
      else waiting.push(message.url ?? '')
    })
    const waiting: string[] = []
    const { port, profileOf } = await recordServer(t, server)
    const offences: string[] = []
    for (const [index, [name, act, answer]] of inHttp1.entries()) {
      const client: Socket = connect(port, '127.0.0.1').on('error', () => {})
      client.resume().write(`GET /${index} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
      if (typeof act !== 'function') {
        await until(() => waiting.includes(`/${index}`))
        if (act === 'end') client.end()
        else client.resetAndDestroy()
      }
      const found = describe(await profileOf(`/${index}`))
      if (!found.endsWith(answer)) offences.push(`${name}: ${found}`)
      client.destroy()
    }
    t.strictSame(offences, [])
  })

  t.test(`HTTP/2: who has ended an exchange ${when}`, async t => {
    const server = createHttp2Server((message, reply) => {
      reply.stream.on('error', () => {})
      if (hasHead) reply.write('begin')
      const [, act] = inHttp2[Number(message.url.slice(1))] ?? []
      if (typeof act === 'function') setImmediate(() => act({ message, reply }))
      else waiting.push(message.url)
    }).on('session', session => session.on('error', () => {}))
    const waiting: string[] = []
    const { port, profileOf } = await recordServer(t, server)
    const offences: string[] = []
    for (const [index, [name, act, answer]] of inHttp2.entries()) {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      const client = connectInHttp2(`http://127.0.0.1:${port}`, { createConnection: () => socket }).on(
        'error',
        () => {},
      )
      const stream = client.request({ ':path': `/${index}` }).on('error', () => {})
      stream.resume()
      if (typeof act !== 'function') {
        await until(() => waiting.includes(`/${index}`))
        if (act === 'end') stream.close(8)
        else if (act === 'reset') socket.resetAndDestroy()
        else socket.destroy()
      }
      const found = describe(await profileOf(`/${index}`))
      if (!found.endsWith(answer)) offences.push(`${name}: ${found}`)
      client.destroy()
    }
    t.strictSame(offences, [])
  })
}

/** Servers of frameworks that answer with a stream, which fails. */
const frameworks: Readonly<Record<string, () => Promise<Server>>> = {
  async 'Express, pipe'() {
    const app = express()
    app.get('/', (_request, reply) => {
      const body = failing().on('error', () => reply.destroy())
      body.pipe(reply)
    })
    return createServer(app)
  },
  async 'Express, pipeline'() {
    const app = express()
    app.get('/', (_request, reply) => void pipeline(failing(), reply, () => {}))
    return createServer(app)
  },
  async 'Express, next'() {
    const app = express()
    app.get('/', (_request, reply, next) => {
      reply.write('x')
      next(new Error('The disk has failed.'))
    })
    return createServer(app.set('env', 'test'))
  },
  async Fastify() {
    const app = Fastify()
    app.get('/', async (_request, reply) => reply.send(failing()))
    await app.ready()
    return app.server
  },
  async Koa() {
    // It has no types.
    const { default: Koa } = await import('koa' as string)
    const app = new Koa()
    app.silent = true
    app.use((context: { body: unknown }) => {
      context.body = failing()
    })
    return createServer(app.callback())
  },
  async Hono() {
    const app = new Hono()
    app.get('/', context => context.body(Readable.toWeb(failing()) as ReadableStream))
    return createServer(getRequestListener(app.fetch))
  },
}

for (const [name, create] of Object.entries(frameworks)) {
  t.test(`${name}: the failure of a stream is an error of the server`, async t => {
    t.capture(console, 'error', () => {})
    const { port, profileOf } = await recordServer(t, await create())
    const client: Socket = connect(port, '127.0.0.1').on('error', () => {})
    client.resume().write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    t.teardown(() => void client.destroy())
    t.equal(describe(await profileOf('/')), 'stream-failed: The disk has failed.')
  })
}

t.test('HTTP/2: an answer by the stream is complete, with its status', async t => {
  const server = createHttp2Server((message, { stream }) => {
    if (message.url === '/stream') {
      stream.respond({ ':status': 201, 'x-shop': 'open' })
      stream.end('done')
    } else stream.respondWithFile(import.meta.filename)
  })
  const { port, profileOf } = await recordServer(t, server)
  const client = connectInHttp2(`http://127.0.0.1:${port}`)
  t.teardown(() => client.destroy())
  for (const path of ['/stream', '/file']) {
    const stream = client.request({ ':path': path })
    await once(stream.resume(), 'close')
  }
  t.match((await profileOf('/stream')).summary, { outcome: 'complete', status: 201 })
  t.match((await profileOf('/file')).summary, { outcome: 'complete', status: 200 })
})

t.test('HTTP/2: streams of the core API are recorded, with what they do', async t => {
  const server = createHttp2Server().on('stream', async (stream, headers) => {
    const path = String(headers[':path'])
    stream.on('error', () => {})
    if (path === '/file') return stream.respondWithFile(import.meta.filename)
    if (path === '/leave') return stream.write('begin')
    stream.respond({ ':status': 201 })
    let body = ''
    for await (const chunk of stream.setEncoding('utf8')) body += String(chunk)
    if (path === '/fail') return pipeline(failing(), stream, () => {})
    return stream.end(body)
  })
  const { port, profileOf } = await recordServer(t, server)
  const client = connectInHttp2(`http://127.0.0.1:${port}`).on('error', () => {})
  t.teardown(() => client.destroy())
  for (const path of ['/answer', '/file', '/fail', '/leave']) {
    const stream = client.request({ ':path': path, ':method': 'POST' }).on('error', () => {})
    if (path === '/leave') stream.on('response', () => stream.close(8))
    stream.resume().end('sent')
    await new Promise(resolve => stream.on('close', resolve))
  }
  const answer = await profileOf('/answer')
  t.match(answer.summary, { outcome: 'complete', status: 201, method: 'POST' })
  t.match((await profileOf('/file')).summary, { outcome: 'complete', status: 200 })
  t.equal(describe(await profileOf('/fail')), 'stream-failed: The disk has failed.')
  t.equal(describe(await profileOf('/leave')), 'the client has left')
})

t.test('work that begins after the client has left is recorded', async t => {
  const upstream = createServer((_message, reply) => reply.end('here')).listen(0, '127.0.0.1')
  t.teardown(() => upstream.close())
  await once(upstream, 'listening')
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/upstream`
  const waiting: string[] = []
  const server = createServer((message, reply) => {
    waiting.push(message.url ?? '')
    reply.on('close', async () => {
      if (message.url === '/goes-on') await (await fetch(url)).text()
    })
  })
  const { port, profileOf } = await recordServer(t, server)
  for (const path of ['/goes-on', '/ends']) {
    const client = connect(port, '127.0.0.1').on('error', () => {})
    client.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    await until(() => waiting.includes(path))
    client.destroy()
  }
  const late = await profileOf('/goes-on', ({ collectors }) => (collectors.http?.calls.length ?? 0) > 0)
  t.match(late.summary, { outcome: 'aborted', calls: 1 })
  t.ok(late.collectors.late)
  t.equal((await profileOf('/ends')).summary.outcome, 'aborted')
})
