import { execFile } from 'node:child_process'
import { type Test, t } from 'tap'
import { createProfilerBundle } from '#bundles/profiler/profiler-bundle.ts'
import { FileProfileStorage } from '#bundles/profiler/store/file-profile-storage.ts'
import type { Bundle } from '#kernel/bundle.ts'
import { startServer } from '#tests/support/test-server.ts'

/** Replays the recorded cases; gives what the runner prints. */
async function replay(
  t: Test,
  config: string,
  variables: Record<string, string>,
  bundles: readonly Bundle[],
): Promise<string> {
  const { url } = await startServer(t, variables, bundles)
  const options = ['tests/conformance/run-cases.mjs', url, '--config', config, '--probe']
  return new Promise(resolve => execFile(process.execPath, options, (_error, stdout) => resolve(stdout)))
}

t.test('every recorded case of the development server holds', async t => {
  const storage = new FileProfileStorage({ directory: t.testdir(), onProblem: message => t.fail(message) })
  t.equal(await replay(t, 'dev', {}, [createProfilerBundle({ storage })]), '103 passed, 0 failed\n')
})

t.test('every recorded case of the production server holds', async t => {
  t.equal(await replay(t, 'prod', { APP_ENV: 'prod' }, []), '2 passed, 0 failed\n')
})
