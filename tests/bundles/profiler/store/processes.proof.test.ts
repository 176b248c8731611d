import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { createRecord, facts, tokenOf, tokensOf } from '#tests/support/create-profile.ts'
import { createDirectory, createFileStorage, listFiles } from './file-storage.ts'
import { killWriters, runFault, startWriter } from './writers.ts'

t.test('cc-4-writers: four processes keep a thousand profiles each, and a fifth one finds all', async t => {
  const directory = path.join(createDirectory(t), 'profiler')
  const { storage } = createFileStorage(t, { directory })
  const writers = [0, 1, 2, 3].map(number => startWriter(t, directory, number * 1000, 1000, 25))
  t.strictSame(await Promise.all(writers.map(({ ended }) => ended)), [0, 0, 0, 0])
  const expected = Array.from({ length: 4000 }, (_, token) => tokenOf(token))
  const result = await storage.search({ limit: 5000 })
  t.equal(result.total, 4000)
  t.strictSame(tokensOf(result).toSorted(), expected)
  for (const token of expected.filter((_, index) => index % 100 === 0)) t.ok(await storage.find(token))

  const lines = (ending: string) =>
    listFiles(directory, ending).flatMap(file => readFileSync(file, 'utf8').split('\n').slice(0, -1))
  t.equal(lines('.index').map(line => JSON.parse(line)).length, 4000)
  const records = lines('.jsonl').map(line => JSON.parse(line))
  t.equal(records.filter(record => record.schemaVersion === 1).length, 4000)
  t.equal(records.length, 4000 + listFiles(directory, '.jsonl').length, 'and the facts of each segment')
})

t.test('cc-same-token: processes that draw the same tokens overwrite nothing', async t => {
  const directory = path.join(createDirectory(t), 'profiler')
  const writers = [0, 1, 2, 3].map(() => startWriter(t, directory, 0, 200, 50))
  await Promise.all(writers.map(({ ended }) => ended))
  const { storage } = createFileStorage(t, { directory })
  const result = await storage.search({ limit: 5000 })
  t.equal(result.total, 800)
  t.equal(new Set(tokensOf(result)).size, 200)
  t.ok(await storage.find(tokenOf(77)))
})

t.test('cc-retention-race: processes that exceed the limit at the same time return to it', async t => {
  const directory = path.join(createDirectory(t), 'profiler')
  const writers = [0, 1].map(number => startWriter(t, directory, number * 2000, 2000, 20, 'few'))
  t.strictSame(await Promise.all(writers.map(({ ended }) => ended)), [0, 0])
  const { storage } = createFileStorage(t, { directory, limits: { count: 200 } })
  storage.append(createRecord({ token: 'abcdef' }), facts)
  await storage.flush()
  const tokens = tokensOf(await storage.search({ limit: 5000 }))
  t.ok(tokens.length > 150 && tokens.length <= 200, `${tokens.length}`)
  t.ok(tokens.includes(tokenOf(1999)) || tokens.includes(tokenOf(3999)), 'the newest stay')
  for (const token of tokens) t.ok(await storage.find(token))
})

t.test('kl-9: after fifty processes are killed at full load, every profile that they reported is stored', t =>
  killWriters(t, 10),
)

const isRoot = process.getuid?.() === 0
const unshared = ['unshare', '-rm']
const canMount =
  spawnSync(unshared[0] ?? '', [...unshared.slice(1), 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0
const withoutMount = !canMount && 'no file system can be mounted here'
const withoutRoot = !isRoot && 'only root can become another user'

/** Another user may have no access to the folders above. */
const withinReach = 'chmod 755 "$ROOT"; cd "$ROOT"; ROOT=.'

const faults: Readonly<
  Record<string, readonly [code: string, commands: string, skip: string | false, program?: string[]]>
> = {
  'fs-enospc': ['ENOSPC', 'mount -t tmpfs -o size=64k none "$ROOT"', withoutMount, unshared],
  'fs-enospc-inodes': ['ENOSPC', 'mount -t tmpfs -o nr_inodes=20 none "$ROOT"', withoutMount, unshared],
  'fs-erofs': ['EROFS', 'mount -t tmpfs none "$ROOT"', withoutMount, unshared],
  'fs-emfile': ['EMFILE', 'ulimit -n 64', false],
  'fs-efbig': ['EFBIG', 'ulimit -f 64', false],
  'fs-eacces-dir': ['EACCES', withinReach, withoutRoot],
}

for (const [scenario, [code, commands, skip, program]] of Object.entries(faults)) {
  t.test(`${scenario}: profiles are dropped and counted until the cause is removed`, { skip }, async t => {
    const result = await runFault(t, scenario, commands, program)
    t.equal(result.dropped + result.profiles, 500)
    t.ok(result.isConsistent)
    t.ok(result.isRecovered)
    t.equal(result.segments, result.indexes)
    if (scenario === 'fs-efbig') {
      t.equal(result.dropped, 0, 'there are more segments instead')
      return
    }
    t.ok(result.dropped > 0)
    t.equal(result.problems.length, 1)
    t.match(result.problems[0], code)
  })
}

t.test('pf-perm: an unreadable profile is not found', { skip: withoutRoot }, async t => {
  t.strictSame(await runFault(t, 'pf-perm', withinReach), { total: 0, isFound: false })
})
