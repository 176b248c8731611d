import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { type ClientHttp2Session, connect as connectInHttp2, type IncomingHttpHeaders } from 'node:http2'
import { connect, type Socket } from 'node:net'
import path from 'node:path'
import { connect as connectSecurely } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { type Test, t } from 'tap'
import { frameworks } from '#tests/fixtures/any-frameworks.ts'
import type { SiteStep } from '#tests/fixtures/any-site.ts'
import { provenRuns, provenSample, seed } from '#tests/support/sample.ts'
import { startProcess } from '#tests/support/start-process.ts'
import { until, within } from '#tests/support/until.ts'

const root = path.resolve(import.meta.dirname, '../../../..')
const preload = path.join(root, 'bin/exports/profile.js')

/** A running site, and what it has printed. */
interface Site {
  readonly child: ChildProcess
  readonly port: number
  readonly lines: string[]
  readonly errors: string[]
  readonly isSecure: boolean
}

function connectTo(port: number, isSecure: boolean): Socket {
  const place = { port, host: '127.0.0.1' }
  return isSecure ? connectSecurely({ ...place, rejectUnauthorized: false }) : connect({ ...place, noDelay: true })
}

async function startSite(t: Test, kind: string, isProfiled: boolean): Promise<Site> {
  const directory = t.testdirName
  const command = [
    process.execPath,
    ...(isProfiled ? ['--import', preload] : []),
    path.join(root, 'tests/fixtures/any-site.js'),
  ]
  const env = { ...process.env, NODE_ENV: 'test', PROFILER_PORT: '0' }
  const child = startProcess(t, [...command, kind], { cwd: directory, env, stdio: ['pipe', 'pipe', 'pipe'] })
  const lines: string[] = []
  const errors: string[] = []
  for (const [stream, list] of [
    [child.stdout, lines],
    [child.stderr, errors],
  ] as const) {
    let rest = ''
    stream?.setEncoding('utf8').on('data', text => {
      const parts = (rest + text).split('\n')
      rest = String(parts.pop())
      list.push(...parts)
    })
  }
  await until(() => lines.length > 0)
  return { child, port: Number(lines.shift()?.split(' ')[1]), lines, errors, isSecure: kind === 'https' }
}

/** Requests on one connection. */
interface Conversation {
  readonly requests: readonly {
    /** The steps that the site takes with the reply of Node, or the name of an answer of its framework. */
    readonly target: readonly SiteStep[] | string
    readonly method: string
    readonly body: Body
    readonly fields: readonly string[]
  }[]
  /** Whether all are sent before the first response. */
  readonly isPipelined: boolean
  readonly version: '1.0' | '1.1'
  /** The client leaves as soon as so many bytes have come. */
  readonly leavesAfter: number | undefined
}

/** A body, or none: the parts are sent one after the other. */
type Body = { readonly parts: readonly string[]; readonly isChunked: boolean; readonly expects: boolean } | undefined

const text = fc.string({ unit: 'grapheme-ascii', maxLength: 12 })
const value = fc.stringMatching(/^[a-z]{1,8}$/)
const status = fc.constantFrom(200, 201, 204, 304, 404, 500, 599, 600)
const fields = fc.constantFrom<unknown>(
  undefined,
  { 'X-One': '1' },
  { 'x-one': ['1', '2'], 'Content-Type': 'text/html' },
  ['X-One', '1', 'X-One', '2'],
  ['odd'],
  { 'x-wrong': 'a\nb' },
  { 'Server-Timing': 'db;dur=3' },
  { Connection: 'close' },
  { 'Transfer-Encoding': 'chunked' },
)
const step: fc.Arbitrary<SiteStep> = fc.oneof(
  fc.tuple(
    fc.constant('set'),
    fc.constantFrom('x-set', 'Set-Cookie', 'server-timing', 'Trailer', 'Content-Length'),
    value,
  ),
  fc.tuple(fc.constant('head'), status),
  fc.tuple(fc.constant('head'), status, fields),
  fc.tuple(fc.constant('head'), status, fc.constantFrom('Fine', ''), fields),
  fc.tuple(fc.constant('head'), status, fc.constant(null), fields),
  fc.tuple(fc.constant('write'), fc.constantFrom(0, 1, 100, 70_000)),
  fc.tuple(fc.constant('bytes'), fc.constantFrom(1, 20_000)),
  fc.tuple(fc.constant('latin'), fc.constantFrom('ü', 'abc')),
  fc.tuple(fc.constant('endWith'), text),
  fc.tuple(fc.constant('trailers'), value),
  fc.constantFrom<SiteStep>(['flush'], ['hints'], ['end'], ['wait'], ['wait'], ['fail'], ['destroy']),
)
/** The steps that write a part of the body. */
const writing = ['write', 'bytes', 'latin', 'endWith']
const body: fc.Arbitrary<Body> = fc.option(
  fc.record({ parts: fc.array(value, { minLength: 1, maxLength: 3 }), isChunked: fc.boolean(), expects: fc.boolean() }),
  { nil: undefined },
)
const own = fc.constantFrom(
  ...['text', 'json', 'session', 'stream', 'broken', 'throw', 'late', 'after', 'redirect', 'file', 'empty', 'missing'],
)
const jsonField = 'Content-Type: application/json'
const ownFields = fc.constantFrom(
  [],
  [],
  ['Accept-Encoding: gzip', 'Cookie: a=1'],
  [jsonField],
  ['Content-Type: text/plain', 'Range: bytes=2-9'],
  ['If-None-Match: *', 'Accept: text/html'],
)
/** The answers of frameworks, if the site has one. */
const requestTo = (hasFramework: boolean) =>
  fc.record({
    target: hasFramework ? fc.oneof(own, fc.array(step, { maxLength: 5 })) : fc.array(step, { maxLength: 5 }),
    method: fc.constantFrom('GET', 'POST', 'HEAD', 'PUT', 'OPTIONS'),
    body,
    fields: ownFields,
  })
const everyConversation = (hasFramework: boolean): fc.Arbitrary<Conversation> =>
  fc.record({
    requests: fc.array(requestTo(hasFramework), { minLength: 1, maxLength: 3 }),
    isPipelined: fc.boolean(),
    version: fc.constantFrom('1.1', '1.1', '1.1', '1.0'),
    leavesAfter: fc.constantFrom(...Array.from({ length: 8 }, () => undefined), 1, 60),
  })
const conversationWith = (hasFramework: boolean) =>
  everyConversation(hasFramework).map(given => {
    // After it has left, a client sends no other requests.
    if (given.leavesAfter !== undefined) return { ...given, requests: given.requests.slice(0, 1) }
    // From version 24.22 on, Node leaves a connection open if a reply is destroyed before its turn.
    const isDestroyed = given.requests.slice(1).some(({ target }) => destroys(target))
    return { ...given, isPipelined: given.isPipelined && !isDestroyed }
  })

function destroys(target: readonly SiteStep[] | string): boolean {
  return typeof target === 'string'
    ? target === 'after' || target === 'broken'
    : target.some(([name]) => name === 'destroy')
}

/** Sends a conversation, and returns all bytes of the server. The last request asks to close the connection. */
async function converse(
  { isSecure, lines: printed, port }: Site,
  { isPipelined, leavesAfter, requests, version }: Conversation,
): Promise<string> {
  const socket = connectTo(port, isSecure)
  let received = ''
  let pipeline = ''
  let isOver = false
  socket.setEncoding('latin1').on('error', () => undefined)
  const over = new Promise<void>(resolve => {
    socket.on('close', () => {
      isOver = true
      resolve()
    })
  })
  socket.on('data', chunk => {
    received += chunk
    if (leavesAfter !== undefined && received.length >= leavesAfter) socket.destroy()
  })
  try {
    for (const [index, { body, fields, method, target }] of requests.entries()) {
      const { parts = [], isChunked = false, expects = false } = body ?? {}
      const path = typeof target === 'string' ? `own/${target}` : encodeURIComponent(JSON.stringify(target))
      const lines = [`${method} /${path} HTTP/${version}`, 'Host: localhost', ...fields]
      if (index === requests.length - 1) lines.push('Connection: close')
      if (body !== undefined && version === '1.1' && expects) lines.push('Expect: 100-continue')
      const isInChunks = isChunked && version === '1.1'
      if (body !== undefined)
        lines.push(isInChunks ? 'Transfer-Encoding: chunked' : `Content-Length: ${parts.join('').length}`)
      const packets = [`${lines.join('\r\n')}\r\n\r\n`]
      for (const part of parts) packets.push(isInChunks ? `${part.length.toString(16)}\r\n${part}\r\n` : part)
      if (isInChunks) packets.push('0\r\n\r\n')
      // Whether the rest of a body comes before a response that does not wait for it is a matter of packets.
      const isRead = typeof target !== 'string' || (target === 'json' && fields[0] === jsonField && /^P/.test(method))
      if (!isRead) packets.splice(0, packets.length, packets.join(''))
      pipeline += packets.join('')
      if (isPipelined) continue
      for (const packet of packets) {
        socket.write(packet)
        await new Promise(resolve => setImmediate(resolve))
      }
      await until(() => isOver || printed.length > index, 1)
    }
    // At once: the server may close the connection after the first one.
    if (isPipelined) socket.write(pipeline)
    await within(over, () => `the connection is open: ${JSON.stringify(requests)} has got ${JSON.stringify(received)}`)
  } finally {
    socket.destroy()
  }
  return received
}

/** Waits until a site has printed a line for each request. */
async function waitForLines({ isSecure, lines, port }: Site): Promise<void> {
  connectTo(port, isSecure)
    .on('error', () => undefined)
    .end('GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    .resume()
  await until(() => lines.at(-1) === 'all', 1)
}

/** What may differ: three fields for the developer, and the time. */
function withoutOwn(received: string): string {
  return received
    .replace(/^(?:x-debug-token|x-debug-token-link|server-timing): .*\r\n/gim, '')
    .replace(/^Date: .*$/gm, 'Date')
}

/**
 * What the profiler may say: HTTP/1.0, which proxies use, is not trusted; and Node leaves some streams of HTTP/2 open.
 */
const ownMessage = /withheld: the request came through a proxy| has not ended after \d+ s/

/**
 * The messages that a site has printed, each once: how often is a matter of packets, and stacks
 * have frames of the profiler.
 */
function messagesIn(errors: readonly string[]): string[] {
  const messages = errors.filter(line => !/^\s+at |^[ {}]/.test(line) && !ownMessage.test(line))
  return [...new Set(messages.map(line => line.replace(/^\(node:\d+\)/, '(node)')))].sort()
}

const kinds = ['plain', 'https', ...Object.keys(frameworks)]

// Each framework is a case of its own: the bytes are those of the same code of Node.
for (const kind of provenSample(kinds, 2)) {
  t.test(`${kind}: the profiler changes no byte but three fields, no event and no exit code`, async t => {
    const dependencies = { [kind]: '*', [kind === 'nest' ? '@nestjs/core' : kind.replace(/\d/, '')]: '*' }
    t.testdir({ 'package.json': JSON.stringify({ dependencies }), node_modules: {} })
    const [bare, profiled] = await Promise.all([startSite(t, kind, false), startSite(t, kind, true)])
    let count = 0
    let exchanges = 0
    const property = fc.asyncProperty(conversationWith(kind in frameworks), async given => {
      const [wanted, found] = await Promise.all([converse(bare, given), converse(profiled, given)])
      // How much has come when the client leaves is a matter of packets.
      if (given.leavesAfter === undefined) t.equal(withoutOwn(found), withoutOwn(wanted)) || fail(given)
      await Promise.all([bare, profiled].map(waitForLines))
      if (given.leavesAfter === undefined) t.strictSame(profiled.lines.splice(0), bare.lines.splice(0)) || fail(given)
      else [bare.lines.splice(0), profiled.lines.splice(0)]
      count++
      exchanges += (found.match(/^x-debug-token: /gm) ?? []).length
    })
    const fail = (given: Conversation) => {
      throw new Error(`They differ: ${JSON.stringify(given)}`)
    }
    await t.resolves(fc.assert(property, { numRuns: provenRuns(100), seed, endOnFailure: true }))
    // Of a tenth of the sample, most clients may leave before a head.
    t.ok(exchanges > (count < 100 ? 0 : count / 2), 'profiles are named')
    const [viewer, ...others] = profiled.errors
    t.match(viewer, /^Profiler: http:\/\/127\.0\.0\.1:\d+\/_profiler\/$/)
    t.strictSame(messagesIn(others), messagesIn(bare.errors), 'the same errors are printed')
    for (const { child } of [bare, profiled]) {
      child.stdin?.end()
      t.strictSame(await once(child, 'exit'), [7, null], 'the pages do not keep the process alive')
    }
  })
}

/**
 * Sends the requests of a conversation over one session of HTTP/2, and returns what the client has
 * seen of each response.
 */
async function converseInHttp2(site: Site, requests: Conversation['requests']): Promise<unknown[]> {
  const session = connectToSession(site)
  const answers = requests.map(async ({ body, method, target }) => {
    const path = `/${encodeURIComponent(JSON.stringify(target))}`
    const expects = body?.expects === true && { expect: '100-continue' }
    const stream = session.request({ ':path': path, ':method': method, ...expects }, { endStream: body === undefined })
    const seen: unknown[] = []
    const noteFields = (event: string) => (all: IncomingHttpHeaders) => {
      const shown = Object.entries(all).filter(
        ([name]) => !/^(?:date|server-timing|x-debug-token(?:-link)?)$/.test(name),
      )
      seen.push(event, Object.fromEntries(shown))
    }
    for (const event of ['headers', 'response', 'trailers']) stream.on(event, noteFields(event))
    stream.on('error', error => seen.push(error.code))
    let received = ''
    stream.setEncoding('latin1').on('data', chunk => {
      received += chunk
    })
    const over = new Promise(resolve => stream.on('close', resolve))
    const showState = () => {
      const { readableEnded, rstCode, writableFinished } = stream
      return JSON.stringify({ method, body, seen, length: received.length, readableEnded, writableFinished, rstCode })
    }
    for (const part of body?.parts ?? []) {
      stream.write(part)
      await new Promise(resolve => setImmediate(resolve))
    }
    if (body !== undefined) stream.end()
    await within(over, () => `the stream for ${decodeURIComponent(path)} is open: ${showState()}`)
    // Whether an interim response comes before its stream is destroyed without another one is a matter of packets.
    const certain = seen.includes('response')
      ? seen
      : seen.filter(each => typeof each === 'string' && each !== 'headers')
    // Behind other data, Node 20 and 26 send freed memory for bytes of a string, with or without the profiler.
    const parts = [...target].filter(([name]) => writing.includes(name as string))
    return [...certain, parts.length > 1 ? received.length : received, stream.rstCode]
  })
  try {
    const found = await Promise.all(answers)
    await closeSession(session)
    return found
  } finally {
    session.destroy()
  }
}

/**
 * Connects to a site. It may reset the connection behind its last response; a stream that is open
 * then has an error, too.
 */
function connectToSession({ port }: Site): ClientHttp2Session {
  return connectInHttp2(`http://127.0.0.1:${port}`).on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ECONNRESET') throw error
  })
}

/** Closes a session, and waits for it. Node does not call back for one that its server has ended. */
async function closeSession(session: ClientHttp2Session): Promise<void> {
  const closed = new Promise(resolve => session.on('close', resolve))
  session.close()
  if (!session.destroyed) await within(closed, () => `the session is open: ${JSON.stringify(session.state)}`)
}

t.test('HTTP/2: the profiler changes no response and no event', async t => {
  t.testdir({ node_modules: {} })
  const sites = await Promise.all([startSite(t, 'http2', false), startSite(t, 'http2', true)])
  // How much of a response has come when its stream is destroyed is a matter of packets. A wrong length does
  // so, too. Behind the status 600, which HTTP/2 does not have, Node never closes it.
  const isEven = ([name, value]: SiteStep) => name !== 'destroy' && value !== 'Content-Length' && value !== 600
  const evenRequest = requestTo(false).map(given => ({ ...given, target: (given.target as SiteStep[]).filter(isEven) }))
  const exchangeWith = async (site: Site, requests: Conversation['requests']) => {
    const responses = await converseInHttp2(site, requests)
    const session = connectToSession(site)
    const last = new Promise(resolve => session.request({ ':path': '/last' }).on('close', resolve).resume())
    try {
      await within(
        last,
        () => `a request of ${JSON.stringify(requests)} is not over; the site has printed ${site.lines}`,
      )
      await closeSession(session)
    } finally {
      session.destroy()
    }
    // The streams of a session do not wait for one another.
    return { responses, lines: site.lines.splice(0).sort() }
  }
  const property = fc.asyncProperty(fc.array(evenRequest, { minLength: 1, maxLength: 3 }), async requests => {
    const differences: unknown[] = []
    // A stream may end before or after the last packets of another one: what differs by chance
    // does not differ three times.
    do {
      const [wanted, found] = await Promise.all(sites.map(site => exchangeWith(site, requests)))
      if (isDeepStrictEqual(found, wanted)) return
      differences.push({ wanted, found })
    } while (differences.length < 3)
    t.strictSame(differences, [], JSON.stringify(requests))
    throw new Error('They differ.')
  })
  await t.resolves(fc.assert(property, { numRuns: provenRuns(100), seed, endOnFailure: true }))
  const [bare, profiled] = sites
  t.strictSame(messagesIn(profiled.errors.slice(1)), messagesIn(bare.errors), 'the same errors are printed')
  for (const { child } of sites) {
    child.stdin?.end()
    t.strictSame(await once(child, 'exit'), [7, null])
  }
})

t.test('an upgrade passes untouched', async t => {
  t.testdir({ node_modules: {} })
  const sites = await Promise.all([startSite(t, 'plain', false), startSite(t, 'plain', true)])
  const answers = await Promise.all(
    sites.map(async ({ port }) => {
      const socket = connect({ port, host: '127.0.0.1' })
      let received = ''
      socket.setEncoding('latin1').on('data', chunk => {
        received += chunk
      })
      socket.write('GET /up HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly ')
      await until(() => received.includes('early'))
      socket.write('late')
      await once(socket, 'close')
      return received
    }),
  )
  t.match(answers[0], /^HTTP\/1\.1 101 [\s\S]*\r\n\r\nearly late$/)
  t.equal(answers[1], answers[0])
})
