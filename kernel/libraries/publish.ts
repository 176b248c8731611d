import type { TracingChannel } from 'node:diagnostics_channel'

/** What changes the exports of files of a package when they are loaded: `pg/lib/client.js`, or the package for its main file. */
export type FileChanges = Readonly<Record<string, (exports: Readonly<Record<string, unknown>>) => void>>

/** A message of a tracing channel, with the result of its operation. */
export interface OperationOutcome {
  result?: unknown
  error?: unknown
}

export type AnyFunction = (this: unknown, ...args: unknown[]) => unknown

type OutcomeChannel = TracingChannel<object, OperationOutcome>

/** The callback runs within the channel: so a listener can restore its request. */
export function publishCallback(to: OutcomeChannel, message: OperationOutcome, callback: AnyFunction): AnyFunction {
  return function (...args) {
    ;[message.error, message.result] = [args[0] ?? undefined, args[1]]
    try {
      return to.asyncStart.runStores(message, () => callback.apply(this, args))
    } finally {
      to.asyncEnd.publish(message)
    }
  }
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
