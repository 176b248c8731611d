import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { Request } from 'sinfonietta'
import { type Test, t } from 'tap'
import { describeDebugAccess } from '#bin/serving/main-process.ts'
import { PeerUsers } from '#kernel/debug/debug-gate.ts'
import { TrustedProxies } from '#lib/http/trusted-proxies.ts'
import { runProcess, startProcess } from '#tests/support/start-process.ts'
import { until } from '#tests/support/until.ts'
import { findPort } from './support/find-port.ts'
import { createProfiledKernel, type ProfiledKernel } from './support/profiled-kernel.ts'
import { type Served, serveKernel } from './support/test-server.ts'
import { turns } from './support/turns.ts'

/** What a client learns from a development server. */
const secrets = ['/_profiler/latest.json', '/_profiler/search.json', '/no-such-page'] as const

/** What shows that it has learnt it. */
const signs = /x-debug-|"token"|No route found/i

const shown = { '/_profiler/latest.json': true, '/_profiler/search.json': true, '/no-such-page': true }
const withheld = { '/_profiler/latest.json': false, '/_profiler/search.json': false, '/no-such-page': false }

interface Site extends ProfiledKernel, Served {}

/** Serves the site with its profiler, and a record to be seen. */
async function startSite(t: Test, variables: Record<string, string> = {}): Promise<Site> {
  const kernel = await createProfiledKernel(t, { variables })
  await kernel.client.get('/partnership')
  return { ...kernel, ...(await serveKernel(t, kernel)) }
}

/** What curl learns at a port, as some user. */
async function learnByCurl(port: number, options: readonly string[] = [], user?: string) {
  const answers = await Promise.all(
    secrets.map(async target => {
      const command = [
        'curl',
        '-siL',
        '-m',
        '20',
        '-H',
        'Host: localhost',
        ...options,
        `http://127.0.0.1:${port}${target}`,
      ]
      const prefix = user === undefined ? [] : ['setpriv', `--reuid=${user}`, '--clear-groups']
      const { stdout } = await runProcess(t, [...prefix, ...command])
      if (!stdout.startsWith('HTTP/1.1 ')) throw new Error(stdout)
      return [target, signs.test(stdout)] as const
    }),
  )
  return Object.fromEntries(answers)
}

const isRoot = process.getuid?.() === 0
const isThere = (program: string) => spawnSync(program, ['-V'], { stdio: 'ignore' }).error === undefined
const lacksCurl = process.platform !== 'linux' || !isThere('curl') ? 'needs curl, on Linux' : false
const lacksUsers = lacksCurl || (isRoot && isThere('setpriv') ? false : 'needs root, curl and setpriv')
const lacksNginx = lacksUsers || (isThere('nginx') ? false : 'there is no nginx on this machine')

t.test(
  'curl as the user of the server sees debug output, as another user it does not',
  { skip: lacksUsers },
  async t => {
    const { port, records } = await startSite(t)
    t.strictSame(await learnByCurl(port), shown)
    t.strictSame(await learnByCurl(port, [], 'nobody'), withheld)
    t.match(
      records.map(({ message }) => message).filter(message => message.startsWith('Debug output')),
      [/runs as another user \(65534\)\. The setting DEBUG_ALLOWED_USERS would allow it\./],
    )
    const { port: open } = await startSite(t, { DEBUG_ALLOWED_USERS: 'nobody' })
    t.strictSame(await learnByCurl(open, [], 'nobody'), shown)
    t.strictSame(await learnByCurl(open, [], 'www-data'), withheld)
  },
)

/** Runs nginx as its packages do: a main process of root, and a worker of another user. Gives a port for each proxy. */
async function startNginx(t: Test, site: number, ways: readonly string[]): Promise<readonly number[]> {
  const folder = t.testdir()
  const ports = await Promise.all(ways.map(findPort))
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${folder};`)
  const servers = ways.map(
    (way, index) =>
      `server { listen 127.0.0.1:${ports[index]}; location / { proxy_pass http://127.0.0.1:${site}; ${way} } }`,
  )
  writeFileSync(
    path.join(folder, 'nginx.conf'),
    `user www-data; daemon off; pid nginx.pid; error_log stderr; worker_processes 1;
     events {} http { access_log off; ${temporary.join(' ')} ${servers.join(' ')} }`,
  )
  startProcess(t, ['nginx', '-p', folder, '-c', 'nginx.conf', '-e', 'stderr'], { stdio: 'ignore' })
  await until(() => isOpen(ports[0] ?? 0), 50)
  return ports
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** What nginx sends by itself since 1.29.7: HTTP/1.1, kept alive, and no header of its own. */
const modern = 'proxy_http_version 1.1; proxy_set_header Connection "";'

t.test('clients of an nginx that adds nothing see no debug output', { skip: lacksNginx }, async t => {
  const { port } = await startSite(t)
  const ways = [modern, `${modern} proxy_set_header Host $http_host;`, `${modern} proxy_set_header Host localhost;`, '']
  for (const [index, proxy] of (await startNginx(t, port, ways)).entries()) {
    for (const host of ['localhost', `127.0.0.1:${port}`, 'example.org']) {
      t.strictSame(await learnByCurl(proxy, ['-H', `Host: ${host}`]), withheld, `${ways[index]} ${host}`)
    }
  }
  t.strictSame(await learnByCurl(port), shown, 'the developer beside it does')

  const { port: open } = await startSite(t, { DEBUG_ALLOWED_USERS: 'www-data' })
  const [proxy = 0] = await startNginx(t, open, [modern])
  t.strictSame(await learnByCurl(proxy), shown, 'it is its user that is refused')
})

/** Forwards connections byte by byte, as `ssh -R`, socat and `kubectl port-forward` do, as the user of the tests. */
async function startForward(t: Test, port: number): Promise<number> {
  const server = createServer(incoming => {
    const outgoing = connect(port, '127.0.0.1')
    incoming.pipe(outgoing).pipe(incoming)
    for (const socket of [incoming, outgoing]) socket.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

const key = 'k3y-for-tests.no-one~knows'

t.test('a forward of the same user is a client like any other, but for the key', { skip: lacksCurl }, async t => {
  const { port } = await startSite(t)
  t.strictSame(await learnByCurl(await startForward(t, port)), shown, 'documented: it cannot be recognized')

  const { port: locked } = await startSite(t, { DEBUG_KEY: key })
  const forward = await startForward(t, locked)
  t.strictSame(await learnByCurl(forward), withheld)
  t.strictSame(await learnByCurl(forward, ['-H', `x-debug-key: ${key}x`]), withheld)
  t.strictSame(await learnByCurl(locked), withheld, 'the developer has to show it, too')
  t.strictSame(await learnByCurl(locked, ['-H', `x-debug-key: ${key}`]), shown)
})

t.test('the printed link gives a cookie; neither it nor the key is kept anywhere', async t => {
  const { app, records, storage, url } = await startSite(t, { DEBUG_KEY: key, PROFILER_MCP: '1' })
  const link = String(describeDebugAccess(url, app.config).split('\n')[1])
  t.equal(link, `${url}/_debug?key=${key}`)
  const ask = (target: string, init: RequestInit = {}) => fetch(new URL(target, url), { redirect: 'manual', ...init })

  for (const wrong of ['/_debug', '/_debug?key=', `/_debug?key=${key}x`]) {
    const refused = await ask(wrong)
    t.equal(refused.status, 404, wrong)
    t.notOk(refused.headers.has('set-cookie'))
    t.notMatch(await refused.text(), /debug/i)
  }
  const answer = await ask(link)
  const { headers, status } = answer
  t.strictSame([status, headers.get('location'), headers.get('cache-control')], [303, '/', 'no-store, private'])
  t.notMatch((await answer.text()) + JSON.stringify([...headers]), key)
  const [cookie = ''] = headers.getSetCookie().map(field => field.replace(/;.*/, ''))
  t.strictSame(headers.getSetCookie(), [`${cookie}; Path=/; HttpOnly; SameSite=Strict`])

  const page = await ask('/no-such-page', { headers: { cookie } })
  t.ok(page.headers.has('x-debug-token'))
  t.notMatch(await page.text(), cookie.slice(10))
  t.equal((await ask('/_profiler/latest.json', { headers: { cookie } })).status, 200)
  const tools = {
    method: 'POST',
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  }
  t.equal((await ask('/_profiler/mcp', tools)).status, 404)
  const withKey = { ...tools, headers: { ...tools.headers, 'x-debug-key': key } }
  t.equal((await ask('/_profiler/mcp', withKey)).status, 200)
  await (await ask('/partnership', { headers: { cookie, 'x-debug-key': key } })).text()

  await turns()
  const { summaries } = await storage.search({ limit: 100 })
  const kept = JSON.stringify(await Promise.all(summaries.map(({ token }) => storage.find(token))))
  t.match(kept, 'x-debug-key', 'what is looked through is there')
  for (const secret of [key, cookie.replace('debug_key=', '')]) {
    t.notOk(kept.includes(secret))
    t.notOk(JSON.stringify(records).includes(secret))
  }
  const warnings = records.filter(({ level }) => level === 'warning')
  t.equal(warnings.filter(({ message }) => /wrong key|right key/.test(message)).length, 1, 'once')
})

/** What each rule of a staging machine asks for: right, and in the ways in which it is missing or forged. */
const staging = {
  TRUSTED_PROXIES: '127.0.0.1',
  TRUSTED_HEADERS: 'x-forwarded-for,x-forwarded-proto,x-forwarded-port',
  APP_HOSTS: 'staging.example.org',
  DEBUG_ALLOWED_IPS: '203.0.113.0/24',
  DEBUG_KEY: key,
}
const rules = {
  proxy: { right: { peer: '127.0.0.1' }, 'of another machine': { peer: '127.0.0.9' } },
  address: {
    right: { 'x-forwarded-for': '203.0.113.7' },
    other: { 'x-forwarded-for': '198.51.100.1' },
    'sent by the client': { 'x-forwarded-for': '203.0.113.7, 198.51.100.1' },
    'of the loopback, with a proxy between': { 'x-forwarded-for': '127.0.0.1, 198.51.100.1' },
    'no address': { 'x-forwarded-for': 'unknown' },
  },
  host: {
    right: { host: 'staging.example.org' },
    other: { host: 'example.org' },
    'in a header that is not trusted': { host: 'example.org', 'x-forwarded-host': 'staging.example.org' },
  },
  key: {
    right: { 'x-debug-key': key },
    missing: {},
    empty: { 'x-debug-key': '' },
    other: { 'x-debug-key': `${key}x` },
    'as the cookie': { cookie: `debug_key=${key}` },
  },
  'no other name': {
    right: {},
    forwarded: { forwarded: 'for=203.0.113.7' },
    'x-real-ip': { 'x-real-ip': '198.51.100.2' },
  },
} as const

type Sent = Readonly<Record<string, string>>

/** Each combination of the ways, with the names of those that are not right. */
const combinations = Object.entries(rules).reduce<{ readonly faults: string[]; readonly sent: Sent }[]>(
  (before, [rule, ways]) =>
    before.flatMap(({ faults, sent }) =>
      Object.entries(ways).map(([way, more]) => ({
        faults: way === 'right' ? faults : [...faults, `${rule}: ${way}`],
        sent: { ...sent, ...more },
      })),
    ),
  [{ faults: [], sent: {} }],
)

/**
 * The response without what differs between two equal ones, and without the header for crawlers,
 * which development adds.
 */
async function receive(port: number, target: string, { peer, ...headers }: Sent): Promise<string> {
  const sent = request({ host: '127.0.0.1', port, path: target, headers, localAddress: peer }).end()
  const [message]: [IncomingMessage] = (await once(sent, 'response')) as [IncomingMessage]
  const { date, 'x-request-id': id = '', 'x-robots-tag': robots, ...others } = message.headers
  const body = (await text(message)).replaceAll(String(id), 'id').replaceAll(String(id).slice(0, 8), 'reference')
  return JSON.stringify([message.statusCode, others, body])
}

t.test('a staging machine shows debug output only if proxy, address, host and key are right', async t => {
  const { app, port } = await startSite(t, staging)
  const { port: production } = await startSite(t, { ...staging, APP_ENV: 'prod' })
  const trustedProxies = new TrustedProxies(app.config.trustedProxies, app.config.trustedHeaders)
  const allowed = combinations.filter(({ sent: { peer = '', ...headers } }) => {
    const connection = { remoteAddress: peer, remotePort: 50_000, localAddress: '127.0.0.1', localPort: 80 }
    return app.debugGate.allows(new Request({ target: '/', headers, connection, trustedProxies }))
  })
  t.equal(combinations.length, 450)
  t.strictSame(
    allowed.map(({ faults }) => faults),
    [[]],
    'nothing else is allowed',
  )

  const pages = ['/', '/partnership', '/boom', '/_profiler/', '/_profiler/latest.json', '/_profiler/routes']
  const targets = [...pages, `/_debug?key=${key}`]
  // In development the other hosts are answered, too.
  const right = combinations.find(({ faults }) => faults.length === 0)?.sent ?? {}
  const expected = new Map<string, string>()
  for (const target of targets) expected.set(target, await receive(production, target, { ...right, 'x-debug-key': '' }))
  const leaks: string[] = []
  for (const { faults, sent } of combinations.filter(({ faults }) => faults.length === 1)) {
    // The link shows the key by itself.
    for (const target of faults[0]?.startsWith('key') ? pages : targets) {
      if ((await receive(port, target, sent)) !== expected.get(target)) leaks.push(`${faults} ${target}`)
    }
  }
  t.strictSame(leaks, [], 'all others get what production sends')
  const shown: string[] = []
  for (const target of targets) if ((await receive(port, target, right)) !== expected.get(target)) shown.push(target)
  t.strictSame(shown, targets, 'the right client sees it')
})

t.test('a proxy does not hide its header behind more fields than node reads', async t => {
  const { raw } = await startSite(t)
  const ask = (fields: string) =>
    raw(`GET /no-such-page HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${fields}\r\n`)
  t.match(await ask('a:b\r\n'), signs)
  for (const count of [190, 1_010, 1_100]) {
    const answer = await ask(`${'a:b\r\n'.repeat(count)}X-Forwarded-For: 203.0.113.9\r\n`)
    t.match(answer, /^HTTP\/1\.1 4\d\d /, String(count))
    t.notMatch(answer, signs, String(count))
  }
  t.notMatch(await ask('a:b\r\n'.repeat(1_100)), signs)
})

t.test('pages of an error cannot be framed, nor opened by others', async t => {
  const { url } = await startSite(t)
  const failed = await fetch(`${url}/no-such-page`, { headers: { accept: 'text/html' } })
  t.notOk(failed.headers.has('content-security-policy'))
  t.equal(failed.headers.get('x-frame-options'), 'DENY')
  t.equal(failed.headers.get('x-content-type-options'), 'nosniff')
  const page = await fetch(`${url}/_profiler/`)
  t.match(page.headers.get('content-security-policy'), "frame-ancestors 'none'")
  t.equal(page.headers.get('cross-origin-opener-policy'), 'same-origin')
})

t.test('the notice at the start says whose programs see debug output, and what else does', async t => {
  const say = (debugKey: string | undefined, hasUsers: boolean, url = 'http://127.0.0.1:8000') =>
    describeDebugAccess(url, { debugKey }, hasUsers)
  t.match(say(undefined, true), 'programs of this user on this machine. Proxies, tunnels and port forwards that run as')
  t.match(say(undefined, false), 'clients on this machine. Proxies, tunnels and port forwards on this machine')
  t.match(say(key, true), `\nhttp://127.0.0.1:8000/_debug?key=${key}\n`)
  t.match(say(key, false, 'http://0.0.0.0:8000'), `\nhttp://127.0.0.1:8000/_debug?key=${key}\n`)
  t.match(say(key, false, 'https://[::]:8000'), `\nhttps://[::1]:8000/_debug?key=${key}\n`)
})

t.test('a connection is looked up once', { skip: process.platform !== 'linux' && 'this is not Linux' }, async t => {
  const find = t.capture(PeerUsers.prototype, 'find', PeerUsers.prototype.find)
  const { url } = await startSite(t)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  for (let turn = 0; turn < 5; turn++) {
    const [reply]: IncomingMessage[] = await once(request(`${url}/partnership`, { agent }).end(), 'response')
    if (reply) await text(reply)
  }
  t.equal(find().length, 1)
})
