import { gatherStatistics, measureStatistics, type RouteStatistics } from '../commands/route-statistics.ts'
import { mainRequests } from '../reading/main-requests.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import type { RoutesRequest } from './parse-routes-request.ts'

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
export type ComparedField = 'p50' | 'p95' | 'errorRate'

/** What something was before the restart, and has been since. */
export interface RouteChange {
  readonly before: number
  readonly since: number
}

/** On both sides: a median of fewer says little, and what is rare is not even seen in fewer than twenty. */
export const enough: Readonly<Record<ComparedField, number>> = { p50: 5, p95: 20, errorRate: 20 }

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
    return Math.min(counts.before, counts.since) < enough[field] ? null : { before: before[field], since: since[field] }
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
