import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import path from 'node:path'
import fc from 'fast-check'
import { type Test, t } from 'tap'
import type { SiteStep } from '#tests/fixtures/any-site.ts'
import { provenRuns, seed } from '#tests/support/sample.ts'
import { startProcess } from '#tests/support/start-process.ts'
import { until } from '#tests/support/until.ts'

const root = path.resolve(import.meta.dirname, '../../../..')
const preload = path.join(root, 'bin/exports/profile.js')

/** A running site, and what it has printed. */
interface Site {
  readonly child: ChildProcess
  readonly port: number
  readonly lines: string[]
  readonly errors: string[]
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
  return { child, port: Number(lines.shift()?.split(' ')[1]), lines, errors }
}

/** Requests on one connection. */
interface Conversation {
  readonly requests: readonly { readonly steps: readonly SiteStep[]; readonly method: string; readonly body: Body }[]
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
const body: fc.Arbitrary<Body> = fc.option(
  fc.record({ parts: fc.array(value, { minLength: 1, maxLength: 3 }), isChunked: fc.boolean(), expects: fc.boolean() }),
  { nil: undefined },
)
const request = fc.record({
  steps: fc.array(step, { maxLength: 5 }),
  method: fc.constantFrom('GET', 'POST', 'HEAD', 'PUT', 'OPTIONS'),
  body,
})
const everyConversation: fc.Arbitrary<Conversation> = fc.record({
  requests: fc.array(request, { minLength: 1, maxLength: 3 }),
  isPipelined: fc.boolean(),
  version: fc.constantFrom('1.1', '1.1', '1.1', '1.0'),
  leavesAfter: fc.constantFrom(...Array.from({ length: 8 }, () => undefined), 1, 60),
})
const conversation = everyConversation.map(given =>
  // After it has left, a client sends no other requests.
  given.leavesAfter === undefined ? given : { ...given, requests: given.requests.slice(0, 1) },
)

/** Sends a conversation, and returns all bytes of the server. The last request asks to close the connection. */
async function converse(
  { lines: printed, port }: Site,
  { isPipelined, leavesAfter, requests, version }: Conversation,
): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let received = ''
  let pipeline = ''
  let isOver = false
  const over = once(
    socket.setEncoding('latin1').on('error', () => undefined),
    'close',
  ).then(() => {
    isOver = true
  })
  socket.on('data', chunk => {
    received += chunk
    if (leavesAfter !== undefined && received.length >= leavesAfter) socket.destroy()
  })
  for (const [index, { body, method, steps }] of requests.entries()) {
    const { parts = [], isChunked = false, expects = false } = body ?? {}
    const lines = [`${method} /${encodeURIComponent(JSON.stringify(steps))} HTTP/${version}`, 'Host: localhost']
    if (index === requests.length - 1) lines.push('Connection: close')
    if (body !== undefined && version === '1.1' && expects) lines.push('Expect: 100-continue')
    const isInChunks = isChunked && version === '1.1'
    if (body !== undefined)
      lines.push(isInChunks ? 'Transfer-Encoding: chunked' : `Content-Length: ${parts.join('').length}`)
    const packets = [`${lines.join('\r\n')}\r\n\r\n`]
    for (const part of parts) packets.push(isInChunks ? `${part.length.toString(16)}\r\n${part}\r\n` : part)
    if (isInChunks) packets.push('0\r\n\r\n')
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
  await over
  return received
}

/** Waits until a site has printed a line for each request. */
async function waitForLines({ lines, port }: Site): Promise<void> {
  connect({ port, host: '127.0.0.1' })
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

for (const kind of ['plain', 'express', 'koa', 'hono']) {
  t.test(`${kind}: the profiler changes no byte but three fields, no event and no exit code`, async t => {
    const manifest = JSON.stringify({ dependencies: { [kind]: '*' } })
    t.testdir({ 'package.json': manifest, node_modules: {} })
    const [bare, profiled] = await Promise.all([startSite(t, kind, false), startSite(t, kind, true)])
    let count = 0
    let exchanges = 0
    const property = fc.asyncProperty(conversation, async given => {
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
    await t.resolves(fc.assert(property, { numRuns: provenRuns(300), seed, endOnFailure: true }))
    t.ok(exchanges > count / 2, 'profiles are named')
    t.strictSame(bare.errors, [])
    t.match(profiled.errors[0], /^Profiler: http:\/\/127\.0\.0\.1:\d+\/_profiler\/$/)
    const others = profiled.errors.slice(1).filter(line => !/withheld: the request came through a proxy/.test(line))
    t.strictSame(others, [], 'only HTTP/1.0, which proxies use, is not trusted')
    for (const { child } of [bare, profiled]) {
      child.stdin?.end()
      t.strictSame(await once(child, 'exit'), [7, null], 'the pages do not keep the process alive')
    }
  })
}

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
