/** A period of time, in microseconds since the main request began. */
export interface Period {
  readonly start: number
  readonly duration: number
}

/** Puts periods in order and joins those that overlap or touch. */
export function joinPeriods(periods: readonly Period[]): Period[] {
  const joined: { start: number; duration: number }[] = []
  for (const { duration, start } of periods.toSorted((a, b) => a.start - b.start)) {
    const last = joined.at(-1)
    if (last === undefined || start > endOf(last)) joined.push({ start, duration })
    else last.duration = Math.max(last.duration, start + duration - last.start)
  }
  return joined
}

/** Subtracts other periods from periods. Both lists are in order, and their periods do not overlap. */
export function subtractPeriods(periods: readonly Period[], others: readonly Period[]): Period[] {
  const left: Period[] = []
  let next = 0
  for (const period of periods) {
    let { start } = period
    for (let other = others[next]; other !== undefined && other.start < endOf(period); other = others[++next]) {
      if (other.start > start) left.push({ start, duration: other.start - start })
      start = Math.max(start, endOf(other))
      // The other period may also cover the periods after this one.
      if (start >= endOf(period)) break
    }
    if (start < endOf(period)) left.push({ start, duration: endOf(period) - start })
  }
  return left
}

/** The parts of periods that are also in other periods. Both lists are in order, and their periods do not overlap. */
export function overlapPeriods(periods: readonly Period[], others: readonly Period[]): Period[] {
  return subtractPeriods(periods, subtractPeriods(periods, others))
}

/** The sum of their durations. */
export function totalOf(periods: readonly Period[]): number {
  return periods.reduce((sum, { duration }) => sum + duration, 0)
}

/** The end of a period. */
export function endOf({ duration, start }: Period): number {
  return start + duration
}
