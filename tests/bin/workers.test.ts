import { t } from 'tap'
import { childrenOf } from '#tests/support/children-of.ts'
import { until } from '#tests/support/until.ts'
import { startCounted } from './site-process.ts'

// workers.proof.test.ts has all cases, and counts lost requests.
const ownSecret = { APP_SECRET: 'of one’s own, and long enough for production' }

t.test('workers share a port, are replaced when they end and by SIGHUP, and end with the main process', async t => {
  const site = startCounted(t, ['--port=0', '--workers=2'])
  const url = await site.url()
  await site.until(/\(dev, debug on, 2 workers\)/)
  // Over a connection that is closed at once: a retiring worker would wait for it.
  const ask = async () => (await fetch(`${url}/partnership`, { headers: { connection: 'close' } })).status
  const workers = () => childrenOf(site.child.pid)
  t.equal(await ask(), 200)
  const [first = 0, second = 0] = workers()
  site.child.send({ reload: [] })
  process.kill(first, 'SIGKILL')
  await site.until(/A worker has ended \(SIGKILL\): another one starts in 0\.1 s\./)
  await until(() => workers().length === 2, 50)
  t.ok(workers().includes(second))

  const before = workers()
  site.child.kill('SIGHUP')
  await until(() => workers().length === 3)
  process.kill(Number(workers().find(pid => !before.includes(pid))), 'SIGKILL')
  await site.until(/A new worker has not started: the old one goes on\./)
  site.child.kill('SIGHUP')
  await until(() => workers().length === 2 && !workers().some(pid => before.includes(pid)), 50)
  t.equal(await ask(), 200)
  site.child.kill()
  t.equal(await site.end(), 0)
  t.strictSame(workers(), [])
})

t.test('an error that every worker would have is printed once', async t => {
  const site = startCounted(t, ['--port=0', '--host=192.0.2.1', '--env=prod', '--workers=1'], ownSecret)
  t.equal(await site.end(), 64)
  t.equal(site.stderr.match(/^The server cannot listen on 192\.0\.2\.1:0/gm)?.length, 1)
})
