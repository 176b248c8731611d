import { readFileSync } from 'node:fs'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { type Test, t } from 'tap'
import { FileProfileStorage } from '#bundles/profiler/store/file-profile-storage.ts'
import { findUndecided, hashFile } from '#tests/support/recorded.ts'
import { endFirst, runProcess } from '#tests/support/start-process.ts'
import { startServer } from '#tests/support/test-server.ts'

/** Replays the recorded cases; gives what the runner prints. */
async function replay(url: string, ...options: string[]): Promise<string> {
  const command = [process.execPath, 'tests/conformance/run-cases.mjs', url, '--probe', ...options]
  return (await runProcess(t, command)).stdout
}

async function serveDevelopment(t: Test, directory: string = t.testdir()): Promise<string> {
  const storage = new FileProfileStorage({ directory, onProblem: message => t.fail(message) })
  const { close, url } = await startServer(t, {}, [createProfilerBundle({ storage })])
  // Profiles are written until then.
  endFirst(t, close)
  return url
}

t.test('recorded cases are facts: what differs is listed with its decision', async t => {
  const hash = '8652fb19db62437006afc194ddf6ca653857f4acf2e957085e5530e48b206fd8'
  t.equal(hashFile('tests/conformance/cases.json'), hash, 'the recorded file was edited')
  const differs: { id: string; decision: string }[] = JSON.parse(readFileSync('tests/conformance/differs.json', 'utf8'))
  t.strictSame(
    differs.map(({ id }) => id),
    ['seed.profiler.home', 'profiler.default.exception', 'profiler.default.request', 'profiler.panel.unknown'],
  )
  t.strictSame(findUndecided(differs), [], 'a difference needs a decision')
})

t.test('every recorded case of the development server holds', async t => {
  t.equal(await replay(await serveDevelopment(t)), '103 passed, 0 failed\n')
})

t.test('every recorded case of the production server holds', async t => {
  const { url } = await startServer(t, { APP_ENV: 'prod' }, [])
  t.equal(await replay(url, '--config', 'prod'), '2 passed, 0 failed\n')
})

t.test('a difference that is not listed fails, and a listed case that is as recorded', async t => {
  const expect = { status: 200, headers: {} }
  const differs = { 'none.json': '[]', 'one.json': JSON.stringify([{ id: 'toolbar.xhr', expect }]) }
  const directory = t.testdir({ ...differs, profiles: {} })
  const url = await serveDevelopment(t, `${directory}/profiles`)
  const home = await replay(url, '--only', 'seed.profiler.home', '--differs', `${directory}/none.json`)
  t.match(home, /^seed.profiler.home: location: .*limit=25, expected .*limit=10\n0 passed, 1 failed\n$/)
  const toolbar = await replay(url, '--only', 'toolbar.xhr', '--differs', `${directory}/one.json`)
  t.equal(toolbar, 'toolbar.xhr: listed as different, but it is as recorded\n0 passed, 1 failed\n')
})
