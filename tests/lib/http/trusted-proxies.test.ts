import { t } from 'tap'
import { Headers } from '../../../lib/http/headers.ts'
import { TrustedProxies } from '../../../lib/http/trusted-proxies.ts'

const proxies = new TrustedProxies(['10.0.0.0/8', '::1', '192.0.2.7', 'fd00::/8'])

t.test('addresses and subnets of both families are known, also IPv4 written as IPv6', async t => {
  for (const address of ['10.1.2.3', '::1', '192.0.2.7', 'fd12::9', '::ffff:10.1.2.3'])
    t.ok(proxies.includes(address), address)
  for (const address of ['11.0.0.1', '192.0.2.8', '::2', 'unknown', '']) t.notOk(proxies.includes(address), address)
})

t.test('an entry that is no address is named', async t => {
  for (const entry of ['localhost', '10.0.0.0/33', '::1/129', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8/9', '']) {
    t.throws(
      () => new TrustedProxies([entry]),
      { message: new RegExp(`"${entry}" is neither an IP address nor a subnet`) },
      entry,
    )
  }
})

t.test('an untrusted peer is not believed', async t => {
  t.strictSame(proxies.read(new Headers({ 'x-forwarded-for': '1.2.3.4', forwarded: 'for=1.2.3.4' }), '11.0.0.1'), {})
})

t.test('the client is the right-most address that is not a trusted proxy', async t => {
  const read = (value: string) => proxies.read(new Headers({ 'x-forwarded-for': value }), '10.0.0.1').clientIp
  t.equal(read('6.6.6.6, 203.0.113.1, 10.0.0.3'), '203.0.113.1')
  t.equal(read('10.0.0.4, 10.0.0.3'), '10.0.0.4', 'the farthest, when all are proxies')
  t.equal(read('203.0.113.1:1234'), '203.0.113.1')
  t.equal(read('[2001:db8::1]:1234'), '2001:db8::1')
  t.equal(read('2001:db8::1'), '2001:db8::1')
  t.equal(read('not an address'), undefined)
  t.equal(read(' , '), undefined)
})

t.test('scheme and host are those that the nearest proxy names', async t => {
  const headers = new Headers({ 'x-forwarded-proto': 'http, HTTPS', 'x-forwarded-host': 'a.example, b.example' })
  t.strictSame(proxies.read(headers, '::1'), { scheme: 'https', host: 'b.example' })
  t.strictSame(proxies.read(new Headers({ 'x-forwarded-proto': 'javascript' }), '::1'), {})
})

t.test('the standard header is read too', async t => {
  const headers = new Headers({
    forwarded: 'for=203.0.113.1;proto=http, For="[2001:db8::1]:99";Proto=https;host=a.example',
  })
  t.strictSame(proxies.read(headers, '::1'), { clientIp: '2001:db8::1', scheme: 'https', host: 'a.example' })
  t.strictSame(proxies.read(new Headers({ forwarded: 'for=_hidden, broken' }), '::1'), {})
})

t.test('both kinds together must agree', async t => {
  const both = (legacy: string) => new Headers({ forwarded: 'for=203.0.113.1', 'x-forwarded-for': legacy })
  t.strictSame(proxies.read(both('203.0.113.1'), '::1'), { clientIp: '203.0.113.1' })
  t.throws(() => proxies.read(both('203.0.113.2'), '::1'), { code: 'HTTP_FORWARDING_CONFLICT' })
})
