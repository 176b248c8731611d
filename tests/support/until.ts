import { availableParallelism, loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'

/** Seconds of a machine that has a core for each of its programs. Nothing takes so long there. */
const limit = 30

/** Waits for the limit. On a busy machine a second counts less. Time in which this process is paused does not count. */
async function expire(signal: AbortSignal): Promise<void> {
  for (let left = limit; left > 0; left -= Math.min(1, availableParallelism() / Math.max(1, loadavg()[0] ?? 0)))
    await delay(1000, undefined, { signal })
}

/** Settles as a promise does. @throws after 30 seconds, on a busy machine later, with what `describe` says then */
export async function within<Value>(promise: Promise<Value>, describe: () => string): Promise<Value> {
  const timer = new AbortController()
  const start = performance.now()
  const expired = expire(timer.signal).then(() => {
    throw new Error(`After ${Math.round((performance.now() - start) / 1000)} s, ${describe()}`)
  })
  try {
    return await Promise.race([promise, expired])
  } finally {
    timer.abort()
  }
}

/**
 * Waits until a condition holds, and asks it every few milliseconds.
 * @throws after 30 seconds, on a busy machine later, with the condition and what it has returned last, or with what
 * `describe` says; also if its promise does not settle
 */
export async function until(holds: () => unknown, interval = 5, describe?: () => string): Promise<void> {
  let isOver = false
  let last = 'it has not settled'
  const ask = async () => {
    while (!isOver) {
      const value = await holds()
      if (value) return
      last = `it is ${inspect(value)}`
      await delay(interval)
    }
  }
  try {
    await within(ask(), describe ?? (() => `${last}: ${holds}`))
  } finally {
    isOver = true
  }
}
