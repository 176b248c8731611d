import {
  createAxis,
  findStep,
  fitWindow,
  isCompressed,
  listTicks,
  type TimeAxis,
  type TimeWindow,
  toMoment,
  toPosition,
  wholeWindow,
} from '../client/time-axis.ts'
import {
  awaitedCategories,
  type Category,
  categories,
  type LogMark,
  ownPeriods,
  startOf,
  type TimelineSpan,
} from '../insight/timeline/request-spans.ts'
import { formatMicroseconds, formatShare, shorten } from '../profile/format.ts'
import { endOf, joinPeriods, overlapPeriods, type Period, totalOf } from '../profile/work.ts'
import { type Bar, toPercent } from './parts.ts'

/** The content of a chart. Times are microseconds since the request began. */
interface TimelineParts {
  readonly rows: readonly TimelineRow[]
  readonly logs: readonly LogMark[]
  /** Runs of the garbage collector. */
  readonly pauses: readonly Period[]
  readonly axis: TimeAxis
  readonly filter: TimelineFilter
}

/** These limits keep a page below 60 kB. */
const lineLimit = 90
const markLimit = 30
const barBudget = 400

/** The limits of a page with all rows. */
const longLimit = 3000

const nameLimit = 90
const deepest = 8

/** Draws a chart: a ruler, and a line for each row up to the limit. */
export function createTimeline({ axis, filter, logs, pauses, rows }: TimelineParts) {
  const { window } = filter
  const slowest = findSlowest(rows, filter)
  const visible = { from: toMoment(axis, window.from), to: toMoment(axis, window.to) }
  const chosen = choose(rows, filter, new Set(slowest), visible)
  const barLimit = Math.max(2, Math.floor(barBudget / chosen.length))
  const lines = chosen.map((row, index) => ({
    ...toLine(row, filter, axis, barLimit),
    parts: splitName(row, chosen[index - 1]),
  }))
  const omitted = rows.length - chosen.length
  const { boundary, end } = axis
  const scale = 100 / (window.to - window.from)
  return {
    axis,
    plot: { x: toPercent(-window.from * scale), width: toPercent(100 * scale) },
    zoom: scale > 1 ? { from: toMilliseconds(visible.from), to: toMilliseconds(visible.to) } : { from: '', to: '' },
    ticks: listTicks(axis, window).map(({ label, x }) => ({ x: toPercent(x), label })),
    slowest: slowest.map(row => toSlow(row, end)),
    kinds: listKinds(rows.slice(1), filter),
    marks: logs.slice(0, markLimit).map(mark => toMark(mark, axis)),
    moreMarks: Math.max(0, logs.length - markLimit),
    pauses: createBars(joinPeriods(pauses), axis),
    pauseCount: pauses.length,
    hasAwaited: lines.some(({ awaited }) => awaited.length > 0),
    pauseTime: formatMicroseconds(totalOf(pauses)),
    lines,
    count: rows.length,
    hidden: omitted + lines.filter(({ isHidden }) => isHidden).length,
    omitted,
    after: boundary < visibleEnd && {
      x: toPercent(boundary),
      width: toPercent(100 - boundary),
      end: isCompressed(axis) ? formatMicroseconds(end) : '',
    },
  }
}

/** Percent: what begins later is too narrow to be seen. */
const visibleEnd = 99

function toMilliseconds(moment: number): string {
  return String(Number((moment / 1000).toFixed(3)))
}

function isShown({ category, depth, duration }: TimelineRow, { shown, threshold }: TimelineFilter): boolean {
  return depth === 0 || (duration >= threshold && shown.has(category))
}

/** The number of rows in the list of the slowest, and their least share of the whole time. */
const slowest = { count: 10, share: 0.01 }

/** Finds the rows with the most own time. */
function findSlowest(rows: readonly TimelineRow[], filter: TimelineFilter): readonly TimelineRow[] {
  const least = Math.max(1, (rows[0]?.duration ?? 0) * slowest.share)
  const found = rows.filter(row => row.depth > 0 && row.ownTime >= least && isShown(row, filter))
  return found.sort((one, other) => other.ownTime - one.ownTime).slice(0, slowest.count)
}

function toSlow({ category, index, name, note, ownTime }: TimelineRow, whole: number) {
  return {
    index,
    category,
    name: shorten(name, nameLimit),
    program: category === 'service' ? note : '',
    time: formatMicroseconds(ownTime),
    share: formatShare(ownTime, whole),
  }
}

/**
 * Chooses the longest rows, in their order. The request, the slowest rows, and the rows that pass
 * the filter and are in the visible part come before others.
 */
function choose(
  rows: readonly TimelineRow[],
  filter: TimelineFilter,
  slow: ReadonlySet<TimelineRow>,
  visible: { readonly from: number; readonly to: number },
): readonly TimelineRow[] {
  const limit = filter.hasAll ? longLimit : lineLimit
  if (rows.length <= limit) return rows
  const isVisible = ({ end, start }: TimelineRow) => start <= visible.to && end >= visible.from
  const rankOf = (row: TimelineRow) => {
    if (row.depth === 0) return 4
    if (slow.has(row)) return 3
    return Number(isShown(row, filter)) + Number(isShown(row, filter) && isVisible(row))
  }
  const ranks = rows.map(rankOf)
  const sorted = rows.toSorted((a, b) => (ranks[b.index] ?? 0) - (ranks[a.index] ?? 0) || b.duration - a.duration)
  return sorted.slice(0, limit).sort((a, b) => a.index - b.index)
}

function listKinds(rows: readonly TimelineRow[], { shown }: TimelineFilter) {
  const used = new Set(rows.map(({ category }) => category))
  return categories
    .filter(({ name }) => used.has(name))
    .map(({ label, name: category }) => ({ category, label, isShown: shown.has(category) }))
}

function toMark({ at, isError, level, link, message }: LogMark, axis: TimeAxis) {
  const title = `${level} at ${formatMicroseconds(at)}: ${shorten(message, nameLimit)}`
  return { x: toPercent(toPosition(axis, at)), isError, title, link }
}

/** The parts of the name of a call to the host of the call above, which is not shown again; `false` for other rows. */
function splitName({ category, name }: TimelineRow, above: TimelineRow | undefined) {
  const [, method, host, target = ''] = /^(\S+ )([^/]+)(\/.*)$/s.exec(name) ?? []
  const isRepeated =
    category === 'http' && host !== undefined && above?.name.startsWith(`${host}/`, above.name.indexOf(' ') + 1)
  return isRepeated === true && { method, host, target: shorten(target, nameLimit) }
}

function toLine(row: TimelineRow, filter: TimelineFilter, axis: TimeAxis, barLimit: number) {
  const { awaited, category, children, covered, depth, duration, index, link, name, note, own } = row
  const { ownTime, periods, problem, text } = row
  // The note of a field has the number of its calls, many of which ran at the same time.
  const times = periods.length === 1 || category === 'field' ? '' : `${periods.length} times`
  const hasInner = children.length > 0 || ownTime < totalOf(covered)
  const isOpen = problem.startsWith('not ')
  return {
    index,
    className: `${depth === 0 ? 'whole' : category} depth-${Math.min(depth, deepest)}${isOpen ? ' is-open' : ''}`,
    microseconds: Math.round(duration),
    isHidden: !isShown(row, filter),
    name: shorten(name, nameLimit),
    text: text === name ? '' : shorten(text, nameLimit),
    link,
    note,
    problem,
    isBad: problem === 'threw' || problem === 'failed',
    times,
    detail: describe(row),
    bars: hasInner ? createBars(covered, axis, barLimit) : [],
    awaited: createBars(joinPeriods([...awaited.values()].flat()), axis, Math.ceil(barLimit / 2)),
    own: createBars(own, axis, barLimit),
    duration: formatMicroseconds(duration),
    ownTime: hasInner ? formatMicroseconds(ownTime) : '',
  }
}

function inOrder(awaited: TimelineRow['awaited']): [Category, readonly Period[]][] {
  const order = [...awaitedCategories.keys()]
  return [...awaited].sort(([one], [other]) => order.indexOf(one) - order.indexOf(other))
}

/** When it was, and for what it waited: `1.2 ms to 9 ms, waiting: 3.1 ms for database queries`. */
function describe({ awaited, end, start }: TimelineRow): string {
  const waits = inOrder(awaited).map(
    ([of, periods]) => `${formatMicroseconds(totalOf(periods))} for ${awaitedCategories.get(of)}`,
  )
  const when = `${formatMicroseconds(start)} to ${formatMicroseconds(end)}`
  return waits.length === 0 ? when : `${when}, waiting ${waits.join(', ')}`
}

/** Bars nearer to each other are drawn as one, in percent. */
const leastGap = 0.02

/** Draws periods, which are in order, as a limited number of bars: bars with the smallest gaps become one. */
export function createBars(periods: readonly Period[], axis: TimeAxis, limit = 60): Bar[] {
  const ends = periods.map(period => ({ from: toPosition(axis, period.start), to: toPosition(axis, endOf(period)) }))
  let bars = joinNear(ends, leastGap)
  for (let gap = 2 * leastGap; bars.length > limit; gap *= 2) bars = joinNear(bars, gap)
  // A bar without a width would not be drawn. The stroke makes it visible.
  return bars.map(({ from, to }) => ({ x: toPercent(from), width: toPercent(Math.max(0.001, to - from)) }))
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

/** Creates the axis of a chart. */
export function createTimelineAxis(rows: readonly TimelineRow[], handled: number): TimeAxis {
  return createAxis(
    handled,
    rows.reduce((last, { end }) => Math.max(last, end), handled),
  )
}

/** A row: a span, or several spans of the same name within the same span. */
export interface TimelineRow extends TimelineSpan {
  /** Its place among all rows. */
  readonly index: number
  /** The number of rows that contain it. */
  readonly depth: number
  /** The first start and the last end. */
  readonly start: number
  readonly end: number
  /** The sum of its periods, in microseconds. */
  readonly duration: number
  /** Its periods in order, without overlaps. */
  readonly covered: readonly Period[]
  /**
   * Its periods without those of the spans within it: of a measurement of the stopwatch, of those
   * that run at the same time.
   */
  readonly own: readonly Period[]
  /** The sum of these. */
  readonly ownTime: number
  /** The periods of the queries, HTTP client calls and sub-requests within it. */
  readonly awaited: ReadonlyMap<Category, readonly Period[]>
}

type Awaited = Map<Category, Period[]>

/** Turns a tree of spans into rows, in the order of time, each after the row that contains it. */
export function createTimelineRows(root: TimelineSpan): TimelineRow[] {
  const rows: TimelineRow[] = []
  const parents: number[] = []
  const awaited: Awaited[] = []
  // Not recursive: trees from the disk may be of any depth.
  const waiting = [{ span: root, depth: 0, parent: -1, beside: [] as readonly TimelineSpan[] }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { beside, depth, parent, span } = next
    const { category, children, link, name, note, periods, problem, text } = span
    const covered = joinPeriods(periods)
    const within = measuring.has(category) ? beside.filter(other => isWithin(other, span)) : children
    const own = ownPeriods(periods, within)
    const end = periods.reduce((last, period) => Math.max(last, endOf(period)), 0)
    const index = rows.length
    const waits: Awaited = new Map()
    // A literal: spreading a span into a larger object is several times as slow.
    rows.push({
      name,
      text,
      category,
      periods,
      link,
      note,
      problem,
      children,
      index,
      depth,
      start: startOf(span),
      end,
      duration: totalOf(periods),
      covered,
      own,
      ownTime: totalOf(own),
      awaited: waits,
    })
    parents.push(parent)
    awaited.push(waits)
    const merged = merge(children)
    for (const child of merged.toReversed()) {
      waiting.push({ span: child, depth: depth + 1, parent: index, beside: merged })
    }
  }
  gatherAwaited(rows, parents, awaited)
  return rows
}

/** Spans that hold no others: work at the same time is theirs. */
const measuring: ReadonlySet<Category> = new Set(['stopwatch', 'field'])

/**
 * Whether a span beside a measurement belongs to it. Of two measurements, the longer one contains
 * the other. The fields of GraphQL wait for queries and calls.
 */
function isWithin(other: TimelineSpan, measured: TimelineSpan): boolean {
  if (other === measured) return false
  if (measured.category === 'field') return awaitedCategories.has(other.category)
  return other.category !== 'stopwatch' || totalOf(other.periods) < totalOf(measured.periods)
}

/** A row waits for the queries, calls and sub-requests within it, but not for those within one of these. */
function gatherAwaited(rows: readonly TimelineRow[], parents: readonly number[], awaited: readonly Awaited[]): void {
  // The rows within a row come after it.
  for (let index = rows.length - 1; index >= 0; index--) {
    // Both lists have an item for each row.
    const { category, covered } = rows[index] as TimelineRow
    const waits = awaited[index] as Awaited
    const inner = [...waits].map(([of, periods]) => [of, joinPeriods(periods)] as const)
    // A call may end after the row in which it began.
    for (const [of, periods] of inner) waits.set(of, overlapPeriods(periods, covered))
    const found = awaitedCategories.has(category) ? [[category, covered] as const] : inner
    const above = awaited[parents[index] ?? -1] ?? new Map<Category, Period[]>()
    for (const [of, periods] of found) {
      const known = above.get(of) ?? []
      for (const period of periods) known.push(period)
      above.set(of, known)
    }
  }
}

/** Spans of the same name within the same span are one row; each HTTP client call and sub-request has its own row. */
function merge(spans: readonly TimelineSpan[]): readonly TimelineSpan[] {
  if (spans.length === 0) return spans
  const merged = new Map<string, { -readonly [key in keyof TimelineSpan]: TimelineSpan[key] } & { periods: Period[] }>()
  const begun = spans.filter(({ periods }) => periods.length > 0).sort((a, b) => startOf(a) - startOf(b))
  for (const span of begun) {
    const { category, children, link, name, note, periods, problem, text } = span
    const target = category === 'http' || category === 'request' ? link : text || name
    const key = `${category} ${target} ${category === 'service' ? note : ''}`
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

/** The rows that are shown, and the visible part of the axis. */
interface TimelineFilter {
  /** Microseconds: shorter rows are hidden. */
  readonly threshold: number
  /** The chosen threshold in milliseconds; empty for the default, which depends on the length of the request. */
  readonly chosen: string
  readonly shown: ReadonlySet<Category>
  /** Whether all rows are listed, without a limit. */
  readonly hasAll: boolean
  readonly window: TimeWindow
}

/** The thresholds of the menu, in milliseconds. */
export const thresholds = ['0', '0.01', '0.1', '1', '10', '100'] as const

/** Reads the parameters of the page; invalid parameters are ignored. */
export function readFilter(query: URLSearchParams, axis: TimeAxis): TimelineFilter {
  const named = new Set(query.getAll('show'))
  const found = categories.map(({ name }) => name).filter(name => named.has(name))
  const chosen = thresholds.find(threshold => threshold === query.get('threshold'))
  return {
    threshold: chosen === undefined ? fitThreshold(axis.handled) : Number(chosen) * 1000,
    chosen: chosen ?? '',
    shown: new Set(found.length === 0 ? categories.map(({ name }) => name) : found),
    hasAll: query.get('rows') === 'all',
    window: readWindow(query, axis),
  }
}

/** Shorter bars are hardly visible. */
function fitThreshold(length: number): number {
  return length < 1000 ? 0 : findStep(length / 1000)
}

/** `from` and `to` are milliseconds since the request began. */
function readWindow(query: URLSearchParams, axis: TimeAxis): TimeWindow {
  const [from, to] = ['from', 'to'].map(name => 1000 * Number.parseFloat(query.get(name) ?? '')) as [number, number]
  if (!(from < to) || from >= axis.end) return wholeWindow
  return fitWindow(axis, { from: toPosition(axis, from), to: toPosition(axis, to) })
}
