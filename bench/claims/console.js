import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { within } from '../report.js'
import { fillStore } from './profile-store.js'

const root = path.join(import.meta.dirname, '../..')

const commands = [
  { command: 'profiler:list', records: 10_000, budget: 500 },
  { command: 'profiler:stats', records: 100_000, budget: 2000 },
]

/** @param {{ command: string, records: number }} of */
const nameOf = ({ command, records }) => `${command}, ${records.toLocaleString('en')} records`

/**
 * How long commands take that read a whole store, starting included, in a copy of the project.
 *
 * @type {import('../report.js').Claim}
 */
export const consoleCommands = {
  title: 'Commands over a store that another process has written, from the command to its end',
  unit: 'ms',
  comparisons: commands.map(command =>
    within(`${nameOf(command)} / ${command.budget.toLocaleString('en')} ms`, nameOf(command), command.budget),
  ),
  async measure({ rounds }) {
    const measured = new Map()
    for (const { command, records } of commands) {
      const project = copyProject()
      await fillStore(path.join(project, 'var/profiler'), records)
      await time(project, command)
      const times = []
      for (let round = 0; round < rounds; round++) times.push(await time(project, command))
      measured.set(nameOf({ command, records }), times)
      rmSync(project, { recursive: true })
    }
    return measured
  },
}

function copyProject() {
  const project = mkdtempSync(path.join(tmpdir(), 'console-'))
  for (const entry of ['bin', 'bundles', 'dist', 'kernel', 'lib', 'templates', 'package.json', 'tsconfig.json']) {
    cpSync(path.join(root, entry), path.join(project, entry), { recursive: true, preserveTimestamps: true })
  }
  symlinkSync(path.join(root, 'node_modules'), path.join(project, 'node_modules'))
  return project
}

/**
 * @param {string} project
 * @param {string} command
 */
async function time(project, command) {
  const begin = performance.now()
  const env = { PATH: process.env.PATH, APP_SECRET: 'a secret for the benchmark, of enough characters' }
  const child = spawn(path.join(project, 'bin/console'), [command], { env, stdio: 'ignore' })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${command} has ended with code ${code}.`)
  return performance.now() - begin
}
