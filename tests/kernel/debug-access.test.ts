import { t } from 'tap'
import { type DebugPolicy, decideDebugAccess } from '../../kernel/debug-access.ts'
import { DebugGate } from '../../kernel/debug-gate.ts'
import { createRequest } from '../../kernel/testing/event-factories.ts'
import { includesHost } from '../../lib/http/host.ts'
import { Request } from '../../lib/http/request.ts'
import {
  createAddressList,
  forwardingHeaders,
  TrustedProxies,
  trustableHeaders,
} from '../../lib/http/trusted-proxies.ts'
import { createRecorder } from '../support/recording-logger.ts'

const policy: DebugPolicy = {
  isDebug: true,
  hosts: ['site.test', '*.dev.test'],
  allowedPeers: createAddressList(['192.0.2.7']),
}
const ours = { host: 'localhost:8000' }

function decide(
  init: { headers?: Record<string, string>; peer?: string; httpVersion?: string; proxies?: string[] },
  isDebug = true,
) {
  const request = new Request({
    target: '/',
    headers: init.headers ?? ours,
    httpVersion: init.httpVersion ?? '1.1',
    connection: { remoteAddress: init.peer ?? '127.0.0.1' },
    trustedProxies: new TrustedProxies(init.proxies, trustableHeaders),
  })
  return decideDebugAccess(request, { ...policy, isDebug })
}

t.test('the truth table: all of debug, peer, host, headers and version must be right', async t => {
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
          for (const httpVersion of ['1.1', '1.0', '2.0']) {
            const headers = { ...(host && { host }), ...(forwarding && { [forwarding]: '127.0.0.1' }) }
            const { isAllowed } = decide({ headers, peer, httpVersion }, isDebug)
            const expected = isDebug && isPeer && isHost && forwarding === undefined && httpVersion === '1.1'
            t.equal(isAllowed, expected, JSON.stringify({ isDebug, peer, host, forwarding, httpVersion }))
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

t.test('what a stock nginx sends opens nothing', async t => {
  t.hasStrict(decide({ headers: { host: '127.0.0.1:8000', connection: 'close' }, httpVersion: '1.0' }), {
    setting: 'TRUSTED_PROXIES',
  })
  const rewritten = { host: 'localhost', 'x-forwarded-for': '203.0.113.9' }
  t.hasStrict(decide({ headers: rewritten }), { setting: 'TRUSTED_PROXIES' })
})

t.test('behind a trusted proxy the client decides, and a proxy that names none is like any peer', async t => {
  const proxies = ['127.0.0.1']
  const through = (client: string) => decide({ headers: { ...ours, 'x-forwarded-for': client }, proxies })
  t.hasStrict(through('203.0.113.9'), { isAllowed: false, setting: 'DEBUG_ALLOWED_IPS' })
  t.ok(through('192.0.2.7').isAllowed)
  t.ok(decide({ headers: { ...ours, 'x-forwarded-for': '192.0.2.7' }, proxies, httpVersion: '1.0' }).isAllowed)
  t.notOk(decide({ proxies, httpVersion: '1.0' }).isAllowed)
  t.notOk(decide({ headers: { ...ours, via: '1.1 proxy' }, proxies }).isAllowed)
  t.ok(decide({ proxies }).isAllowed, 'a developer beside the proxy')
})

t.test('headers that contradict one another open nothing', async t => {
  const headers = { ...ours, forwarded: 'for=192.0.2.7', 'x-forwarded-for': '127.0.0.1' }
  t.notOk(decide({ headers, proxies: ['127.0.0.1'] }).isAllowed)
})

t.test('a wildcard stands for at least one label', async t => {
  t.ok(includesHost(policy.hosts, 'a.dev.test'))
  t.notOk(includesHost(policy.hosts, '.dev.test'))
  t.notOk(includesHost(policy.hosts, 'adev.test'))
})

t.test('the log says once for each setting what would open the gate, and nothing while debug is off', async t => {
  const { logger, records } = createRecorder()
  const gate = new DebugGate(policy, logger)
  const from = (remoteAddress: string, host = 'localhost') => createRequest('/', { headers: { host }, remoteAddress })
  t.ok(gate.isDebug)
  t.ok(gate.allows(from('127.0.0.1')))
  t.notOk(gate.allows(from('203.0.113.9')))
  t.notOk(gate.allows(from('203.0.113.9')))
  t.notOk(gate.allows(from('127.0.0.1', 'evil.test')))
  t.match(
    records.map(({ level, message }) => [level, message]),
    [
      ['warning', /the client 203\.0\.113\.9 is not on this machine.* The setting DEBUG_ALLOWED_IPS would allow it\./],
      ['warning', /the host "evil\.test" is not a name of this machine.* The setting APP_HOSTS would allow it\./],
    ],
  )
  t.equal(records.length, 2)
  t.notOk(new DebugGate({ ...policy, isDebug: false }, logger).allows(from('127.0.0.1')))
  t.equal(records.length, 2)
})
