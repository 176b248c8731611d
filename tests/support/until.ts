import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'

/** Milliseconds. Nothing takes so long, on a busy machine either. */
const limit = 30_000

/** Settles as a promise does. @throws after 30 seconds, with what `describe` says then */
export async function within<Value>(promise: Promise<Value>, describe: () => string): Promise<Value> {
  const timer = new AbortController()
  const expired = delay(limit, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`After ${limit / 1000} s, ${describe()}`)
  })
  try {
    return await Promise.race([promise, expired])
  } finally {
    timer.abort()
  }
}

/**
 * Waits until a condition holds, and asks it every few milliseconds.
 * @throws after 30 seconds, with the condition and what it has returned last; also if its promise does not settle
 */
export async function until(holds: () => unknown, interval = 5): Promise<void> {
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
    await within(ask(), () => `${last}: ${holds}`)
  } finally {
    isOver = true
  }
}
