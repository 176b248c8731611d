import path from 'node:path'
import { t } from 'tap'
import { isRunning } from '#bundles/profiler/store/file-system.ts'
import { tokenOf, tokensOf } from '#tests/support/create-profile.ts'
import { createDirectory, createFileStorage, missingPid } from './file-storage.ts'
import { killWriters, runFault, startWriter } from './writers.ts'

t.test('two processes keep 200 profiles each, and a third one finds all', async t => {
  const directory = path.join(createDirectory(t), 'profiler')
  const writers = [0, 1].map(number => startWriter(t, directory, number * 200, 200, 25))
  t.strictSame(await Promise.all(writers.map(({ ended }) => ended)), [0, 0])
  const { storage } = createFileStorage(t, { directory })
  const expected = Array.from({ length: 400 }, (_, token) => tokenOf(token))
  t.strictSame(tokensOf(await storage.search({ limit: 5000 })).toSorted(), expected)
})

t.test('a process ends by itself after the last write', async t => {
  const directory = path.join(createDirectory(t), 'profiler')
  t.equal(await startWriter(t, directory, 0, 50, 10, 'leave').ended, 0)
  const { storage } = createFileStorage(t, { directory })
  t.equal((await storage.search({ limit: 1 })).total, 50)
})

t.test('kl-9: after two processes are killed at full load, every profile that they reported is stored', t =>
  killWriters(t, 1, 2),
)

t.test('a process runs, has ended, or belongs to another user', async t => {
  t.equal(isRunning(process.pid), true)
  t.equal(isRunning(missingPid), false)
  t.equal(isRunning(1), true)
})

t.test('fs-emfile: profiles are dropped and counted until files can be opened', async t => {
  const { isConsistent, isRecovered, problems } = await runFault(t, 'fs-emfile', 'ulimit -n 64')
  t.ok(isConsistent && isRecovered)
  t.match(problems, [/EMFILE/])
})
