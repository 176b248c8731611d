import { Failure, isThenable } from '../lib/event-dispatcher/event-dispatcher.ts'

/** A value, or a promise of it if something was pending. */
export type Eventual<value> = value | Promise<value>

/**
 * Calls the next step with a state and the value of the step before: at once, or when the value's promise is fulfilled.
 * `after(value, state, step)` is `step(state, await value)`. But an `await` takes a turn of the microtask queue even if
 * nothing is pending. The state saves a closure: the step can be the same function for all requests.
 */
export function after<value, state, result>(
  value: value,
  state: state,
  step: (state: state, value: Awaited<value>) => Eventual<result>,
): Eventual<result> {
  // A value without `then` is its own awaited value.
  return isThenable(value)
    ? Promise.resolve(value).then(fulfilled => step(state, fulfilled))
    : step(state, value as Awaited<value>)
}

/**
 * Runs steps like `try` and `catch`: an error that they throw or return, or with which their
 * promise rejects, goes to `recover`.
 */
export function attempt<state, result>(
  state: state,
  steps: (state: state) => Eventual<result | Failure>,
  recover: (state: state, error: unknown) => Eventual<result>,
): Eventual<result> {
  let result: Eventual<result | Failure>
  try {
    result = steps(state)
  } catch (error) {
    return recover(state, error)
  }
  if (result instanceof Promise) {
    return result.then(
      value => (value instanceof Failure ? recover(state, value.error) : value),
      error => recover(state, error),
    )
  }
  return result instanceof Failure ? recover(state, result.error) : result
}
