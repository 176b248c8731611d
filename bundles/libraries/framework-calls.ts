import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { noteFailure } from '../../lib/guard.ts'
import { type AnyFunction, observeCalls } from '../../lib/observe-calls.ts'
import {
  type FrameworkFunction,
  type FrameworkRoute,
  type MiddlewareTrace,
  middlewarePart,
} from '../profiler/record/middleware-trace.ts'
import type { Trace } from '../profiler/record/trace.ts'

/** What receives the facts that frameworks publish of a request. `message` is that of Node, or of the Fetch API. */
interface FrameworkListener {
  onRoute(message: object, route: FrameworkRoute): void
  /** The name of the handler, where the function of the route calls it. */
  onHandler(message: object, name: string): void
  /** An error that the framework answers itself. */
  onError(message: object, error: unknown): void
  /** The framework calls a function of the application. */
  onCall(message: object, called: FrameworkFunction): void
  /** The functions behind one are done; the returned function is called when it is done itself. */
  onPass(message: object, called: FrameworkFunction): (() => void) | undefined
}

/** Finds the trace of the request that a framework has a message of; `undefined` if it is not recorded. */
type FindTraceOf = (message: object) => Trace | undefined

const searches = new Set<FindTraceOf>()

/** Records what frameworks do for the requests whose traces a function finds, until the returned function is called. */
export function recordFrameworks(find: FindTraceOf): () => void {
  searches.add(find)
  return () => void searches.delete(find)
}

function findTrace(message: object | undefined): Trace | undefined {
  // The handler of a web socket has a connection in the place of a request.
  if (message === undefined) return undefined
  for (const find of searches) {
    const trace = find(message)
    if (trace !== undefined) return trace
  }
  return undefined
}

/** What a framework did for the request of a message so far; `undefined` if the request is not recorded. */
function partOf(message: object): MiddlewareTrace | undefined {
  const trace = findTrace(message)
  return trace && middlewarePart.of(trace)
}

/** Whether the route of a request is known, or the request is not recorded. */
export function hasRoute(message: object): boolean {
  const part = partOf(message)
  return part === undefined || part.route !== undefined
}

const recorder: FrameworkListener = {
  onRoute: (message, route) => partOf(message)?.noteRoute(route),
  onHandler(message, name) {
    const part = partOf(message)
    if (part !== undefined) part.handler = name
  },
  onError: (message, error) => partOf(message)?.fail(error),
  onCall: (message, called) => partOf(message)?.begin(called),
  onPass: (message, called) => partOf(message)?.pass(called),
}

/** Reports a fact. An error of the profiler must not become one of the application. */
export function report<Result>(take: (listener: FrameworkListener) => Result): Result | undefined {
  try {
    return take(recorder)
  } catch (error) {
    noteFailure(error, 'the framework')
    return undefined
  }
}

/** The path below which an application is mounted, as Express keeps it on the message of Node: other frameworks do not know it. */
export function mountedAt({ baseUrl = '' }: { readonly baseUrl?: unknown }): string {
  return typeof baseUrl === 'string' ? baseUrl : ''
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

/** A promise that is followed: Node still reports a rejection without a handler. */
function follow(result: unknown, onEnd: (error?: { readonly thrown: unknown }) => void): unknown {
  if (typeof (result as PromiseLike<unknown> | undefined)?.then !== 'function') {
    onEnd()
    return result
  }
  return (result as PromiseLike<unknown>).then(
    value => {
      onEnd()
      return value
    },
    thrown => {
      onEnd({ thrown })
      throw thrown
    },
  )
}

/**
 * Reports the call of a function that gets a context and the function `next`, when the functions behind it are done, and when it is done
 * itself. `findError` returns an error that it has not thrown.
 */
export function followCall(
  message: object,
  called: FrameworkFunction,
  args: unknown[],
  findError?: () => unknown,
): { after(result: unknown): unknown; failed(error: unknown): void } {
  let end: (() => void) | undefined
  const failed = (thrown: unknown) => report(({ onError }) => onError(message, thrown))
  const [, next] = args
  if (typeof next === 'function') {
    args[1] = observeCalls(next as AnyFunction, () => ({
      after: result =>
        follow(result, failure => {
          if (failure !== undefined) failed(failure.thrown)
          end = report(({ onPass }) => onPass(message, called))
        }),
    }))
  }
  report(({ onCall }) => onCall(message, called))
  const finish = (failure?: { readonly thrown: unknown }) => {
    const error = failure === undefined ? findError?.() : failure.thrown
    if (error !== undefined) failed(error)
    report(() => end?.())
  }
  return { after: result => follow(result, finish), failed }
}
