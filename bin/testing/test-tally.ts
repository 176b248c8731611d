import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/**
 * Counts the tests of streams in TAP, those of tap and of the test runner of Node, and the reasons
 * of those that are skipped.
 */
export class TestTally {
  #passed = 0
  #failed = 0
  readonly #skipped = new Map<string, number>()

  /** The lines of a stream, which are counted as they are read, and given to a function. */
  async *read(tap: Readable, onLine?: (line: string) => void): AsyncGenerator<string> {
    for await (const line of createInterface({ input: tap })) {
      this.#count(line)
      onLine?.(line)
      yield line
    }
  }

  /** Adds another tally. A program that has failed without a failed test counts as one. */
  add(other: TestTally, hasFailed: boolean): void {
    this.#passed += other.#passed
    this.#failed += hasFailed ? Math.max(1, other.#failed) : other.#failed
    for (const [reason, count] of other.#skipped) this.#skip(reason, count)
  }

  /** Such as `90 passed, 0 failed, 3 skipped (there is no Chromium on the PATH: 3)`. */
  toString(): string {
    const skipped = [...this.#skipped]
    const count = skipped.reduce((sum, [, count]) => sum + count, 0)
    const reasons = skipped.map(([reason, count]) => `${reason}: ${count}`).join('; ')
    return `${this.#passed} passed, ${this.#failed} failed, ${count} skipped${reasons && ` (${reasons})`}`
  }

  #count(line: string): void {
    const reason = /^ *ok \d+.* # SKIP ?(.*)$/.exec(line)?.[1]
    if (reason !== undefined) this.#skip(reason || 'no reason', 1)
    // At the end, `# { total: 3, pass: 2, fail: 1 }` of tap, or `# pass 2` and others of Node.
    if (!/^# (?:\{ total: .*\}|\w+ \d+)$/.test(line)) return
    for (const [, kind, count] of line.matchAll(/\b(pass|fail|cancelled):? (\d+)/g)) {
      if (kind === 'pass') this.#passed += Number(count)
      else this.#failed += Number(count)
    }
  }

  #skip(reason: string, count: number): void {
    this.#skipped.set(reason, (this.#skipped.get(reason) ?? 0) + count)
  }
}
