import { performance } from 'node:perf_hooks'
import { clearTimeout, setInterval, setTimeout } from 'node:timers'
import { setImmediate, setTimeout as wait } from 'node:timers/promises'

/*
 * Functions of the platform as they were when this module was loaded, for code that observes an
 * application: the application, or a library for its tests, may replace the global ones and those of
 * the modules later. What serves the application itself, such as the kernel, uses the global ones.
 */

/** Milliseconds since the process began, as of `performance.now()`. */
export const readClock: () => number = performance.now.bind(performance)

/** Milliseconds since 1970. */
export const readTime: () => number = Date.now

export const startTimer: typeof setTimeout = setTimeout
export const startInterval: typeof setInterval = setInterval
/** Stops a timer, or an interval. */
export const stopTimer: (timer: NodeJS.Timeout | undefined) => void = clearTimeout

/** Resolves after some milliseconds. */
export const pause: typeof wait = wait

/** Resolves in the next turn of the event loop. */
export const nextTurn: typeof setImmediate = setImmediate

/** Waits for a promise, but not longer than `milliseconds`; `undefined` when the promise takes longer. */
export async function within<result>(milliseconds: number, promise: Promise<result>): Promise<result | undefined> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<undefined>(resolve => {
    timer = startTimer(resolve, milliseconds, undefined)
  })
  try {
    return await Promise.race([promise, timeout])
  } finally {
    stopTimer(timer)
  }
}
