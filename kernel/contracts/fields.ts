import { guard } from '../../lib/guard.ts'
import { findFirst } from '../../lib/share.ts'

/** A call of a resolver, which makes the value of a field of a GraphQL result. */
export interface FieldCall {
  /** The type and the field, such as `Book.author`. */
  readonly field: string
  /** Returns the keys on the way to the value: `books.3.author`. */
  readonly path: () => string
}

/** Receives how a call goes on. Each function is called at most once. */
export interface FieldRun {
  /** The resolver has returned, or thrown: code after it in the same task is not its own. */
  leave(): void
  /** Its value is there, or it has failed. */
  end(hasFailed: boolean): void
}

/** Receives the calls of resolvers, such as the profiler. */
export interface FieldObserver {
  /** Called when a resolver is called; `undefined` if its request is not recorded. */
  begin(call: FieldCall): FieldRun | undefined
  /** Called with an error that the response has instead of a value. */
  fail(error: unknown, path: string): void
}

const observers = new Set<FieldObserver>()

/** Passes the calls of resolvers to an observer, until the returned function is called. */
export function observeFields(observer: FieldObserver): () => void {
  const guarded: FieldObserver = {
    begin: guard('a field', observer.begin.bind(observer)),
    fail: guard('the error of a field', observer.fail.bind(observer)),
  }
  observers.add(guarded)
  return () => void observers.delete(guarded)
}

/** Reports that a resolver is called; `undefined` if nothing records the call. */
export function beginField(call: FieldCall): FieldRun | undefined {
  return findFirst(observers, observer => observer.begin(call))
}

/** Reports an error of a result. */
export function failField(error: unknown, path: string): void {
  for (const observer of observers) observer.fail(error, path)
}
