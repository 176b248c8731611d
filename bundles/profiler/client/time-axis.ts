/**
 * The time axis of a timeline. Moments are microseconds since the request began, positions are percents of the width.
 */
export interface TimeAxis {
  /** The end of the response. */
  readonly handled: number
  /** The end of the work after the response. */
  readonly end: number
  /** The position of the end of the response; 100 without work after it. */
  readonly boundary: number
}

/** The visible part of an axis, as positions. */
export interface TimeWindow {
  readonly from: number
  readonly to: number
}

/** The whole axis. */
export const wholeWindow: TimeWindow = { from: 0, to: 100 }

/** A line of the ruler. */
interface Tick {
  /** In percent of the visible part. */
  readonly x: number
  /** Empty if there is no room for it. */
  readonly label: string
}

/** The largest share of the width for the part after the response, in percent. */
const partLimit = 30

/**
 * Creates the axis of a request. If the part after the response is much longer than the request, it has its own smaller
 * scale.
 */
export function createAxis(handled: number, end: number): TimeAxis {
  const whole = Math.max(1, end)
  const boundary = end > handled ? Math.max(100 - partLimit, (100 * handled) / whole) : 100
  return { handled: Math.max(boundary === 100 ? 1 : 0, handled), end: Math.max(whole, handled), boundary }
}

/** Whether the part after the response has a smaller scale. */
export function isCompressed({ boundary, end, handled }: TimeAxis): boolean {
  return boundary < 100 && end - handled > (end * partLimit) / 100
}

/** Returns the position of a moment. */
export function toPosition({ boundary, end, handled }: TimeAxis, moment: number): number {
  const position =
    moment <= handled
      ? (moment / Math.max(1, handled)) * boundary
      : boundary + ((moment - handled) / Math.max(1, end - handled)) * (100 - boundary)
  return clamp(position, 0, 100)
}

/** Returns the moment at a position. */
export function toMoment({ boundary, end, handled }: TimeAxis, position: number): number {
  if (position <= boundary) return (position / Math.max(1, boundary)) * handled
  return handled + ((position - boundary) / (100 - boundary)) * (end - handled)
}

/** The shortest visible part, in microseconds and in percent. */
const shortest = { microseconds: 10, percent: 0.02 }

/** Moves a window into the axis, and makes it at least as wide as can be read. */
export function fitWindow(axis: TimeAxis, { from, to }: TimeWindow): TimeWindow {
  const least = Math.min(100, Math.max(shortest.percent, (100 * shortest.microseconds) / axis.end))
  const width = clamp(to - from, least, 100)
  const start = clamp((from + to - width) / 2, 0, 100 - width)
  return { from: start, to: start + width }
}

/** More lines would have overlapping labels in a narrow window. */
const tickLimit = 6

/**
 * In percent: a label further to the right could leave the chart, or overlap the label of the part after the response.
 */
const labelLimit = 86
const compressedLabelLimit = 58

/** Lists the lines of the ruler: at round moments, only in the part with the larger scale if both are visible. */
export function listTicks(axis: TimeAxis, { from, to }: TimeWindow): Tick[] {
  const isCut = isCompressed(axis) && from < axis.boundary && to > axis.boundary
  const last = isCut ? axis.boundary : to
  const [first, end] = [toMoment(axis, from), toMoment(axis, last)]
  const share = (last - from) / (to - from)
  const step = findStep(Math.max(1, end - first) / (tickLimit * share))
  const limit = isCut ? compressedLabelLimit : labelLimit
  const ticks: Tick[] = []
  for (let count = Math.ceil(first / step - 1e-6); count * step <= end * (1 + 1e-9); count++) {
    const x = (100 * (toPosition(axis, count * step) - from)) / (to - from)
    ticks.push({ x, label: x > limit ? '' : formatTick(count * step, end, step) })
  }
  return ticks
}

/** Returns the smallest of 1, 2, 5, 10, 20 … that is not less than a number. */
export function findStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least))
  return ([1, 2, 5].find(factor => factor * power >= least * 0.999) ?? 10) * power
}

/** Writes a moment in the unit that fits the last one, to the precision of a step: `0`, `200 µs`, `1.5 ms`, `2 s`. */
export function formatTick(moment: number, last: number, step: number): string {
  if (moment === 0) return '0'
  const [unit, size] = last >= 1e6 ? ['s', 1e6] : last >= 1000 ? ['ms', 1000] : ['µs', 1]
  const decimals = clamp(-Math.floor(Math.log10(step / Number(size)) + 1e-9), 0, 6)
  return `${Number((moment / Number(size)).toFixed(decimals))} ${unit}`
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value))
}
