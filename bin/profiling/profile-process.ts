import '../node-version.ts'
import { writeFileSync } from 'node:fs'
import module from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { isMainThread } from 'node:worker_threads'
import { countThreads, describeRefusal, isRefused, nameThread, startedVariable } from './profile-refusal.ts'

/** The programs that start others, as npm does. */
const manager = /^(?:npm|npx|pnpm|pnpx|yarn|corepack)(?:-cli|-[\d.]+)?(?:\.c?js)?$/

/** Records the requests of this process. The profiler takes a part of a second to load, so that it is imported last. */
async function profile(): Promise<void> {
  // A thread has the output and the port of its process.
  if (!isMainThread) {
    nameThread()
    return
  }
  if (!manager.test(path.basename(process.argv[1] ?? ''))) noteStart()
  if (isRefused(process.env)) {
    process.stderr.write(`${describeRefusal(process.env)}\n`)
    return
  }
  countThreads()
  const { profileProcess } = (await load('profile.js')) as typeof import('./profile.ts')
  await profileProcess()
}

/** Lets the command that waits know that a program has started. The application does not get the variable. */
function noteStart(): void {
  const { [startedVariable]: file } = process.env
  delete process.env[startedVariable]
  try {
    if (file) writeFileSync(file, '')
  } catch {
    // The command is over.
  }
}

/** Not by its relative path: if this file is in a bundle, the others, and what they read, are in the package only. */
async function load(file: string): Promise<unknown> {
  const entry = pathToFileURL(module.createRequire(import.meta.url).resolve('sinfonietta/profile'))
  return import(/* webpackIgnore: true */ new URL(`../profiling/${file}`, entry).href)
}

// Before the application: the address of the pages is known when its first request comes.
await profile().catch(async error => {
  const failure = load('../application/describe-failure.js') as Promise<
    typeof import('../application/describe-failure.ts')
  >
  const { describeFailure } = await failure.catch(() => ({ describeFailure: String }))
  process.stderr.write(`Nothing is profiled: ${describeFailure(error)}\n`)
})
