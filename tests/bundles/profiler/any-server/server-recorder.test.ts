import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, createServer as createSecondServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { createGzip, gzipSync } from 'node:zlib'
import { t } from 'tap'
import { createRecorder, recordServer } from '#tests/support/record-server.ts'
import { until } from '#tests/support/until.ts'

t.test('a recorder makes profiles from its start until it is closed', async t => {
  const { recorder, storage } = createRecorder(t)
  const server = createServer((_message, reply) => reply.end('Hello')).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const request = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    await response.text()
    return response.headers.get('x-debug-token')
  }
  const saved: string[] = []
  recorder.signals.on('profile.saved', ({ url }) => saved.push(new URL(url).pathname))

  t.equal(await request('/before'), null)
  recorder.start({ viewer: 'http://127.0.0.1:8100', onFirst: () => true })
  const token = await request('/recorded')
  await until(() => saved.length > 0)
  t.match((await storage.find(String(token)))?.profile.summary, { route: 'GET /recorded', status: 200 })
  await recorder.close()
  t.equal(await request('/after'), null)
  t.strictSame(saved, ['/recorded'])
})

t.test('a recorder refuses wrong settings of the profiler', async t => {
  const settings = { PROFILER_SAMPLE: 'most' }
  t.throws(() => createRecorder(t, settings), { code: 'CONFIG_INVALID', message: /PROFILER_SAMPLE/ })
})

const long = 'a line of text\n'.repeat(2000)
const html = { 'content-type': 'text/html' }

/** The size, whether it was streamed, and the bytes that were sent; and the code. */
const answers: Readonly<Record<string, readonly [unknown, (reply: ServerResponse) => unknown]>> = {
  '/pieces': [{ size: 11, isStreamed: true, sent: 11 }, reply => [reply.write('hello '), reply.end('world')]],
  '/written': [{ size: 5, isStreamed: true, sent: 5 }, reply => [reply.write('hello'), reply.end()]],
  '/pipe': [{ size: 5, isStreamed: true, sent: 5 }, reply => Readable.from(['he', 'llo']).pipe(reply)],
  '/one': [{ size: 5, isStreamed: false, sent: 5 }, reply => reply.end('hello')],
  '/head': [{ size: 5, isStreamed: false, sent: 5 }, reply => reply.writeHead(200, html).end('hello')],
  '/none': [{ size: 0, isStreamed: false, sent: 0 }, reply => reply.end()],
  '/empty': [{ size: 0, isStreamed: false, sent: 0 }, reply => reply.writeHead(204).end()],
  '/gzip': [
    { size: 30_000, isStreamed: true, content: { length: 30_000 } },
    reply =>
      Readable.from([long])
        .pipe(createGzip())
        .pipe(reply.writeHead(200, { ...html, 'content-encoding': 'gzip' })),
  ],
  '/gzip-one': [
    { size: 30_000, isStreamed: false },
    reply => reply.writeHead(200, { ...html, 'content-encoding': 'gzip' }).end(gzipSync(long)),
  ],
  '/odd': [{ size: null, sent: 3 }, reply => reply.writeHead(200, { ...html, 'content-encoding': 'odd' }).end('abc')],
  '/none-coded': [
    { size: 3, content: { text: 'abc' } },
    reply => reply.writeHead(200, { ...html, 'content-encoding': 'none' }).end('abc'),
  ],
  '/events': [
    { size: 9, isStreamed: true, sent: 9, content: { text: 'data: 1\n\n' } },
    reply => [reply.writeHead(200, { 'content-type': 'text/event-stream' }), reply.write('data: 1\n\n'), reply.end()],
  ],
}

t.test('the size of a response is that of its body, however it was written', async t => {
  const answer = (url: string, reply: ServerResponse) => void answers[url]?.[1](reply)
  const server = createServer((message, reply) => answer(String(message.url), reply))
  const { port, profileOf } = await recordServer(t, server)
  for (const [path, [expected]] of Object.entries(answers)) {
    await (await fetch(`http://127.0.0.1:${port}${path}`)).arrayBuffer().catch(() => undefined)
    const { collectors } = await profileOf(path, ({ summary }) => summary.outcome === 'complete')
    t.match(collectors.response, expected as object, path)
  }
})

t.test('the size of a response of HTTP/2 is that of its body', async t => {
  const server = createSecondServer((message, reply) => {
    if (message.url === '/pieces') reply.write('hello ')
    reply.end('world')
  })
  const { port, profileOf } = await recordServer(t, server)
  const client = connect(`http://127.0.0.1:${port}`)
  for (const [path, expected] of [
    ['/pieces', { size: 11, isStreamed: true, sent: 11 }],
    ['/one', { size: 5, isStreamed: false, sent: 5 }],
  ] as const) {
    await once(client.request({ ':path': path }).resume(), 'close')
    t.match((await profileOf(path)).collectors.response, expected, path)
  }
  client.close()
})

const frame = (flags: number, text: string) => {
  const head = Buffer.alloc(5, flags)
  head.writeUInt32BE(Buffer.byteLength(text), 1)
  return Buffer.concat([head, Buffer.from(text)])
}
const end = 'grpc-status: 5\r\ngrpc-message: none\r\n'
const failed = JSON.stringify({ error: { code: 'not_found' }, metadata: { 'api-token': ['hunter22'] } })
const web = [Buffer.concat([frame(0, 'one'), frame(0, 'two'), frame(0x80, end)])]
const fields = [
  ['grpc-status', '5'],
  ['grpc-message', 'none'],
]

/** Content types, the bodies in their pieces, and the trailers. */
const ends: Readonly<Record<string, readonly [type: string, body: readonly Buffer[], trailers: unknown]>> = {
  '/web': ['application/grpc-web+proto', web, fields],
  '/text': ['application/grpc-web-text', [frame(0, 'ab'), frame(0x80, end)].map(toBase64), fields],
  '/connect': [
    'application/connect+json',
    [frame(0, '{}'), frame(2, failed)],
    [
      ['error', { code: 'not_found' }],
      ['metadata', { 'api-token': '******' }],
    ],
  ],
  '/compressed': ['application/grpc-web', [frame(0x81, end)], undefined],
  '/cut': ['application/grpc-web', [frame(0x80, end).subarray(0, 12)], undefined],
  '/none': ['application/grpc-web', [frame(0, end)], undefined],
  '/other': ['application/octet-stream', web, undefined],
}

function toBase64(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString('base64'))
}

t.test('the trailers of a response are those of HTTP, or the last message of gRPC-web and Connect', async t => {
  const answer = (url = '', reply: ServerResponse) => {
    const [type = 'text/plain', body = [Buffer.from('a')]] = ends[url] ?? []
    reply.writeHead(200, { 'content-type': type, trailer: 'x-sum' })
    for (const piece of body) reply.write(piece)
    if (url === '/http') reply.addTrailers({ 'x-sum': '12', 'x-api-token': 'hunter22' })
    reply.end()
  }
  const { port, profileOf } = await recordServer(
    t,
    createServer((message, reply) => answer(message.url, reply)),
  )
  const masked = [
    ['x-sum', '12'],
    ['x-api-token', '******'],
  ]
  const all = { ...ends, '/http': ['', [], masked] } as typeof ends
  const found: [string, unknown][] = []
  for (const path of Object.keys(all)) {
    await (await fetch(`http://127.0.0.1:${port}${path}`)).arrayBuffer()
    const { collectors } = await profileOf(path, ({ summary }) => summary.outcome === 'complete')
    found.push([path, collectors.response?.trailers])
  }
  t.strictSame(
    found,
    Object.entries(all).map(([path, [, , trailers]]) => [path, trailers]),
  )
})

t.test('a form with files is recorded as far as it is kept', async t => {
  const server = createServer((message, reply) => void message.resume().on('end', () => reply.end()))
  const { port, profileOf } = await recordServer(t, server)
  const send = async (path: string, size: number) => {
    const form = new globalThis.FormData()
    form.set('title', 'Ferries')
    form.set('password', 'hunter22')
    form.set('picture', new Blob(['a'.repeat(size)], { type: 'image/png' }), 'a.png')
    await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: form })
    const { form: fields, files, note } = (await profileOf(path)).collectors.request?.body ?? {}
    return { fields, files, note }
  }
  const fields = [
    ['title', 'Ferries'],
    ['password', '******'],
  ]
  t.strictSame(
    [await send('/small', 3), await send('/large', 300_000)],
    [
      { fields, files: [{ field: 'picture', name: 'a.png', type: 'image/png', size: 3 }], note: undefined },
      { fields, files: [], note: 'Only its beginning was stored: the body is large.' },
    ],
  )
})

t.test('a body that was read is recorded, also of a message whose members were replaced afterwards', async t => {
  const server = createServer(async (message, reply) => {
    // As Next.js does: a middleware gets a copy, and the handler another one in place of the message.
    const copy = new PassThrough()
    for await (const part of message) copy.write(part)
    copy.end()
    for (const key in copy) {
      const member = Reflect.get(copy, key)
      Reflect.set(message, key, typeof member === 'function' ? member.bind(message) : member)
    }
    Reflect.set(message, 'socket', null)
    reply.end()
  })
  const { port, profileOf } = await recordServer(t, server)
  const headers = { 'content-type': 'application/json' }
  await fetch(`http://127.0.0.1:${port}/replaced`, { method: 'POST', headers, body: '{"a":1}' })
  t.match((await profileOf('/replaced')).collectors.request?.body, { state: 'read', length: 7 })
})
