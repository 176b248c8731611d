import type { ProfileSummary } from '../profile.ts'

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
  readonly worst: { readonly token: string; readonly duration: number }
}

/** Gathers summaries of main requests by route; most requests first. */
export function gatherStatistics(summaries: Iterable<ProfileSummary>): RouteStatistics[] {
  const groups = new Map<string | null, Group>()
  for (const summary of summaries) {
    let group = groups.get(summary.route)
    if (group === undefined) {
      group = { durations: [], errors: 0, worst: summary }
      groups.set(summary.route, group)
    }
    group.durations.push(summary.duration)
    if (summary.status >= 500 || summary.outcome === 'crashed') group.errors++
    if (summary.duration > group.worst.duration) group.worst = summary
  }
  const statistics = [...groups].map(([route, group]) => summarize(route, group))
  return statistics.sort((one, other) => other.count - one.count)
}

interface Group {
  readonly durations: number[]
  errors: number
  worst: ProfileSummary
}

function summarize(route: string | null, { durations, errors, worst }: Group): RouteStatistics {
  const sorted = Float64Array.from(durations).sort()
  const { duration, token } = worst
  return {
    route,
    count: sorted.length,
    p50: percentile(sorted, 50),
    p95: percentile(sorted, 95),
    p99: percentile(sorted, 99),
    errors,
    errorRate: errors / sorted.length,
    worst: { token, duration },
  }
}

/** By the nearest rank: always a value that there was. */
function percentile(sorted: Float64Array, percent: number): number {
  return Number(sorted[Math.ceil((percent / 100) * sorted.length) - 1])
}
