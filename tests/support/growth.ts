/** Repeats a piece up to a length. */
export function fill(piece: string, length: number): string {
  return piece.repeat(length / piece.length)
}

/** Characters of a long text. */
const length = 64_000
const parts = 32
/** The growth from which a function does not take linear time. */
export const growthLimit = 8

/** Milliseconds of the processor: other programs do not count. */
function measure(work: () => unknown): number {
  const start = process.cpuUsage()
  work()
  const { system, user } = process.cpuUsage(start)
  return (system + user) / 1000
}

/**
 * How much longer one long text takes than its 32 parts: as long in linear time, 32 times in
 * quadratic time. No text comes twice, and a disturbance makes the least of three figures no greater.
 */
export function findGrowth(call: (text: string) => unknown, make: (length: number) => string): number {
  let count = 0
  const next = (length: number) => `${make(length)}${count++}`
  let least = Number.POSITIVE_INFINITY
  for (let figure = 0; figure < 3 && least >= growthLimit; figure++) {
    const long = next(length)
    const time = measure(() => call(long))
    // So little time is no harm in any case.
    if (time < 50) return 1
    const short = Array.from({ length: parts }, () => next(length / parts))
    least = Math.min(least, time / measure(() => short.map(text => call(text))))
  }
  return least
}
