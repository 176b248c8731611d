/** What a value grows by in each step: the median of the slopes between all pairs, which outliers do not bend (Theil–Sen). */
export function slopeOf(values: readonly number[]): number {
  const slopes = values.flatMap((from, at) => values.slice(at + 1).map((to, between) => (to - from) / (between + 1)))
  return medianOf(slopes)
}

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle) - 1] ?? 0)) / 2
}
