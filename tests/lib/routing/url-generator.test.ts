import fc from 'fast-check'
import { Request } from 'sinfonietta'
import { t } from 'tap'
import { TrustedProxies } from '#lib/http/trusted-proxies.ts'
import type { RouteDefinition } from '#lib/routing/route.ts'
import { RouteCollection } from '#lib/routing/route-collection.ts'
import { RouteMatcher } from '#lib/routing/route-matcher.ts'
import type { UrlParameters } from '#lib/routing/route-names.ts'
import { UrlGenerator, type UrlOptions } from '#lib/routing/url-generator.ts'
import { anyCharacter } from '#tests/support/sample.ts'
import { probeRoutes } from './probe-routes.ts'

const routes = new RouteCollection()
for (const definition of probeRoutes) routes.add(definition)
const probes = new UrlGenerator(routes)

const page = new Request({ target: '/', headers: { host: 'a.test:8000' } })

function only(
  path: string,
  more: Partial<RouteDefinition> = {},
): (parameters?: UrlParameters, options?: UrlOptions) => string {
  const collection = new RouteCollection()
  collection.add({ name: 'only', path, controller: undefined, ...more })
  return (parameters, options) => new UrlGenerator(collection).generate('only', parameters, options)
}

t.test('variables are filled in and encoded', async t => {
  t.equal(probes.generate('noslash'), '/noslash')
  t.equal(probes.generate('item', { id: 12 }), '/item/12')
  t.equal(probes.generate('u', { name: 'a b?#%&é+;' }), '/u/a%20b%3F%23%25&%C3%A9+;')
  t.equal(probes.generate('utf'), '/utf/%C3%A9')
  t.equal(probes.generate('wild', { rest: 'a b/c/' }), '/wild/a%20b/c/')
  t.equal(only('/:big/:yes')({ big: 10n, yes: true }), '/10/true')
})

t.test('optional parts that only repeat defaults are left out', async t => {
  t.equal(probes.generate('item', { id: 7 }), '/item')
  t.equal(probes.generate('item'), '/item')
  t.equal(probes.generate('opt', { a: 'A', b: 'B' }), '/opt')
  t.equal(probes.generate('opt', { a: 'x' }), '/opt/x')
  t.equal(probes.generate('opt', { b: 'y' }), '/opt/A/y')
  t.equal(probes.generate('slug', { slug: 'hello' }), '/slug/hello')
  t.equal(probes.generate('slug', { slug: 'hello', _format: 'json' }), '/slug/hello.json')
  t.equal(only('/a{/:b}')(), '/a')
  t.equal(only('/:lang/a', { defaults: { lang: 'en' } })(), '/en/a')
})

t.test('of several forms the shortest that is read the same way is taken', async t => {
  t.equal(only('/a{/:b}{/:c}', { defaults: { b: 'B' } })({ c: 'x' }), '/a/B/x')
  t.equal(only('/a{/:b}{/:c}', { requirements: { b: /\d/, c: /[a-z]/ } })({ c: 'x' }), '/a/x')
})

t.test('other parameters become the query', async t => {
  t.equal(probes.generate('item', { id: 1, q: 'a b&c', page: 2 }), '/item/1?q=a+b%26c&page=2')
  t.equal(probes.generate('noslash', { tags: ['a', 'b'], none: undefined, nil: null }), '/noslash?tags=a&tags=b')
  t.equal(only('/list', { defaults: { page: 1 } })({ page: 1, size: 5 }), '/list?size=5')
  t.throws(() => probes.generate('noslash', { q: {} }), { code: 'ROUTE_PARAMETER_INVALID' })
})

t.test('a fragment comes behind the query', async t => {
  t.equal(probes.generate('noslash', { _fragment: 'comments' }), '/noslash#comments')
  t.equal(probes.generate('noslash', { _fragment: 'a b#é?/%', page: 2 }), '/noslash?page=2#a%20b%23%C3%A9?/%25')
  t.equal(probes.generate('item', { id: 12, _fragment: 7 }), '/item/12#7')
  for (const none of [undefined, null, '']) t.equal(probes.generate('noslash', { _fragment: none }), '/noslash')
  t.equal(probes.generate('noslash', { _fragment: 'a\ud800' }), '/noslash#a%EF%BF%BD')
  t.throws(() => probes.generate('noslash', { _fragment: {} }), { code: 'ROUTE_PARAMETER_INVALID' })
  t.equal(only('/:_fragment')({ _fragment: 'a' }), '/a', 'a variable of this name comes first')
})

t.test('an alias generates the URLs of its route, and is reported once', async t => {
  const reported: string[] = []
  const collection = new RouteCollection()
  collection.add({ name: 'book', path: '/books/:id', controller: undefined, aliases: ['item', 'thing'] })
  const urls = new UrlGenerator(collection, { onAlias: (alias, { name }) => void reported.push(`${alias}: ${name}`) })
  t.equal(urls.generate('book', { id: 1 }), '/books/1')
  t.strictSame(reported, [])
  for (const name of ['item', 'thing', 'item']) t.equal(urls.generate(name, { id: 2 }), '/books/2')
  t.strictSame(reported, ['item: book', 'thing: book'])
  t.equal(new UrlGenerator(collection).generate('item', { id: 3 }), '/books/3')
})

t.test('a link leads to a page of the same language', async t => {
  const german = new Request({ target: '/', headers: { host: 'a.test' } })
  german.attributes.set('_locale', 'de')
  const book = only('{/:_locale}/book', { defaults: { _locale: 'en' }, requirements: { _locale: 'en|de' } })
  t.equal(book({}, { request: german }), '/de/book')
  t.equal(book({ _locale: 'en' }, { request: german }), '/book')
  t.equal(book({}, { request: page }), '/book')
  t.equal(book(), '/book')
  t.equal(only('/book')({}, { request: german }), '/book', 'only for a variable of the route')
  t.equal(only('/:lang')({ lang: 'fr' }, { request: german }), '/fr')
  const { attributes: _, ...place } = {
    scheme: 'http',
    hostname: 'a.test',
    origin: 'http://a.test',
    attributes: 1,
  } as const
  t.equal(book({}, { request: place }), '/book')
})

t.test('without a request, a URL begins with the address of the application', async t => {
  const at = (address: string) => new UrlGenerator(routes, { address })
  const shop = at('https://example.org:8443/shop')
  t.equal(shop.generate('noslash', {}, { absolute: true }), 'https://example.org:8443/shop/noslash')
  t.equal(shop.generate('noslash'), '/shop/noslash')
  t.equal(shop.generate('secure'), '/shop/secure')
  t.equal(shop.generate('noslash', {}, { absolute: true, request: page }), 'http://a.test:8000/noslash')
  t.equal(at('http://example.org').generate('secure', { q: 1 }), 'https://example.org/secure?q=1')
  t.equal(at('http://example.org').generate('hosted'), 'http://admin.example.test/hosted')
})

t.test('an absolute URL has the origin of the request', async t => {
  t.equal(probes.generate('noslash', {}, { absolute: true, request: page }), 'http://a.test:8000/noslash')
  t.equal(probes.generate('noslash', {}, { request: page }), '/noslash')
})

t.test('a URL begins with the base path of a trusted proxy', async t => {
  const headers = { host: 'a.test', 'x-forwarded-prefix': '/shop/' }
  const connection = { remoteAddress: '10.0.0.1' }
  const request = new Request({ target: '/', headers, connection, trustedProxies: new TrustedProxies(['10.0.0.1']) })
  t.equal(probes.generate('noslash', {}, { request }), '/shop/noslash')
  t.equal(probes.generate('item', { id: 12 }, { absolute: true, request }), 'http://a.test/shop/item/12')
})

t.test('a route of another scheme is absolute, at the default port', async t => {
  t.equal(probes.generate('secure', {}, { request: page }), 'https://a.test/secure')
  t.equal(probes.generate('secure'), '/secure', 'without a request nothing is known to differ')
  const secured = new Request({ target: '/', headers: { host: 'a.test:8443' }, connection: { encrypted: true } })
  t.equal(probes.generate('secure', {}, { request: secured }), '/secure')
  t.equal(probes.generate('secure', {}, { request: secured, absolute: true }), 'https://a.test:8443/secure')
})

t.test('a route with a host is absolute', async t => {
  t.equal(probes.generate('hosted', {}, { request: page }), 'http://admin.example.test:8000/hosted')
  t.equal(probes.generate('hostparam', { sub: 'foo' }, { request: page }), 'http://foo.example.test:8000/hostparam')
  const secure = only('/a', { host: 'b.test', schemes: ['https'] })
  t.equal(secure({}, { request: page }), 'https://b.test/a')
})

t.test('no value leads to another host', async t => {
  t.equal(only('/*rest')({ rest: '/evil.test' }), '/%2Fevil.test')
  const tenant = only('/a', { host: ':sub.a.test' })
  for (const sub of ['evil/', 'evil:80', 'user@evil', 'a b', 'Upper', '', 'a.b']) {
    t.throws(() => tenant({ sub }, { request: page }), { code: 'ROUTE_PARAMETER_INVALID' }, sub)
  }
})

t.test('a URL that cannot be absolute is an error', async t => {
  const expected = {
    code: 'ROUTE_ORIGIN_UNKNOWN',
    message:
      'The URL of the route "noslash" must be absolute, but there is no request with a host: pass the request, or set APP_URL, such as https://example.org.',
  }
  t.throws(() => probes.generate('noslash', {}, { absolute: true }), expected)
  t.throws(() => probes.generate('noslash', {}, { absolute: true, request: new Request({ target: '/' }) }), expected)
  t.throws(() => probes.generate('hosted'), { code: 'ROUTE_ORIGIN_UNKNOWN' })
})

t.test('a URL does not depend on the URLs that the generator has made before', t => {
  const collection = new RouteCollection()
  for (const path of ['/', '/a b', '/c/:x', '/d{/:x}']) {
    for (const scheme of [undefined, 'https', 'http'] as const) {
      for (const host of [undefined, 'b.test']) {
        const more = { ...(scheme && { schemes: [scheme] }), ...(host && { host }) }
        collection.add({
          name: `${path} ${scheme} ${host}`,
          path,
          controller: undefined,
          defaults: { x: '1' },
          ...more,
        })
      }
    }
  }
  const connection = fc.record({ remoteAddress: fc.constantFrom('10.0.0.1', '10.0.0.2'), encrypted: fc.boolean() })
  const headers = fc.record(
    {
      host: fc.constantFrom('a.test', 'a.test:8000', 'b.test', 'b.test:443'),
      'x-forwarded-prefix': fc.constantFrom('/shop', '/blog'),
      'x-forwarded-proto': fc.constantFrom('http', 'https'),
    },
    { requiredKeys: [] },
  )
  const trustedProxies = new TrustedProxies(['10.0.0.1'])
  const request = fc
    .record({ connection, headers })
    .map(parts => new Request({ target: '/', ...parts, trustedProxies }))
  const parameters = fc.record(
    { x: fc.constantFrom('1', '2', 'é'), q: fc.constantFrom('1', 'a b') },
    { requiredKeys: [] },
  )
  const options = fc.record({ absolute: fc.boolean(), request }, { requiredKeys: [] })
  const warm = new UrlGenerator(collection)
  const attempt = (generator: UrlGenerator, call: Parameters<UrlGenerator['generate']>) => {
    try {
      return generator.generate(...call)
    } catch (error) {
      return String(error)
    }
  }
  const seen = new Set<string>()
  fc.assert(
    fc.property(fc.constantFrom(...collection.names), parameters, options, (...call) => {
      const url = attempt(warm, call)
      seen.add(url)
      return url === attempt(new UrlGenerator(collection), call)
    }),
    { numRuns: 2000 },
  )
  t.ok(seen.size > 50, `${seen.size} different URLs`)
  t.end()
})

t.test('an unknown route is an error with the nearest names', async t => {
  const message = (name: string) => {
    try {
      return probes.generate(name)
    } catch (error) {
      return error instanceof Error ? error.message : ''
    }
  }
  t.equal(message('prio_statik'), 'There is no route "prio_statik"; the nearest is "prio_static".')
  t.equal(message('slsh'), 'There is no route "slsh"; the nearest is "slash".')
  t.equal(message('something-else'), 'There is no route "something-else".')
  t.throws(() => probes.generate(''), { code: 'ROUTE_UNKNOWN', status: 500 })
})

t.test('all missing parameters are named at once', async t => {
  const make = only('/:a/:b{/:c{/:d}}', { host: ':e.test' })
  const missing = (parameters: UrlParameters, names: string) =>
    t.throws(() => make(parameters, { request: page }), {
      code: 'ROUTE_PARAMETER_MISSING',
      message: `The URL of the route "only" cannot be generated without ${names}.`,
    })
  missing({}, '"a", "b", "e"')
  missing({ a: 1, d: 2, b: null }, '"b", "c", "e"')
  missing({ a: 1, b: 1, e: undefined }, '"e", which is undefined')
  missing({ a: 1, b: 1, E: 2 }, '"e"; its path has no "E"')
  t.throws(() => only('/:constructor')({}), { code: 'ROUTE_PARAMETER_MISSING' })
  t.throws(() => only('/:locale')({}), { message: 'without "locale": only a variable "_locale" is carried on' })
})

t.test('a value that a request would not give back is an error', async t => {
  const invalid = (parameters: UrlParameters, name: string, reason: string) =>
    t.throws(() => probes.generate(name, parameters), { code: 'ROUTE_PARAMETER_INVALID', message: reason })
  invalid({ id: 'abc' }, 'item', 'these parameters: "abc" is no value for "id" (\\d+).')
  invalid({ id: [1] }, 'item', '"id" is neither a text nor a number')
  invalid({ name: 'a/b' }, 'u', '"/u/a/b" would be read as something else')
  invalid({ name: '' }, 'u', '"/u/" would be read as something else')
  invalid({ slug: 'a.b' }, 'slug', '"a.b" is no value for "slug" ([^.]+)')
  for (const name of ['.', '..', '\0', '\ud800']) invalid({ name }, 'u', 'would be read as something else')
  for (const rest of ['../x', 'a/../x', 'a/.', '..']) invalid({ rest }, 'wild', 'would be read as something else')
  t.equal(probes.generate('wild', { rest: '.../.a/b.' }), '/wild/.../.a/b.')
})

t.test('a generated URL matches the same route and parameters', async t => {
  const collection = new RouteCollection()
  const patterns = [
    '/a/:x',
    '/b/:x{.:y}',
    '/c{/:x{/:y}}',
    '/d{/:x}{/:y}',
    '/e/*x',
    '/f/*x/g/*y',
    '/h/:x-:y{/}',
    '/i/:x{/*y}',
  ]
  for (const path of patterns) {
    const defaults = { x: 'dx', y: '7' }
    collection.add({ name: path, path, controller: undefined, defaults })
    collection.add({ name: `${path} https`, path: `/s${path}`, controller: undefined, schemes: ['https'], defaults })
    const requirements = { y: '\\d+' }
    const host = ':z.example.test'
    if (path.includes(':y'))
      collection.add({ name: `${path} host`, path, controller: undefined, host, requirements, priority: 1 })
  }
  const generator = new UrlGenerator(collection)
  const matcher = new RouteMatcher(collection)
  const value = fc.oneof(
    fc.constantFrom('a', 'B', '7', '12', 'dx', 'x-y', 'x.y', 'a/b', '/', 'é ü', '%2F', '..', '', '?#', 'g/h/g'),
    fc.string({ unit: anyCharacter, maxLength: 6 }),
    fc.integer(),
  )
  const given = fc.record({ x: value, y: value, z: value }, { requiredKeys: [] })
  let made = 0
  fc.assert(
    fc.property(fc.constantFrom(...collection.names), given, (name, { z, ...parameters }) => {
      const isHosted = name.endsWith('host')
      let url: string
      try {
        url = generator.generate(name, isHosted ? { ...parameters, z } : parameters, { request: page, absolute: true })
      } catch (error) {
        return /^ROUTE_PARAMETER_/.test(error instanceof Error ? error.name : '')
      }
      made++
      const [, scheme, host, target = ''] = /^(https?):\/\/([^/]+)(.*)$/.exec(url) ?? []
      const request = new Request({
        target,
        headers: { host: String(host) },
        connection: { encrypted: scheme === 'https' },
      })
      const match = matcher.match(request)
      if (request.problem !== undefined || match.outcome !== 'match' || match.route.name !== name) return false
      const wanted: UrlParameters = { ...match.route.defaults, ...parameters, z }
      const variables = [...match.route.path.names, ...(match.route.host?.names ?? [])]
      return variables.every(name => String(match.parameters[name]) === String(wanted[name]))
    }),
    { numRuns: 5000 },
  )
  t.ok(made > 1000, `${made} URLs`)
})
