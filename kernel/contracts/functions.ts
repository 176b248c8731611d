import { noteFailure } from '../../lib/guard.ts'
import { findFirst } from '../../lib/share.ts'

/** A function that a framework calls for a request: a middleware, a hook, or the handler of the route. */
export interface FrameworkFunction {
  /** Which functions it is one of, such as `middleware`, `handler` or `onRequest`. */
  readonly phase: string
  readonly name: string
  /** The function of the application, by which its place is known. */
  readonly code: object
  /** The parameters of the path that the function sees, if they may differ from those of the route. */
  readonly parameters?: unknown
}

/** The route of a request, as its framework knows it. */
export interface FrameworkRoute {
  /** The same object for all calls of its functions. */
  readonly key: object
  /** Such as `/users/:id`. */
  readonly pattern: string
  readonly parameters: unknown
  /** The name of its function; empty for one without a name. */
  readonly handler: string
}

/** Receives what a framework does for one request. */
export interface FrameworkWork {
  readonly route: FrameworkRoute | undefined
  /** The function that was called last, and is not done. */
  readonly running: FrameworkFunction | undefined
  /** The name of the handler, if the function of the route is that of the framework. */
  handler: string
  noteRoute(route: FrameworkRoute): void
  /**
   * The framework calls a function of the application. `isFollowed`: {@link leave} is called in
   * the same turn, so what it starts is known as its own.
   */
  begin(called: FrameworkFunction, isFollowed?: boolean): void
  /**
   * A function has returned: what it has done since the functions behind it have returned is its
   * own work, also if these are not done. What follows a promise that it has returned is not seen.
   */
  leave(called: FrameworkFunction): void
  /** A function is done, and the framework goes on. */
  end(called: FrameworkFunction): void
  /** A function that the framework calls after the response is done: its work was not late. */
  conclude(): void
  /** The functions behind one are done. The returned function is called when it is done itself. */
  pass(called: FrameworkFunction): () => void
  /**
   * The framework, or another library, does work that takes time, and in which other work may
   * begin. The returned function is called at its end, with whether it has failed. `elapsed` are
   * the milliseconds since it began, for a source that reports it later.
   */
  measure(phase: string, name: string, elapsed?: number): (hasFailed: boolean) => void
  /** A call has thrown, or has passed an error on; or the framework answers an error itself. */
  fail(error: unknown): void
}

/** Stands for the message of the request that the running code works for. */
export const currentMessage: object = Object.freeze({})

/**
 * Finds the receiver of a request by {@link currentMessage}, by a message of Node, or by one of
 * the Fetch API; `undefined` if the request is not recorded.
 */
type FindWork = (message: object) => FrameworkWork | undefined

const searches = new Set<FindWork>()

/** Passes what frameworks do to the receivers that a function finds, until the returned function is called. */
export function observeFrameworks(find: FindWork): () => void {
  searches.add(find)
  return () => void searches.delete(find)
}

/**
 * Reports a fact about the request of a message. Nothing happens if the request is not recorded,
 * or without a message: the handler of a web socket has a connection in its place. An error of the
 * profiler must not become one of the application.
 */
export function report<result>(message: object | undefined, take: (work: FrameworkWork) => result): result | undefined {
  try {
    const work = message && findFirst(searches, find => find(message))
    return work && take(work)
  } catch (error) {
    noteFailure(error, 'the framework')
    return undefined
  }
}

/** The captured stacks of registrations, by the functions. */
const registrations = new WeakMap<object, { readonly message: string; readonly stack?: string }>()

/** Captured stacks that were not taken yet. */
let fresh: object[] = []

/** Registrations that are kept until they are taken. */
const freshLimit = 1000

/** Takes the captured stacks since the last call. */
export function takeRegistrations(): readonly object[] {
  const taken = fresh
  fresh = []
  return taken
}

/** Captures the place that registers a function now; `below` is the function whose callers are of interest. */
export function noteRegistration(code: object, below: (...values: never[]) => unknown): void {
  if (registrations.has(code)) return
  const caught = { message: '' }
  Error.captureStackTrace(caught, below)
  registrations.set(code, caught)
  if (fresh.length < freshLimit) fresh.push(caught)
}

/** The captured stack of the registration of a function; `undefined` if it is not known. */
export function registrationOf(code: object): object | undefined {
  return registrations.get(code)
}
