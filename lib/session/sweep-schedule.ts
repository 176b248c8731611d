/** Says when a store is to be swept: at first, and then every ten minutes. */
export class SweepSchedule {
  #last = Number.NEGATIVE_INFINITY

  /** Whether the caller is to sweep now; nobody else is told so for ten minutes. A clock that jumps back does not stop the sweeping. */
  claim(now: number): boolean {
    if (Math.abs(now - this.#last) < 10 * 60_000) return false
    this.#last = now
    return true
  }
}
