import { Request } from 'sinfonietta'
import { t } from 'tap'
import { findCrossOrigin, isOrigin } from '#lib/http/cors.ts'
import { TrustedProxies } from '#lib/http/trusted-proxies.ts'

const proxy = '10.0.0.1'
const trustedProxies = new TrustedProxies([proxy])

/** A way to an application, and its origin as a browser sees it. */
interface Way {
  readonly name: string
  readonly origin: string
  readonly headers: Record<string, string>
  readonly encrypted?: boolean
  readonly remoteAddress?: string
}

const ways: readonly Way[] = [
  { name: 'http', origin: 'http://shop.test', headers: { host: 'shop.test' } },
  { name: 'http with its port', origin: 'http://shop.test', headers: { host: 'shop.test:80' } },
  { name: 'http on a port', origin: 'http://shop.test:8000', headers: { host: 'shop.test:8000' } },
  { name: 'https', origin: 'https://shop.test', headers: { host: 'SHOP.test' }, encrypted: true },
  { name: 'https on a port', origin: 'https://shop.test:8443', headers: { host: 'shop.test:8443' }, encrypted: true },
  { name: 'IPv6', origin: 'http://[::1]:8000', headers: { host: '[::1]:8000' } },
  {
    name: 'a proxy',
    origin: 'https://shop.test',
    headers: { host: 'inside:8000', 'x-forwarded-host': 'shop.test', 'x-forwarded-proto': 'https' },
    remoteAddress: proxy,
  },
  {
    name: 'a proxy on a port',
    origin: 'https://shop.test:8443',
    headers: { host: 'shop.test', 'x-forwarded-port': '8443', 'x-forwarded-proto': 'https' },
    remoteAddress: proxy,
  },
]

const allowed = 'https://admin.test'

/** Origins that are not that of the way, for each way. */
function findForeign({ origin }: Way): string[] {
  const { hostname, port, protocol } = new URL(origin)
  const otherScheme = protocol === 'http:' ? 'https:' : 'http:'
  const other = port === '9999' ? '9998' : '9999'
  return [
    'null',
    '',
    'https://evil.test',
    `${otherScheme}//${hostname}${port && `:${port}`}`,
    `${protocol}//${hostname}:${other}`,
    `${protocol}//sub.${hostname.replace(/[[\]]/g, '')}`,
    `${origin}.evil.test`,
    `${origin}/`,
    `${origin}, ${origin}`,
    origin.toUpperCase(),
  ]
}

t.test('a request of another origin has a sign of it, by every way', async t => {
  const wrong: string[] = []
  let count = 0
  for (const way of ways) {
    const { encrypted = false, headers, name, remoteAddress = '192.0.2.1' } = way
    const expect = (sent: Record<string, string>, sign: 'sec-fetch-site' | 'origin' | undefined) => {
      const connection = { remoteAddress, encrypted }
      const request = new Request({ target: '/', headers: { ...headers, ...sent }, connection, trustedProxies })
      for (const origins of [[], [allowed]]) {
        const expected = sent.origin === origins[0] && origins.length > 0 ? undefined : sign
        const found = findCrossOrigin(request, origins)
        const isRight = found?.header === expected && found?.value === (expected && sent[expected])
        count++
        if (!isRight) wrong.push(`${name}, ${JSON.stringify(sent)}, [${origins}]: ${JSON.stringify(found)}`)
      }
    }
    for (const origin of [undefined, way.origin, allowed, ...findForeign(way)]) {
      const from: Record<string, string> = origin === undefined ? {} : { origin }
      expect(from, origin === undefined || origin === way.origin ? undefined : 'origin')
      for (const site of ['same-origin', 'none']) expect({ ...from, 'sec-fetch-site': site }, undefined)
      for (const site of ['same-site', 'cross-site', 'Same-Origin', 'same-origin, none', '']) {
        expect({ ...from, 'sec-fetch-site': site }, 'sec-fetch-site')
      }
    }
  }
  t.strictSame(wrong, [])
  t.equal(count, 8 * 13 * 8 * 2)
})

t.test('headers of a proxy that is not trusted do not change the origin', async t => {
  const headers = { host: 'inside:8000', 'x-forwarded-host': 'evil.test', origin: 'http://evil.test' }
  const request = new Request({ target: '/', headers, connection: { remoteAddress: '192.0.2.1' }, trustedProxies })
  t.strictSame(findCrossOrigin(request), { header: 'origin', value: 'http://evil.test' })
})

t.test('without a host no Origin is the own one', async t => {
  t.equal(findCrossOrigin(new Request({ target: '/', httpVersion: '1.0' })), undefined)
  t.ok(findCrossOrigin(new Request({ target: '/', headers: { origin: 'http://shop.test' } })))
})

t.test('an origin is written as browsers send it', async t => {
  for (const text of [
    'http://shop.test',
    'https://shop.test:8443',
    'http://[::1]:8000',
    'http://127.0.0.1',
    'capacitor://localhost',
  ]) {
    t.ok(isOrigin(text), text)
  }
  const others = [
    '',
    'null',
    '*',
    'shop.test',
    'https://shop.test/',
    'https://Shop.test',
    'http://shop.test:80',
    'https://*.shop.test/',
  ]
  for (const text of [...others, 'capacitor://localhost/', 'https://', 'https://bücher.test', undefined, 1, /a/]) {
    t.notOk(isOrigin(text), String(text))
  }
})
