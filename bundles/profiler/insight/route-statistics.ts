import type { Outcome, ProfileSummary } from '../profile/profile.ts'
import type { ProfileFilter, ProfileStorage } from '../store/profile-storage.ts'
import { isBrowserProbe, mainRequests } from './latest.ts'
import { parseListRequest } from './list-request.ts'

/** How the requests of a route went. Times are in milliseconds. */
export interface RouteStatistics {
  /** `null` of requests that no route took. */
  readonly route: string | null
  readonly count: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  /** Requests that ended with a status of 500 or more, or with the process. */
  readonly errors: number
  readonly errorRate: number
  /** The slowest. */
  readonly worst: WorstProfile
  /** The slowest three, the slowest first. */
  readonly slowest: readonly WorstProfile[]
  /** Of those that count as errors, the latest three, the latest first. */
  readonly failed: readonly WorstProfile[]
}

/** A record to be looked at. */
export interface WorstProfile {
  readonly token: string
  readonly status: number
  readonly outcome: Outcome
  readonly duration: number
}

/** What statistics can be sorted by. */
export const statisticFields = ['count', 'p50', 'p95', 'p99', 'errors', 'worst'] as const

/** One of them. */
type StatisticField = (typeof statisticFields)[number]

/** What statistics are sorted by: the number of a field. */
export function measureStatistics(statistics: RouteStatistics, field: StatisticField): number {
  return field === 'worst' ? statistics.worst.duration : statistics[field]
}

/** Gathers summaries of main requests by route, without those that browsers make by themselves; most requests first. */
export function gatherStatistics(summaries: Iterable<ProfileSummary>): RouteStatistics[] {
  const groups = new Map<string | null, ProfileSummary[]>()
  for (const summary of summaries) {
    if (isBrowserProbe(summary)) continue
    const group = groups.get(summary.route)
    if (group === undefined) groups.set(summary.route, [summary])
    else group.push(summary)
  }
  const statistics = [...groups].map(([route, group]) => summarize(route, group))
  return statistics.sort((one, other) => other.count - one.count)
}

const worstLimit = 3

function summarize(route: string | null, group: readonly ProfileSummary[]): RouteStatistics {
  const sorted = Float64Array.from(group, ({ duration }) => duration).sort()
  const slowest = group.toSorted((one, other) => other.duration - one.duration).slice(0, worstLimit)
  const failed = group.filter(isError)
  const latest = failed.toSorted((one, other) => other.time - one.time).slice(0, worstLimit)
  // Of none there are no statistics.
  const [worst] = slowest as [ProfileSummary]
  return {
    route,
    count: sorted.length,
    p50: percentile(sorted, 50),
    p95: percentile(sorted, 95),
    p99: percentile(sorted, 99),
    errors: failed.length,
    errorRate: failed.length / sorted.length,
    worst: toWorst(worst),
    slowest: slowest.map(toWorst),
    failed: latest.map(toWorst),
  }
}

/** Whether the server is to blame for how a request ended. */
export function isError({ outcome, status }: ProfileSummary): boolean {
  return status >= 500 || outcome === 'crashed' || outcome === 'stream-failed'
}

function toWorst({ duration, outcome, status, token }: ProfileSummary): WorstProfile {
  return { token, status, outcome, duration }
}

/** By the nearest rank: always a value that there was. */
function percentile(sorted: Float64Array, percent: number): number {
  return Number(sorted[Math.ceil((percent / 100) * sorted.length) - 1])
}

/** How the requests of all routes went. */
export interface RoutesReport {
  /** When the process began that tells, in milliseconds since 1970. */
  readonly startedAt: number
  /** How many main requests there were. */
  readonly requests: number
  readonly routes: readonly RouteReport[]
}

/** How those of a route went, and how before the last restart and since. */
export interface RouteReport extends RouteStatistics {
  /** How many there were on either side. */
  readonly counts: { readonly before: number; readonly since: number }
  /** What has changed; `null` where there were too few requests to tell. */
  readonly changes: Readonly<Record<ComparedField, RouteChange | null>>
}

/** What is compared. */
type ComparedField = 'p50' | 'p95' | 'errorRate'

/** What something was before the restart, and has been since. */
export interface RouteChange {
  readonly before: number
  readonly since: number
}

/** On both sides: a median of fewer says little, and what is rare is not even seen in fewer than twenty. */
export const leastCounts: Readonly<Record<ComparedField, number>> = { p50: 5, p95: 20, errorRate: 20 }

/** Gathers the statistics of routes, over all records that are wanted; sub-requests do not count. */
export async function gatherRoutes(
  storage: Pick<ProfileStorage, 'search'>,
  { filters, sort }: RoutesRequest,
  startedAt: number,
): Promise<RoutesReport> {
  const { summaries } = await storage.search({ filters: [...filters, mainRequests], limit: Number.MAX_SAFE_INTEGER })
  const byRoute = (statistics: readonly RouteStatistics[]) => new Map(statistics.map(each => [each.route, each]))
  const before = byRoute(gatherStatistics(summaries.filter(({ time }) => time < startedAt)))
  const since = byRoute(gatherStatistics(summaries.filter(({ time }) => time >= startedAt)))
  const routes = gatherStatistics(summaries).map(statistics => {
    const spells = [before.get(statistics.route), since.get(statistics.route)] as const
    return { ...statistics, ...compareSpells(...spells) }
  })
  return { startedAt, requests: routes.reduce((sum, { count }) => sum + count, 0), routes: sortRoutes(routes, sort) }
}

function compareSpells(
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
  return { counts, changes: { p50: compare('p50'), p95: compare('p95'), errorRate: compare('errorRate') } }
}

function sortRoutes(routes: readonly RouteReport[], { direction, field }: RoutesRequest['sort']): RouteReport[] {
  const sign = direction === 'ascending' ? 1 : -1
  const compare = (one: RouteReport, other: RouteReport) => {
    if (field !== 'route') return measureStatistics(one, field) - measureStatistics(other, field)
    return (one.route ?? '') < (other.route ?? '') ? -1 : 1
  }
  return routes.toSorted((one, other) => sign * compare(one, other))
}

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
type RouteField = (typeof routeFields)[number]

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
    notes: isUnderstood
      ? notes
      : [...notes, `Routes cannot be sorted by “${wanted}”: the order is by number of requests.`],
  }
}
