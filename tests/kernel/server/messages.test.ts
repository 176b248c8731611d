import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { type IncomingMessage, Server } from 'node:http'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { Headers, type HttpError, type Request, setCookie } from 'sinfonietta'
import { type Test, t } from 'tap'
import { createServer, listen } from '#kernel/server/http-server.ts'
import {
  FastMessage,
  FastResponse,
  fastMessageClasses,
  type MessageClasses,
  nodeMessageClasses,
} from '#kernel/server/messages.ts'
import { contentDisposition } from '#lib/http/file-response.ts'
import { addVary, setChecked } from '#lib/http/headers.ts'
import { Response } from '#lib/http/response.ts'
import { startBareServer } from '#tests/support/bare-server.ts'
import { exchange, openConnection } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

const fieldName = fc.constantFrom(
  'Connection',
  'connection',
  'Content-Disposition',
  'Content-Type',
  'Date',
  'ETag',
  'Expires',
  'Keep-Alive',
  'Set-Cookie',
  'Trailer',
  'Upgrade',
  'Vary',
  'X-Name',
)
const fieldValue = fc.constantFrom(
  '',
  'a',
  'close',
  'keep-alive',
  'naïve',
  'x, y',
  'attachment; filename="é.txt"',
  '\t tab',
)
const body = fc.oneof(
  fc.constantFrom('', 'text', 'naïve', '漢字', 'x'.repeat(70_000)),
  fc.constantFrom(null, Buffer.from([0, 255, 13, 10])),
  fc.constant('stream' as const).map(() => ['a', 'b']),
)
const answer = fc.record({
  status: fc.constantFrom(200, 200, 200, 201, 204, 205, 206, 299, 301, 304, 404, 426, 500, 599),
  fields: fc.array(fc.tuple(fieldName, fieldValue), { maxLength: 5 }),
  body,
})
const question = fc.record({
  method: fc.constantFrom('GET', 'GET', 'HEAD', 'POST', 'OPTIONS'),
  version: fc.constantFrom('1.1', '1.1', '1.1', '1.0'),
  fields: fc.array(
    fc.constantFrom(
      'Connection: keep-alive',
      'Connection: close',
      'TE: chunked',
      'Expect: 100-continue',
      'Expect: x, 100-continue',
      'Expect: else',
      'Host: other',
      'Upgrade: h2c',
    ),
    { maxLength: 3 },
  ),
  hasHost: fc.integer({ max: 9 }).map(number => number > 0),
})

/** Requests of one connection, with the answers of the application. */
const conversation = fc.array(fc.tuple(question, answer), { minLength: 1, maxLength: 5 })
type Conversation = typeof conversation extends fc.Arbitrary<infer Value> ? Value : never

/** The bytes of a client that sends all requests at once. The last of them closes the connection. */
function toBytes(talk: Conversation): string {
  const heads = talk.map(([{ fields, hasHost, method, version }], at) => {
    const content = method === 'POST' ? ['Content-Length: 3'] : []
    const end = at === talk.length - 1 ? ['Connection: close'] : []
    const lines = [`${method} /${at} HTTP/${version}`, ...(hasHost ? ['Host: a'] : []), ...fields, ...content, ...end]
    return `${lines.join('\r\n')}\r\n\r\n${method === 'POST' ? 'abc' : ''}`
  })
  return heads.join('')
}

function toResponse({ body, fields, status }: Conversation[number][1]): Response {
  return new Response(Array.isArray(body) ? Readable.from(body) : body, { status, headers: fields })
}

t.test('a client receives the same bytes from the fast messages as from those of Node', async t => {
  t.not(fastMessageClasses(), nodeMessageClasses, 'this version of Node is known')
  let talk: Conversation = []
  const handler = async (request: { path: string; body: { text(): Promise<string> }; method: string }) => {
    if (request.method === 'POST') await request.body.text()
    return toResponse((talk[Number(request.path.slice(1))] as Conversation[number])[1])
  }
  const [fast, node] = [
    await startBareServer(t, handler, { nodeMessages: false }),
    await startBareServer(t, handler, { nodeMessages: true }),
  ]
  const ask = async (port: number) =>
    (await exchange(port, toBytes(talk))).replaceAll(/^Date: .* GMT\r\n/gm, 'Date\r\n')
  const holds = fc.assert(
    fc.asyncProperty(conversation, async value => {
      talk = value
      const [ours, theirs] = await Promise.all([ask(fast.port), ask(node.port)])
      if (ours !== theirs)
        throw new Error(`${JSON.stringify(ours.slice(0, 600))}\n${JSON.stringify(theirs.slice(0, 600))}`)
    }),
    { numRuns: 100 },
  )
  await t.resolves(holds)
})

const upload = fc.record({
  chunks: fc.array(fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 30 }), { maxLength: 5 }),
  isChunked: fc.boolean(),
  /** Whether the client leaves before its last chunk. */
  isCut: fc.boolean(),
  form: fc.constantFrom('text', 'bytes', 'encodedBytes', 'json', 'nothing'),
  /** Whether the server reads the body in a later turn of the event loop. */
  isLate: fc.boolean(),
})
type Upload = typeof upload extends fc.Arbitrary<infer Value> ? Value : never

/** Sends a request in pieces, and then another one. Returns what the client has received. */
async function send(port: number, { chunks, isChunked, isCut }: Upload): Promise<string> {
  const { received, socket } = openConnection(port)
  const closed = once(socket, 'close')
  const length = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${chunks.join('').length}`
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${length}\r\n\r\n`)
  for (const [at, chunk] of chunks.entries()) {
    await new Promise(setImmediate)
    if (isCut && at === chunks.length - 1) socket.destroy()
    else socket.write(isChunked ? `${chunk.length.toString(16)}\r\n${chunk}\r\n` : chunk)
  }
  const end = isChunked ? '0\r\n\r\n' : ''
  if (!socket.destroyed) socket.write(`${end}GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
  await closed
  return received().replaceAll(/^Date: .* GMT\r\n/gm, '')
}

t.test('the fast messages give the same bodies as those of Node, and fail in the same way', async t => {
  const start = async (isNode: boolean) => {
    const outcomes: string[] = []
    let now: Upload
    const handler = async (request: Request) => {
      if (request.method === 'GET') return new Response('next')
      const { form, isLate } = now
      request.body.limit = 60
      if (isLate) await new Promise(setImmediate)
      const read = form === 'nothing' ? Promise.resolve('') : request.body[form]()
      const outcome = await read.then(
        value => (value instanceof Uint8Array ? Buffer.from(value).toString() : JSON.stringify(value)),
        (error: HttpError) => error.code,
      )
      outcomes.push(outcome)
      return new Response(outcome)
    }
    const { port } = await startBareServer(t, handler, { nodeMessages: isNode })
    return async (value: Upload) => {
      now = value
      const bytes = await send(port, value)
      // The server may learn later that the client has left.
      await until(() => outcomes.length > 0)
      return [bytes, outcomes.splice(0)]
    }
  }
  const [fast, node] = [await start(false), await start(true)]
  const holds = fc.assert(
    fc.asyncProperty(upload, async value => {
      const [ours, theirs] = await Promise.all([fast(value), node(value)])
      if (JSON.stringify(ours) !== JSON.stringify(theirs)) throw new Error(`${JSON.stringify([ours, theirs])}`)
    }),
    { numRuns: 150 },
  )
  await t.resolves(holds)
})

t.test('code that listens while a body is read gets the rest of it, and its end', async t => {
  const seen: string[] = []
  let message: IncomingMessage | undefined
  const { port } = await open(
    t,
    received => {
      message = received
      const reader = {
        take: (chunk: Uint8Array) => seen.push(`read ${chunk}`),
        end: () => seen.push('read to the end'),
        fail() {},
      }
      t.equal((received as FastMessage).passTo(reader), true)
    },
    false,
  )
  const { socket } = openConnection(port)
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab')
  await until(() => seen.length === 1)
  message?.on('data', chunk => seen.push(`heard ${chunk}`))
  message?.on('end', () => seen.push('heard the end'))
  t.equal((message as FastMessage).passTo({ take() {}, end() {}, fail() {} }), false, 'other code listens')
  socket.write('cd')
  await until(() => seen.includes('heard the end'))
  t.strictSame(seen.toSorted(), ['heard cd', 'heard the end', 'read ab', 'read cd', 'read to the end'])
  t.equal(message?.readableEnded, true)
  socket.destroy()
})

t.test('no text that an application sets becomes a line of a response', async t => {
  let make = (_request: Request) => new Response()
  const { port } = await startBareServer(t, request => make(request))
  const evil = fc.tuple(fc.string(), fc.constantFrom('\r\n', '\n', '\r', '\0', '\u{10d}\u{10a}', '\u2028'), fc.string())
  const ways: ((name: string, value: string, request: Request) => Response)[] = [
    (name, value) => new Response('a', { headers: { [name]: value } }),
    (name, value) => new Response('a', { headers: [[name, value]] }),
    (name, value) => new Response('a', { headers: new Headers([[name, value]]) }),
    // Fields of a parser, which another class may have read from anywhere.
    (name, value) => new Response('a', { headers: Headers.fromRaw([name, value]) }),
    (name, value) => new Response('a', { headers: new Headers(Headers.fromRaw([name, value])) }),
    (name, value) => changed(headers => headers.addMissing(Headers.fromRaw([name, value]))),
    (name, value) => changed(headers => headers.set(name, value)),
    (name, value) => changed(headers => headers.append(name, value)),
    (name, value) => changed(headers => headers.addMissing(new Headers([[name, value]]))),
    (name, value) => changed(headers => setCookie(headers, name, value)),
    (_name, value) => changed(headers => setCookie(headers, 'a', 'b', { path: value })),
    (_name, value) => changed(headers => headers.set('content-disposition', contentDisposition(value))),
    (_name, value) => changed(headers => addVary(headers, value)),
    (_name, value, request) => {
      request.provideId(value)
      return changed(headers => setChecked(headers, 'x-request-id', request.id))
    },
    (_name, value) => Response.redirect(value),
    (_name, value) => new Response('a', { headers: { 'content-type': value } }),
  ]
  const holds = fc.assert(
    fc.asyncProperty(evil, fc.nat(ways.length - 1), fc.boolean(), async ([before, split, after], at, isName) => {
      const text = `${before}${split}Injected: 1${after}`
      make = request => (ways[at] as (typeof ways)[number])(isName ? text : 'X-Name', isName ? 'a' : text, request)
      const bytes = await exchange(
        port,
        'GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n',
      )
      if (/^injected/im.test(bytes.replace(/\r\n\r\n[\s\S]*?(?=HTTP\/1\.1|$)/g, '\r\n\r\n'))) throw new Error(bytes)
    }),
    { numRuns: 100 },
  )
  await t.resolves(holds)
})

function changed(change: (headers: Headers) => void): Response {
  const response = new Response('a')
  change(response.headers)
  return response
}

t.test('a response has the fields of its request only if they are checked', async t => {
  const { port } = await startBareServer(t, request => new Response('a', { headers: request.headers }))
  const bytes = await exchange(port, 'GET / HTTP/1.1\r\nHost: a\r\nX-Name: \xe9\tb\r\nConnection: close\r\n\r\n')
  t.match(bytes, /^X-Name: \xe9\tb\r$/m)
})

t.test('the field Keep-Alive and the last response of a connection follow the settings of the server', async t => {
  const heads = async (classes: MessageClasses, settings: Partial<Server>) => {
    const server = await createServer(
      (message, reply) => {
        if (message instanceof FastMessage) message.receive(false)
        const fields = ['Content-Length', '2']
        if (reply instanceof FastResponse && reply.sendText(200, fields, 'ok')) return
        reply.writeHead(200, fields).end('ok')
      },
      undefined,
      classes,
    )
    Object.assign(server, settings)
    const { port } = new URL(await listen(server, '127.0.0.1', 0, undefined))
    t.teardown(() => server.close())
    const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
    const bytes = await exchange(
      Number(port),
      `${request}${request}${request.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')}`,
    )
    return bytes.replaceAll(/^Date: .*\r\n/gm, '')
  }
  const settings: Partial<Server>[] = [
    { keepAliveTimeout: 0 },
    { keepAliveTimeout: 7_999 },
    { maxRequestsPerSocket: 2 },
  ]
  for (const setting of settings) {
    t.equal(
      await heads(fastMessageClasses(), setting),
      await heads(nodeMessageClasses, setting),
      JSON.stringify(setting),
    )
  }
})

/** A server whose messages a test sees before and beside the application. */
async function open(t: Test, onRequest: (message: IncomingMessage) => void, isAnswered = true) {
  const server = await createServer(
    (message, reply) => {
      if (message instanceof FastMessage) message.receive(message.method === 'POST')
      onRequest(message)
      if (isAnswered && reply instanceof FastResponse) reply.sendText(200, ['Content-Length', '2'], 'ok')
    },
    undefined,
    fastMessageClasses(),
  )
  const url = new URL(await listen(server, '127.0.0.1', 0, undefined))
  t.teardown(() => server.close())
  return { server, port: Number(url.port) }
}

const request = 'GET /a HTTP/1.1\r\nHost: a\r\nX-Name: b\r\nAccept: c\r\n\r\n'

t.test('code that sees a message before the server reads all of its fields', async t => {
  const seen: unknown[] = []
  const note = ({ request }: { request?: unknown }) => seen.push((request as IncomingMessage).headers)
  const all = { host: 'a', 'x-name': 'b', accept: 'c' }
  const { port } = await open(t, ({ headers }) => seen.push(headers))
  const ask = async () => {
    const { received, socket } = openConnection(port)
    socket.write(request)
    await until(() => received().endsWith('ok'))
    socket.destroy()
    return seen.splice(0)
  }
  t.strictSame(await ask(), [all])

  const start = channel('http.server.request.start')
  const subscriber = (message: unknown) => void note(message as { request?: unknown })
  start.subscribe(subscriber)
  t.strictSame(await ask(), [all, all])
  start.unsubscribe(subscriber)

  const { emit } = Server.prototype
  Server.prototype.emit = function (this: Server, name: string, ...values: unknown[]) {
    if (name === 'request') note({ request: values[0] })
    return Reflect.apply(emit, this, [name, ...values])
  }
  t.teardown(() => Reflect.deleteProperty(Server.prototype, 'emit'))
  t.strictSame(await ask(), [all, all])
})

t.test('code that replaces the fields of a message reads its own', async t => {
  const seen: unknown[] = []
  const { port } = await open(t, message => {
    message.headers = { ...message.headers, 'x-user': 'ada' }
    seen.push(message.headers)
  })
  const { received, socket } = openConnection(port)
  socket.write(request)
  await until(() => received().endsWith('ok'))
  t.strictSame(seen, [{ host: 'a', 'x-name': 'b', accept: 'c', 'x-user': 'ada' }])
  socket.destroy()
})

t.test('the stream of a message without a body ends for a listener', async t => {
  const ends: string[] = []
  const { port } = await open(t, message => {
    ends.length = 0
    message.on('end', () => ends.push('at once'))
    message.resume()
    t.equal(message.readableEnded, false)
  })
  const { received, socket } = openConnection(port)
  socket.write(request)
  await until(() => received().endsWith('ok') && ends.length === 1)
  t.strictSame(ends, ['at once'])
  socket.destroy()
})

t.test('a message that was read later comes to its end, for a listener that was added in any way', async t => {
  for (const method of ['on', 'once', 'addListener', 'prependListener', 'prependOnceListener'] as const) {
    t.match(await readLater(t, method), /read$/, method)
  }
})

/** What a client receives if its request is read to the end in a later turn of the event loop. */
async function readLater(t: Test, method: 'on' | 'once' | 'addListener' | 'prependListener' | 'prependOnceListener') {
  const server = await createServer(
    (received, reply) => {
      if (received instanceof FastMessage) received.receive(false)
      setImmediate(() => {
        received[method]('end', () => reply.end('read'))
        received.resume()
      })
    },
    undefined,
    fastMessageClasses(),
  )
  const url = new URL(await listen(server, '127.0.0.1', 0, undefined))
  t.teardown(() => server.close())
  return exchange(Number(url.port), 'GET / HTTP/1.0\r\n\r\n')
}

t.test('a message that was read later has ended', async t => {
  let message: IncomingMessage | undefined
  const server = await createServer(
    (received, reply) => {
      if (received instanceof FastMessage) received.receive(false)
      message = received
      setImmediate(async () => {
        received.resume()
        await once(received, 'end')
        reply.end('read')
      })
    },
    undefined,
    fastMessageClasses(),
  )
  const url = new URL(await listen(server, '127.0.0.1', 0, undefined))
  t.teardown(() => server.close())
  t.match(await exchange(Number(url.port), 'GET / HTTP/1.0\r\n\r\n'), /read$/)
  t.equal(message?.readableEnded, true)
})
