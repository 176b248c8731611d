import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import {
  addNodeMiddleware,
  HttpError,
  RequestEvent,
  TerminateEvent,
  type UpgradeHandler,
  WebSocketUpgrade,
} from 'sinfonietta'
import { type Test, t } from 'tap'
import { type ClientOptions, WebSocket, WebSocketServer } from 'ws'
import { NodeServer } from '#kernel/server/node-server.ts'
import { Response } from '#lib/http/response.ts'
import { TrustedProxies } from '#lib/http/trusted-proxies.ts'
import type { RequestHandler } from '#lib/routing/route-collection.ts'
import { createHandlerBundle } from '#tests/support/handler-bundle.ts'
import { usesNodeMessages } from '#tests/support/node-messages.ts'
import { openConnection, startServer, type TestServer } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

const sockets = new WebSocketServer({ noServer: true })
sockets.on('connection', client => client.on('message', data => client.send(`echo ${data}`)))

const echo: UpgradeHandler = (message, socket, head) =>
  sockets.handleUpgrade(message, socket, head, client => void sockets.emit('connection', client, message))

const handlers: Readonly<Record<string, RequestHandler>> = {
  '/talk': request => new WebSocketUpgrade(request, echo),
  '/talk-for-app': request => new WebSocketUpgrade(request, echo, { origins: ['https://app.example.org'] }),
  '/members': request => {
    if (request.cookies.get('member') !== 'yes') throw new HttpError(401, 'Log in first.')
    return new WebSocketUpgrade(request, echo)
  },
  '/greeting': () => Response.text('hello'),
  '/long': () => Response.stream(Readable.from(['x'.repeat(1_000_000), 'y'.repeat(1_000_000), 'z'])),
}

async function start(
  t: Test,
  variables: Record<string, string> = {},
  more: Readonly<Record<string, RequestHandler>> = {},
): Promise<TestServer & { ws: string }> {
  const bundle = createHandlerBundle({ ...handlers, ...more })
  const served = await startServer(t, { APP_ENV: 'prod', ...variables }, [bundle])
  return { ...served, ws: served.url.replace('http', 'ws') }
}

/** Opens a WebSocket; gives the status of the response instead if it is refused. */
async function open(url: string, options: ClientOptions = {}): Promise<WebSocket | number> {
  const socket = new WebSocket(url, options)
  socket.on('error', () => undefined)
  return new Promise(resolve => {
    socket.on('open', () => resolve(socket))
    socket.on('unexpected-response', (_request, response) => {
      response.resume()
      resolve(Number(response.statusCode))
    })
  })
}

async function openOne(url: string, options?: ClientOptions): Promise<WebSocket> {
  const socket = await open(url, options)
  if (typeof socket === 'number') throw new Error(`The handshake was answered with ${socket}.`)
  return socket
}

const handshake = (path: string, more = '') =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${more}\r\n`

t.test('a controller makes a WebSocket; the kernel sees the handshake, and no frame', async t => {
  const { app, ws } = await start(t)
  const seen: string[] = []
  app.dispatcher.on(RequestEvent, ({ request }) => void seen.push(`request ${request.path}`))
  app.dispatcher.on(TerminateEvent, ({ isSent, response }) => void seen.push(`${response.status} ${isSent}`))
  const client = await openOne(`${ws}/talk?room=1`)
  for (const text of ['a', 'b']) {
    client.send(text)
    const [answer] = await once(client, 'message')
    t.equal(String(answer), `echo ${text}`)
  }
  client.close()
  await once(client, 'close')
  t.strictSame(seen, ['request /talk', '101 true'])
})

t.test('a middleware of node before the routes leaves the handshake to its library', async t => {
  const { app, ws } = await start(t)
  addNodeMiddleware(app.dispatcher, (_request, response, next) => {
    response.setHeader('x-seen', 'yes')
    next()
  })
  const client = await openOne(`${ws}/talk`)
  client.send('a')
  t.equal(String((await once(client, 'message'))[0]), 'echo a')
  client.terminate()
})

t.test('pages of other origins are refused, unless they are listed; programs are not', async t => {
  const { ws, url } = await start(t)
  const statusOf = async (path: string, headers: Record<string, string>) => {
    const result = await open(`${ws}${path}`, { headers })
    if (typeof result === 'number') return result
    result.terminate()
    return 101
  }
  t.equal(await statusOf('/talk', {}), 101)
  t.equal(await statusOf('/talk', { origin: url }), 101)
  t.equal(await statusOf('/talk', { origin: 'https://evil.test' }), 403)
  t.equal(await statusOf('/talk', { origin: 'null' }), 403)
  t.equal(await statusOf('/talk', { 'sec-fetch-site': 'cross-site', origin: url }), 403)
  t.equal(await statusOf('/talk-for-app', { origin: 'https://app.example.org' }), 101)
  t.equal(await statusOf('/talk-for-app', { origin: 'https://app.example.org.evil.test' }), 403)
})

t.test('a handshake is routed, checked and guarded like any request', async t => {
  const { ws, port, raw } = await start(t, { APP_HOSTS: 'example.org' })
  const headers = { host: 'example.org' }
  t.equal(await open(`${ws}/members`, { headers }), 401)
  const member = await openOne(`${ws}/members`, { headers: { ...headers, cookie: 'member=yes' } })
  member.terminate()
  t.equal(await open(`${ws}/nowhere`, { headers }), 404)
  t.equal(await open(`${ws}/greeting`, { headers }), 200)
  t.equal(await open(`ws://127.0.0.1:${port}/talk`), 400, 'a host that is not listed')
  const refused = await raw(handshake('/talk', `Connection: close\r\nX: ${'x: y\r\n'.repeat(300)}`))
  t.match(refused, /^HTTP\/1\.1 431 /)
})

t.test('a refused handshake with "Connection: close" is the last request of its connection', async t => {
  const { raw } = await start(t)
  const refused = handshake('/talk', 'Origin: https://evil.test\r\n')
  const behind = 'GET /greeting HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
  const closing = await raw(refused.replace('Connection: Upgrade', 'Connection: Upgrade, Close') + behind)
  t.strictSame(closing.match(/HTTP\/1\.1 \d+|connection: [\w-]+/gi), ['HTTP/1.1 403', 'Connection: close'])
  const kept = await raw(refused + behind)
  t.strictSame(kept.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 403', 'HTTP/1.1 200'])
})

t.test('what is no handshake gets 426, and other protocols are answered over HTTP', async t => {
  const { port, raw, url } = await start(t)
  const plain = await fetch(`${url}/talk`)
  t.equal(plain.status, 426)
  t.equal(plain.headers.get('upgrade'), 'websocket')
  const head = (line: string, more: string) =>
    `${line} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\n${more}\r\n`
  const isClosed = /^HTTP\/1\.1 426 [\s\S]*\r\nconnection: Upgrade, close\r\n/
  t.match(await raw(head('GET /talk', 'Upgrade: h2c\r\n')), isClosed)
  t.match(await raw(head('POST /talk', 'Upgrade: websocket\r\n')), isClosed)
  t.match(await raw(`${head('GET /talk', 'Upgrade: websocket\r\nContent-Length: 2\r\n')}ab`), isClosed)
  const { received, socket } = openConnection(port)
  const request = 'GET /greeting HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n'
  for (const count of [1, 2]) {
    socket.write(request)
    await until(() => received().split('hello').length === count + 1)
  }
  socket.destroy()
})

t.test('a handshake behind other requests waits for their responses', async t => {
  let release: (() => void) | undefined
  const slow = async () => {
    await new Promise<void>(resolve => {
      release = resolve
    })
    return Response.text('slow')
  }
  const { port } = await start(t, {}, { '/slow': slow })
  const { received, socket } = openConnection(port)
  const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n'
  socket.write(`GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n${handshake('/talk', key)}`)
  await until(() => release !== undefined)
  release?.()
  await until(() => received().includes('s3pPLMBiTxaQ9kYGzzhZRbK+xOo='))
  t.match(received(), /^HTTP\/1\.1 200 OK[\s\S]*slowHTTP\/1\.1 101 /)
  socket.destroy()
})

t.test('a usual response to a handshake is sent to its end, and the next request is answered', async t => {
  const { port } = await start(t)
  const { received, socket } = openConnection(port)
  socket.pause()
  socket.write(handshake('/long') + handshake('/greeting').repeat(20) + handshake('/greeting', 'Connection: close\r\n'))
  await new Promise(resolve => setTimeout(resolve, 100))
  socket.resume()
  await once(socket, 'close')
  t.match(received().slice(2_000_000), /z\r\n0\r\n\r\nHTTP\/1\.1 200 OK/)
  t.equal(received().split('hello').length, 22, 'the connection is used again')
})

t.test('the error of a handler is logged, and its socket destroyed', async t => {
  const fails: UpgradeHandler = () => {
    throw new Error('on purpose')
  }
  const { raw, records } = await start(t, {}, { '/fails': request => new WebSocketUpgrade(request, fails) })
  t.equal(await raw(handshake('/fails')), '')
  const [logged] = records.filter(({ message }) => message.startsWith('The handler of a WebSocket has failed'))
  t.match(logged, { level: 'error', context: { method: 'GET', exception: { message: 'on purpose' } } })
})

t.test('a client that leaves before the controller has answered gets nothing, and no handler is called', async t => {
  let answer: (() => void) | undefined
  let connection: Socket | undefined
  let handed = 0
  const handler: RequestHandler = async request => {
    // The connection of a request of the server is its socket.
    connection = request.connection as Socket
    await new Promise<void>(resolve => {
      answer = resolve
    })
    return new WebSocketUpgrade(request, () => handed++)
  }
  const { app, port } = await start(t, {}, { '/late': handler })
  const ends: boolean[] = []
  app.dispatcher.on(TerminateEvent, ({ isSent }) => void ends.push(isSent))
  const { socket } = openConnection(port)
  socket.write(handshake('/late'))
  await until(() => answer !== undefined)
  socket.resetAndDestroy()
  await until(() => connection?.destroyed === true)
  answer?.()
  await until(() => ends.length === 1)
  t.strictSame([ends, handed], [[false], 0])
})

t.test('a server that stops lets applications close their sockets, and then cuts them off', async t => {
  const { app, records, server, ws } = await start(t)
  const [polite, rude] = [await openOne(`${ws}/talk`), await openOne(`${ws}/talk`)]
  app.signals.on('server.draining', () => [...sockets.clients][0]?.close(1001))
  const closed = Promise.all([once(polite, 'close'), once(rude, 'close')])
  await server.close({ deadline: 300 })
  const [[politeCode], [rudeCode]] = await closed
  t.strictSame([politeCode, rudeCode], [1001, 1006])
  t.match(records.at(-1), { message: 'Connections did not end in time and were cut off: 1.' })
})

t.test('a handshake that is answered while the server stops gets a 503', async t => {
  let answer: (() => void) | undefined
  const handler: RequestHandler = async request => {
    await new Promise<void>(resolve => {
      answer = resolve
    })
    return new WebSocketUpgrade(request, echo)
  }
  const { server, ws } = await start(t, {}, { '/late': handler })
  const status = open(`${ws}/late`)
  await until(() => answer !== undefined)
  const end = server.close()
  answer?.()
  t.equal(await status, 503)
  await end
})

t.test('a WebSocket over TLS', async t => {
  const { app } = await start(t)
  const identity = {
    cert: readFileSync('tests/fixtures/tls/cert.pem', 'utf8'),
    key: readFileSync('tests/fixtures/tls/key.pem', 'utf8'),
  }
  const server = new NodeServer(app, {
    nodeMessages: usesNodeMessages(),
    trustedProxies: new TrustedProxies(),
    identity,
  })
  const url = await server.listen('127.0.0.1', 0)
  t.teardown(() => server.close({ deadline: 100 }))
  const client = await openOne(`${url.replace('https', 'wss')}/talk`, { rejectUnauthorized: false, origin: url })
  client.send('a')
  t.equal(String((await once(client, 'message'))[0]), 'echo a')
  client.terminate()
})

t.test('a client that neither reads nor sends is disconnected, unless it has a WebSocket', async t => {
  const { app } = await start(t, {}, { '/never': () => new Promise(() => undefined) })
  const server = new NodeServer(app, {
    nodeMessages: usesNodeMessages(),
    trustedProxies: new TrustedProxies(),
    idleTimeout: 50,
  })
  const url = await server.listen('127.0.0.1', 0)
  t.teardown(() => server.close({ deadline: 100 }))
  const client = await openOne(`${url.replace('http', 'ws')}/talk`)
  const { received, socket } = openConnection(Number(new URL(url).port))
  socket.write(handshake('/never'))
  await once(socket, 'close')
  t.equal(received(), '')
  t.equal(client.readyState, WebSocket.OPEN)
  client.terminate()
})

t.test('a test client sees the handshake, and opens no socket', async t => {
  const { client } = await start(t)
  const headers = { connection: 'keep-alive, Upgrade', upgrade: 'WebSocket' }
  t.equal((await client.get('/talk', { headers })).status, 101)
  t.equal((await client.get('/talk', { headers: { upgrade: 'websocket' } })).status, 426)
  t.equal((await client.get('/talk', { headers: { ...headers, origin: 'https://evil.test' } })).status, 403)
})
