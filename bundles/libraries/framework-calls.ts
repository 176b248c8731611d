import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import {
  currentMessage,
  type FrameworkFunction,
  type FrameworkWork,
  noteRegistration,
  report,
} from '../../kernel/contracts/functions.ts'
import { isThenable } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { type AnyFunction, type Following, observeCalls } from '../../lib/observe-calls.ts'
import type { Running } from '../../lib/stack/callers.ts'

/**
 * The path below which an application is mounted, as Express keeps it on the message of Node:
 * other frameworks do not know it.
 */
export function mountedAt(message: object): string {
  const { baseUrl } = message as { readonly baseUrl?: unknown }
  // That of Sails has a host, and no path.
  return typeof baseUrl === 'string' && baseUrl.startsWith('/') ? baseUrl : ''
}

/** The path below which an application is mounted: what the path of the client has before the path that it sees. */
export function mountOf(url = '', path = ''): string {
  const whole = url.replace(/[?#].*$/, '')
  return whole.endsWith(path) ? whole.slice(0, whole.length - path.length) : ''
}

/** Notes the place that registers functions, which are among some values, or in lists of them. */
export function noteFunctions(values: readonly unknown[], below: Running = noteFunctions): void {
  for (const code of values.flat()) if (typeof code === 'function') noteRegistration(code, below)
}

/** The name of a function; empty for one without a name. */
export function nameOf(code: unknown): string {
  return typeof code === 'function' ? code.name.replace(/^(?:bound )+/, '') : ''
}

/** An export of a file of a package; `undefined` if this version has no such file, or no such export. */
export async function loadExport(file: string, name = 'default'): Promise<object | undefined> {
  if (!existsSync(file)) return undefined
  const exports: Record<string, unknown> = await import(pathToFileURL(file).href).catch(() => ({}))
  // Node does not find all names of a CommonJS module.
  const found = exports[name] ?? (exports.default as Record<string, unknown> | undefined)?.[name]
  return Object(found) === found ? (found as object) : undefined
}

/** The prototype of a class that a file of a package exports. */
export async function loadPrototype(file: string, name?: string): Promise<object | undefined> {
  const found = await loadExport(file, name)
  return typeof found === 'function' ? (found.prototype as object) : undefined
}

/**
 * Reports the call of a hook. The function that it calls when it is done, if it returns no promise, is its last
 * argument. Then, or with its promise, its time ends.
 */
export function followHook(
  message: object,
  called: FrameworkFunction,
  args: unknown[],
): { after(result: unknown): unknown } {
  const following = followDone(args, () => void report(message, work => work.end(called)))
  const { after } = followHandler(message, called)
  return { after: result => following.after(after(result)) }
}

/** Reports the call of a function that ends with the response, such as a handler. `note` reports its route before. */
export function followHandler(
  message: object,
  called: FrameworkFunction,
  note?: (work: FrameworkWork) => void,
): { after(result: unknown): unknown } {
  report(message, work => {
    note?.(work)
    work.begin(called, true)
  })
  return {
    after(result) {
      report(message, work => work.leave(called))
      return result
    },
  }
}

/** The same of a hook that runs after the response. */
export function followLast(message: object, args: unknown[]): { after(result: unknown): unknown } {
  return followDone(args, () => void report(message, work => work.conclude()))
}

function followDone(args: unknown[], end: () => void): { after(result: unknown): unknown } {
  const done = args.at(-1)
  if (typeof done === 'function') args[args.length - 1] = observeCalls(done as AnyFunction, () => void end())
  return { after: result => (isThenable(result) ? follow(result, end) : result) }
}

/** A result that is followed. Of a promise, Node still reports a rejection without a handler. */
export function follow(
  result: unknown,
  onEnd: (outcome: { readonly result: unknown } | { readonly error: unknown }) => void,
): unknown {
  if (!isThenable(result)) {
    onEnd({ result })
    return result
  }
  return result.then(
    result => {
      onEnd({ result })
      return result
    },
    error => {
      onEnd({ error })
      throw error
    },
  )
}

/**
 * Measures a call that works for the current request. An error that it throws, or its promise, is
 * one of the request, unless `take` gets it: answers are thrown, too.
 */
export function measureCall(phase: string, name: string, take: (thrown: unknown) => void = failWith): Following {
  const end = report(currentMessage, work => work.measure(phase, name))
  return {
    after: result =>
      follow(result, outcome => {
        end?.('error' in outcome)
        if ('error' in outcome) take(outcome.error)
      }),
  }
}

/** Reports an error of the current request that its framework answers. */
export function failWith(thrown: unknown): undefined {
  if (thrown instanceof Error) report(currentMessage, work => work.fail(thrown))
}

/** The error that a framework has wrapped in one of its own, with the same message. */
export function withoutWrapper(error: unknown): unknown {
  const { cause, message } = Object(error)
  return cause instanceof Error && cause.message === message ? cause : error
}

/**
 * Reports the call of a function that gets a context and the function `next`, when the functions
 * behind it are done, and when it is done itself. `findError` returns an error that it has not thrown.
 */
export function followCall(
  message: object,
  called: FrameworkFunction,
  args: unknown[],
  findError?: () => unknown,
): { after(result: unknown): unknown; failed(error: unknown): void } {
  let end: (() => void) | undefined
  const failed = (thrown: unknown) => report(message, work => work.fail(thrown))
  const [, next] = args
  if (typeof next === 'function') {
    args[1] = observeCalls(next as AnyFunction, () => ({
      after: result =>
        follow(result, outcome => {
          if ('error' in outcome) failed(outcome.error)
          end = report(message, work => work.pass(called))
        }),
    }))
  }
  report(message, work => work.begin(called, true))
  const finish = (outcome: object) => {
    const error = 'error' in outcome ? outcome.error : findError?.()
    if (error !== undefined) failed(error)
    if (end !== undefined) report(message, end)
  }
  const leave = (work: FrameworkWork) => work.leave(called)
  return {
    after(result) {
      report(message, leave)
      return follow(result, finish)
    },
    failed,
  }
}
