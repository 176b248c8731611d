import { request as httpRequest } from 'node:http'
import { json } from 'node:stream/consumers'
import { Headers, Request } from 'sinfonietta'
import { t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { defaultTrustedHeaders, TrustedProxies, trustableHeaders } from '#lib/http/trusted-proxies.ts'
import { createHandlerBundle } from '#tests/support/handler-bundle.ts'
import { startServer } from '#tests/support/test-server.ts'

const proxies = new TrustedProxies(['10.0.0.0/8', '::1', '192.0.2.7', 'fd00::/8'])

t.test('addresses and subnets of both families are known, also IPv4 written as IPv6', async t => {
  for (const address of ['10.1.2.3', '::1', '192.0.2.7', 'fd12::9', '::ffff:10.1.2.3'])
    t.ok(proxies.includes(address), address)
  for (const address of ['11.0.0.1', '192.0.2.8', '::2', 'unknown', '']) t.notOk(proxies.includes(address), address)
})

t.test('an entry that is no address is an error with the entry', async t => {
  for (const entry of ['localhost', '10.0.0.0/33', '::1/129', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8/9', '']) {
    t.throws(
      () => new TrustedProxies([entry]),
      { message: new RegExp(`"${entry}" is neither an IP address nor a subnet`) },
      entry,
    )
  }
})

t.test('headers of an untrusted peer are ignored', async t => {
  t.strictSame(proxies.read(new Headers({ 'x-forwarded-for': '1.2.3.4', forwarded: 'for=1.2.3.4' }), '11.0.0.1'), {})
})

t.test('the private ranges are an entry, and contain no other addresses', async t => {
  const inner = ['127.0.0.1', '10.1.2.3', '172.31.0.1', '192.168.3.4', '169.254.9.9', '::1', 'fe80::1', 'fd12::9']
  for (const name of ['private_ranges', 'PRIVATE_SUBNETS']) {
    const ranges = new TrustedProxies([name, '192.0.2.7'])
    for (const address of [...inner, '::ffff:10.0.0.1', '192.0.2.7']) t.ok(ranges.includes(address), address)
    for (const address of ['8.8.8.8', '172.32.0.1', '::ffff:8.8.8.8', '2001:db8::1', '0.0.0.0']) {
      t.notOk(ranges.includes(address), address)
    }
  }
})

/** What a proxy at 127.0.0.1 says of a request for `http://inner.test:8080/x`, where 10.0.0.0/8 is trusted as well. */
interface Case {
  readonly says: Readonly<Record<string, string>>
  /** The client's address and the URL, or the code of the error. */
  readonly gives: string
  /** What is trusted beside the `X-Forwarded-*` headers. */
  readonly trusts?: readonly (typeof trustableHeaders)[number][]
}

const both = trustableHeaders
const own = 'http://inner.test:8080/x'
const local = '127.0.0.1'
const client = { 'x-forwarded-for': '9.9.9.9' }
const edge = { ...client, 'x-forwarded-proto': 'https', 'x-forwarded-host': 'shop.test' }

const cases: Readonly<Record<string, Case>> = {
  // One proxy.
  'nothing said': { says: {}, gives: `${local} ${own}` },
  'a client': { says: client, gives: `9.9.9.9 ${own}` },
  'a client with a port': { says: { 'x-forwarded-for': '9.9.9.9:1234' }, gives: `9.9.9.9 ${own}` },
  'a client of IPv6': { says: { 'x-forwarded-for': '2001:db8::1' }, gives: `2001:db8::1 ${own}` },
  'a client of IPv6 with a port': { says: { 'x-forwarded-for': '[2001:db8::1]:99' }, gives: `2001:db8::1 ${own}` },
  'a client that is no address': { says: { 'x-forwarded-for': 'unknown' }, gives: `${local} ${own}` },
  'an address before what is none': { says: { 'x-forwarded-for': '6.6.6.6, unknown' }, gives: `${local} ${own}` },
  'a client of a socket of Unix': { says: { 'x-forwarded-for': '6.6.6.6, unix:' }, gives: `${local} ${own}` },
  ...Object.fromEntries(
    ['1.1.1.1, garbage', 'garbage', '1.1.1.1, 10.0.0.300', 'garbage, 10.0.0.2', '1.1.1.1:x', '<b>'].map(addresses => [
      `the addresses ${addresses}`,
      { says: { 'x-forwarded-for': addresses }, gives: 'HTTP_FORWARDING_INVALID' },
    ]),
  ),
  'garbage of the client before its address': { says: { 'x-forwarded-for': 'x, 9.9.9.9' }, gives: `9.9.9.9 ${own}` },
  'an empty list': { says: { 'x-forwarded-for': ' , ' }, gives: `${local} ${own}` },
  'client, scheme and host': { says: edge, gives: '9.9.9.9 https://shop.test/x' },
  // Schemes.
  ...Object.fromEntries(
    ['https', 'HTTPS', 'ssl', 'on', '1'].map(proto => [
      `the scheme ${proto}`,
      { says: { 'x-forwarded-proto': proto, 'x-forwarded-host': 'a' }, gives: `${local} https://a/x` },
    ]),
  ),
  'the scheme http': { says: { 'x-forwarded-proto': 'http' }, gives: `${local} ${own}` },
  'a scheme that is none': { says: { 'x-forwarded-proto': 'javascript' }, gives: `${local} ${own}` },
  // Ports.
  'a scheme beside the port of the host': {
    says: { 'x-forwarded-proto': 'https' },
    gives: `${local} https://inner.test:8080/x`,
  },
  'a port': { says: { 'x-forwarded-port': '8443' }, gives: `${local} http://inner.test:8443/x` },
  'the port of the scheme': {
    says: { 'x-forwarded-port': '443', 'x-forwarded-proto': 'https' },
    gives: `${local} https://inner.test/x`,
  },
  'the port of another scheme': {
    says: { 'x-forwarded-port': '80', 'x-forwarded-proto': 'https' },
    gives: `${local} https://inner.test:80/x`,
  },
  'a host with a port': { says: { 'x-forwarded-host': 'shop.test:1234' }, gives: `${local} http://shop.test:1234/x` },
  'a port beside that of the host': {
    says: { 'x-forwarded-host': 'shop.test:1234', 'x-forwarded-port': '8443' },
    gives: `${local} http://shop.test:8443/x`,
  },
  'a port that is none': { says: { 'x-forwarded-port': 'abc' }, gives: 'HTTP_FORWARDING_INVALID' },
  'the port 0': { says: { 'x-forwarded-port': '0' }, gives: 'HTTP_FORWARDING_INVALID' },
  'a port too high': { says: { 'x-forwarded-port': '65536' }, gives: 'HTTP_FORWARDING_INVALID' },
  // Hosts and prefixes.
  'a host that is none': { says: { 'x-forwarded-host': 'a/b' }, gives: 'HTTP_HOST_INVALID' },
  'a prefix': { says: { 'x-forwarded-prefix': '/shop/' }, gives: `${local} http://inner.test:8080/shop/x` },
  'a prefix of two parts': {
    says: { 'x-forwarded-prefix': '/a/b-c' },
    gives: `${local} http://inner.test:8080/a/b-c/x`,
  },
  'a prefix that says nothing': { says: { 'x-forwarded-prefix': '/' }, gives: `${local} ${own}` },
  ...Object.fromEntries(
    ['//evil.test', '/a//b', 'shop', '/..', '/a/../b', '/a?b', '/a#b', '/\\evil.test', '/a b', '/"'].map(prefix => [
      `the prefix ${prefix}`,
      { says: { 'x-forwarded-prefix': prefix }, gives: 'HTTP_FORWARDING_INVALID' },
    ]),
  ),
  // Chains.
  'two proxies': { says: { ...edge, 'x-forwarded-for': '9.9.9.9, 10.0.0.2' }, gives: '9.9.9.9 https://shop.test/x' },
  'two proxies, each with a scheme': {
    says: { 'x-forwarded-for': '9.9.9.9, 10.0.0.2', 'x-forwarded-proto': 'https, http' },
    gives: '9.9.9.9 https://inner.test:8080/x',
  },
  'two schemes, and no address': {
    says: { 'x-forwarded-proto': 'https, http' },
    gives: `${local} https://inner.test:8080/x`,
  },
  'two proxies, each with all': {
    says: {
      'x-forwarded-for': '9.9.9.9, 10.0.0.2',
      'x-forwarded-host': 'shop.test, inner.test',
      'x-forwarded-proto': 'https, http',
      'x-forwarded-port': '8443, 80',
      'x-forwarded-prefix': '/shop, /inner',
    },
    gives: '9.9.9.9 https://shop.test:8443/shop/x',
  },
  'proxies only': { says: { 'x-forwarded-for': '10.0.0.4, 10.0.0.3' }, gives: `10.0.0.4 ${own}` },
  'a client that makes up another': {
    says: { 'x-forwarded-for': '6.6.6.6, 9.9.9.9, 10.0.0.2' },
    gives: `9.9.9.9 ${own}`,
  },
  'a client that makes up all, behind a proxy that appends': {
    says: {
      'x-forwarded-for': '6.6.6.6, 9.9.9.9',
      'x-forwarded-host': 'evil.test, shop.test',
      'x-forwarded-proto': 'http, https',
      'x-forwarded-port': '6666, 443',
    },
    gives: '9.9.9.9 https://shop.test/x',
  },
  // `Forwarded` is not trusted by default.
  'a client’s Forwarded': {
    says: { ...edge, forwarded: 'for=6.6.6.6;host=evil.test;proto=http' },
    gives: '9.9.9.9 https://shop.test/x',
  },
  'a client’s Forwarded without an address': { says: { ...client, forwarded: 'proto=https' }, gives: `9.9.9.9 ${own}` },
  'a client’s Forwarded that is none': { says: { ...client, forwarded: 'x' }, gives: `9.9.9.9 ${own}` },
  'a client’s X-Forwarded-Host': {
    says: { ...client, 'x-forwarded-host': 'evil.test' },
    trusts: ['x-forwarded-for', 'x-forwarded-proto'],
    gives: `9.9.9.9 ${own}`,
  },
  'a client’s X-Forwarded-For': {
    says: { ...edge, forwarded: 'for=7.7.7.7' },
    trusts: ['forwarded'],
    gives: `7.7.7.7 ${own}`,
  },
  // `Forwarded` alone.
  Forwarded: {
    says: { forwarded: 'for=9.9.9.9;host=shop.test;proto=https' },
    trusts: both,
    gives: '9.9.9.9 https://shop.test/x',
  },
  'Forwarded in other letters': {
    says: { forwarded: 'For="[2001:db8::1]:99";Proto=HTTPS ; HOST="Shop.test:8443"' },
    trusts: both,
    gives: '2001:db8::1 https://shop.test:8443/x',
  },
  'Forwarded with a quoted comma and semicolon': {
    says: { forwarded: 'by="a,b;for=6.6.6.6\\"";for=9.9.9.9' },
    trusts: both,
    gives: `9.9.9.9 ${own}`,
  },
  'Forwarded with an address that should be quoted': {
    says: { forwarded: 'for=9.9.9.9:80' },
    trusts: both,
    gives: `9.9.9.9 ${own}`,
  },
  'Forwarded of two proxies': {
    says: { forwarded: 'for=1.1.1.1;proto=https;host=shop.test, for=10.0.0.2;proto=http;host=internal' },
    trusts: both,
    gives: '1.1.1.1 https://shop.test/x',
  },
  'Forwarded of which the second proxy alone names a scheme': {
    says: { forwarded: 'for=1.1.1.1, for=10.0.0.2;proto=https;host=shop.test' },
    trusts: both,
    gives: '1.1.1.1 https://shop.test/x',
  },
  'Forwarded that a client has begun': {
    says: { forwarded: 'for=6.6.6.6;host=evil.test;proto=https, for=9.9.9.9' },
    trusts: both,
    gives: `9.9.9.9 ${own}`,
  },
  'Forwarded without an address': {
    says: { forwarded: 'host=shop.test, proto=https' },
    trusts: both,
    gives: `${local} https://shop.test/x`,
  },
  'Forwarded with a hidden client': { says: { forwarded: 'for=_hidden' }, trusts: both, gives: `${local} ${own}` },
  'Forwarded with a hidden client and a port': {
    says: { forwarded: 'for="unknown:4711"' },
    trusts: both,
    gives: `${local} ${own}`,
  },
  'Forwarded with a client that is none': {
    says: { forwarded: 'for=x' },
    trusts: both,
    gives: 'HTTP_FORWARDING_INVALID',
  },
  'Forwarded with a host that is none': { says: { forwarded: 'host="a/b"' }, trusts: both, gives: 'HTTP_HOST_INVALID' },
  'an empty Forwarded': { says: { ...client, forwarded: ' , ;' }, trusts: both, gives: `9.9.9.9 ${own}` },
  ...Object.fromEntries(
    ['x', 'for=1.1.1.1 proto=https', 'for = 1.1.1.1', 'for="1.1.1.1', 'for=1.1.1.1;for=2.2.2.2', 'for=', '=a'].map(
      forwarded => [
        `the Forwarded ${forwarded}`,
        { says: { forwarded }, trusts: both, gives: 'HTTP_FORWARDING_INVALID' },
      ],
    ),
  ),
  // Both kinds.
  'both, for different fields': {
    says: { ...client, forwarded: 'proto=https;host=shop.test' },
    trusts: both,
    gives: '9.9.9.9 https://shop.test/x',
  },
  'both, which agree': {
    says: { ...edge, 'x-forwarded-port': '443', forwarded: 'for="9.9.9.9:80";proto=HTTPS;host=shop.test' },
    trusts: both,
    gives: '9.9.9.9 https://shop.test/x',
  },
  'both, and one that is none': { says: { ...client, forwarded: 'x' }, trusts: both, gives: 'HTTP_FORWARDING_INVALID' },
  ...Object.fromEntries(
    [
      ['for=_x', client],
      ['for=8.8.8.8', client],
      ['for=9.9.9.9, for=10.0.0.2', client],
      ['for=8.8.8.8, for=9.9.9.9', { 'x-forwarded-for': '7.7.7.7, 9.9.9.9' }],
      ['host=evil.test', edge],
      ['proto=http', edge],
      ['proto=https, proto=http', edge],
      ['host=shop.test', { 'x-forwarded-port': '8443' }],
      ['host="shop.test:8443"', { 'x-forwarded-port': '443' }],
    ].map(([forwarded, says]) => [
      `both: ${forwarded} and ${JSON.stringify(says)}`,
      { says: { ...(says as object), forwarded }, trusts: both, gives: 'HTTP_FORWARDING_CONFLICT' } as Case,
    ]),
  ),
}

/** The client and the URL of a request, or its error. */
function describe({ clientIp, problem, url }: Request): string {
  return problem === undefined ? `${clientIp} ${url}` : String((problem as { code?: unknown }).code)
}

t.test('the headers of a chain of trusted proxies are read', async t => {
  for (const [name, { gives, says, trusts }] of Object.entries(cases)) {
    const trustedProxies = new TrustedProxies(['10.0.0.0/8', '127.0.0.1'], trusts)
    const request = new Request({
      target: '/x',
      headers: { host: 'inner.test:8080', ...says },
      connection: { remoteAddress: '127.0.0.1' },
      trustedProxies,
    })
    t.equal(describe(request), gives, name)
  }
})

t.test('the same over a real server', async t => {
  const seen = createHandlerBundle({ '/x': request => Response.json(describe(request)) })
  const servers = new Map<string, number>()
  for (const [name, { gives, says, trusts = defaultTrustedHeaders }] of Object.entries(cases)) {
    const TRUSTED_HEADERS = trusts.join(', ')
    const port =
      servers.get(TRUSTED_HEADERS) ??
      (await startServer(t, { TRUSTED_PROXIES: '10.0.0.0/8, 127.0.0.1', TRUSTED_HEADERS }, [seen])).port
    servers.set(TRUSTED_HEADERS, port)
    const [status, answer] = await new Promise<[number | undefined, unknown]>((resolve, reject) => {
      const headers = { host: 'inner.test:8080', accept: 'application/json', ...says }
      const request = httpRequest({ port, host: '127.0.0.1', path: '/x', headers, agent: false }, response => {
        json(response).then(body => resolve([response.statusCode, body]), reject)
      })
      request.on('error', reject).end()
    })
    if (gives.startsWith('HTTP_')) t.equal(status, 400, name)
    else t.strictSame([status, answer], [200, gives], name)
  }
})

t.test('malformed headers are errors with header and value', async t => {
  const proxy = new TrustedProxies(['10.0.0.1'], both)
  const read = (headers: Record<string, string>) => () => proxy.read(new Headers(headers), '10.0.0.1')
  t.throws(read({ forwarded: 'host=a', 'x-forwarded-host': 'b' }), {
    code: 'HTTP_FORWARDING_CONFLICT',
    message:
      'The request has both a trusted "forwarded" header and a trusted "x-forwarded-host" header, and they differ.',
  })
  t.throws(read({ forwarded: 'host' }), {
    code: 'HTTP_FORWARDING_INVALID',
    message: 'The trusted header "forwarded" is malformed: "host".',
  })
  t.throws(read({ 'x-forwarded-prefix': '//evil.test' }), {
    message: 'The trusted header "x-forwarded-prefix" is malformed: "//evil.test".',
  })
})
