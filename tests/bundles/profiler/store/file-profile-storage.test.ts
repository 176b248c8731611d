import assert from 'node:assert'
import { copyFileSync, readdirSync, renameSync, symlinkSync, truncateSync, unlinkSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { t } from 'tap'
import type { ProfileSummary } from '#bundles/profiler/profile/profile.ts'
import type { FileProfileStorage } from '#bundles/profiler/store/file-profile-storage.ts'
import { IndexEntry, ProfileIndex } from '#bundles/profiler/store/profile-index.ts'
import { createRecord, createRecords, createSummary, facts, tokenOf } from '#tests/support/create-profile.ts'
import { until } from '#tests/support/until.ts'
import { createDisk, createError, type Operation } from './disk.ts'
import { abandon, append, createFileStorage, list, listFiles, pause } from './file-storage.ts'

t.test('a process finds the profiles of another process, running or not', async t => {
  const { storage, directory } = createFileStorage(t)
  const { storage: other } = createFileStorage(t, { directory })
  await append(storage, 2)
  t.hasStrict(await other.find(tokenOf(1)), {
    profile: { summary: { token: tokenOf(1) }, processData: JSON.parse(facts) },
  })
  await append(storage, 2, 2)
  t.strictSame(await list(other), [3, 2, 1, 0])
  t.equal(other.has(tokenOf(3)), true)
  storage.append(createRecord({ token: tokenOf(2), status: 500 }), '{"changed":true}')
  await storage.flush()
  t.hasStrict(await other.find(tokenOf(2)), { profile: { summary: { status: 500 }, processData: { changed: true } } })
  t.strictSame(await list(other), [3, 2, 1, 0])
  await storage.close()
  abandon(directory)
  t.strictSame(await list(createFileStorage(t, { directory }).storage), [3, 2, 1, 0])
})

t.test('profiles of several processes are in the order of storing', async t => {
  let now = 1_700_000_000_000
  const { storage, directory } = createFileStorage(t, { clock: () => now })
  const { storage: other } = createFileStorage(t, { directory, clock: () => now })
  for (let token = 0; token < 10; token++) {
    now += 10
    await append(token % 3 === 0 ? storage : other, 1, token)
  }
  const expected = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
  t.strictSame(await list(storage), expected)
  t.strictSame(await list(other), expected)
  t.strictSame(await list(createFileStorage(t, { directory }).storage), expected)
})

t.test('with the same token from two processes, the newest profile is found and both are listed', async t => {
  let now = 1_700_000_000_000
  const { storage, directory } = createFileStorage(t, { clock: () => now, limits: { count: 40 } })
  const { storage: other } = createFileStorage(t, { directory, clock: () => now })
  const keep = async (storage: FileProfileStorage, status: number) => {
    now += 10
    storage.append(createRecord({ token: 'abcdef', status }), facts)
    await storage.flush()
  }
  await keep(storage, 201)
  await keep(other, 202)
  const third = createFileStorage(t, { directory }).storage
  for (const each of [storage, other, third]) {
    t.hasStrict((await each.search({ limit: 9 })).summaries, [{ status: 202 }, { status: 201 }])
  }
  t.hasStrict(await third.find('abcdef'), { profile: { summary: { status: 202 } } })
  t.hasStrict(await other.find('abcdef'), { profile: { summary: { status: 202 } } })
  storage.append(createRecord({ token: 'abcdef', status: 203 }), facts)
  await storage.flush()
  for (const each of [storage, other, third]) {
    t.hasStrict((await each.search({ limit: 9 })).summaries, [{ status: 202 }, { status: 203 }], 'each has its own')
  }
  now += 10
  await append(storage, 100)
  t.hasStrict(await storage.find('abcdef'), { profile: { summary: { status: 202 } } }, 'retention took the older one')
})

t.test('a process changes the profile of one that has ended: it keeps its place, also for a third process', async t => {
  const { storage, directory } = createFileStorage(t)
  await append(storage, 3)
  await storage.close()
  abandon(directory)
  const { storage: second } = createFileStorage(t, { directory })
  const change = () => createRecord({ token: tokenOf(1), warnings: 7, data: { added: true } })
  t.equal(await second.amend(tokenOf(1), change), true)
  const check = async (reader: FileProfileStorage, step: string) => {
    t.strictSame(await list(reader), [2, 1, 0], step)
    const found = await reader.find(tokenOf(1))
    t.hasStrict(
      found?.profile,
      { summary: { warnings: 7 }, data: { added: true }, processData: JSON.parse(facts) },
      step,
    )
  }
  await check(second, 'waiting')
  await second.flush()
  await check(second, 'written')
  await check(createFileStorage(t, { directory }).storage, 'read')
  t.equal(await second.pin(tokenOf(1), true), true)
  await second.purge()
  t.strictSame(await list(second), [1], 'its copy is that of the same profile')
  await second.close()
  const [index = ''] = listFiles(directory, '.index').slice(-1)
  t.equal(index, '', 'the segments are removed')
  await second.close()
  t.equal(await second.amend(tokenOf(1), change), false, 'a closed storage takes no change')
})

t.test('a search waits for a token that another process is about to write, and for no other', async t => {
  let looks = 0
  const fileSystem = createDisk({
    before({ file, name }) {
      if (name === 'readdir' && !file.endsWith('pinned')) looks++
    },
  })
  const { storage, directory } = createFileStorage(t)
  await append(storage, 1)
  const { storage: other } = createFileStorage(t, { directory, fileSystem })
  const found = other.find('00000a')
  await until(() => looks > 1)
  await append(storage, 1, 10)
  t.hasStrict(await found, { profile: { summary: { token: '00000a' } } })
  looks = 0
  t.equal(await other.find('00000b'), undefined)
  t.ok(looks > 1, 'for a second')

  await storage.close()
  abandon(directory)
  const { storage: alone } = createFileStorage(t, { directory, fileSystem })
  looks = 0
  t.equal(await alone.find('00000b'), undefined)
  t.equal(looks, 1, 'no other process writes')
  t.equal(await alone.find('nothing'), undefined)
  t.equal(looks, 1, 'this is no token')
})

t.test('a pinned profile survives retention and restarts, for every process', async t => {
  const { storage, directory } = createFileStorage(t, { limits: { count: 40 } })
  const { storage: other } = createFileStorage(t, { directory })
  await append(storage, 5)
  t.equal(await storage.pin(tokenOf(1), true), true)
  t.equal(await storage.pin(tokenOf(1), true), true)
  t.equal(readdirSync(path.join(directory, 'pinned')).length, 1)
  t.equal(await other.pin(tokenOf(2), true), true)
  await append(storage, 100, 100)
  t.strictSame((await list(storage)).slice(-2), [2, 1])
  t.equal(storage.has(tokenOf(3)), false)
  const { storage: third } = createFileStorage(t, { directory })
  for (const each of [storage, other, third]) {
    for (const token of [1, 2].map(tokenOf)) {
      t.hasStrict(await each.find(token), {
        profile: { summary: { token }, processData: JSON.parse(facts) },
        isPinned: true,
      })
    }
    t.hasStrict(await each.find(tokenOf(199)), { isPinned: false })
  }
  const { bytes, profiles } = await storage.usage()
  t.equal(profiles, (await list(storage)).length)
  t.ok(bytes > 0)

  t.equal(await third.pin(tokenOf(1), false), true)
  for (const each of [storage, other, third]) {
    t.equal((await list(each)).at(-1), 2)
    t.equal(each.has(tokenOf(1)), false)
  }
  t.equal(await storage.pin(tokenOf(199), false), true, 'a profile that is not pinned can be unpinned')
})

t.test('a pinned profile with a long token is pinned for every process', async t => {
  const { storage, directory } = createFileStorage(t)
  const token = 'abcdef012345'
  storage.append(createRecord({ token }), facts)
  t.equal(await storage.pin(token, true), true)
  await storage.purge()
  const { storage: other } = createFileStorage(t, { directory })
  for (const each of [storage, other]) t.hasStrict(await each.find(token), { isPinned: true })
})

t.test('the copy of a pinned profile is updated with it', async t => {
  const { storage, directory } = createFileStorage(t)
  await append(storage, 2)
  await storage.pin(tokenOf(1), true)
  storage.append(createRecord({ token: tokenOf(1), status: 499 }), facts)
  storage.append(createRecord({ token: tokenOf(1), status: 500 }), '{"changed":true}')
  t.equal(await storage.pin(tokenOf(0), false), true, 'it is its turn when they are copied')
  t.equal(readdirSync(path.join(directory, 'pinned')).length, 1)
  await storage.flush()
  await storage.purge()
  for (const each of [storage, createFileStorage(t, { directory }).storage]) {
    t.hasStrict(await each.find(tokenOf(1)), {
      profile: { summary: { status: 500 }, processData: { changed: true } },
      isPinned: true,
    })
    t.hasStrict((await each.search({ limit: 9 })).summaries, [{ token: tokenOf(1), status: 500 }])
  }
})

t.test('a damaged or unfinished copy is ignored', async t => {
  const { storage, directory } = createFileStorage(t)
  await append(storage, 6)
  for (let token = 0; token < 6; token++) await storage.pin(tokenOf(token), true)
  await storage.purge()
  await storage.close()
  const pins = listFiles(path.join(directory, 'pinned'))
  const [emptied = '', cut = '', linked = '', renamed = '', huge = '', whole = ''] = pins
  truncateSync(emptied, 0)
  truncateSync(cut, 100)
  renameSync(linked, path.join(directory, 'linked'))
  symlinkSync(path.join(directory, 'linked'), linked)
  renameSync(renamed, renamed.replace(tokenOf(3), tokenOf(9)))
  truncateSync(huge, 20_000_000)
  copyFileSync(whole, path.join(directory, 'pinned', 'foreign.json'))
  const { storage: other } = createFileStorage(t, { directory })
  t.strictSame(await list(other), [5])
  t.hasStrict(await other.find(tokenOf(5)), { isPinned: true })
  unlinkSync(whole)
  t.strictSame(await list(other), [])
})

t.test('a failure to pin or unpin is reported', async t => {
  let failing = ''
  const fileSystem = createDisk({
    before({ file, name }) {
      if (name === failing && file.includes('/pinned')) throw createError('EACCES')
    },
  })
  const { storage, directory, problems } = createFileStorage(t, { fileSystem })
  await append(storage, 1)
  for (const name of ['mkdir', 'open', 'write']) {
    failing = name
    t.equal(await storage.pin(tokenOf(0), true), false, name)
    t.hasStrict(await storage.find(tokenOf(0)), { isPinned: false })
  }
  t.hasStrict(problems, [{ message: 'Profiles cannot be pinned or unpinned.', error: { code: 'EACCES' } }])
  t.equal(problems.length, 1)
  t.strictSame(readdirSync(path.join(directory, 'pinned')), [])
  failing = ''
  t.equal(await storage.pin(tokenOf(0), true), true)
  failing = 'unlink'
  t.equal(await storage.pin(tokenOf(0), false), false)
  failing = 'readdir'
  t.hasStrict(await storage.find(tokenOf(0)), { isPinned: true })
  t.strictSame(await list(storage), [0])
})

t.test('a listener gets new profiles of other processes, and no earlier ones', async t => {
  const { storage, directory } = createFileStorage(t)
  await append(storage, 2)
  await pause(2)
  const { storage: other, problems } = createFileStorage(t, { directory })
  const tokens: string[] = []
  const stop = other.tail(({ token }) => tokens.push(token))
  other.tail(() => {
    throw new Error('This listener fails.')
  })
  await append(storage, 1, 10)
  await until(() => tokens.length > 0)
  await append(other, 1, 20)
  await append(storage, 1, 11)
  await until(() => tokens.length === 3)
  t.strictSame(tokens, [tokenOf(10), tokenOf(20), tokenOf(11)])
  t.hasStrict(problems, [{ message: 'A listener to new profiles has failed.' }])
  stop()
  await append(storage, 1, 12)
  await list(other)
  t.equal(tokens.length, 3)
})

t.test('a listener gets the profiles of other processes at the latest with the next search', async t => {
  const { storage, directory } = createFileStorage(t)
  const summaries: string[] = []
  storage.tail(({ token }) => summaries.push(token))
  await list(storage)
  const { storage: other } = createFileStorage(t, { directory })
  await append(other, 1, 10)
  await list(storage)
  t.strictSame(summaries, [tokenOf(10)])
  await append(storage, 1, 11)
  t.strictSame(summaries, [tokenOf(10), tokenOf(11)])
})

t.test('a listener gets profiles even if there was no directory yet', async t => {
  const { storage, directory } = createFileStorage(t)
  const summaries: string[] = []
  storage.tail(({ token }) => summaries.push(token))
  const { storage: other } = createFileStorage(t, { directory })
  await append(other, 1, 10)
  await until(() => summaries.length === 1)
  await append(other, 1, 11)
  await until(() => summaries.length === 2)
  t.strictSame(summaries, [tokenOf(10), tokenOf(11)])
})

t.test('a profile that another process is writing is new, although its index has no line for it yet', async t => {
  const { directory, storage: other } = createFileStorage(t)
  await append(other, 1)
  await pause(50)
  // The first check waits until the profile is in the segment.
  const before = ({ name }: Operation) => (name === 'readdir' ? pause(50) : undefined)
  const { storage } = createFileStorage(t, { directory, fileSystem: createDisk({ before }) })
  const tokens: string[] = []
  storage.tail(({ token }) => tokens.push(token))
  const indexes = listFiles(directory, '.index')
  // The time of the profile, in 2023, is independent of the time of storing.
  other.append(createRecord({ token: tokenOf(10) }), facts)
  other.flushNow()
  for (const file of listFiles(directory, '.index')) if (!indexes.includes(file)) unlinkSync(file)
  await until(() => tokens.length > 0)
  t.strictSame(tokens, [tokenOf(10)])
})

t.test('the directory is watched until the last listener is removed, or the storage is closed', async t => {
  const count = () => {
    let looks = 0
    const before = ({ file, name }: Operation) => {
      if (name === 'readdir' && !file.endsWith('pinned')) looks++
    }
    return { ...createFileStorage(t, { fileSystem: createDisk({ before }) }), looks: () => looks }
  }
  const stopped = count()
  const stop = stopped.storage.tail(() => undefined)
  const stopOther = stopped.storage.tail(() => undefined)
  stop()
  stop()
  await until(() => stopped.looks() > 3)
  stopOther()
  const closed = count()
  closed.storage.tail(() => undefined)
  await closed.storage.close()
  // Checks in progress have ended.
  await list(stopped.storage)
  await list(closed.storage)
  const looks = [stopped.looks(), closed.looks()]
  const running = count()
  running.storage.tail(() => undefined)
  await until(() => running.looks() > 4)
  t.strictSame([stopped.looks(), closed.looks()], looks)
})

t.test('cc-purge-vs-write: a purge removes segments of other writers, which continue in new segments', async t => {
  let now = 1_700_000_000_000
  const clock = () => now++
  const { storage, directory } = createFileStorage(t, { clock })
  const { storage: other } = createFileStorage(t, { clock, directory })
  await append(storage, 3)
  await append(other, 3, 10)
  await storage.pin(tokenOf(11), true)
  await storage.purge()
  t.strictSame(await list(storage), [11])
  t.strictSame(await list(other), [11], 'they know, once they look')
  t.strictSame(listFiles(directory, '.jsonl'), [])
  await append(other, 1, 20)
  await append(storage, 1, 30)
  t.strictSame(await list(storage), [30, 20, 11])
  t.strictSame(await list(other), [30, 20, 11])
  t.equal((await other.usage()).dropped, 0)

  await append(other, 1, 21)
  for (const record of createRecords(200, 1000)) other.append(record, facts)
  await storage.purge()
  await other.flush()
  await append(storage, 1, 31)
  t.ok((await list(storage)).includes(31))
  for (const token of await list(storage)) t.ok(await storage.find(tokenOf(token)))
})

t.test('cc-two-purges, cc-purge-vs-read: concurrent purges and reads succeed', async t => {
  const { storage, directory } = createFileStorage(t, { limits: { count: 100 } })
  const { storage: other } = createFileStorage(t, { directory })
  await append(storage, 60)
  const reads = createRecords(60).map(({ summary }) => other.find(summary.token))
  await Promise.all([storage.purge(), other.purge(), storage.purge(), storage.search({ limit: 5 })])
  for (const found of await Promise.all(reads)) t.ok(found === undefined || found.profile)
  t.strictSame(await list(storage), [])
  t.strictSame(await list(other), [])
  await append(other, 1)
  t.strictSame(await list(storage), [0])
})

t.test('cc-read-own-write: thousands of profiles are all found at once', async t => {
  const { storage } = createFileStorage(t)
  for (const record of createRecords(3000)) {
    storage.append(record, facts)
    if (record.summary.token.endsWith('00')) t.ok(await storage.find(record.summary.token))
  }
  t.equal((await list(storage)).length, 3000)
  await storage.flush()
  t.ok(await storage.find(tokenOf(2999)))
})

t.test('the index equals a slow, obvious version', async _t => {
  const step = fc.record({
    token: fc.integer({ min: 0, max: 5 }),
    writer: fc.constantFrom('1-a', '2-b', '3-c'),
    time: fc.nat(30),
    action: fc.constantFrom('add', 'add', 'push', 'remove'),
  })
  fc.assert(
    fc.property(fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 12 }), groups => {
      const index = new ProfileIndex()
      let slow: IndexEntry[] = []
      for (const group of groups) {
        const entries = group.map(({ time, token, writer }) =>
          createEntry(writer, time, createSummary({ token: tokenOf(token), status: time })),
        )
        const [first] = group
        if (first === undefined) continue
        const { action, writer } = first
        const isGone = (entry: IndexEntry) => entry.writer === writer
        if (action === 'push') {
          const entry = createEntry(writer, index.newest, createSummary({ token: 'abcdef' }))
          if (index.find('abcdef', writer) !== undefined) continue
          index.addNewest(entry)
          slow.push(entry)
        } else if (action === 'remove') {
          index.remove(isGone)
          slow = slow.filter(entry => !isGone(entry))
        } else {
          index.add(entries)
          for (const entry of entries) {
            const known = slow.find(each => each.token === entry.token && each.writer === entry.writer)
            if (known === undefined) slow.push(entry)
          }
          slow = slow.toSorted((one, other) => one.time - other.time)
        }
        assert.deepStrictEqual(index.entries, slow)
        for (const { token } of slow) {
          const newest = Math.max(...slow.filter(entry => entry.token === token).map(entry => entry.time))
          assert.strictEqual(index.find(token)?.time, newest)
          for (const writer of ['1-a', '2-b', '3-c']) {
            const own = slow.find(entry => entry.token === token && entry.writer === writer)
            assert.strictEqual(index.find(token, writer), own)
          }
        }
      }
    }),
    { numRuns: 300, seed: 3 },
  )
})

function createEntry(writer: string, time: number, summary: ProfileSummary): IndexEntry {
  return new IndexEntry(writer, time, { summary, text: '', facts: '' })
}
