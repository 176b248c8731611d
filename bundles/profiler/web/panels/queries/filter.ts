import { slowQuery } from '../../../insight/findings/query-rules.ts'
import { controlOperations, queryDuration, type StoredQuery } from '../../../profile/queries.ts'
import type { PanelModel } from '../panel.ts'

/** What queries can be chosen by, with the label of the choice. */
const marks = {
  duplicate: 'Duplicates',
  slow: 'Slow',
  failed: 'Errors',
  read: 'Reads',
  write: 'Writes',
  hit: 'Hits',
  miss: 'Misses',
} as const

/** One of the things that queries can be chosen by. It is also a word of the page: `?show=slow`. */
export type Mark = keyof typeof marks

/** How slow a query is. */
export function slownessOf(query: StoredQuery): 'plain' | 'warning' | 'error' {
  const duration = queryDuration(query)
  return duration >= slowQuery.error ? 'error' : duration >= slowQuery.warning ? 'warning' : 'plain'
}

/** The marks of a query. */
export function marksOf(query: StoredQuery, duplicates: ReadonlySet<number>): Mark[] {
  const { error, index, isRead, kind, operation, rows } = query
  const isDatabase = kind === 'database'
  const isLookup = !isDatabase && isRead && rows !== undefined
  const found: Readonly<Record<Mark, boolean>> = {
    duplicate: duplicates.has(index),
    slow: queryDuration(query) >= slowQuery.warning,
    failed: error !== '',
    read: isDatabase && isRead,
    write: isDatabase && !isRead && !controlOperations.has(operation),
    hit: isLookup && rows > 0,
    miss: isLookup && rows === 0,
  }
  return markNames.filter(mark => found[mark])
}

// The names of an object literal, which Object.keys cannot express.
const markNames = Object.keys(marks) as Mark[]

/** Which queries of the list are shown. */
export interface QueryFilter {
  readonly mark: Mark | undefined
  /** The index of the first query of a shape; empty for all. */
  readonly shape: string
  /** Words that a query must contain. */
  readonly text: string
}

/** The parts of a query that the filter looks at. */
export interface FilteredQuery {
  readonly marks: readonly Mark[]
  readonly shape: number
  /** The words of a query, which only a filter by words needs. */
  readonly words: () => string
}

/** Reads the filter of an address: `?show=duplicate&shape=3&text=price`. Invalid parameters are ignored. */
export function readQueryFilter(query: URLSearchParams, shapes: readonly { readonly id: number }[]): QueryFilter {
  return {
    mark: markNames.find(mark => mark === query.get('show')),
    shape: shapes.map(({ id }) => String(id)).find(id => id === query.get('shape')) ?? '',
    text: query.get('text') ?? '',
  }
}

/** Whether a query is shown. The client script filters by the same rules, without a request. */
export function isQueryShown({ mark, shape, text }: QueryFilter, { marks, shape: own, words }: FilteredQuery): boolean {
  if (mark !== undefined && !marks.includes(mark)) return false
  if (shape !== '' && shape !== String(own)) return false
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (wanted.length === 0) return true
  const found = words().toLowerCase()
  return wanted.every(word => found.includes(word))
}

/** The choices of the filter, with the number of queries of each; those without queries are left out. */
export function toChoices(queries: readonly Pick<FilteredQuery, 'marks'>[], filter: QueryFilter): PanelModel[] {
  const counted = markNames.map(mark => ({
    value: mark,
    label: marks[mark],
    count: queries.filter(query => query.marks.includes(mark)).length,
    isSelected: mark === filter.mark,
  }))
  const all = { value: '', label: 'All', count: queries.length, isSelected: filter.mark === undefined }
  return [all, ...counted.filter(({ count, isSelected }) => count > 0 || isSelected)]
}
