import { readFileSync } from 'node:fs'
import http, { type IncomingMessage } from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import { type AddressInfo, isIP, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type Test, t } from 'tap'
import { takeReplayMark } from '#bundles/profiler/any-server/replay-mark.ts'
import { planReplay } from '#bundles/profiler/insight/replay/replay.ts'
import { ServerReplayer } from '#bundles/profiler/insight/replay/server-replayer.ts'
import { Headers } from '#lib/http/headers.ts'
import { createProfile, type ProfileInit } from '#tests/support/create-profile.ts'

const secret = 'a-secret-of-the-application'
const token = 'abcdef'

const tls = {
  cert: readFileSync('tests/fixtures/tls/cert.pem', 'utf8'),
  key: readFileSync('tests/fixtures/tls/key.pem', 'utf8'),
}

/** The parts of messages and replies that both protocols have. */
type Handler = (
  message: Pick<IncomingMessage, 'headers' | 'httpVersion' | 'rawHeaders' | 'url'>,
  reply: { setHeader(name: string, value: string): unknown; write(text: string): unknown; end(text: string): unknown },
) => void

async function listen(t: Test, server: Pick<Server, 'address' | 'close' | 'listen'>): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Replays a request that was recorded at an address. The store has its profile after the third look. */
function replayAt(address: string, { url = '/', ...init }: ProfileInit = {}, request = {}, patience = {}) {
  const attributes = address === '' ? [] : [['_server_address', address]]
  const scheme = url.startsWith('/') ? 'http://localhost' : ''
  const plan = planReplay(createProfile({ request: { attributes, ...request } }, { ...init, url: `${scheme}${url}` }))
  if (!plan.isPossible) throw new Error(plan.reason)
  const looks: string[] = []
  const storage = {
    find: async (token: string) => {
      looks.push(token)
      return looks.length < 3 ? undefined : ({} as never)
    },
    ownerOf: () => undefined,
  }
  const replayer = new ServerReplayer({
    profiler: { whenStored: async () => {} },
    storage,
    ownSecret: secret,
    ...patience,
  })
  return { looks, result: replayer.replay(plan) }
}

t.test('a replay has the protocol and the address of the recorded request, and waits for its profile', async t => {
  const seen: unknown[] = []
  const answer: Handler = ({ headers, httpVersion, url }, reply) => {
    seen.push([
      Number(httpVersion),
      url,
      headers.host ?? headers[':authority'],
      headers['x-profiler-replay'],
      headers['x-own'],
    ])
    reply.setHeader('x-debug-token', token)
    reply.end('done')
  }
  const servers = [
    ['http', '1.1', http.createServer(answer)],
    ['https', '1.1', https.createServer(tls, answer)],
    ['http', '2', http2.createServer(answer)],
    ['https', '2', http2.createSecureServer(tls, answer)],
  ] as const
  for (const [scheme, httpVersion, server] of servers) {
    const address = await listen(t, server)
    const headers = [
      ['Host', 'shop.test'],
      ['X-Own', 'a'],
      ['Connection', 'keep-alive'],
    ]
    const { looks, result } = replayAt(address, { url: `${scheme}://shop.test/a?b=1` }, { headers, httpVersion })
    t.strictSame(await result, { token }, `${scheme} ${httpVersion}`)
    t.strictSame(looks, [token, token, token])
    t.strictSame(seen.pop(), [Number(httpVersion), '/a?b=1', 'shop.test', `${secret} abc123`, 'a'])
  }
})

t.test('a replay that has no profile says why', async t => {
  const handlers: Readonly<Record<string, Handler>> = {
    '/silent': (_, reply) => reply.end('no name'),
    '/wrong': (_, reply) => {
      reply.setHeader('x-debug-token', 'not a token')
      reply.end('')
    },
    '/waits': () => undefined,
  }
  const answer: Handler = (message, reply) => handlers[message.url ?? '']?.(message, reply)
  const plain = http.createServer(answer)
  const newer = http2.createServer(answer)
  const [address, other] = [await listen(t, plain), await listen(t, newer)]
  const gone = http.createServer()
  const empty = await listen(t, gone)
  await new Promise(resolve => gone.close(resolve))
  const noProfile = 'The application has answered, but it has made no profile of the replay.'
  const late = 'There was no response in time. The profile appears when the request is complete.'
  const short = { patience: 50 }
  for (const httpVersion of ['1.1', '2']) {
    const at = httpVersion === '1.1' ? address : other
    const ask = (url: string, to = at, patience = {}) => replayAt(to, { url }, { httpVersion }, patience).result
    t.strictSame(await ask('/silent'), { problem: noProfile }, httpVersion)
    t.strictSame(await ask('/wrong'), { problem: noProfile })
    t.strictSame(await ask('/waits', at, short), { problem: late })
    const refused = `The application does not run, or no longer at ${empty}: nothing listens there.`
    t.strictSame(await ask('/', empty), { problem: refused })
  }
  t.match(await replayAt(address, { url: 'https://localhost/' }).result, {
    problem: new RegExp(`^The application has not answered at ${address}: \\w+\\.$`),
  })
  t.strictSame(await replayAt('').result, { problem: 'The profile does not have the address of the server.' })
})

t.test('a stream that does not end is cut off', async t => {
  const closed: Promise<unknown>[] = []
  const server = http.createServer((_, reply) => {
    closed.push(new Promise(resolve => reply.on('close', resolve)))
    reply.setHeader('x-debug-token', token)
    reply.write('begun')
  })
  const { result } = replayAt(await listen(t, server), {}, {}, { streamPatience: 20 })
  t.strictSame(await result, { token })
  await Promise.all(closed)
  t.equal(closed.length, 1, 'the application notices it')
})

t.test('a replay has exactly the fields that were recorded', async t => {
  const seen: unknown[] = []
  const server = http.createServer((message, reply) => {
    seen.push(message.rawHeaders.filter((_, at, all) => !all[at - (at % 2)]?.startsWith('x-profiler')))
    reply.setHeader('x-debug-token', token)
    reply.end()
  })
  const address = await listen(t, server)
  for (const [method, headers] of [
    ['GET', [['Host', 'a']]],
    [
      'POST',
      [
        ['host', 'a'],
        ['Connection', 'close'],
        ['Accept', 'b'],
        ['Accept', 'c'],
      ],
    ],
    [
      'DELETE',
      [
        ['Host', 'a'],
        ['Content-Length', '0'],
        ['x-Own', 'd'],
      ],
    ],
  ] as const) {
    await replayAt(address, { method }, { headers }).result
    t.strictSame(seen.pop(), headers.flat(), method)
  }
})

t.test('the mark of a replay is taken away before the application sees it', async t => {
  const send = async (mark: string) => {
    let read: (value: unknown) => void = () => {}
    const seen = new Promise(resolve => (read = resolve))
    const server = http.createServer((message, reply) => {
      const headers = Headers.fromRaw([...message.rawHeaders])
      const original = takeReplayMark(message, headers, secret)
      const names = [...headers].map(([name]) => name)
      const forms = [names, message.rawHeaders, Object.keys(message.headers), Object.keys(message.headersDistinct)]
      read({
        original,
        hasMark: forms.map(form => form.some(name => /replay/i.test(name))),
        last: message.headers.last,
      })
      reply.end('')
    })
    const port = Number((await listen(t, server)).split(':')[1])
    const headers = ['Host', 'localhost', 'X-Profiler-Replay', mark, 'Last', 'kept']
    http
      .request({ host: '127.0.0.1', port, agent: false, headers })
      .end()
      .on('response', response => response.resume())
    return seen
  }
  const none = [false, false, false, false]
  const all = [true, true, true, true]
  t.strictSame(await send(`${secret} abc123`), { original: 'abc123', hasMark: none, last: 'kept' })
  for (const mark of [secret, `${secret} other`, 'a-secret-of-another-thing! abc123', 'abc123', '']) {
    t.strictSame(await send(mark), { original: undefined, hasMark: all, last: 'kept' }, mark)
  }
})

t.test('another server gets the header fields of proxies as they were, and HTTP/2 is kept', async t => {
  const request = {
    attributes: [['_server_address', '[::1]:3000']],
    httpVersion: '2',
    headers: [
      ['host', 'shop.test'],
      ['x-forwarded-for', '192.0.2.1'],
    ],
  }
  const plan = planReplay(createProfile({ request }, { url: 'http://shop.test/a' }))
  t.match(plan, { address: '[::1]:3000', httpVersion: '2', headers: request.headers, notes: [] })
  for (const address of ['shop.test:80', '127.0.0.1', 'evil.example/:80', '1.2.3.4:80@evil', 3000]) {
    const other = { request: { attributes: [['_server_address', address]] } }
    t.match(planReplay(createProfile(other)), { address: undefined }, String(address))
  }
})

t.test('a replay is sent to addresses of this machine only, whatever a profile says', async t => {
  const plan = (address: string) => {
    const attributes = [['_server_address', address]]
    return planReplay(createProfile({ request: { attributes } }, { url: 'http://shop.test/a' })).isPossible
  }
  const own = Object.values(networkInterfaces()).flatMap(list => list ?? [])
  const possible = [
    '127.0.0.1',
    '127.3.2.1',
    '[::1]',
    ...own.map(({ address }) => (isIP(address) === 6 ? `[${address}]` : address)),
  ]
  t.strictSame(
    possible.filter(host => !plan(`${host}:3000`)),
    [],
  )
  const foreign = [
    '192.0.2.1',
    '169.254.169.254',
    '0.0.0.0',
    '255.255.255.255',
    '127.1',
    '1.127.0.0.1',
    '127.0.0.1.1',
    '2130706433',
    '0127.0.0.1',
    '[2001:db8::1]',
    '[::]',
    '[::ffff:192.0.2.1]',
    '[fe80::1]',
    '[64:ff9b::127.0.0.1]',
  ]
  t.strictSame(
    foreign.filter(host => plan(`${host}:3000`)),
    [],
  )
})
