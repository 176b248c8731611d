import { readFileSync } from 'node:fs'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { inspect } from 'node:util'
import { type Test, t } from 'tap'
import { watchServers } from '#bundles/libraries/libraries.ts'
import { exchangeOf, type ObservedExchange, type ServerMessage } from '#kernel/contracts/servers.ts'
import { RequestContext } from '#kernel/request-context.ts'
import { createServer as createKernelServer } from '#kernel/server/http-server.ts'
import { reportFailures } from '#lib/guard.ts'
import { Request } from '#lib/http/request.ts'
import { createSender } from '#tests/support/raw-connection.ts'
import { until } from '#tests/support/until.ts'

/** Observes all servers until the test ends. The steps of each exchange are noted with its target. */
function observe(t: Test, change: (exchange: ObservedExchange) => Partial<ObservedExchange> = () => ({})) {
  const context = new RequestContext()
  context.enable()
  const steps: string[] = []
  const failures: unknown[] = []
  const begin = (message: ServerMessage): ObservedExchange | undefined => {
    if (message.url === '/ignored') return undefined
    if (message.url === '/refused') throw new RangeError('It cannot be recorded.')
    const target = String(message.url)
    const note = (step: string) => void steps.push(`${target} ${step}`)
    const exchange: ObservedExchange = {
      request: new Request({ target }),
      beginReading: () => undefined,
      receive: chunk => note(chunk === null ? 'received' : `receive ${String(chunk)}`),
      fieldsFor: () => ({ 'x-observed': target }),
      noteHead: () => note('head'),
      replaceEnd: () => undefined,
      send: chunk => note(`send ${chunk.length}`),
      fail: error => note(`fail ${(error as NodeJS.ErrnoException).code}`),
      finish: () => note('finish'),
      closeStream: () => note('close'),
      pipe: () => note('pipe'),
      drain: () => undefined,
      endUpgrade: head => note(`upgrade ${head?.split('\r\n')[0]}`),
      end: () => note('end'),
    }
    note('begin')
    return { ...exchange, ...change(exchange) }
  }
  const stop = watchServers({ context, begin })
  t.teardown(stop)
  t.teardown(reportFailures(error => void failures.push(error)))
  return {
    context,
    steps,
    failures,
    stop,
    stepsOf: (target: string) => steps.filter(step => step.startsWith(`${target} `)),
  }
}

async function listen(t: Test, server: Pick<Server, 'address' | 'close' | 'listen'>): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void server.close())
  return (server.address() as AddressInfo).port
}

const tls = {
  cert: readFileSync('tests/fixtures/tls/cert.pem', 'utf8'),
  key: readFileSync('tests/fixtures/tls/key.pem', 'utf8'),
}

/** Notes in which context the code of a server runs: `right`, `none`, or the target of another request. */
function createNotes(context: RequestContext) {
  const seen = new Map<string, Set<string>>()
  const note = (place: string, target: string | undefined) => {
    const current = context.current?.target
    const found = current === target ? 'right' : (current ?? 'none')
    seen.set(place, (seen.get(place) ?? new Set()).add(found))
  }
  return { note, table: () => Object.fromEntries([...seen].map(([place, found]) => [place, [...found].join()])) }
}

t.test('all code of a request runs in its context, however its bytes arrive', async t => {
  const { context } = observe(t)
  const { note, table } = createNotes(context)
  const handled: (string | undefined)[] = []
  const server = http.createServer(async (message, reply) => {
    const { url } = message
    handled.push(url)
    note('listener', url)
    message.on('data', () => note('data', url)).on('close', () => note('close of the message', url))
    reply.on('finish', () => note('finish', url)).on('close', () => note('close of the reply', url))
    message.on('end', () => {
      note('end', url)
      setTimeout(() => {
        note('a timer after the end', url)
        if (url !== '/large') reply.end(url)
        else {
          reply.write(Buffer.alloc(4_000_000))
          reply.once('drain', () => {
            note('drain', url)
            reply.end('x')
          })
        }
      }, 2)
    })
    await null
    note('after await', url)
  })
  server.on('upgrade', (_message, socket) => {
    note('upgrade', '/upgrade')
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
  })
  const port = await listen(t, server)
  const { isAnswered, send } = createSender(t, port)
  const begun = (target: string) => until(() => handled.includes(target))
  const head = (target: string, length: number) =>
    `POST ${target} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`

  const first = send('GET /get HTTP/1.1\r\nHost: a\r\n\r\n')
  await isAnswered(first, '/get')
  const whole = send(`${head('/whole', 3)}abc`)
  await isAnswered(whole, '/whole')
  const late = send(`${head('/late', 6)}abc`)
  await begun('/late')
  late.write('def')
  await isAnswered(late, '/late')
  // The same connection, after a request with a body.
  late.write(`${head('/again', 6)}abc`)
  await begun('/again')
  late.write('def')
  await isAnswered(late, '/again')
  late.write('GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
  await isAnswered(late, '101 Switching')
  const pipe = send(`GET /p1 HTTP/1.1\r\nHost: a\r\n\r\nGET /p2 HTTP/1.1\r\nHost: a\r\n\r\n${head('/p3', 6)}abc`)
  await begun('/p3')
  pipe.write('def')
  await isAnswered(pipe, '/p3')
  const large = send('GET /large HTTP/1.1\r\nHost: a\r\n\r\n')
  await isAnswered(large, '\nx\r\n')
  const expecting = send(head('/expecting', 3).replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n'))
  await isAnswered(expecting, '100 Continue')
  expecting.write('abc')
  await isAnswered(expecting, '/expecting')
  const places = ['listener', 'after await', 'data', 'end', 'a timer after the end', 'drain']
  await until(() => Object.keys(table()).length === places.length + 4)
  const expected = [...places, 'close of the message', 'close of the reply', 'finish', 'upgrade']
  t.strictSame(table(), Object.fromEntries(expected.map(place => [place, 'right'])))
})

t.test('when the client leaves, listeners run in the context of their request', async t => {
  const { context, stepsOf } = observe(t)
  const { note, table } = createNotes(context)
  const server = http.createServer((message, reply) => {
    for (const event of ['aborted', 'error', 'close']) message.on(event, () => note(event, message.url))
    reply.on('close', () => note('close of the reply', message.url))
    reply.write('x')
  })
  const { send, isAnswered } = createSender(t, await listen(t, server))
  const client = send('POST /left HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc')
  await isAnswered(client, '\nx\r\n')
  client.destroy()
  await until(() => stepsOf('/left').includes('/left end') && 'close' in table())
  t.strictSame(table(), { aborted: 'right', error: 'right', close: 'right', 'close of the reply': 'right' })
  t.strictSame(stepsOf('/left'), ['/left begin', '/left send 1', '/left head', '/left receive abc', '/left end'])
})

t.test('a request that is not observed has no context, also after others on its connection', async t => {
  const { context, failures } = observe(t)
  const { note, table } = createNotes(context)
  const server = http.createServer((message, reply) => {
    note(String(message.url), message.url === '/seen' ? '/seen' : undefined)
    message.on('end', () => reply.end(message.url)).resume()
  })
  const { send, isAnswered } = createSender(t, await listen(t, server))
  const client = send('GET /seen HTTP/1.1\r\nHost: a\r\n\r\nGET /ignored HTTP/1.1\r\nHost: a\r\n\r\n')
  await isAnswered(client, '/ignored')
  client.write('GET /refused HTTP/1.1\r\nHost: a\r\n\r\n')
  await isAnswered(client, '/refused')
  t.strictSame(table(), { '/seen': 'right', '/ignored': 'right', '/refused': 'right' })
  t.match(failures, [{ message: 'It cannot be recorded.' }], 'the error of the observer is not one of the application')
  t.equal(failures.length, 1)
})

t.test('every way to make a server is seen', async t => {
  const { steps } = observe(t)
  const answer = (_message: IncomingMessage, reply: ServerResponse) => void reply.end('x')
  const ask = async (server: http.Server, target: string, headers = {}) => {
    const port = await listen(t, server)
    const client = http.request({ port, path: target, method: 'POST', headers, agent: false })
    await new Promise(resolve => client.on('response', reply => reply.resume().on('end', resolve)).end('abc'))
  }
  await ask(new http.Server(answer), '/class')
  await ask(http.createServer().on('request', answer), '/listener')
  const continuing = http.createServer().on('checkContinue', (message, reply) => {
    reply.writeContinue()
    answer(message, reply)
  })
  await ask(continuing, '/continue', { expect: '100-continue' })
  const secure = https.createServer(tls, answer)
  const port = await listen(t, secure)
  await new Promise(resolve =>
    https.get({ port, path: '/https', rejectUnauthorized: false, agent: false }, reply =>
      reply.resume().on('end', resolve),
    ),
  )
  const begun = steps.filter(step => step.endsWith(' begin')).map(step => step.split(' ')[0])
  t.strictSame(begun, ['/class', '/listener', '/continue', '/https'])
})

t.test('HTTP/2 is seen as far as it uses messages and replies', async t => {
  const { context, stepsOf } = observe(t)
  const { note, table } = createNotes(context)
  const server = http2.createServer((message, reply) => {
    const { url } = message
    note('listener', url)
    message
      .on('data', () => note('data', url))
      .on('end', () => {
        note('end', url)
        if (url === '/bare') reply.writeHead(204).end()
        else if (url === '/empty') reply.end()
        else reply.end('text')
      })
    reply.on('finish', () => note('finish', url)).on('close', () => note('close', url))
  })
  const secure = http2.createSecureServer({ ...tls, allowHTTP1: true }, (_message, reply) => void reply.end('x'))
  const ask = (client: http2.ClientHttp2Session, path: string, body?: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const stream = client.request({ ':path': path, ':method': body === undefined ? 'GET' : 'POST' })
      let field: unknown
      stream.on('response', headers => {
        field = headers['x-observed']
      })
      stream
        .on('close', () => resolve(field))
        .on('error', reject)
        .resume()
        .end(body)
    })
  const client = http2.connect(`http://127.0.0.1:${await listen(t, server)}`)
  for (const target of ['/text', '/empty', '/bare'])
    t.equal(await ask(client, target), target, 'the field is sent once')
  t.equal(await ask(client, '/body', 'abc'), '/body')
  client.close()
  const port = await listen(t, secure)
  const secured = http2.connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
  await ask(secured, '/secure')
  secured.close()
  await new Promise(resolve =>
    https.get({ port, path: '/old', rejectUnauthorized: false, agent: false }, reply =>
      reply.resume().on('end', resolve),
    ),
  )
  await until(() => ['/body', '/secure', '/old'].every(target => stepsOf(target).includes(`${target} end`)))
  t.strictSame(table(), { listener: 'right', data: 'right', end: 'right', finish: 'right', close: 'right' })
  // At the end of a stream, Node passes on the end of the body again.
  const stepsOnce = (target: string) =>
    stepsOf(target)
      .map(step => step.slice(target.length + 1))
      .filter((step, index, all) => step !== 'received' || all.indexOf(step) === index)
  t.strictSame(stepsOnce('/text'), ['begin', 'received', 'send 4', 'head', 'finish', 'end'])
  t.strictSame(stepsOnce('/empty'), ['begin', 'received', 'head', 'finish', 'end'])
  t.strictSame(stepsOnce('/bare'), ['begin', 'received', 'head', 'finish', 'end'])
  t.strictSame(stepsOnce('/body'), ['begin', 'receive abc', 'received', 'send 4', 'head', 'finish', 'end'])
  t.strictSame(stepsOf('/old').filter(step => step.endsWith('begin')).length, 1, 'HTTP/1 over TLS is seen once')
})

t.test('fields are added to the head in each way to write it, and only there', async t => {
  const { stepsOf } = observe(t)
  const ways: Readonly<Record<string, (reply: ServerResponse) => void>> = {
    '/end': reply => reply.end('x'),
    '/object': reply => reply.writeHead(201, { a: '1' }).end('x'),
    '/text': reply => reply.writeHead(201, 'Made', { a: '1' }).end('x'),
    '/nothing': reply => reply.writeHead(200).end(),
    '/second': reply => reply.writeHead(201, undefined, { a: '1' }).end('x'),
    '/flat': reply => reply.writeHead(201, ['a', '1', 'a', '2']).end('x'),
    '/set': reply => reply.setHeader('a', '0').writeHead(201, ['a', '1', 'b', '2']).end('x'),
    '/flush': reply => {
      reply.flushHeaders()
      reply.end('x')
    },
    '/interim': reply => {
      reply.writeProcessing()
      reply.writeEarlyHints({ link: '</a.css>; rel=preload' })
      reply.end('x')
    },
    '/wrong': reply => {
      try {
        reply.writeHead(201, ['a'])
      } catch {
        reply.writeHead(500, { a: '1' }).end('x')
      }
    },
    '/twice': reply => {
      reply.on('error', () => undefined).end('x')
      reply.end('y')
    },
  }
  const seen: unknown[] = []
  const server = http.createServer((message, reply) => {
    ways[String(message.url)]?.(reply)
    if (message.url === '/end') seen.push(reply.getHeaderNames())
  })
  const port = await listen(t, server)
  for (const target of Object.keys(ways)) {
    const { send, isAnswered } = createSender(t, port)
    const client = send(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    const text = await isAnswered(client, target)
    t.match(text, `x-observed: ${target}\r\n`, target)
    t.equal(text.match(/x-observed/g)?.length, 1, 'once')
    await until(() => stepsOf(target).includes(`${target} end`))
    t.strictSame(
      stepsOf(target).filter(step => /head|finish|end$/.test(step)),
      [`${target} head`, `${target} finish`, `${target} end`],
    )
  }
  t.strictSame(seen, [[]], 'the application does not find them')
})

t.test('an error of the observer is reported, and the request is answered', async t => {
  const fail = () => {
    throw new RangeError('broken')
  }
  const { failures } = observe(t, () => ({
    receive: fail,
    fieldsFor: fail,
    noteHead: fail,
    send: fail,
    finish: fail,
    end: fail,
  }))
  const server = http.createServer((message, reply) => message.on('end', () => reply.end('answered')).resume())
  const { send, isAnswered } = createSender(t, await listen(t, server))
  const client = send('POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc')
  t.match(await isAnswered(client, 'answered'), /^HTTP\/1.1 200/)
  await until(() => failures.length === 6)
})

t.test('servers of kernels are left out', async t => {
  const { steps } = observe(t)
  const server = await createKernelServer((_message, reply) => void reply.end('x'), undefined)
  const secure = await createKernelServer((_message, reply) => void reply.end('x'), tls)
  t.equal(await (await fetch(`http://127.0.0.1:${await listen(t, server)}/own`)).text(), 'x')
  const port = await listen(t, secure)
  await new Promise(resolve =>
    https.get({ port, path: '/own', rejectUnauthorized: false, agent: false }, reply =>
      reply.resume().on('end', resolve),
    ),
  )
  t.strictSame(steps, [])
})

t.test('a listener that throws has the same consequence, and the exchange ends', async t => {
  const { stepsOf } = observe(t)
  const server = http.createServer((_message, reply) => {
    reply.on('custom', () => {
      throw new RangeError('of the application')
    })
    try {
      reply.emit('custom')
    } catch (error) {
      reply.end(String(error))
    }
  })
  const { send, isAnswered } = createSender(t, await listen(t, server))
  await isAnswered(send('GET /a HTTP/1.1\r\nHost: a\r\n\r\n'), 'RangeError: of the application')
  await until(() => stepsOf('/a').includes('/a end'))
})

t.test('the prototypes are as before when the observer has stopped; methods of other tools stay', async t => {
  const { IncomingMessage, ServerResponse } = http
  const methods = () => [
    IncomingMessage.prototype.emit,
    IncomingMessage.prototype.push,
    ServerResponse.prototype.emit,
    ServerResponse.prototype.end,
    ServerResponse.prototype.writeHead,
  ]
  const before = methods()
  const { stop } = observe(t)
  t.ok(methods().every((method, index) => method !== before[index]))
  t.strictSame(
    methods().map(({ length, name }) => [name, length]),
    before.map(({ length, name }) => [name, length]),
    'they look the same',
  )
  stop()
  t.ok(methods().every((method, index) => method === before[index]))
  t.notOk(Object.hasOwn(IncomingMessage.prototype, 'emit'))

  const { stop: stopAgain } = observe(t)
  const wrapped = ServerResponse.prototype.end.bind(ServerResponse.prototype)
  ServerResponse.prototype.end = wrapped
  t.teardown(() => {
    ServerResponse.prototype.end = before[3] as typeof wrapped
  })
  stopAgain()
  t.equal(ServerResponse.prototype.end, wrapped)
})

t.test('the exchange of a message and of its reply can be found, and is not printed', async t => {
  observe(t)
  let found: unknown[] = []
  const server = http.createServer((message, reply) => {
    found = [message, reply].map(part => [exchangeOf(part)?.request.target, inspect(part).includes('exchange')])
    reply.end('x')
  })
  const { send, isAnswered } = createSender(t, await listen(t, server))
  await isAnswered(send('GET /x HTTP/1.1\r\nHost: a\r\n\r\n'), '\r\n\r\nx')
  t.strictSame(found, [
    ['/x', false],
    ['/x', false],
  ])
  t.equal(exchangeOf({}), undefined)
})

t.test('an added field replaces a field that the application has copied, in each form that Node takes', async t => {
  observe(t)
  const answers: Readonly<Record<string, (reply: ServerResponse) => unknown>> = {
    '/set': reply => reply.setHeader('X-Observed', 'other').setHeader('x-kept', '1'),
    '/append': reply => reply.appendHeader('X-Observed', 'a').appendHeader('X-Observed', 'b').setHeader('x-kept', '1'),
    '/object': reply => reply.writeHead(200, { 'X-Observed': 'other', 'x-kept': '1' }),
    '/message': reply => reply.writeHead(200, 'Fine', { 'X-OBSERVED': ['a', 'b'], 'x-kept': '1' }),
    '/flat': reply => reply.writeHead(200, ['X-Observed', 'a', 'x-kept', '1', 'x-observed', 'b']),
    '/pairs': reply =>
      reply.writeHead(200, [
        ['X-Observed', 'a'],
        ['x-kept', '1'],
      ] as unknown as http.OutgoingHttpHeader[]),
    '/both': reply => reply.setHeader('x-observed', 'other').writeHead(200, { 'X-Observed': 'a', 'x-kept': '1' }),
    '/late': reply => reply.setHeader('x-observed', 'other').writeHead(200, ['X-Observed', 'a', 'x-kept', '1']),
  }
  const port = await listen(
    t,
    http.createServer(({ url }, reply) => {
      answers[String(url)]?.(reply)
      reply.end()
    }),
  )
  const { isAnswered, send } = createSender(t, port)
  for (const target of Object.keys(answers)) {
    const head = await isAnswered(send(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`), '\r\n\r\n')
    const found = head
      .match(/^x-(?:observed|kept): .*$/gim)
      ?.map(line => line.toLowerCase())
      .sort()
    t.strictSame(found, ['x-kept: 1', `x-observed: ${target}`], target)
  }
})
