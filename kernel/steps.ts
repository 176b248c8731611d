import { isThenable } from '../lib/event-dispatcher/event-dispatcher.ts'

/** A value, or a promise of it if something was pending. */
export type Eventual<value> = value | Promise<value>

/**
 * Goes on to the next step, with the state and the value of the step before: at once, or when the value's promise is
 * fulfilled. An `await` would cost a turn of the microtask queue for every value; the state saves a closure.
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

/** Runs steps. An error that they throw, or with which their promise rejects, goes to `recover`. */
export function attempt<state, result>(
  state: state,
  steps: (state: state) => Eventual<result>,
  recover: (state: state, error: unknown) => Eventual<result>,
): Eventual<result> {
  try {
    const result = steps(state)
    return result instanceof Promise ? result.catch(error => recover(state, error)) : result
  } catch (error) {
    return recover(state, error)
  }
}
