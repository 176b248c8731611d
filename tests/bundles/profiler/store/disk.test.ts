import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { mock } from 'node:test'
import { t } from 'tap'
import type { FileProfileStorage } from '#bundles/profiler/store/file-profile-storage.ts'
import { createRecord, createRecords, facts, tokenOf } from '#tests/support/create-profile.ts'
import { muteWarnings } from '#tests/support/mute-warnings.ts'
import { turns } from '#tests/support/turns.ts'
import { until } from '#tests/support/until.ts'
import { createDisk, createError, type Operation } from './disk.ts'
import { append, createDirectory, createFileStorage, list, listFiles, pause } from './file-storage.ts'

/** Checks that everything that is listed can be read. */
async function readable(storage: FileProfileStorage): Promise<number[]> {
  const tokens = await list(storage)
  const found: number[] = []
  for (const token of tokens) if ((await storage.find(tokenOf(token))) !== undefined) found.push(token)
  return found
}

t.test('se-modes: only the owner has access, with any umask', async t => {
  for (const umask of process.getuid?.() === 0 ? [0, 0o077, 0o777] : [0, 0o077]) {
    const parent = createDirectory(t)
    mkdirSync(path.join(parent, 'var'))
    const before = process.umask(umask)
    try {
      const { storage, directory } = createFileStorage(t, { directory: path.join(parent, 'var', 'profiler') })
      await append(storage, 1)
      storage.append(createRecord({ token: '00000a' }), facts)
      storage.flushNow()
      t.ok(await storage.pin(tokenOf(0), true))
      const modes = ['.', ...readdirSync(directory, { recursive: true, encoding: 'utf8' })].map(file => {
        const state = statSync(path.join(directory, file))
        return `${state.isDirectory() ? 'directory' : 'file'} ${(state.mode & 0o777).toString(8)}`
      })
      t.strictSame(modes.toSorted(), ['directory 700', 'directory 700', ...Array(5).fill('file 600')])
    } finally {
      process.umask(before)
    }
  }
})

t.test('no file is created before the first profile', async t => {
  const { storage, directory } = createFileStorage(t)
  await storage.search({ limit: 10 })
  t.equal(await storage.find('000001'), undefined)
  storage.tail(() => undefined)
  await storage.purge()
  await storage.flush()
  storage.flushNow()
  t.notOk(existsSync(directory))
})

t.test('fs-enospc-recover: a failing disk drops profiles, is reported once, and is tried again', async t => {
  const codes = { open: 'EMFILE', mkdir: 'EROFS', write: 'ENOSPC', stat: 'EIO' } as const
  for (const [name, code] of Object.entries(codes)) {
    let isFailing = true
    const { storage, directory, problems } = createFileStorage(t, {
      fileSystem: createDisk({
        before(operation) {
          if (isFailing && operation.name === name) throw createError(code)
        },
      }),
    })
    await append(storage, 20)
    await append(storage, 20, 20)
    const { dropped, problem, profiles } = await storage.usage()
    t.strictSame({ dropped, profiles }, { dropped: 40, profiles: 0 }, code)
    t.match(problem, code)
    t.hasStrict(problems, [{ message: 'Profiles are dropped because they cannot be written.', error: { code } }])
    t.equal(problems.length, 1)
    t.equal(storage.has(tokenOf(3)), false)
    isFailing = false
    const [left = []] = [existsSync(directory) ? readdirSync(directory) : []]
    t.strictSame(left, [], 'nothing is left behind')

    await append(storage, 20, 100)
    t.equal((await storage.usage()).dropped, 40)
    t.equal((await readable(createFileStorage(t, { directory }).storage)).length, 20)
  }
})

t.test('unwritten profiles are found as not stored, until they are written', async t => {
  let isFailing = false
  const before = ({ name }: Operation) => {
    if (isFailing && name === 'write') throw createError('ENOSPC')
  }
  const { storage } = createFileStorage(t, { fileSystem: createDisk({ before }) })
  const search = async () => {
    const { summaries, unstored } = await storage.search({ limit: 10 })
    return [summaries.map(({ token }) => token), unstored && [...unstored]]
  }
  storage.append(createRecord({ token: '000001' }), facts)
  await storage.flush()
  t.strictSame(await search(), [['000001'], undefined])
  isFailing = true
  storage.append(createRecord({ token: '000002' }), facts)
  await until(async () => (await storage.usage()).dropped === 1)
  storage.append(createRecord({ token: '000003' }), facts)
  storage.append(createRecord({ token: '000001', status: 500 }), facts)
  t.strictSame(await search(), [['000003', '000001'], ['000003']])
  isFailing = false
  await storage.flush()
  t.strictSame(await search(), [['000003', '000001'], undefined])
})

t.test('unwritten profiles can be read while no retry is due', async t => {
  let isFailing = true
  const before = ({ name }: Operation) => {
    if (isFailing && name === 'write') throw createError('ENOSPC')
  }
  const { storage, directory } = createFileStorage(t, { fileSystem: createDisk({ before }) })
  muteWarnings(t, 'ExperimentalWarning')
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  storage.append(createRecord({ token: '000001' }), facts)
  await until(async () => (await storage.usage()).dropped === 1)
  isFailing = false
  storage.append(createRecord({ token: '000002' }), facts)
  mock.timers.tick(999)
  await turns()
  t.ok(await storage.find('000002'))
  t.strictSame(readdirSync(directory), [], 'it rests for a second')
  mock.timers.tick(1)
  await until(() => listFiles(directory).length === 2)
  t.ok(await storage.find('000002'), 'and goes on by itself')
})

t.test('fs-enospc-short: after a partial write the rest is written, and an incomplete end is repaired', async t => {
  const { storage, directory } = createFileStorage(t, {
    fileSystem: createDisk({ accept: length => Math.min(length, 21) }),
  })
  await append(storage, 5)
  storage.append(createRecord({ token: '00000a' }), facts)
  storage.flushNow()
  t.strictSame(await readable(createFileStorage(t, { directory }).storage), [10, 4, 3, 2, 1, 0])

  for (const ending of ['.jsonl', '.index']) {
    let writes = 0
    const { storage, directory } = createFileStorage(t, {
      fileSystem: createDisk({
        accept: length => (writes > 2 ? Math.ceil(length / 2) : length),
        before({ file, name }) {
          if (name !== 'write' || !file.endsWith(ending)) return
          writes++
          if (writes === 4) throw createError('ENOSPC')
        },
      }),
    })
    for (let first = 0; first < 50; first += 10) await append(storage, 10, first)
    t.strictSame(
      await readable(storage),
      Array.from({ length: 50 }, (_, index) => 49 - index),
    )
    t.equal((await storage.usage()).dropped, 0, 'another segment took them')
    t.equal(listFiles(directory, '.jsonl').length, 2)
    const text = listFiles(directory)
      .map(file => readFileSync(file, 'utf8'))
      .join('')
    t.ok(text.endsWith('\n'))
    for (const line of text.trim().split('\n')) JSON.parse(line)
    const { storage: other } = createFileStorage(t, { directory })
    t.strictSame(
      (await readable(other)).toSorted((a, b) => a - b),
      Array.from({ length: 50 }, (_, index) => index),
    )
  }
})

t.test('fs-eio-shim: after any failed operation, listed profiles can be read and dropped ones are counted', async t => {
  for (const every of [2, 3, 5, 7]) {
    let count = 0
    let isFailing = true
    const before = ({ name }: Operation) => {
      const isTried = ['open', 'write', 'stat', 'unlink', 'rename', 'mkdir', 'truncate', 'close', 'lstat'].includes(
        name,
      )
      if (isFailing && isTried && ++count % every === 0) throw createError('EIO')
    }
    const { storage, directory, problems } = createFileStorage(t, {
      fileSystem: createDisk({ before }),
      limits: { count: 100 },
    })
    for (let first = 0; first < 300; first += 7) {
      await append(storage, 7, first)
      if (first % 5 === 0) await storage.pin(tokenOf(first), true)
    }
    const { dropped } = await storage.usage()
    t.ok(problems.length <= 3)
    isFailing = false
    await append(storage, 7, 1000)
    t.equal((await storage.usage()).dropped, dropped)
    await storage.close()
    const { storage: other } = createFileStorage(t, { directory })
    t.strictSame(await readable(other), await list(other))
  }
})

t.test('fs-slow-shim: no caller waits for a slow disk, and the queue is bounded', async t => {
  const { storage, problems } = createFileStorage(t, {
    queueLength: 20_000,
    fileSystem: createDisk({ before: () => pause(2) }),
  })
  const records = createRecords(200)
  for (const record of records) storage.append(record, facts)
  const length = records[0]?.text.length ?? 0
  const kept = Math.floor(20_000 / length)
  const { dropped, problem, profiles } = await storage.usage()
  t.strictSame({ profiles, dropped }, { profiles: kept, dropped: 200 - kept })
  t.match(problem, /the disk is too slow/)
  t.strictSame(problems, [{ message: problem, error: undefined }])
  t.ok(await storage.find(tokenOf(kept - 1)))
  t.equal(storage.has(tokenOf(kept)), false)
  await storage.flush()
  await append(storage, 1, 500)
  t.strictSame((await readable(storage)).length, kept + 1)
})

t.test('fs-hang-shim: a disk that never answers costs no caller more than two seconds', async t => {
  const { storage } = createFileStorage(t, {
    queueLength: 20_000,
    fileSystem: createDisk({ before: () => new Promise(() => undefined) }),
  })
  for (const record of createRecords(500)) storage.append(record, facts)
  t.hasStrict(await storage.find(tokenOf(1)), { profile: { summary: { token: tokenOf(1) } } })
  const [found, { total }, usage] = await Promise.all([
    storage.find('abcdef'),
    storage.search({ limit: 1 }),
    storage.usage(),
    storage.close(),
  ])
  t.equal(found, undefined)
  t.equal(total, usage.profiles)
  t.equal(usage.dropped + usage.profiles, 500)
})

t.test('a profile that is too long is dropped alone', async t => {
  const { storage, problems } = createFileStorage(t)
  const text = 'x'.repeat(4 * 1024 * 1024)
  for (const long of [text, '€'.repeat(1_500_000)]) {
    storage.append(createRecord({ token: '000001', data: { long } }), facts)
  }
  storage.append(createRecord({ token: '000002', data: { long: 'x'.repeat(2_000_000) } }), facts)
  await storage.flush()
  t.strictSame(await readable(storage), [2])
  const { dropped, problem } = await storage.usage()
  t.strictSame({ dropped, problem }, { dropped: 2, problem: problems[0]?.message })
})

t.test('an updated profile that cannot be written keeps its previous version', async t => {
  let isFailing = false
  const before = ({ name }: Operation) => {
    if (isFailing && name === 'write') throw createError('ENOSPC')
  }
  const { storage } = createFileStorage(t, { fileSystem: createDisk({ before }) })
  await append(storage, 2)
  isFailing = true
  storage.append(createRecord({ token: tokenOf(0), status: 500 }), facts)
  storage.append(createRecord({ token: tokenOf(0), status: 501 }), facts)
  storage.append(createRecord({ token: tokenOf(5) }), facts)
  storage.append(createRecord({ token: tokenOf(5), status: 500 }), facts)
  t.strictSame(await list(storage), [5, 1, 0])
  await storage.flush()
  isFailing = false
  const { summaries } = await storage.search({ limit: 10 })
  t.strictSame(
    summaries.map(({ token, status }) => [token, status]),
    [
      [tokenOf(1), 200],
      [tokenOf(0), 200],
    ],
  )
  t.hasStrict(await storage.find(tokenOf(0)), { profile: { summary: { status: 200 } } })
  t.equal((await storage.usage()).dropped, 4)
})

t.test('fs-enoent-dir: a removed directory is created again, with the profiles in progress', async t => {
  const { storage, directory } = createFileStorage(t)
  await append(storage, 3)
  rmSync(directory, { recursive: true })
  await append(storage, 2, 10)
  t.strictSame(await readable(storage), [11, 10])
  t.equal((await storage.usage()).dropped, 0)
  t.strictSame(await readable(createFileStorage(t, { directory }).storage), [11, 10])
  renameSync(directory, `${directory}.old`)
  t.strictSame(await list(storage), [])
  await append(storage, 1, 20)
  t.strictSame(await list(createFileStorage(t, { directory }).storage), [20], 'also when it was moved away')
})

t.test('fs-enotdir: with a file in the place of the directory, profiles are dropped until it is removed', async t => {
  const { storage, directory } = createFileStorage(t)
  await append(storage, 3)
  rmSync(directory, { recursive: true })
  writeFileSync(directory, 'x')
  await append(storage, 2, 10)
  t.equal((await storage.usage()).dropped, 2)
  t.equal(readFileSync(directory, 'utf8'), 'x')
  rmSync(directory)
  await append(storage, 2, 20)
  t.strictSame(await readable(createFileStorage(t, { directory }).storage), [21, 20])
})

t.test('ix-missing, ix-empty, ix-torn-last: the writer of a segment that was damaged begins a new one', async t => {
  const damages: Readonly<Record<string, readonly [damage: (directory: string) => void, left: readonly number[]]>> = {
    'index removed': [directory => unlinkSync(String(listFiles(directory, '.index')[0])), [0, 1, 2]],
    'index emptied': [directory => truncateSync(String(listFiles(directory, '.index')[0]), 0), [0, 1, 2]],
    'index cut': [
      directory => {
        const [index = ''] = listFiles(directory, '.index')
        truncateSync(index, statSync(index).size - 50)
      },
      [0, 1, 2],
    ],
    'segment removed': [directory => unlinkSync(String(listFiles(directory, '.jsonl')[0])), []],
    'segment cut': [
      directory => {
        const [data = ''] = listFiles(directory, '.jsonl')
        truncateSync(data, statSync(data).size - 50)
      },
      [0, 1],
    ],
  }
  for (const [name, [damage, left]] of Object.entries(damages)) {
    const { storage, directory } = createFileStorage(t)
    await append(storage, 3)
    damage(directory)
    await append(storage, 2, 10)
    await append(storage, 2, 20)
    const { storage: other } = createFileStorage(t, { directory })
    const tokens = (await readable(other)).toSorted((one, another) => one - another)
    t.strictSame(tokens, [...left, 10, 11, 20, 21], name)
    t.equal((await storage.usage()).dropped, 0)
    t.equal(listFiles(directory, '.jsonl').length, name === 'segment removed' ? 1 : 2)
    for (const file of listFiles(directory)) t.equal(statSync(file).mode & 0o777, 0o600)
  }
})

t.test('flushNow writes queued profiles and those in progress, each once', async t => {
  const { storage, directory } = createFileStorage(t)
  storage.append(createRecord({ token: '000001' }), facts)
  storage.flushNow()
  t.equal(listFiles(directory).length, 2)
  t.strictSame(await readable(createFileStorage(t, { directory }).storage), [1])

  for (const hanging of ['open', 'write'] as const) {
    let isHanging = true
    let release = () => {}
    const before = ({ name }: Operation) => {
      if (!isHanging || name !== hanging) return
      return new Promise<void>(resolve => {
        release = resolve
      })
    }
    const { storage, directory } = createFileStorage(t, { fileSystem: createDisk({ before }) })
    for (const record of createRecords(3)) storage.append(record, facts)
    const flushed = storage.flush()
    await pause(30)
    storage.append(createRecord({ token: '00000a' }), facts)
    storage.flushNow()
    await flushed
    const { storage: other } = createFileStorage(t, { directory })
    t.strictSame(await readable(other), [10, 2, 1, 0])
    isHanging = false
    release()
    await append(storage, 1, 20)
    t.strictSame(await readable(storage), [20, 10, 2, 1, 0])
    t.strictSame(await readable(other), [20, 10, 2, 1, 0])
  }
})

t.test('flushNow drops profiles that the disk refuses', async t => {
  const before = ({ name }: Operation) => {
    if (name === 'writeFileSync') throw createError('ENOSPC')
  }
  const { storage } = createFileStorage(t, { fileSystem: createDisk({ before }) })
  storage.append(createRecord({ token: '000001' }), facts)
  storage.flushNow()
  const { dropped, problem } = await storage.usage()
  t.strictSame([dropped, problem], [1, 'ENOSPC: it failed on purpose'])
  t.equal(storage.has('000001'), false)
})

t.test('profiles after the end are not stored', async t => {
  const { storage, directory } = createFileStorage(t)
  await append(storage, 1)
  await storage.close()
  storage.append(createRecord({ token: '00000a' }), facts)
  await storage.flush()
  t.equal(storage.has('00000a'), false)
  t.strictSame(await readable(createFileStorage(t, { directory }).storage), [0])
})
