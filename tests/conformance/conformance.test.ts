import { execFile } from 'node:child_process'
import { type Test, t } from 'tap'
import { startServer } from '../support/test-server.ts'

/** Replays the recorded cases; gives what the runner prints. */
async function replay(t: Test, config: string, variables: Record<string, string> = {}): Promise<string> {
  const { url } = await startServer(t, variables)
  const options = ['tests/conformance/run-cases.mjs', url, '--config', config, '--probe', '--without-profiler']
  return new Promise(resolve => execFile(process.execPath, options, (_error, stdout) => resolve(stdout)))
}

t.test('every recorded case of the development server holds that needs no profiler', async t => {
  t.equal(await replay(t, 'dev'), '63 passed, 0 failed\n')
})

t.test('every recorded case of the production server holds', async t => {
  t.equal(await replay(t, 'prod', { APP_ENV: 'prod' }), '1 passed, 0 failed\n')
})
