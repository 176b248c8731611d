import { once } from 'node:events'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { packageDirectory } from '../../lib/package.ts'
import { markProcessStart } from '../../lib/process-start.ts'
import { enableCodeCache, toDirectory } from '../application/sources.ts'
import type { ToMainProcess } from './child-processes.ts'

// The program of a main process below a supervisor: the directory of the application, then
// options. It loads the framework ahead. The message of the supervisor has further options: then
// the process loads the application, and serves it.
process.once('disconnect', process.exit)
const directory = toDirectory(String(process.argv[2]))
enableCodeCache(directory)
const message = once(process, 'message')
const { runMainProcess } = await import('./main-process.ts')
await Promise.race([message, loadAhead()])
const [{ options }] = (await message) as [Extract<ToMainProcess, { options: unknown }>]
process.off('disconnect', process.exit)
markProcessStart()
await runMainProcess(directory, [...process.argv.slice(3), ...options])

/** Loads what most applications import in development, and the templates of the framework. */
async function loadAhead(): Promise<void> {
  // An instrumentation changes a library while it is imported.
  if (existsSync(path.join(directory, 'instrumentation.ts'))) return
  await import('../exports/sinfonietta.ts')
  await import('../exports/profiler.ts')
  await import('../exports/console.ts')
  const { parseTemplates } = await import('../../lib/view/view.ts')
  parseTemplates(
    ['framework', 'profiler'].map(bundle => ({ bundle, path: path.join(packageDirectory, 'templates', bundle) })),
  )
}
