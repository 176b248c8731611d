import { createFrameworkBundle } from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { createRedisProfileStorage, RedisProfileStorage } from '#bundles/profiler/store/redis/redis-profile-storage.ts'
import { defineScript, loadRedis, RedisConnection } from '#lib/redis/redis-connection.ts'
import { createRecord, createRecords, facts, tokenOf, tokensOf } from '#tests/support/create-profile.ts'
import { startFakeRedis } from '#tests/support/fake-redis.ts'
import { findPort } from '#tests/support/find-port.ts'
import { until } from '#tests/support/until.ts'
import { createRedisStorage } from './redis-storage.ts'

t.test('an outage: profiles wait, it is reported once, and recovery needs no restart', async t => {
  const fake = await startFakeRedis(t)
  const { problems, recoveries, storage } = createRedisStorage(t, { url: fake.url })
  for (const record of createRecords(2)) storage.append(record, facts)
  await storage.flush()
  await fake.shut()
  await until(() => problems.length === 1)
  for (const record of createRecords(200, 2)) storage.append(record, facts)
  await storage.flush()
  t.match(await storage.find(tokenOf(5)), { profile: { summary: { token: tokenOf(5) } } }, 'from memory')
  t.equal(await storage.find(tokenOf(1)), undefined)
  const { summaries, unstored } = await storage.search({ limit: 300 })
  t.strictSame([summaries.length, unstored?.size], [202, 200])
  t.equal((await storage.usage()).profiles, 202)
  t.equal(await storage.pin(tokenOf(1), true), false)
  t.equal(await storage.amend(tokenOf(1), () => createRecord({ token: tokenOf(1) })), false)
  t.strictSame(await storage.pinned(), new Set())
  await fake.open()
  await until(() => recoveries.length === 1)
  await until(async () => (await storage.search({ limit: 1 })).unstored === undefined)
  await storage.flush()
  t.strictSame(
    problems.map(({ message }) => message),
    ['Redis does not answer. Profiles wait in memory.'],
  )
  const other = createRedisStorage(t, { url: fake.url }).storage
  const expected = Array.from({ length: 202 }, (_, index) => tokenOf(201 - index))
  t.strictSame(tokensOf(await other.search({ limit: 300 })), expected, 'nothing is lost, and the order is kept')
  t.strictSame(tokensOf(await storage.search({ limit: 300 })), expected)
  t.equal((await storage.usage()).dropped, 0)
})

t.test('without a server at the start, memory is bounded, and drops are counted and reported once', async t => {
  const port = await findPort()
  const { problems, storage } = createRedisStorage(t, { url: `redis://127.0.0.1:${port}`, queueLength: 5000 })
  for (const record of createRecords(300)) storage.append(record, facts)
  const { dropped, problem, profiles } = await storage.usage()
  t.ok(profiles > 3 && profiles < 50)
  t.equal(dropped, 300 - profiles)
  t.equal(problem, 'Profiles are dropped because Redis is gone or too slow.')
  t.equal(storage.has(tokenOf(299)), false)
  await storage.purge()
  t.hasStrict(await storage.search({ limit: 5 }), { summaries: [], total: 0 })
  storage.append(createRecord({ token: tokenOf(0) }), facts)
  storage.flushNow()
  t.equal(await storage.find(tokenOf(0)), undefined)
  storage.append(createRecord({ token: tokenOf(1) }), facts)
  await storage.close()
  storage.append(createRecord({ token: tokenOf(2) }), facts)
  t.equal(storage.has(tokenOf(1)), false)
  t.strictSame(problems.map(({ message }) => message).toSorted(), [
    'Profiles are dropped because Redis is gone or too slow.',
    'Profiles are lost because Redis is gone.',
    'Redis does not answer. Profiles wait in memory.',
  ])
  t.equal((await storage.usage()).dropped, 300 - profiles + 2)
})

t.test('a profile that is too long is dropped', async t => {
  const fake = await startFakeRedis(t)
  const { storage } = createRedisStorage(t, { url: fake.url })
  storage.append(createRecord({ token: tokenOf(0), data: { text: 'x'.repeat(5_000_000) } }), facts)
  t.equal((await storage.usage()).problem, 'A profile was dropped because it is too long.')
  for (let index = 1; index < 4; index++) {
    storage.append(createRecord({ token: tokenOf(index), data: { text: 'x'.repeat(900_000) } }), facts)
  }
  await storage.flush()
  t.equal((await storage.search({ limit: 5 })).total, 3, 'long profiles are written in several groups')
})

t.test('a server that is full: profiles are dropped, and later ones are stored', async t => {
  const fake = await startFakeRedis(t)
  const { problems, storage } = createRedisStorage(t, { url: fake.url })
  storage.append(createRecord({ token: tokenOf(0) }), facts)
  await storage.flush()
  fake.refusal = 'OOM command not allowed when used memory > maxmemory.'
  for (const record of createRecords(3)) storage.append(record, facts)
  await storage.flush()
  t.hasStrict(await storage.usage(), { dropped: 3, problem: fake.refusal })
  t.equal(await storage.amend(tokenOf(0), () => undefined), false)
  fake.refusal = undefined
  t.equal((await storage.search({ limit: 5 })).total, 1, 'the version that was stored is left')
  storage.append(createRecord({ token: tokenOf(5) }), facts)
  await storage.flush()
  t.strictSame(tokensOf(await storage.search({ limit: 5 })), [tokenOf(5), tokenOf(0)])
  t.strictSame(
    problems.map(({ message }) => message),
    [
      'Profiles are dropped because Redis refuses them.',
      'The list of profiles cannot be read.',
      'A profile cannot be read.',
    ],
  )
})

t.test('errors that pass keep the profiles', async t => {
  const fake = await startFakeRedis(t)
  const { problems, storage } = createRedisStorage(t, { url: fake.url })
  fake.refusal = 'LOADING Redis is loading the dataset in memory'
  storage.append(createRecord({ token: tokenOf(0) }), facts)
  await storage.flush()
  storage.append(createRecord({ token: tokenOf(0), status: 500 }), facts)
  fake.refusal = undefined
  await until(async () => (await storage.search({ limit: 1 })).unstored === undefined)
  t.hasStrict(await storage.search({ limit: 5 }), { total: 1, summaries: [{ status: 500 }] })
  t.equal((await storage.usage()).dropped, 0)
  t.strictSame(problems, [])
})

t.test('an answer that a script does not give is a damage of it alone', async t => {
  const fake = await startFakeRedis(t)
  const { storage } = createRedisStorage(t, { url: fake.url })
  for (const record of createRecords(4)) storage.append(record, facts)
  await storage.flush()
  fake.damage(tokenOf(0), 'text', 'not compressed')
  fake.damage(tokenOf(1), 'facts', 'unknown')
  fake.damage(tokenOf(2), 'summary', '{"token":1')
  t.equal(await storage.find(tokenOf(0)), undefined)
  t.hasStrict(await storage.find(tokenOf(1)), { profile: { processData: {} } })
  const other = createRedisStorage(t, { url: fake.url }).storage
  t.strictSame(tokensOf(await other.search({ limit: 5 })), [3, 1, 0].map(tokenOf))
})

t.test('a server that was restarted without data: the list begins again', async t => {
  const fake = await startFakeRedis(t)
  const { storage } = createRedisStorage(t, { url: fake.url })
  const { storage: reader } = createRedisStorage(t, { url: fake.url })
  for (const record of createRecords(2)) storage.append(record, facts)
  await storage.flush()
  await storage.pin(tokenOf(0), true)
  const found: string[] = []
  reader.tail(({ token }) => found.push(token))
  t.equal((await reader.search({ limit: 5 })).total, 2)
  fake.empty()
  fake.disconnect()
  await until(async () => (await reader.search({ limit: 5 })).total === 0)
  t.strictSame(await reader.pinned(), new Set())
  storage.append(createRecord({ token: tokenOf(1) }), facts)
  storage.append(createRecord({ token: tokenOf(7) }), facts)
  await until(async () => (await reader.search({ limit: 5 })).total === 2)
  await until(() => found.length === 2)
  t.strictSame(found, [1, 7].map(tokenOf))
  t.strictSame(tokensOf(await storage.search({ limit: 5 })), [7, 1].map(tokenOf))
  // A profile is listed a moment before its facts are there.
  await storage.flush()
  t.hasStrict(await reader.find(tokenOf(7)), { profile: { processData: JSON.parse(facts) } }, 'facts are sent again')
  // Another process was the first to write.
  fake.empty()
  reader.append(createRecord({ token: tokenOf(9) }), facts)
  await reader.flush()
  storage.append(createRecord({ token: tokenOf(7) }), facts)
  await storage.flush()
  t.strictSame(tokensOf(await storage.search({ limit: 5 })), [7, 9].map(tokenOf))
})

t.test('a storage does not wait for a server that does not answer', async t => {
  const fake = await startFakeRedis(t)
  const connection = { timeout: 100 }
  const { problems, recoveries, storage } = createRedisStorage(t, { url: fake.url, connection })
  storage.append(createRecord({ token: tokenOf(0) }), facts)
  // A busy machine may answer too late before.
  await until(async () => {
    await storage.flush()
    return (await storage.search({ limit: 1 })).unstored === undefined
  })
  const [outages, ends] = [problems.length, recoveries.length]
  fake.isSilent = true
  t.equal(await storage.find(tokenOf(0)), undefined)
  storage.append(createRecord({ token: tokenOf(1) }), facts)
  await storage.flush()
  await until(() => problems.length > outages)
  fake.isSilent = false
  await until(() => recoveries.length > ends)
  await until(async () => (await storage.search({ limit: 1 })).unstored === undefined)
  t.equal((await storage.find(tokenOf(1)))?.profile.summary.token, tokenOf(1))
})

t.test('a command without an answer fails when its connection ends, before its timeout', async t => {
  const fake = await startFakeRedis(t)
  const options = { url: fake.url, timeout: 30_000, onOutage: () => undefined, onRecovery: () => undefined }
  const connection = new RedisConnection(options)
  t.teardown(() => connection.close())
  const script = defineScript('')
  await connection.run(script, [], []).catch(() => undefined)
  fake.isSilent = true
  const failed = connection.run(script, [], []).catch((error: Error) => error.message)
  fake.disconnect()
  t.notMatch(await failed, 'in time')
})

t.test('the package is loaded with the first command; without it, that is what is reported', async t => {
  const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
  const load = () => loadRedis(() => Promise.reject(missing))
  const { problems, storage } = createRedisStorage(t, { url: 'redis://127.0.0.1:1', connection: { load } })
  t.strictSame(problems, [])
  storage.append(createRecord(), facts)
  await storage.flush()
  t.hasStrict(problems, [{ error: { code: 'REDIS_PACKAGE_MISSING' } }])
  await t.rejects(
    loadRedis(() => Promise.reject(new Error('It is damaged.'))),
    { message: 'It is damaged.' },
  )
  const created = new RedisConnection({
    url: 'redis://127.0.0.1:1',
    onOutage: () => t.fail('it was closed before'),
    onRecovery: () => undefined,
  })
  const failed = t.rejects(created.run(defineScript(''), [], []), { name: 'RedisError', code: undefined })
  created.close()
  await failed
})

t.test('the URL has to be one of Redis, and is in no error', async t => {
  for (const url of ['http://host:1', 'secret', 'redis://', '/path']) {
    const options = { url, onProblem: () => undefined, onRecovery: () => undefined }
    t.throws(() => new RedisProfileStorage(options), { code: 'REDIS_URL_INVALID', message: /redis:\/\/host:6379/ })
  }
})

t.test('an application stores its profiles by a setting or an option, with tokens of 12 digits', async t => {
  const fake = await startFakeRedis(t)
  const { storage } = createRedisStorage(t, { url: fake.url })
  const boot = async (variables: Record<string, string>, profiler = createProfilerBundle()) => {
    const logged: string[] = []
    const kernel = await createTestKernel({ bundles: [createFrameworkBundle(), profiler], variables })
    kernel.app.logger.observe(({ message }) => logged.push(message))
    t.teardown(() => kernel.close())
    return { ...kernel, logged }
  }
  const first = await boot({ PROFILER_URL: fake.url })
  const second = await boot({}, createProfilerBundle({ storage: createRedisProfileStorage({ url: fake.url }) }))
  for (const { client } of [first, second]) {
    const token = (await client.get('/missing')).headers.get('x-debug-token') ?? ''
    t.match(token, /^[0-9a-f]{12}$/)
    await until(() => storage.find(token))
    const stored = await storage.find(token)
    t.hasStrict(stored?.profile.summary, { token, status: 404 })
    t.equal(stored?.profile.collectors.queries, undefined, 'the commands of the storage are no cache calls')
    t.equal((await client.get(`/_profiler/${token}`)).status, 200)
  }
  await fake.shut()
  await until(() =>
    first.logged.some(each => each.startsWith('Redis does not answer. Profiles wait in memory. Start it at ')),
  )
  await first.client.get('/missing')
  await fake.open()
  await until(() => first.logged.includes('Redis answers again.'))
  fake.refusal = 'OOM'
  await second.client.get('/missing')
  await until(() => second.logged.some(each => each.startsWith('Profiles are dropped because Redis refuses them. ')))
  await t.rejects(boot({ PROFILER_URL: 'http://secret@host' }), { code: 'CONFIG_INVALID', message: /^(?!.*secret)/s })
})
