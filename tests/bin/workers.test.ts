import { mkdirSync, realpathSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { childrenOf } from '#tests/support/children-of.ts'
import { findPort, isFree } from '#tests/support/find-port.ts'
import { until } from '#tests/support/until.ts'
import { startProgram, startSite } from './site-process.ts'

// workers.proof.test.ts has all cases, and counts lost requests.
const ownSecret = { APP_SECRET: 'of one’s own, and long enough for production' }

t.test('workers share a port, are replaced when they end and by SIGHUP, and end with the main process', async t => {
  const site = startSite(t, ['--port=0', '--workers=2'])
  const url = await site.url()
  await site.until(/\(dev, debug on, 2 workers\)/)
  // Over a connection that is closed at once: a retiring worker would wait for it.
  const ask = async () => (await fetch(`${url}/partnership`)).status
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
  const site = startSite(t, ['--port=0', '--host=192.0.2.1', '--env=prod', '--workers=1'], ownSecret)
  t.equal(await site.end(), 64)
  t.equal(site.stderr.match(/^The server cannot listen on 192\.0\.2\.1:0/gm)?.length, 1)
})

/** An application whose workers have a second port, as that of the guide to operation. */
const metered = `import { createServer } from 'node:http'
import { Response } from 'sinfonietta'
import { serve } from 'sinfonietta/server'

await serve({
  bundles: [
    {
      name: 'metered',
      register({ routes, signals }) {
        routes.get('home', '/', () => Response.text(process.env.SINFONIETTA_WORKER ?? 'no variable'))
        signals.on('server.listening', ({ worker }) => {
          const server = createServer((request, response) => response.end(worker + ' ' + process.pid))
          let timer
          const port = Number(process.env.METRICS_PORT) + worker - 1
          const listen = () => server.listen({ port, host: '127.0.0.1', exclusive: true })
          server.on('error', () => (timer = setTimeout(listen, 20)))
          listen()
          signals.on('server.draining', () => {
            clearTimeout(timer)
            server.close()
          })
        })
      },
    },
  ],
})
`

t.test('the number of a worker, and so the port of its metrics, outlives three reloads and a crash', async t => {
  const directory = realpathSync(t.testdir({ 'package.json': '{"type": "module"}', 'app.js': metered }))
  mkdirSync(path.join(directory, 'node_modules'))
  symlinkSync(path.resolve('.'), path.join(directory, 'node_modules/sinfonietta'))
  let port = await findPort()
  while (!(await isFree(port + 1))) port = await findPort()
  const variables = { ...ownSecret, APP_ENV: 'prod', APP_HOSTS: '127.0.0.1', METRICS_PORT: `${port}` }
  const site = startProgram(t, [process.execPath, path.join(directory, 'app.js'), '--port=0', '--workers=2'], variables)
  const url = await site.url()
  t.equal(await (await fetch(url)).text(), 'no variable', 'no child process gets it')

  const targets = [port, port + 1].map(each => `http://127.0.0.1:${each}/`)
  /** What a target answers, over a connection of its own; nothing if there is no server. */
  const scrape = async (target: string) => {
    const response = await fetch(target).catch(() => undefined)
    return (await response?.text()) ?? ''
  }
  const seen = new Set<string>()
  /** Resolves with the numbers that both targets give, when each of them is a new process. */
  const numbers = async (isNew: (answer: string) => boolean = answer => !seen.has(answer)) => {
    let answers: string[] = []
    await until(async () => {
      answers = await Promise.all(targets.map(scrape))
      return answers.every(answer => answer !== '' && isNew(answer))
    })
    for (const answer of answers) seen.add(answer)
    return answers.map(answer => Number.parseInt(answer, 10))
  }
  t.strictSame(await numbers(), [1, 2])
  for (let reload = 1; reload <= 3; reload++) {
    site.child.kill('SIGHUP')
    t.strictSame(await numbers(), [1, 2], `reload ${reload}`)
  }
  const [, second = ''] = await Promise.all(targets.map(scrape))
  process.kill(Number(second.split(' ')[1]), 'SIGKILL')
  t.strictSame(await numbers(answer => answer !== second), [1, 2], 'a crash')
})
