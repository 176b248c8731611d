import { readdirSync } from 'node:fs'
import { type Application, createFrameworkBundle, Response, type SessionStore } from 'sinfonietta'
import { createTestKernel, silentLogger } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { createOwnChecks } from '#bundles/framework/health.ts'
import { SESSION_STORE_FAILED, SESSION_STORE_UNREACHABLE } from '#lib/session/errors.ts'
import { RedisSessionStore } from '#lib/session/redis-session-store.ts'
import { MemorySessionStore } from '#lib/session/session-store.ts'
import { findPort } from '#tests/support/find-port.ts'
import { lacksRedis, openRedis, startRedis } from '#tests/support/start-redis.ts'
import { until } from '#tests/support/until.ts'

const hello = () => Response.text('Hello.')
const page = ({ routes }: Application) => routes.get('page', '/', hello)
const form = ({ routes }: Application) => routes.post('form', '/form', hello)

interface Shop {
  readonly store?: SessionStore
  readonly routes?: readonly ((app: Application) => void)[]
}

/** An application in production, in a folder in which no session can be stored: a file has the place of `var`. */
async function open(t: Test, { routes = [page, form], store }: Shop) {
  const directory = t.testdir({ var: 'a file' })
  const { app, client, close, records } = await createTestKernel({
    bundles: [
      createFrameworkBundle(store && { session: { store } }),
      {
        name: 'shop',
        register(app) {
          for (const add of routes) add(app)
        },
      },
    ],
    directory,
    variables: { APP_ENV: 'prod', APP_SECRET: 'a secret of the test, and of nothing else' },
  })
  t.teardown(close)
  const ready = async () => (await client.get('/_health')).text
  return { app, client, directory, ready, records }
}

const failing = '{"status":"failing","failed":["sessions"]}'
const ready = '{"status":"ready"}'

const bare: SessionStore = {
  read: async () => undefined,
  insert: async () => undefined,
  update: async () => undefined,
  destroy: async () => undefined,
}

const stateless = { defaults: { _stateless: true } }

const cases: Record<string, Shop & { readonly says: string }> = {
  'a route that takes POST may write to the session': { says: failing },
  'a route of any method may': {
    routes: [({ routes }) => routes.add({ name: 'any', path: '/', controller: hello })],
    says: failing,
  },
  'pages may only read it, until one has used it': { routes: [page], says: ready },
  'routes that are declared stateless have none': {
    routes: [({ routes }) => routes.add({ name: 'api', path: '/api', controller: hello, ...stateless })],
    says: ready,
  },
  'one other route is enough': {
    routes: [({ routes }) => routes.add({ name: 'api', path: '/api', controller: hello, ...stateless }), form],
    says: failing,
  },
  'an application without routes has no sessions': { routes: [], says: ready },
  'sessions in memory need no folder': { store: new MemorySessionStore(), says: ready },
  'a store without a check is not checked': { store: bare, says: ready },
  'a chosen store is needed, whatever the routes are': {
    store: { ...bare, check: () => Promise.reject(new Error('down')) },
    routes: [page],
    says: failing,
  },
  'a check that throws at once fails': {
    store: {
      ...bare,
      check() {
        throw new Error('down')
      },
    },
    says: failing,
  },
}

for (const [name, { says, ...shop }] of Object.entries(cases)) {
  t.test(`/_health is ready only if sessions can be stored: ${name}`, async t => {
    const { ready } = await open(t, shop)
    t.equal(await ready(), says)
  })
}

t.test('a page that uses the session makes its store needed', async t => {
  const visit = ({ routes }: Application) =>
    routes.get('visit', '/visit', async ({ session }) => Response.text(String(await session.has('user'))))
  const { client, ready } = await open(t, { routes: [visit] })
  t.equal(await ready(), '{"status":"ready"}')
  await client.get('/visit')
  // The results of the first request are kept for a second.
  await until(async () => (await ready()) === failing)
  t.pass('it is not ready')
})

t.test('when the server begins to listen, the log names what cannot be written', async t => {
  const temporary = process.env.TMPDIR
  process.env.TMPDIR = '/nothing/is/here'
  t.teardown(() => Object.assign(process.env, { TMPDIR: temporary ?? '/tmp' }))
  const { app, directory, records } = await open(t, {})
  app.signals.emit('server.listening', { url: 'http://127.0.0.1:8000', worker: 1 })
  await until(() => records.length > 1)
  const logged = records.map(({ context, level, message }) => [level, message, context.exception])
  t.match(logged.toSorted(), [
    ['error', 'The health check "sessions" has failed.', { message: `${directory}/var/sessions (ENOTDIR` }],
    ['warning', 'The health check "uploads" has failed.', { message: '/nothing/is/here (ENOENT' }],
  ])
})

t.test('the check of a folder leaves nothing, and does not create it', async t => {
  const { directory, ready } = await open(t, {})
  t.equal(await ready(), failing)
  t.strictSame(readdirSync(directory), ['var'])
})

t.test('an outage makes a process unready that has stored no session yet, and no other', async t => {
  const outage = new SESSION_STORE_UNREACHABLE([])
  let error: Error | undefined = outage
  const store = { ...bare, check: async () => (error === undefined ? undefined : Promise.reject(error)) }
  const [sessions] = createOwnChecks({ routes: [], store, hasUsed: () => true })
  const check = async () => sessions?.check(new AbortController().signal)
  await t.rejects(check(), { code: 'SESSION_STORE_UNREACHABLE' }, 'a new machine with a wrong address')
  error = undefined
  await check()
  error = outage
  await check()
  error = new SESSION_STORE_FAILED(['write a session'])
  await t.rejects(check(), { code: 'SESSION_STORE_FAILED' }, 'this does not pass by itself')
})

t.test('the check of Redis writes', { skip: lacksRedis }, async t => {
  const { port } = await startRedis(t, { args: ['--maxmemory-policy', 'noeviction'] })
  const url = `redis://127.0.0.1:${port}`
  const admin = openRedis(t, { host: '127.0.0.1', port })
  const create = (address: string) => {
    const store = new RedisSessionStore({ url: address, logger: silentLogger })
    t.teardown(() => store.close())
    return store
  }
  const check = async (address = url) =>
    create(address)
      .check()
      .then(
        () => 'stored',
        ({ code, cause }) => `${code}: ${cause.message}`,
      )

  t.equal(await check(), 'stored')
  t.strictSame(await admin.keys('*'), [], 'and leaves nothing')
  t.match(await check(`redis://127.0.0.1:${await findPort()}`), /^SESSION_STORE_UNREACHABLE: There is no connection/)
  await admin.replicaof('127.0.0.1', '1')
  t.match(await check(), /^SESSION_STORE_UNREACHABLE: READONLY/, 'a replica')
  await admin.replicaof('NO', 'ONE')
  await admin.config('SET', 'maxmemory', '1')
  t.match(await check(), /^SESSION_STORE_FAILED: OOM/, 'a full server')
  await admin.config('SET', 'maxmemory', '0')
  await admin.acl('SETUSER', 'reader', 'on', '>secret', '~*', '+@read', '+evalsha', '+eval', '+info')
  t.match(
    await check(url.replace('//', '//reader:secret@')),
    /^SESSION_STORE_FAILED: .*(can't run|permission)/,
    'a user who may only read',
  )
  await admin.config('SET', 'min-replicas-to-write', '1')
  t.match(await check(), /^SESSION_STORE_FAILED: NOREPLICAS/, 'too few replicas')
  await admin.config('SET', 'min-replicas-to-write', '0')
  await admin.config('SET', 'requirepass', 'secret')
  t.match(await check(), /^SESSION_STORE_\w+: /, 'no password')
})
