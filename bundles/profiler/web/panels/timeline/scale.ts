import { type Category, categories } from '../../../insight/timeline/span.ts'

/** The time axis of a chart. */
export interface Scale {
  /** The position of a moment, in percent of the width. */
  place(microseconds: number): number
  /** The position of the end of the response; 100 without work after it. */
  readonly boundary: number
  /** Whether the part after the response has a smaller scale. */
  readonly isCompressed: boolean
  readonly ticks: readonly Tick[]
}

/** A line of the axis. */
export interface Tick {
  /** In percent of the width. */
  readonly x: number
  /** Empty when there is no room for it. */
  readonly label: string
}

/** The largest share of the width for the part after the response. */
const partLimit = 0.3

/** With more lines, the labels would overlap in a narrow window. */
const tickLimit = 6

/** In percent: a label further to the right could leave the chart, or overlap the last label. */
const labelLimit = 86
const compressedLabelLimit = 58

/**
 * Creates the scale of a chart from 0 to `end`, in microseconds. If the part after `handled` is much longer than the
 * request, it gets its own scale, without ticks.
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

/** The smallest of 1, 2, 5, 10, 20 … that is not less than a number. */
export function findStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least))
  return ([1, 2, 5].find(factor => factor * power >= least * 0.999) ?? 10) * power
}

/** Writes a time in the unit that fits the length of the axis: `0`, `200 µs`, `1.5 ms`, `2 s`. */
export function formatTick(microseconds: number, length: number): string {
  if (microseconds === 0) return '0'
  const [unit, size] = length >= 1e6 ? ['s', 1e6] : length >= 1000 ? ['ms', 1000] : ['µs', 1]
  return `${Number((microseconds / size).toPrecision(4))} ${unit}`
}

function clamp(percent: number): number {
  return Math.min(100, Math.max(0, percent))
}

/** Which rows are shown. */
export interface TimelineFilter {
  /** Microseconds: shorter rows are folded. */
  readonly threshold: number
  /** The chosen threshold in milliseconds; empty for the default, which depends on the length of the request. */
  readonly chosen: string
  readonly shown: ReadonlySet<Category>
  /** Whether all rows are shown, without a limit. */
  readonly hasAll: boolean
}

/** The thresholds of the menu, in milliseconds. */
export const thresholds = ['0', '0.01', '0.1', '1', '10', '100'] as const

/** Reads the parameters of the page, for a chart of a length in microseconds; invalid parameters are ignored. */
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

/** Shorter bars are hardly visible. */
function fitThreshold(length: number): number {
  return length < 1000 ? 0 : findStep(length / 1000)
}
