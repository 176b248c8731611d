import { endOf, joinPeriods, type Period, subtractPeriods, totalOf } from '../../reading/periods.ts'
import type { TimelineSpan } from './span.ts'

/** A line of the chart: a span, or several of the same name in the same place. */
export interface TimelineRow extends TimelineSpan {
  /** How many rows it lies in. */
  readonly depth: number
  /** When it began for the first time, and was over for the last. */
  readonly start: number
  readonly end: number
  /** The sum of its periods, in microseconds. */
  readonly duration: number
  /** When it took place, in order and without overlaps. */
  readonly covered: readonly Period[]
  /** The part of that which nothing within it accounts for. */
  readonly own: readonly Period[]
}

/** Puts a tree of spans into lines, in the order of time, each after the one that it lies in. */
export function createRows(root: TimelineSpan): TimelineRow[] {
  const rows: TimelineRow[] = []
  // Not recursive: trees from the disk may be of any depth.
  const waiting = [{ span: root, depth: 0 }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { depth, span } = next
    const covered = joinPeriods(span.periods)
    const inner = joinPeriods(span.children.flatMap(({ periods }) => periods))
    const own = subtractPeriods(covered, inner)
    const end = span.periods.reduce((last, period) => Math.max(last, endOf(period)), 0)
    rows.push({ ...span, depth, start: startOf(span), end, duration: totalOf(span.periods), covered, own })
    for (const child of merge(span.children).toReversed()) waiting.push({ span: child, depth: depth + 1 })
  }
  return rows
}

/** Spans of the same name in one place are one line; outgoing calls and sub-requests each have their own. */
function merge(spans: readonly TimelineSpan[]): TimelineSpan[] {
  const merged = new Map<string, { -readonly [key in keyof TimelineSpan]: TimelineSpan[key] } & { periods: Period[] }>()
  const begun = spans.filter(({ periods }) => periods.length > 0).sort((a, b) => startOf(a) - startOf(b))
  for (const span of begun) {
    const { category, children, link, name, periods, problem } = span
    const key = `${category} ${category === 'http' || category === 'request' ? link : name}`
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
