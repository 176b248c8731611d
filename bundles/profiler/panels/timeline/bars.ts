import { endOf, type Period } from '../../reading/periods.ts'
import type { Scale } from './scale.ts'

/** A bar, in percent of the width of the chart. */
export interface Bar {
  readonly x: string
  readonly width: string
}

/** Narrower bars are not seen. */
const leastWidth = 0.3

/** Draws periods that are in order, as at most so many bars: those between which there is the least room become one. */
export function createBars(periods: readonly Period[], { place }: Scale, limit = 60): Bar[] {
  const ends = periods.map(period => {
    const from = Math.min(place(period.start), 100 - leastWidth)
    return { from, to: Math.max(place(endOf(period)), from + leastWidth) }
  })
  let bars = joinNear(ends, leastWidth / 3)
  for (let gap = leastWidth; bars.length > limit; gap *= 2) bars = joinNear(bars, gap)
  return bars.map(({ from, to }) => ({ x: toPercent(from), width: toPercent(to - from) }))
}

interface Ends {
  readonly from: number
  readonly to: number
}

function joinNear(ends: readonly Ends[], gap: number): Ends[] {
  const joined: { from: number; to: number }[] = []
  for (const { from, to } of ends) {
    const last = joined.at(-1)
    if (last !== undefined && from - last.to < gap) last.to = Math.max(last.to, to)
    else joined.push({ from, to })
  }
  return joined
}

/** Writes a place, to a ten-thousandth of the width: `12.34%`. */
export function toPercent(percent: number): string {
  return `${Number(percent.toFixed(2))}%`
}
