import { Agent, request as httpRequest } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { t } from 'tap'
import { Response } from '#lib/http/response.ts'
import type { RequestHandler } from '#lib/routing/route-collection.ts'
import { startBareServer } from '#tests/support/bare-server.ts'
import { createHandlerBundle } from '#tests/support/handler-bundle.ts'
import { head, openConnection, startServer } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

const mebibyte = 2 ** 20

/** Many bytes, as fast as they are taken; says how many were asked for, and whether it was let go. */
class Flood extends Readable {
  sent = 0
  readonly #length: number
  readonly #chunk = Buffer.alloc(65_536, 'x')

  constructor(length: number) {
    super()
    this.#length = length
  }

  override _read(): void {
    this.sent += this.#chunk.length
    this.push(this.sent > this.#length ? null : this.#chunk)
  }
}

t.test('rt-1xx-status, rt-header-inject: what cannot be sent is a 500, and nothing is injected', async t => {
  const values = ['a\r\nx-injected: 1', 'a\nb', 'a\0b', '\u0100', '\ud800', '\x7f']
  const handlers: Record<string, RequestHandler> = {
    '/status': ({ query }) => new Response('x', { status: Number(query.get('is')) }),
    '/status-text': () => new Response('x', { status: '200' as unknown as number }),
    '/value': ({ query }) => new Response('x', { headers: { 'x-value': String(values[Number(query.get('is'))]) } }),
    '/name': ({ query }) => new Response('x', { headers: { [String(query.get('is'))]: 'x' } }),
  }
  const { raw } = await startServer(t, { APP_ENV: 'prod' }, [createHandlerBundle(handlers)])
  const targets = [
    ...[100, 101, 99, 0, -1, 600, 1000, 200.5, 'NaN'].map(status => `/status?is=${status}`),
    '/status-text',
    ...values.map((_, index) => `/value?is=${index}`),
    ...['', 'a%20b', 'a:b', 'a%0D%0Ab', '%C3%A9'].map(name => `/name?is=${name}`),
  ]
  for (const target of targets) {
    const answer = await raw(head(`GET ${target}`, 'Connection: close\r\n'))
    t.match(answer, /^HTTP\/1\.1 500 Internal Server Error\r\n/, target)
    t.notMatch(answer, /x-injected|x-value/, target)
  }
})

t.test('rt-cl-mismatch: never more bytes than were declared, never a client that waits for more', async t => {
  const declared = (length: string) => ({ headers: { 'content-length': length } })
  const handlers: Record<string, RequestHandler> = {
    '/declared': () => new Response('GET / HTTP/1.1', declared('1')),
    '/longer': () => new Response(Readable.from(['ab', 'cd']), declared('3')),
    '/shorter': () => new Response(Readable.from(['ab', 'cd']), declared('5')),
  }
  const { raw, records } = await startServer(t, { APP_ENV: 'prod' }, [createHandlerBundle(handlers)])
  const ask = (target: string) => raw(head(`GET ${target}`, 'Connection: close\r\n'))
  t.match(await ask('/declared'), /content-length: 14\r\n[\s\S]*\r\n\r\nGET \/ HTTP\/1\.1$/i)
  t.match(await ask('/longer'), /^HTTP\/1\.1 200[\s\S]*\r\n\r\n(?:ab)?$|^$/)
  t.match(await ask('/shorter'), /^HTTP\/1\.1 200[\s\S]*\r\n\r\nabcd$/)
  t.match(
    records
      .filter(({ message }) => message === 'A response was cut off: its stream failed.')
      .map(({ context }) => Object(context.exception).message),
    [/longer than its Content-Length of 3/, /1 bytes shorter than its Content-Length of 5/],
  )
})

t.test('rt-204-body: 204, 205 and 304 have no body and no length, HEAD has no body', async t => {
  const handlers: Record<string, RequestHandler> = {
    '/204': () => new Response('abc', { status: 204, headers: { 'content-length': '3' } }),
    '/205': () => new Response('abc', { status: 205, headers: { 'content-length': '3' } }),
    '/304': () => new Response(Readable.from(['abc']), { status: 304, headers: { 'content-length': '3' } }),
    '/200': () => new Response('abc', { headers: { 'content-length': '3' } }),
  }
  const { raw } = await startServer(t, { APP_ENV: 'prod' }, [createHandlerBundle(handlers)])
  for (const target of ['/204', '/205', '/304']) {
    const answer = await raw(head(`GET ${target}`) + head('GET /200', 'Connection: close\r\n'))
    t.match(answer, new RegExp(`^HTTP/1.1 ${target.slice(1)} [\\s\\S]*?\\r\\n\\r\\nHTTP/1.1 200 OK\\r\\n`))
    // 205 needs a length: by its status alone, a client would expect a body.
    const length = /content-length: \d+/i.exec(String(answer.split('\r\n\r\n')[0]))?.[0].toLowerCase()
    t.equal(length, target === '/205' ? 'content-length: 0' : undefined)
  }
  t.match(await raw(head('HEAD /200', 'Connection: close\r\n')), /content-length: 3\r\n[\s\S]*\r\n\r\n$/i)
})

t.test('rt-abort-read: clients that leave in the middle of a body, or of a head, affect no other client', async t => {
  const { port, url, records } = await startServer(t)
  const message = head('POST /echo', 'Content-Type: text/plain\r\nContent-Length: 300\r\n') + 'x'.repeat(300)
  for (let length = 1; length < message.length; length += 7) {
    const { socket } = openConnection(port)
    socket.write(message.slice(0, length), () => (length % 2 === 0 ? socket.resetAndDestroy() : socket.destroy()))
  }
  t.equal((await fetch(`${url}/ok`)).status, 200)
  await wait(100)
  t.strictSame(
    records.filter(({ level }) => level === 'critical'),
    [],
  )
})

t.test('rt-abort-write, rt-slow-reader: a stream waits for its reader, and is let go when that leaves', async t => {
  const floods: Flood[] = []
  const handlers = {
    '/flood': () => {
      const flood = new Flood(100 * mebibyte)
      floods.push(flood)
      return Response.stream(flood)
    },
  }
  const { port, url } = await startServer(t, { APP_ENV: 'prod' }, [createHandlerBundle(handlers)])
  const clients = Array.from({ length: 5 }, () => openConnection(port).socket)
  for (const socket of clients) {
    socket.pause()
    socket.write(head('GET /flood'))
  }
  await until(() => floods.length === 5)
  await wait(200)
  for (const { sent } of floods) t.ok(sent < 20 * mebibyte, `${sent} bytes are on the way`)
  t.equal((await fetch(`${url}/ok`)).status, 200)
  for (const [index, socket] of clients.entries()) index % 2 === 0 ? socket.resetAndDestroy() : socket.destroy()
  await until(() => floods.every(({ closed }) => closed))
  t.ok(floods.every(({ destroyed }) => destroyed))
  t.equal((await fetch(`${url}/ok`)).status, 200)
})

t.test('rt-blocked-loop: who comes while a controller blocks the process waits, and is answered', async t => {
  const block: RequestHandler = () => {
    const end = performance.now() + 500
    while (performance.now() < end);
    return Response.text('done')
  }
  const { url } = await startServer(t, { APP_ENV: 'prod' }, [createHandlerBundle({ '/block': block })])
  const targets = ['/block', ...Array.from({ length: 20 }, () => '/text')]
  const answers = await Promise.all(targets.map(async target => (await fetch(url + target)).status))
  t.ok(answers.every(status => status === 200))
})

t.test('a client that reads nothing is let go in the end, also if it has asked for a tunnel', async t => {
  const flood = () => Response.stream(new Flood(100 * mebibyte))
  const handler: RequestHandler = ({ path }) => (path === '/flood' ? flood() : Response.text('text'))
  const { port, terminated } = await startBareServer(t, handler, { idleTimeout: 200 })
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  for (const more of ['', head('CONNECT localhost:22')]) {
    const { socket } = openConnection(port)
    socket.pause()
    socket.write(head('GET /flood') + more)
  }
  await until(() => terminated.length === 2)
  t.strictSame(terminated, ['/flood false', '/flood false'])
  const status = await new Promise(resolve =>
    httpRequest({ port, path: '/text', agent }, response => resolve(response.resume().statusCode)).end(),
  )
  t.equal(status, 200)
})
