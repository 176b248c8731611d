import path from 'node:path'
import { t } from 'tap'
import { runProcess } from '#tests/support/start-process.ts'

t.test('rt-soak, rt-slowloris: half a minute of all kinds of clients at once leaves the site as it was', async t => {
  const program = path.join(import.meta.dirname, 'run.js')
  const command = [process.execPath, program, '--minutes=0.4', '--sockets=400']
  const { code, stderr, stdout } = await runProcess(t, command)
  for (const line of stdout.trim().split('\n')) t.comment(line)
  t.strictSame({ code, stderr }, { code: 0, stderr: '' })
})
