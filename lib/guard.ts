import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { types } from 'node:util'

/** Receives the error of a guarded function, and the name of what it observes. */
type OnFailure = (error: unknown, name: string) => void

const reports = new Set<OnFailure>()

/**
 * Passes the errors of guarded functions to a function, those of each name once, until the returned function is called.
 */
export function reportFailures(report: OnFailure): () => void {
  const reported = new Set<string>()
  const reportOnce: OnFailure = (error, name) => {
    if (reported.has(name)) return
    reported.add(name)
    report(error, name)
  }
  reports.add(reportOnce)
  return () => void reports.delete(reportOnce)
}

/**
 * Reports an error of code that only observes: the application continues, and what the code
 * observes has a gap. Never throws.
 */
export function noteFailure(error: unknown, name: string): void {
  try {
    for (const report of reports) report(error, name)
  } catch {
    // The application may have replaced what the report needs.
  }
}

const { apply } = Reflect

/**
 * Guards a function that runs within the work of the application, such as the listener of a
 * channel or the task of a timer: its error, also that of its promise, must not become one of the
 * application. The guarded function returns `undefined` then.
 */
export function guard<Values extends unknown[], Result>(
  name: string,
  task: (...values: Values) => Result,
): (...values: Values) => Result | undefined {
  return function guarded(...values) {
    try {
      const result: Result = apply(task, undefined, values)
      if (types.isPromise(result)) void follow(result, name)
      return result
    } catch (error) {
      noteFailure(error, name)
      return undefined
    }
  }
}

async function follow(promise: Promise<unknown>, name: string): Promise<void> {
  try {
    await promise
  } catch (error) {
    noteFailure(error, name)
  }
}

/** Listeners of diagnostics channels, by their names. */
export type ChannelListeners = Readonly<Record<string, (message: unknown) => void>>

/**
 * Subscribes to diagnostics channels by name, until the returned function is called. A later version of a library may
 * change its messages: an error of a listener is reported, because node would end the process for it.
 */
export function subscribeChannels(listeners: ChannelListeners): () => void {
  const guarded = Object.entries(listeners).map(([name, listen]) => [name, guard(name, listen)] as const)
  for (const [name, listener] of guarded) subscribe(name, listener)
  return () => {
    for (const [name, listener] of guarded) unsubscribe(name, listener)
  }
}

/** A message has the documented shape. If a later version changes it, the guard of the channel catches the error. */
export function listenTo<Message>(take: (message: Message) => void): (message: unknown) => void {
  // Not in another function, which would be one more frame to read for each search on the stack.
  return take as (message: unknown) => void
}
