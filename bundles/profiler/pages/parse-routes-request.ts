import type { ProfileFilter } from '../store/profile-storage.ts'
import { parseListRequest } from './parse-list-request.ts'

/** What statistics of routes are asked for. */
export interface RoutesRequest {
  /** Those of the list. */
  readonly filters: readonly ProfileFilter[]
  readonly sort: { readonly field: RouteField; readonly direction: 'ascending' | 'descending' }
  /** What was given, by the names of its parameters. */
  readonly parameters: Readonly<Record<string, string>>
  /** What was given and not understood, as sentences. */
  readonly notes: readonly string[]
}

/** Columns that routes can be sorted by. */
export const routeFields = ['route', 'count', 'p50', 'p95', 'p99', 'errors', 'worst'] as const

/** One of them. */
export type RouteField = (typeof routeFields)[number]

/** A name stands first where it begins the alphabet, a number where it is the greatest. */
export function usualDirection(field: RouteField): RoutesRequest['sort']['direction'] {
  return field === 'route' ? 'ascending' : 'descending'
}

/** Those of the list that make no sense where nothing is listed. */
const unfit: readonly string[] = ['limit', 'page', 'pinned', 'type', 'sort', 'order']

/** Reads the parameters: the filters are those of the list; never fails. */
export function parseRoutesRequest(given: URLSearchParams): RoutesRequest {
  const listed = new URLSearchParams([...given].filter(([name]) => !unfit.includes(name)))
  const { notes, parameters, query } = parseListRequest(listed)
  const wanted = given.get('sort')?.trim() ?? ''
  const field = routeFields.find(field => field === wanted) ?? 'count'
  const order = given.get('order')
  const direction = order === 'asc' ? 'ascending' : order === 'desc' ? 'descending' : usualDirection(field)
  const isUnderstood = wanted === '' || wanted === field
  return {
    filters: query.filters,
    sort: { field, direction },
    parameters: {
      ...parameters,
      ...(wanted !== '' && isUnderstood && { sort: field }),
      ...(order === 'asc' || order === 'desc' ? { order } : {}),
    },
    notes: isUnderstood ? notes : [...notes, `Routes cannot be sorted by “${wanted}”: those asked most come first.`],
  }
}
