import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { EventStream, Request, type ServerEvent } from 'sinfonietta'
import { t } from 'tap'

/** Everything that a client receives of a stream that `open` ends. */
async function receive(open: (stream: EventStream) => unknown): Promise<string> {
  let text = ''
  for await (const chunk of new EventStream(new Request({ target: '/' }), open).body as Readable) text += chunk
  return text
}

const sent = (...events: ServerEvent[]) =>
  receive(stream => {
    for (const event of events) stream.send(event)
    stream.end()
  })

t.test('events are written as the HTML Standard reads them', async t => {
  t.equal(await sent({ data: 'hello' }), ':\n\ndata: hello\n\n', 'a comment comes first')
  const all = { event: 'price', id: 7, retry: 500, data: { a: 1 } }
  t.match(await sent(all), '\n\nevent: price\nid: 7\nretry: 500\ndata: {"a":1}\n\n')
  t.match(await sent({ data: 'a\nb\r\nc\rd' }), '\n\ndata: a\ndata: b\ndata: c\ndata: d\n\n')
  t.match(await sent({ data: 'a\n\n' }), '\n\ndata: a\ndata: \ndata: \n\n')
  t.match(await sent({ event: 'x' }), '\n\nevent: x\ndata:\n\n', 'clients ignore an event without data')
  t.match(await sent({ id: '' }, { retry: 0 }), '\n\nid: \n\nretry: 0\n\n')
  t.match(await sent({ data: null }, { data: '' }), '\n\ndata: null\n\ndata: \n\n')
  t.equal(await sent({}), ':\n\n\n\n')
})

t.test('each line of a text is a line of data', async t => {
  const text = fc.array(fc.constantFrom('a', '\r', '\n', '\u2028', '$&', ' ', 'data:')).map(parts => parts.join(''))
  const property = fc.asyncProperty(text, async data => {
    const lines = data.split(/\r\n|\r|\n/).map(line => `data: ${line}\n`)
    return (await sent({ data })) === `:\n\n${lines.join('')}\n`
  })
  t.equal((await fc.check(property)).counterexample, null)
})

t.test('a signal that is first read after the end is aborted', async t => {
  let ended: EventStream | undefined
  await receive(stream => {
    ended = stream
    stream.end()
  })
  t.equal(ended?.signal.aborted, true)
  t.equal(ended?.signal, ended?.signal)
})

t.test('a generator in place of a function that sends is refused', async t => {
  const { body } = new EventStream(new Request({ target: '/' }), async function* () {
    yield 1
  })
  await t.rejects(text(body as Readable), {
    code: 'ARGUMENT_INVALID',
    message: /open is a generator, which nothing runs/,
  })
})

t.test('an event that clients would read as another is refused', async t => {
  const mistakes: [ServerEvent, string][] = [
    [{ event: 'a\ndata: b' }, 'event has a line break or a NUL character'],
    [{ id: 'a\r' }, 'id has a line break'],
    [{ id: 'a\0' }, 'id has a line break or a NUL character'],
    [{ retry: -1 }, 'retry is -1: use milliseconds'],
    [{ retry: 0.5 }, 'retry is 0.5'],
    [{ data: () => 1 }, 'JSON cannot represent its data, a function'],
  ]
  for (const [event, message] of mistakes) {
    const stream = new EventStream(new Request({ target: '/' }), () => undefined)
    t.throws(() => stream.send(event), { code: 'HTTP_EVENT_INVALID', message: new RegExp(message) })
    t.equal(stream.sentEvents, 0)
  }
})

t.test('an event that cannot be sent ends a stream that has begun, and its caller goes on', async t => {
  const cycle: Record<string, unknown> = {}
  cycle.self = cycle
  const events: ServerEvent[] = [
    { event: 'a\nb' },
    { id: '\0' },
    { retry: -1 },
    { data: () => 1 },
    { data: cycle },
    { data: 1n },
  ]
  const outcomes = await Promise.all(
    events.map(async event => {
      let isStopped = false
      const stream = new EventStream(new Request({ target: '/' }), () => () => {
        isStopped = true
      })
      const body = stream.body as Readable
      const failure = once(body, 'error')
      body.resume()
      await nextTurn()
      stream.send({ data: 'good' })
      stream.send(event)
      stream.send(event)
      stream.send({ data: 'later' })
      return [(await failure)[0] instanceof Error, isStopped, stream.sentEvents]
    }),
  )
  t.strictSame(
    outcomes,
    events.map(() => [true, true, 1]),
  )
})

t.test('open gets the error of its first event, which is the error of the stream', async t => {
  const errors: unknown[] = []
  const sending = receive(stream => {
    try {
      stream.send({ retry: -1 })
    } catch (error) {
      errors.push(error)
      throw error
    }
  })
  await t.rejects(sending, { code: 'HTTP_EVENT_INVALID' })
  t.match(errors, [{ code: 'HTTP_EVENT_INVALID' }])
})

t.test('the headers keep caches, compressors and nginx from holding events back', async t => {
  const { headers, status } = new EventStream(new Request({ target: '/' }), () => undefined)
  t.equal(status, 200)
  t.strictSame(
    [...headers],
    [
      ['content-type', 'text/event-stream; charset=UTF-8'],
      ['cache-control', 'no-store, no-transform'],
      ['x-accel-buffering', 'no'],
    ],
  )
})

t.test('the id of the last event is read as UTF-8', async t => {
  const idOf = (headers: Record<string, string>) =>
    new EventStream(new Request({ target: '/', headers }), () => undefined).lastEventId
  t.equal(idOf({}), undefined)
  t.equal(idOf({ 'last-event-id': '42' }), '42')
  t.equal(idOf({ 'last-event-id': Buffer.from('größe').toString('latin1') }), 'größe')
})

t.test('the stream is opened when it is read, once', async t => {
  let opened = 0
  const stream = new EventStream(new Request({ target: '/' }), () => opened++)
  await nextTurn()
  t.equal(opened, 0)
  const body = stream.body as Readable
  body.resume()
  stream.send({ data: 'a' })
  await nextTurn()
  stream.send({ data: 'b' })
  t.equal(opened, 1)
  t.equal(stream.sentEvents, 2)
  stream.send({ retry: 1 })
  t.equal(stream.sentEvents, 2, 'only events count')
  t.notOk(stream.signal.aborted)
  body.destroy()
  await once(body, 'close')
  t.ok(stream.signal.aborted)
  stream.send({ data: 'c' })
  stream.end()
  t.equal(stream.sentEvents, 2, 'the client has left')
})

t.test('after the end nothing is sent, and what open waits for is stopped', async t => {
  const text = await receive(async stream => {
    stream.send({ data: 'last' })
    stream.end()
    stream.end()
    stream.send({ data: 'later' })
    stream.signal.throwIfAborted()
  })
  t.equal(text, ':\n\ndata: last\n\n')
})

t.test('the function that open returns is called once when the stream is over, also if it is over already', async t => {
  const calls: string[] = []
  const later = new EventStream(new Request({ target: '/' }), () => () => calls.push('later'))
  const body = later.body as Readable
  body.resume()
  await nextTurn()
  t.strictSame(calls, [])
  body.destroy()
  await once(body, 'close')
  t.strictSame(calls, ['later'])
  await receive(async stream => {
    stream.end()
    return () => calls.push('already')
  })
  await nextTurn()
  t.strictSame(calls, ['later', 'already'])
})

t.test('a timer that open returns ends with the stream; another object that would go on is named once', async t => {
  const warnings: string[] = []
  t.capture(process, 'emitWarning', (warning: string) => warnings.push(warning))
  let timer: NodeJS.Timeout | undefined
  const open = (stream: EventStream) => {
    timer = setInterval(() => stream.send({ data: 'tick' }), 10)
    return timer
  }
  const { body } = new EventStream(new Request({ target: '/' }), open)
  const source = (body as Readable).resume()
  await nextTurn()
  source.destroy()
  await once(source, 'close')
  t.equal(Reflect.get(timer ?? {}, '_destroyed'), true)
  class Subscription {}
  const works = [
    new Subscription(),
    new Subscription(),
    [undefined],
    {},
    null,
    1,
    true,
    Promise.resolve(new Subscription()),
  ]
  for (const work of works) {
    await receive(stream => {
      stream.end()
      return work
    })
  }
  t.match(warnings, [
    /^The function of an EventStream has returned an object of the class Subscription, which .* return a/,
  ])
})

t.test('the function that open returns later is called if the client has left meanwhile', async t => {
  let isStopped = false
  let subscribe = () => {}
  const subscribed = new Promise<void>(resolve => {
    subscribe = resolve
  })
  const stream = new EventStream(new Request({ target: '/' }), async () => {
    await subscribed
    return () => {
      isStopped = true
    }
  })
  const body = stream.body as Readable
  body.resume()
  await nextTurn()
  body.destroy()
  await once(body, 'close')
  t.notOk(isStopped)
  subscribe()
  await nextTurn()
  t.ok(isStopped)
})

t.test('an error of the function that open returns is the error of the stream', async t => {
  const open = () => () => {
    throw new Error('on leaving')
  }
  const streams = [0, 1].map(() => new EventStream(new Request({ target: '/' }), open))
  const bodies = streams.map(({ body }) => body as Readable)
  for (const body of bodies) body.resume()
  await nextTurn()
  const errors = bodies.map(body => once(body, 'error'))
  streams[0]?.end()
  bodies[1]?.destroy()
  for (const error of errors) t.match(await error, [{ message: 'on leaving' }])
})

t.test('an error of open is the error of the stream', async t => {
  const atOnce = () => {
    throw new Error('at once')
  }
  const later = async () => {
    await nextTurn()
    throw new Error('later')
  }
  await t.rejects(receive(atOnce), { message: 'at once' })
  await t.rejects(receive(later), { message: 'later' })
})

t.test('a client that does not read is disconnected with the next event after a megabyte', async t => {
  const stream = new EventStream(new Request({ target: '/' }), () => undefined, { heartbeat: 1 })
  const body = stream.body as Readable
  body.read(0)
  await nextTurn()
  t.equal(String(body.read()), ':\n\n')
  t.notOk(stream.isBehind)
  stream.send({ data: 'x'.repeat(1024 * 1024) })
  t.ok(stream.isBehind)
  const waiting = body.readableLength
  // Timers with the same time are called in their order: the one of the comments is called before the second one here.
  for (let timer = 0; timer < 2; timer++) await new Promise(resolve => setTimeout(resolve, 1))
  t.equal(body.readableLength, waiting, 'a client that is behind gets no comments')
  stream.send({ data: 'too much' })
  const [error] = await once(body, 'error')
  t.match(error, { code: 'HTTP_EVENTS_UNREAD', message: `${waiting} bytes wait for it` })
  t.equal(stream.sentEvents, 1)
})

t.test('comments are sent at intervals', async t => {
  const stream = new EventStream(new Request({ target: '/' }), () => undefined, { heartbeat: 1 })
  let text = ''
  // The timer of the comments does not keep the process alive.
  const alive = setInterval(() => undefined, 1000)
  for await (const chunk of stream.body as Readable) {
    text += chunk
    if (text.length > 9) stream.end()
  }
  clearInterval(alive)
  t.match(text, /^(:\n\n){4,}$/)
})
