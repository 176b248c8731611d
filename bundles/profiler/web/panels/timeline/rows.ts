import { type AwaitedCategory, awaitedCategories, type TimelineSpan } from '../../../insight/timeline/request-spans.ts'
import { endOf, joinPeriods, overlapPeriods, type Period, subtractPeriods, totalOf } from '../../../profile/work.ts'

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
  /** Its periods without those of the spans within it. */
  readonly own: readonly Period[]
  /** The sum of these. */
  readonly ownTime: number
  /** The periods of the queries, HTTP client calls and sub-requests within it. */
  readonly awaited: ReadonlyMap<AwaitedCategory, readonly Period[]>
}

type Awaited = Map<AwaitedCategory, Period[]>

/** Turns a tree of spans into rows, in the order of time, each after the row that contains it. */
export function createTimelineRows(root: TimelineSpan): TimelineRow[] {
  const rows: TimelineRow[] = []
  const parents: number[] = []
  const awaited: Awaited[] = []
  // Not recursive: trees from the disk may be of any depth.
  const waiting = [{ span: root, depth: 0, parent: -1 }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { depth, parent, span } = next
    const { category, children, link, name, note, periods, problem, spanId, text } = span
    const covered = joinPeriods(periods)
    const inner = joinPeriods(children.flatMap(({ periods }) => periods))
    const own = subtractPeriods(covered, inner)
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
      spanId,
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
    for (const child of merge(children).toReversed()) waiting.push({ span: child, depth: depth + 1, parent: index })
  }
  gatherAwaited(rows, parents, awaited)
  return rows
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
    // The keys of awaitedCategories are these categories.
    const found = category in awaitedCategories ? [[category as AwaitedCategory, covered] as const] : inner
    const above = awaited[parents[index] ?? -1] ?? new Map<AwaitedCategory, Period[]>()
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
    const subject = category === 'http' || category === 'request' ? link : text || name
    const key = `${category} ${subject} ${category === 'service' ? note : ''}`
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
