import { execFileSync } from 'node:child_process'
import { Agent, request } from 'node:http'
import { t } from 'tap'
import { pause, startCounted, startSite } from './site-process.ts'

t.setTimeout(180_000)

const ownSecret = { APP_SECRET: 'of one’s own, and long enough for production' }

/** `npm run soak` asks for more. */
const restarts = Number(process.env.RESTARTS ?? 4)

/** The processes that a process has started. */
function childrenOf(pid: number | undefined): number[] {
  const lines = execFileSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const pairs = lines.map(line => line.trim().split(/\s+/).map(Number))
  return pairs.filter(([, parent]) => parent === pid).map(([child = 0]) => child)
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await pause(20)
}

t.test('workers share a port, are replaced when they end, and end with their primary', async t => {
  const site = startCounted(t, ['--port=0', '--workers=2'])
  const url = await site.url()
  await site.until(/\(dev, debug on, 2 workers\)/)
  t.equal((await fetch(`${url}/partnership`)).status, 200)
  const [first = 0, second = 0] = childrenOf(site.child.pid)
  site.child.send('reload')
  process.kill(first, 'SIGKILL')
  await site.until(/A worker has ended \(SIGKILL\): another one starts in 0\.1 s\./)
  await until(() => childrenOf(site.child.pid).length === 2)
  t.ok(childrenOf(site.child.pid).includes(second))

  const before = childrenOf(site.child.pid)
  site.child.kill('SIGHUP')
  await until(() => childrenOf(site.child.pid).length === 3)
  process.kill(Number(childrenOf(site.child.pid).find(pid => !before.includes(pid))), 'SIGKILL')
  await site.until(/A new worker has not started: the old one goes on\./)
  site.child.kill('SIGHUP')
  await until(() => !childrenOf(site.child.pid).some(pid => before.includes(pid)))
  t.equal((await fetch(`${url}/partnership`)).status, 200)
  await until(() => childrenOf(site.child.pid).length === 2)

  const [old = 0, other = 0] = childrenOf(site.child.pid)
  site.child.kill('SIGHUP')
  await until(() => childrenOf(site.child.pid).length === 3)
  process.kill(old, 'SIGKILL')
  await until(() => !childrenOf(site.child.pid).includes(other) && childrenOf(site.child.pid).length === 2)
  t.notOk(childrenOf(site.child.pid).includes(old), 'one that dies while it is replaced holds nothing up')

  process.kill(Number(childrenOf(site.child.pid)[0]), 'SIGTERM')
  await site.until(/A worker has ended \(exit code 0\)/)
  site.child.kill()
  t.equal(await site.end(), 0)
  t.strictSame(childrenOf(site.child.pid), [])
})

t.test('what another worker would say as well is said once', async t => {
  const taken = startSite(t, ['--port=0', '--env=prod'], ownSecret)
  const { port } = new URL(await taken.url())
  const site = startCounted(t, [`--port=${port}`, '--env=prod', '--workers=1'], ownSecret)
  t.equal(await site.end(), 64)
  t.match(site.stderr, /is taken by another program/)
})

t.test('SIGHUP replaces all workers, and no request is lost', async t => {
  const site = startSite(t, ['--port=0', '--env=prod', '--workers=2'], ownSecret)
  const url = await site.url()
  const before = childrenOf(site.child.pid)
  const load = startLoad(`${url}/partnership`)
  for (let round = 0; round < restarts; round++) {
    const old = childrenOf(site.child.pid)
    site.child.kill('SIGHUP')
    await until(() => {
      const now = childrenOf(site.child.pid)
      return now.length === 2 && !now.some(pid => old.includes(pid))
    })
  }
  const { failures, answered } = await load.stop()
  t.strictSame(failures, [])
  t.ok(answered > 100 * restarts, `${answered} requests were answered`)
  t.notOk(childrenOf(site.child.pid).some(pid => before.includes(pid)))
  site.child.kill()
  t.equal(await site.end(), 0)
})

/** Asks over eight connections that are kept, one request after another. */
function startLoad(url: string): { stop(): Promise<{ failures: string[]; answered: number }> } {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const failures: string[] = []
  let answered = 0
  let isOver = false
  const ask = () =>
    new Promise<void>(resolve => {
      const message = request(url, { agent }, response => {
        if (response.statusCode === 200) answered++
        else failures.push(`status ${response.statusCode}`)
        response.on('close', resolve).resume()
      })
      message.on('error', error => {
        failures.push(String(error))
        resolve()
      })
      message.end()
    })
  const work = async () => {
    while (!isOver) await ask()
  }
  const all = Promise.all(Array.from({ length: 8 }, work))
  return {
    async stop() {
      isOver = true
      await all
      agent.destroy()
      return { failures, answered }
    },
  }
}
