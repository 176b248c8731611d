/** Waits for a promise, but not longer than `milliseconds`; `undefined` when the promise takes longer. */
export async function within<result>(milliseconds: number, promise: Promise<result>): Promise<result | undefined> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<undefined>(resolve => {
    timer = setTimeout(resolve, milliseconds, undefined)
  })
  try {
    return await Promise.race([promise, timeout])
  } finally {
    clearTimeout(timer)
  }
}

/** Reports each message at most once a minute. */
export function limitReports(
  report: (message: string, error: unknown) => void,
  clock: () => number,
): (message: string, error: unknown) => void {
  const reported = new Map<string, number>()
  return (message, error) => {
    const now = clock()
    const last = reported.get(message)
    // Also a clock that was set back ends the minute.
    if (last !== undefined && Math.abs(now - last) < 60_000) return
    reported.set(message, now)
    report(message, error)
  }
}

/**
 * Returns a function that runs a task once for all of its callers at the same time. A call during a run waits for one
 * more run, because the current run may have begun too early. The task must not reject.
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
