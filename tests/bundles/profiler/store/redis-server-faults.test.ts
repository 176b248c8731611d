import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { createFrameworkBundle } from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { createTestKernel, silentLogger } from 'sinfonietta/testing'
import { t } from 'tap'
import { createRedisSessionStore } from '#lib/session/redis-session-store.ts'
import { createRecord, createRecords, facts, tokenOf, tokensOf } from '#tests/support/create-profile.ts'
import { findPort } from '#tests/support/find-port.ts'
import { never, startProxy } from '#tests/support/start-proxy.ts'
import { lacksRedis, openRedis, startRedis } from '#tests/support/start-redis.ts'
import { until } from '#tests/support/until.ts'
import { createRedisStorage, type TestedRedisStorage } from './redis-storage.ts'

type Storage = TestedRedisStorage['storage']

function isStored(storage: Storage): () => Promise<boolean> {
  return async () => (await storage.search({ limit: 1 })).unstored === undefined
}

const urlOf = ({ port }: { readonly port: number }) => `redis://127.0.0.1:${port}`

// They mostly wait for timeouts: three at a time.
t.test('faults of a Redis', { skip: lacksRedis, jobs: 3 }, async t => {
  const lasting = await startRedis(t)

  t.test('it is not there at the start, and comes later', { buffered: true }, async t => {
    const port = await findPort()
    const { problems, storage } = createRedisStorage(t, { url: `redis://127.0.0.1:${port}` })
    for (const record of createRecords(100)) storage.append(record, facts)
    await until(() => problems.length === 1)
    await startRedis(t, { port })
    await until(isStored(storage))
    await storage.flush()
    t.equal((await createRedisStorage(t, { url: `redis://127.0.0.1:${port}` }).storage.search({ limit: 1 })).total, 100)
    t.equal(problems.length, 1)
  })

  t.test('it stops under load: answers are as before, and no profile is lost', { buffered: true }, async t => {
    const server = await startRedis(t)
    const profiler = createProfilerBundle()
    const variables = { PROFILER_URL: urlOf(server) }
    const { app, client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), profiler], variables })
    t.teardown(close)
    const logged: string[] = []
    app.logger.observe(({ level, message }) => level === 'warning' && message.includes('Redis') && logged.push(message))
    let answered = 0
    const askUntil = async (isEnough: () => boolean) => {
      while (!isEnough()) {
        await client.get('/missing')
        answered++
        await wait(20)
      }
    }
    await askUntil(() => answered >= 20)
    server.process.kill('SIGSTOP')
    await askUntil(() => logged.length > 0)
    const early = answered - 20
    // A request that waited for Redis would be the only one.
    t.ok(early > 1, `${early} requests are answered before one command of Redis has failed`)
    await askUntil(() => answered >= 20 + early + 20)
    server.process.kill('SIGCONT')
    const { storage } = createRedisStorage(t, { url: urlOf(server) })
    await until(async () => (await storage.search({ limit: 1 })).total >= 2 * answered)
    t.match(logged, [/^Redis does not answer\. Profiles wait in memory\./], 'once')
    t.equal(logged.length, 1)
  })

  t.test('it is full', { buffered: true }, async t => {
    const server = await startRedis(t, { args: ['--maxmemory', '3mb', '--maxmemory-policy', 'noeviction'] })
    const { problems, storage } = createRedisStorage(t, { url: urlOf(server) })
    for (let index = 0; index < 60; index++) {
      const noise = randomBytes(100_000).toString('base64')
      storage.append(createRecord({ token: tokenOf(index), data: { noise } }), facts)
      await storage.flush()
    }
    const { dropped, problem } = await storage.usage()
    t.ok(dropped > 20)
    t.match(problem, /^OOM/)
    t.ok((await storage.search({ limit: 1 })).total > 5, 'those that are stored are read')
    t.strictSame(
      problems.map(({ message }) => message),
      ['Profiles are dropped because Redis refuses them.'],
    )
    await openRedis(t, server).config('SET', 'maxmemory', '100mb')
    storage.append(createRecord({ token: tokenOf(1000) }), facts)
    await storage.flush()
    t.strictSame(tokensOf(await storage.search({ limit: 1 })), [tokenOf(1000)])
  })

  t.test('it has another password', { buffered: true }, async t => {
    const server = await startRedis(t, { args: ['--requirepass', 'the-right-password'] })
    const url = `redis://:a-wrong-password@127.0.0.1:${server.port}`
    const { problems, storage } = createRedisStorage(t, { url })
    storage.append(createRecord({ token: tokenOf(0) }), facts)
    await storage.flush()
    await until(() => problems.length > 0)
    t.match(problems[0]?.error, { message: /WRONGPASS|NOAUTH/ })
    t.notMatch(JSON.stringify(problems, Object.getOwnPropertyNames(problems[0]?.error)), 'a-wrong-password')
    t.equal((await storage.search({ limit: 1 })).total, 1)
    const right = createRedisStorage(t, { url: `redis://:the-right-password@127.0.0.1:${server.port}` }).storage
    right.append(createRecord({ token: tokenOf(1) }), facts)
    await right.flush()
    t.ok(await isStored(right)())
  })

  t.test('another application uses one of its keys', { buffered: true }, async t => {
    const client = openRedis(t, lasting)
    await client.set('wrong:state', 'a text')
    const { problems, storage } = createRedisStorage(t, { url: urlOf(lasting), prefix: 'wrong:' })
    storage.append(createRecord({ token: tokenOf(0) }), facts)
    await storage.flush()
    t.match((await storage.usage()).problem, /WRONGTYPE/)
    t.equal((await storage.usage()).dropped, 1)
    await client.del('wrong:state')
    storage.append(createRecord({ token: tokenOf(1) }), facts)
    await storage.flush()
    t.strictSame(tokensOf(await storage.search({ limit: 5 })), [tokenOf(1)])
    t.ok(problems.length < 3)
  })

  t.test('it is slow, then silent, then another one', { buffered: true }, async t => {
    const proxy = await startProxy(t, lasting.port)
    const { problems, recoveries, storage } = createRedisStorage(t, {
      url: urlOf(proxy),
      prefix: 'slow:',
      connection: { timeout: 1000 },
    })
    proxy.target.delay = 100
    for (const record of createRecords(50)) storage.append(record, facts)
    t.hasStrict(await storage.find(tokenOf(1)), { profile: { summary: { token: tokenOf(1) } } })
    await storage.flush()
    t.equal((await storage.search({ limit: 1 })).total, 50)
    t.strictSame(problems, [])
    proxy.target.delay = never
    t.equal((await storage.search({ limit: 1 })).total, 50, 'a search does not wait for it')
    await until(() => problems.length === 1)
    const other = await startRedis(t)
    Object.assign(proxy.target, { port: other.port, delay: 0 })
    proxy.disconnect()
    await until(() => recoveries.length > 0)
    storage.append(createRecord({ token: tokenOf(99) }), facts)
    await until(async () => (await storage.search({ limit: 1 })).total === 1)
    t.strictSame(tokensOf(await storage.search({ limit: 9 })), [tokenOf(99)])
  })

  t.test('it becomes a replica, and is the main server again', { buffered: true }, async t => {
    const server = await startRedis(t)
    const { problems, recoveries, storage } = createRedisStorage(t, { url: urlOf(server) })
    const client = openRedis(t, server)
    await client.replicaof('127.0.0.1', `${await findPort()}`)
    storage.append(createRecord({ token: tokenOf(0) }), facts)
    for (let attempt = 0; attempt < 3; attempt++) await storage.flush()
    t.strictSame(recoveries, [])
    await client.replicaof('NO', 'ONE')
    await until(isStored(storage))
    t.equal((await storage.usage()).dropped, 0)
    t.ok(await storage.find(tokenOf(0)))
    t.match(problems, [{ message: 'Redis does not answer. Profiles wait in memory.', error: { code: 'READONLY' } }])
    t.strictSame([problems.length, recoveries.length], [1, 1], 'each is reported once')
  })

  t.test('a user with the rights of the guide is enough for profiles and sessions', { buffered: true }, async t => {
    const server = await startRedis(t)
    const guide = readFileSync('docs/guides/several-machines.md', 'utf8')
    const [, rights = ''] = /^ACL (SETUSER .+)$/m.exec(guide) ?? []
    await openRedis(t, server).call('ACL', ...rights.split(' '))
    const [, user, , password] = rights.split(' ')
    const url = `redis://${user}:${password?.slice(1)}@127.0.0.1:${server.port}`
    const { problems, storage } = createRedisStorage(t, { url })
    for (const record of createRecords(3)) storage.append(record, facts)
    await storage.flush()
    await storage.pin(tokenOf(0), true)
    t.strictSame(tokensOf(await storage.search({ limit: 2 })), [tokenOf(2), tokenOf(1)])
    await storage.purge()
    t.equal((await storage.search({ limit: 5 })).total, 1)
    const sessions = createRedisSessionStore({ url })({ logger: silentLogger })
    t.teardown(() => sessions.close?.())
    const id = 'a'.repeat(43)
    const now = Date.now()
    const data = { createdAt: now, lastUsedAt: now, expiresAt: now + 60_000, attributes: { items: 3 }, flashes: {} }
    await sessions.insert(id, data)
    t.match(await sessions.read(id), data)
    await sessions.destroy(id)
    t.strictSame(problems, [])
  })

  t.test('it is gone when the application stops, which does not wait for it', { buffered: true }, async t => {
    const server = await startRedis(t)
    const { storage } = createRedisStorage(t, { url: urlOf(server) })
    storage.append(createRecord({ token: tokenOf(0) }), facts)
    await storage.flush()
    server.process.kill('SIGSTOP')
    for (const record of createRecords(10)) storage.append(record, facts)
    await storage.close()
    t.equal((await storage.usage()).dropped, 10)
  })
})
