import { formatCount } from '../format/format-count.ts'
import { formatDuration } from '../format/format-duration.ts'
import { formatShare } from '../format/format-share.ts'
import { formatMoment } from '../format/format-soft.ts'
import type { RouteReport } from '../pages/gather-routes.ts'
import { toList, toSpan } from './markdown/text.ts'
import type { PublicRoutes } from './routes-to-json.ts'

/** Writes the statistics of routes as Markdown: an item a route. Nothing that was recorded can become structure. */
export function routesToMarkdown({ notes, requests, routes, startedAt }: PublicRoutes): string {
  const parts = [
    `# ${formatCount(requests, 'request')} of ${formatCount(routes.length, 'route')}`,
    toList(notes, notes.length, toSpan),
    `The server was restarted last at ${formatMoment(startedAt)}.`,
    toList(routes, routes.length, writeRoute),
  ]
  return `${parts.filter(part => part !== '').join('\n\n')}\n`
}

function writeRoute({ changes, count, errorRate, failed, p50, p95, p99, route, slowest }: RouteReport): string {
  const { errorRate: errors, p50: median, p95: slow } = changes
  const facts = [
    `${route === null ? 'no route' : toSpan(route)}: ${formatCount(count, 'request')}`,
    `p50 ${formatDuration(p50)}, p95 ${formatDuration(p95)}, p99 ${formatDuration(p99)}`,
    `${formatShare(errorRate, 1)} errors`,
    `slowest ${slowest.map(({ duration, token }) => `${toSpan(token)} ${formatDuration(duration)}`).join(', ')}`,
    ...(failed.length === 0
      ? []
      : [`failed ${failed.map(({ status, token }) => `${toSpan(token)} ${status}`).join(', ')}`]),
    ...(median === null
      ? []
      : [`since the restart p50 ${formatDuration(median.before)} → ${formatDuration(median.since)}`]),
    ...(slow === null ? [] : [`p95 ${formatDuration(slow.before)} → ${formatDuration(slow.since)}`]),
    ...(errors === null ? [] : [`errors ${formatShare(errors.before, 1)} → ${formatShare(errors.since, 1)}`]),
  ]
  return facts.join('; ')
}
