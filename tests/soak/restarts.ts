import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { childrenOf } from '#tests/support/children-of.ts'
import { until } from '#tests/support/until.ts'
import { startLoad } from './steady-load.ts'

/** How often a site with two workers is restarted under load. */
export interface RestartOptions {
  readonly restarts: number
  readonly print: (line: string) => void
}

/** Compiled, this file lies in dist/tests/soak. */
const directory = path.join(import.meta.dirname, '../../..')

/** Restarts a site many times; returns complaints. */
export async function restartRepeatedly({ restarts, print }: RestartOptions): Promise<string[]> {
  const command = ['dist/bin/serving/worker.js', '.', '--port=0', '--env=prod', '--workers=2']
  const env = { ...process.env, APP_SECRET: 'only for the time of some restarts, and long enough' }
  const child = spawn(process.execPath, command, { env, cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.on('data', chunk => print(String(chunk).trimEnd()))
  const ended = once(child, 'exit')
  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    child.stderr.on('data', chunk => {
      output += chunk
      const [, url] = /Sinfonietta serves (\S+)/.exec(output) ?? []
      if (url !== undefined) resolve(url)
    })
    ended.then(() => reject(new Error(`The site does not start: ${output}`)))
  })

  const load = startLoad(`${url}/partnership`)
  const begin = performance.now()
  for (let restart = 1; restart <= restarts && child.exitCode === null; restart++) {
    const old = childrenOf(child.pid)
    child.kill('SIGHUP')
    await until(() => !childrenOf(child.pid).some(pid => old.includes(pid)), 50)
    print(`restart ${restart}/${restarts} after ${((performance.now() - begin) / 1000).toFixed(1)} s`)
  }
  const { lost, requests } = await load.stop()
  print(`${restarts} restarts of two workers, ${requests} requests, ${lost.length} lost`)

  child.kill('SIGTERM')
  const [code, signal] = await ended
  const complaints = code === 0 ? [] : [`The site has not ended well (${signal ?? code}).`]
  return lost.length === 0 ? complaints : [...complaints, ...lost.slice(0, 50)]
}
