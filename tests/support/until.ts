import assert from 'node:assert'
import { setTimeout as delay } from 'node:timers/promises'

/** Waits until a condition holds, and asks it every few milliseconds. @throws AssertionError after 30 seconds */
export async function until(holds: () => unknown, interval = 5): Promise<void> {
  const end = performance.now() + 30_000
  while (!(await holds())) {
    assert(performance.now() < end, `This never became true: ${holds}`)
    await delay(interval)
  }
}
