import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { t } from 'tap'
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
  const child = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, program, ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  for (const line of output.trim().split('\n')) t.comment(line)
  t.strictSame([await ended, errors], [[0, null], ''])
})
