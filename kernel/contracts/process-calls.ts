import type { LogContext, LogLevel } from '../../lib/log/logger.ts'
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

/** A call of a function of Node whose work is done outside of the event loop: by another thread, or by a process. */
export interface AsyncCall {
  /** Such as `crypto.scrypt`. */
  readonly name: string
  /** Set by the observer that records the call, and called when its work has ended; not called if the call throws. */
  end?: (ending: AsyncCallEnd) => void
}

/** How such a call has ended. Nothing of it is masked. */
interface AsyncCallEnd {
  /** The error that its callback gets. */
  readonly error?: unknown
  /** The command line of a process. */
  readonly command?: readonly string[]
  /** The exit code of a process, or the signal that has ended it. */
  readonly exit?: unknown
}

/** Asynchronous calls, when they begin: their caller is on the stack. */
export const asyncCalls = new Reports<[call: AsyncCall]>('asynchronous calls')

/** Calls of the console, by the names of its methods, before it prints. */
export const consoleCalls = new Reports<[method: string, values: readonly unknown[]]>('the console')

/** A line of a library for logs, as it prints it: what it hides is not there. */
export interface LoggedLine {
  /** The library, and the part of the application that it names: `pino`, `pino:shop`. */
  readonly channel: string
  readonly message: string
  /** The other fields. An error of the line is an `Error` here, also if its text was printed. */
  readonly context: LogContext
}

/** Lines that libraries for logs print, while their caller is on the stack. `read` is called if a line is recorded. */
export const loggedLines = new Reports<[level: LogLevel, read: () => LoggedLine]>('lines of logs')
