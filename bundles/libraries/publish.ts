import type { TracingChannel } from 'node:diagnostics_channel'
import Module from 'node:module'
import path from 'node:path'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'

/** A message of a tracing channel, with the result of its operation. */
export interface OperationOutcome {
  result?: unknown
  error?: unknown
}

type OutcomeChannel = TracingChannel<object, OperationOutcome>

/** Publishes the end of an operation before its callback, and again behind it: so a listener can restore its request meanwhile. */
export function publishCallback(to: OutcomeChannel, message: OperationOutcome, callback: AnyFunction): AnyFunction {
  return observeCalls(callback, (_, [error, result]) => {
    message.error = error ?? undefined
    message.result = result
    to.asyncStart.publish(message)
    return {
      after(returned) {
        to.asyncEnd.publish(message)
        return returned
      },
    }
  })
}

/** Like `tracePromise` of Node: Node still reports a rejection without a handler. */
export function publishPromise(to: OutcomeChannel, message: OperationOutcome, promise: unknown): unknown {
  const settle = (outcome: OperationOutcome) => {
    Object.assign(message, outcome)
    to.asyncStart.publish(message)
    to.asyncEnd.publish(message)
  }
  return (promise as Promise<unknown>).then(
    result => {
      settle({ result })
      return result
    },
    error => {
      settle({ error })
      throw error
    },
  )
}

/** What changes the exports of files of CommonJS packages when they are loaded, by the ends of their paths: `pg/lib/client.js`. */
export type FileChanges = Readonly<Record<string, (exports: unknown, file: string) => void>>

const changes: [end: string, change: FileChanges[string]][] = []

/**
 * Changes the exports of files when they are loaded, also by ES modules. Those of a later version may have another shape: then they
 * stay as they are. A file that is loaded already is not changed.
 */
export function changeFiles(files: FileChanges): void {
  const entries = Object.entries(files)
  // Node calls this method once for each file.
  if (changes.length === 0 && entries.length > 0)
    observeMethod(Module.prototype, 'load', (self, [file]) => findChange(self, String(file)))
  for (const [end, change] of entries) changes.push([path.sep + path.normalize(end), change])
}

function findChange(self: unknown, file: string) {
  const found = changes.filter(([end]) => file.endsWith(end))
  if (found.length === 0) return undefined
  return {
    after(result: unknown) {
      for (const [, change] of found) change((self as NodeJS.Module).exports, file)
      return result
    },
  }
}
