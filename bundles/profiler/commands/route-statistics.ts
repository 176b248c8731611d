import type { Outcome, ProfileSummary } from '../profile.ts'
import { isBrowserProbe } from '../reading/find-latest.ts'

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
  readonly worst: WorstRecord
  /** The slowest three, the slowest first. */
  readonly slowest: readonly WorstRecord[]
  /** Of those that count as errors, the latest three, the latest first. */
  readonly failed: readonly WorstRecord[]
}

/** A record to be looked at. */
export interface WorstRecord {
  readonly token: string
  readonly status: number
  readonly outcome: Outcome
  readonly duration: number
}

/** What statistics can be sorted by. */
export const statisticFields = ['count', 'p50', 'p95', 'p99', 'errors', 'worst'] as const

/** One of them. */
export type StatisticField = (typeof statisticFields)[number]

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

function toWorst({ duration, outcome, status, token }: ProfileSummary): WorstRecord {
  return { token, status, outcome, duration }
}

/** By the nearest rank: always a value that there was. */
function percentile(sorted: Float64Array, percent: number): number {
  return Number(sorted[Math.ceil((percent / 100) * sorted.length) - 1])
}
