import {
  findStep,
  fitWindow,
  type TimeAxis,
  type TimeWindow,
  toPosition,
  wholeWindow,
} from '../../../client/time-axis.ts'
import { type Category, categories } from '../../../insight/timeline/request-spans.ts'

/** The rows that are shown, and the visible part of the axis. */
export interface TimelineFilter {
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
