import { type Bundle, type CorsPolicy, createFrameworkBundle } from 'sinfonietta'
import { createRequest, createRequestEvent, createTestKernel, type TestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import type { FrameworkOptions } from '#bundles/framework/options.ts'
import { CorsPolicies, CrossOriginListener } from '#bundles/framework/protection.ts'
import { createProfiledTestKernel } from '#bundles/profiler/testing/create-profiled-test-kernel.ts'
import { Response } from '#lib/http/response.ts'
import { createRecorder } from '#tests/support/recording-logger.ts'

const own = 'http://localhost'
const app = 'https://app.test'
const evil = 'https://evil.test'

const bodyLimit = 10

/** Routes for any method that answer with it, by the defaults of each. */
function createRoutes(defaults: Readonly<Record<string, object>>): Bundle {
  return {
    name: 'shop',
    register({ routes }) {
      for (const [path, own] of Object.entries(defaults)) {
        const controller = ({ method }: { method: string }) => Response.text(method)
        routes.add({ name: path.slice(1) || 'home', path, controller, defaults: { _body_limit: bodyLimit, ...own } })
      }
      routes.add({ name: 'only_get', path: '/get', methods: ['GET'], controller: () => Response.text('GET') })
    },
  }
}

async function boot(
  t: Test,
  options: FrameworkOptions = {},
  routes: Readonly<Record<string, object>> = { '/': {} },
  variables: Record<string, string> = {},
): Promise<TestKernel> {
  const bundles = [createFrameworkBundle(options), createRoutes(routes)]
  const kernel = await createTestKernel({ bundles, variables })
  t.teardown(kernel.close)
  return kernel
}

type Sent = Record<string, string>

/** Headers of pages, and whether a request of them may change something. */
const pages: readonly (readonly [isAccepted: boolean, headers: Sent])[] = [
  [true, {}],
  [true, { 'sec-fetch-site': 'same-origin', origin: own }],
  [true, { 'sec-fetch-site': 'none' }],
  [true, { origin: own }],
  [false, { 'sec-fetch-site': 'same-site', origin: 'http://localhost:3000' }],
  [false, { 'sec-fetch-site': 'cross-site', origin: evil }],
  [false, { 'sec-fetch-site': 'cross-site', origin: 'null' }],
  [false, { 'sec-fetch-site': 'cross-site' }],
  [false, { origin: evil }],
  [false, { origin: 'null' }],
  [false, { origin: 'https://localhost' }],
]

t.test('requests of other origins are refused for all methods that may change something', async t => {
  const { client } = await boot(t)
  const wrong: string[] = []
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'QUERY', 'POST', 'PUT', 'PATCH', 'DELETE']) {
    const isSafe = ['GET', 'HEAD', 'OPTIONS', 'QUERY'].includes(method)
    for (const [isAccepted, headers] of pages) {
      const { status } = await client.request(method, '/', { headers })
      if (status !== (isSafe || isAccepted ? 200 : 403)) wrong.push(`${method} ${JSON.stringify(headers)}: ${status}`)
    }
  }
  t.strictSame(wrong, [])
})

t.test('a refusal has its reason, varies by both headers, and comes before the body is read', async t => {
  const { client } = await boot(t)
  const headers = { 'sec-fetch-site': 'cross-site', origin: evil, accept: 'application/json' }
  const refused = await client.post('/', { headers, json: 'x'.repeat(bodyLimit) })
  t.equal(refused.status, 403)
  t.equal(refused.headers.get('vary'), 'Sec-Fetch-Site, Origin, Accept')
  t.hasStrict(refused.json(), {
    detail:
      'A page of another origin has sent this POST request (Sec-Fetch-Site: cross-site). Only pages of http://localhost may send it.',
  })
  const byOrigin = await client.post('/', { headers: { origin: evil, accept: 'application/json' } })
  t.match(byOrigin.text, 'POST request (Origin: https://evil.test)')
  t.equal((await client.post('/', { json: 'x'.repeat(bodyLimit) })).status, 413)
  const missing = await client.post('/nowhere', { headers })
  t.equal(missing.status, 404, 'an unknown path is no route')
  t.equal((await client.post('/get', { headers })).status, 405)
})

t.test('the profile of a refused request says how to accept it', async t => {
  const bundles = [createFrameworkBundle(), createRoutes({ '/': {} })]
  const { client, close, expectProfile } = await createProfiledTestKernel({ bundles, directory: t.testdir() })
  t.teardown(close)
  const refused = await expectProfile(await client.post('/', { headers: { 'sec-fetch-site': 'same-site' } }))
  refused.hadFindings('cross-origin-request', 1)
  ;(await expectProfile(await client.post('/'))).not.hadFindings('cross-origin-request')
})

t.test('exceptions are named by route, or for all routes', async t => {
  const defaults = {
    '/': {},
    '/all': { _cross_origin: true },
    '/none': { _cross_origin: false },
    '/pay': { _cross_origin: ['https://pay.test'] },
  }
  const { client } = await boot(t, { crossOrigin: ['https://admin.test'] }, defaults)
  const post = async (path: string, origin: string | undefined, site: string | undefined) => {
    const headers = { ...(origin && { origin }), ...(site && { 'sec-fetch-site': site }) }
    return (await client.post(path, { headers })).text.startsWith('POST')
  }
  const wrong: string[] = []
  for (const path of Object.keys(defaults)) {
    for (const origin of [undefined, 'null', evil, 'https://pay.test', 'https://admin.test']) {
      for (const site of [undefined, 'cross-site', 'same-site']) {
        const isProgram = origin === undefined && site === undefined
        const isNamed = origin === 'https://admin.test' || (path === '/pay' && origin === 'https://pay.test')
        const isAccepted = isProgram || isNamed || path === '/all'
        if ((await post(path, origin, site)) !== isAccepted) wrong.push(`${path} ${origin} ${site}`)
      }
    }
  }
  t.strictSame(wrong, [])
  t.equal((await client.post('/all/', { headers: { origin: evil } })).status, 404, 'a route, not the start of a path')
})

t.test('the origin is that of the client in front of trusted proxies', async t => {
  const variables = { TRUSTED_PROXIES: '127.0.0.1' }
  const { client } = await boot(t, {}, { '/': {} }, variables)
  const forwarded = { host: 'inside:8000', 'x-forwarded-host': 'shop.test', 'x-forwarded-proto': 'https' }
  const post = async (headers: Sent) => (await client.post('/', { headers: { ...forwarded, ...headers } })).status
  t.equal(await post({ origin: 'https://shop.test' }), 200)
  t.equal(await post({ origin: 'http://shop.test' }), 403)
  t.equal(await post({ origin: 'http://inside:8000' }), 403)
  t.equal(await post({ origin: 'https://shop.test:8443', 'x-forwarded-port': '8443' }), 200)
})

t.test('production logs one refusal of each kind in a minute', async t => {
  const { client, records } = await boot(t, {}, { '/': {} }, { APP_ENV: 'prod' })
  for (const origin of [evil, evil, 'https://other.test']) await client.post('/', { headers: { origin } })
  for (const site of ['cross-site', 'same-site', 'a text of a client', 'cross-site']) {
    await client.post('/', { headers: { 'sec-fetch-site': site } })
  }
  const warnings = records.filter(({ level }) => level === 'warning')
  t.match(
    warnings.map(({ context, message }) => [message, context.header, context.value, context.route]),
    [
      [/request to the route .* was refused/, 'origin', evil, 'home'],
      [/was refused/, 'sec-fetch-site', 'cross-site', 'home'],
      [/was refused/, 'sec-fetch-site', 'same-site', 'home'],
    ],
  )
  t.equal(warnings.length, 3)

  const { logger, records: later } = createRecorder()
  let now = 0
  const services = { origins: [], policies: new CorsPolicies(), logger, isDebug: false, now: () => now }
  const listener = new CrossOriginListener(services)
  const refuse = () => {
    const request = createRequest('/', { method: 'POST', headers: { origin: evil } })
    t.throws(() => listener.onRequest(createRequestEvent({ request })), { code: 'HTTP_CROSS_ORIGIN' })
  }
  for (now of [0, 59_999, 60_000]) refuse()
  t.strictSame(
    later.map(({ context }) => context.refused_before),
    [0, 1],
  )
})

/** The headers of CORS in a response, and its Vary. */
function readCors({ headers }: { headers: Iterable<[string, string]> }): Sent {
  const fields = [...headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary')
  return Object.fromEntries(fields.map(([name, value]) => [name.replace('access-control-', ''), value]))
}

const preflight = (origin: string, method = 'PUT', headers?: string) => ({
  headers: {
    origin,
    'access-control-request-method': method,
    ...(headers && { 'access-control-request-headers': headers }),
  },
})

t.test('a policy lets scripts of its origins read, and send', async t => {
  const cors: CorsPolicy = { origins: [app], credentials: true, exposedHeaders: ['x-total', 'link'], maxAge: 600 }
  const { client } = await boot(t, { cors }, { '/': {}, '/closed': { _cors: false } })
  const allowed = {
    vary: 'Origin',
    'allow-origin': app,
    'allow-credentials': 'true',
    'expose-headers': 'x-total, link',
  }
  t.strictSame(readCors(await client.get('/', { headers: { origin: app } })), allowed)
  t.strictSame(readCors(await client.get('/')), { vary: 'Origin' }, 'a cache keeps the responses apart')
  t.strictSame(readCors(await client.get('/', { headers: { origin: evil } })), { vary: 'Origin' })
  t.strictSame(readCors(await client.get('/closed', { headers: { origin: app } })), {})

  const page = { origin: app, 'sec-fetch-site': 'cross-site' }
  const sent = await client.post('/', { headers: page })
  t.strictSame([sent.text, readCors(sent)], ['POST', allowed])
  t.equal((await client.post('/closed', { headers: page })).status, 403)
  const refused = await client.post('/', { headers: { ...page, origin: evil } })
  t.strictSame([refused.status, readCors(refused)['allow-origin']], [403, undefined])
  const missing = await client.get('/nowhere', { headers: { origin: app } })
  t.strictSame([missing.status, readCors(missing)['allow-origin']], [404, app], 'errors can be read, too')
})

t.test('a preflight request is answered for methods that a route has', async t => {
  const cors: CorsPolicy = { origins: [app], credentials: true, maxAge: 600 }
  const { client } = await boot(t, { cors }, { '/': {}, '/closed': { _cors: false } })
  const answered = await client.request('OPTIONS', '/', preflight(app, 'PUT', 'content-type,x-own'))
  t.strictSame([answered.status, answered.text], [204, ''])
  t.strictSame(readCors(answered), {
    vary: 'Origin',
    'allow-origin': app,
    'allow-credentials': 'true',
    'allow-methods': 'PUT',
    'allow-headers': 'content-type,x-own',
    'max-age': '600',
  })
  t.equal(answered.request.attributes.get('_route'), 'home')
  const foreign = await client.request('OPTIONS', '/', preflight(evil))
  t.strictSame([foreign.status, readCors(foreign)], [204, { vary: 'Origin' }])
  t.equal((await client.request('OPTIONS', '/get', preflight(app, 'GET'))).status, 204)
  t.equal((await client.request('OPTIONS', '/get', preflight(app, 'PUT'))).status, 405)
  t.equal((await client.request('OPTIONS', '/nowhere', preflight(app))).status, 404)
  t.equal((await client.request('OPTIONS', '/closed', preflight(app))).text, 'OPTIONS', 'the controller answers')
  t.equal((await client.request('OPTIONS', '/', { headers: { origin: app } })).text, 'OPTIONS', 'no preflight')
  const { headers } = preflight(app)
  t.equal((await client.request('OPTIONS', '/', { headers: { ...headers, origin: '' } })).status, 204)
  t.equal((await client.get('/', { headers })).text, 'GET')
})

t.test('a route has a policy of its own, without one for all routes', async t => {
  const asked: string[] = []
  const isOurs = (origin: string, { path }: { path: string }) => {
    asked.push(`${origin} ${path}`)
    return origin.endsWith('.app.test')
  }
  const defaults = {
    '/': {},
    '/open': { _cors: { origins: '*', headers: ['x-own', 'x-other'] } },
    '/ours': { _cors: { origins: isOurs, credentials: true } },
  }
  const { client } = await boot(t, {}, defaults)
  t.strictSame(readCors(await client.get('/', { headers: { origin: app } })), {})
  t.equal((await client.request('OPTIONS', '/', preflight(app))).text, 'OPTIONS')

  t.strictSame(readCors(await client.get('/open', { headers: { origin: evil } })), { 'allow-origin': '*' })
  t.strictSame(readCors(await client.get('/open')), { 'allow-origin': '*' }, 'a cache has one response for all')
  const opened = await client.request('OPTIONS', '/open', preflight(evil, 'GET', 'x-asked'))
  t.strictSame(readCors(opened), { 'allow-origin': '*', 'allow-methods': 'GET', 'allow-headers': 'x-own, x-other' })
  const page = { origin: evil, 'sec-fetch-site': 'cross-site' }
  t.equal((await client.post('/open', { headers: page })).status, 403, 'every origin is no exception')

  const origin = 'https://one.app.test'
  const ours = { vary: 'Origin', 'allow-origin': origin, 'allow-credentials': 'true' }
  t.strictSame(readCors(await client.get('/ours', { headers: { origin } })), ours)
  t.equal((await client.post('/ours', { headers: { ...page, origin } })).status, 200)
  t.equal((await client.post('/ours', { headers: page })).status, 403)
  t.strictSame([...new Set(asked)], [`${origin} /ours`, `${evil} /ours`])
})

t.test('a page of another site reads no debug output where every origin may read', async t => {
  const failing: Bundle = {
    name: 'failing',
    register({ routes }) {
      const controller = () => {
        throw new Error('the message')
      }
      routes.add({ name: 'open', path: '/open', controller, defaults: { _cors: { origins: '*' } } })
    },
  }
  const bundles = [createFrameworkBundle(), failing]
  const { client, close } = await createProfiledTestKernel({ bundles, directory: t.testdir() })
  t.teardown(close)
  const read = async (accept: string, headers: Sent) => {
    const { headers: answered, text } = await client.get('/open', { headers: { accept, ...headers } })
    return `${text}${JSON.stringify([...answered])}`
  }
  const types = ['text/html', 'application/json', 'text/markdown', 'text/plain', '*/*']
  const answers = await Promise.all(types.map(type => read(type, { origin: evil, 'sec-fetch-mode': 'cors' })))
  t.strictSame(
    types.filter((_, index) => /the message|protection\.test|x-debug|timing|_profiler/.test(String(answers[index]))),
    [],
  )
  t.match(await read('application/json', { origin: 'http://localhost:5173', 'sec-fetch-mode': 'cors' }), 'the message')
})

t.test('mistakes of the options are listed at once', async t => {
  const options: unknown = {
    crossOrigin: ['https://shop.test/', app],
    cors: { origins: ['*', 'shop.test'], headers: ['a b'], maxAge: 0.5 },
    headers: { 'x-frame-options': null, 'a b': 'c', 'x-own': 'a\nb' },
  }
  const message = (given: unknown) => {
    try {
      createFrameworkBundle(given as FrameworkOptions)
      return []
    } catch (error) {
      return String((error as Error).message)
        .split('\n')
        .slice(1)
    }
  }
  const originHint = 'use an origin such as "https://example.org", without a path.'
  t.strictSame(message(options), [
    `- crossOrigin has "https://shop.test/": ${originHint}`,
    `- cors.origins has "*": ${originHint}`,
    `- cors.origins has "shop.test": ${originHint}`,
    '- cors.headers and cors.exposedHeaders have "a b": use names of headers.',
    '- cors.maxAge is 0.5: use whole seconds.',
    '- headers.x-frame-options is "null": use a text, or false to remove it.',
    '- headers.a b is "c": The header "a b" cannot be sent: its name is not a token (RFC 9110, section 5.6.2).',
    '- headers.x-own is "a\nb": The header'.split('\n')[0],
    'b": The header "x-own" cannot be sent: its value has a control character or one above U+00FF; encode it.',
  ])
  t.strictSame(message({ cors: { origin: [app], credentials: 'yes' }, methodOverride: 'yes' }), [
    '- there is no option "cors.origin"; the nearest is "origins".',
    '- "cors.credentials" must be true or false, not a string of 3 characters.',
    '- "methodOverride" must be true or false, not a string of 3 characters.',
  ])
  t.strictSame(message({ cors: {} }), ['- cors.origins must be a list, "*" or a function.'])
  t.strictSame(message({ cors: { origins: '*', credentials: true } }), [
    '- cors.credentials is true, and origins is "*": name the origins.',
  ])
})

t.test('responses with a body have headers, unless they have their own', async t => {
  const names = ['x-content-type-options', 'x-frame-options', 'referrer-policy', 'strict-transport-security']
  const read = async (options: FrameworkOptions, path = '/page') => {
    const pages: Bundle = {
      name: 'pages',
      register({ routes }) {
        const headers = { 'X-Frame-Options': 'DENY' }
        routes.add({ name: 'page', path: '/page', controller: () => Response.html('<p>') })
        routes.add({ name: 'own', path: '/own', controller: () => Response.html('<p>', { headers }) })
        routes.add({ name: 'empty', path: '/empty', controller: () => Response.empty() })
      },
    }
    const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(options), pages] })
    t.teardown(close)
    const { headers } = await client.get(path)
    return names.map(name => headers.getAll(name).join(' and '))
  }
  t.strictSame(await read({}), ['nosniff', 'SAMEORIGIN', 'strict-origin-when-cross-origin', ''])
  t.strictSame(await read({}, '/own'), ['nosniff', 'DENY', 'strict-origin-when-cross-origin', ''])
  t.strictSame(await read({}, '/empty'), ['', '', '', ''])
  t.strictSame(await read({}, '/nowhere'), ['nosniff', 'DENY', 'strict-origin-when-cross-origin', ''])
  const headers = {
    'X-Frame-Options': false,
    'referrer-policy': 'no-referrer',
    'Strict-Transport-Security': 'max-age=63072000',
  } as const
  t.strictSame(await read({ headers }), ['nosniff', '', 'no-referrer', 'max-age=63072000'])
})

t.test('with methodOverride, a POST of a form has the method in its address', async t => {
  const routes = { '/': {} }
  const { client } = await boot(t, { methodOverride: true }, routes)
  const ask = async (method: string, target: string, headers: Sent = {}) =>
    (await client.request(method, target, { headers })).text
  for (const method of ['PUT', 'PATCH', 'DELETE']) t.equal(await ask('POST', `/?_method=${method}`), method)
  t.equal(await ask('POST', '/?a=b&_method=delete'), 'DELETE')
  for (const other of ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'POST', '', 'DELETE ']) {
    t.equal(await ask('POST', `/?_method=${encodeURIComponent(other)}`), 'POST', `not ${other}`)
  }
  t.equal(await ask('POST', '/?a_method=PUT'), 'POST')
  for (const method of ['GET', 'PUT']) t.equal(await ask(method, '/?_method=DELETE'), method)
  const refused = await client.post('/?_method=DELETE', { headers: { 'sec-fetch-site': 'cross-site' } })
  t.equal(refused.status, 403)
  t.equal(await (await boot(t)).client.post('/?_method=DELETE').then(({ text }) => text), 'POST', 'off by default')
})
