import { fork } from 'node:child_process'
import { watch } from 'node:fs'
import path from 'node:path'
import { build } from './build.js'

const root = path.join(import.meta.dirname, '..')
const sources = ['lib', 'kernel', 'bundles', 'bin']
const quietMilliseconds = 60

/** Runs the site as a child process, and again whenever a source or .env file changes: also after a crash or a type error. */
export async function supervise(options) {
  let child
  let isStopping = false
  let isBusy = false
  let hasChanged = false

  /** Starts the child; gives false when the sources do not compile, and leaves the running one alone then. */
  async function restart() {
    if (!(await build())) return console.error('The sources do not compile: waiting for a change.')
    await stop()
    child = fork(path.join(root, 'bin/start.js'), options, { stdio: 'inherit' })
    child.once('exit', (code, signal) => {
      child = undefined
      if (isStopping || signal === 'SIGTERM') return
      // Wrong options do not heal with a change of the sources.
      if (code === 64) process.exit(64)
      if (code !== 0) console.error(`The site ended (${signal ?? `exit code ${code}`}): waiting for a change.`)
      else process.exit(0)
    })
  }

  async function stop() {
    if (child === undefined) return
    const ending = child
    await new Promise(resolve => {
      ending.removeAllListeners('exit').once('exit', resolve)
      ending.kill('SIGTERM')
    })
    child = undefined
  }

  async function onChange() {
    hasChanged = true
    if (isBusy) return
    isBusy = true
    while (hasChanged && !isStopping) {
      hasChanged = false
      // Editors write a file in several steps.
      await new Promise(resolve => setTimeout(resolve, quietMilliseconds))
      await restart()
    }
    isBusy = false
  }

  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, async () => {
      isStopping = true
      await stop()
      process.exit(0)
    })
  }
  for (const folder of sources) {
    watch(path.join(root, folder), { recursive: true }, (_event, file) => {
      if (file?.endsWith('.ts')) void onChange()
    })
  }
  watch(root, (_event, file) => {
    if (file?.startsWith('.env') || file === 'tsconfig.json') void onChange()
  })
  await onChange()
}
