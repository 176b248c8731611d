import { once } from 'node:events'
import { get } from 'node:http'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { EventStream, TerminateEvent } from 'sinfonietta'
import { type Test, t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { createHandlerBundle } from '#tests/support/handler-bundle.ts'
import { openConnection, startServer, type TestServer } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

/** A client of server-sent events over a connection of its own. */
async function connect(url: string, headers: Record<string, string> = {}) {
  const request = get(url, { agent: false, headers })
  request.on('error', () => undefined)
  const [response] = await once(request, 'response')
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  return { response, text: () => text, leave: () => request.destroy() }
}

/** A server with a stream of all events that are published, and its open streams. */
async function start(t: Test): Promise<TestServer & { streams: Set<EventStream>; publish: (data: unknown) => void }> {
  const streams = new Set<EventStream>()
  const events = createHandlerBundle({
    '/prices': request =>
      new EventStream(request, stream => {
        streams.add(stream)
        stream.send({ id: 'first', data: stream.lastEventId ?? 'none' })
        stream.signal.addEventListener('abort', () => streams.delete(stream))
      }),
  })
  const publish = (data: unknown) => {
    for (const stream of streams) stream.send({ data })
  }
  return { ...(await startServer(t, { APP_ENV: 'prod' }, [events])), streams, publish }
}

t.test('an error before the first event is answered with the error page', async t => {
  const broken = createHandlerBundle({
    '/broken': request =>
      new EventStream(request, () => {
        throw new Error('There is no board.')
      }),
  })
  const { url } = await startServer(t, { APP_ENV: 'prod' }, [broken])
  const { response } = await connect(`${url}/broken`)
  t.equal(response.statusCode, 500)
  t.match(response.headers['content-type'], 'text/html')
})

t.test('hundreds of clients get each event; those that leave are forgotten; the server stops at once', async t => {
  const { publish, server, streams, url } = await start(t)
  const clients = await Promise.all(Array.from({ length: 300 }, () => connect(`${url}/prices`)))
  await until(() => streams.size === 300)
  publish('one')
  await until(() => clients.every(({ text }) => text().endsWith('data: one\n\n')))
  for (const { leave } of clients.slice(0, 100)) leave()
  await until(() => streams.size === 200)
  publish('two')
  const ended = Promise.all(clients.slice(100).map(({ response }) => once(response, 'end')))
  await Promise.all([server.close(), ended])
  t.equal(streams.size, 0)
  const retries = clients.slice(100).map(({ text }) => {
    const [, retry] = /^:\n\nid: first\ndata: none\n\ndata: one\n\ndata: two\n\nretry: (\d{4})\n\n$/.exec(text()) ?? []
    return Number(retry)
  })
  t.equal(retries.filter(retry => retry >= 1000 && retry <= 3000).length, 200)
  t.ok(new Set(retries).size > 50, 'the clients connect again at different times')
})

t.test('a stream that begins while the server stops ends at once, and its function is not called', async t => {
  const { app, port, server, streams } = await start(t)
  let release: (() => void) | undefined
  app.routes.add({
    name: 'late',
    path: '/late',
    controller: async request => {
      await new Promise<void>(resolve => {
        release = resolve
      })
      return new EventStream(request, stream => streams.add(stream))
    },
  })
  const { received, socket } = openConnection(port)
  socket.write('GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until(() => release !== undefined)
  const end = server.close()
  release?.()
  await Promise.all([end, once(socket, 'close')])
  t.match(received(), /connection: close[\s\S]*retry: \d{4}\n\n\r\n0\r\n\r\n$/)
  t.equal(streams.size, 0)
})

t.test('a client that does not read is disconnected, the reason is logged, and others get their events', async t => {
  const { app, port, publish, records, streams, url } = await start(t)
  const ends: unknown[] = []
  app.dispatcher.on(TerminateEvent, ({ isSent, streamError }) => {
    ends.push([isSent, (streamError as { code?: string } | undefined)?.code])
  })
  const { socket } = openConnection(port)
  socket.pause()
  socket.write('GET /prices HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const reader = await connect(`${url}/prices`, { 'last-event-id': '41' })
  await until(() => streams.size === 2)
  await until(() => reader.text() === ':\n\nid: first\ndata: 41\n\n')
  let sent = 0
  const data = 'x'.repeat(100_000)
  while (streams.size === 2 && sent < 200) {
    publish(data)
    sent++
    await until(() => reader.text().length > sent * data.length)
  }
  t.equal(streams.size, 1)
  await until(() => ends.length === 1)
  t.strictSame(ends, [[false, 'HTTP_EVENTS_UNREAD']])
  const [logged] = records.filter(({ message }) => message === 'A response was cut off: its stream failed.')
  t.match(logged?.context, { exception: { code: 'HTTP_EVENTS_UNREAD' } })
  publish('after')
  await until(() => reader.text().endsWith('data: after\n\n'))
  reader.leave()
})

t.test('an event that cannot be sent ends its stream with a logged error; the timer and the process go on', async t => {
  let ticks = 0
  const ticker = createHandlerBundle({
    '/ticks': request =>
      new EventStream(request, stream => {
        const event = request.query.get('event') ?? ''
        const timer = setInterval(() => {
          ticks++
          stream.send({ event, data: ticks })
          if (stream.signal.aborted) clearInterval(timer)
        }, 1)
      }),
  })
  const { records, url } = await startServer(t, { APP_ENV: 'prod' }, [ticker])
  const broken = await connect(`${url}/ticks?event=a%0Ab`)
  broken.response.on('error', () => undefined)
  await until(() => broken.response.closed)
  t.equal(ticks, 1)
  const logged = records.filter(({ message }) => message === 'A response was cut off: its stream failed.')
  t.match(logged, [{ context: { exception: { code: 'HTTP_EVENT_INVALID' } } }])
  const other = await connect(`${url}/ticks?event=tick`)
  await until(() => other.text().includes('event: tick\ndata: 3\n'))
  other.leave()
})

t.test('a client that leaves while the stream is opened leaves no subscription behind', async t => {
  const calls: string[] = []
  let subscribe = () => {}
  const pending = new Promise<void>(resolve => {
    subscribe = resolve
  })
  let isOver = false
  const board = createHandlerBundle({
    '/board': request =>
      new EventStream(request, async stream => {
        stream.signal.addEventListener('abort', () => {
          isOver = true
        })
        await pending
        calls.push('subscribe')
        return () => calls.push('unsubscribe')
      }),
  })
  const { url } = await startServer(t, { APP_ENV: 'prod' }, [board])
  const client = await connect(`${url}/board`)
  client.leave()
  await until(() => isOver)
  subscribe()
  await until(() => calls.length === 2)
  t.strictSame(calls, ['subscribe', 'unsubscribe'])
})

t.test('HEAD opens no stream, and compression and conditions leave it alone', async t => {
  const { streams, url } = await start(t)
  const head = await fetch(`${url}/prices`, { method: 'HEAD' })
  t.equal(head.headers.get('content-type'), 'text/event-stream; charset=UTF-8')
  t.equal(streams.size, 0)
  const client = await connect(`${url}/prices`, {
    'accept-encoding': 'gzip, br',
    'if-modified-since': new Date(Date.now() + 60_000).toUTCString(),
  })
  t.equal(client.response.statusCode, 200)
  t.notOk('content-encoding' in client.response.headers)
  t.equal(client.response.headers['cache-control'], 'no-store, no-transform, private')
  await until(() => client.text().includes('data: none'))
  client.leave()
  await until(() => streams.size === 0)
})

t.test('early hints are sent before the response, in the order of a pipeline, and only over HTTP/1.1', async t => {
  const style = '</app.css>; rel=preload; as=style'
  const { app, port, raw, url }: TestServer = await startServer(t, { APP_ENV: 'prod' }, [
    createHandlerBundle({
      '/hinted': async request => {
        request.sendEarlyHints([style])
        request.sendEarlyHints(['</app.js>; rel=preload; as=script', '<https://cdn.test>; rel=preconnect'])
        const inner = request.duplicate({ target: '/inner' })
        await app.kernel.handle(inner)
        return Response.text('page')
      },
      '/inner': request => {
        request.sendEarlyHints(['</never.css>; rel=preload; as=style'])
        return Response.text(JSON.stringify(request.attributes.get('_early_hints') ?? null))
      },
      '/late': request => {
        async function* body() {
          yield 'first'
          request.sendEarlyHints([style])
          yield JSON.stringify(request.attributes.get('_early_hints') ?? null)
        }
        return Response.stream(Readable.from(body()))
      },
    }),
  ])
  const informed: unknown[] = []
  const request = get(`${url}/hinted`)
  request.on('information', ({ headers, statusCode }) => informed.push([statusCode, headers.link]))
  const [response] = await once(request, 'response')
  t.equal(await text(response), 'page')
  t.strictSame(informed, [
    [103, style],
    [103, '</app.js>; rel=preload; as=script, <https://cdn.test>; rel=preconnect'],
  ])
  t.equal(await (await fetch(`${url}/late`)).text(), 'firstnull', 'too late')
  const line = (version: string, more = '') => `GET /hinted HTTP/${version}\r\nHost: localhost\r\n${more}\r\n`
  t.match(await raw(line('1.0')), /^HTTP\/1\.1 200 OK/)
  const { received, socket } = openConnection(port)
  socket.write(line('1.1') + line('1.1', 'Connection: close\r\n'))
  await once(socket, 'close')
  t.strictSame(
    received().match(/HTTP\/1\.1 \d+/g),
    [103, 103, 200, 103, 103, 200].map(status => `HTTP/1.1 ${status}`),
  )
})
