import cluster from 'node:cluster'
import { once } from 'node:events'

/** What the primary process sends to a worker when another one serves in its place. */
export const retire = 'retire'

/** Resolves when another worker serves in the place of this one; never where there are no workers. */
export function untilRetired(): Promise<void> {
  return new Promise(resolve => {
    if (cluster.isWorker) process.on('message', message => message === retire && resolve())
  })
}

/**
 * Ends the connection to the primary process, should there be one. What it has handed over before it knew that this
 * worker accepts nothing more goes back to it, and to another worker; with a process that just ends it would be lost.
 */
export async function leavePrimary(): Promise<void> {
  const { worker } = cluster
  if (worker === undefined) return
  const left = once(worker, 'disconnect')
  worker.disconnect()
  await left
}
