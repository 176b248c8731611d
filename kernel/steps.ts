import { isThenable } from '../lib/event-dispatcher/event-dispatcher.ts'

/**
 * Steps of which some may be asynchronous, as a generator function. `yield` takes the place of `await`: it gives back the
 * value, or the value of the promise, or throws the error of the promise.
 */
export type Steps<result> = Generator<unknown, result, unknown>

/**
 * Runs steps, and waits only for promises: all other steps go on at once. An `await` of a value that is already there would
 * cost a turn of the microtask queue. Returns a promise only if one of the steps was pending.
 */
export function runSteps<result>(steps: Steps<result>): result | Promise<result> {
  let step = steps.next()
  while (!step.done) {
    if (isPending(step.value)) return runPending(steps, step.value)
    step = steps.next(step.value)
  }
  return step.value
}

async function runPending<result>(steps: Steps<result>, pending: unknown): Promise<result> {
  let step = await settle(steps, pending)
  while (!step.done) {
    step = isPending(step.value) ? await settle(steps, step.value) : steps.next(step.value)
  }
  return step.value
}

function settle<result>(steps: Steps<result>, pending: unknown): Promise<IteratorResult<unknown, result>> {
  return Promise.resolve(pending).then(
    value => steps.next(value),
    error => steps.throw(error),
  )
}

/** A value whose `then` cannot be read counts as pending: its promise then rejects with the error of the read. */
function isPending(value: unknown): boolean {
  try {
    return isThenable(value)
  } catch {
    return true
  }
}
