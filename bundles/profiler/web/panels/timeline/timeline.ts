import type { LogMark } from '../../../insight/timeline/request-spans.ts'
import { type Category, categories, type TimelineSpan } from '../../../insight/timeline/span.ts'
import { formatMicroseconds, shorten } from '../../../profile/format.ts'
import { endOf, joinPeriods, type Period, subtractPeriods, totalOf } from '../../../profile/periods.ts'
import type { Bar } from '../bar.ts'
import { createScale, type Scale, type TimelineFilter } from './scale.ts'

/** The content of a chart. Times are microseconds since the request began. */
interface TimelineParts {
  readonly rows: readonly TimelineRow[]
  readonly logs: readonly LogMark[]
  /** Runs of the garbage collector. */
  readonly pauses: readonly Period[]
  /** The end of the response. */
  readonly handled: number
  readonly filter: TimelineFilter
}

/** A chart as its template shows it. Positions are percents of its width. */
export interface TimelineView {
  readonly ticks: readonly { readonly x: string; readonly label: string }[]
  readonly lanes: readonly LaneView[]
  readonly marks: readonly MarkView[]
  readonly moreMarks: number
  readonly pauses: readonly Bar[]
  readonly pauseCount: number
  readonly pauseTime: string
  readonly lines: readonly LineView[]
  /** How many of the lines are below the threshold. */
  readonly folded: number
  /** How many lines are left out because of the limit. */
  readonly omitted: number
  /** The part after the response; `false` when there is none. */
  readonly after: false | { readonly x: string; readonly width: string; readonly end: string }
}

/** The lane of a category: the periods of all its rows. */
interface LaneView {
  readonly category: Category
  readonly label: string
  readonly bars: readonly Bar[]
  readonly duration: string
  readonly own: string
  readonly isShown: boolean
}

/** A warning in the lane of the logs. */
interface MarkView {
  readonly x: string
  readonly isError: boolean
  readonly title: string
  readonly link: string
}

/** A line of the chart. */
interface LineView {
  readonly className: string
  readonly microseconds: number
  readonly isHidden: boolean
  readonly name: string
  readonly link: string
  readonly note: string
  readonly problem: string
  /** Whether the problem is an error. */
  readonly isBad: boolean
  readonly times: string
  readonly detail: string
  /** All its periods; empty when it has no spans within it. */
  readonly bars: readonly Bar[]
  readonly own: readonly Bar[]
  readonly duration: string
  readonly ownTime: string
}

/** These limits keep a page below 60 kB. */
const lineLimit = 90
const markLimit = 30
const barBudget = 450

/** The limits of a page with all rows. */
const longLimit = 3000

const nameLimit = 90
const deepest = 8

/** Draws a chart: an axis, a lane for each category, and a line for each row up to the limit. */
export function createTimeline({ filter, handled, logs, pauses, rows }: TimelineParts): TimelineView {
  const end = rows.reduce((last, { end }) => Math.max(last, end), handled)
  const scale = createScale(handled, end)
  const fitting = new Set(choose(rows, filter))
  const chosen = rows.filter(row => fitting.has(row))
  const { boundary, isCompressed, ticks } = scale
  return {
    ticks: ticks.map(({ label, x }) => ({ x: toPercent(x), label })),
    lanes: createLanes(rows.slice(1), filter, scale),
    marks: logs.slice(0, markLimit).map(mark => toMark(mark, scale)),
    moreMarks: Math.max(0, logs.length - markLimit),
    pauses: createBars(joinPeriods(pauses), scale),
    pauseCount: pauses.length,
    pauseTime: formatMicroseconds(totalOf(pauses)),
    lines: chosen.map(row => toLine(row, filter, scale, Math.max(2, Math.floor(barBudget / chosen.length)))),
    folded: chosen.filter(row => isFolded(row, filter)).length,
    omitted: rows.length - chosen.length,
    after: boundary < 100 && {
      x: toPercent(boundary),
      width: toPercent(100 - boundary),
      end: isCompressed ? formatMicroseconds(end) : '',
    },
  }
}

/** The request itself and the longest rows; rows that pass the filter come before the others. */
function choose(rows: readonly TimelineRow[], { hasAll, shown }: TimelineFilter): readonly TimelineRow[] {
  const rank = ({ category, depth }: TimelineRow) => (depth === 0 ? 2 : Number(shown.has(category)))
  return rows.toSorted((a, b) => rank(b) - rank(a) || b.duration - a.duration).slice(0, hasAll ? longLimit : lineLimit)
}

function isFolded({ depth, duration }: TimelineRow, { threshold }: TimelineFilter): boolean {
  return depth > 0 && duration < threshold
}

function createLanes(rows: readonly TimelineRow[], { shown }: TimelineFilter, scale: Scale): LaneView[] {
  return categories.flatMap(({ label, name: category }) => {
    const members = rows.filter(row => row.category === category)
    if (members.length === 0) return []
    const covered = joinPeriods(members.flatMap(({ covered }) => covered))
    return {
      category,
      label,
      bars: createBars(covered, scale),
      duration: formatMicroseconds(totalOf(covered)),
      own: formatMicroseconds(totalOf(joinPeriods(members.flatMap(({ own }) => own)))),
      isShown: shown.has(category),
    }
  })
}

function toMark({ at, isError, level, link, message }: LogMark, { place }: Scale): MarkView {
  const title = `${level} at ${formatMicroseconds(at)}: ${shorten(message, nameLimit)}`
  return { x: toPercent(place(at)), isError, title, link }
}

function toLine(row: TimelineRow, filter: TimelineFilter, scale: Scale, barLimit: number): LineView {
  const { category, children, covered, depth, duration, end, link, name, note, own, periods, problem, start } = row
  const times = periods.length === 1 ? '' : `${periods.length} times`
  const hasInner = children.length > 0
  const isOpen = problem.startsWith('not ')
  return {
    className: `${depth === 0 ? 'whole' : category} depth-${Math.min(depth, deepest)}${isOpen ? ' is-open' : ''}`,
    microseconds: Math.round(duration),
    isHidden: isFolded(row, filter) || (depth > 0 && !filter.shown.has(category)),
    name: shorten(name, nameLimit),
    link,
    note,
    problem,
    isBad: problem === 'threw' || problem === 'failed',
    times,
    detail: `${formatMicroseconds(start)} to ${formatMicroseconds(end)}`,
    bars: hasInner ? createBars(covered, scale, barLimit) : [],
    own: createBars(own, scale, barLimit),
    duration: formatMicroseconds(duration),
    ownTime: hasInner ? formatMicroseconds(totalOf(own)) : '',
  }
}

/** Narrower bars are invisible. */
const leastWidth = 0.3

/** Draws periods, which are in order, as a limited number of bars: bars with the smallest gaps become one. */
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

/** Writes a position, to a ten-thousandth of the width: `12.34%`. */
export function toPercent(percent: number): string {
  return `${Number(percent.toFixed(2))}%`
}

/** A row: a span, or several spans of the same name within the same span. */
export interface TimelineRow extends TimelineSpan {
  /** The number of rows that contain it. */
  readonly depth: number
  /** The first start and the last end. */
  readonly start: number
  readonly end: number
  /** The sum of its periods, in microseconds. */
  readonly duration: number
  /** Its periods in order, without overlaps. */
  readonly covered: readonly Period[]
  /** Its periods without those of the spans within it. */
  readonly own: readonly Period[]
}

/** Turns a tree of spans into rows, in the order of time, each after the row that contains it. */
export function createTimelineRows(root: TimelineSpan): TimelineRow[] {
  const rows: TimelineRow[] = []
  // Not recursive: trees from the disk may be of any depth.
  const waiting = [{ span: root, depth: 0 }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { depth, span } = next
    const { category, children, link, name, note, periods, problem, spanId } = span
    const covered = joinPeriods(periods)
    const inner = joinPeriods(children.flatMap(({ periods }) => periods))
    const own = subtractPeriods(covered, inner)
    const end = periods.reduce((last, period) => Math.max(last, endOf(period)), 0)
    const [start, duration] = [startOf(span), totalOf(periods)]
    // A literal: spreading a span into a larger object is several times as slow.
    rows.push({
      name,
      category,
      periods,
      link,
      note,
      problem,
      spanId,
      children,
      depth,
      start,
      end,
      duration,
      covered,
      own,
    })
    for (const child of merge(children).toReversed()) waiting.push({ span: child, depth: depth + 1 })
  }
  return rows
}

/** Spans of the same name within the same span are one row; each HTTP client call and sub-request has its own row. */
function merge(spans: readonly TimelineSpan[]): readonly TimelineSpan[] {
  if (spans.length === 0) return spans
  const merged = new Map<string, { -readonly [key in keyof TimelineSpan]: TimelineSpan[key] } & { periods: Period[] }>()
  const begun = spans.filter(({ periods }) => periods.length > 0).sort((a, b) => startOf(a) - startOf(b))
  for (const span of begun) {
    const { category, children, link, name, note, periods, problem } = span
    const key = `${category} ${category === 'http' || category === 'request' ? link : name} ${category === 'service' ? note : ''}`
    const first = merged.get(key)
    if (first === undefined) {
      merged.set(key, { ...span, periods: [...periods], children: [...children] })
      continue
    }
    for (const period of periods) first.periods.push(period)
    for (const child of children) first.children.push(child)
    first.problem ||= problem
  }
  return [...merged.values()]
}

function startOf({ periods }: TimelineSpan): number {
  return periods.reduce((first, { start }) => Math.min(first, start), Infinity)
}
