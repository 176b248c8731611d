import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { type Test, t } from 'tap'
import { acquireFileLock, FileSessionStore } from '#lib/session/file-session-store.ts'
import {
  defaultSessionLimits,
  MemorySessionStore,
  type SessionData,
  type SessionLimits,
} from '#lib/session/session-store.ts'
import { createData, sessionStoreCases } from './session-store-cases.ts'

function createFileStore(
  t: Test,
  now: () => number,
  limits: SessionLimits = defaultSessionLimits,
  warn = (message: string, _context: unknown): void => void t.fail(message),
): { store: FileSessionStore; directory: string } {
  const directory = path.join(t.testdir(), 'var', 'sessions')
  return { store: new FileSessionStore({ directory, now, warn, limits }), directory }
}

for (const [claim, testCase] of Object.entries(sessionStoreCases)) {
  t.test(`memory: ${claim}`, t => testCase(t, (_t, now, limits) => new MemorySessionStore(now, limits)))
  t.test(`file: ${claim}`, t => testCase(t, (t, now, limits) => createFileStore(t, now, limits, () => {}).store))
}

t.test('stores use the clock of the system by default', async t => {
  const memory = new MemorySessionStore()
  const file = new FileSessionStore({ directory: t.testdir(), warn: message => t.fail(message) })
  for (const store of [memory, file]) {
    await store.insert('a', createData({}, Date.now() + 60_000))
    await store.insert('b', createData({}, Date.now() - 1))
    t.ok(await store.read('a'))
    t.equal(await store.read('b'), undefined)
  }
})

t.test('a memory store sweeps itself, at most every ten minutes', async t => {
  let now = 0
  const store = new MemorySessionStore(() => now)
  await store.insert('a', createData({}, 1000))
  now = 599_999
  await store.insert('b', createData({}, 700_000))
  t.equal(await store.sweep(), 1, 'the write did not')
  now = 600_000
  await store.insert('a', createData({}, -1))
  t.equal(await store.sweep(), 0, 'the write did')
  now = 0
  await store.insert('a', createData({}, -1))
  t.equal(await store.sweep(), 0, 'also after the clock has jumped back')
})

t.test('a file store is readable by its owner only, under names without ids', async t => {
  const { store, directory } = createFileStore(t, () => 0)
  t.equal(await store.read('secret-id'), undefined)
  t.notOk(existsSync(directory), 'reading makes no directory')
  await store.insert('secret-id', createData({ a: 1 }))
  const files = readdirSync(directory)
  t.match(files, [/^[0-9a-f]{64}\.json$/])
  t.equal(statSync(directory).mode & 0o777, 0o700)
  t.equal(statSync(path.join(directory, String(files[0]))).mode & 0o777, 0o600)
  t.notMatch(readFileSync(path.join(directory, String(files[0])), 'utf8'), 'secret-id')
})

t.test('a file store survives the loss of its directory', async t => {
  const { store, directory } = createFileStore(t, () => 0)
  await store.insert('a', createData())
  await store.sweep()
  rmSync(directory, { recursive: true })
  t.equal(await store.read('a'), undefined)
  await store.destroy('a')
  t.equal(await store.sweep(), 0)
  await store.insert('a', createData())
  t.ok(await store.read('a'))
})

t.test('damaged files are no sessions, can be overwritten, and are swept', async t => {
  const { store, directory } = createFileStore(t, () => 0)
  await store.insert('a', createData())
  await store.close() // The sweep of the first write, which would remove the first damaged file.
  const file = path.join(directory, String(readdirSync(directory)[0]))
  const intact = readFileSync(file, 'utf8')
  const record: Record<string, unknown> = JSON.parse(intact)
  const damaged = [
    '',
    intact.slice(0, -1),
    `${intact}}`,
    '\0'.repeat(4096),
    'null',
    '1',
    '[]',
    '{}',
    ...Object.entries({
      expiresAt: '1',
      createdAt: null,
      lastUsedAt: undefined,
      attributes: [],
      flashes: { notice: 'text' },
    }).map(([name, value]) => JSON.stringify({ ...record, [name]: value })),
    JSON.stringify({ ...record, flashes: null }),
    // Deeper than any value that a session takes.
    JSON.stringify({ ...record, attributes: { a: 1 } }).replace('1}', `${'['.repeat(5000)}${']'.repeat(5000)}}`),
    JSON.stringify({ ...record, flashes: { a: [1] } }).replace('[1]', `${'['.repeat(103)}${']'.repeat(103)}`),
    ...['1e999', '1e300', '-1e999'].map(time => JSON.stringify({ ...record, createdAt: 7.5 }).replace('7.5', time)),
    intact.replace(/"expiresAt":\d+/, '"expiresAt":1e999'),
  ]
  for (const text of damaged) {
    writeFileSync(file, text)
    t.equal(await store.read('a'), undefined, text.slice(0, 80))
    t.equal(await store.sweep(), 1)
    writeFileSync(file, text)
    await store.insert('a', createData())
    t.ok(await store.read('a'))
  }
})

t.test('symbolic links are not followed, and pipes not waited for', async t => {
  const { store, directory } = createFileStore(t, () => 0)
  await store.insert('a', createData({ a: 1 }))
  await store.sweep()
  const file = path.join(directory, String(readdirSync(directory)[0]))
  const elsewhere = path.join(directory, 'elsewhere.json')

  renameSync(file, elsewhere)
  symlinkSync(elsewhere, file)
  t.equal(await store.read('a'), undefined)
  await store.insert('a', createData({ b: 1 }))
  t.strictSame(await store.read('a'), createData({ b: 1 }))
  t.match(readFileSync(elsewhere, 'utf8'), '{"a":1}', 'what the link pointed to is as it was')

  rmSync(file)
  symlinkSync(elsewhere, file)
  t.equal(await store.sweep(), 1)
  t.strictSame(readdirSync(directory), ['elsewhere.json'])

  t.equal(spawnSync('mkfifo', [file]).status, 0)
  t.equal(await store.read('a'), undefined)
})

t.test('a change is made again if its lock was taken away meanwhile', async t => {
  const { store, directory } = createFileStore(t, () => 0)
  await store.insert('a', createData({ count: 1 }))
  const [file = ''] = readdirSync(directory)
  const lock = path.join(directory, `${file}.lock`)
  const seen: unknown[] = []
  const change = (stored: SessionData): SessionData => {
    seen.push(stored.attributes.count)
    if (seen.length === 1) {
      // As another process does after it has waited for long.
      rmSync(lock)
      writeFileSync(lock, '')
      writeFileSync(path.join(directory, file), JSON.stringify(createData({ count: 10 })))
      setTimeout(() => rmSync(lock))
    }
    return createData({ count: Number(stored.attributes.count) + 1 })
  }
  t.strictSame((await store.update('a', change, 'a'))?.attributes, { count: 11 })
  t.strictSame(seen, [1, 10])
  t.strictSame(readdirSync(directory), [file], 'no lock is left')
})

t.test('the lock of a process that has crashed is taken away', async t => {
  const file = path.join(t.testdir(), 'lock')
  const source = `require('fs').openSync(${JSON.stringify(file)}, 'wx'); process.kill(process.pid, 'SIGKILL')`
  t.equal(spawnSync(process.execPath, ['-e', source]).signal, 'SIGKILL')
  const lock = await acquireFileLock(file, 50)
  t.equal(await lock?.isHeld(), true)
  await lock?.release()
  t.notOk(existsSync(file))
  t.equal(await acquireFileLock(path.join(file, 'elsewhere', 'lock')), undefined, 'there is no such folder')
})

t.test('a lock that cannot be removed is closed', async t => {
  const file = path.join(t.testdir(), 'lock')
  const lock = await acquireFileLock(file)
  replaceByLoop(file)
  await t.rejects(async () => lock?.release(), { code: 'ELOOP' })
  await t.rejects(async () => lock?.isHeld(), { code: 'EBADF' })
})

t.test('a change is stored although its lock cannot be removed, which is reported', async t => {
  const warnings: unknown[] = []
  let lock: string | undefined
  const now = () => {
    // The write asks for the time after the lock was checked.
    if (lock !== undefined) replaceByLoop(lock)
    return 0
  }
  const warn = (...values: unknown[]): void => void warnings.push(values)
  const { store, directory } = createFileStore(t, now, defaultSessionLimits, warn)
  await store.insert('a', createData({ count: 1 }))
  await store.sweep()
  const [file = ''] = readdirSync(directory)
  const change = (stored: SessionData): SessionData => {
    lock = path.join(directory, `${file}.lock`)
    return createData({ count: Number(stored.attributes.count) + 1 })
  }
  t.strictSame((await store.update('a', change, 'a'))?.attributes, { count: 2 })
  t.strictSame((await store.read('a'))?.attributes, { count: 2 })
  t.match(warnings, [['The lock of a session could not be removed.', { exception: { code: 'ELOOP' } }]])
})

/** Replaces a file by a link to itself, which cannot be read. */
function replaceByLoop(file: string): void {
  rmSync(file)
  symlinkSync(file, file)
}

t.test('a sweep removes a lock that is an hour old', async t => {
  const start = Date.now()
  const { store, directory } = createFileStore(t, () => start)
  await store.insert('a', createData({}, start + 1))
  await store.sweep()
  const name = String(readdirSync(directory)[0])
  const [young, stale] = [`${name}.lock`, `${'0'.repeat(64)}.json.lock`]
  for (const file of [young, stale]) writeFileSync(path.join(directory, file), '')
  const hourAgo = (start - 3_600_001) / 1000
  utimesSync(path.join(directory, stale), hourAgo, hourAgo)
  t.equal(await store.sweep(), 1)
  t.strictSame(readdirSync(directory).sort(), [name, young])
})

t.test('a sweep leaves foreign files and young temporary files alone', async t => {
  let now = 0
  const { store, directory } = createFileStore(t, () => now)
  await store.insert('a', createData({}, 10_000))
  await store.sweep()
  const name = String(readdirSync(directory)[0])
  const young = `${name}.3600000.0a-1b.tmp`
  const stale = `${name}.0.0a-1b.tmp`
  for (const file of ['README', 'x.json', `${name}.tmp`, young, stale]) writeFileSync(path.join(directory, file), '')
  mkdirSync(path.join(directory, 'folder'))
  now = 3_600_001
  t.equal(await store.sweep(), 2)
  t.strictSame(readdirSync(directory).sort(), [`${name}.tmp`, young, 'README', 'folder', 'x.json'].sort())
})

t.test('a write sweeps in the background, at first and then every ten minutes; the end waits for it', async t => {
  const start = 10_000_000
  let now = start
  const { store, directory } = createFileStore(t, () => now)
  const stale = path.join(directory, `${'1'.repeat(64)}.json.0.0.tmp`)
  mkdirSync(directory, { recursive: true })
  for (const [time, isSwept] of [
    [0, true],
    [599_999, false],
    [600_000, true],
  ] as const) {
    writeFileSync(stale, '')
    now = start + time
    await store.insert('a', createData({}, start + 6_000_000))
    await store.close()
    t.equal(existsSync(stale), !isSwept)
  }
  t.ok(await store.read('a'))
})

t.test('a disk that fails is an error with its cause, and leaves nothing behind', async t => {
  const blocked = path.join(t.testdir({ file: '' }), 'file')
  const warn = (): void => void t.fail('no sweep was begun')
  const store = new FileSessionStore({ directory: blocked, warn })
  const failure = { code: 'SESSION_STORE_FAILED', status: 500, cause: { code: 'ENOTDIR' } }
  await t.rejects(store.read('a'), { ...failure, message: 'The session store failed to read a session.' })
  await t.rejects(store.insert('a', createData()), {
    ...failure,
    message: /write a session/,
    cause: { code: 'EEXIST' },
  })
  await t.rejects(
    store.update('a', stored => stored, 'b'),
    { ...failure, message: /lock a session/ },
  )
  await t.rejects(store.destroy('a'), { ...failure, message: /lock a session/ })
  await t.rejects(store.sweep(), { ...failure, message: /sweep its directory/ })
})

t.test('a write that fails half-way removes its temporary file', async t => {
  const { store, directory } = createFileStore(t, () => 0)
  await store.insert('a', createData())
  await store.sweep()
  const name = String(readdirSync(directory)[0])
  rmSync(path.join(directory, name))
  mkdirSync(path.join(directory, name))
  t.equal(await store.read('a'), undefined, 'a directory is no session')
  await t.rejects(store.insert('a', createData()), { code: 'SESSION_STORE_FAILED', cause: { code: 'EISDIR' } })
  t.strictSame(readdirSync(directory), [name])
})

t.test('a file that cannot be swept does not stop the sweep, and is reported', async t => {
  const directory = t.testdir({ [`${'0'.repeat(64)}.json`]: {}, [`${'1'.repeat(64)}.json`]: '' })
  const { promise, resolve } = withResolvers()
  const store = new FileSessionStore({ directory, warn: (...values) => resolve(values), now: () => 0 })
  await t.rejects(store.sweep(), { code: 'SESSION_STORE_FAILED', cause: { errors: { length: 1 } } })
  t.strictSame(readdirSync(directory), [`${'0'.repeat(64)}.json`])
  await store.insert('a', createData())
  t.match(await promise, [
    'Old sessions could not be removed.',
    { exception: { code: 'SESSION_STORE_FAILED', cause: AggregateError } },
  ])
})

t.test('an existing directory is used as it is', async t => {
  const directory = t.testdir()
  chmodSync(directory, 0o750)
  const store = new FileSessionStore({ directory, warn: message => t.fail(message) })
  await store.insert('a', createData())
  t.equal(statSync(directory).mode & 0o777, 0o750)
})

function withResolvers(): { promise: Promise<unknown>; resolve: (value: unknown) => void } {
  let resolve: (value: unknown) => void = () => {}
  const promise = new Promise(settle => {
    resolve = settle
  })
  return { promise, resolve }
}

t.test('a full file store removes sessions in the background, and reports their number', async t => {
  const warnings: unknown[] = []
  const limits = { ...defaultSessionLimits, sessions: 20 }
  const warn = (...values: unknown[]): void => void warnings.push(values)
  const { store, directory } = createFileStore(t, () => 0, limits, warn)
  for (let number = 1; number <= 40; number++) await store.insert(`s${number}`, createData({}, 40 + number))
  // Without a call of sweep.
  await store.close()
  t.ok(warnings.length > 0)
  for (const warning of warnings) {
    t.match(warning, ['There are too many sessions: {count} were removed early.', { count: Number }])
  }
  await store.sweep()
  t.equal(readdirSync(directory).length, 20)
  for (let number = 1; number <= 40; number++) t.equal((await store.read(`s${number}`)) !== undefined, number > 20)
})
