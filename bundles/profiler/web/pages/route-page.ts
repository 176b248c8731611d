import type { Request } from '../../../../lib/http/request.ts'
import type { Response } from '../../../../lib/http/response.ts'
import type { Route } from '../../../../lib/routing/route.ts'
import type { RouteCollection } from '../../../../lib/routing/route-collection.ts'
import { gatherRoute, leastForP99, type RouteDetails } from '../../insight/routes.ts'
import { isError, toSummaryView } from '../../insight/summary-view.ts'
import { formatCount, formatDuration, formatNumber, formatShare, shorten, toOneLine } from '../../profile/format.ts'
import { home, listLink, profileLink } from '../../profile/links.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { renderPage } from '../respond.ts'
import { drawHistogram, drawOverTime } from './route-charts.ts'

/** The requests in each list of the page. */
const listLength = 5

const textLimit = 120

/** Renders the page of the route that the parameter `name` names; 404 if the application has no such route. */
export async function renderRoute(
  request: Request,
  app: Pick<ProfilerApplication, 'assets' | 'editor' | 'inspector' | 'routes' | 'storage' | 'view'>,
): Promise<Response> {
  const name = request.query.get('name') ?? ''
  const details = await gatherRoute(app.storage, await app.inspector(), name)
  const isUnknown = details === undefined && app.routes.find(name) === undefined
  const model = {
    title: name,
    name,
    heading: nameRoute(app.routes, name),
    place: app.editor.viewRoute(name),
    listLink: listLink({ route: name }),
    // A stream loads the page once more when it opens, which would be a second 404.
    liveLink: isUnknown ? '' : `${home}live?${new URLSearchParams({ route: name })}`,
    details: details === undefined ? false : viewDetails(details),
  }
  return renderPage('profiler/route', model, request, app, isUnknown ? 404 : 200)
}

/** Names a route by its methods and path; by its name if the application does not have it any more. */
export function nameRoute(
  routes: RouteCollection,
  name: string,
): { readonly methods: string; readonly pattern: string } {
  const route: Route | undefined = routes.find(name)
  return route === undefined
    ? { methods: '', pattern: name }
    : { methods: route.methods.join(', ') || 'any', pattern: route.path.source }
}

function viewDetails(details: RouteDetails) {
  const { errors, findings, machines, queries, read, restarts, statistics, stored, summaries } = details
  const { clientErrors, count, errorRate, mostQueries, p50, p95, p99, total } = statistics
  const sorted = Float64Array.from(summaries, ({ duration }) => duration).sort()
  const view = (summary: ProfileSummary) => ({ ...toSummaryView(summary), link: profileLink(summary.token) })
  const slowest = summaries.toSorted((one, other) => other.duration - one.duration)
  return {
    metrics: [
      { name: 'Requests', value: formatNumber(stored) },
      { name: 'Total time', value: formatDuration(total) },
      { name: 'p50', value: formatDuration(p50) },
      { name: 'p95', value: formatDuration(p95) },
      ...(count < leastForP99 ? [] : [{ name: 'p99', value: formatDuration(p99) }]),
      { name: '5xx and failures', value: formatShare(errorRate, 1) },
      { name: '4xx', value: formatShare(clientErrors, count) },
      ...(mostQueries === 0
        ? []
        : [
            {
              name: 'Queries: median, most',
              value: `${formatNumber(statistics.queries)}, ${formatNumber(mostQueries)}`,
            },
          ]),
    ],
    histogram: drawHistogram(sorted, { p50, p95 }),
    overTime: drawOverTime(summaries, restarts, isError),
    slowest: slowest.slice(0, listLength).map(view),
    latest: summaries.slice(0, listLength).map(view),
    read: formatCount(read, 'latest profile'),
    findings: findings.map(({ count, rule, title, token }) => ({
      title,
      rule,
      share: `${count} of ${read}`,
      link: profileLink(token, 'findings'),
    })),
    errors: errors.map(({ count, fingerprint, latest, name }) => ({
      name,
      count: formatNumber(count),
      latest: toSummaryView(latest).time,
      link: fingerprint === '' ? profileLink(latest.token) : listLink({ error: fingerprint }),
    })),
    machines: machines.map(({ machine, statistics: { count, errors, p50, p95, route } }) => ({
      name: machine,
      link: listLink({ route: route ?? '', machine }),
      count: formatNumber(count),
      p50: formatDuration(p50),
      p95: formatDuration(p95),
      errors: errors === 0 ? '' : formatNumber(errors),
    })),
    queries: queries.map(({ index, perRequest, text, time, token }) => ({
      text: shorten(toOneLine(text), textLimit),
      times: `${Number(perRequest.toFixed(1))} ×`,
      time: formatDuration(time),
      link: `${profileLink(token, 'database')}#query-${index}`,
    })),
  }
}
