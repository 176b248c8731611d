import { readFileSync, statSync, unlinkSync, utimesSync } from 'node:fs'
import { type Test, t } from 'tap'
import { nodeFileSystem } from '#bundles/profiler/store/file-system.ts'
import { type SegmentUsage, selectOverLimits } from '#bundles/profiler/store/segment-directory.ts'
import { createRecord, createRecords, createSummary, facts, tokenOf } from '#tests/support/create-profile.ts'
import { provenRuns } from '#tests/support/sample.ts'
import { until } from '#tests/support/until.ts'
import { createDisk, createError } from './disk.ts'
import { abandon, append, createFileStorage, list, listFiles } from './file-storage.ts'

const hour = 3_600_000

const sizeOf = (directory: string) => listFiles(directory).reduce((sum, file) => sum + statSync(file).size, 0)

t.test('the limit of profiles holds: whole segments are removed, oldest first; the newest profiles stay', async t => {
  const { storage, directory } = createFileStorage(t, { limits: { count: 100 } })
  await append(storage, 91)
  t.equal((await list(storage)).length, 91)
  for (let first = 91; first < 500; first += 9) {
    await append(storage, 9, first)
    const tokens = await list(storage)
    t.ok(tokens.length <= 100 && tokens.length >= 90, `${tokens.length}`)
    t.strictSame(
      tokens,
      Array.from(tokens, (_, index) => first + 8 - index),
    )
  }
  t.equal(listFiles(directory, '.jsonl').length, listFiles(directory, '.index').length)
  t.equal(storage.has(tokenOf(1)), false)
  t.equal(await storage.find(tokenOf(1)), undefined)
})

t.test('the limit of bytes holds, for both files together', async t => {
  const { storage, directory } = createFileStorage(t, { limits: { bytes: 200_000 } })
  for (let first = 0; first < 2000; first += 50) {
    await append(storage, 50, first)
    t.ok(sizeOf(directory) <= 200_000)
  }
  t.ok(sizeOf(directory) > 160_000)
  const { bytes, profiles } = await storage.usage()
  t.equal(bytes, sizeOf(directory))
  t.equal(profiles, (await list(storage)).length)
  for (const token of (await list(storage)).slice(-5)) t.ok(await storage.find(tokenOf(token)))
})

t.test('10,000 messages and tasks remove no request: the newest thousand stay, also for another process', async t => {
  const { storage, directory } = createFileStorage(t)
  await append(storage, 20)
  for (let first = 20; first < 10_020; first += 100) {
    for (const { summary } of createRecords(100, first))
      storage.append(createRecord({ ...summary, type: first % 200 === 20 ? 'task' : 'message' }), facts)
    await storage.flush()
  }
  await append(storage, 1, 10_020)
  const other = createFileStorage(t, { directory })
  for (const each of [storage, other.storage]) {
    const tokens = await list(each)
    const isRequest = (token: number) => token < 20 || token === 10_020
    t.strictSame(tokens.filter(isRequest).length, 21)
    const messages = tokens.filter(token => !isRequest(token))
    t.ok(messages.length <= 1000 && messages.length >= 900, `${messages.length}`)
    t.equal(Math.min(...messages), 10_020 - messages.length)
    t.equal((await each.find(tokenOf(10_019)))?.profile.summary.type, 'message')
    t.ok(await each.find(tokenOf(3)))
  }
  await storage.purge()
  t.strictSame(await list(other.storage), [])
  t.strictSame(other.problems, [])
})

t.test('the limit of age is checked when the next segment begins; a hundred profiles stay', async t => {
  let now = 1_700_000_000_000
  const { storage } = createFileStorage(t, { limits: { age: 20 * hour }, clock: () => now })
  await append(storage, 50)
  now += 2 * hour
  await append(storage, 120, 50)
  now += 19 * hour
  await append(storage, 1, 170)
  t.strictSame((await list(storage)).length, 121, 'the first fifty are older than twenty hours')
  now += 50 * hour
  await append(storage, 1, 171)
  t.strictSame((await list(storage)).length, 122, 'all are, and would be removed')
  await append(storage, 400, 172)
  now += hour
  await append(storage, 1, 600)
  t.strictSame((await list(storage)).length, 402)
})

t.test('tm-fwd-1y, tm-back-1h: a clock that jumps removes little, and does not change the order', async t => {
  let now = 1_700_000_000_000
  const { storage, directory } = createFileStorage(t, { limits: { count: 1000 }, clock: () => now })
  await append(storage, 150)
  now += 365 * 24 * hour
  await append(storage, 50, 150)
  t.ok((await list(storage)).length >= 100)
  now -= 365 * 24 * hour + hour
  await append(storage, 50, 200)
  const tokens = await list(storage)
  t.ok(tokens.length >= 100)
  t.strictSame(
    tokens,
    tokens.toSorted((one, other) => other - one),
  )
  const names = listFiles(directory, '.jsonl')
  t.strictSame(names, names.toSorted(), 'later segments sort after earlier ones')
  const { storage: other } = createFileStorage(t, { directory, clock: () => now })
  t.strictSame(await list(other), tokens)
  await append(other, 1, 300)
  t.strictSame(await list(other), [300, ...tokens], 'not even in another process, once it has looked')
})

t.test('tm-same-ms, tm-dst: profiles are in the order of storing; times are milliseconds since 1970', async t => {
  const { storage, directory } = createFileStorage(t, { clock: () => 1_700_000_000_000.5 })
  await append(storage, 1000)
  const expected = Array.from({ length: 1000 }, (_, index) => 999 - index)
  t.strictSame(await list(storage), expected)
  abandon(directory)
  const { storage: other } = createFileStorage(t, { directory })
  t.strictSame(await list(other), expected)
  const [index = ''] = listFiles(directory, '.index')
  t.match(readFileSync(index, 'utf8'), new RegExp(`^\\{"kept":1700000000000,.*"time":${createSummary().time},`))
})

t.test('df-scanner: with many profiles the limits hold, on the disk and in memory', async t => {
  const limits = { bytes: 300_000, count: 300 }
  const { storage, directory } = createFileStorage(t, { limits })
  const count = provenRuns(10_000)
  for (let first = 0; first < count; first += 250) await append(storage, 250, first)
  const files = listFiles(directory)
  t.ok(files.length <= 2 * 20)
  t.ok(sizeOf(directory) <= limits.bytes)
  const { profiles } = await storage.usage()
  t.ok(profiles <= limits.count)
  let known = 0
  for (let token = 0; token < count; token++) if (storage.has(tokenOf(token))) known++
  t.equal(known, profiles, 'nothing else is remembered')
})

t.test('a profile larger than a segment has its own segment', async t => {
  const { storage, directory } = createFileStorage(t, { segmentBytes: 2000 })
  const long = createRecord({ token: 'abcdef', data: { text: 'x'.repeat(5000) } })
  for (const record of [...createRecords(2), long, ...createRecords(1, 5)]) storage.append(record, facts)
  await storage.flush()
  t.equal(listFiles(directory, '.jsonl').length, 3)
  t.ok(await storage.find('abcdef'))
  t.strictSame(await list(storage), [5, 0xabcdef, 1, 0])
})

t.test('the size of a segment is counted in bytes: a text has fewer characters', async t => {
  const { storage, directory } = createFileStorage(t, { segmentBytes: 8000 })
  for (const number of [1, 2, 3, 4]) {
    storage.append(createRecord({ token: tokenOf(number), data: { text: '星'.repeat(1000) } }), facts)
  }
  await storage.flush()
  t.strictSame(
    listFiles(directory, '.jsonl').filter(file => statSync(file).size > 8000),
    [],
  )
})

t.test('a segment ends after its maximum age', async t => {
  let now = 1_700_000_000_000
  const { storage, directory } = createFileStorage(t, { segmentAge: 1000, clock: () => now })
  for (const [step, segments] of [
    [0, 1],
    [999, 1],
    [1, 2],
    [-500, 2],
    [-500, 3],
  ] as const) {
    now += step
    await append(storage, 1, Math.floor(Math.random() * 10_000))
    t.equal(listFiles(directory, '.jsonl').length, segments, `${step}`)
  }
})

t.test('segments of other processes are removed if the process has ended, or has not written for long', async t => {
  const limits = { count: 100 }
  const left = async (t: Test) => {
    const { storage, directory } = createFileStorage(t, { limits })
    await append(storage, 5)
    await storage.close()
    return directory
  }
  const gone = await left(t)
  abandon(gone)
  const { storage: first } = createFileStorage(t, { directory: gone, limits })
  await append(first, 300, 100)
  t.equal(first.has(tokenOf(0)), false, 'the process is gone')

  const running = await left(t)
  const { storage: second } = createFileStorage(t, { directory: running, limits })
  await append(second, 300, 100)
  t.equal(second.has(tokenOf(0)), true, 'the process runs')

  const idle = await left(t)
  for (const file of listFiles(idle)) utimesSync(file, 1, 1)
  const { storage: third } = createFileStorage(t, { directory: idle, limits })
  await append(third, 300, 100)
  t.equal(third.has(tokenOf(0)), false, 'it would begin a new segment if it wrote again')
})

t.test('the oldest are removed first, and only as many as necessary', async t => {
  const limits = { bytes: 100, count: 50, age: 1000 }
  const segment = (newest: number, bytes = 10, profiles = 5) => ({ newest, bytes, profiles })
  const newestOf = (closed: SegmentUsage[], inUse: SegmentUsage[] = [], room = { bytes: 0, profiles: 0 }, now = 100) =>
    selectOverLimits(closed, inUse, room, limits, now).map(({ newest }) => newest)
  const six = [1, 2, 3, 4, 5, 6].map(newest => segment(newest))
  t.strictSame(newestOf(six), [])
  t.strictSame(newestOf(six, [segment(9, 60)]), [2, 1])
  t.strictSame(newestOf(six, [segment(9, 0, 30)]), [2, 1])
  t.strictSame(newestOf(six, [], { bytes: 60, profiles: 0 }), [2, 1])
  t.strictSame(newestOf(six, [], { bytes: 0, profiles: 30 }), [2, 1])
  t.strictSame(newestOf(six, [segment(9, 1000)]), [6, 5, 4, 3, 2, 1])
  t.strictSame(newestOf([segment(1), segment(2, 200), segment(3)]), [2, 1])
  const old = [segment(0, 1, 12), segment(1, 1, 12), segment(5000, 1, 12), segment(5001, 1, 12)]
  t.strictSame(newestOf(old, [], undefined, 100_000), [], 'a hundred are spared by age')
  t.strictSame(newestOf(old, [segment(1, 1, 1)], undefined, 5500), [])
  const many = Array.from({ length: 1200 }, (_, newest) => segment(newest, 0, 0))
  t.equal(newestOf(many, [segment(9)]).length, 201, 'processes that end soon leave many small ones')
  const equals = [segment(7, 60, 1), segment(7, 50, 2)]
  t.strictSame(selectOverLimits(equals, [], segment(0, 0, 0), limits, 7), [equals[0]])

  const aged = [segment(0, 1, 60), segment(1, 1, 60), segment(5000, 1, 60), segment(5001, 1, 60)]
  const expired = (now: number) => selectOverLimits(aged, [], segment(0, 0, 0), { ...limits, count: 999 }, now)
  t.strictSame(expired(5500), aged.slice(0, 2).reverse())
  t.strictSame(expired(100_000), aged.slice(0, 2).reverse())
  t.strictSame(expired(1000), [])
})

t.test('an incomplete removal of a killed process is completed', async t => {
  const limits = { count: 20 }
  const { storage, directory } = createFileStorage(t, { limits })
  await append(storage, 5)
  await storage.close()
  abandon(directory)
  for (const file of listFiles(directory, '.index')) unlinkSync(file)
  const { storage: other } = createFileStorage(t, { directory, limits })
  await append(other, 10, 100)
  t.equal(other.has(tokenOf(0)), true, 'until there is too much, it is a segment like any other')
  await append(other, 20, 200)
  t.equal(other.has(tokenOf(0)), false)
  t.equal((await list(other)).length, 20)
  t.equal(listFiles(directory, '.jsonl').length, listFiles(directory, '.index').length)
})

t.test('a segment that cannot be removed stays and is reported once, and writing continues', async t => {
  const fileSystem = createDisk({
    before({ name }) {
      if (name === 'unlink') throw createError('EACCES')
    },
  })
  const { storage, problems } = createFileStorage(t, { fileSystem, limits: { count: 20 } })
  await append(storage, 100)
  t.equal((await list(storage)).length, 100)
  t.hasStrict(problems, [{ message: 'Old profiles cannot be removed.', error: { code: 'EACCES' } }])
  t.equal(problems.length, 1)
  const { storage: other } = createFileStorage(t, {
    fileSystem: { ...nodeFileSystem, readdir: async () => Promise.reject(createError('EACCES')) },
    limits: { count: 20 },
  })
  await append(other, 100)
  t.equal((await list(other)).length, 20, 'its own profiles are known without a listing')
})

t.test('a process that ends soon does not read what other processes have written', async t => {
  const { storage: earlier, directory } = createFileStorage(t)
  await append(earlier, 3)
  await earlier.close()
  const read: string[] = []
  const fileSystem = createDisk({
    before({ file, name }) {
      if (name === 'readdir') read.push(file)
    },
  })
  const { storage } = createFileStorage(t, { directory, fileSystem })
  storage.append(createRecord({ token: 'abcdef' }), facts)
  await until(() => listFiles(directory, '.index').length === 2)
  t.strictSame(read, [])
  await storage.flush()
  t.not(read.length, 0, 'one that closes its storage does')
})
