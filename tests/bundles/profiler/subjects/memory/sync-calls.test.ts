import childProcess, { execFileSync } from 'node:child_process'
import fs, { existsSync } from 'node:fs'
import { t } from 'tap'
import { patchProcess } from '#bundles/libraries/libraries.ts'
import { syncCalls } from '#kernel/contracts/process-calls.ts'

t.test('only long calls are reported, also those of names that were imported before', async t => {
  const calls: Parameters<typeof syncCalls.pass>[0][] = []
  t.teardown(patchProcess())
  t.teardown(syncCalls.observe(call => calls.push(call)))
  const begin = performance.now()
  let suspended = 0
  for (let time = 0; time < 1000; time++) {
    const before = performance.now()
    existsSync('package.json')
    if (performance.now() - before > 10) suspended++
  }
  t.ok(calls.length <= suspended, 'a busy machine may suspend the process during a call')
  calls.length = 0
  execFileSync('sleep', ['0.06'])
  t.match(calls, [{ name: 'child_process.execFileSync' }], 'one call, although it calls others of the functions')
  const [{ duration, start } = { duration: 0, start: 0 }] = calls
  t.ok(duration >= 55 && start >= begin && start + duration <= performance.now(), `${start} ${duration}`)
})

t.test('the functions behave as before, and are put back with the last watch', async t => {
  const { readFileSync, realpathSync } = fs
  const stopFirst = patchProcess()
  const stopSecond = patchProcess()
  t.not(fs.readFileSync, readFileSync)
  for (const name of ['name', 'length'] as const) t.equal(fs.readFileSync[name], readFileSync[name])
  t.equal(fs.realpathSync.native, realpathSync.native)
  t.equal(fs.readFileSync('package.json', 'utf8'), readFileSync('package.json', 'utf8'))
  t.throws(() => fs.readFileSync('missing'), { code: 'ENOENT', path: 'missing' })
  const { spawnSync } = childProcess
  const replaced = () => spawnSync('true')
  Object.assign(childProcess, { spawnSync: replaced })
  stopFirst()
  t.not(fs.readFileSync, readFileSync)
  stopSecond()
  t.equal(fs.readFileSync, readFileSync)
  t.equal<unknown>(childProcess.spawnSync, replaced, 'that of another library stays')
  Object.assign(childProcess, { spawnSync })
})

t.test('an observer that throws changes neither the result nor the error of the call', async t => {
  let reported = 0
  const fail = () => {
    throw new Error(`report ${++reported}`)
  }
  t.teardown(patchProcess())
  t.teardown(syncCalls.observe(fail))
  t.equal(execFileSync('sh', ['-c', 'sleep 0.06; echo done'], { encoding: 'utf8' }), 'done\n')
  t.throws(() => execFileSync('sh', ['-c', 'sleep 0.06; exit 3'], { stdio: 'ignore' }), { message: /^Command failed/ })
  t.equal(reported, 2)
})
