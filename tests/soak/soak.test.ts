import path from 'node:path'
import { t } from 'tap'
import { runProcess } from '#tests/support/start-process.ts'
import { medianOf, slopeOf } from './trend.ts'

t.test('a trend is not bent by outliers', async t => {
  t.equal(slopeOf([1, 2, 3, 100, 5, 6]), 1)
  t.equal(slopeOf([7, 7, 7, 0, 7, 7]), 0)
  t.equal(slopeOf([5]), 0)
  t.equal(medianOf([3, 1]), 2)
})

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
