import { groupBy } from '../profile/group-by.ts'
import type { Outcome, ProfileSummary } from '../profile/profile.ts'
import { leastForMedian, percentile } from './durations.ts'
import { isBrowserProbe } from './latest.ts'
import { type ListRequest, parseListRequest } from './list-request.ts'

/** Statistics of the requests of one route. Times are in milliseconds. */
export interface RouteStatistics {
  /** `null` for requests without a matching route. */
  readonly route: string | null
  readonly count: number
  /** The durations of all requests. */
  readonly total: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  /** The queries of databases in a request: the median. */
  readonly queries: number
  /** The most queries of a request. */
  readonly mostQueries: number
  /** Requests that ended with a status of 500 or more, or with the process. */
  readonly errors: number
  readonly errorRate: number
  /** Requests with a status from 400 to 499. */
  readonly clientErrors: number
  /** The slowest request. */
  readonly worst: WorstProfile
  /** The three slowest requests, the slowest first. */
  readonly slowest: readonly WorstProfile[]
  /** The three latest requests that count as errors, the latest first. */
  readonly failed: readonly WorstProfile[]
}

/** A reference to a slow or failed profile. */
export interface WorstProfile {
  readonly token: string
  readonly status: number
  readonly outcome: Outcome
  readonly duration: number
}

/** The numeric columns of the statistics. */
export const statisticFields = [
  'total',
  'count',
  'p50',
  'p95',
  'p99',
  'queries',
  'mostQueries',
  'errors',
  'clientErrors',
  'worst',
] as const

/** A numeric column. */
type StatisticField = (typeof statisticFields)[number]

/** Returns the value of a numeric column. */
export function measureStatistics(statistics: RouteStatistics, field: StatisticField): number {
  return field === 'worst' ? statistics.worst.duration : statistics[field]
}

/**
 * Groups summaries of main requests by route, without the probes of browsers. The route with the most requests is
 * first.
 */
export function gatherStatistics(summaries: Iterable<ProfileSummary>): RouteStatistics[] {
  const counted = Array.from(summaries).filter(summary => !isBrowserProbe(summary))
  const groups = groupBy(counted, ({ route }) => route)
  const statistics = [...groups].map(([route, group]) => summarize(route, group))
  return statistics.sort((one, other) => other.count - one.count)
}

const worstLimit = 3

function summarize(route: string | null, group: readonly ProfileSummary[]): RouteStatistics {
  const sorted = Float64Array.from(group, ({ duration }) => duration).sort()
  const queries = Float64Array.from(group, ({ queries }) => queries).sort()
  const slowest = group.toSorted((one, other) => other.duration - one.duration).slice(0, worstLimit)
  const failed = group.filter(isError)
  const latest = failed.toSorted((one, other) => other.time - one.time).slice(0, worstLimit)
  // A group has at least one summary.
  const [worst] = slowest as [ProfileSummary]
  return {
    route,
    count: sorted.length,
    total: sorted.reduce((sum, duration) => sum + duration, 0),
    p50: percentile(sorted, 50),
    p95: percentile(sorted, 95),
    p99: percentile(sorted, 99),
    queries: percentile(queries, 50),
    mostQueries: percentile(queries, 100),
    errors: failed.length,
    errorRate: failed.length / sorted.length,
    clientErrors: group.filter(({ status }) => status >= 400 && status < 500).length,
    worst: toWorst(worst),
    slowest: slowest.map(toWorst),
    failed: latest.map(toWorst),
  }
}

/** Whether a request failed on the server: a status of 500 or more, a failed stream or a crash. */
export function isError({ outcome, status }: ProfileSummary): boolean {
  return status >= 500 || outcome === 'crashed' || outcome === 'stream-failed'
}

function toWorst({ duration, outcome, status, token }: ProfileSummary): WorstProfile {
  return { token, status, outcome, duration }
}

/** Statistics of all routes. */
export interface RoutesReport {
  /** The start of the current process, in milliseconds since 1970. */
  readonly startedAt: number
  /** The number of main requests. */
  readonly requests: number
  readonly routes: readonly RouteReport[]
}

/** Statistics of one route, with a comparison of before and after the last restart. */
export interface RouteReport extends RouteStatistics {
  /** The median duration in each of 24 equal spans of time, the same for all routes; `null` in a span without requests. */
  readonly trend: readonly (number | null)[]
  /** The numbers of requests before and since the restart. */
  readonly counts: { readonly before: number; readonly since: number }
  /** The compared values; `null` if there were too few requests. */
  readonly changes: Readonly<Record<ComparedField, RouteChange | null>>
}

/** The columns that are compared. */
type ComparedField = 'p50' | 'p95' | 'queries' | 'errorRate'

/** A value before and since the restart. */
export interface RouteChange {
  readonly before: number
  readonly since: number
}

/** The least numbers of requests on both sides of a comparison: rare slow requests and errors need a larger sample. */
export const leastCounts: Readonly<Record<ComparedField, number>> = {
  p50: leastForMedian,
  queries: leastForMedian,
  p95: 20,
  errorRate: 20,
}

/** With fewer requests, the 99th percentile is the slowest request. */
export const leastForP99 = 100

/** Computes the statistics of routes. Sub-requests do not count, also those whose main request is not stored. */
export function gatherRoutes(
  found: readonly ProfileSummary[],
  { sort }: RoutesRequest,
  startedAt: number,
): RoutesReport {
  const summaries = found.filter(({ parent }) => parent === null)
  const byRoute = (statistics: readonly RouteStatistics[]) => new Map(statistics.map(each => [each.route, each]))
  const before = byRoute(gatherStatistics(summaries.filter(({ time }) => time < startedAt)))
  const since = byRoute(gatherStatistics(summaries.filter(({ time }) => time >= startedAt)))
  // Of each route in the statistics.
  const trends = gatherTrends(summaries)
  const routes = gatherStatistics(summaries).map(statistics => {
    const { route } = statistics
    return {
      ...statistics,
      trend: trends.get(route) as RouteReport['trend'],
      ...compareWithBefore(before.get(route), since.get(route)),
    }
  })
  return { startedAt, requests: routes.reduce((sum, { count }) => sum + count, 0), routes: sortRoutes(routes, sort) }
}

const trendLength = 24

/** The median durations of each route in equal spans between the first and the last request. */
function gatherTrends(summaries: readonly ProfileSummary[]): ReadonlyMap<string | null, (number | null)[]> {
  const first = summaries.reduce((first, { time }) => Math.min(first, time), Infinity)
  const last = summaries.reduce((last, { time }) => Math.max(last, time), 0)
  const spans = new Map<string | null, number[][]>()
  for (const { duration, route, time } of summaries) {
    const own = spans.get(route) ?? Array.from({ length: trendLength }, () => [])
    spans.set(route, own)
    const index = Math.floor((trendLength * (time - first)) / Math.max(1, last - first))
    own[Math.min(trendLength - 1, index)]?.push(duration)
  }
  const medianOf = (durations: number[]) =>
    durations.length === 0 ? null : percentile(Float64Array.from(durations).sort(), 50)
  return new Map([...spans].map(([route, own]) => [route, own.map(medianOf)]))
}

function compareWithBefore(
  before: RouteStatistics | undefined,
  since: RouteStatistics | undefined,
): Pick<RouteReport, 'changes' | 'counts'> {
  const counts = { before: before?.count ?? 0, since: since?.count ?? 0 }
  const compare = (field: ComparedField): RouteChange | null => {
    if (before === undefined || since === undefined) return null
    return Math.min(counts.before, counts.since) < leastCounts[field]
      ? null
      : { before: before[field], since: since[field] }
  }
  const changes = {
    p50: compare('p50'),
    p95: compare('p95'),
    queries: compare('queries'),
    errorRate: compare('errorRate'),
  }
  return { counts, changes }
}

function sortRoutes(routes: readonly RouteReport[], { direction, field }: RoutesRequest['sort']): RouteReport[] {
  const sign = direction === 'ascending' ? 1 : -1
  const compare = (one: RouteReport, other: RouteReport) => {
    if (field !== 'route') return measureStatistics(one, field) - measureStatistics(other, field)
    return (one.route ?? '') < (other.route ?? '') ? -1 : 1
  }
  return routes.toSorted((one, other) => sign * compare(one, other))
}

/** The parsed parameters of the route statistics. */
export interface RoutesRequest {
  /** The search for the requests: the same as in the list. */
  readonly listed: ListRequest
  readonly sort: { readonly field: RouteField; readonly direction: 'ascending' | 'descending' }
  /** The given parameters by name. */
  readonly parameters: Readonly<Record<string, string>>
  /** Sentences about parameters that are ignored or corrected. */
  readonly notes: readonly string[]
}

/** The sortable columns. */
export const routeFields: readonly RouteField[] = ['route', ...statisticFields]

/** A sortable column. */
type RouteField = 'route' | StatisticField

/** Returns the default direction of a column: names ascend, numbers descend. */
export function usualDirection(field: RouteField): RoutesRequest['sort']['direction'] {
  return field === 'route' ? 'ascending' : 'descending'
}

/** Parameters of the list that have no meaning for statistics. */
const unfit: readonly string[] = ['limit', 'page', 'pinned', 'type', 'sort', 'order', 'open']

/** Parses the parameters of the route statistics. Never throws. */
export function parseRoutesRequest(given: URLSearchParams): RoutesRequest {
  const fitting = new URLSearchParams([...given].filter(([name]) => !unfit.includes(name)))
  const listed = parseListRequest(fitting)
  const { notes, parameters } = listed
  const wanted = given.get('sort')?.trim() ?? ''
  const field = routeFields.find(field => field === wanted) ?? 'total'
  const order = given.get('order')
  const direction = order === 'asc' ? 'ascending' : order === 'desc' ? 'descending' : usualDirection(field)
  const isUnderstood = wanted === '' || wanted === field
  return {
    listed,
    sort: { field, direction },
    parameters: {
      ...parameters,
      ...(wanted !== '' && isUnderstood && { sort: field }),
      ...(order === 'asc' || order === 'desc' ? { order } : {}),
    },
    notes: isUnderstood ? notes : [...notes, `Routes cannot be sorted by “${wanted}”: the order is by total time.`],
  }
}
