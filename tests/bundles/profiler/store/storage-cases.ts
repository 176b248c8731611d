import assert from 'node:assert'
import type { ProfileStorage } from 'sinfonietta/profiler'
import type { Test } from 'tap'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import {
  createRecord,
  createRecords,
  createSummary,
  facts,
  type ProfileQuery,
  tokenOf,
  tokensOf,
} from '#tests/support/create-profile.ts'

/** Creates an empty storage. */
export type CreateStorage = (t: Test) => ProfileStorage

/** The tests of each implementation of a storage. */
export const storageCases: Record<string, (t: Test, createStorage: CreateStorage) => Promise<void>> = {
  'an appended profile is found at once, and after it was written': async (t, createStorage) => {
    const storage = createStorage(t)
    const record = createRecord({ token: 'abcdef', children: ['000001'], failures: { probe: 'It failed.' } })
    storage.append(record, facts)
    const profile = { ...JSON.parse(record.text), processData: JSON.parse(facts) }
    const expected = { profile, isPinned: false }
    t.hasStrict(await storage.find('abcdef'), expected)
    t.equal(storage.has('abcdef'), true)
    await storage.flush()
    t.hasStrict(await storage.find('abcdef'), expected)
    t.strictSame(await storage.search({ limit: 10 }), { summaries: [record.summary], total: 1 })
  },

  'an unknown or invalid token is not found': async (t, createStorage) => {
    const storage = createStorage(t)
    storage.append(createRecord({ token: '000001' }), facts)
    for (const token of ['000002', '', '00001', '0000001', 'ABCDEF', '../../', 'a/b.js', '__proto__', 'constructor']) {
      t.equal(await storage.find(token), undefined, token)
      t.equal(storage.has(token), false, token)
      t.equal(await storage.pin(token, true), false, token)
      t.equal(await storage.pin(token, false), false, token)
    }
  },

  'each profile has its own facts': async (t, createStorage) => {
    const storage = createStorage(t)
    const versions = ['{"version":1}', '{"version":1}', '{"version":2}', '{"version":1}']
    for (const [index, text] of versions.entries()) storage.append(createRecord({ token: tokenOf(index) }), text)
    await storage.flush()
    for (const [index, text] of versions.entries()) {
      t.strictSame((await storage.find(tokenOf(index)))?.profile.processData, JSON.parse(text))
    }
  },

  'an updated profile has its newest content in its old place': async (t, createStorage) => {
    const storage = createStorage(t)
    for (const record of createRecords(3)) storage.append(record, facts)
    storage.append(createRecord({ token: tokenOf(1), status: 500, data: { late: true } }), '{"version":2}')
    const check = async () => {
      const { summaries, total } = await storage.search({ limit: 10 })
      t.strictSame(
        summaries.map(({ token, status }) => [token, status]),
        [
          [tokenOf(2), 200],
          [tokenOf(1), 500],
          [tokenOf(0), 200],
        ],
      )
      t.equal(total, 3)
      t.hasStrict(await storage.find(tokenOf(1)), { profile: { data: { late: true }, processData: { version: 2 } } })
    }
    await check()
    await storage.flush()
    await check()
    storage.append(createRecord({ token: tokenOf(1), status: 500, data: { late: 'later' } }), facts)
    t.hasStrict(await storage.find(tokenOf(1)), { profile: { data: { late: 'later' } } })
    storage.append(createRecord({ token: tokenOf(7) }), facts)
    t.equal(tokensOf(await storage.search({ limit: 1 }))[0], tokenOf(7), 'an unknown profile is appended')
  },

  'a change keeps the place of a profile, and changes at the same time are made one after another': async (
    t,
    createStorage,
  ) => {
    const storage = createStorage(t)
    for (const record of createRecords(2)) storage.append(record, facts)
    const count = (profile: Profile) => {
      const counted = Number(profile.data.counted ?? 0) + 1
      return createRecord({ token: tokenOf(0), warnings: counted, data: { counted } })
    }
    const changes = await Promise.all(Array.from({ length: 5 }, () => storage.amend(tokenOf(0), count)))
    t.strictSame(changes, [true, true, true, true, true])
    t.equal(await storage.amend(tokenOf(0), () => undefined), true, 'nothing is changed')
    t.equal(await storage.amend('ffffff', () => assert.fail('there is no such profile')), false)
    for (const step of ['waiting', 'written']) {
      const found = await storage.find(tokenOf(0))
      t.hasStrict(
        found?.profile,
        { summary: { warnings: 5 }, data: { counted: 5 }, processData: JSON.parse(facts) },
        step,
      )
      t.strictSame(tokensOf(await storage.search({ limit: 5 })), [1, 0].map(tokenOf))
      await storage.flush()
    }
    await t.rejects(
      storage.amend(tokenOf(0), () => {
        throw new Error('No.')
      }),
      { message: 'No.' },
    )
    t.equal(await storage.amend(tokenOf(0), count), true, 'a change that fails does not stop the next one')
  },

  'the newest come first, in pages': async (t, createStorage) => {
    const storage = createStorage(t)
    t.strictSame(await storage.search({ limit: 10 }), { summaries: [], total: 0 })
    for (const record of createRecords(25)) storage.append(record, facts)
    const page = async (query: ProfileQuery) => {
      const result = await storage.search(query)
      t.equal(result.total, 25)
      return tokensOf(result)
    }
    t.strictSame(await page({ limit: 3 }), [24, 23, 22].map(tokenOf))
    t.strictSame(await page({ limit: 3, offset: 20 }), [4, 3, 2].map(tokenOf))
    t.strictSame(await page({ limit: 10, offset: 23 }), [1, 0].map(tokenOf))
    t.strictSame(await page({ limit: 10, offset: 25 }), [])
    t.strictSame(await page({ limit: 0 }), [])
  },

  'every field can be a condition, and all conditions hold': async (t, createStorage) => {
    const storage = createStorage(t)
    const records = [
      createRecord({ token: '000001', status: 404, method: 'POST', exception: 'TypeError', time: 10 }),
      createRecord({ token: '000002', status: 200, method: 'POST', url: 'http://localhost/star?a=1', time: 20 }),
      createRecord({ token: '000003', status: 500, method: 'GET', exception: 'RangeError', time: 30 }),
    ]
    for (const record of records) storage.append(record, facts)
    const search = async (...filters: NonNullable<ProfileQuery['filters']>) => {
      const result = await storage.search({ filters, limit: 10 })
      t.equal(result.total, result.summaries.length)
      return tokensOf(result)
    }
    t.strictSame(await search({ field: 'method', test: 'contains', value: 'POST' }), ['000002', '000001'])
    t.strictSame(await search({ field: 'method', test: 'contains', value: 'post' }), [])
    t.strictSame(await search({ field: 'url', test: 'contains', value: 'star?a=' }), ['000002'])
    t.strictSame(await search({ field: 'exception', test: 'contains', value: 'Error' }), ['000003', '000001'])
    t.strictSame(await search({ field: 'exception', test: 'lacks', value: 'Range' }), ['000002', '000001'])
    t.strictSame(await search({ field: 'exception', test: 'contains', value: 'null' }), [])
    t.strictSame(await search({ field: 'status', test: 'contains', value: '0' }), ['000003', '000002', '000001'])
    t.strictSame(await search({ field: 'status', test: 'from', value: 404 }), ['000003', '000001'])
    t.strictSame(await search({ field: 'status', test: 'until', value: 404 }), ['000002', '000001'])
    t.strictSame(await search({ field: 'route', test: 'until', value: 404 }), [], 'a text is no number')
    t.strictSame(await search({ field: 'token', test: 'among', value: new Set(['000003', '000001', '0']) }), [
      '000003',
      '000001',
    ])
    t.strictSame(await search({ field: 'status', test: 'among', value: new Set(['40']) }), [], 'all of it')
    t.strictSame(await search({ field: 'exception', test: 'from', value: 0 }), [], 'nor is null')
    t.strictSame(
      await search(
        { field: 'method', test: 'contains', value: 'POST' },
        { field: 'time', test: 'from', value: 10 },
        { field: 'time', test: 'until', value: 15 },
      ),
      ['000001'],
    )
    for (const field of Object.keys(createSummary())) {
      t.equal((await search({ field: field as 'token', test: 'lacks', value: 'nothing like it' })).length, 3, field)
    }
  },

  'every field can be sorted by: nulls last, the newest of equals first': async (t, createStorage) => {
    const storage = createStorage(t)
    const routes = ['b', null, 'a', 'b', null]
    for (const [index, route] of routes.entries()) {
      storage.append(createRecord({ token: tokenOf(index), route, duration: index % 2 }), facts)
    }
    const sorted = async (field: 'route' | 'duration', direction: 'ascending' | 'descending') =>
      tokensOf(await storage.search({ sort: { field, direction }, limit: 10 })).map(Number)
    t.strictSame(await sorted('route', 'ascending'), [2, 3, 0, 4, 1])
    t.strictSame(await sorted('route', 'descending'), [3, 0, 2, 4, 1])
    t.strictSame(await sorted('duration', 'ascending'), [4, 2, 0, 3, 1])
    t.strictSame(await sorted('duration', 'descending'), [3, 1, 4, 2, 0])
    const page = await storage.search({ sort: { field: 'route', direction: 'ascending' }, limit: 2, offset: 1 })
    t.strictSame([tokensOf(page).map(Number), page.total], [[3, 0], 5])
  },

  'a pinned profile survives a purge, until it is unpinned': async (t, createStorage) => {
    const storage = createStorage(t)
    for (const record of createRecords(3)) storage.append(record, facts)
    t.equal(await storage.pin(tokenOf(1), true), true)
    t.hasStrict(await storage.find(tokenOf(1)), { isPinned: true })
    t.strictSame(await storage.pinned(), new Set([tokenOf(1)]))
    t.hasStrict(await storage.find(tokenOf(2)), { isPinned: false })
    await storage.flush()
    await storage.purge()
    t.strictSame(tokensOf(await storage.search({ limit: 10 })), [tokenOf(1)])
    t.strictSame((await storage.find(tokenOf(1)))?.profile.processData, JSON.parse(facts))
    t.equal(storage.has(tokenOf(2)), false)
    t.equal(await storage.find(tokenOf(2)), undefined)

    t.equal(await storage.pin(tokenOf(1), false), true)
    t.strictSame(await storage.pinned(), new Set())
    await storage.purge()
    t.equal(await storage.find(tokenOf(1)), undefined)
    t.strictSame(await storage.search({ limit: 10 }), { summaries: [], total: 0 })
  },

  'profiles after a purge are stored': async (t, createStorage) => {
    const storage = createStorage(t)
    for (const record of createRecords(3)) storage.append(record, facts)
    const purged = storage.purge()
    storage.append(createRecord({ token: tokenOf(9) }), facts)
    await purged
    await storage.flush()
    t.strictSame(tokensOf(await storage.search({ limit: 10 })), [tokenOf(9)])
    t.ok(await storage.find(tokenOf(9)))
  },

  'a listener gets each profile at once, until it is removed': async (t, createStorage) => {
    const storage = createStorage(t)
    storage.append(createRecord({ token: '000001' }), facts)
    const summaries: string[] = []
    storage.tail(() => {
      throw new Error('This listener fails.')
    })
    const stop = storage.tail(({ status, token }) => summaries.push(`${token} ${status}`))
    const stopOther = storage.tail(({ token }) => summaries.push(token))
    storage.append(createRecord({ token: '000002' }), facts)
    t.strictSame(summaries, ['000002 200', '000002'])
    stopOther()
    storage.append(createRecord({ token: '000002', status: 500 }), facts)
    stop()
    storage.append(createRecord({ token: '000003' }), facts)
    t.strictSame(summaries, ['000002 200', '000002', '000002 500'])
    t.ok(storage.has('000003'))
  },

  'a storage reports its usage': async (t, createStorage) => {
    const storage = createStorage(t)
    t.strictSame(await storage.usage(), { profiles: 0, bytes: 0, dropped: 0, problem: undefined })
    for (const record of createRecords(3)) storage.append(record, facts)
    const { bytes, ...usage } = await storage.usage()
    t.ok(bytes > 0)
    t.strictSame(usage, { profiles: 3, dropped: 0, problem: undefined })
  },

  'a profile does not change, with any keys and texts': async (t, createStorage) => {
    const storage = createStorage(t)
    const data = JSON.parse(
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":"\\n\\u2028\\ud800"}',
    )
    storage.append(createRecord({ token: '000001', url: 'http://localhost/"\n\\', data }), facts)
    await storage.flush()
    const found = await storage.find('000001')
    t.equal(JSON.stringify(found?.profile.data), JSON.stringify(data))
    t.equal(Object.hasOwn(Object.prototype, 'polluted'), false)
    t.equal(found?.profile.summary.url, 'http://localhost/"\n\\')
  },

  'invalid data is not a profile': async (t, createStorage) => {
    const storage = createStorage(t)
    storage.append({ summary: createSummary({ token: '000001' }), text: '{}' }, facts)
    t.equal(await storage.find('000001'), undefined)
    await storage.flush()
    t.equal(await storage.find('000001'), undefined)
  },

  'a storage can be flushed and closed at any time': async (t, createStorage) => {
    const storage = createStorage(t)
    storage.flushNow()
    await storage.flush()
    storage.append(createRecord({ token: '000001' }), facts)
    storage.flushNow()
    storage.flushNow()
    t.ok(await storage.find('000001'))
    await storage.close()
    await storage.close()
    t.ok(await storage.find('000001'))
  },
}
