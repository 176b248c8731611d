import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { readCpu } from '../read-cpu.js'
import { within } from '../report.js'

const root = path.join(import.meta.dirname, '../..')
const bareServer = "require('node:http').createServer().listen(0, '127.0.0.1', () => console.log('serves'))"

/** Milliseconds until they listen. */
const budgets = { production: 250, development: 400 }

/** @type {Readonly<Record<string, readonly string[]>>} */
const commands = {
  'bare node:http': [process.execPath, '--eval', bareServer],
  production: [path.join(root, 'bin/serve'), '--port=0', '--env=prod'],
  development: [path.join(root, 'bin/serve'), '--port=0', '--env=dev'],
}

/**
 * How long it takes until a server listens when nothing has to be compiled. Wall time depends on who else
 * uses the machine: the fastest start, which stands in its own rows, says most of the program itself.
 *
 * @type {import('../report.js').Claim}
 */
export const startUp = {
  title: 'From the command to listening (CPU time of all processes by Linux, in steps of 10 ms)',
  unit: 'ms',
  comparisons: [
    ...Object.entries(budgets).map(([name, budget]) => within(`${name} / ${budget} ms`, name, budget)),
    { name: 'production / bare node:http', numerator: 'production', denominator: 'bare node:http' },
    { name: 'production / bare node:http, CPU', numerator: 'production, CPU', denominator: 'bare node:http, CPU' },
  ],
  measure: async ({ rounds }) => {
    /** @type {Map<string, number[]>} */
    const measured = new Map()
    const add = (/** @type {string} */ name, /** @type {number} */ value) =>
      measured.set(name, [...(measured.get(name) ?? []), value])
    // What has changed since the last time is compiled now.
    for (const command of Object.values(commands)) await start(command)
    for (let round = 0; round < rounds; round++) {
      for (const [name, command] of Object.entries(commands)) {
        const { cpu, wall } = await start(command)
        add(name, wall)
        add(`${name}, CPU`, cpu)
      }
    }
    for (const name of Object.keys(commands)) add(`${name}, fastest`, Math.min(...(measured.get(name) ?? [])))
    return measured
  },
}

/**
 * Starts a server and stops it when it listens.
 *
 * @param {readonly string[]} command
 */
async function start([program = '', ...parameters]) {
  const env = { PATH: process.env.PATH, APP_SECRET: 'a secret for the benchmark, of enough characters' }
  const begin = performance.now()
  const child = spawn(program, parameters, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  await new Promise((resolve, reject) => {
    const onOutput = (/** @type {Buffer} */ chunk) => void (chunk.includes('serves') && resolve(undefined))
    child.stdout.on('data', onOutput)
    child.stderr.on('data', onOutput)
    ended.then(() => reject(new Error(`${program} does not listen.`)))
  })
  const wall = performance.now() - begin
  const cpu = readCpu(child.pid)
  child.kill()
  await ended
  return { cpu, wall }
}
