import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import path from 'node:path'
import { t } from 'tap'
import { startLoad } from '#tests/soak/steady-load.ts'
import { childrenOf } from '#tests/support/children-of.ts'
import { until } from '#tests/support/until.ts'
import { pause, startProgram, startSite } from './site-process.ts'

const ownSecret = { APP_SECRET: 'of one’s own, and long enough for production' }

/** `npm run soak -- --restarts 20` restarts more often. */
const restarts = 2

const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0

/** The status of a page, over a connection that is closed at once: a retiring worker would wait for it. */
async function statusOf(url: string): Promise<number> {
  return (await fetch(`${url}/partnership`)).status
}

/** Resolves with the outcome of a request. */
function ask(url: string, agent: Agent): Promise<string> {
  return new Promise(resolve => {
    request(url, { agent }, response => {
      response.resume().on('close', () => resolve(`status ${response.statusCode}`))
    })
      .setTimeout(60_000, () => resolve('no answer'))
      .on('error', error => resolve(String(error)))
      .end()
  })
}

t.test('a worker that dies while it is replaced, or ends by itself, stops nothing', async t => {
  const site = startSite(t, ['--port=0', '--workers=2'])
  await site.url()
  const [old = 0, other = 0] = childrenOf(site.child.pid)
  site.child.kill('SIGHUP')
  await until(() => childrenOf(site.child.pid).length === 3)
  process.kill(old, 'SIGKILL')
  await until(() => !childrenOf(site.child.pid).includes(other) && childrenOf(site.child.pid).length === 2)
  t.notOk(childrenOf(site.child.pid).includes(old))

  process.kill(Number(childrenOf(site.child.pid)[0]), 'SIGTERM')
  await site.until(/A worker has ended \(exit code 0\)/)
  site.child.kill()
  t.equal(await site.end(), 0)
  t.strictSame(childrenOf(site.child.pid), [])
})

t.test('a worker that is still starting is replaced by a signal, because it receives no message yet', async t => {
  const folder = t.testdir()
  const stop = path.join(folder, 'stop')
  const preload = path.join(folder, 'preload.mjs')
  writeFileSync(
    preload,
    `import cluster from 'node:cluster'
import { existsSync } from 'node:fs'
if (cluster.isWorker && existsSync(${JSON.stringify(stop)})) process.kill(process.pid, 'SIGSTOP')`,
  )
  const site = startSite(t, ['--port=0', '--env=prod', '--workers=2'], ownSecret, ['--import', preload])
  const url = await site.url()
  const [first = 0, second = 0] = childrenOf(site.child.pid)
  writeFileSync(stop, '')
  process.kill(first, 'SIGKILL')
  const isStopped = (pid: number) => {
    try {
      return /^State:\s*T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
    } catch {
      return false // It has ended.
    }
  }
  const findStopped = () => childrenOf(site.child.pid).find(isStopped)
  await until(() => findStopped() !== undefined)
  const starting = findStopped() ?? 0
  rmSync(stop)
  site.child.kill('SIGHUP')
  // SIGTERM (15) is pending for it.
  await until(() => /^ShdPnd:\s*0*4000$/m.test(readFileSync(`/proc/${starting}/status`, 'utf8')))
  process.kill(starting, 'SIGCONT')
  await until(() => !childrenOf(site.child.pid).some(pid => pid === starting || pid === second))
  t.equal(await statusOf(url), 200)
  site.child.kill()
  t.equal(await site.end(), 0)
})

t.test('an error that every worker would have is printed once', async t => {
  const taken = startSite(t, ['--port=0', '--env=prod'], ownSecret)
  const { port } = new URL(await taken.url())
  const site = startSite(t, [`--port=${port}`, '--env=prod', '--workers=1'], ownSecret)
  t.equal(await site.end(), 64)
  t.match(site.stderr, /is taken by another program/)
})

t.test('a connection that is handed to an ending worker goes to another worker', async t => {
  const site = startSite(t, ['--port=0', '--env=prod', '--workers=2'], ownSecret)
  const url = await site.url()
  const [old = 0] = childrenOf(site.child.pid)
  // The stopped main process accepts no connection and does not notice that the worker closes.
  site.child.kill('SIGSTOP')
  const agent = new Agent({ keepAlive: false })
  const answers = Promise.all(Array.from({ length: 20 }, () => ask(`${url}/partnership`, agent)))
  process.kill(old, 'SIGTERM')
  await pause(2_000)
  site.child.kill('SIGCONT')
  t.strictSame(new Set(await answers), new Set(['status 200']))
  await until(() => !childrenOf(site.child.pid).includes(old))
  await site.until(/A worker has ended \(exit code 0\)/)
  t.equal(site.stderr.match(/APP_HOSTS is not set/g)?.length, 1, 'only the main process prints the warning')
})

t.test('if the system cannot start a process, existing workers go on, and the start is tried again later', async t => {
  const node = path.join(t.testdir(), 'node')
  copyFileSync(process.execPath, node)
  const site = startProgram(
    t,
    [node, 'dist/bin/serving/worker.js', '.', '--port=0', '--env=prod', '--workers=2'],
    ownSecret,
  )
  const url = await site.url()
  const [first = 0, second = 0] = childrenOf(site.child.pid)
  renameSync(node, `${node}.away`)
  site.child.kill('SIGHUP')
  await site.until(/A new worker has not started: the old one goes on\./)
  process.kill(first, 'SIGKILL')
  await site.until(/A worker has ended \(SIGKILL\)/)
  await site.until(/A worker has ended \(spawn .*ENOENT\): another one starts in 0\.\d s\./)
  t.strictSame(childrenOf(site.child.pid), [second])
  t.equal(await statusOf(url), 200)
  renameSync(`${node}.away`, node)
  await until(() => childrenOf(site.child.pid).length === 2)
  site.child.kill()
  t.equal(await site.end(), 0)
})

t.test(
  'if the environment is too large for a new process, the existing workers go on',
  { skip: hasPrlimit ? false : 'no prlimit' },
  async t => {
    const large = { ...ownSecret, LARGE_1: 'x'.repeat(100_000), LARGE_2: 'x'.repeat(100_000) }
    const site = startSite(t, ['--port=0', '--env=prod', '--workers=1'], large)
    const url = await site.url()
    // The arguments of a program may take a quarter of the size of the stack.
    execFileSync('prlimit', ['--pid', String(site.child.pid), '--stack=524288:'])
    site.child.kill('SIGHUP')
    await site.until(/A new worker has not started: the old one goes on\./)
    t.equal(await statusOf(url), 200)
    process.kill(Number(childrenOf(site.child.pid)[0]), 'SIGKILL')
    await site.until(/A worker has ended \(spawn E2BIG\): another one starts in 0\.\d s\./)
    execFileSync('prlimit', ['--pid', String(site.child.pid), '--stack=8388608:'])
    await until(() => childrenOf(site.child.pid).length === 1)
    site.child.kill()
    t.equal(await site.end(), 0)
  },
)

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
  const { lost, requests } = await load.stop()
  t.strictSame(lost, [])
  t.ok(requests > 100 * restarts, `${requests} requests`)
  t.notOk(childrenOf(site.child.pid).some(pid => before.includes(pid)))
  site.child.kill()
  t.equal(await site.end(), 0)
})
