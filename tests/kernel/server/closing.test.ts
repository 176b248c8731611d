import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { connect as connectSecure } from 'node:tls'
import { t } from 'tap'
import { NodeServer } from '#kernel/server/node-server.ts'
import { Response } from '#lib/http/response.ts'
import { TrustedProxies } from '#lib/http/trusted-proxies.ts'
import type { RequestHandler } from '#lib/routing/route-collection.ts'
import { startEagerClients } from '#tests/support/eager-clients.ts'
import { createHandlerBundle } from '#tests/support/handler-bundle.ts'
import { usesNodeMessages } from '#tests/support/node-messages.ts'
import { closed, head, openConnection, startServer, type TestServer } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

const answersOf = (text: string) => text.split('HTTP/1.1 200 OK\r\n').length - 1

/** Starts a server that answers `/wait` when the test releases it. */
async function startWaiting(
  t: Parameters<typeof startServer>[0],
): Promise<TestServer & { answers: ((text: string) => void)[] }> {
  const answers: ((text: string) => void)[] = []
  const handler: RequestHandler = () =>
    new Promise(resolve => answers.push((text: string) => resolve(Response.text(text))))
  const served = await startServer(t, { APP_ENV: 'prod' }, [createHandlerBundle({ '/wait': handler })])
  return { ...served, answers }
}

t.test('requests that came one behind the other are all answered, and what comes later is not looked at', async t => {
  const { answers, port, server } = await startWaiting(t)
  const { received, socket } = openConnection(port)
  socket.write(head('GET /wait').repeat(2))
  await until(() => answers.length === 2)
  const end = server.close()
  answers[1]?.('second')
  await wait(20)
  socket.write(head('GET /wait'))
  await wait(50)
  answers[0]?.('first')
  await Promise.all([end, closed(socket)])
  t.equal(answersOf(received()), 2)
  t.match(received(), /first[\s\S]*connection: close[\s\S]*second$/)
  t.equal(received().match(/connection: close/g)?.length, 1)
  t.equal(answers.length, 2, 'a request behind the last answer is not handled')
})

t.test('an answer that is on its way to a slow reader is not taken for an idle connection', async t => {
  const text = 'x'.repeat(20_000_000)
  const handlers = { '/large': () => Response.text(text) }
  const { port, server } = await startServer(t, { APP_ENV: 'prod' }, [createHandlerBundle(handlers)])
  const socket = connect(port, '127.0.0.1').pause()
  socket.write(head('GET /large'))
  await wait(200)
  const end = server.close()
  await wait(300)
  let length = 0
  socket.on('data', chunk => {
    length += chunk.length
  })
  socket.resume()
  await once(socket, 'close')
  await end
  t.ok(length > text.length, `${length} bytes`)
})

t.test('who is still sending can read the answer that ends the connection', async t => {
  const { port } = await startServer(t, { APP_ENV: 'prod' })
  const { received, socket } = openConnection(port)
  let failure: Error | undefined
  socket.on('error', error => {
    failure = error
  })
  // Busy with sending, it takes the answer later.
  socket.pause()
  socket.write(head('POST /nope', 'Connection: close\r\nContent-Length: 1000000\r\n'))
  for (let sent = 0; sent < 10; sent++) {
    socket.write('x'.repeat(100_000))
    await wait(10)
  }
  socket.resume()
  await closed(socket)
  t.equal(failure, undefined)
  t.match(received(), /^HTTP\/1\.1 404 /)
})

t.test('a connection on which a body was left unread closes like any other later', async t => {
  const { received, socket } = openConnection((await startServer(t, { APP_ENV: 'prod' })).port)
  socket.write(head('POST /nope', 'Content-Length: 4\r\n'))
  await until(() => received().includes('404'))
  socket.write(`body${head('GET /text', 'Connection: close\r\n')}`)
  await closed(socket)
  t.match(received(), /404[\s\S]*200 OK[\s\S]*text$/)
})

t.test('who goes on for ever after the answer that ends the connection is cut off', async t => {
  const socket = connect({ port: (await startServer(t)).port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => undefined).resume()
  socket.write(head('POST /nope', 'Connection: close\r\nTransfer-Encoding: chunked\r\n'))
  const timer = setInterval(() => socket.write('1\r\nx\r\n'), 50)
  await closed(socket)
  clearInterval(timer)
  t.pass('it is closed')
})

/** Starts a server with TLS. */
async function startSecure(t: Parameters<typeof startServer>[0]) {
  const { app, records } = await startServer(t)
  const read = (name: string) => readFileSync(`tests/fixtures/tls/${name}.pem`, 'utf8')
  const identity = { cert: read('cert'), key: read('key') }
  const options = { nodeMessages: usesNodeMessages(), trustedProxies: new TrustedProxies(), identity }
  const server = new NodeServer(app, options)
  const { port } = new URL(await server.listen('127.0.0.1', 0))
  return { ca: identity.cert, port: Number(port), records, server }
}

t.test('a silent TLS connection is answered while the server closes, and does not delay its end', async t => {
  const { ca, port, server } = await startSecure(t)
  const [asking, silent] = [0, 1].map(() => connectSecure({ ca, port }))
  const chunks: Buffer[] = []
  asking?.on('data', chunk => chunks.push(chunk))
  await Promise.all([asking, silent].map(socket => once(socket as Socket, 'secureConnect')))
  const end = server.close({ deadline: 100_000 })
  await wait(50)
  asking?.write(head('GET /text'))
  const begin = performance.now()
  await end
  t.match(String(Buffer.concat(chunks)), /^HTTP\/1\.1 200 OK/)
  t.ok(performance.now() - begin < 90_000, 'the silent one was closed')
})

t.test('the deadline holds for connections that never shake hands', async t => {
  const { port, records, server } = await startSecure(t)
  const { socket } = openConnection(port)
  // A record of a handshake that is longer than what is sent of it.
  socket.write(Buffer.from('16030100ff', 'hex'))
  await wait(50)
  await server.close({ deadline: 200 })
  t.hasStrict(
    records.at(-1),
    { level: 'warning', context: { count: 1 } },
    'it is cut off: the client has 10 s to shake hands',
  )
})

t.test('a second close can shorten the time, and logs how many connections are cut off', async t => {
  const { answers, port, records, server } = await startWaiting(t)
  const { socket } = openConnection(port)
  socket.write(head('GET /wait'))
  await until(() => answers.length === 1)
  await Promise.all([server.close(), server.close({ deadline: 100 })])
  const message = 'Connections did not end in time and were cut off: 1.'
  t.hasStrict(records.at(-1), { level: 'warning', message, context: { count: 1 } })
})

t.test('the announced keep-alive time is shorter than the time that the server waits', async t => {
  const { url } = await startServer(t, { APP_ENV: 'prod' })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  /** Gives what the server grants, and where the connection begins on this side. */
  const ask = () =>
    new Promise((resolve, reject) => {
      const message = httpRequest(`${url}/text`, { agent }, response => {
        const { headers, socket } = response
        const answer = [headers['keep-alive'], socket.localPort]
        response.resume().on('end', () => resolve(answer))
      })
      message.on('error', reject).end()
    })
  const sockets: Socket[] = []
  const onStart = (message: unknown) => sockets.push((message as { socket: Socket }).socket)
  subscribe('http.server.request.start', onStart)
  t.teardown(() => unsubscribe('http.server.request.start', onStart))
  const first = await ask()
  t.match(first, ['timeout=5', Number])
  t.strictSame(await ask(), first, 'the connection is used again')
  const idle = sockets[0]
  await until(() => Number(idle?.timeout) > 0)
  t.ok(Number(idle?.timeout) > 5_500, `a client has ${Number(idle?.timeout) - 5_000} ms for a request on its way`)
})

t.test('a stream whose application is silent stays; a client that then takes nothing does not', async t => {
  const streams: Readable[] = []
  const handlers = {
    '/silent': () => {
      const stream = new Readable({ read: () => undefined })
      streams.push(stream)
      stream.push('begin')
      return Response.stream(stream)
    },
  }
  const { app } = await startServer(t, { APP_ENV: 'prod' }, [createHandlerBundle(handlers)])
  const server = new NodeServer(app, {
    nodeMessages: usesNodeMessages(),
    trustedProxies: new TrustedProxies(),
    idleTimeout: 200,
  })
  t.teardown(() => server.close({ deadline: 0 }))
  const { port } = new URL(await server.listen('127.0.0.1', 0))
  const { received, socket } = openConnection(Number(port))
  socket.write(head('GET /silent'))
  // The first check of the server, after 200 ms, starts the idle timeout.
  await wait(600)
  t.notOk(socket.readableEnded)
  streams[0]?.push('late')
  await until(() => received().includes('late'))
  t.match(received(), /begin[\s\S]*late/)

  socket.pause()
  streams[0]?.push('x'.repeat(20_000_000))
  await until(() => streams[0]?.destroyed === true)
  t.ok(streams[0]?.destroyed, 'it is let go')
})

t.test('a busy server that closes answers what was sent on the connections that the system has opened', async t => {
  let handled = 0
  const slow: RequestHandler = () => {
    handled++
    const end = performance.now() + 1
    while (performance.now() < end);
    return Response.text('slow')
  }
  const sums = { answered: 0, reset: 0, refused: 0, silent: 0 }
  for (let round = 0; round < 10; round++) {
    const { port, server } = await startServer(t, { APP_ENV: 'prod' }, [createHandlerBundle({ '/slow': slow })])
    handled = 0
    const counted = startEagerClients(port, '/slow')
    await until(() => handled > 50)
    await server.close()
    for (const [name, count] of Object.entries(await counted)) sums[name as keyof typeof sums] += count
  }
  t.match(sums, { refused: 80, silent: 0 })
  // The system may open a connection between the last look and the end of the socket. On a busy
  // machine, that takes milliseconds.
  t.ok(sums.reset < 20, `${sums.reset} requests were reset`)
})
