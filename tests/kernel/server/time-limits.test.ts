import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { mock } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Test, t } from 'tap'
import { createServer } from '#kernel/server/http-server.ts'
import { Response } from '#lib/http/response.ts'
import { startBareServer } from '#tests/support/bare-server.ts'
import { muteWarnings } from '#tests/support/mute-warnings.ts'
import { openConnection } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

/** The numbers in the row of a limit in SECURITY.md, in milliseconds. */
function documented(limit: string): number[] {
  const row = readFileSync('SECURITY.md', 'utf8')
    .split('\n')
    .find(line => line.startsWith(`| ${limit}`))
  return [...String(row?.split('|')[2]).matchAll(/(\d+) s\b/g)].map(([, seconds]) => Number(seconds) * 1000)
}

/** Stops the timers of the server, not those of Node itself. The returned function passes time. */
function stopTime(t: Test): (milliseconds: number) => void {
  muteWarnings(t, 'ExperimentalWarning')
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const { now } = performance
  let passed = 0
  performance.now = () => now.call(performance) + passed
  t.teardown(() => {
    mock.timers.reset()
    performance.now = now
  })
  return milliseconds => {
    passed += milliseconds
    mock.timers.tick(milliseconds)
  }
}

t.test("the limits of Node's server are those of SECURITY.md", async t => {
  const { headersTimeout, keepAliveTimeout, requestTimeout } = await createServer(() => undefined, undefined)
  t.strictSame([headersTimeout, requestTimeout, keepAliveTimeout], documented('time for a TLS handshake').slice(1))
})

t.test('an answer has a minute, and a client two minutes to read it', async t => {
  const [answer = 0, reading = 0] = documented('time until an answer begins')
  const pass = stopTime(t)
  let socket: Socket | undefined
  const { port } = await startBareServer(t, request => {
    // In a server, the connection is a socket.
    socket = request.connection as Socket
    return new Promise<Response>(() => undefined)
  })
  const client = openConnection(port)
  client.socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until(() => socket !== undefined)
  pass(1000)
  t.equal(socket?.timeout, reading)
  pass(answer - 1000)
  await nextTurn()
  t.equal(client.received(), '')
  pass(2000)
  await until(() => client.socket.closed)
  t.match(client.received(), /^HTTP\/1\.1 503 /)
})

t.test('the rest of a body that is not read has two seconds', async t => {
  const pass = stopTime(t)
  let socket: Socket | undefined
  const { port } = await startBareServer(t, request => {
    socket = request.connection as Socket
    return Response.text('early')
  })
  for (const more of ['', 'Connection: close\r\n']) {
    // A client that goes on sending after the end of the response.
    const client = connect({ port, allowHalfOpen: true }).on('error', () => undefined)
    client.write(`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n${more}\r\nabc`)
    const [answer] = await once(client, 'data')
    t.match(String(answer), /early$/)
    pass(1999)
    await nextTurn()
    t.notOk(socket?.destroyed)
    pass(1)
    t.ok(socket?.destroyed)
    client.destroy()
  }
})

t.test('after a refused handshake, the connection has five seconds for another request', async t => {
  let socket: Socket | undefined
  const { port } = await startBareServer(t, request => {
    socket = request.connection as Socket
    return Response.text('no')
  })
  const client = openConnection(port)
  client.socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  await until(() => client.received().endsWith('no'))
  await until(() => socket?.timeout !== 0)
  t.equal(socket?.timeout, documented('time for a TLS handshake').at(-1))
  client.socket.destroy()
})
