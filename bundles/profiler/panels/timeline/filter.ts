import { type Category, categories } from './category.ts'
import { findStep } from './scale.ts'

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
