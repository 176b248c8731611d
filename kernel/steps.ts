import { isThenable } from '../lib/event-dispatcher/event-dispatcher.ts'

/**
 * Steps as a generator: some of them may be asynchronous. `yield` takes the place of `await`. For a promise it gives
 * back the value of the promise, or throws its error; it gives back any other value as it is.
 */
export type Steps<result> = Generator<unknown, result, unknown>

/**
 * Runs steps to their end, and waits only for promises: an `await` of any other value would cost a turn of the
 * microtask queue. Returns a promise only if one of the steps was pending.
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
  let step = await resume(steps, pending)
  while (!step.done) {
    step = isPending(step.value) ? await resume(steps, step.value) : steps.next(step.value)
  }
  return step.value
}

/** Waits for a promise, and runs the next step with its value or its error. */
function resume<result>(steps: Steps<result>, pending: unknown): Promise<IteratorResult<unknown, result>> {
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
