import { mock } from 'node:test'
import { type Test, t } from 'tap'
import { createRedisSessionStore, RedisSessionStore } from '#lib/session/redis-session-store.ts'
import type { SessionData, SessionLimits } from '#lib/session/session-store.ts'
import { startFakeRedis } from '#tests/support/fake-redis.ts'
import { muteWarnings } from '#tests/support/mute-warnings.ts'
import { createRecorder } from '#tests/support/recording-logger.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'
import { until } from '#tests/support/until.ts'
import { createData, sessionStoreCases } from './session-store-cases.ts'

const createLogger = () => createRecorder().logger

/** Milliseconds: a Redis on a busy machine does not take as long. */
const timeout = 30_000

for (const [claim, testCase] of Object.entries(sessionStoreCases)) {
  t.test(`a fake Redis: ${claim}`, async t => {
    const { url } = await startFakeRedis(t)
    await testCase(t, (t, now, limits) => {
      const store = new RedisSessionStore({ url, now, limits: limits ?? {}, logger: createLogger(), timeout })
      t.teardown(() => store.close())
      return store
    })
  })
}

t.test('a change is made again with the newer data if another process was faster', async t => {
  const { url } = await startFakeRedis(t)
  const one = new RedisSessionStore({ url, logger: createLogger(), timeout })
  const other = new RedisSessionStore({ url, logger: createLogger(), timeout })
  t.teardown(() => {
    one.close()
    other.close()
  })
  await one.insert('a', createData({ count: 0 }, Date.now() + 60_000))
  const change = (stored: SessionData) => ({ ...stored, attributes: { count: Number(stored.attributes.count) + 1 } })
  const changes = Array.from({ length: 20 }, () => [one.update('a', change, 'a'), other.update('a', change, 'a')])
  await Promise.all(changes.flat())
  t.strictSame((await one.read('a'))?.attributes, { count: 40 })
})

t.test('sessions that are removed early are logged', async t => {
  const { url } = await startFakeRedis(t)
  const { logger, records } = createRecorder()
  const store = createRedisSessionStore({ url, limits: { sessions: 1 } })({ logger })
  t.teardown(() => store.close?.())
  for (const id of ['a', 'b']) await store.insert(id, createData({}, Date.now() + 60_000))
  t.match(records, [{ level: 'warning', message: 'There are too many sessions: 1 were removed early.' }])
})

t.test('without an answer each method rejects within its bound, and what Redis refuses is named', async t => {
  const fake = await startFakeRedis(t)
  const { logger, records } = createRecorder()
  const store = new RedisSessionStore({ url: fake.url, logger, timeout })
  t.teardown(() => store.close())
  await store.insert('a', createData({ user: 7 }, Date.now() + 60_000))
  const messages = () => records.map(({ level, message }) => `${level} ${message}`)
  const outage = 'warning Sessions are not available until the Redis of SESSION_URL answers again.'
  const recovery = 'info Redis answers again: sessions are available.'
  const methods: Record<string, () => Promise<unknown>> = {
    read: () => store.read('a'),
    insert: () => store.insert('b', createData({}, Date.now() + 60_000)),
    update: () => store.update('a', stored => ({ ...stored, attributes: {} }), 'a'),
    destroy: () => store.destroy('a'),
  }
  fake.refusal = 'OOM command not allowed when used memory > maxmemory.'
  for (const [name, call] of Object.entries(methods)) {
    await t.rejects(call, { code: 'SESSION_STORE_FAILED', status: 500, cause: { code: 'OOM' } }, name)
  }
  fake.refusal = "READONLY You can't write against a read only replica."
  for (const [name, call] of Object.entries(methods)) {
    await t.rejects(call, { code: 'SESSION_STORE_UNREACHABLE', status: 503 }, name)
    // The replica got a new connection.
    await until(() => store.read('a').catch(({ cause }) => cause.code === 'READONLY'))
  }
  t.strictSame(messages(), [outage], 'logged once')
  fake.refusal = undefined
  await until(() =>
    store.destroy('c').then(
      () => true,
      () => false,
    ),
  )
  t.strictSame(messages(), [outage, recovery], 'the server writes again')
  fake.isSilent = true
  // The timers of the store and of its client do not depend on the speed of the machine.
  muteWarnings(t, 'ExperimentalWarning')
  mock.timers.enable({ apis: ['setTimeout'] })
  const clock = setInterval(() => mock.timers.tick(timeout / 20), 1)
  t.teardown(() => {
    clearInterval(clock)
    mock.timers.reset()
  })
  for (const [name, call] of Object.entries(methods)) {
    await t.rejects(call, { code: 'SESSION_STORE_UNREACHABLE', status: 503 }, name)
  }
  fake.isSilent = false
  await until(() => store.read('a').then(Boolean, () => false))
  t.strictSame((await store.read('a'))?.attributes, { user: 7 }, 'the change that had no answer was not made')
  t.strictSame(messages(), [outage, recovery, outage, recovery])
})

t.test('Redis', { skip: lacksRedis }, async t => {
  const { host, port } = await startRedis(t)
  const url = `redis://${host}:${port}`
  let count = 0
  const open = (t: Test, now: () => number, limits: Partial<SessionLimits> = {}): RedisSessionStore => {
    const store = new RedisSessionStore({ url, prefix: `${count++}:`, now, limits, logger: createLogger(), timeout })
    t.teardown(() => store.close())
    return store
  }
  for (const [claim, testCase] of Object.entries(sessionStoreCases)) t.test(claim, t => testCase(t, open))
})
