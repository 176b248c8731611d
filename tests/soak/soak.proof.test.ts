import path from 'node:path'
import { t } from 'tap'
import { runProcess } from '#tests/support/start-process.ts'

t.test('rt-soak, rt-slowloris: half a minute of all kinds of clients at once leaves the site as it was', async t => {
  const program = path.join(import.meta.dirname, 'run.js')
  const options = ['--minutes=0.4', '--sockets=400']
  // Not counted for coverage, which would be what is measured.
  const { code, stderr, stdout } = await runProcess(t, [
    'env',
    '-u',
    'NODE_OPTIONS',
    process.execPath,
    program,
    ...options,
  ])
  for (const line of stdout.trim().split('\n')) t.comment(line)
  t.strictSame({ code, stderr }, { code: 0, stderr: '' })
})
