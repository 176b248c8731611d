import { EventEmitter } from 'node:events'
import fc from 'fast-check'
import { Request } from 'sinfonietta'
import { t } from 'tap'
import { parseHost } from '#lib/http/request-target.ts'
import { TrustedProxies, trustableHeaders } from '#lib/http/trusted-proxies.ts'
import { Session } from '#lib/session/session.ts'
import { MemorySessionStore } from '#lib/session/session-store.ts'
import { anyCharacter } from '#tests/support/sample.ts'

t.test('a target is split at its first question mark; the path is decoded once', async t => {
  const request = new Request({ target: '/caf%C3%A9/%2541?a=1?b=%20', headers: { host: 'Localhost:8000' } })
  t.equal(request.method, 'GET')
  t.equal(request.path, '/café/%41')
  t.equal(request.rawPath, '/caf%C3%A9/%2541')
  t.equal(request.queryString, 'a=1?b=%20')
  t.equal(request.query.get('a'), '1?b= ')
  t.equal(new Request({ target: '/?a=%C2%FE' }).query.get('a'), '\ufffd\ufffd', 'bytes that are not UTF-8')
  t.equal(request.url, 'http://localhost:8000/caf%C3%A9/%2541?a=1?b=%20')
  t.equal(request.problem, undefined)
})

t.test('a text of a request leaves out its connection, which may lead back to the request', t => {
  const connection: { remoteAddress: string; socket?: unknown } = { remoteAddress: '127.0.0.1' }
  connection.socket = connection
  const request = new Request({ target: '/a', connection })
  t.equal(request.connection, connection)
  t.match(JSON.parse(JSON.stringify(request)), { method: 'GET', target: '/a', connection: undefined })
  t.end()
})

t.test('nothing is normalised: dots, double slashes and matrix parameters stay', async t => {
  for (const target of ['//', '/a/../b', '/./a', '/a;v=1', '///x//']) t.equal(new Request({ target }).path, target)
})

t.test('the absolute form gives a path and a host, which the Host header may only repeat', async t => {
  const read = (target: string, host?: string) => new Request({ target, headers: host === undefined ? {} : { host } })
  t.equal(read('http://a.test/b?c', 'a.test').url, 'http://a.test/b?c')
  t.equal(read('http://a.test/b?c').url, 'http://a.test/b?c')
  t.equal(read('HTTP://A.test:8000').url, 'http://a.test:8000/')
  t.equal(read('http://a.test?b').path, '/')
  t.equal(new Request({ target: '*', method: 'OPTIONS' }).path, '*')
  for (const [target, host] of [
    ['http://a.test:80/', 'A.test'],
    ['https://a.test/', 'a.test:443'],
    ['http://[::1]:8000/', '[::1]:8000'],
  ] as const) {
    t.equal(read(target, host).problem, undefined, `${target} ${host}`)
  }
  for (const [target, host] of [
    ['http://a.test/', 'b.test'],
    ['http://a.test:8000/', 'a.test'],
    ['http://a.test/', 'a.test:443'],
  ] as const) {
    const { hostname, problem } = read(target, host)
    t.match(problem, { code: 'HTTP_HOST_CONFLICT', status: 400 }, `${target} ${host}`)
    t.equal(hostname, '')
  }
  for (const target of ['http://f:b/c', 'http://a\\b', 'http://user@a.test/', 'http://a.test#b', 'https://a b/']) {
    t.match(read(target).problem, { code: 'HTTP_HOST_INVALID', status: 400 }, target)
  }
  t.match(read('http://a.test/', 'bad host').problem, { code: 'HTTP_HOST_INVALID' })
  t.equal(
    read('http://a.test/').duplicate({ target: '/b' }).url,
    'http://a.test/b',
    'a sub-request is for the same host',
  )
})

t.test('a malformed target is a problem, not an exception', async t => {
  for (const target of [
    '/%zz',
    '/%',
    '/%c0%af',
    '/%ed%a0%80',
    '/a%00',
    '/a#b',
    '/\\evil',
    '/é',
    '/a b',
    'ftp://h/a',
    'a',
    '*',
    '*/',
    'http://',
    'http:///a',
    '',
    '/a\x01',
  ]) {
    const request = new Request({ target })
    t.hasStrict(request.problem, { code: 'HTTP_TARGET_INVALID', status: 400 }, JSON.stringify(target))
    t.equal(request.path, target)
    t.equal(request.queryString, '')
  }
  const ofLength = (length: number) => new Request({ target: `/${'a'.repeat(length - 1)}` })
  t.equal(ofLength(8192).problem, undefined)
  t.match(ofLength(8193).problem, { code: 'HTTP_TARGET_TOO_LONG', status: 414 })
})

t.test('any target gives a request, with a path or a problem', async t => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 40 }), text => {
      const request = new Request({ target: `/${text}`, headers: { host: 'localhost' } })
      t.ok(request.problem === undefined || request.problem.status === 400)
      t.type(request.url, 'string')
    }),
  )
})

t.test('a Host header is a name or an address, and a port', async t => {
  const hosts: [string, unknown][] = [
    ['localhost', { name: 'localhost' }],
    ['LOCALHOST:8000', { name: 'localhost', port: 8000 }],
    ['localhost:', { name: 'localhost' }],
    ['localhost.', { name: 'localhost' }],
    ['a_b.example-x.org', { name: 'a_b.example-x.org' }],
    ['[::1]:80', { name: '[::1]', port: 80 }],
    ['127.0.0.1', { name: '127.0.0.1' }],
  ]
  for (const [value, host] of hosts) t.strictSame(parseHost(value), host, value)
  const bad = [
    '',
    'bad host',
    'a/b',
    'user@a',
    '[::1',
    '....',
    'a..b',
    '//a',
    'a:99999',
    'a:1x',
    'a%00',
    '"<script>"',
    'ｌｏｃａｌ',
    'a'.repeat(256),
  ]
  for (const value of bad) t.equal(parseHost(value), undefined, value)
})

t.test('an invalid or repeated Host is a problem', async t => {
  const bad = new Request({ target: '/', headers: { host: 'bad host' } })
  t.match(bad.problem, { code: 'HTTP_HOST_INVALID', message: 'Invalid Host "bad host".', status: 400 })
  t.equal(bad.hostname, '')
  const repeated = new Request({
    target: '/',
    headers: [
      ['host', 'a'],
      ['Host', 'a'],
    ],
  })
  t.hasStrict(repeated.problem, { code: 'HTTP_HOST_REPEATED', status: 400 })
})

t.test('a request without a Host has a URL without an origin', async t => {
  const request = new Request({ target: '/a' })
  t.equal(request.origin, '')
  t.equal(request.url, '/a')
  t.equal(request.problem, undefined)
})

t.test('the origin leaves out the port of the scheme', async t => {
  const origin = (host: string, encrypted: boolean) =>
    new Request({ target: '/', headers: { host }, connection: { encrypted } }).origin
  t.equal(origin('a:80', false), 'http://a')
  t.equal(origin('a:443', false), 'http://a:443')
  t.equal(origin('a:443', true), 'https://a')
  t.equal(origin('a:80', true), 'https://a:80')
  const portOf = (headers: Record<string, string>, encrypted = false) =>
    new Request({ target: '/', headers, connection: { encrypted } }).port
  t.equal(portOf({ host: 'a:8000' }), 8000)
  t.equal(portOf({ host: 'a' }), 80)
  t.equal(portOf({}, true), 443)
})

t.test('cookies are parsed with the first access; the first of a name counts', async t => {
  const request = new Request({ target: '/', headers: { cookie: 'a=1; b=%20x; a=2; __proto__=p; c' } })
  t.strictSame(
    [...request.cookies],
    [
      ['a', '1'],
      ['b', ' x'],
      ['__proto__', 'p'],
    ],
  )
  t.equal(request.cookies, request.cookies)
  t.equal(new Request({ target: '/' }).cookies.size, 0)
})

t.test('several Cookie fields are one list (RFC 9113, section 8.2.3)', async t => {
  const { cookies, headers } = new Request({
    target: '/',
    headers: [
      ['cookie', 'a=1'],
      ['Cookie', 'session=s; b="2, 3"'],
      ['cookie', 'a=4'],
    ],
  })
  t.equal(headers.get('COOKIE'), 'a=1; session=s; b="2, 3"; a=4')
  t.strictSame(
    [...cookies],
    [
      ['a', '1'],
      ['session', 's'],
      ['b', '"2, 3"'],
    ],
  )
})

t.test('the address of an unknown peer is "unknown"', async t => {
  const request = new Request({ target: '/' })
  t.equal(request.peerAddress, 'unknown')
  t.equal(request.clientIp, 'unknown')
  t.equal(request.scheme, 'http')
})

t.test('a duplicate shares all but the attributes', async t => {
  const request = new Request({
    target: '/a?b=1',
    method: 'POST',
    headers: { host: 'localhost', 'x-a': '1' },
    connection: { remoteAddress: '10.0.0.1' },
  })
  request.attributes.set('_route', 'a')
  const same = request.duplicate()
  const other = request.duplicate({ method: 'GET', target: '/c' })
  t.equal(same.method, 'POST')
  t.equal(same.url, 'http://localhost/a?b=1')
  t.equal(same.attributes.size, 0)
  t.equal(same.clientIp, '10.0.0.1')
  t.equal(same.requestedStopwatch, undefined)
  same.stopwatch.start('inner')
  t.equal(same.requestedStopwatch, same.stopwatch)
  t.strictSame(request.stopwatch.events(), [], 'it has its own stopwatch')
  t.equal(same.body, request.body)
  t.equal(same.hasBody, false)
  t.equal(other.method, 'GET')
  t.equal(other.url, 'http://localhost/c')
  t.equal(other.headers.get('x-a'), '1')
})

t.test('a duplicate takes no path, and no other options', t => {
  const request = new Request({ target: '/' })
  const mistakes: [changes: object, message: RegExp][] = [
    ['/b' as never, /its options are an object with method, target, not .*/],
    [{ path: '/b' }, /there is no option "path"/],
    [{ target: 7 }, /"target" must be a string, not a number/],
  ]
  for (const [changes, message] of mistakes) {
    t.throws(() => request.duplicate(changes), { code: 'ARGUMENT_INVALID', message })
  }
  t.end()
})

t.test('a duplicate has the language of its request', async t => {
  const request = new Request({ target: '/' })
  request.attributes.set('_locale', 'de')
  request.attributes.set('_format', 'json')
  t.strictSame([...request.duplicate({ target: '/b' }).duplicate().attributes], [['_locale', 'de']])
})

t.test('the signal is aborted when the reply is closed before it was sent', t => {
  const create = (init: { destroyed: boolean; writableFinished: boolean }) => {
    const reply = Object.assign(new EventEmitter(), init)
    return { reply, request: new Request({ target: '/', reply }) }
  }
  const left = create({ destroyed: false, writableFinished: false })
  const { signal } = left.request
  t.equal(left.request.duplicate().signal, signal, 'that of the main request')
  t.equal(signal.aborted, false)
  left.reply.emit('close')
  t.equal(signal.aborted, true)
  t.equal(create({ destroyed: true, writableFinished: false }).request.signal.aborted, true, 'too late to listen')
  const sent = create({ destroyed: false, writableFinished: true })
  t.equal(sent.request.signal.aborted, false)
  sent.reply.emit('close')
  t.equal(sent.request.signal.aborted, false)
  t.equal(new Request({ target: '/' }).signal.aborted, false)
  t.end()
})

t.test('the id is one for the request and its sub-requests, and is given before it is read', async t => {
  const request = new Request({ target: '/' })
  t.equal(request.duplicate().id, request.id)
  const id = request.id
  request.provideId('late')
  t.equal(request.id, id)
  const ids = Array.from({ length: 200 }, () => new Request({ target: '/' }).id)
  t.equal(new Set([id, ...ids]).size, 201)
  t.ok(ids.every(other => /^[\da-f]{32}$/.test(other)))
  const traced = new Request({ target: '/' })
  for (const unsafe of ['', 'a b', 'a\r\nb', 'x'.repeat(129)]) traced.provideId(unsafe)
  traced.provideId('trace')
  t.equal(traced.id, 'trace')
  const proxied = new Request({
    target: '/',
    headers: { 'x-request-id': 'proxy' },
    connection: { remoteAddress: '10.0.0.1' },
    trustedProxies: new TrustedProxies(['10.0.0.1'], ['x-request-id']),
  })
  proxied.provideId('trace')
  t.equal(proxied.id, 'proxy')
})

t.test('a session must have been provided to the request', async t => {
  const request = new Request({ target: '/' })
  t.equal(request.requestedSession, undefined)
  t.throws(() => request.session, {
    message:
      'This request has no session yet. In an application, createFrameworkBundle() gives it one at the priority 128 of kernel.request: use it in a listener with a lower priority. In a test, use createRequest(path, { session: {} }).',
  })
  const session = new Session({ store: new MemorySessionStore(), times: { lifetime: 60, idleTime: 60 } })
  request.provideSession(() => session)
  t.equal(request.requestedSession, undefined, 'it is made when it is asked for')
  const sub = request.duplicate()
  t.equal(sub.requestedSession, undefined)
  t.equal(sub.session, session, 'and shared with sub-requests')
  t.equal(sub.requestedSession, session)
  t.equal(request.session, session)
})

t.test('a request without a body has an empty one', async t => {
  t.equal(await new Request({ target: '/' }).text(), '')
  t.strictSame([...(await new Request({ target: '/' }).formData())], [])
  await t.rejects(new Request({ target: '/' }).json(), { code: 'BODY_JSON_INVALID' })
})

t.test('forwarding headers count only from a trusted proxy', async t => {
  const headers = {
    host: 'internal:8000',
    'x-forwarded-for': '203.0.113.9, 10.0.0.2',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'www.example.org',
  }
  const connection = { remoteAddress: '10.0.0.1' }
  const trustedProxies = new TrustedProxies(['10.0.0.0/8'])
  const trusted = new Request({ target: '/a', headers, connection, trustedProxies })
  t.equal(trusted.url, 'https://www.example.org/a')
  t.equal(trusted.clientIp, '203.0.113.9')
  const untrusted = new Request({ target: '/a', headers, connection })
  t.equal(untrusted.url, 'http://internal:8000/a')
  t.equal(untrusted.clientIp, '10.0.0.1')
})

t.test('a forwarded host is checked like any other, and conflicting headers are a problem', async t => {
  const connection = { remoteAddress: '10.0.0.1' }
  const trustedProxies = new TrustedProxies(['10.0.0.1'])
  const bad = new Request({ target: '/', headers: { 'x-forwarded-host': 'a/b' }, connection, trustedProxies })
  t.hasStrict(bad.problem, { code: 'HTTP_HOST_INVALID' })
  const headers = { forwarded: 'for=203.0.113.1', 'x-forwarded-for': '203.0.113.2' }
  const believing = new TrustedProxies(['10.0.0.1'], trustableHeaders)
  const torn = new Request({ target: '/', headers, connection, trustedProxies: believing })
  t.hasStrict(torn.problem, { code: 'HTTP_FORWARDING_CONFLICT', status: 400 })
})

t.test('a programming error is not taken for a bad request', async t => {
  const trustedProxies = {
    read: () => {
      throw new TypeError('bug')
    },
  } as unknown as TrustedProxies
  t.throws(() => new Request({ target: '/', trustedProxies }), { message: 'bug' })
})

t.test('an early hint must be a link, and is an attribute of the request', async t => {
  const request = new Request({ target: '/' })
  const broken = ['</a>;\r\nX:y', '</a>\r\n;x', '</\u010d\u010aX:y>', '</a>; rel=\u010a', '</a\0>']
  const slow = `</a>${';a=b'.repeat(5_000)} !`
  for (const link of ['/app.css', '</a b>', '</a>\r\nX: y', '</a\r\nX: y>; rel=preload', '', slow, ...broken]) {
    t.throws(() => request.sendEarlyHints([link]), { code: 'HTTP_HINT_INVALID' }, link)
  }
  request.sendEarlyHints(['</a>; rel=preload; as="style"'])
  request.sendEarlyHints(['</b>'])
  t.strictSame(request.attributes.get('_early_hints'), ['</a>; rel=preload; as="style"', '</b>'])
})
