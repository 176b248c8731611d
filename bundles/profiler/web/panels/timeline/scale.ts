import { type Category, categories } from './spans.ts'

/** Where moments are in a chart. */
export interface Scale {
  /** The place of a moment, in percent of the width. */
  place(microseconds: number): number
  /** The places where work after the response begins; 100 when there is none. */
  readonly boundary: number
  /** Whether the part after the response is drawn on a smaller scale. */
  readonly isCompressed: boolean
  readonly ticks: readonly Tick[]
}

/** A line of the axis. */
export interface Tick {
  /** In percent of the width. */
  readonly x: number
  /** Empty where there is no room for one. */
  readonly label: string
}

/** How much of the width the part after the response has at most. */
const partLimit = 0.3

/** More lines than this would bring their labels too near to one another in a narrow window. */
const tickLimit = 6

/** To the right of this, in percent, a label might leave the chart, or meet that of the end. */
const labelLimit = 86
const compressedLabelLimit = 58

/**
 * Creates the scale of a chart from 0 to `end`, in microseconds. What comes after `handled` may have lasted much longer
 * than the request itself: it has a scale of its own then, and no ticks but its end.
 */
export function createScale(handled: number, end: number): Scale {
  const after = end - handled
  const isCompressed = after > end * partLimit
  const scaled = Math.max(1, isCompressed ? handled : Math.max(handled, end))
  const share = isCompressed ? 1 - partLimit : 1
  const place = (moment: number) => {
    if (!isCompressed || moment <= handled) return clamp((moment / scaled) * share * 100)
    return clamp((share + ((moment - handled) / after) * partLimit) * 100)
  }
  const step = findStep(scaled / (tickLimit * share))
  const ticks: Tick[] = []
  for (let count = 0; count * step <= scaled; count++) {
    const x = place(count * step)
    ticks.push({
      x,
      label: x > (isCompressed ? compressedLabelLimit : labelLimit) ? '' : formatTick(count * step, scaled),
    })
  }
  return { place, boundary: after > 0 ? place(handled) : 100, isCompressed, ticks }
}

/** The least of 1, 2, 5, 10, 20 … that is not less than a number. */
export function findStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least))
  return ([1, 2, 5].find(factor => factor * power >= least * 0.999) ?? 10) * power
}

/** Writes a place of an axis in the unit that fits its whole length: `0`, `200 µs`, `1.5 ms`, `2 s`. */
export function formatTick(microseconds: number, length: number): string {
  if (microseconds === 0) return '0'
  const [unit, size] = length >= 1e6 ? ['s', 1e6] : length >= 1000 ? ['ms', 1000] : ['µs', 1]
  return `${Number((microseconds / size).toPrecision(4))} ${unit}`
}

function clamp(percent: number): number {
  return Math.min(100, Math.max(0, percent))
}

/** What of the rows is asked for. */
export interface TimelineFilter {
  /** Microseconds: what took less is folded. */
  readonly threshold: number
  /** As it was chosen, in milliseconds; empty for what fits the length of the request. */
  readonly chosen: string
  readonly shown: ReadonlySet<Category>
  /** Whether all rows are wanted, however long the page becomes. */
  readonly hasAll: boolean
}

/** Which thresholds are offered, in milliseconds. */
export const thresholds = ['0', '0.01', '0.1', '1', '10', '100'] as const

/** Reads the parameters of the page, for a chart of a length in microseconds; what makes no sense is not there. */
export function readFilter(query: URLSearchParams, length: number): TimelineFilter {
  const named = new Set(query.getAll('show'))
  const found = categories.map(({ name }) => name).filter(name => named.has(name))
  const chosen = thresholds.find(threshold => threshold === query.get('threshold'))
  return {
    threshold: chosen === undefined ? fitThreshold(length) : Number(chosen) * 1000,
    chosen: chosen ?? '',
    shown: new Set(found.length === 0 ? categories.map(({ name }) => name) : found),
    hasAll: query.get('rows') === 'all',
  }
}

/** Below this a bar can hardly be seen. */
function fitThreshold(length: number): number {
  return length < 1000 ? 0 : findStep(length / 1000)
}
