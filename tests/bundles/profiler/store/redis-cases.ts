import type { Test } from 'tap'
import { createRecord, createRecords, facts, tokenOf, tokensOf } from '#tests/support/create-profile.ts'
import { until } from '#tests/support/until.ts'
import { createRedisStorage } from './redis-storage.ts'
import { storageCases } from './storage-cases.ts'

/** Runs the cases of all storage, and of several machines, with a Redis; another function may empty it before each. */
export async function testCases(t: Test, url: string, empty: () => void = () => {}): Promise<void> {
  for (const [number, [claim, testCase]] of Object.entries(storageCases).entries()) {
    await t.test(claim, async t => {
      empty()
      const { problems, storage } = createRedisStorage(t, { url, prefix: `case${number}:` })
      await testCase(t, () => storage)
      const expected = claim.startsWith('a listener') ? ['A listener to new profiles has failed.'] : []
      t.strictSame(
        problems.map(({ message }) => message),
        expected,
      )
    })
  }
  for (const [number, [claim, testCase]] of Object.entries(redisCases).entries()) {
    await t.test(claim, async t => {
      empty()
      await testCase(t, url, `hosts${number}:`)
    })
  }
}

/** The tests of several machines with one Redis; each has a prefix of its own. */
const redisCases: Record<string, (t: Test, url: string, prefix: string) => Promise<void>> = {
  'two hosts have one list, and change, pin and remove the same profiles': async (t, url, prefix) => {
    const [one, other] = [1, 2].map(() => createRedisStorage(t, { url, prefix }).storage) as [Storage, Storage]
    for (const record of createRecords(3)) one.append(record, facts)
    await one.flush()
    for (const record of createRecords(2, 3)) other.append(record, facts)
    await other.flush()
    for (const storage of [one, other]) {
      t.strictSame(tokensOf(await storage.search({ limit: 9 })), [4, 3, 2, 1, 0].map(tokenOf))
      t.strictSame((await storage.usage()).profiles, 5)
    }
    t.equal(await other.amend(tokenOf(0), () => createRecord({ token: tokenOf(0), status: 500 })), true)
    t.equal((await one.search({ limit: 9 })).summaries.at(-1)?.status, 500)
    t.hasStrict(await one.find(tokenOf(0)), { profile: { summary: { status: 500 } } })
    t.equal(await other.pin(tokenOf(1), true), true)
    t.equal(await other.pin(tokenOf(1), true), true)
    t.strictSame(await one.pinned(), new Set([tokenOf(1)]))
    await one.purge()
    t.strictSame(tokensOf(await other.search({ limit: 9 })), [tokenOf(1)])
    t.equal(await one.pin(tokenOf(1), false), true)
    t.strictSame(await other.search({ limit: 9 }), { summaries: [], total: 0 })
    t.strictSame(await one.usage(), { profiles: 0, bytes: 0, dropped: 0, problem: undefined })
  },

  'changes of two hosts at the same time are made one after another': async (t, url, prefix) => {
    const hosts = [1, 2, 3].map(() => createRedisStorage(t, { url, prefix }).storage) as [Storage, Storage, Storage]
    hosts[0].append(createRecord({ token: tokenOf(0), warnings: 0 }), facts)
    await hosts[0].flush()
    const changes = hosts.flatMap(host =>
      Array.from({ length: 5 }, () =>
        host.amend(tokenOf(0), ({ summary }) => createRecord({ ...summary, warnings: summary.warnings + 1 })),
      ),
    )
    t.strictSame(await Promise.all(changes), Array(15).fill(true))
    t.hasStrict(await hosts[1].find(tokenOf(0)), { profile: { summary: { warnings: 15 } } })
  },

  'a listener gets the new profiles of other machines, and none of the old ones': async (t, url, prefix) => {
    const [one, other] = [1, 2].map(() => createRedisStorage(t, { url, prefix }).storage) as [Storage, Storage]
    for (const record of createRecords(3)) one.append(record, facts)
    await one.flush()
    const found: string[] = []
    const stop = other.tail(({ token }) => found.push(token))
    await other.load()
    for (const record of createRecords(300, 3)) one.append(record, facts)
    await one.flush()
    await until(() => found.length === 300)
    t.strictSame(
      found,
      Array.from({ length: 300 }, (_, index) => tokenOf(index + 3)),
    )
    stop()
  },

  'a profile that another host is about to write is waited for': async (t, url, prefix) => {
    const [one, other] = [1, 2].map(() => createRedisStorage(t, { url, prefix }).storage) as [Storage, Storage]
    other.append(createRecord({ token: tokenOf(0) }), facts)
    await other.flush()
    const found = one.find(tokenOf(1))
    other.append(createRecord({ token: tokenOf(1) }), facts)
    t.hasStrict(await found, { profile: { summary: { token: tokenOf(1) } } })
    t.equal(await one.find(tokenOf(2)), undefined, 'a second at most')
  },

  'all profiles are listed, in their order, by a process that reads them later': async (t, url, prefix) => {
    const one = createRedisStorage(t, { url, prefix }).storage
    for (const record of createRecords(1100)) one.append(record, facts)
    await one.flush()
    const other = createRedisStorage(t, { url, prefix }).storage
    const expected = Array.from({ length: 1100 }, (_, index) => tokenOf(1099 - index))
    t.strictSame(tokensOf(await other.search({ limit: 2000 })), expected)
    t.strictSame(tokensOf(await one.search({ limit: 2000 })), expected)
    for (const record of createRecords(600, 2000)) one.append(record, facts)
    await one.flush()
    t.equal((await other.search({ limit: 1 })).total, 1700)
    expected.unshift(...Array.from({ length: 600 }, (_, index) => tokenOf(2599 - index)))
    one.append(createRecord({ token: tokenOf(3), status: 500 }), facts)
    await one.flush()
    const { summaries } = await other.search({ limit: 2000 })
    t.strictSame(
      summaries.map(({ token }) => token),
      expected,
    )
    t.strictSame(
      summaries.filter(({ status }) => status === 500).map(({ token }) => token),
      [tokenOf(3)],
    )
  },

  'the oldest profiles are removed when there are too many': async (t, url, prefix) => {
    const one = createRedisStorage(t, { url, prefix, limits: { count: 10 } }).storage
    const reader = createRedisStorage(t, { url, prefix }).storage
    for (const record of createRecords(5)) one.append(record, facts)
    t.equal(await one.pin(tokenOf(0), true), true)
    t.equal((await reader.search({ limit: 500 })).total, 5)
    for (const record of createRecords(300, 5)) one.append(record, facts)
    await one.flush()
    const left = [...Array.from({ length: 10 }, (_, index) => tokenOf(304 - index)), tokenOf(0)]
    t.strictSame(tokensOf(await one.search({ limit: 500 })), left)
    t.strictSame(tokensOf(await reader.search({ limit: 500 })), left)
    t.equal((await reader.usage()).profiles, 11)
    t.equal(await one.find(tokenOf(7)), undefined)
    t.equal(one.has(tokenOf(7)), false)
    for (const record of createRecords(300, 1000)) reader.append(record, facts)
    await reader.flush()
    one.append(createRecord({ token: tokenOf(2000) }), facts)
    await one.flush()
    t.equal((await reader.usage()).profiles, 11, 'in several steps')
  },

  'the oldest profiles are removed when they are too long or too old': async (t, url, prefix) => {
    const { storage } = createRedisStorage(t, { url, prefix, limits: { bytes: 20_000 } })
    for (const record of createRecords(100)) storage.append(record, facts)
    await storage.flush()
    const { bytes, profiles } = await storage.usage()
    t.ok(bytes <= 20_000 && profiles > 5 && profiles < 30)
    t.equal((await storage.search({ limit: 1 })).total, profiles)
    const other = createRedisStorage(t, { url, prefix, limits: { age: 0 } }).storage
    other.append(createRecord({ token: tokenOf(200) }), facts)
    await other.flush()
    await until(async () => {
      other.append(createRecord({ token: tokenOf(201) }), facts)
      await other.flush()
      return (await storage.find(tokenOf(200))) === undefined
    })
    t.ok((await storage.search({ limit: 1 })).total < 3)
  },

  'messages remove no request: the newest tenth stays, also for another machine, and pinned ones': async (
    t,
    url,
    prefix,
  ) => {
    const one = createRedisStorage(t, { url, prefix, limits: { count: 100 } }).storage
    const reader = createRedisStorage(t, { url, prefix }).storage
    const append = async (records: ReturnType<typeof createRecords>, type: 'message' | 'request') => {
      for (const { summary } of records) one.append(createRecord({ ...summary, type }), facts)
      await one.flush()
    }
    await append(createRecords(20), 'request')
    await append(createRecords(5, 20), 'message')
    t.equal(await one.pin(tokenOf(20), true), true)
    t.equal((await reader.search({ limit: 500 })).total, 25)
    await append(createRecords(350, 25), 'message')
    await append(createRecords(10, 1000), 'request')
    const tokens = (from: number, count: number) => Array.from({ length: count }, (_, index) => tokenOf(from - index))
    const left = [...tokens(1009, 10), ...tokens(374, 10), tokenOf(20), ...tokens(19, 20)]
    t.strictSame(tokensOf(await one.search({ limit: 500 })), left)
    t.strictSame(tokensOf(await reader.search({ limit: 500 })), left)
    const late = createRedisStorage(t, { url, prefix }).storage
    t.strictSame(tokensOf(await late.search({ limit: 500 })), left)
    t.equal(await reader.pin(tokenOf(20), false), true)
    t.equal((await one.search({ limit: 500 })).total, left.length - 1, 'it is older than those that were removed')
    t.equal(await reader.pin(tokenOf(370), true), true)
    t.equal(await reader.pin(tokenOf(370), false), true)
    await append(createRecords(10, 500), 'message')
    t.strictSame(tokensOf(await reader.search({ limit: 10 })), tokens(509, 10))
    t.equal(await one.find(tokenOf(370)), undefined, 'it counts as before')
    t.equal((await one.search({ limit: 500 })).total, left.length - 1)
    await one.purge()
    t.strictSame(await reader.usage(), { profiles: 0, bytes: 0, dropped: 0, problem: undefined })
    await append(createRecords(200, 600), 'message')
    const { bytes } = await reader.usage()
    await append(createRecords(200, 800), 'message')
    t.ok(Math.abs((await reader.usage()).bytes - bytes) < 100, 'bytes are counted; tokens differ in length')
  },
}

type Storage = ReturnType<typeof createRedisStorage>['storage']
