import { isMainThread } from 'node:worker_threads'
import { isRefused, refusal } from './profile-refusal.ts'

/** Records the requests of this process. The profiler takes a part of a second to load, so that it is imported last. */
async function profile(): Promise<void> {
  // A thread has the output and the port of its process.
  if (!isMainThread) return
  if (isRefused(process.env)) {
    process.stderr.write(`${refusal}\n`)
    return
  }
  const { profileProcess } = await import('./profile.ts')
  await profileProcess()
}

// Before the application: the address of the pages is known when its first request comes.
await profile().catch(async error => {
  const { describeFailure } = await import('../application/describe-failure.ts')
  process.stderr.write(`Nothing is profiled: ${describeFailure(error)}\n`)
})
