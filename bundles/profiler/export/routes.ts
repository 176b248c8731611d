import type { RouteReport, RoutesReport, RoutesRequest } from '../insight/route-statistics.ts'
import { formatCount, formatDuration, formatShare } from '../profile/format.ts'
import { formatMoment } from '../profile/format-value.ts'
import { profileDataLink, routesDataLink, routesLink } from '../profile/links.ts'
import { schemaVersion } from '../profile/profile.ts'
import { toList, toSpan } from './markdown-text.ts'

/** The JSON of the route statistics; `docs/reference/profile.md` describes it. */
interface PublicRoutes extends RoutesReport {
  readonly schemaVersion: typeof schemaVersion
  /** Sentences about parameters that are ignored or corrected. */
  readonly notes: readonly string[]
  readonly routes: readonly (RouteReport & { readonly link: string })[]
  /** Paths on the server. */
  readonly links: { readonly self: string; readonly html: string; readonly markdown: string }
}

/** Creates the JSON of the route statistics. Each route links to its slowest profile. */
export function routesToJson(
  { requests, routes, startedAt }: RoutesReport,
  { notes, parameters }: RoutesRequest,
): PublicRoutes {
  return {
    schemaVersion,
    startedAt,
    requests,
    notes,
    routes: routes.map(route => ({ ...route, link: profileDataLink(route.worst.token, 'json') })),
    links: {
      self: routesDataLink('json', parameters),
      html: routesLink(parameters),
      markdown: routesDataLink('md', parameters),
    },
  }
}

/** Writes the route statistics as Markdown, one list item per route. Recorded texts cannot become Markdown syntax. */
export function routesToMarkdown({ notes, requests, routes, startedAt }: PublicRoutes): string {
  const parts = [
    `# ${formatCount(requests, 'request')} of ${formatCount(routes.length, 'route')}`,
    toList(notes, notes.length, toSpan),
    `Last restart of the server: ${formatMoment(startedAt)}.`,
    toList(routes, routes.length, writeRoute),
  ]
  return `${parts.filter(part => part !== '').join('\n\n')}\n`
}

function writeRoute(report: RouteReport): string {
  const {
    changes,
    clientErrors,
    count,
    errorRate,
    failed,
    mostQueries,
    p50,
    p95,
    p99,
    queries,
    route,
    slowest,
    total,
  } = report
  const { errorRate: errors, p50: median, p95: slow, queries: changed } = changes
  const facts = [
    `${route === null ? 'no route' : toSpan(route)}: ${formatCount(count, 'request')}`,
    `total ${formatDuration(total)}`,
    `p50 ${formatDuration(p50)}, p95 ${formatDuration(p95)}, p99 ${formatDuration(p99)}`,
    ...(mostQueries === 0 ? [] : [`queries: median ${queries}, most ${mostQueries}`]),
    `${formatShare(errorRate, 1)} errors`,
    ...(clientErrors === 0 ? [] : [`${formatCount(clientErrors, 'response')} with a status of 4xx`]),
    `slowest ${slowest.map(({ duration, token }) => `${toSpan(token)} ${formatDuration(duration)}`).join(', ')}`,
    ...(failed.length === 0
      ? []
      : [`failed ${failed.map(({ status, token }) => `${toSpan(token)} ${status}`).join(', ')}`]),
    ...(median === null
      ? []
      : [`since the restart p50 ${formatDuration(median.before)} → ${formatDuration(median.since)}`]),
    ...(slow === null ? [] : [`p95 ${formatDuration(slow.before)} → ${formatDuration(slow.since)}`]),
    ...(changed === null || changed.before + changed.since === 0
      ? []
      : [`queries ${changed.before} → ${changed.since}`]),
    ...(errors === null ? [] : [`errors ${formatShare(errors.before, 1)} → ${formatShare(errors.since, 1)}`]),
  ]
  return facts.join('; ')
}
