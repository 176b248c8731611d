/** From when for how long, in microseconds since the main request began. */
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

/** What others leave of periods; both are in order and do not overlap. */
export function subtractPeriods(periods: readonly Period[], others: readonly Period[]): Period[] {
  const left: Period[] = []
  let first = 0
  for (const period of periods) {
    const end = endOf(period)
    let { start } = period
    while (first < others.length && endOf(others[first]) <= start) first++
    for (let at = first; at < others.length; at++) {
      const other = others[at]
      if (other === undefined || other.start >= end) break
      if (other.start > start) left.push({ start, duration: other.start - start })
      start = Math.max(start, endOf(other))
    }
    if (start < end) left.push({ start, duration: end - start })
  }
  return left
}

/** The sum of their durations. */
export function totalOf(periods: readonly Period[]): number {
  return periods.reduce((sum, { duration }) => sum + duration, 0)
}

/** When it is over. */
export function endOf({ duration, start }: Period = { start: 0, duration: 0 }): number {
  return start + duration
}
