import { Headers, Request } from 'sinfonietta'
import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import {
  createDebugPolicy,
  type DebugDecision,
  DebugGate,
  DebugKey,
  type DebugPolicy,
  decideDebugAccess,
  type PeerUser,
  PeerUsers,
} from '#kernel/debug/debug-gate.ts'
import { includesHost } from '#lib/http/request-target.ts'
import {
  createAddressList,
  forwardingHeaders,
  type TrustableHeader,
  TrustedProxies,
  trustableHeaders,
} from '#lib/http/trusted-proxies.ts'
import { parseConfig } from '#tests/support/parse-config.ts'
import { createRecorder } from '#tests/support/recording-logger.ts'

const policy: DebugPolicy = {
  isDebug: true,
  hosts: ['site.test', '*.dev.test'],
  allowedPeers: createAddressList(['192.0.2.7']),
  trustedHeaders: trustableHeaders,
  users: new Set([1000]),
  key: undefined,
}
const ours = { host: 'localhost:8000' }

interface Asked {
  readonly headers?: Record<string, string>
  readonly method?: string
  readonly target?: string
  readonly peer?: string
  readonly httpVersion?: string
  readonly proxies?: string[]
  readonly trustedHeaders?: readonly TrustableHeader[]
  readonly user?: PeerUser
}

function decide(init: Asked, isDebug = true): DebugDecision {
  const request = new Request({
    target: init.target ?? '/',
    method: init.method ?? 'GET',
    headers: init.headers ?? ours,
    httpVersion: init.httpVersion ?? '1.1',
    connection: { remoteAddress: init.peer ?? '127.0.0.1' },
    trustedProxies: new TrustedProxies(init.proxies, init.trustedHeaders ?? trustableHeaders),
  })
  const { trustedHeaders = trustableHeaders } = init
  return decideDebugAccess(request, { ...policy, isDebug, trustedHeaders }, init.user ?? 1000)
}

const remedyOf = (decision: DebugDecision) => (decision.isAllowed ? '' : decision.remedy)

t.test('the truth table: all of debug, peer, host, headers, version and user must be right', async t => {
  for (const isDebug of [true, false]) {
    for (const [peer, isPeer] of [
      ['127.0.0.1', true],
      ['192.0.2.7', true],
      ['203.0.113.9', false],
    ] as const) {
      for (const [host, isHost] of [
        ['localhost', true],
        ['a.dev.test', true],
        ['evil.test', false],
        ['', false],
      ] as const) {
        for (const forwarding of [undefined, ...forwardingHeaders]) {
          for (const httpVersion of ['1.1', '1.0', '2', '2.0']) {
            for (const user of [1000, 0, 'none', 'unknown'] as const) {
              const headers = { ...(host && { host }), ...(forwarding && { [forwarding]: '127.0.0.1' }) }
              const { isAllowed } = decide({ headers, peer, httpVersion, user }, isDebug)
              const isUser = user === 1000 || user === 'unknown' || peer !== '127.0.0.1'
              const isDirect = forwarding === undefined && ['1.1', '2'].includes(httpVersion)
              const expected = isDebug && isPeer && isHost && isDirect && isUser
              if (isAllowed !== expected) {
                t.fail(JSON.stringify({ isDebug, peer, host, forwarding, httpVersion, user, isAllowed }))
              }
            }
          }
        }
      }
    }
  }
})

t.test('this machine has several addresses and names', async t => {
  for (const peer of ['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1']) t.ok(decide({ peer }).isAllowed, peer)
  for (const peer of ['unknown', '128.0.0.1', '::2', '127.0.0.1.evil', '1127.0.0.1'])
    t.notOk(decide({ peer }).isAllowed, peer)
  for (const host of ['localhost', 'LOCALHOST.', 'a.b.localhost:80', '127.0.0.1:8000', '[::1]:8000', 'site.test']) {
    t.ok(decide({ headers: { host } }).isAllowed, host)
  }
  for (const host of [
    'localhost.evil.test',
    'evillocalhost',
    '0.0.0.0',
    '2130706433',
    '.localhost',
    'dev.test',
    'xsite.test',
    '127.0.0.2',
  ]) {
    t.notOk(decide({ headers: { host } }).isAllowed, host)
  }
})

t.test('what nginx before 1.29.7 sends by default opens nothing', async t => {
  const old = decide({ headers: { host: '127.0.0.1:8000', connection: 'close' }, httpVersion: '1.0' })
  t.match(remedyOf(old), 'TRUSTED_PROXIES')
  const rewritten = { host: 'localhost', 'x-forwarded-for': '203.0.113.9' }
  t.match(remedyOf(decide({ headers: rewritten })), 'TRUSTED_PROXIES')
})

t.test('a request of a doubtful origin opens nothing; one that asks for something wrong is like any other', async t => {
  for (const asked of [
    { target: '/%zz' },
    { target: '/a#b' },
    { target: `/${'a'.repeat(9000)}` },
    { method: 'TRACE' },
    { method: 'PROPFIND' },
  ]) {
    t.ok(decide(asked).isAllowed, JSON.stringify(asked))
    t.notOk(decide({ ...asked, peer: '203.0.113.9' }).isAllowed, 'for another client')
    t.notOk(decide({ ...asked, headers: { host: 'evil.test' } }).isAllowed, 'for another host')
    t.notOk(decide({ ...asked, headers: { ...ours, 'x-forwarded-for': '127.0.0.1' } }).isAllowed, 'behind a proxy')
  }
  const many = Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`x-${index}`, '']))
  for (const asked of [
    { headers: { ...ours, ...many } },
    { headers: { host: 'a/b' } },
    { target: '/%zz', headers: { host: 'a/b' } },
    { method: 'TRACE', headers: { host: 'a/b' } },
    { headers: { ...ours, 'transfer-encoding': 'gzip' } },
  ]) {
    t.match(decide(asked), { isAllowed: false, reason: /^the request is refused \(HTTP_/, remedy: '' })
  }
})

t.test('a page of another host opens nothing that its scripts could read', async t => {
  const from = (origin: string, headers: object = {}) => decide({ headers: { ...ours, origin, ...headers } })
  const others = [
    ...['https://evil.test', 'null', '', 'localhost', 'https://localhost.evil.test', 'http://127.0.0.1.evil.test'],
    ...[
      'http://localhost, https://evil.test',
      'https://localhost@evil.test',
      'http://0.0.0.0:8000',
      'chrome-extension://a',
    ],
  ]
  const modes = [
    {},
    { 'sec-fetch-mode': 'cors' },
    { 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-mode': 'websocket' },
  ]
  t.strictSame(
    others.filter(origin => modes.some(headers => from(origin, headers).isAllowed)),
    [],
  )
  t.match(remedyOf(from('https://evil.test')), 'APP_HOSTS')
  const behind = { ...ours, origin: 'https://evil.test', 'x-forwarded-for': '127.0.0.1' }
  t.notOk(decide({ headers: behind, proxies: ['127.0.0.1'] }).isAllowed, 'behind a trusted proxy')
  const own = [
    'http://localhost:8000',
    'http://localhost:5173',
    'https://[::1]:1',
    'https://a.dev.test',
    'capacitor://localhost',
  ]
  t.strictSame(
    own.filter(origin => !from(origin).isAllowed),
    [],
  )
  t.ok(from('https://bank.test', { 'sec-fetch-mode': 'navigate' }).isAllowed, 'the developer sees the page')
})

t.test('behind a trusted proxy the client decides, and a proxy that names none is like any peer', async t => {
  const proxies = ['127.0.0.1']
  const through = (client: string) => decide({ headers: { ...ours, 'x-forwarded-for': client }, proxies, user: 33 })
  t.match(remedyOf(through('203.0.113.9')), 'DEBUG_ALLOWED_IPS')
  t.ok(through('192.0.2.7').isAllowed)
  t.ok(decide({ headers: { ...ours, 'x-forwarded-for': '192.0.2.7' }, proxies, httpVersion: '1.0' }).isAllowed)
  t.notOk(decide({ proxies, httpVersion: '1.0' }).isAllowed)
  t.notOk(decide({ headers: { ...ours, via: '1.1 proxy' }, proxies }).isAllowed)
  t.ok(decide({ proxies }).isAllowed, 'a developer beside the proxy')
  t.notOk(decide({ proxies, user: 33 }).isAllowed, 'the proxy itself')
})

t.test('headers that contradict one another open nothing', async t => {
  const headers = { ...ours, forwarded: 'for=192.0.2.7', 'x-forwarded-for': '127.0.0.1' }
  t.notOk(decide({ headers, proxies: ['127.0.0.1'] }).isAllowed)
})

t.test('a header that a proxy passes on opens nothing where it may write another one', async t => {
  const decideWith = (trustedHeaders: readonly TrustableHeader[], headers: Record<string, string>) =>
    decide({ headers: { ...ours, ...headers }, proxies: ['127.0.0.1'], trustedHeaders, user: 33 })
  const isOpen = (name: TrustableHeader, headers: Record<string, string>) => decideWith([name], headers).isAllowed
  const claim = { 'x-forwarded-for': '127.0.0.1' }
  t.ok(isOpen('x-forwarded-for', claim))
  t.ok(isOpen('x-forwarded-for', { ...claim, 'x-real-ip': '127.0.0.1' }))
  t.ok(
    isOpen('x-forwarded-for', { 'x-forwarded-for': '192.0.2.7, 127.0.0.1', 'x-real-ip': '127.0.0.1' }),
    'the last proxy',
  )
  t.notOk(isOpen('x-forwarded-for', { ...claim, forwarded: 'for=203.0.113.9' }))
  t.notOk(isOpen('x-forwarded-for', { ...claim, 'x-real-ip': '203.0.113.9' }))
  t.ok(isOpen('forwarded', { forwarded: 'for=127.0.0.1' }))
  const ofVendors =
    'cf-connecting-ip true-client-ip x-client-ip fastly-client-ip x-cluster-client-ip x-originating-ip X-Remote-Addr clientip'
  const wrong = ofVendors
    .split(' ')
    .flatMap(name => [
      ...(isOpen('x-forwarded-for', { ...claim, [name]: '203.0.113.9' }) ? [`${name}: another client`] : []),
      ...(isOpen('x-forwarded-for', { ...claim, [name]: '' }) ? [`${name}: none`] : []),
      ...(isOpen('x-forwarded-for', { ...claim, [name]: '127.0.0.1' }) ? [] : [`${name}: the same client`]),
    ])
  t.strictSame(wrong, [])
  t.notOk(isOpen('forwarded', { forwarded: 'for=127.0.0.1', 'x-forwarded-for': '203.0.113.9' }))
  t.strictSame(decideWith(['x-forwarded-for'], { ...claim, forwarded: 'for=203.0.113.9' }), {
    isAllowed: false,
    reason: 'forwarded, which is not trusted, may name another client',
    remedy: 'The proxy has to remove forwarded, and to write a header of TRUSTED_HEADERS.',
  })
})

t.test('the loopback that a proxy of another machine names is not that of this machine', async t => {
  const proxies = ['private_ranges']
  const isOpen = (peer: string, client: string) =>
    decide({ headers: { ...ours, 'x-forwarded-for': client }, peer, proxies, user: 33 }).isAllowed
  t.ok(isOpen('127.0.0.1', '127.0.0.1'))
  t.ok(isOpen('127.0.0.1', '127.0.0.1, 127.0.0.2'))
  t.notOk(isOpen('192.168.1.50', '127.0.0.1'), 'a client of the local network, without a proxy')
  t.notOk(isOpen('127.0.0.1', '127.0.0.1, 192.168.1.50'), 'the same through the proxy of this machine')
  t.ok(isOpen('192.168.1.50', '192.0.2.7'), 'a client that DEBUG_ALLOWED_IPS names')
})

t.test('a wildcard stands for at least one label', async t => {
  t.ok(includesHost(policy.hosts, 'a.dev.test'))
  t.notOk(includesHost(policy.hosts, '.dev.test'))
  t.notOk(includesHost(policy.hosts, 'adev.test'))
})

t.test('the policy is read from the settings', async t => {
  const read = (variables: Record<string, string>, id?: number) =>
    createDebugPolicy(parseConfig({ APP_SECRET: 'x'.repeat(32), ...variables }), id)
  const { key, users } = read({ DEBUG_ALLOWED_USERS: 'root,70000', DEBUG_KEY: 'k'.repeat(16) }, 1000)
  t.strictSame([...(users ?? [])], [1000, 0, 70000])
  t.ok(key?.is('k'.repeat(16)))
  t.ok(read({}).users?.has(process.getuid?.() ?? -1), 'the user of this process')
  t.equal(createDebugPolicy(parseConfig({ APP_SECRET: 'x'.repeat(32), APP_ENV: 'prod' }), 1000).users, undefined)
  t.throws(() => read({ DEBUG_ALLOWED_USERS: 'root,no-such-user,nor-this' }, 1000), {
    code: 'CONFIG_INVALID',
    message: /"no-such-user" is not a user in \/etc\/passwd.*\n.*"nor-this"/,
  })
  t.doesNotThrow(() => read({ APP_ENV: 'prod', DEBUG_ALLOWED_USERS: 'no-such-user' }, 1000), 'debug is off')
})

type Connection = NonNullable<ConstructorParameters<typeof Request>[0]['connection']>

const socket: Connection = {
  remoteAddress: '127.0.0.1',
  remotePort: 50_000,
  localAddress: '127.0.0.1',
  localPort: 8000,
}
const key = 'a key of sixteen'.replaceAll(' ', '-')

function createGate(changes: Partial<DebugPolicy> = {}, user = '1000') {
  const { logger, records } = createRecorder()
  const asked: string[] = []
  const peers = new PeerUsers((table, isEnough) => {
    asked.push(table)
    isEnough(`  1: 0100007F:C350 0100007F:1F40 01 00000000:00000000 00:00000000 00000000  ${user} 0 4711 1\n`)
  })
  return { gate: new DebugGate({ ...policy, ...changes }, logger, peers), records, asked }
}

function over(connection: Connection, headers: Record<string, string> = ours): Request {
  return new Request({ target: '/', headers, connection })
}

t.test('a connection is asked for its user once, when all else allows', async t => {
  const { asked, gate } = createGate()
  const request = over(socket)
  gate.identify(request)
  t.ok(gate.allows(request))
  gate.identify(over(socket))
  t.ok(gate.allows(over(socket)), 'the next request of the connection')
  for (const request of [
    over({ ...socket }, { host: 'evil.test' }),
    over({ ...socket }, { ...ours, via: '1.1 proxy' }),
    createRequest('/', { remoteAddress: '127.0.0.1' }),
  ]) {
    gate.identify(request)
    gate.allows(request)
  }
  t.strictSame(asked, ['tcp'])
  t.ok(gate.allows(over({ ...socket })), 'another connection is asked when it comes to that')
  t.strictSame(asked, ['tcp', 'tcp'])
})

t.test('another user is refused, on every request of the connection', async t => {
  const { asked, gate, records } = createGate({}, '33')
  const connection = { ...socket }
  for (const request of [over(connection), over(connection)]) {
    gate.identify(request)
    t.notOk(gate.allows(request))
  }
  t.strictSame(asked, ['tcp'])
  t.match(records, { length: 1 })
  t.match(records[0], {
    context: { reason: "the client's program runs as another user (33)" },
    message: /The setting DEBUG_ALLOWED_USERS would allow it\./,
  })
})

t.test('where the system has no users, the other rules stand', async t => {
  const { asked, gate } = createGate({ users: undefined })
  const request = over({ ...socket })
  gate.identify(request)
  t.ok(gate.allows(request))
  t.strictSame(asked, [])
})

t.test('while debug is off, no user is looked up and nothing is logged', async t => {
  const { asked, gate, records } = createGate({ isDebug: false })
  gate.identify(over(socket))
  t.notOk(gate.allows(over(socket)))
  t.notOk(gate.isDebug)
  t.strictSame([asked, records], [[], []])
})

t.test('a request that is refused from the start stays refused, with its sub-requests', async t => {
  const { gate } = createGate()
  const [refused, other] = [createRequest(), createRequest()]
  gate.refuse(refused)
  t.notOk(gate.allows(refused))
  t.notOk(gate.allows(refused.duplicate()))
  t.ok(gate.allows(other))
})

t.test('a sub-request is for the client of the main request', async t => {
  const { gate } = createGate()
  const main = over(socket, { host: 'a/b' })
  t.notOk(gate.allows(main.duplicate()))
  const refused = new Request({ target: '/', httpVersion: '0.9', headers: ours, connection: { remoteAddress: '::1' } })
  t.notOk(gate.allows(refused.duplicate({ method: 'GET' })), 'also where it would be sound by itself')
  t.ok(gate.allows(createRequest('/').duplicate()))
})

t.test('with a key, the header or the cookie is needed as well', async t => {
  const { gate, records } = createGate({ key: new DebugKey(key) })
  const given = new Headers()
  gate.giveCookie(given, false)
  const cookie = String(given.get('set-cookie')).split(';', 1)[0] ?? ''
  t.equal(given.get('set-cookie'), `${cookie}; Path=/; HttpOnly; SameSite=Strict`)
  t.notMatch(cookie, key)
  const secure = new Headers()
  gate.giveCookie(secure, true)
  t.equal(secure.get('set-cookie'), `${cookie}; Path=/; HttpOnly; Secure; SameSite=Strict`)

  const allows = async (headers: Record<string, string>) => {
    const request = over(socket, { ...ours, ...headers })
    gate.identify(request)
    return gate.allows(request)
  }
  t.ok(await allows({ cookie }))
  t.ok(await allows({ cookie: `a=b; ${cookie}` }))
  t.ok(await allows({ cookie: `debug_key=x; ${cookie}; debug_key=` }), 'any of several may be right')
  t.ok(await allows({ 'x-debug-key': key }))
  t.match(records, { length: 0 })
  for (const wrong of [{}, { cookie: 'debug_key=' }, { cookie: `debug_key=${key}` }, { cookie: cookie.slice(0, -2) }]) {
    t.notOk(await allows(wrong), JSON.stringify(wrong))
  }
  t.notOk(await allows({ 'x-debug-key': `${key}.` }))
  t.notOk(await allows({ 'x-debug-key': `${key}.`, cookie }), 'what is sent must be right')
  t.notOk(await allows({ 'x-debug-key': '' }))
  t.notOk(await allows({ cookie, host: 'evil.test' }), 'the other rules stand')
  t.match(records, { length: 2 })
  t.match(records[0]?.message, 'DEBUG_KEY in the header x-debug-key')
  t.notMatch(JSON.stringify(records), key)
  t.ok(gate.allows(createRequest('/')), 'what has no socket was made in this process')
})

t.test('the link opens with the right key, for a client that all else allows', async t => {
  const { gate, records } = createGate({ key: new DebugKey(key) })
  const request = over(socket)
  t.ok(gate.isOpenedBy(key, request))
  t.ok(gate.allows(request), 'the key is shown')
  t.notOk(gate.isOpenedBy('', request))
  t.notOk(gate.isOpenedBy(`${key}x`, request))
  t.notOk(gate.isOpenedBy(`${key}\0`, request))
  t.notOk(gate.isOpenedBy(key, over(socket, { host: 'evil.test' })))
  t.notMatch(JSON.stringify(records), key)
  const open = createGate()
  open.gate.identify(request)
  t.notOk(open.gate.isOpenedBy('', request), 'there is no key')
  const none = new Headers()
  open.gate.giveCookie(none, false)
  t.equal(none.size, 0)
})

t.test('the log says once for each rule what would open the gate, and nothing while debug is off', async t => {
  const { gate, records } = createGate()
  const from = (remoteAddress: string, host = 'localhost') => createRequest('/', { headers: { host }, remoteAddress })
  t.ok(gate.isDebug)
  t.ok(gate.allows(from('127.0.0.1')))
  t.notOk(gate.allows(from('203.0.113.9')))
  t.notOk(gate.allows(from('203.0.113.9')))
  t.notOk(gate.allows(from('127.0.0.1', 'evil.test')))
  t.notOk(gate.allows(from('127.0.0.1', 'a/b')), 'its error is logged already')
  t.match(
    records.map(({ level, message }) => [level, message]),
    [
      ['warning', /the client 203\.0\.113\.9 is not on this machine.* The setting DEBUG_ALLOWED_IPS would allow it\./],
      ['warning', /the host "evil\.test" is not a name of this machine.* The setting APP_HOSTS would allow it\./],
    ],
  )
  t.equal(records.length, 2)
})
