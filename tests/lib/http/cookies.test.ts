import { type CookieOptions, Headers, setCookie } from 'sinfonietta'
import { t } from 'tap'

t.test('a cookie is HttpOnly, Lax and for the whole site by default', async t => {
  const headers = new Headers()
  setCookie(headers, 'a', 'b c')
  setCookie(headers, 'd', '', { maxAge: 0, httpOnly: false, sameSite: 'strict', secure: true, path: '/x' })
  t.strictSame(headers.getAll('set-cookie'), [
    'a=b%20c; Path=/; HttpOnly; SameSite=Lax',
    'd=; Max-Age=0; Path=/x; Secure; SameSite=Strict',
  ])
})

t.test('an option that is undefined has its default', async t => {
  const headers = new Headers()
  const absent = { maxAge: undefined, path: undefined, domain: undefined, secure: undefined, partitioned: undefined }
  // Applications without types write this.
  setCookie(headers, 'a', 'b', Object({ ...absent, httpOnly: undefined, sameSite: undefined }))
  t.equal(headers.get('set-cookie'), 'a=b; Path=/; HttpOnly; SameSite=Lax')
})

t.test('of cookies with the same name, path and domain the last one is sent', async t => {
  const headers = new Headers({ 'set-cookie': 'raw', Vary: 'Accept' })
  setCookie(headers, 'a', '1')
  setCookie(headers, 'b', '2')
  setCookie(headers, 'a', '3', { path: '/shop' })
  setCookie(headers, 'a', '4', { domain: 'example.com' })
  setCookie(headers, 'aa', '5')
  setCookie(headers, 'A', '6')
  const others = [
    'raw',
    'b=2; Path=/; HttpOnly; SameSite=Lax',
    'a=3; Path=/shop; HttpOnly; SameSite=Lax',
    'a=4; Domain=example.com; Path=/; HttpOnly; SameSite=Lax',
    'aa=5; Path=/; HttpOnly; SameSite=Lax',
    'A=6; Path=/; HttpOnly; SameSite=Lax',
  ]
  setCookie(headers, 'a', '7', { secure: true, maxAge: 0 })
  t.strictSame(headers.getAll('set-cookie'), [...others, 'a=7; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax'])
  setCookie(headers, 'a', '8', { domain: '.EXAMPLE.com' })
  t.equal(headers.getAll('set-cookie').filter(field => /example/i.test(field)).length, 1)
  t.throws(() => setCookie(headers, 'b', '2', { path: 'x;y' }), { code: 'ARGUMENT_INVALID' })
  t.ok(headers.getAll('set-cookie').includes('b=2; Path=/; HttpOnly; SameSite=Lax'), 'a mistake changes nothing')
  t.equal(headers.get('vary'), 'Accept')
  setCookie(headers, 'a', '9', { secure: true, partitioned: true })
  t.equal(
    headers.getAll('set-cookie').filter(field => /^a=[79]/.test(field)).length,
    2,
    'a partitioned cookie is another one',
  )
})

const secure = 'browsers then demand secure: true'
const httpOnly = 'browsers then demand httpOnly: true'
const anyPath = 'use a path such as "/" or "/shop"'
const anyHost = 'use a host such as "example.org"'
const longPath = `/${'p'.repeat(1024)}`
const longHost = 'label.'.repeat(171).slice(0, -1)

/**
 * Cookies that browsers ignore, or of which they ignore an attribute, with the option and the reason that the
 * message names. The sections are those of RFC 6265bis, and for `__Http-` of its successor, Layered Cookies.
 */
const refused: [section: string, name: string, options: object, reason: string][] = [
  ['4.1.1', '', {}, '"name" is "": use letters, digits and "-", "_" or "."'],
  ['4.1.1', 'a=b', {}, '"name" is "a=b": use letters, digits and "-", "_" or "."'],
  ['4.1.1', 'a;b', {}, '"name" is "a;b": use letters, digits and "-", "_" or "."'],
  ['4.1.1', 'ä', {}, '"name" is "ä": use letters, digits and "-", "_" or "."'],
  ['5.6 control characters', 'a\u0001', {}, '"name" is "a\\u0001": use letters, digits and "-", "_" or "."'],
  ['5.6 control characters', 'a', { path: '/\u0001' }, `"path" is "/\\u0001": ${anyPath}`],
  ['5.6 control characters', 'a', { path: '/\t' }, `"path" is "/\\t": ${anyPath}`],
  ['5.6 control characters', 'a', { domain: 'a.test\u007f' }, `"domain" is "a.test\u007f": ${anyHost}`],
  ['5.6 1,024 bytes', 'a', { path: longPath }, '"path" has 1025 bytes: browsers ignore more than 1024'],
  ['5.6 1,024 bytes', 'a', { domain: longHost }, '"domain" has 1025 bytes: browsers ignore more than 1024'],
  ['5.6.2 Max-Age', 'a', { maxAge: 1.5 }, '"maxAge" is 1.5: use whole seconds'],
  ['5.6.2 Max-Age', 'a', { maxAge: 1e21 }, '"maxAge" is 1e+21: use whole seconds'],
  ['5.6.2 Max-Age', 'a', { maxAge: Number.NaN }, '"maxAge" must be a number, not NaN'],
  ['5.6.2 Max-Age', 'a', { maxAge: Number.POSITIVE_INFINITY }, '"maxAge" is Infinity: use whole seconds'],
  ['5.6.3 Domain', 'a', { domain: 'https://a.test' }, `"domain" is "https://a.test": ${anyHost}`],
  ['5.6.3 Domain', 'a', { domain: 'a.test:8000' }, `"domain" is "a.test:8000": ${anyHost}`],
  ['5.6.3 Domain', 'a', { domain: 'a.test/' }, `"domain" is "a.test/": ${anyHost}`],
  ['5.6.3 Domain', 'a', { domain: '..a.test' }, `"domain" is "..a.test": ${anyHost}`],
  ['5.6.3 Domain', 'a', { domain: 'a.test.' }, `"domain" is "a.test.": ${anyHost}`],
  ['5.6.3 Domain', 'a', { domain: '*.a.test' }, `"domain" is "*.a.test": ${anyHost}`],
  ['5.6.3 Domain', 'a', { domain: ' ' }, `"domain" is " ": ${anyHost}`],
  ['5.6.3 Domain', 'a', { domain: 'bücher.test' }, `"domain" is "bücher.test": ${anyHost}`],
  ['5.6.3 Domain', 'a', { domain: '[::1]' }, `"domain" is "[::1]": ${anyHost}`],
  ['5.6.3 Domain', 'a', { domain: '300.1.1.1' }, `"domain" is "300.1.1.1": ${anyHost}`],
  ['5.6.4 Path', 'a', { path: '' }, `"path" is "": ${anyPath}`],
  ['5.6.4 Path', 'a', { path: 'x' }, `"path" is "x": ${anyPath}`],
  ['5.6.4 Path', 'a', { path: './x' }, `"path" is "./x": ${anyPath}`],
  ['5.6.4 Path', 'a', { path: ' /x' }, `"path" is " /x": ${anyPath}`],
  ['5.6.4 Path', 'a', { path: 'https://a.test/x' }, `"path" is "https://a.test/x": ${anyPath}`],
  ['5.6.4 Path', 'a', { path: '/x;y' }, `"path" is "/x;y": ${anyPath}`],
  ['5.1.4 no URL has the path', 'a', { path: '/ä' }, `"path" is "/ä": ${anyPath}`],
  ['5.1.4 no URL has the path', 'a', { path: '/a b' }, `"path" is "/a b": ${anyPath}`],
  ['5.1.4 no URL has the path', 'a', { path: '/a?b=1' }, `"path" is "/a?b=1": ${anyPath}`],
  ['5.1.4 no URL has the path', 'a', { path: '/a#b' }, `"path" is "/a#b": ${anyPath}`],
  ['5.1.4 no URL has the path', 'a', { path: '/a\\b' }, `"path" is "/a\\\\b": ${anyPath}`],
  ['5.6.7 SameSite', 'a', { sameSite: 'laxx' }, '"sameSite" is "laxx": use "strict", "lax" or "none"'],
  ['5.7 step 19, None', 'a', { sameSite: 'none' }, `"sameSite" is "none": ${secure}`],
  ['5.7 step 19, None', 'a', { sameSite: 'none', secure: false }, `"sameSite" is "none": ${secure}`],
  ['CHIPS', 'a', { partitioned: true }, `"partitioned" is true: ${secure}`],
  ['5.7 step 20, prefix', '__Secure-a', {}, `"name" is "__Secure-a": ${secure}`],
  ['5.7 step 20, prefix', '__sEcure-a', { secure: false }, `"name" is "__sEcure-a": ${secure}`],
  ['5.7 step 21, prefix', '__Host-a', {}, `"name" is "__Host-a": ${secure}`],
  ['5.7 step 21, prefix', '__HOST-a', {}, `"name" is "__HOST-a": ${secure}`],
  ['5.7 step 21, prefix', '__Host-', {}, `"name" is "__Host-": ${secure}`],
  [
    '5.7 step 21, prefix',
    '__Host-a',
    { secure: true, path: '/x' },
    '"name" is "__Host-a": browsers then demand the path "/", not "/x"',
  ],
  [
    '5.7 step 21, prefix',
    '__host-a',
    { secure: true, domain: 'a.test' },
    '"name" is "__host-a": browsers then allow no domain, such as "a.test"',
  ],
  ['Layered Cookies, prefix', '__Http-a', {}, `"name" is "__Http-a": ${secure}`],
  ['Layered Cookies, prefix', '__http-a', { secure: true, httpOnly: false }, `"name" is "__http-a": ${httpOnly}`],
  [
    'Layered Cookies, prefix',
    '__Host-Http-a',
    { secure: true, httpOnly: false },
    `"name" is "__Host-Http-a": ${httpOnly}`,
  ],
]

t.test('a cookie that browsers ignore is refused with its reason', async t => {
  const headers = new Headers()
  const messages = refused.map(([section, name, options]) => {
    try {
      setCookie(headers, name, 'x', options)
      return [section, name, 'nothing']
    } catch (error) {
      return [section, name, String(error)]
    }
  })
  t.strictSame(
    messages,
    refused.map(([section, name, , reason]) => [section, name, `ARGUMENT_INVALID: setCookie(): ${reason}.`]),
  )
  t.notOk(headers.has('set-cookie'))
})

t.test('the half of a surrogate pair in a value is refused, and the value is not in the message', async t => {
  const message = 'setCookie(): the value of "a" has half of a surrogate pair, which UTF-8 cannot represent.'
  t.throws(() => setCookie(new Headers(), 'a', 'hunter2\ud83d'), { code: 'ARGUMENT_INVALID', message })
})

t.test('name and value have 4,096 bytes at most, as they are sent (RFC 6265bis, section 5.6)', async t => {
  const sizes: [name: string, value: string, size: number][] = [
    ['n', 'x'.repeat(4095), 4096],
    ['n', 'x'.repeat(4096), 4097],
    ['n'.repeat(4096), '', 4096],
    ['n'.repeat(4097), '', 4097],
    ['n', 'ä'.repeat(682), 4093],
    ['n', 'ä'.repeat(683), 4099],
  ]
  for (const [name, value, size] of sizes) {
    const headers = new Headers()
    const set = () => setCookie(headers, name, value, { domain: 'example.org', path: '/shop' })
    if (size <= 4096) {
      set()
      t.equal(String(headers.get('set-cookie')).indexOf(';') - 1, size)
    } else t.throws(set, { code: 'HTTP_COOKIE_TOO_LARGE', message: `has ${size} bytes` })
  }
})

t.test('a cookie that browsers take is sent, however unusual it is', async t => {
  const sent: [name: string, options: CookieOptions, attributes: string][] = [
    ['__Host-a', { secure: true }, 'Path=/; HttpOnly; Secure; SameSite=Lax'],
    ['__Host-Http-a', { secure: true, domain: '' }, 'Path=/; HttpOnly; Secure; SameSite=Lax'],
    ['__host-b', { secure: true, httpOnly: false, path: '/' }, 'Path=/; Secure; SameSite=Lax'],
    [
      '__Secure-a',
      { secure: true, path: '/x', domain: '.A.test' },
      'Domain=.A.test; Path=/x; HttpOnly; Secure; SameSite=Lax',
    ],
    ['__Secure', {}, 'Path=/; HttpOnly; SameSite=Lax'],
    ['a__Host-', {}, 'Path=/; HttpOnly; SameSite=Lax'],
    ['!#$,"', {}, 'Path=/; HttpOnly; SameSite=Lax'],
    [
      'a',
      { sameSite: 'none', secure: true, partitioned: true },
      'Path=/; HttpOnly; Secure; Partitioned; SameSite=None',
    ],
    ['c', { maxAge: -1 }, 'Max-Age=-1; Path=/; HttpOnly; SameSite=Lax'],
    ['d', { maxAge: 1e15 }, 'Max-Age=1000000000000000; Path=/; HttpOnly; SameSite=Lax'],
    ['a', { domain: '127.0.0.1' }, 'Domain=127.0.0.1; Path=/; HttpOnly; SameSite=Lax'],
    ['a', { domain: 'xn--bcher-kva.test' }, 'Domain=xn--bcher-kva.test; Path=/; HttpOnly; SameSite=Lax'],
    ['a', { path: "/~a!$&'()*+,=:@%20-._/[^]|" }, "Path=/~a!$&'()*+,=:@%20-._/[^]|; HttpOnly; SameSite=Lax"],
    ['a', { path: longPath.slice(0, 1024) }, `Path=${longPath.slice(0, 1024)}; HttpOnly; SameSite=Lax`],
  ]
  const headers = new Headers()
  for (const [name, options] of sent) setCookie(headers, name, 'x', options)
  t.strictSame(
    headers.getAll('set-cookie').map(field => field.slice(field.indexOf(';') + 2)),
    sent.map(([, , attributes]) => attributes),
  )
})
