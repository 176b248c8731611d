import { percentile } from '../../insight/durations.ts'
import { formatDuration, formatTime } from '../../profile/format.ts'
import type { ProfileSummary } from '../../profile/profile.ts'

/** A bar of a histogram, in a picture of 1,000 by 100 units. */
interface HistogramBar {
  readonly x: string
  readonly width: string
  readonly y: string
  readonly height: string
  /** Its range and count. */
  readonly title: string
}

/** A mark of an axis, in percent of the width. */
interface AxisLabel {
  readonly x: string
  readonly label: string
}

/** A histogram of durations with its axis. */
interface Histogram {
  readonly bars: readonly HistogramBar[]
  readonly labels: readonly AxisLabel[]
  /** The label of a late mark is on its left. */
  readonly marks: readonly (AxisLabel & { readonly isLate: boolean })[]
  /** The same for screen readers. */
  readonly summary: string
}

const binCount = 30

/**
 * Draws the distribution of durations in milliseconds, which are sorted. The axis is logarithmic if the longest is ten times
 * as long as the shortest, otherwise linear.
 */
export function drawHistogram(sorted: Float64Array, marks: Readonly<Record<string, number>>): Histogram {
  const [least, most] = [sorted[0] ?? 0, sorted.at(-1) ?? 0]
  const isLogarithmic = least > 0 && most >= 10 * least
  const toAxis = (value: number) => (isLogarithmic ? Math.log10(value) : value)
  const fromAxis = (place: number) => (isLogarithmic ? 10 ** place : place)
  const [first, last] = [toAxis(least), toAxis(most)]
  const size = (last - first) / binCount || 1 / binCount
  const place = (value: number) => (toAxis(value) - first) / (size * binCount)
  const counts = new Array<number>(binCount).fill(0)
  for (const duration of sorted) {
    const bin = Math.min(binCount - 1, Math.floor((toAxis(duration) - first) / size))
    counts[bin] = (counts[bin] ?? 0) + 1
  }
  const highest = Math.max(...counts)
  const rangeOf = (bin: number) =>
    `${formatDuration(fromAxis(first + bin * size))} to ${formatDuration(fromAxis(first + (bin + 1) * size))}`
  return {
    bars: counts.flatMap((count, bin) => {
      if (count === 0) return []
      const height = Math.max(2, (100 * count) / highest)
      const [x, width] = [(1000 * bin) / binCount, 1000 / binCount - 2]
      return {
        x: x.toFixed(1),
        width: width.toFixed(1),
        y: (100 - height).toFixed(1),
        height: height.toFixed(1),
        title: `${rangeOf(bin)}: ${count}`,
      }
    }),
    labels: [0, 1, 2, 3, 4].map(part => ({
      x: `${25 * part}%`,
      label: formatDuration(fromAxis(first + (part / 4) * size * binCount)),
    })),
    marks: Object.entries(marks).map(([label, value]) => {
      const share = Math.min(1, Math.max(0, place(value)))
      return { x: `${(100 * share).toFixed(2)}%`, label, isLate: share > 0.9 }
    }),
    summary: `Most requests took ${rangeOf(counts.indexOf(highest))}.`,
  }
}

/** The requests of a part of the time. */
interface TimeColumn {
  readonly x: string
  readonly width: string
  /** From the median to the 95th percentile. */
  readonly y: string
  readonly height: string
  readonly hasErrors: boolean
  readonly title: string
}

/** Durations over time. */
interface OverTime {
  readonly columns: readonly TimeColumn[]
  readonly restarts: readonly AxisLabel[]
  readonly first: ReturnType<typeof formatTime>
  readonly last: ReturnType<typeof formatTime>
  readonly highest: string
}

const columnCount = 60

/** Draws the durations of requests over time, with the starts of processes, in a picture of 1,000 by 100 units. */
export function drawOverTime(
  summaries: readonly ProfileSummary[],
  restarts: readonly number[],
  isError: (summary: ProfileSummary) => boolean,
): OverTime {
  const times = summaries.map(({ time }) => time)
  const first = times.reduce((one, other) => Math.min(one, other))
  const last = times.reduce((one, other) => Math.max(one, other))
  const span = Math.max(1, last - first)
  const groups = Array.from({ length: columnCount }, (): ProfileSummary[] => [])
  for (const summary of summaries) {
    groups[Math.min(columnCount - 1, Math.floor((columnCount * (summary.time - first)) / span))]?.push(summary)
  }
  const measured = groups.flatMap((group, column) => {
    if (group.length === 0) return []
    const sorted = Float64Array.from(group, ({ duration }) => duration).sort()
    return { group, column, median: percentile(sorted, 50), high: percentile(sorted, 95) }
  })
  const highest = Math.max(...measured.map(({ high }) => high), 0.001)
  return {
    columns: measured.map(({ column, group, high, median }) => {
      const [y, height] = [100 - (98 * high) / highest, Math.max(2, (98 * (high - median)) / highest)]
      const failed = group.filter(isError).length
      return {
        x: ((1000 * column) / columnCount).toFixed(1),
        width: (1000 / columnCount - 2).toFixed(1),
        y: Math.min(98, y).toFixed(1),
        height: height.toFixed(1),
        hasErrors: failed > 0,
        title: `${group.length} × median ${formatDuration(median)}, p95 ${formatDuration(high)}${failed > 0 ? `, ${failed} failed` : ''}`,
      }
    }),
    restarts: restarts
      .filter(time => time >= first && time <= last)
      .map(time => ({ x: ((1000 * (time - first)) / span).toFixed(1), label: formatTime(time).iso })),
    first: formatTime(first),
    last: formatTime(last),
    highest: formatDuration(highest),
  }
}

/** Draws a trend as the points of a line, in a picture of 96 by 20 units; spans without requests are bridged. */
export function drawTrend(trend: readonly (number | null)[]): string {
  const highest = Math.max(...trend.map(Number), 0.001)
  const points = trend.flatMap((value, index) =>
    value === null
      ? []
      : [`${((96 * index) / Math.max(1, trend.length - 1)).toFixed(0)},${(19 - (18 * value) / highest).toFixed(1)}`],
  )
  return points.length < 2 ? '' : points.join(' ')
}
