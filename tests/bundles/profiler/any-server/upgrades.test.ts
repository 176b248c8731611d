import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import { recordServer } from '#tests/support/record-server.ts'

const accepted = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-Kind: test\r\n\r\n'
const refusal = 'HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'

/** Answers to an upgrade, by its path: the code, with the outcome and the status of its profile. */
const answers: Readonly<
  Record<string, readonly [answer: (socket: Duplex, message: IncomingMessage) => void, outcome: string, status: number]>
> = {
  '/write': [socket => void socket.write(accepted), 'complete', 101],
  '/bytes': [socket => void socket.write(Buffer.from(`${accepted}and data`)), 'complete', 101],
  '/end': [socket => void socket.end(accepted), 'complete', 101],
  '/later': [socket => void setTimeout(() => socket.write(accepted), 20), 'complete', 101],
  '/refused': [socket => void socket.end(refusal), 'complete', 401],
  '/destroyed': [socket => void socket.destroy(), 'stream-failed', 0],
  '/error': [socket => void socket.destroy(new Error('no such room')), 'stream-failed', 0],
  '/left': [socket => void socket.resume().once('end', () => socket.destroy()), 'aborted', 0],
  '/own-protocol': [socket => void socket.end('hello'), 'stream-failed', 0],
}

t.test('an upgrade is a request, until its head is written, with its answer as its outcome', async t => {
  const server = createServer()
  const own: string[] = []
  server.on('upgrade', (message, socket) => {
    socket.on('error', () => undefined)
    answers[String(message.url)]?.[0](socket, message)
    socket.once('close', () => own.push(...Object.keys(socket).filter(name => /^(?:write|end|emit)$/.test(name))))
  })
  const { port, profileOf } = await recordServer(t, server)
  for (const [path, [, outcome, status]] of Object.entries(answers)) {
    const client = connect({ port, host: '127.0.0.1' }).resume()
    client.on('error', () => undefined)
    client.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`)
    if (path === '/left') await sleep(20)
    if (path === '/left') client.end()
    const { collectors, summary } = await profileOf(path, ({ summary }) => summary.outcome !== 'unfinished')
    t.match(summary, { outcome, status, route: `GET ${path}` }, path)
    if (status === 101)
      t.match(collectors.response?.headers, [
        ['Connection', 'Upgrade'],
        ['Upgrade', 'echo'],
        ['X-Kind', 'test'],
      ])
    client.destroy()
  }
  t.strictSame(own, [], 'the sockets have no methods of the profiler')
})

t.test('what the listener of a connection does is not work after a response', async t => {
  const server = createServer((_, reply) => reply.end())
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', async socket => {
    await sleep(5)
    await (await fetch(`http://127.0.0.1:${port}/inner`)).text()
    socket.send('hello')
  })
  const { port, profileOf } = await recordServer(t, server)
  const socket = new WebSocket(`ws://127.0.0.1:${port}/greeted`)
  await once(socket, 'message')
  const profile = await profileOf('/greeted', ({ summary }) => summary.calls > 0)
  t.equal(profile.summary.status, 101)
  t.strictSame(
    findFindings(profile).map(({ rule }) => rule),
    [],
  )
  const closed = once(socket, 'close')
  socket.close()
  await closed
})
