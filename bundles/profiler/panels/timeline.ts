import { formatMicroseconds } from './format-microseconds.ts'

/** From when for how long, in microseconds since the pass began. */
export interface Period {
  readonly start: number
  readonly duration: number
}

/** Something that took time, once or several times. */
export interface TimelineRow {
  readonly name: string
  /** `section`, `event_listener`, `controller`, `template` …: lower case. */
  readonly category: string
  /** In the order in which they began. */
  readonly periods: readonly Period[]
  /** Microseconds that nothing of the same source accounts for, events or templates, where that is known. */
  readonly own?: number
  /** The profile that tells more of it. */
  readonly token?: string
}

/** A row as it is shown. The bars are measured in thousandths of the whole width. */
export interface TimelineLine {
  readonly name: string
  readonly category: string
  /** The class of its bars: the category, if it can be one. */
  readonly barClass: string
  readonly start: string
  readonly duration: string
  readonly own: string
  /** How often it took place; empty for once. */
  readonly times: string
  readonly token: string
  readonly bars: readonly { readonly x: string; readonly width: string }[]
}

/** A chart of what took place when. */
export interface Timeline {
  readonly lines: readonly TimelineLine[]
  /** What took less time than is worth a line of its own. */
  readonly folded: readonly TimelineLine[]
  /** From when until when the bars go: `0.105 ms to 89.5 ms`. */
  readonly span: string
}

/** Microseconds below which a row is folded. */
export const foldThreshold = 100

const fullWidth = 1000

/** Narrower bars are not seen. */
const leastWidth = 2

/** Puts rows, in the order in which they began, into a chart that is as wide as all of them together. */
export function createTimeline(rows: readonly TimelineRow[]): Timeline {
  const shown = rows.filter(({ periods }) => periods.length > 0).sort((a, b) => startOf(a) - startOf(b))
  const from = shown.reduce((first, row) => Math.min(first, startOf(row)), Infinity)
  const until = shown.reduce((last, row) => Math.max(last, endOf(row)), 0)
  const toLines = (rows: readonly TimelineRow[]) => rows.map(row => toLine(row, from, Math.max(1, until - from)))
  return {
    lines: toLines(shown.filter(row => durationOf(row) >= foldThreshold)),
    folded: toLines(shown.filter(row => durationOf(row) < foldThreshold)),
    span: shown.length === 0 ? '' : `${formatMicroseconds(from)} to ${formatMicroseconds(until)}`,
  }
}

/** What of the rows began before a moment, and what since then. */
export function splitRows(rows: readonly TimelineRow[], moment: number): [before: TimelineRow[], since: TimelineRow[]] {
  const keep = (isKept: (period: Period) => boolean) =>
    rows.map(row => ({ ...row, periods: row.periods.filter(isKept) })).filter(({ periods }) => periods.length > 0)
  return [keep(({ start }) => start < moment), keep(({ start }) => start >= moment)]
}

const classPattern = /^[a-z][a-z_-]*$/

function toLine(row: TimelineRow, from: number, length: number): TimelineLine {
  const { category, name, own, periods, token = '' } = row
  const toWidth = (duration: number) => (duration / length) * fullWidth
  return {
    name,
    category,
    barClass: `bar-${classPattern.test(category) ? category : 'default'}`,
    start: formatMicroseconds(startOf(row)),
    duration: formatMicroseconds(durationOf(row)),
    own: own === undefined ? '' : formatMicroseconds(own),
    times: periods.length === 1 ? '' : `${periods.length} times`,
    token,
    bars: periods.map(({ duration, start }) => {
      const width = Math.max(leastWidth, toWidth(duration))
      return { x: Math.min(toWidth(start - from), fullWidth - width).toFixed(1), width: width.toFixed(1) }
    }),
  }
}

function startOf({ periods }: TimelineRow): number {
  return periods.reduce((first, { start }) => Math.min(first, start), Infinity)
}

function endOf({ periods }: TimelineRow): number {
  return periods.reduce((last, { duration, start }) => Math.max(last, start + duration), 0)
}

function durationOf({ periods }: TimelineRow): number {
  return periods.reduce((sum, { duration }) => sum + duration, 0)
}
