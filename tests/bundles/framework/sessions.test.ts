import { mkdirSync, readdirSync } from 'node:fs'
import {
  type Application,
  type Bundle,
  ControllerEvent,
  createFrameworkBundle,
  ExceptionEvent,
  HttpError,
  type KernelEvent,
  RequestEvent,
  ResponseEvent,
  setCookie,
  TerminateEvent,
} from 'sinfonietta'
import { createTestKernel, type TestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { createRedisSessionStore } from '#lib/session/redis-session-store.ts'
import { startFakeRedis } from '#tests/support/fake-redis.ts'
import { probeBundle } from '#tests/support/probe-bundle.ts'
import { until } from '#tests/support/until.ts'

/** An application in a folder of its own, so that sessions are written there. */
async function boot(t: Test, variables: Record<string, string> = {}): Promise<TestKernel & { directory: string }> {
  const directory = t.testdir()
  return {
    ...(await createTestKernel({ bundles: [createFrameworkBundle(), probeBundle], directory, variables })),
    directory,
  }
}

t.test('a client is remembered by its cookie; sessions lie below var/', async t => {
  const { client, directory } = await boot(t)
  t.equal((await client.get('/count')).text, 'count 1')
  t.equal((await client.get('/count')).text, 'count 2')
  const { headers } = await client.get('/count')
  t.equal(headers.get('cache-control'), 'max-age=0, must-revalidate, private')
  t.equal(readdirSync(`${directory}/var/sessions`).length, 1)
})

t.test('a session on a stateless route is an error in debug', async t => {
  const { client } = await boot(t)
  const response = await client.get('/stateless')
  t.equal(response.status, 500)
  t.match(
    response.text,
    'Session was used while the request was declared stateless: do not use it, or remove _stateless from the route.',
  )
  const production = await boot(t, { APP_ENV: 'prod' })
  t.equal((await production.client.get('/stateless')).status, 200)
  const errors = production.records.filter(({ level }) => level === 'error')
  t.hasStrict(errors, [{ message: 'Session was used while the request was declared stateless.' }])
})

t.test('a session is found when the client sends its cookies in several fields', async t => {
  const { client } = await boot(t)
  const { headers } = await client.get('/count')
  const session = String(headers.get('set-cookie')).split(';', 1).join()
  const fields = { headers: { cookie: 'a=1', Cookie: session } }
  t.equal((await client.get('/count', fields)).text, 'count 2')
})

t.test('the session has the last word about its cookie', async t => {
  const { app, client } = await boot(t)
  app.routes.add({
    name: 'twice',
    path: '/twice',
    controller: async request => {
      await request.session.set('a', 1)
      const response = Response.html('')
      setCookie(response.headers, 'session', 'mine')
      return response
    },
  })
  const [cookie, ...others] = (await client.get('/twice')).headers.getAll('set-cookie')
  t.match(String(cookie), /^session=[\w-]{32}; Max-Age=86400;/)
  t.strictSame(others, [])
})

t.test(
  'a change after the response that nothing has saved is logged when the application closes, at the latest',
  async t => {
    const late = {
      name: 'late',
      register({ dispatcher, routes }: Application) {
        for (const name of ['lost', 'saved']) routes.get(name, `/${name}`, () => new Response(name))
        dispatcher.on(TerminateEvent, async ({ request }) => {
          await request.session.set('seen', request.path)
          if (request.path === '/saved') await request.session.save()
        })
      },
    }
    const options = { bundles: [createFrameworkBundle(), late], directory: t.testdir() }
    const { client, close, records } = await createTestKernel(options)
    for (const path of ['/saved', '/lost']) await client.get(path)
    await close()
    t.match(
      records.filter(({ level }) => level === 'warning').map(({ message, context }) => [message, context.method]),
      [[/came after the response/, 'set']],
    )
  },
)

t.test('pages that use no session set no cookie', async t => {
  const { client, directory } = await boot(t)
  t.notOk((await client.get('/noslash')).headers.has('set-cookie'))
  t.notOk(readdirSync(directory).includes('var'))
})

t.test('a sweep that fails is logged, and requests are answered', async t => {
  const { client, directory, records } = await boot(t)
  // A folder in the place of a session cannot be removed like a file.
  mkdirSync(`${directory}/var/sessions/${'0'.repeat(64)}.json`, { recursive: true })
  t.equal((await client.get('/count')).status, 200)
  const isTold = () => records.some(({ message }) => message.startsWith('Old sessions could not be removed'))
  await until(isTold)
  t.pass('it is logged')
})

t.test('sessions in Redis are those of all machines, and an outage concerns requests with a session only', async t => {
  const fake = await startFakeRedis(t)
  const [one, other] = await Promise.all([boot(t, { SESSION_URL: fake.url }), boot(t, { SESSION_URL: fake.url })])
  const stored = await one.client.get('/count')
  const cookie = String(stored.headers.get('set-cookie')).split(';', 1).join()
  const count = ({ client }: TestKernel) => client.get('/count', { headers: { cookie } })
  t.equal((await count(other)).text, 'count 2')
  t.equal((await count(one)).text, 'count 3')
  await fake.shut()
  const refused = await count(one)
  t.equal(refused.status, 503)
  t.match(refused.text, 'SESSION_STORE_UNREACHABLE')
  t.equal((await one.client.get('/_health/live')).status, 200, 'a request without a session')
  await fake.open()
  const counted: string[] = []
  for (const kernel of [one, other]) {
    await until(async () => {
      const { status, text } = await count(kernel)
      return status === 200 && counted.push(text)
    })
  }
  t.strictSame(counted, ['count 4', 'count 5'])
  fake.empty()
  t.equal((await count(one)).text, 'count 1', 'without its data Redis has no session of this id')
  t.not(
    String((await count(one)).headers.get('set-cookie'))
      .split(';', 1)
      .join(),
    cookie,
    'the id is never adopted',
  )
  const messages = one.records.filter(({ message }) => message.includes('Redis')).map(({ message }) => message)
  t.strictSame(messages, [
    'Sessions are not available until the Redis of SESSION_URL answers again.',
    'Redis answers again: sessions are available.',
  ])
  await one.close()
  await other.close()
})

t.test('a store is an object, or a function that gets the log', async t => {
  const fake = await startFakeRedis(t)
  const store = createRedisSessionStore({ url: fake.url, prefix: 'shop:' })
  const kernel = await createTestKernel({ bundles: [createFrameworkBundle({ session: { store } }), probeBundle] })
  t.equal((await kernel.client.get('/count')).text, 'count 1')
  t.equal((await kernel.client.get('/count')).text, 'count 2')
  await kernel.close()
})

/** Uses the session in each event, without a look at the kind of its request, and shows the user on each error page. */
const curious: Bundle = {
  name: 'curious',
  register({ dispatcher, routes, view }) {
    const use = async ({ request: { session } }: KernelEvent) => {
      const visits = Number((await session.get('visits')) ?? 0)
      await session.set('visits', visits + 1)
      await session.update('updates', value => Number(value ?? 0) + 1)
      await session.flash('info', 'visited')
    }
    dispatcher.on(RequestEvent, use, 20)
    for (const type of [ExceptionEvent, ControllerEvent, ResponseEvent]) dispatcher.on(type, use, 20)
    dispatcher.on(
      RequestEvent,
      event => {
        if (event.request.headers.has('x-maintenance')) event.respond(Response.text('closed', { status: 503 }))
        if (event.request.headers.has('x-refused')) event.fail(new HttpError(403, 'No.'))
      },
      200,
    )
    view.addGlobal('user', request => request.session.get('user'))
    routes.get('page', '/page', () => Response.text('page'))
  },
}

/** Requests that are refused or answered before they have a session. */
const early: readonly (readonly [target: string, status: number, headers: Readonly<Record<string, string>>])[] = [
  ['/%ff', 400, {}],
  ['/%zz', 400, {}],
  ['/a%00b', 400, {}],
  ['/a#b', 400, {}],
  ['/page', 400, { host: 'evil.example' }],
  ['/page', 400, { host: '127.0.0.1' }],
  ['/page', 400, { host: 'bad host' }],
  ['/page', 400, { host: '' }],
  ['/page', 403, { 'x-refused': '1' }],
  ['/page', 503, { 'x-maintenance': '1' }],
  ['/_health', 200, {}],
  ['/_health/live', 200, {}],
]

for (const environment of ['dev', 'prod']) {
  t.test(`in ${environment} a request that is refused or answered before sessions has an empty one`, async t => {
    const directory = t.testdir({ templates: { framework: { 'error.hbs': '{{@user}} {{status}}' } } })
    const variables = {
      APP_ENV: environment,
      APP_SECRET: 'of production, and long enough for it',
      APP_HOSTS: 'localhost',
    }
    const bundles = [createFrameworkBundle(), curious]
    const { client, close, records } = await createTestKernel({ bundles, directory, variables })
    t.teardown(close)
    await client.get('/page')
    const { length } = readdirSync(`${directory}/var/sessions`)
    t.equal(length, 1, 'a usual request has a session that is stored')
    const offenders: string[] = []
    for (const [target, status, headers] of early) {
      if (environment === 'dev' && /^(?:evil|127)/.test(headers.host ?? '')) continue
      const response = await client.get(target, { headers })
      const isRight = response.status === status && !response.headers.has('set-cookie')
      if (!isRight) offenders.push(`${target} ${JSON.stringify(headers)}: ${response.status} ${response.text}`)
    }
    t.strictSame(offenders, [])
    t.equal(readdirSync(`${directory}/var/sessions`).length, 1, 'no other one is stored')
    const failures = records.filter(({ level, message }) => level !== 'info' && message.startsWith('The listener'))
    t.strictSame(failures, [], 'no listener has failed')
  })
}

t.test('a listener before sessions learns that there is none yet', async t => {
  const eager: Bundle = {
    name: 'eager',
    register: ({ dispatcher }) => void dispatcher.on(RequestEvent, ({ request }) => void request.session, 200),
  }
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), eager] })
  t.teardown(close)
  t.match((await client.get('/')).text, 'This request has no session yet.')
})
