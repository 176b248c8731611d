import { Reports } from '../../lib/reports.ts'
import type { Running } from '../../lib/stack/callers.ts'

/** A call of a synchronous function of `node:fs` or `node:child_process`. */
interface SyncCall {
  /** Such as `fs.readFileSync`. */
  readonly name: string
  /** By `performance.now()`. */
  readonly start: number
  readonly duration: number
}

/** Long synchronous calls, when they have ended. Their caller is on the stack below the function `below`. */
export const syncCalls = new Reports<[call: SyncCall, below: Running]>('synchronous calls')

/** Calls of the console, by the names of its methods, before it prints. */
export const consoleCalls = new Reports<[method: string, values: readonly unknown[]]>('the console')
