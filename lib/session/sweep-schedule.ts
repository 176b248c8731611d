import type { KeptSession, SessionLimits } from './session-limits.ts'

/**
 * Says when a store is to be swept: at first, every ten minutes, and as soon as enough was written for the store to be
 * over its limits, but not before a tenth of them was written. One sweep is under way at a time.
 */
export class SweepSchedule {
  readonly #limits: SessionLimits
  #last = Number.NEGATIVE_INFINITY
  #isUnderWay = false
  /** Sessions and bytes that may still be written before the next sweep. */
  #sessionsLeft = 0
  #bytesLeft = 0

  constructor(limits: SessionLimits) {
    this.#limits = limits
  }

  /** Counts a write of so many bytes. Whether the caller is to sweep now, and to call `end` after that. */
  claim(now: number, size: number): boolean {
    this.#sessionsLeft--
    this.#bytesLeft -= size
    // A clock that jumps back does not stop the sweeping.
    const isDue = Math.abs(now - this.#last) >= 10 * 60_000 || this.#sessionsLeft < 0 || this.#bytesLeft < 0
    if (!isDue || this.#isUnderWay) return false
    this.#last = now
    this.#isUnderWay = true
    this.#sessionsLeft = this.#limits.sessions / 10
    this.#bytesLeft = this.#limits.bytes / 10
    return true
  }

  /** What the sweep has found and left; nothing when it has failed. */
  end(kept?: readonly KeptSession[]): void {
    this.#isUnderWay = false
    if (kept === undefined) return
    const { sessions, bytes } = this.#limits
    const size = kept.reduce((sum, session) => sum + session.size, 0)
    this.#sessionsLeft += Math.max(0, sessions * 0.9 - kept.length)
    this.#bytesLeft += Math.max(0, bytes * 0.9 - size)
  }
}
