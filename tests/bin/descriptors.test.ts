import { connect } from 'node:net'
import { t } from 'tap'
import { until } from '#tests/support/until.ts'
import { pause, startProgram } from './site-process.ts'

t.test('rt-max-conns: the server recovers from more connections than file descriptors', async t => {
  const command = 'ulimit -n 200; exec "$0" dist/bin/serving/worker.js . --port=0 --env=prod'
  const variables = { APP_SECRET: 'of one’s own, and long enough for production' }
  const site = startProgram(t, ['sh', '-c', command, process.execPath], variables)
  const url = await site.url()
  const port = Number(new URL(url).port)
  const sockets = Array.from({ length: 400 }, () => connect(port, '127.0.0.1').on('error', () => undefined))
  await pause(300)
  t.equal(site.child.exitCode, null)
  for (const socket of sockets) socket.destroy()
  // The server closes its ends of the connections one after the other; until then, it refuses others.
  const isAnswered = () =>
    fetch(`${url}/partnership`).then(
      ({ status }) => status === 200,
      () => false,
    )
  await until(isAnswered)
  site.child.kill()
  t.equal(await site.end(), 0)
})
