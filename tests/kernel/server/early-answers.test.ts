import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { startBareServer } from '#tests/support/bare-server.ts'
import { closed, head, openConnection } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

// Nothing waits in the kernel of these tests: a response may be written while the parser still reads the request.

const get = (path: string, more = '') => head(`GET ${path}`, more)
const answerPath = ({ path }: { readonly path: string }) => Response.text(`<${path}>`)
/** The bodies of the responses of `answerPath`, in order. */
const answersIn = (text: string) => [...text.matchAll(/<([^<>]+)>/g)].map(([, path]) => path)
const smuggled = get('/smuggled')

/** Writes pieces, each after the event loop has turned a few times. */
async function writeSlowly(socket: Socket, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    for (let turn = 0; turn < 5; turn++) await nextTurn()
    await new Promise(resolve => socket.write(piece, resolve))
  }
}

/** Messages whose body is the text of another request. */
const length = `Content-Length: ${smuggled.length}\r\n`
const chunk = `${smuggled.length.toString(16)}\r\n${smuggled}\r\n`
const messages: Readonly<Record<string, readonly [head: string, body: string]>> = {
  'POST with a length': [head('POST /one', length), smuggled],
  'POST in chunks': [head('POST /one', 'Transfer-Encoding: chunked\r\n'), `${chunk}${chunk}0\r\n\r\n`],
  'GET with a body': [head('GET /one', length), smuggled],
  'DELETE with a body': [head('DELETE /one', length), smuggled],
}

t.test('a body that comes in pieces behind its response is skipped, and the connection is used again', async t => {
  const { port, records, terminated } = await startBareServer(t, answerPath)
  for (const [name, [start, body]] of Object.entries(messages)) {
    const { received, socket } = openConnection(port)
    socket.write(start)
    await until(() => answersIn(received()).length === 1)
    const pieces = Array.from({ length: 4 }, (_, index) =>
      body.slice(index * 20, index === 3 ? undefined : index * 20 + 20),
    )
    await writeSlowly(socket, pieces)
    socket.write(get('/two') + get('/three', 'Connection: close\r\n'))
    await closed(socket)
    t.strictSame(answersIn(received()), ['/one', '/two', '/three'], name)
    t.equal(received().match(/connection: close/gi)?.length, 1, 'only the last response ends the connection')
  }
  t.strictSame(terminated, Array(4).fill(['/one true', '/two true', '/three true']).flat())
  t.strictSame(records, [])
})

t.test('a body in the same piece as its head, and as the next request, is skipped', async t => {
  const { port, terminated } = await startBareServer(t, answerPath)
  for (const [name, [start, body]] of Object.entries(messages)) {
    const { received, socket } = openConnection(port)
    socket.write(start + body + start.replace('/one', '/two') + body + get('/three', 'Connection: close\r\n'))
    await closed(socket)
    t.strictSame(answersIn(received()), ['/one', '/two', '/three'], name)
  }
  t.equal(terminated.length, 12)
})

t.test('HEAD has the headers alone, also with a body in the request, and between other requests', async t => {
  const { port, terminated } = await startBareServer(t, answerPath)
  const { received, socket } = openConnection(port)
  socket.write(get('/a') + head('HEAD /b', length) + smuggled + head('HEAD /c') + get('/d', 'Connection: close\r\n'))
  await closed(socket)
  t.strictSame(answersIn(received()), ['/a', '/d'])
  t.strictSame(
    [...received().matchAll(/content-length: (\d+)/gi)].map(([, length]) => length),
    ['4', '4', '4', '4'],
  )
  t.strictSame(terminated, ['/a true', '/b true', '/c true', '/d true'])
})

t.test('a body behind a response with `Connection: close` does not cost the client the response', async t => {
  const { port, terminated } = await startBareServer(t, () => Response.text('x'.repeat(200_000)))
  const { received, socket } = openConnection(port)
  let failure: Error | undefined
  socket.on('error', error => (failure = error))
  // The client reads nothing before it has sent everything.
  socket.pause()
  socket.write(head('POST /last', 'Connection: close\r\nContent-Length: 500000\r\n'))
  await writeSlowly(socket, Array(5).fill('y'.repeat(100_000)))
  socket.write(get('/behind'))
  socket.resume()
  await closed(socket)
  t.equal(failure, undefined)
  t.match(received(), /^HTTP\/1\.1 200 OK\r\n[\s\S]*connection: close[\s\S]*\r\n\r\nx{200000}$/i)
  t.strictSame(terminated, ['/last true'])
})

t.test('a request behind a response with `Connection: close` is not handled: its client sends it again', async t => {
  const handled: string[] = []
  const { port } = await startBareServer(t, request => {
    handled.push(request.path)
    const response = answerPath(request)
    if (request.path === '/last') response.headers.set('connection', 'close')
    return response
  })
  const { received, socket } = openConnection(port)
  socket.write(get('/first') + get('/last') + get('/behind'))
  await closed(socket)
  t.strictSame(answersIn(received()), ['/first', '/last'])
  t.strictSame(handled, ['/first', '/last'])
})

t.test('HTTP/1.0: the connection ends after the response, or is kept if the client asks for it', async t => {
  const { port, terminated } = await startBareServer(t, answerPath)
  const old = (line: string, more = '') => head(line, more).replace('HTTP/1.1', 'HTTP/1.0')
  const once = openConnection(port)
  once.socket.write(old('GET /one') + old('GET /two'))
  await closed(once.socket)
  t.strictSame(answersIn(once.received()), ['/one'])
  const kept = openConnection(port)
  kept.socket.write(old('POST /one', `Connection: keep-alive\r\n${length}`))
  await until(() => kept.received() !== '')
  await writeSlowly(kept.socket, [smuggled.slice(0, 9), smuggled.slice(9), old('GET /two')])
  await closed(kept.socket)
  t.strictSame(answersIn(kept.received()), ['/one', '/two'])
  t.match(kept.received(), /connection: keep-alive[\s\S]*connection: close/i)
  t.strictSame(new Set(terminated), new Set(['/one true', '/two true']))
})

t.test('Expect: a response without `100 Continue` is the last one; a body that is read is asked for', async t => {
  const bodies: string[] = []
  const handled: string[] = []
  const { port, terminated } = await startBareServer(t, async request => {
    handled.push(request.path)
    if (request.path === '/read') bodies.push(await request.text())
    return answerPath(request)
  })
  const expects = `Expect: 100-continue\r\n${length}`
  const unread = openConnection(port)
  unread.socket.write(head('POST /unread', expects))
  await until(() => unread.received() !== '')
  unread.socket.write(smuggled + get('/behind'))
  await closed(unread.socket)
  t.match(unread.received(), /^HTTP\/1\.1 200 OK/)
  t.strictSame(answersIn(unread.received()), ['/unread'])
  t.strictSame(handled, ['/unread'])
  const read = openConnection(port)
  read.socket.write(head('POST /read', expects))
  await until(() => read.received() !== '')
  t.equal(read.received(), 'HTTP/1.1 100 Continue\r\n\r\n')
  await writeSlowly(read.socket, [smuggled.slice(0, 5), smuggled.slice(5), get('/next', 'Connection: close\r\n')])
  await closed(read.socket)
  t.strictSame(answersIn(read.received()), ['/read', '/next'])
  t.strictSame(bodies, [smuggled])
  t.strictSame(terminated, ['/unread true', '/read true', '/next true'])
})

t.test('a body above the limit of what is skipped ends the connection with its response', async t => {
  const { port, terminated } = await startBareServer(t, answerPath)
  const { received, socket } = openConnection(port)
  socket.write(head('POST /large', `Content-Length: ${16 * 1024 * 1024 + 1}\r\n`))
  await until(() => received() !== '')
  t.match(received(), /connection: close/i)
  await writeSlowly(socket, [get('/behind')])
  socket.end()
  await closed(socket)
  t.strictSame(answersIn(received()), ['/large'])
  t.strictSame(terminated, ['/large true'])
})

t.test('a client that leaves in the middle of a body after its response has received it', async t => {
  const { port, records, terminated } = await startBareServer(t, answerPath)
  for (const end of ['destroy', 'resetAndDestroy', 'end'] as const) {
    const { received, socket } = openConnection(port)
    socket.write(head('POST /one', length))
    await until(() => answersIn(received()).length === 1)
    await writeSlowly(socket, [smuggled.slice(0, 9)])
    socket[end]()
    await closed(socket)
  }
  await until(() => terminated.length === 3)
  t.strictSame(terminated, Array(3).fill('/one true'))
  t.strictSame(
    records.filter(({ level }) => level !== 'debug'),
    [],
  )
})

t.test('responses behind a stream wait for its end, and are terminated after it', async t => {
  const stream = new PassThrough()
  const { port, terminated } = await startBareServer(t, request =>
    request.path === '/stream' ? Response.stream(stream) : answerPath(request),
  )
  const { received, socket } = openConnection(port)
  socket.write(get('/stream') + get('/one') + head('POST /two', length))
  stream.write('first ')
  await until(() => received().includes('first'))
  await writeSlowly(socket, [smuggled, get('/three', 'Connection: close\r\n')])
  t.strictSame(terminated, [])
  stream.end('last')
  await closed(socket)
  t.match(received(), /first [\s\S]*last[\s\S]*<\/one>[\s\S]*<\/two>[\s\S]*<\/three>$/)
  t.strictSame(terminated, ['/stream true', '/one true', '/two true', '/three true'])
})

t.test('a server that closes answers all requests that came in one piece', async t => {
  const { port, server, terminated } = await startBareServer(t, answerPath)
  const { received, socket } = openConnection(port)
  socket.write(get('/zero'))
  await until(() => received() !== '')
  const end = server.close({ linger: 10_000 })
  socket.write(get('/one') + head('HEAD /two') + get('/three'))
  await Promise.all([closed(socket), end])
  t.strictSame(answersIn(received()), ['/zero', '/one', '/three'])
  t.match(received(), /connection: close[^<]*<\/three>$/i, 'the last response ends the connection')
  t.equal(received().match(/connection: close/gi)?.length, 1)
  t.strictSame(terminated, ['/zero true', '/one true', '/two true', '/three true'])
})
