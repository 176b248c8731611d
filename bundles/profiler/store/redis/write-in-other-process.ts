import { spawnSync } from 'node:child_process'
import path from 'node:path'
import type { StoreLimits } from '../segment-directory.ts'
import type { WaitingProfile } from './redis-queue.ts'

/** The work of the other process. */
export interface LastProfiles {
  readonly url: string
  readonly prefix: string
  readonly limits: StoreLimits
  readonly profiles: readonly WaitingProfile[]
}

/** Milliseconds until the process that ends waits no longer. */
const timeout = 3000

/**
 * Writes profiles before it returns: a process that ends at once cannot wait for a connection, but for another process. Returns
 * the error if they could not be written.
 */
export function writeInOtherProcess(work: LastProfiles): Error | undefined {
  const program = path.join(import.meta.dirname, 'write-last-profiles.js')
  // The URL may contain a password: other users see the arguments of a process.
  const { status, stderr } = spawnSync(process.execPath, [program], {
    input: JSON.stringify(work),
    stdio: ['pipe', 'ignore', 'pipe'],
    timeout,
  })
  if (status === 0) return undefined
  return new Error(`The other process has ended with ${status}: ${String(stderr).trim().slice(-200)}`)
}
