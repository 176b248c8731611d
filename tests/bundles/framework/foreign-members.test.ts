import { inspect } from 'node:util'
import {
  type Bundle,
  checkedForm,
  createFrameworkBundle,
  defineSettings,
  EventStream,
  ExceptionEvent,
  KernelEvent,
  Request,
  RequestEvent,
  Response,
  ResponseEvent,
} from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import * as v from 'valibot'
import { UploadedFile } from '#lib/body/form-data.ts'
import { RequestBody } from '#lib/body/request-body.ts'
import { Output } from '#lib/console/output.ts'
import { Settings } from '#lib/env/settings.ts'
import { createLogger } from '#lib/log/create-logger.ts'
import { RouteCollection } from '#lib/routing/route-collection.ts'
import { UrlGenerator } from '#lib/routing/url-generator.ts'

const secret = 'a secret of thirty-two characters'

/** Reads a member as the code of an application does. */
const read = (object: object, name: string) => (object as Readonly<Record<string, unknown>>)[name]

/** Runs code in a controller, as one client sends a query, a form, a cookie and header fields. */
async function inController(use: (request: Request) => unknown, APP_ENV = 'dev') {
  let result: unknown
  const shop: Bundle = {
    name: 'shop',
    register({ routes }) {
      routes.post('a', '/a', async request => {
        result = await use(request)
        return Response.text('done')
      })
    },
  }
  const bundles = [createFrameworkBundle(), shop]
  const variables = { APP_ENV, APP_SECRET: secret, APP_HOSTS: 'localhost' }
  const { client, close, records } = await createTestKernel({ bundles, variables })
  const sent = { form: { page: '1' }, headers: { cookie: 'sid=1', authorization: '1' } }
  const { status } = await client.post('/a?page=1&toDate=2&then=3', sent)
  await close()
  const warnings = records.filter(({ level }) => level === 'warning').map(({ message }) => message)
  return { result, status, warnings }
}

const output = new Output({ stdout: process.stdout, stderr: process.stderr, env: {} })

const response = () => Response.text('page')

const form = checkedForm(v.object({ page: v.string() }))

// Each line is a mistake for the compiler, too, but Node runs TypeScript without it.
const uses: readonly (readonly [use: (request: Request) => unknown, member: string, right: string])[] = [
  // @ts-expect-error
  [request => request.params, 'request.params', 'the second argument of the controller'],
  // @ts-expect-error
  [request => request.params?.id, 'request.params', 'the second argument of the controller'],
  // @ts-expect-error
  [request => request.ip, 'request.ip', 'request.clientIp'],
  // @ts-expect-error
  [request => request.user, 'request.user', 'await request.session.get(name), or an attribute that a guard has set'],
  // @ts-expect-error
  [request => request.locale, 'request.locale', "request.attributes.get('_locale')"],
  // @ts-expect-error
  [request => request.secure, 'request.secure', 'request.scheme'],
  // @ts-expect-error
  [request => request.host, 'request.host', 'request.hostname or request.origin'],
  // @ts-expect-error
  [request => request.pathname, 'request.pathname', 'request.path'],
  // @ts-expect-error
  [request => request.route, 'request.route', "request.attributes.get('_route')"],
  // @ts-expect-error
  [request => request.nextUrl, 'request.nextUrl', 'request.query, request.path or request.url'],
  // @ts-expect-error
  [request => request.form, 'request.form', 'await request.formData()'],
  // @ts-expect-error
  [request => request.redirect, 'request.redirect', 'request.redirectTo(route, parameters)'],
  // @ts-expect-error
  [request => request.getMethod, 'request.getMethod', 'request.method'],
  // @ts-expect-error
  [request => request.files, 'request.files', 'uploadedFile(name)'],
  // @ts-expect-error
  [request => request.headers.host, 'headers.host', 'headers.get("host")'],
  // @ts-expect-error
  [request => request.headers.authorization, 'headers.authorization', 'headers.get("authorization")'],
  // @ts-expect-error
  [request => request.headers['user-agent'], 'headers["user-agent"]', 'headers.get("user-agent")'],
  // @ts-expect-error
  [request => request.query.page, 'request.query.page', 'request.query.get("page")'],
  // @ts-expect-error
  [request => request.query.toDate, 'request.query.toDate', 'request.query.get("toDate")'],
  // @ts-expect-error
  [request => request.cookies.sid, 'request.cookies.sid', 'request.cookies.get("sid")'],
  // @ts-expect-error
  [request => request.attributes._route, 'request.attributes._route', 'request.attributes.get("_route")'],
  // @ts-expect-error
  [request => request.body.title, 'request.body.title', 'await request.json()'],
  // @ts-expect-error
  [request => request.session.user, 'session.user', 'await session.get("user")'],
  // @ts-expect-error
  [request => request.session.destroy, 'session.destroy', 'await session.invalidate()'],
  // @ts-expect-error
  [request => request.session.getId, 'session.getId', 'get, set, has, delete, all, clear'],
  // @ts-expect-error
  [request => request.request, 'request.request', 'the request itself, also in a guard'],
  [() => read(new UploadedFile({ name: 'a', type: '', size: 1, path: 'a' }), 'mimetype'), 'file.mimetype', 'file.type'],
  [
    () => read(new UploadedFile({ name: 'a', type: '', size: 1, path: 'a' }), 'length'),
    'file.length',
    '(await request.formData()).getAll(name)',
  ],
  [
    () => read(new Settings({ variables: {} }), 'SHOP_SIZE'),
    'settings.SHOP_SIZE',
    'settings.of(settings of the bundle).',
  ],
  [() => read(output, 'writeln'), 'output.writeln', 'output.write(text)'],
  [
    () => read(createLogger({ format: 'json', level: 'info', stream: process.stdout }), 'warn'),
    'logger.warn',
    'logger.warning(message, context)',
  ],
  // @ts-expect-error
  [async request => (await request.formData()).page, 'form.page', 'form.get("page")'],
  // @ts-expect-error
  [async request => (await form(request)).errors, 'form.errors', 'form.issues'],
  // @ts-expect-error
  [async request => (await form(request)).isValid, 'form.isValid', 'form.issues, which is undefined'],
  // @ts-expect-error
  [async request => (await form(request)).page, 'form.page', 'form.value.page'],
  // @ts-expect-error
  [() => response().cookies, 'response.cookies', 'setCookie(response.headers, name, value)'],
  // @ts-expect-error
  [request => new EventStream(request, () => undefined).write, 'stream.write', 'stream.send({ event, data })'],
  // @ts-expect-error
  [() => response().statusCode, 'response.statusCode', 'response.status'],
]

t.test('development names a member of another framework and what is right; the member stays undefined', async t => {
  const offences: string[] = []
  for (const [use, member, right] of uses) {
    const { result, status, warnings } = await inController(use)
    const [warning = '', ...more] = warnings
    const isNamed = warning.startsWith(`There is no ${member} (in tests/bundles/framework/foreign-members.test.ts:`)
    if (result !== undefined || status !== 200 || !isNamed || !warning.includes(`: use ${right}`) || more.length > 0) {
      offences.push(`${member}: ${result}, ${status}, ${warnings.join()}`)
    }
    const production = await inController(use, 'prod')
    if (production.result !== undefined || production.status !== 200 || production.warnings.length > 0) {
      offences.push(`${member} in production: ${production.result}, ${production.status}, ${production.warnings}`)
    }
  }
  t.strictSame(offences, [])
})

t.test('a member that is set is set, and has no effect, which development says', async t => {
  const sets: readonly (readonly [set: (request: Request) => object, name: string, message: RegExp])[] = [
    [() => response(), 'statusCode', /^There is no response\.statusCode .*: use response\.status\.$/],
    [() => response().headers, 'x-shop', /^There is no headers\["x-shop"\] .*: use headers\.set\("x-shop", value\)\.$/],
    [
      ({ attributes }) => attributes,
      'user',
      /^There is no request\.attributes\.user .*: use request\.attributes\.set\("user", value\)\.$/,
    ],
    [({ session }) => session, 'cart', /^There is no session\.cart .*: use await session\.set\("cart", value\)\.$/],
  ]
  for (const [make, name, message] of sets) {
    const use = (request: Request) => {
      const object = make(request)
      ;(object as Record<string, unknown>)[name] = 'set'
      return [read(object, name), Object.keys(object).includes(name)]
    }
    const { result, warnings } = await inController(use)
    t.strictSame([result, warnings.length], [['set', true], 1], name)
    t.match(warnings[0], message)
  }
})

t.test('own members of the application, and questions whether a member is there, are no mistakes', async t => {
  const { result, warnings } = await inController(request => {
    Object.assign(request, { file: 'own', user: 'ada' })
    return [
      read(request, 'file'),
      'params' in request,
      'page' in request.query,
      Object.hasOwn(request, 'ip'),
      request.query instanceof URLSearchParams,
      request.cookies instanceof Map,
      read(request.query, 'unknown'),
      read(request, 'unknown'),
      request.query.size,
      [...request.attributes.keys()].includes('_route'),
    ]
  })
  t.strictSame(result, ['own', false, false, false, true, true, undefined, undefined, 3, true])
  t.strictSame(warnings, [])
})

t.test('Node and packages read members that a value may have: that is no mistake of the application', async t => {
  const { warnings } = await inController(async request => {
    await request.formData()
    for (const value of [request, request.headers, request.query, request.body, request.session, request.cookies]) {
      inspect(value)
      JSON.stringify({ value })
      structuredClone({ text: String(value) })
      await value
    }
  })
  t.strictSame(warnings, [])
})

t.test('each member is named once, and at most a hundred are, because clients choose names', async t => {
  const shop: Bundle = {
    name: 'shop',
    register({ routes }) {
      routes.get('a', '/a', ({ query }) => {
        for (const name of query.keys()) read(query, name)
        return response()
      })
    },
  }
  const { client, close, records } = await createTestKernel({ bundles: [createFrameworkBundle(), shop] })
  t.teardown(close)
  for (let start = 0; start < 200; start += 20) {
    const names = Array.from({ length: 25 }, (_, index) => `p${start + index}=1`)
    await client.get(`/a?${names.join('&')}`)
  }
  const said = records.filter(({ level }) => level === 'warning').map(({ message }) => message)
  t.equal(said.length, 100)
  t.equal(new Set(said).size, 100)
})

t.test('members of events have the members of other frameworks named, each for its event', async t => {
  const shop: Bundle = {
    name: 'shop',
    register({ dispatcher, routes }) {
      // @ts-expect-error
      dispatcher.on(RequestEvent, event => [event.path, event.setResponse])
      // @ts-expect-error
      dispatcher.on(ResponseEvent, event => [event.respond, event.exception])
      // @ts-expect-error
      dispatcher.on(ExceptionEvent, event => void [event.exception, event.throwable, event.setResponse])
      routes.get('a', '/a', () => {
        throw new Error('on purpose')
      })
    },
  }
  const { client, close, records } = await createTestKernel({ bundles: [createFrameworkBundle(), shop] })
  t.teardown(close)
  t.match((await client.get('/a')).text, 'on purpose', 'the error page has the error')
  const said = records.flatMap(
    ({ message }) => /^There is no (.*) \(in .*\): use (.*)\.$/.exec(message)?.slice(1) ?? [],
  )
  t.strictSame(said, [
    'event.path',
    'event.request.path',
    'event.setResponse',
    'event.respond(response)',
    'event.exception',
    'event.error',
    'event.throwable',
    'event.error',
    'event.respond',
    'event.response = response',
  ])
})

t.test('before requests, methods of other routers and mistyped settings are named', async t => {
  const shopSettings = defineSettings({ SHOP_SIZE: { help: 'size', default: '5' } })
  const shop: Bundle = {
    name: 'shop',
    settings: shopSettings,
    register({ routes, settings }) {
      const values = settings.of(shopSettings)
      for (const name of ['all', 'use', 'head', 'options']) read(routes, name)
      for (const name of ['SHOP_SIZ', 'shop_size', 'SHOP_SIZE', 'toString']) read(values, name)
      read(new UrlGenerator(new RouteCollection()), 'path')
      t.strictSame([{ ...values }, JSON.stringify(values)], [{ SHOP_SIZE: '5' }, '{"SHOP_SIZE":"5"}'])
    },
  }
  const kernel = await createTestKernel({ bundles: [createFrameworkBundle(), shop] })
  t.teardown(kernel.close)
  const said = kernel.records.flatMap(({ message }) => (message.startsWith('There is no ') ? message : []))
  t.match(said, [
    /routes\.all .*: use routes\.add\(/,
    /routes\.use .*: use dispatcher\.on\(/,
    /routes\.head .*: use routes\.get\(/,
    /routes\.options .*: use routes\.add\(/,
    /settings\.of\(settings\)\.SHOP_SIZ .*: use SHOP_SIZE/,
    /settings\.of\(settings\)\.shop_size .*: use SHOP_SIZE/,
    /urls\.path .*: use urls\.generate/,
  ])
  t.equal(said.length, 7)
})

t.test('no field of a request, a response or an event is set through the proxy, which is slow', async t => {
  const sets = t.capture(Reflect, 'set', Reflect.set)
  await inController(request => request.text())
  await inController(() => {
    throw new Error('It is down.')
  })
  const ofRequests = [Request, RequestBody, Response, KernelEvent]
  const fields = sets().flatMap(({ args: [, name, , receiver] }) =>
    ofRequests.some(type => (receiver as unknown) instanceof type) ? String(name) : [],
  )
  t.strictSame([...new Set(fields)], [])
})
