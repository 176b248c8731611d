/**
 * Lets a task run once for all who ask for it at a time: who asks while it runs waits for one more run, because the
 * present one may have begun too early. The task must not reject.
 */
export function coalesce(task: () => Promise<void>): () => Promise<void> {
  let last = Promise.resolve()
  let waiting: Promise<void> | undefined
  return () => {
    waiting ??= last = last.then(() => {
      waiting = undefined
      return task()
    })
    return waiting
  }
}
