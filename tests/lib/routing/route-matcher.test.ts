import fc from 'fast-check'
import { Request } from 'sinfonietta'
import { t } from 'tap'
import { describeHiddenRoute, findHiddenRoutes } from '#lib/routing/hidden-routes.ts'
import type { RouteDefinition, RouteMethod, RouteScheme } from '#lib/routing/route.ts'
import { RouteCollection } from '#lib/routing/route-collection.ts'
import { applySlash, correctSlash, type RouteMatch, RouteMatcher, trimSlashes } from '#lib/routing/route-matcher.ts'
import { probeRoutes, type RequestInit, request } from './probe-routes.ts'

function collect(definitions: Iterable<RouteDefinition>): RouteCollection {
  const routes = new RouteCollection()
  for (const definition of definitions) routes.add(definition)
  return routes
}

/** One line for each outcome. */
function toLine(match: RouteMatch): string {
  if (match.outcome === 'not-found') return `404 ${match.path}`
  if (match.outcome === 'method-not-allowed') return `405 ${match.allow.join(', ')}`
  const said = `${match.route.name} ${JSON.stringify(match.parameters)}`
  return match.outcome === 'redirect' ? `301 ${match.location} ${said}` : said
}

const probes = new RouteMatcher(collect(probeRoutes))

function probe(line: string, init?: Partial<RequestInit>): string {
  return toLine(probes.match(request(line, init)))
}

t.test('requests get the routes that Symfony gives them', async t => {
  for (const [line, expected] of Object.entries({
    'GET /item': 'item {"id":"7"}',
    'GET /item/12': 'item {"id":"12"}',
    'GET /item/12abc': '404 /item/12abc',
    'POST /item/abc': '404 /item/abc',
    'POST /item/12': '405 GET, HEAD',
    'PATCH /multi': '405 GET, PUT, DELETE',
    'DELETE /multi': 'multi_put {}',
    'HEAD /multi': 'multi_get {}',
    'GET /prio/static': 'prio_variable {"x":"static"}',
    'GET /prio2/q': 'prio2_second {"y":"q"}',
    'GET /slug/hello': 'slug {"_format":"html","slug":"hello"}',
    'GET /slug/x.json': 'slug {"_format":"json","slug":"x"}',
    'GET /slug/hello.txt': '404 /slug/hello.txt',
    'GET /slug/a.b.xml': '404 /slug/a.b.xml',
    'GET /u/a%20b': 'u {"name":"a b"}',
    'GET /u/a+b': 'u {"name":"a+b"}',
    'GET /u/a%2Fb': '404 /u/a%2Fb',
    'GET /caf%C3%A9/': '404 /caf%C3%A9',
    'GET /ok%0d%0aSet-Cookie:%20a=b': '404 /ok%0d%0aSet-Cookie:%20a=b',
    'GET /utf/%C3%A9': 'utf {}',
    'GET /%6eoslash': 'noslash {}',
    'GET /NOSLASH': '404 /NOSLASH',
    'GET //noslash': '404 //noslash',
    'GET /./noslash': '404 /./noslash',
    'GET /a/../noslash': '404 /a/../noslash',
    'GET /noslash;v=1': '404 /noslash;v=1',
    'GET /wild/a/b/': 'wild {"rest":"a/b/"}',
    'GET /wild': '404 /wild',
    'GET /opt': 'opt {"a":"A","b":"B"}',
    'GET /opt/x': 'opt {"a":"x","b":"B"}',
    'GET /opt/x/y': 'opt {"a":"x","b":"y"}',
    'GET /post-only': '405 POST',
    'GET http://evil.test/noslash': 'noslash {}',
    'OPTIONS *': '404 *',
  })) {
    t.equal(probe(line), expected, line)
  }
})

t.test('a missing or superfluous slash at the end is corrected for GET and HEAD', async t => {
  const origin = 'http://127.0.0.1:8000'
  for (const [line, expected] of Object.entries({
    'GET /slash': `301 ${origin}/slash/ slash {}`,
    'HEAD /slash': `301 ${origin}/slash/ slash {}`,
    'GET /slash?a=1&a=%zz?': `301 ${origin}/slash/?a=1&a=%zz? slash {}`,
    'GET /slash//': `301 ${origin}/slash/ slash {}`,
    'GET /noslash/': `301 ${origin}/noslash noslash {}`,
    'GET /noslash///': `301 ${origin}/noslash noslash {}`,
    'GET /noslash%2F/%2f': `301 ${origin}/noslash noslash {}`,
    'GET /%6eoslash/': `301 ${origin}/%6eoslash noslash {}`,
    'GET /opt/': `301 ${origin}/opt opt {"a":"A","b":"B"}`,
    'GET /u/bob/': `301 ${origin}/u/bob u {"name":"bob"}`,
    'POST /noslash/': '404 /noslash',
    'POST /slash': '404 /slash',
    'GET /slashpost': '404 /slashpost',
    'GET /slashpost/': '405 POST',
    'GET /open/': '404 /open',
    'GET /robots.txt': '404 /robots.txt',
    'GET /': '404 /',
    'GET //': '404 //',
  })) {
    t.equal(probe(line), expected, line)
  }
})

t.test('a host is compared without case and port', async t => {
  const at = (host: string) => ({ headers: { host } })
  t.equal(probe('GET /hosted'), '404 /hosted')
  t.equal(probe('POST /hosted', at('example.test')), '404 /hosted')
  t.equal(probe('GET /hosted', at('ADMIN.example.test:81')), 'hosted {}')
  t.equal(probe('GET /hostparam', at('foo.example.test')), 'hostparam {"sub":"foo"}')
  t.equal(probe('GET /hostparam', at('f00.example.test')), '404 /hostparam')
})

t.test('the wrong scheme is corrected for GET and HEAD, at its default port', async t => {
  t.equal(probe('GET /secure?a=1'), '301 https://127.0.0.1/secure?a=1 secure {}')
  t.equal(probe('HEAD /secure/'), '301 https://127.0.0.1/secure secure {}')
  t.equal(probe('POST /secure'), '404 /secure')
  t.equal(probe('GET /secure', { connection: { encrypted: true } }), 'secure {}')
  const plain = new RouteMatcher(collect([{ name: 'a', path: '/a', controller: 1, schemes: ['http'] }]))
  const sent = request('GET /a', { connection: { encrypted: true } })
  t.equal(toLine(plain.match(sent)), '301 http://127.0.0.1/a a {}')
})

t.test('a route of the right scheme is preferred, and a redirect leads to an answer', async t => {
  const schemes: RouteScheme[] = ['https']
  const routes = collect([
    { name: 'secure', path: '/a', controller: 1, schemes },
    { name: 'plain', path: '/a', controller: 1 },
    { name: 'post', path: '/b', controller: 1, schemes, methods: ['POST'] },
    { name: 'other', path: '/c', controller: 1, schemes },
    { name: 'other_post', path: '/c', controller: 1, methods: ['POST'] },
  ])
  const line = (text: string) => toLine(new RouteMatcher(routes).match(request(text)))
  t.equal(line('GET /a'), 'plain {}')
  t.equal(line('GET /b'), '404 /b', 'GET would not be answered there either')
  t.equal(line('GET /c'), '301 https://127.0.0.1/c other {}', 'rather than 405')
})

t.test('a condition is the last check of the path', async t => {
  t.equal(probe('GET /cond'), '404 /cond')
  t.equal(probe('GET /cond', { headers: { host: 'localhost', 'x-probe': 'yes' } }), 'cond {}')
})

t.test('no redirect leads to another host', async t => {
  const routes = new RouteMatcher(collect([{ name: 'all', path: '/*rest/', controller: 1 }]))
  t.match(toLine(routes.match(request('GET //evil.test'))), '301 http://127.0.0.1:8000//evil.test/')
  t.equal(toLine(routes.match(request('GET //evil.test', { headers: {} }))), '404 //evil.test', 'none without a host')
})

t.test('parameters are free of a prototype, and those of fixed routes are shared', async t => {
  const routes = new RouteMatcher(
    collect([
      { name: 'any', path: '/any/:__proto__', controller: 1 },
      { name: 'fixed', path: '/fixed', controller: 1, defaults: { _format: 'json' } },
    ]),
  )
  const any = routes.match(request('GET /any/x'))
  t.ok(any.outcome === 'match' && Object.getPrototypeOf(any.parameters) === null)
  t.ok(any.outcome === 'match' && Object.hasOwn(any.parameters, '__proto__'))
  const fixed = routes.match(request('GET /fixed'))
  t.ok(fixed.outcome === 'match' && fixed.parameters === fixed.route.defaults)
})

t.test('a matcher knows the routes that existed when it was created', async t => {
  const routes = new RouteCollection()
  const matcher = new RouteMatcher(routes)
  routes.add({ name: 'late', path: '/late', controller: 1 })
  t.equal(matcher.match(request('GET /late')).outcome, 'not-found')
})

t.test('a path of slashes and segments without end is looked up as any other', async t => {
  for (const path of ['/a'.repeat(2000), '/'.repeat(4000), `${'/'.repeat(4000)}a`, `/opt${'/x'.repeat(2000)}`]) {
    t.equal(probe(`GET ${path}`), `404 ${trimSlashes(path) || path}`)
  }
})

t.test('slashes at the end are corrected in decoded and sent paths alike', async t => {
  t.same(['/', '//', '', '/a', '/a/', '/a//'].map(correctSlash), [[], [], [], ['/a/'], ['/a'], ['/a', '/a/']])
  t.equal(applySlash('/a%2F%2f/', '/a'), '/a')
  t.equal(applySlash('/a%252F/', '/a%2F'), '/a%252F')
  t.equal(applySlash('/a%2f', '/a/'), '/a/')
})

// --- The fast matcher gives the same result as the slow one
// ------------------------------------------------------------

/** A route table as data, so that the slow matcher below needs neither patterns nor regular expressions. */
interface Model {
  /** `a` is fixed, `:` any segment, `#` one of digits. */
  readonly segments: readonly string[]
  /** How many of the last segments are optional. */
  readonly optional: number
  readonly end: '' | '/' | '/*rest'
  readonly methods: readonly RouteMethod[] | undefined
  readonly host: 'a.test' | ':sub.test' | undefined
  readonly schemes: readonly RouteScheme[] | undefined
  readonly needsHeader: boolean
  readonly priority: number
}

const words = ['a', 'b', 'api', '1']
const methods: RouteMethod[] = ['GET', 'POST', 'HEAD']
const often = <value>(value: fc.Arbitrary<value>) => fc.option(value, { nil: undefined, freq: 2 })

const model: fc.Arbitrary<Model> = fc
  .record({
    segments: fc.array(fc.constantFrom(...words, ...words, ':', '#'), { maxLength: 4 }),
    optional: fc.nat(2),
    end: fc.constantFrom<Model['end'][]>('', '', '', '/', '/*rest'),
    methods: often(fc.subarray(methods, { minLength: 1 })),
    host: fc.constantFrom<Model['host'][]>(undefined, undefined, 'a.test', ':sub.test'),
    schemes: fc.constantFrom<Model['schemes'][]>(undefined, undefined, undefined, ['https'], ['http']),
    needsHeader: fc.constantFrom(false, false, true),
    priority: fc.constantFrom(0, 0, 0, 1),
  })
  .map(made => ({ ...made, optional: made.end === '' ? Math.min(made.optional, made.segments.length - 1) : 0 }))
  .map(made => ({ ...made, optional: Math.max(0, made.optional) }))

const sent = fc.record({
  method: fc.constantFrom('GET', 'GET', 'POST', 'HEAD', 'PUT'),
  path: fc
    .tuple(fc.array(fc.constantFrom(...words, 'c', '42'), { maxLength: 5 }), fc.constantFrom('', '', '/', '//'))
    .map(([segments, end]) => `/${segments.join('/')}${end}`),
  host: fc.constantFrom('a.test', 'b.test', 'b.test:81', 'other', ''),
  encrypted: fc.boolean(),
  hasHeader: fc.boolean(),
})

function toDefinition(made: Model, index: number): RouteDefinition {
  const parts = made.segments.map((segment, at) => (segment === ':' || segment === '#' ? `/:v${at}` : `/${segment}`))
  const required = parts.slice(0, parts.length - made.optional).join('')
  const tail = parts.slice(parts.length - made.optional).reduceRight((inner, part) => `{${part}${inner}}`, '')
  const numbers = made.segments.flatMap((segment, at) => (segment === '#' ? [[`v${at}`, '\\d+']] : []))
  return {
    name: `r${index}`,
    path: `${required}${tail}${made.end}` || '/',
    controller: undefined,
    requirements: Object.fromEntries(numbers),
    priority: made.priority,
    ...(made.methods && { methods: made.methods }),
    ...(made.host && { host: made.host }),
    ...(made.schemes && { schemes: made.schemes }),
    ...(made.needsHeader && { condition: (request: Request) => request.headers.has('x-probe') }),
  }
}

type Variables = Record<string, string> & { sub?: string }

/** Reads the path segment by segment. */
function takesPath(made: Model, path: string): Variables | undefined {
  const variables: Variables = {}
  let rest = path
  for (const [at, segment] of made.segments.entries()) {
    if (rest === '' && at >= made.segments.length - made.optional) return variables
    if (!rest.startsWith('/')) return undefined
    const next = `${rest}/`.indexOf('/', 1)
    const value = rest.slice(1, next)
    rest = rest.slice(next)
    if (segment === ':' || segment === '#') {
      if (value === '' || (segment === '#' && !/^\d+$/.test(value))) return undefined
      variables[`v${at}`] = value
    } else if (value !== segment) return undefined
  }
  if (made.end === '/*rest')
    return rest.length > 1 && rest.startsWith('/') ? { ...variables, rest: rest.slice(1) } : undefined
  return rest === (made.segments.length === 0 ? '/' : made.end) ? variables : undefined
}

/** Tries every route in order. */
function findSlowly(models: readonly Model[], request: Request): string {
  const inOrder = models
    .map((made, index) => ({ made, name: `r${index}` }))
    .sort((a, b) => b.made.priority - a.made.priority)
  const tryAll = (path: string, scheme: RouteScheme) => {
    const allow: string[] = []
    for (const { made, name } of inOrder) {
      const variables = takesPath(made, path)
      if (variables === undefined) continue
      if (made.host === 'a.test' && request.hostname !== 'a.test') continue
      if (made.host === ':sub.test') {
        if (!request.hostname.endsWith('.test')) continue
        variables.sub = request.hostname.slice(0, -5)
      }
      if (made.needsHeader && !request.headers.has('x-probe')) continue
      if (made.schemes && !made.schemes.includes(scheme)) continue
      const isReadAsGet = request.method === 'HEAD' && made.methods?.includes('GET')
      if (!made.methods || isReadAsGet || made.methods.some(method => method === request.method)) {
        return { said: `${name} ${JSON.stringify(variables)}`, allow }
      }
      allow.push(...made.methods)
    }
    return { allow }
  }

  const { path, scheme } = request
  const exact = tryAll(path, scheme)
  if (exact.said !== undefined) return exact.said
  const trimmed = path.replace(/\/+$/, '')
  if (['GET', 'HEAD'].includes(request.method) && request.hostname !== '') {
    const other = scheme === 'http' ? 'https' : 'http'
    const corrected = trimmed === '' ? [] : trimmed === path ? [`${path}/`] : [trimmed, `${trimmed}/`]
    for (const candidate of [path, ...corrected]) {
      const here = tryAll(candidate, scheme).said
      if (here !== undefined) return `301 ${request.origin}${candidate}?q=1 ${here}`
      const there = tryAll(candidate, other).said
      if (there !== undefined) return `301 ${other}://${request.hostname}${candidate}?q=1 ${there}`
    }
  }
  return exact.allow.length > 0 ? `405 ${[...new Set(exact.allow)].join(', ')}` : `404 ${trimmed || path}`
}

t.test('a look-up gives the same result as trying every route in order, and never a hidden route', async t => {
  let hiddenRoutes = 0
  const outcomes = { match: 0, redirect: 0, 'method-not-allowed': 0, 'not-found': 0 }
  fc.assert(
    fc.property(
      fc.array(model, { maxLength: 12 }),
      fc.array(sent, { minLength: 70, maxLength: 70 }),
      (models, requests) => {
        const routes = collect(models.map(toDefinition))
        const matcher = new RouteMatcher(routes)
        const hidden = findHiddenRoutes(routes)
        hiddenRoutes += hidden.length
        for (const { method, path, host, encrypted, hasHeader } of requests) {
          const request = new Request({
            method,
            target: `${path}?q=1`,
            headers: { ...(host && { host }), ...(hasHeader && { 'x-probe': 'yes' }) },
            connection: { encrypted },
          })
          const match = matcher.match(request)
          outcomes[match.outcome]++
          const isHidden = hidden.some(
            ({ methods, route }) =>
              match.outcome === 'match' &&
              match.route === route &&
              (methods.length === 0 || methods.includes(request.method)),
          )
          if (isHidden) throw new Error(`${request.method} ${request.url} reaches a route that is called hidden`)
          if (toLine(match) !== findSlowly(models, request)) {
            throw new Error(`${request.method} ${request.url}: ${toLine(match)}, not ${findSlowly(models, request)}`)
          }
        }
      },
    ),
    { numRuns: 500 },
  )
  const total = Object.values(outcomes).reduce((sum, count) => sum + count)
  t.ok(total >= 30_000, `${total} look-ups`)
  t.ok(hiddenRoutes > 50, `${hiddenRoutes} hidden routes`)
  for (const [outcome, count] of Object.entries(outcomes)) t.ok(count > total / 100, `${outcome}: ${count}`)
})

t.test('a route that another one hides is found, with the methods for which it is', async t => {
  const controller = () => undefined
  const condition = () => true
  const hidden = (...definitions: Partial<RouteDefinition>[]) => {
    const named = definitions.map((other, index) => ({ name: 'abc'[index] ?? '', path: '/x', controller, ...other }))
    return findHiddenRoutes(collect(named)).map(({ by, methods, route }) =>
      [route.name, by.name, methods.join()].join(' '),
    )
  }
  t.strictSame(hidden({}, {}), ['b a '])
  t.strictSame(hidden({}, { priority: 1 }), ['a b '])
  t.strictSame(hidden({ methods: ['GET'] }, { methods: ['GET'] }, { methods: ['POST'] }), ['b a '])
  t.strictSame(hidden({ methods: ['GET'] }, { methods: ['GET', 'POST'] }), ['b a GET'])
  t.strictSame(hidden({ methods: ['GET'] }, {}), ['b a GET'])
  t.strictSame(hidden({ path: '/x/:id/*rest' }, { path: '/x/:slug/*more' }), ['b a '])
  t.strictSame(hidden({ path: '/x/:"odd name"' }, { path: '/x/:id' }), ['b a '])
  const numbers = { id: /\d+/ }
  t.strictSame(hidden({ path: '/x/:id', requirements: numbers }, { path: '/x/:id' }), [])
  t.strictSame(hidden({ path: '/x/:id', requirements: numbers }, { path: '/x/:id', requirements: numbers }), ['b a '])
  t.strictSame(hidden({ path: '/x/:id' }, { path: '/x/:id', requirements: numbers }), ['b a '], 'less strict')
  t.strictSame(hidden({ path: '/x' }, { path: '/y' }), [])
  t.strictSame(hidden({ path: '/x/:id' }, { path: '/x/new' }), ['b a '], 'a variable in the place of a text')
  t.strictSame(hidden({ path: '/x/:id', requirements: numbers }, { path: '/x/new' }), [])
  t.strictSame(hidden({ path: '/x/new' }, { path: '/x/:id' }), [])
  t.strictSame(hidden({ path: '{/:l}/x' }, { path: '/x' }), ['b a '], 'an optional part')
  t.strictSame(hidden({ path: '/x' }, { path: '{/:l}/x' }), [])
  t.strictSame(hidden({ path: '/x/:id{/:more}' }, { path: '/x/:id' }), ['b a '])
  t.strictSame(hidden({ path: '/x/:id/a' }, { path: '/x/:id/b' }), [])
  t.strictSame(hidden({ path: '/x/:id/a' }, { path: '/x/y:id' }), [])
  t.strictSame(hidden({ path: '/*all' }, { path: '/x' }, { path: '/y/:id{/:more}' }), ['b a ', 'c a '], 'the rest')
  t.strictSame(hidden({ path: '/*all', requirements: { all: /a/ } }, { path: '/y/:id' }), [])
  t.strictSame(hidden({ path: '/x/*all' }, { path: '/y/:id' }), [])
  t.strictSame(hidden({ path: '/x/*a/y' }, { path: '/x/:b/y' }), ['b a '], 'a wildcard in the place of a variable')
  t.strictSame(hidden({ path: '/x/:a/y' }, { path: '/x/*b/y' }), [])
  t.strictSame(hidden({ condition }, {}), [])
  t.strictSame(hidden({ condition }, { condition }), ['b a '])
  t.strictSame(hidden({}, { condition }), ['b a '])
  t.strictSame(hidden({ host: 'a.example' }, {}), [])
  t.strictSame(hidden({ host: 'a.example' }, { host: 'b.example' }), [])
  t.strictSame(hidden({ host: ':tenant.example' }, { host: ':owner.example' }), ['b a '])
  t.strictSame(hidden({ host: ':tenant.example' }, { host: 'a.example' }), ['b a '])
  t.strictSame(hidden({ schemes: ['https'] }, {}), [])
  t.strictSame(hidden({ schemes: ['https'] }, { schemes: ['http'] }), [])
  t.strictSame(hidden({ schemes: ['https'] }, { schemes: ['https'] }), ['b a '])
})

t.test('a hidden route is described in a sentence', t => {
  const controller = () => undefined
  const both = collect([
    { name: 'a', path: '/x', methods: ['GET', 'PUT'], controller },
    { name: 'b', path: '/x', controller },
  ])
  const sentence = 'The route "b" (/x) is never reached by GET, PUT: "a" (/x) matches the same paths, and comes first'
  t.strictSame(findHiddenRoutes(both).map(describeHiddenRoute), [sentence])
  t.end()
})
