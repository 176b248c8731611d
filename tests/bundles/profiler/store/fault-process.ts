import { fail } from 'node:assert'
// A process on a disk with something wrong; it is started by writers.ts with: directory, scenario. Prints JSON.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { FileProfileStorage } from '#bundles/profiler/store/file-profile-storage.ts'
import { createRecord, createRecords, facts, tokenOf } from '#tests/support/create-profile.ts'

// In a separate folder, because files would remain in the working directory.
const [root = fail('A folder is missing.'), scenario = ''] = process.argv.slice(2)

/** Faults of a disk, and their repair. */
const scenarios: Readonly<Record<string, readonly [damage: () => void, mend: () => void]>> = {
  'fs-enospc': [() => writeFileSync(filler, 'x'.repeat(40_000)), () => rmSync(filler)],
  'fs-enospc-inodes': [
    () => {
      mkdirSync(filler)
      try {
        for (let number = 0; ; number++) writeFileSync(path.join(filler, `${number}`), '')
      } catch {
        // No space is left.
      }
    },
    () => rmSync(filler, { recursive: true }),
  ],
  'fs-erofs': [
    () => execFileSync('mount', ['-o', 'remount,ro', root]),
    () => execFileSync('mount', ['-o', 'remount,rw', root]),
  ],
  'fs-emfile': [
    () => {
      try {
        for (;;) held.push(openSync('/dev/null', 'r'))
      } catch {
        // No space is left.
      }
    },
    () => held.splice(0).forEach(closeSync),
  ],
  // The limit stays: only small segments can be written.
  'fs-efbig': [() => undefined, () => undefined],
  'fs-eacces-dir': [
    () => {
      mkdirSync(directory)
      chmodSync(directory, 0o500)
      process.seteuid?.(65_534)
    },
    () => {
      process.seteuid?.(0)
      chmodSync(directory, 0o700)
      chownSync(directory, 65_534, 65_534)
      process.seteuid?.(65_534)
    },
  ],
  'pf-perm': [() => undefined, () => undefined],
}

const directory = path.join(root, 'profiler')
const filler = path.join(root, 'filler')
const held: number[] = []
const [damage, mend] = scenarios[scenario] ?? []

const problems: string[] = []
const storage = new FileProfileStorage({
  directory,
  onProblem: (message, error) => problems.push(`${message} ${error}`),
  limits: { count: 10_000, bytes: 20_000_000 },
})

if (scenario === 'pf-perm') {
  for (const record of createRecords(3)) storage.append(record, facts)
  await storage.flush()
  for (const file of readdirSync(directory)) chmodSync(path.join(directory, file), 0)
  chmodSync(directory, 0o755)
  process.seteuid?.(65_534)
  const other = new FileProfileStorage({ directory, onProblem: () => undefined })
  const { total } = await other.search({ limit: 10 })
  print({ total, isFound: (await storage.find(tokenOf(1))) !== undefined })
} else {
  if (scenario !== 'fs-eacces-dir') mkdirSync(directory)
  damage?.()
  for (let first = 0; first < 500; first += 10) {
    for (const record of createRecords(10, first)) storage.append(record, facts)
    await storage.flush()
  }
  const { dropped, profiles } = await storage.usage()
  const isConsistent = await areAllReadable(storage)
  mend?.()
  storage.append(createRecord({ token: 'abcdef' }), facts)
  await storage.flush()
  const after = await storage.usage()
  const files = existsSync(directory) ? readdirSync(directory) : []
  await storage.close()
  const other = new FileProfileStorage({ directory, onProblem: () => undefined })
  print({
    dropped,
    profiles,
    problems,
    isConsistent: isConsistent && (await areAllReadable(other)),
    isRecovered: after.dropped === dropped && (await other.find('abcdef')) !== undefined,
    // Each segment has two files; segments that could not be written leave no files.
    segments: files.filter(file => file.endsWith('.jsonl')).length,
    indexes: files.filter(file => file.endsWith('.index')).length,
  })
}

async function areAllReadable(store: FileProfileStorage): Promise<boolean> {
  const { summaries } = await store.search({ limit: 10_000 })
  for (const { token } of summaries) if ((await store.find(token)) === undefined) return false
  return true
}

function print(value: unknown): void {
  process.stdout.write(JSON.stringify(value))
}
