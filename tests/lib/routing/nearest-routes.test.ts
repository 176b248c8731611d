import assert from 'node:assert'
import fc from 'fast-check'
import { t } from 'tap'
import { NearestRoutes } from '#lib/routing/nearest-routes.ts'
import type { RouteDefinition } from '#lib/routing/route.ts'
import { RouteCollection } from '#lib/routing/route-collection.ts'
import { correctSlash } from '#lib/routing/route-matcher.ts'
import { probeRoutes, type RequestInit, request } from './probe-routes.ts'

function near(definitions: Iterable<RouteDefinition>): NearestRoutes {
  const routes = new RouteCollection()
  for (const definition of definitions) routes.add(definition)
  return new NearestRoutes(routes)
}

function nearPaths(...paths: string[]): (target: string) => string[] {
  const routes = near(paths.map(path => ({ name: path, path, controller: 1 })))
  return target => routes.find(request(`GET ${target}`), paths.length).map(({ path }) => path)
}

const probes = near(probeRoutes)

t.test('each reason has the words of Symfony', async t => {
  function texts(line: string, name: string, init?: Partial<RequestInit>): string {
    const found = probes.find(request(line, init), probes.size).find(route => route.name === name)
    return `${found?.reason}: ${found?.text}`
  }
  t.equal(texts('GET /item/1', 'item'), 'match: Route matches!')
  t.equal(texts('GET /nothing', 'item'), 'path: Path does not match')
  t.equal(texts('GET /slash', 'slash'), 'slash: Path almost matches, but for the slash at its end')
  t.equal(texts('GET /item/a', 'item'), 'requirement: Requirement for "id" does not match (\\d+)')
  t.equal(texts('GET /item/a/', 'item'), 'path: Path does not match')
  t.equal(
    texts('POST /multi', 'multi_put'),
    'method: Path almost matches, but Method "POST" does not match any of the required methods (PUT, DELETE)',
  )
  t.equal(
    texts('GET /hosted', 'hosted'),
    'host: Host "127.0.0.1" does not match the requirement ("admin.example.test")',
  )
  t.equal(texts('GET /secure', 'secure'), 'scheme: Scheme "http" does not match any of the required schemes (https)')
  t.match(texts('GET /cond', 'cond'), /^condition: Condition "request => .*" does not evaluate to "true"$/)
})

t.test('a condition that throws counts as false', async t => {
  const condition = () => {
    throw new Error('no')
  }
  const [found] = near([{ name: 'a', path: '/a', controller: 1, condition }]).find(request('GET /a'), 1)
  t.equal(found?.reason, 'condition')
})

t.test('routes with one failing check come before all routes with another path', async t => {
  const routes = near([
    { name: 'alike', path: '/pagee', controller: 1 },
    { name: 'requirement', path: '/:id', controller: 1, requirements: { id: /\d+/ } },
    { name: 'host', path: '/page', controller: 1, host: 'a.test' },
    { name: 'condition', path: '/page', controller: 1, condition: () => false },
    { name: 'slash', path: '/page/', controller: 1 },
    { name: 'scheme', path: '/page', controller: 1, schemes: ['https'] },
    { name: 'method', path: '/page', controller: 1, methods: ['POST'] },
    { name: 'match', path: '/page', controller: 1 },
  ])
  t.strictSame(
    routes.find(request('GET /page'), 20).map(({ name }) => name),
    ['match', 'method', 'scheme', 'slash', 'condition', 'host', 'requirement', 'alike'],
  )
})

t.test('paths that look alike come first', async t => {
  const site = nearPaths(
    '/',
    '/admin/users/:id/edit',
    '/blog/archive',
    '/star-photo-booth',
    '/partnership',
    '/item{/:id}',
  )
  for (const [target, expected] of Object.entries({
    '/star-photo-both': '/star-photo-booth',
    '/star-poto-bth': '/star-photo-booth',
    '/STAR-photo-booth': '/star-photo-booth',
    '/partnershpi': '/partnership',
    '/blog/archives': '/blog/archive',
    '/archive': '/blog/archive',
    '/blog/archive/2024': '/blog/archive',
    '/en/blog/archive': '/blog/archive',
    '/admin/user/7/edit': '/admin/users/:id/edit',
    '/users/7/edit': '/admin/users/:id/edit',
    '/items/7': '/item{/:id}',
    '/itm': '/item{/:id}',
    '/?a=1': '/',
  })) {
    t.equal(site(target)[0], expected, target)
  }
})

t.test('the same text is nearer than a variable, and of equals the one tried first comes first', async t => {
  t.strictSame(nearPaths('/:a/x', '/page/x', '/:b/x')('/page/y'), ['/page/x', '/:a/x', '/:b/x'])
})

t.test('a route is similar if at most half of the path would have to change, or only one check fails', async t => {
  const similar = (path: string, ...routes: readonly string[]) =>
    near(routes.map((path, index) => ({ name: `r${index}`, path, methods: ['GET'], controller: () => undefined })))
      .findSimilar(request(path), 20)
      .map(route => route.path)
  t.strictSame(similar('GET /nowhere/5', '/blog/:slug', '/:lang/about', '/:a/:b/:c', '/_error/:code', '/'), [])
  t.strictSame(similar('GET /login', '/admin', '/signin', '/logins'), ['/logins'])
  t.strictSame(similar('GET /produkt/a-long-word', '/product/:id'), ['/product/:id'])
  t.strictSame(similar('GET /users/5/edit', '/orders', '/users/:id'), ['/users/:id'])
  t.strictSame(similar('GET /blog', '/blog/:slug'), ['/blog/:slug'])
  t.strictSame(similar('POST /x', '/x', '/y'), ['/x'], 'the method')
})

t.test('only the nearest routes are found, with their place in the order', async t => {
  const found = probes.find(request('GET /noslsh'), 2)
  t.hasStrict(found, [{ name: 'noslash', path: '/noslash', reason: 'path', text: 'Path does not match' }, {}])
  t.equal(found.length, 2)
  t.equal([...probeRoutes].filter(({ priority = 0 }) => priority > 0).length, 1)
  t.equal(
    found[0]?.position,
    probeRoutes.findIndex(({ name }) => name === 'noslash') + 2,
    'the one of priority is first',
  )
})

t.test('the short cuts do not change the result', async t => {
  const routes = new RouteCollection()
  for (const definition of probeRoutes) routes.add(definition)
  const segment = fc.constantFrom('item', 'itm', '7', 'a', 'multi', 'slash', 'prio', 'static', 'utf', 'é', 'secure', '')
  const target = fc.array(segment, { maxLength: 4 }).map(segments => `/${segments.map(encodeURIComponent).join('/')}`)
  const property = fc.property(fc.constantFrom('GET', 'POST'), target, fc.nat(25), (method, target, limit) => {
    const sent = request(`${method} ${target}`)
    const all = probes.find(sent, probes.size)
    assert.deepStrictEqual(probes.find(sent, limit), all.slice(0, limit))
    for (const { name, reason } of all) {
      const route = routes.find(name)
      const isTaken = (path: string) => route?.path.match(path)?.names !== undefined
      const outcome = route?.evaluate(sent).outcome
      assert.strictEqual(reason, outcome === 'path' && correctSlash(sent.path).some(isTaken) ? 'slash' : outcome, name)
    }
  })
  t.doesNotThrow(() => fc.assert(property))
})

t.test('endless paths are compared by their beginning', async t => {
  const paths = nearPaths('/a', '/aaaa', `/${'a/'.repeat(40)}b`)
  t.strictSame(paths(`/${'a/'.repeat(4000)}`).length, 3)
  t.strictSame(paths(`/${'a'.repeat(8000)}`)[0], '/aaaa')
})
