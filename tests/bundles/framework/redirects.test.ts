import { type Bundle, createFrameworkBundle, type Request } from 'sinfonietta'
import { createRequest, createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'

/** Pages in two languages, and what redirects to them. */
const shop: Bundle = {
  name: 'shop',
  register({ kernel, routes }) {
    routes.get('home', '/', request => request.redirectTo('item', { id: 7 }))
    routes.group({ prefix: '/:_locale', requirements: { _locale: /en|de/ } }, group => {
      const toItem = (request: Request) => request.redirectTo('item', { id: '7/8', sort: 'age' })
      group.get('item', '/items/*id', toItem)
      group.post('send', '/items', toItem)
      group.query('search', '/search', toItem)
      group.get('forwarded', '/forwarded', request => kernel.forward(request, toItem))
      group.post('back', '/back', request => request.redirectBack('item', { id: 1 }))
      group.get('again', '/again', request => request.redirectBack('item', { id: 1 }))
    })
    routes.get('lost', '/lost', request => request.redirectTo('itme'))
  },
}

t.test('a redirect to a route keeps the language, and is 303 after a method that is no GET', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), shop] })
  t.teardown(close)
  const asked = [
    ['GET', '/de/items/1', 302],
    ['HEAD', '/de/items/1', 302],
    ['POST', '/de/items', 303],
    ['QUERY', '/de/search', 303],
    ['GET', '/de/forwarded', 302],
  ] as const
  const found = await Promise.all(
    asked.map(async ([method, target]) => {
      const { headers, status } = await client.request(method, target)
      return [method, target, status, headers.get('location')]
    }),
  )
  const expected = asked.map(([method, target, status]) => [method, target, status, '/de/items/7/8?sort=age'])
  t.strictSame(found, expected)
  const { headers } = await client.get('/de/items/1', { headers: { 'x-forwarded-prefix': '/evil' } })
  t.equal(headers.get('location'), '/de/items/7/8?sort=age')
  t.equal((await client.get('/lost')).status, 500, 'an unknown route is an error')
  t.throws(() => createRequest('/').redirectTo('item'), { name: 'TypeError', message: /app\.urls/ })
})

t.test('the way back leads to another page of this site, never to another site', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), shop] })
  t.teardown(close)
  const otherwise = '/en/items/1'
  const referers = {
    'http://localhost/en/list?page=2#end': 'http://localhost/en/list?page=2',
    'http://localhost/': 'http://localhost/',
    'https://localhost/en/list': otherwise,
    'http://localhost:81/en/list': otherwise,
    'http://evil.example/en/list': otherwise,
    'http://localhost@evil.example/': otherwise,
    'http://localhost.evil.example/': otherwise,
    '//evil.example/': otherwise,
    '/en/list': otherwise,
    'javascript:alert(1)': otherwise,
    'data:text/html,x': otherwise,
    'blob:http://localhost/en/list': otherwise,
    'filesystem:http://localhost/en/list': otherwise,
    '': otherwise,
  }
  const found: Record<string, string | null> = {}
  for (const referer of Object.keys(referers)) {
    const { headers } = await client.post('/en/back', { headers: { referer, 'sec-fetch-site': 'same-origin' } })
    found[referer] = headers.get('location')
  }
  t.strictSame(found, referers)
  const { headers } = await client.get('/en/again', { headers: { referer: 'http://localhost/en/again' } })
  t.equal(headers.get('location'), otherwise, 'a page does not lead to itself')
  // A browser would read two slashes as another host.
  const slashes = await client.post('/en/back', { headers: { referer: 'http://localhost//evil.example/' } })
  t.equal(new URL(String(slashes.headers.get('location')), 'http://localhost/').host, 'localhost')
})
