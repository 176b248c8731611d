import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import module from 'node:module'
import { pathToFileURL } from 'node:url'
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'
import { isRefused, refusal } from './profile-refusal.ts'

/** Leads to the number of threads that have answered a request, which all threads of a profiled process share. */
const serving = 'sinfonietta:serving-threads'

const requestChannel = 'http.server.request.start'

/** Records the requests of this process. The profiler takes a part of a second to load, so that it is imported last. */
async function profile(): Promise<void> {
  // A thread has the output and the port of its process.
  if (!isMainThread) {
    nameThread()
    return
  }
  if (isRefused(process.env)) {
    process.stderr.write(`${refusal}\n`)
    return
  }
  setEnvironmentData(serving, new SharedArrayBuffer(4))
  const { profileProcess } = (await load('profile.js')) as typeof import('./profile.ts')
  await profileProcess()
}

/** Says once for the process that the requests of its worker threads are not recorded, when one of them gets the first request. */
function nameThread(): void {
  const shared = getEnvironmentData(serving)
  if (!(shared instanceof SharedArrayBuffer)) return
  const onRequest = () => {
    unsubscribe(requestChannel, onRequest)
    if (Atomics.add(new Int32Array(shared), 0, 1) > 0) return
    process.stderr.write(
      'A worker thread answers requests. They are not recorded: the profiler sees the main thread only.\n',
    )
  }
  subscribe(requestChannel, onRequest)
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
