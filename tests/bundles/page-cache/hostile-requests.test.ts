import { createFrameworkBundle, createPageCache, Response } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { until } from '#tests/support/until.ts'

type Attack = readonly [target: string, headers?: Readonly<Record<string, string>>, method?: string]

const evil = 'evil.example'

/** Requests that try to put something into the page that others get at `/page?a=1&b=2`. */
const attacks: readonly Attack[] = [
  ['/page?a=1&b=2', { host: evil }],
  ['/page?a=1&b=2', { host: 'localhost:1337' }],
  ['/page?a=1&b=2', { host: 'LOCALHOST' }],
  ['/page?a=1&b=2', { 'x-forwarded-host': evil }],
  ['/page?a=1&b=2', { 'X-Forwarded-Host': 'localhost', 'x-forwarded-server': evil }],
  ['/page?a=1&b=2', { 'x-forwarded-proto': 'nothttps' }],
  ['/page?a=1&b=2', { 'x-forwarded-scheme': 'nothttps' }],
  ['/page?a=1&b=2', { 'x-forwarded-port': '1337' }],
  ['/page?a=1&b=2', { 'x-forwarded-prefix': '/evil' }],
  ['/page?a=1&b=2', { 'x-forwarded-ssl': 'on' }],
  ['/page?a=1&b=2', { forwarded: `host=${evil};for=1.2.3.4` }],
  ['/page?a=1&b=2', { forwarded: `for="a;host=x";host=${evil}` }],
  ['/page?a=1&b=2', { 'x-host': evil }],
  ['/page?a=1&b=2', { 'x-original-url': '/admin' }],
  ['/page?a=1&b=2', { 'x-rewrite-url': '/admin' }],
  ['/page?a=1&b=2', { 'x-original-host': evil }],
  ['/page?a=1&b=2', { 'x-http-method-override': 'DELETE' }],
  ['/page?a=1&b=2', { 'x-method-override': 'POST' }],
  ['/page?b=2&a=1'],
  ['/page?a=1&b=2&'],
  ['/page?a=1&b=2&utm_content=evil'],
  ['/page?a=1;b=2'],
  ['/page?a=1%26b=2'],
  ['/page?A=1&b=2'],
  ['/page?a=1&b=2&_method=DELETE'],
  ['/pag%65?a=1&b=2'],
  ['//localhost/page?a=1&b=2'],
  ['http://evil.example/page?a=1&b=2'],
  ['/page/?a=1&b=2'],
  ['/page;x=1?a=1&b=2'],
  ['/page?a=1&b=2', {}, 'POST'],
  ['/page?a=1&b=2', {}, 'QUERY'],
  ['/page?a=1&b=2', {}, 'HEAD'],
  ['/page?a=1&b=2', { authorization: 'Basic ZXZpbA==' }],
  ['/page?a=1&b=2', { range: 'bytes=0-0' }],
  ['/page?a=1&b=2', { origin: `https://${evil}` }],
  ['/page?a=1&b=2', { 'accept-language': '<script>' }],
  ['/page?a=1&b=2', { 'x-debug-token': 'abcdef', 'x-request-id': 'f'.repeat(32) }],
]

t.test('no request puts anything into the page of another one', async t => {
  for (const trustedProxies of ['', '127.0.0.1']) {
    const pages = createPageCache()
    const { client, close } = await createTestKernel({
      variables: { APP_ENV: 'prod', TRUSTED_PROXIES: trustedProxies },
      bundles: [
        createFrameworkBundle({ methodOverride: true }),
        pages,
        {
          name: 'shop',
          register({ routes }) {
            const _cache = { sMaxAge: 60, vary: ['Accept-Language'] }
            routes.add({
              name: 'page',
              path: '/page',
              defaults: { _cache },
              // Careless: it shows all of its request, and declares one header.
              controller: ({ headers, method, origin, target, url }) => {
                const shown = [...headers].filter(([name]) => !['x-debug-token', 'x-request-id'].includes(name))
                const allowed = { 'access-control-allow-origin': headers.get('origin') ?? '*' }
                return Response.text(JSON.stringify({ method, origin, shown, target, url }), { headers: allowed })
              },
            })
          },
        },
      ],
    })
    t.teardown(close)
    const usual = async () => (await client.get('/page?a=1&b=2')).text
    const found: unknown[] = []
    for (const [target, headers = {}, method = 'GET'] of attacks) {
      await pages.clear()
      // A page of the millisecond of a purge is not stored.
      const now = Date.now()
      await until(() => Date.now() > now)
      // First: its answer must not be stored for others.
      const attack = () => client.request(method, target, { headers, ...(method === 'QUERY' && { body: 'x' }) })
      const { status, text } = await attack()
      const normal = await usual()
      const isPoisoned = /evil|1337|DELETE|nothttps|admin|script|ZXZpbA/.test(normal) || !normal.includes('"GET"')
      if (isPoisoned) found.push([target, headers, method, normal])
      // Nor does it get the page of others instead of its own.
      const again = await attack()
      // The page of requests without Origin is for all: the application lists the header only for others.
      const isOwn = method === 'HEAD' || status >= 400 || 'origin' in headers || again.text === text
      if (!isOwn) found.push(['not its own', target, headers, again.text])
    }
    t.strictSame(found, [])
    t.equal((await client.get('/page?a=1&b=2')).headers.get('age'), '0', 'the page was stored')
  }
})
