import { deepStrictEqual } from 'node:assert'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { SpanStatusCode, trace } from '@opentelemetry/api'
import {
  type Application,
  type Bundle,
  dump,
  HttpError,
  type Request,
  RequestEvent,
  recordMail,
  setCookie,
} from 'sinfonietta'
import { createOpenTelemetryBundle } from 'sinfonietta/opentelemetry'
import type { ClientRequestInit } from 'sinfonietta/testing'
import { t } from 'tap'
import { checkedForm, formBody, jsonBody, queryValues } from '#kernel/argument-sources.ts'
import type { Queries } from '#kernel/contracts/queries.ts'
import { defineSettings } from '#lib/env/settings.ts'
import { Response } from '#lib/http/response.ts'
import { createLogger } from '#lib/log/create-logger.ts'
import type { StandardSchema } from '#lib/schema/standard-schema.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { provenSample } from '#tests/support/sample.ts'
import { startTraceReceiver } from '#tests/support/trace-receiver.ts'
import { until } from '#tests/support/until.ts'

/** Part of the name of each planted secret, so that a leaked secret identifies itself. */
const canary = 'canary-9x3z'

/** Typical secrets of an environment; one contains characters that each encoding writes differently. */
const variables = {
  APP_SECRET: `${canary}-of-the-application-itself`,
  DATABASE_URL: `postgres://me:${canary}!'(*)%20db@db/name`,
  MAILER_DSN: `smtp://${canary}-mail-user:${canary}-mail-password@mail`,
  RECAPTCHA3_KEY: `${canary}-recaptcha-key`,
  RECAPTCHA3_SECRET: `${canary} "recaptcha" sécret & more`,
  ADMIN_STATUS_TOKEN: `${canary}-status-token`,
  LIBRARY_LICENCE: `${canary}-licence`,
  SOME_SERVICE: 'nothing-that-a-name-gives-away',
}

const headers = {
  authorization: `Bearer ${canary}-bearer`,
  'proxy-authorization': `Basic ${btoa(`me:${canary}-basic`)}`,
  'x-api-key': `${canary}-api-key`,
  'x-csrf-token': `${canary}-csrf`,
  cookie: `theme=${canary}-theme; remember_me=${canary}-remember; session=${canary}-session`,
  'x-pat': `${canary}-pat`,
  dpop: `${canary}-dpop`,
  'x-forwarded-note': `apiKey: ${canary}-note`,
  referer: `https://me:${canary}-userinfo@elsewhere.test/?access_token=${canary}-referer`,
  'x-original-authorization': `${canary}-original`,
}

const query = [
  `token=${canary}-query`,
  `user[password]=${canary}-nested`,
  `api_key=${canary}-twice&api_key=${canary}-twice`,
  `next=${encodeURIComponent(`/login?sid=${canary}-inner`)}`,
  `next=${encodeURIComponent(encodeURIComponent(`/cb?token=${canary}-twice-encoded`))}`,
  `filter=${encodeURIComponent(JSON.stringify({ password: `${canary}-filter` }))}`,
  `h=${encodeURIComponent(`Bearer ${canary}-scheme`)}`,
  `password=hun'${canary}-quoted`,
  `password=hun%22<${canary}-other`,
  `code=${canary}-code&state=1`,
  `SAMLResponse=${canary}-saml`,
  `to=${encodeURIComponent(`https://me:${canary}-inner-userinfo@host/`)}`,
].join('&')

const fields = { name: 'Ada', password: `${canary}-form`, 'card[cvc]': `${canary}-cvc`, apiKey: `${canary}-camel` }

const json = {
  name: 'Ada',
  password: `${canary}-json`,
  account: { pin: `${canary}-pin`, keys: [{ privateKey: `${canary}-private` }], secret: { deep: `${canary}-deep` } },
  url: `https://host/?signature=${canary}-signature`,
  passwords: [`${canary}-list`],
  settings: [{ name: 'password', value: `${canary}-named` }],
  query: `mutation { login(user: "ada", password: "${canary}-graphql") }`,
  yaml: `user: ada\npassword: ${canary}-yaml\n`,
  ini: `[db]\npassword = ${canary}-ini\n`,
  xml: `<db><password>${canary}-xml</password></db>`,
}

const upload = {
  password: `${canary}-part`,
  document: { name: `cv.txt?token=${canary}-file-name`, type: 'text/plain', content: `${canary}-content` },
}

type Sent = readonly [method: string, init: ClientRequestInit]

const requests: readonly [Sent, ...Sent[]] = [
  ['GET', {}],
  ['HEAD', {}],
  ['POST', { form: fields }],
  ['POST', { json }],
  ['POST', { upload }],
  ['POST', { body: `${canary}-raw` }],
  ['PUT', { body: `{"password":"${canary}-broken`, headers: { 'content-type': 'application/json' } }],
  ['POST', { body: `${canary}-text`, headers: { 'content-type': 'text/plain' } }],
]

const config = {
  user: 'ada',
  password: `${canary}-config`,
  keys: [`${canary}-key`],
  secret: { deep: `${canary}-deep` },
}

/** An application that puts its secrets everywhere. */
const leaky: Bundle = {
  name: 'leaky',
  // Only the declaration shows that it is a secret.
  settings: defineSettings({ LIBRARY_LICENCE: { help: 'the licence', default: undefined, secret: true } }),
  register(app) {
    const routes: [path: string, handle: (request: Request) => unknown][] = [
      ['/leaky', request => leak(app, request)],
      ['/leaky/thrown', () => refuse(new Error(messageOf('thrown'), { cause: new TypeError(messageOf('cause')) }))],
      ['/leaky/taken', () => refuse(createPgError())],
      ['/leaky/invalid', () => refuse(createValibotError())],
      ['/leaky/gathered', () => refuse(createAggregate())],
      ['/leaky/refused', () => refuse(new HttpError(403, messageOf('refused')))],
      ['/leaky/inspected', () => refuse(new Error(inspect(config)))],
      ['/leaky/compared', () => deepStrictEqual(config, { ...config, user: 'bob' })],
      ['/leaky/wrong', () => config],
      ['/leaky/validated', validateAll],
      ['/leaky/reset/:token', request => leak(app, request)],
      ['/leaky/broken/:token', request => refuse(new Error(`Not at ${request.url}`))],
      [
        '/leaky/answered/json',
        () => Response.json({ ...json, items: [{ token: `${canary}-answered`, note: messageOf('json') }] }),
      ],
      [
        '/leaky/answered/form',
        () => answer('application/x-www-form-urlencoded', new URLSearchParams(fields).toString()),
      ],
      ['/leaky/answered/text', () => answer('text/plain', `${json.yaml}\n${json.ini}\n${messageOf('text')}`)],
      ['/leaky/answered/xml', () => answer('application/xml', json.xml)],
      ['/leaky/answered/broken', () => answer('application/json', `{"password":"${canary}-broken`)],
      ['/leaky/answered/long', () => Response.html(`<p>${'x'.repeat(65_500)} ${messageOf('long')}`.repeat(2))],
      [
        '/leaky/answered/bytes',
        () => new Response(Buffer.from(canary), { headers: { 'content-type': 'application/pdf' } }),
      ],
      ['/leaky/forwarded', request => app.kernel.forward(request, (sub: Request) => leak(app, sub))],
    ]
    for (const [path, controller] of routes) app.routes.add({ name: path, path, controller })
    app.routes.add({
      name: 'leaky-stateless',
      path: '/leaky/stateless',
      defaults: { _stateless: true },
      controller: request => leak(app, request),
    })
    app.collectors.push({
      name: 'leaky',
      collect: ({ request }) => ({ apiKey: `${canary}-collected`, url: request.url, environment: variables }),
    })
    app.dispatcher.on(RequestEvent, attach, 1000)
  },
}

/** A schema whose issues quote the whole input, and each value. */
const quoting: StandardSchema = {
  '~standard': {
    version: 1,
    vendor: 'quoting',
    validate(input) {
      const quotes = Object.entries(Object(input)).map(([name, value]) => ({
        path: [name],
        message: `${typeof value === 'string' ? value : JSON.stringify(value)} is wrong`,
      }))
      return { issues: [{ message: `${JSON.stringify(input)} is wrong` }, ...quotes] }
    },
  },
}

async function validateAll(request: Request): Promise<never> {
  const sources = [queryValues(quoting), formBody(quoting), jsonBody(quoting), checkedForm(quoting)]
  const results = await Promise.allSettled(sources.map(async source => source(request)))
  const errors = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []))
  throw new AggregateError(errors, 'refused', { cause: errors[0] })
}

/** Each request has these, with any result. */
function attach({ request: { attributes } }: RequestEvent): void {
  attributes.set('access_token', `${canary}-attribute`)
  attributes.set('user', new Map([['password', `${canary}-map`]]))
  attributes.set('error', new Error(messageOf('attribute')))
  attributes.set('link', new URL(`https://me:${canary}-url@host/?sid=${canary}-sid`))
  attributes.set('settings', variables)
}

async function leak({ logger, queries }: Application, request: Request): Promise<Response> {
  await leakQueries(queries)
  leakSpan()
  leakDumps(request)
  leakMails()
  const { body, session } = request
  await Promise.allSettled([body.formData(), body.json(), body.text()])
  const call = `/lookup?q=${encodeURIComponent(JSON.stringify({ password: `${canary}-call` }))}&token=${canary}-call`
  await fetch(`http://me:${canary}-call@127.0.0.1:1${call}`)
    .catch(() => fetch(`http://127.0.0.1:1${call}`))
    .catch(() => {})
  const { port = 1 } = (neighbour.address() as AddressInfo | null) ?? {}
  await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ ...json, note: messageOf('sent') }),
  })
    .then(response => response.text())
    .catch(() => {})
  await session.set('user', 'Ada')
  await session.set('csrf_token', `${canary}-session-csrf`)
  await session.set('account', { password: `${canary}-session-password`, note: messageOf('session') })
  await session.flash('notice', `See https://host/?token=${canary}-flash and ${messageOf('flash')}`)
  logger.error('This was logged: {url}', {
    url: `https://me:${canary}-logged@host/`,
    password: `${canary}-context`,
    headers,
    exception: new Error(messageOf('logged'), { cause: createAggregate() }),
    other: createValibotError(),
  })
  const response = Response.html(createPage(), {
    status: 201,
    headers: {
      'x-api-key': `${canary}-answered-key`,
      'www-authenticate': `Bearer ${canary}-challenge`,
      location: `/next?token=${canary}-location`,
      // A header cannot contain line breaks.
      'x-message': messageOf('header').replaceAll('\n', ' '),
    },
  })
  setCookie(response.headers, 'remember_me', `${canary}-cookie`, { maxAge: 60 })
  setCookie(response.headers, 'theme', `${canary}-answered-theme`)
  return response
}

/** Answers each call with secrets in headers and body. */
const neighbour = createServer((request, response) => {
  const body = { ...json, items: [{ access_token: `${canary}-received`, note: messageOf('received') }] }
  const cookie = { 'set-cookie': `a=${canary}-set` }
  response.writeHead(200, { 'x-api-key': headers['x-api-key'], 'content-type': 'application/json', ...cookie })
  request.resume().on('end', () => response.end(JSON.stringify(body)))
})

function answer(type: string, body: string): Response {
  return new Response(body, { headers: { 'content-type': type } })
}

/** A page that shows secrets in each way that can be recognised. */
function createPage(): string {
  const escaped = variables.RECAPTCHA3_SECRET.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  return `<!DOCTYPE html><html><head><meta content=${canary}-meta name=csrf-token></head><body data-token="${canary}-data">
    <form><input value="${canary}-field" type=password id=a><input type="hidden" name="_csrf" value='${canary}-csrf'>
    <textarea name="secret">${canary}-area</textarea></form>
    <table><tr><th>API key</th><td>${canary}-cell</td></tr></table><dl><dt>Password:</dt> <dd>${canary}-term</dd></dl>
    <a href="/reset?token=${canary}-link">${escaped}</a>
    <script>window.token = "${canary}-script"; const config = ${JSON.stringify(config)}</script>
    ${messageOf('page')}</body></html>`
}

/** Mails with secrets in each part. */
function leakMails(): void {
  const link = (name: string) => `https://shop.test/reset?token=${canary}-mail-${name}`
  const mail = {
    from: `Bearer ${canary}-mail-from`,
    to: [link('to')],
    replyTo: [messageOf('reply')],
    subject: `${messageOf('subject')} ${link('subject')}`,
    headers: [
      ['x-api-key', `${canary}-mail-header`],
      ['x-note', messageOf('header')],
    ] as const,
    text: `Reset: ${link('text')}\n${messageOf('text')}`,
    html: createPage(),
    attachments: [{ name: `cv.txt?token=${canary}-mail-file` }],
    envelope: { from: link('envelope'), to: [link('envelope')] },
    transport: `SMTP me:${canary}-mail-transport@host`,
  }
  const refuse = () => {
    throw Object.assign(new Error(messageOf('mail')), { response: `550 ${link('answer')}` })
  }
  try {
    recordMail(mail, refuse, refuse)
  } catch {}
}

/** Dumps with secrets in names, texts, classes, collections and errors. */
function leakDumps(request: Request): void {
  dump(config, messageOf('label'))
  dump([messageOf('dumped'), new Map([['api_key', `${canary}-dumped`]]), new Set([`Bearer ${canary}-set`])])
  dump(Object.assign(new Error(messageOf('dumped'), { cause: config }), { password: `${canary}-own` }))
  dump(
    new (class Account {
      readonly password = `${canary}-instance`
      readonly url = new URL(`https://me:${canary}-url@host/?sid=${canary}-sid`)
    })(),
  )
  dump(request)
  dump(Buffer.from(`${canary}-bytes`))
  dump(variables)
}

/** Errors of a page with secrets in each text. */
function reportOf(place: string): object {
  const file = `http://localhost/app.js?token=${canary}-file`
  return { kind: 'console', message: messageOf(place), file, line: 1, column: 2, stack: messageOf('stack'), at: 1 }
}

/** Queries with secrets in parameters, literals, connection strings, keys and errors. */
async function leakQueries(queries: Queries): Promise<void> {
  const statement = `SELECT login($1) FROM users WHERE password = $2 AND pin = '${canary}-literal' AND f('${canary}-unnamed')`
  const parameters = [`${canary}-parameter`, `${canary}-named`]
  const error = Object.assign(new Error(`Duplicate entry '${canary}-entry' for key 'a': ${messageOf('query')}`), {
    detail: `Key (mail)=(${canary}-detail) already exists.`,
  })
  await queries.measure('postgresql', statement, parameters, () => Promise.reject(error)).catch(() => {})
  const server = `postgres://me:${canary}-user@db:5432/name?password=${canary}-option`
  queries.begin({ system: 'postgresql', text: 'SELECT 1', server, namespace: variables.DATABASE_URL, source: 'span' })
  queries.measure('redis', 'SET', [`sess:${canary}-key`, `${canary}-value`], () => 'OK')
  queries.measure('redis', `AUTH ${canary}-auth`, undefined, () => 'OK')
}

/** A span as instrumentations and applications make it. */
function leakSpan(): void {
  const attributes = {
    'db.system': 'postgresql',
    'db.statement': `SELECT 1 FROM users WHERE password = '${canary}-literal'`,
    'db.postgresql.values': [`${canary}-parameter`],
    'db.connection_string': `postgres://me:${canary}-user@db:5432/name`,
    'http.request.header.authorization': [`Bearer ${canary}-bearer`],
    'url.full': `https://me:${canary}-userinfo@host/?token=${canary}-token`,
    api_key: `${canary}-attribute`,
    note: messageOf('attribute'),
  }
  const span = trace.getTracer('leaky').startSpan('leaky', { attributes })
  span.recordException(new Error(messageOf('event')))
  span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf('status') })
  span.end()
}

/** Each known secret of the environment, and the secrets of forms. */
function messageOf(place: string): string {
  const { SOME_SERVICE, ...known } = variables
  const value = `${canary}-${place}`
  const forms = [
    ...[
      `Bearer ${value}`,
      `password=${value}`,
      `{"token":"${value}"}`,
      `{\\"token\\" : \\"${value}\\"}`,
      inspect(config),
    ],
    ...[`WHERE password = '${value}'`, `INSERT INTO users (name, password) VALUES ('ada', '${value}')`],
    ...[`<password>${value}</password>`, `curl -u ada:${value} `, `mysql -p${value} `, `--password ${value} `],
    ...[
      `ada:${value}@host`,
      `Digest username="a", response="${value}"`,
      `-----BEGIN A KEY-----\n${value}\n-----END A KEY-----`,
    ],
    ...[
      `ghp_${value.replaceAll('-', '')}9x3z9x3z`,
      `eyJhbGciOiJ9.${value}.x`,
      `\nx-api-key: ${value}`,
      `\npassword: ${value}`,
    ],
  ]
  return `In ${place}: ${[...Object.values(known), ...forms].join(' ')}`
}

/** The properties are those of the package pg. */
function createPgError(): Error {
  return Object.assign(new Error('duplicate key value violates unique constraint'), {
    code: '23505',
    detail: `Key (email)=(${canary}-email@host.test) already exists.`,
    where: `unnamed portal with parameters: $1 = '${canary}-parameter'`,
    row: `Failing row contains (1, ${canary}-row).`,
    password: `${canary}-property`,
    sql: `INSERT INTO users (email, password) VALUES ('${canary}-literal', '${canary}-literal')`,
    parameters: [`${canary}-bound`],
    config: { headers: { authorization: `${canary}-nested-property` } },
  })
}

/** An error as valibot makes it. */
function createValibotError(): Error {
  const received = `"${canary}-input"`
  const message = `Invalid length: Expected >=8 but received ${received}`
  const input = `${canary}-input`
  const path = [{ type: 'object', origin: 'value', input: { password: input }, key: 'password', value: input }]
  const issue = { kind: 'validation', type: 'min_length', input, expected: '>=8', received, message, path }
  return Object.assign(new Error(message), { name: 'ValiError', issues: [issue] })
}

function createAggregate(): Error {
  const child = Object.assign(new Error(messageOf('child'), { cause: createPgError() }), { apiKey: `${canary}-child` })
  return new AggregateError([child, createValibotError(), createPgError()], messageOf('gathered'))
}

function refuse(error: Error): never {
  throw error
}

t.test('no profile and no span contains a planted secret', async t => {
  const receiver = await startTraceReceiver(t)
  await new Promise<void>(resolve => neighbour.listen(0, '127.0.0.1', resolve))
  t.teardown(() => neighbour.close())
  const { client, close, records, storage } = await createProfiledKernel(t, {
    directory: t.testdir(),
    bundles: [leaky, createOpenTelemetryBundle()],
    variables: { ...variables, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
  })
  const paths = [
    '/leaky',
    '/leaky/thrown',
    '/leaky/taken',
    '/leaky/invalid',
    '/leaky/gathered',
    '/leaky/refused',
    '/leaky/forwarded',
    '/leaky/stateless',
    '/leaky/inspected',
    '/leaky/compared',
    '/leaky/wrong',
    '/leaky/validated',
    '/leaky/answered/json',
    '/leaky/answered/form',
    '/leaky/answered/text',
    '/leaky/answered/xml',
    '/leaky/answered/broken',
    '/leaky/answered/long',
    '/leaky/answered/bytes',
    `/leaky/reset/${canary}-path`,
    `/leaky/broken/${canary}-path`,
    `/leaky/reset/${canary}-slash/`,
    '/missing',
  ]
  const [get, ...others] = requests
  const asked = [
    ...paths.map(path => ({ path, request: get })),
    ...provenSample(
      paths.flatMap(path => others.map(request => ({ path, request }))),
      30,
    ),
  ]
  const unanswered: string[] = []
  for (const {
    path,
    request: [method, init],
  } of asked) {
    const response = await client.request(method, `${path}?${query}`, {
      ...init,
      headers: { ...headers, 'x-from': `http://localhost/leaky/reset/${canary}-from`, ...init.headers },
    })
    if (response.status < 200) unanswered.push(`${method} ${path}`)
  }
  t.strictSame(unanswered, [])
  const page = await client.get('/leaky')
  const reported = await client.post(`/_wdt/${page.headers.get('x-debug-token')}/browser-errors`, {
    json: { errors: [reportOf('page')] },
    headers: { origin: 'http://localhost' },
  })
  t.equal(reported.status, 204)
  t.ok(records.length >= asked.length)
  const list = async () => {
    const { summaries } = await storage.search({ limit: 1000 })
    return { summaries, profiles: await Promise.all(summaries.map(({ token }) => storage.find(token))) }
  }
  await until(async () => {
    const { profiles, summaries } = await list()
    const calls = profiles.flatMap(found => found?.profile.collectors.http?.calls ?? [])
    const hasContents = calls.some(({ request, response }) => request?.content?.json && response?.content?.json)
    // Sub-requests have their records.
    return summaries.length > asked.length && hasContents
  }, 50)
  await close()
  const { profiles, summaries } = await list()
  const { spans } = receiver
  t.ok(spans.length >= 3 * asked.length, 'spans of requests, controllers, queries and the application')
  t.ok(spans.some(({ name }) => name === 'leaky'))
  const kept = [...profiles, ...records, ...summaries, ...spans]
  const leaks = kept.flatMap(one => {
    const text = JSON.stringify(one, (_name, value) => (typeof value === 'bigint' ? '' : value))
    // A secret that is percent-encoded (x-debug-exception) or base64 (Basic) is not found by its name.
    return text.match(/.{0,60}(?:canary|c%61nary|Y2FuYXJ5|9x3z).{0,30}/gi) ?? []
  })
  t.strictSame(leaks, [])
})

t.test('a secret in a path is in no export of the profile, in no log and on no error page', async t => {
  const { app, client, profileOf, records } = await createProfiledKernel(t, {
    directory: t.testdir(),
    bundles: [leaky],
    variables,
  })
  app.routes.add({
    name: 'leaky-post',
    path: '/leaky/post/:token',
    methods: ['POST'],
    controller: () => Response.html(''),
  })
  const lines: string[] = []
  for (const format of ['json', 'readable'] as const) {
    const stream = { write: (line: string) => lines.push(line) > 0 }
    const logger = createLogger({ level: 'debug', format, stream, redactor: app.redactor })
    app.logger.observe(({ context, level, message }) => logger[level](message, context))
  }
  for (const path of ['/leaky/reset/', '/leaky/broken/', '/leaky/post/']) {
    for (const accept of ['text/html', 'application/json', 'text/plain']) {
      const response = await client.get(`${path}${canary}-path?password=hun'${canary}-query`, { headers: { accept } })
      if (response.status !== 201) {
        // Error responses only: other responses are made by the application.
        t.notMatch(response.text, canary)
        t.notMatch(decodeURIComponent([...response.headers].join().replace(/%(?![\da-f]{2})/gi, '%25')), canary)
      }
      const { summary } = await profileOf(response)
      t.equal(summary.url, `http://localhost${path}******?password=******`)
      for (const kind of ['har', 'curl', 'html', 'json', 'md']) {
        const form = ['json', 'md'].includes(kind) ? `.${kind}` : `/export/${kind}`
        const file = await client.get(`/_profiler/${summary.token}${form}`)
        t.equal(file.status, 200, form)
        t.notMatch(file.text, canary, form)
      }
    }
  }
  t.ok(records.some(({ context }) => context.request_uri === 'http://localhost/leaky/reset/******?password=******'))
  t.ok(lines.length > 10)
  t.notMatch(JSON.stringify(records) + lines.join(''), canary)
})

t.test('values with revealed names are shown', async t => {
  const { client, profileOf } = await createProfiledKernel(t, { bundles: [leaky], revealedNames: ['email'] })
  const profile = await profileOf(
    await client.post('/leaky?email=ada@example.com&token=x', { form: { email: 'ada', pin: '1' } }),
  )
  t.match(profile.summary.url, /\?email=ada@example\.com&token=\*{6}$/)
  t.match(profile.data, {
    request: {
      query: [
        ['email', 'ada@example.com'],
        ['token', '******'],
      ],
      body: {
        form: [
          ['email', 'ada'],
          ['pin', '******'],
        ],
      },
    },
  })
})

t.test("no variable of the profiler's own paths is masked", async t => {
  const { app } = await createProfiledKernel(t)
  const own = [...app.routes].filter(({ name }) => /^_(?:profiler|wdt)/.test(name))
  t.ok(own.length > 15)
  const masked = own.flatMap(({ defaults, path }) => {
    const shown: readonly unknown[] = [defaults._public].flat()
    return path.names.filter(name => app.redactor.isSecret(name) && !shown.includes(name))
  })
  t.strictSame(masked, [])
})

t.test('values that are not secret are not masked', async t => {
  const { client, storedOf } = await createProfiledKernel(t, { directory: t.testdir(), bundles: [leaky], variables })
  const response = await client.post(`/leaky?page=2&${query}`, { json, headers: { 'accept-language': 'en' } })
  const text = JSON.stringify(await storedOf(response))
  for (const kept of ['"page","2"', '"name":"Ada"', '"accept-language","en"', 'HttpOnly', '"user":"Ada"']) {
    t.ok(text.includes(kept), kept)
  }
})
