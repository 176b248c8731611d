import { roundTime } from '../profile/format.ts'
import type { MoreWorkData } from '../profile/schema.ts'
import type { Period } from '../profile/work.ts'

/** More periods are added to the last one: their sum stays right. */
const periodLimit = 5000

/**
 * Counts and times work over the limit of what is recorded in detail. Times are in milliseconds
 * since the request began.
 */
export class MoreWorkCounter {
  /** When the last piece of work ended. */
  latest = Number.NEGATIVE_INFINITY
  readonly #periods: { start: number; end: number }[] = []
  #ended = 0
  #failed = 0
  #longest = 0
  #total = 0

  /** Adds a piece of work that has ended. */
  add(start: number, end: number, hasFailed: boolean): void {
    const duration = end - start
    this.latest = end
    this.#ended++
    if (hasFailed) this.#failed++
    this.#longest = Math.max(this.#longest, duration)
    this.#total += duration
    const last = this.#periods.at(-1)
    if (last !== undefined && start <= last.end && end >= last.start) {
      last.start = Math.min(last.start, start)
      last.end = Math.max(last.end, end)
    } else if (last !== undefined && this.#periods.length === periodLimit) last.end += duration
    else this.#periods.push({ start, end })
  }

  /** The times in which at least one piece of work was not over. */
  get periods(): Period[] {
    return this.#periods.map(({ end, start }) => ({ start, duration: end - start }))
  }

  /** Its data; `undefined` without any work. */
  toData(): MoreWorkData | undefined {
    if (this.#ended === 0) return undefined
    return {
      ended: this.#ended,
      failed: this.#failed,
      longest: roundTime(this.#longest),
      total: roundTime(this.#total),
      periods: this.#periods.map(({ end, start }) => [roundTime(start), roundTime(end - start)]),
    }
  }
}
