import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import { asFlag } from '../../lib/text/conversion.ts'

/** The variable with the file that a program writes when it starts below `sinfonietta profile npm run dev`. */
export const startedVariable = 'SINFONIETTA_STARTED'

export function describeRefusal({ NODE_ENV }: NodeJS.ProcessEnv): string {
  return `Nothing is profiled: NODE_ENV is ${NODE_ENV}. PROFILER_IN_PRODUCTION=1 allows it, and stores what requests contain.`
}

/** Whether the requests of a process must not be recorded. */
export function isRefused({ NODE_ENV, PROFILER_IN_PRODUCTION }: NodeJS.ProcessEnv): boolean {
  return /^prod(?:uction)?\s*$/i.test(NODE_ENV ?? '') && asFlag.convert(PROFILER_IN_PRODUCTION ?? '') !== true
}

/** Leads to the number of threads that have answered a request, which all threads of a profiled process share. */
const serving = 'sinfonietta:serving-threads'

const requestChannel = 'http.server.request.start'

/** Called in the main thread: from now on the threads of the process count those of them that answer requests. */
export function countThreads(): void {
  setEnvironmentData(serving, new SharedArrayBuffer(4))
}

/**
 * Says once for the process that the requests of its worker threads are not recorded, when one of
 * them gets the first request.
 */
export function nameThread(): void {
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
