import { formatCount, formatDuration, formatNumber, formatShare } from '../profile/format.ts'
import { groupBy } from '../profile/group-by.ts'
import { isOwnRoute } from '../profile/links.ts'
import type { Outcome, Profile, ProfileSummary } from '../profile/profile.ts'
import { type UnitType, unitOf } from '../profile/units.ts'
import { workTime } from '../profile/work.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { readQueries, shapeOf } from '../subjects/queries/read.ts'
import { addCalled, readProfiles } from './called.ts'
import { leastForMedian, percentile, sortDurations } from './durations.ts'
import type { Inspector } from './findings/inspector.ts'
import { type ListRequest, parseListRequest } from './list-request.ts'
import { among, mainRequests } from './relatives.ts'
import { readProcessStart } from './since-edit.ts'
import { isBrowserProbe, isError, nameOfWork, workOf } from './summary-view.ts'

/** Statistics of the requests of one route, and of one operation of it. Times are in milliseconds. */
export interface RouteStatistics {
  /** `null` for requests without a matching route. */
  readonly route: string | null
  /** What the requests do inside of their protocol, such as `query Books`; `null` if it is not known. */
  readonly operation: string | null
  readonly program: string | null
  readonly count: number
  /** The durations of all requests. */
  readonly total: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  /** The queries of databases in a request: the median. */
  readonly queries: number
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
  readonly type: UnitType
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
 * Writes the statistics of a route for people: pages, Markdown, the console and MCP choose from
 * these texts. A number of 0 is empty.
 */
export function describeStatistics(statistics: RouteStatistics) {
  const { clientErrors, count, errorRate, errors, mostQueries, queries, total, worst } = statistics
  const p50 = formatDuration(statistics.p50)
  const p95 = formatDuration(statistics.p95)
  const p99 = formatDuration(statistics.p99)
  const orEmpty = (number: number, text = formatNumber(number)) => (number === 0 ? '' : text)
  return {
    count: formatNumber(count),
    requests: formatCount(count, unitOf(worst).noun),
    total: formatDuration(total),
    p50,
    p95,
    p99,
    percentiles: `p50 ${p50}, p95 ${p95}, p99 ${p99}`,
    queries: orEmpty(
      mostQueries,
      queries === mostQueries ? undefined : `${formatNumber(queries)} to ${formatNumber(mostQueries)}`,
    ),
    queryCounts: orEmpty(mostQueries, `queries: median ${formatNumber(queries)}, most ${formatNumber(mostQueries)}`),
    errors: orEmpty(errors),
    errorRate: formatShare(errorRate, 1),
    clientErrors: orEmpty(clientErrors),
    slowest: formatDuration(worst.duration),
  }
}

/**
 * Groups summaries of main requests by route and operation, without the probes of browsers and the
 * profiler's own pages. The group with the most requests is first.
 */
export function gatherStatistics(summaries: Iterable<ProfileSummary>): RouteStatistics[] {
  const groups = groupBy(Array.from(summaries).filter(isOfApplication), workOf)
  const statistics = [...groups.values()].map(summarize)
  return statistics.sort((one, other) => other.count - one.count)
}

function isOfApplication(summary: ProfileSummary): boolean {
  return !isBrowserProbe(summary) && !isOwnRoute(summary.route ?? '')
}

const worstLimit = 3

/** A group has at least one request. */
function summarize(group: readonly ProfileSummary[]): RouteStatistics {
  const sorted = sortDurations(group)
  const queries = Float64Array.from(group, ({ queries }) => queries).sort()
  const slowest = group.toSorted((one, other) => other.duration - one.duration).slice(0, worstLimit)
  const failed = group.filter(isError)
  const latest = failed.toSorted((one, other) => other.time - one.time).slice(0, worstLimit)
  const [worst] = slowest as [ProfileSummary]
  const { operation, program, route } = worst
  return {
    route,
    operation,
    program,
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

function toWorst({ duration, outcome, status, token, type }: ProfileSummary): WorstProfile {
  return { token, type, status, outcome, duration }
}

/** Statistics of all routes. */
export interface RoutesReport {
  /** The start of the current process, in milliseconds since 1970. */
  readonly startedAt: number
  /** The number of main requests. */
  readonly requests: number
  /** The shortest and the longest duration of all routes: the scale of their distributions. */
  readonly durations: readonly [least: number, most: number]
  readonly routes: readonly RouteReport[]
}

/** Statistics of one route, with a comparison of before and after the last restart. */
export interface RouteReport extends RouteStatistics {
  /**
   * The numbers of its requests by duration, in equal steps of {@link RoutesReport.durations} on a logarithmic scale.
   */
  readonly distribution: readonly number[]
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
const leastCounts: Readonly<Record<ComparedField, number>> = {
  p50: leastForMedian,
  queries: leastForMedian,
  p95: 20,
  errorRate: 20,
}

/** With fewer requests, the 99th percentile is the slowest request. */
export const leastForP99 = 100

/**
 * Computes the statistics of routes. Sub-requests do not count, also those whose main request is
 * not stored. Of programs that have not restarted at that moment, nothing is compared.
 */
export function gatherRoutes(
  found: readonly ProfileSummary[],
  { sort }: RoutesRequest,
  { program, startedAt }: Restart,
): RoutesReport {
  const summaries = found.filter(summary => summary.parent === null && isOfApplication(summary))
  const byRoute = (statistics: readonly RouteStatistics[]) => new Map(statistics.map(each => [workOf(each), each]))
  const before = byRoute(gatherStatistics(summaries.filter(({ time }) => time < startedAt)))
  const since = byRoute(gatherStatistics(summaries.filter(({ time }) => time >= startedAt)))
  const statistics = gatherStatistics(summaries)
  const groups = groupBy(summaries, workOf)
  const sorted = sortDurations(summaries)
  const durations = [sorted[0] ?? 0, sorted.at(-1) ?? 0] as const
  const routes = statistics.map(statistics => {
    const work = workOf(statistics)
    return {
      ...statistics,
      distribution: countDurations(groups.get(work) ?? [], durations),
      ...compareWithBefore(before.get(work), statistics.program === program ? since.get(work) : undefined),
    }
  })
  const requests = routes.reduce((sum, { count }) => sum + count, 0)
  return { startedAt, requests, durations, routes: sortRoutes(routes, sort) }
}

/** The current process: its program, and its start, in milliseconds since 1970. */
interface Restart {
  readonly program: string | null
  readonly startedAt: number
}

const stepCount = 24

/** Shorter durations are in the first step: a logarithm of 0 is no number. */
const leastDuration = 0.01

/** Counts durations in equal steps of a logarithmic scale. */
function countDurations(
  summaries: readonly ProfileSummary[],
  [least, most]: RoutesReport['durations'],
): RouteReport['distribution'] {
  const place = (duration: number) => Math.log(Math.max(leastDuration, duration))
  const [first, span] = [place(least), place(most) - place(least)]
  const counts = new Array<number>(stepCount).fill(0)
  for (const { duration } of summaries) {
    const step = span === 0 ? 0 : Math.min(stepCount - 1, Math.floor((stepCount * (place(duration) - first)) / span))
    counts[step] = (counts[step] ?? 0) + 1
  }
  return counts
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
    return nameOfWork(one) < nameOfWork(other) ? -1 : 1
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

/** The requests of one route. Times are in milliseconds. */
export interface RouteDetails {
  readonly statistics: RouteStatistics
  /** The latest requests, the newest first. */
  readonly summaries: readonly ProfileSummary[]
  /** The token of the request that was appended last. */
  readonly newest: string
  /** The number of stored requests; the other values are those of the latest 5,000. */
  readonly stored: number
  /** The starts of processes between the first and the last request, in milliseconds since 1970. */
  readonly restarts: readonly number[]
  /** How many of the latest profiles were read for findings and queries. */
  readonly read: number
  /** The findings of these profiles, the most frequent first. */
  readonly findings: readonly FindingCount[]
  readonly errors: readonly ErrorCount[]
  /** The statistics of each machine, by name; empty with one machine. */
  readonly machines: readonly MachineStatistics[]
  /** The statements of these profiles, those with the most time first. */
  readonly queries: readonly UsualQuery[]
}

/** A rule with findings. */
interface FindingCount {
  readonly rule: string
  readonly title: string
  /** The number of profiles with such a finding. */
  readonly count: number
  /** The latest profile with such a finding. */
  readonly token: string
}

/** An error that requests have in common. */
interface ErrorCount {
  readonly fingerprint: string
  readonly name: string
  readonly count: number
  readonly latest: ProfileSummary
}

/** The requests that a machine has answered. */
interface MachineStatistics {
  readonly machine: string
  readonly statistics: RouteStatistics
}

/** A statement of the route. */
interface UsualQuery {
  readonly text: string
  readonly system: string
  /** In a request with the statement, on average. */
  readonly perRequest: number
  /** Milliseconds in a request with the statement, on average. */
  readonly time: number
  /** The latest profile with it, and the query there. */
  readonly token: string
  readonly index: number
}

/** The route whose requests are wanted: by default those of all its operations, of whatever program. */
interface WantedRoute {
  readonly route: string
  readonly operation?: string | null
  readonly program?: string | null
}

/** These bounds keep the page of a route fast, whatever the store contains. */
const summaryLimit = 5000
const profileLimit = 30
const listLimit = 5

/** Reads the details of a route of a program, or of one operation of it; `undefined` if no request of it is stored. */
export async function gatherRoute(
  storage: Pick<ProfileStorage, 'find' | 'search'>,
  inspector: Inspector,
  { operation = null, program = null, route }: WantedRoute,
): Promise<RouteDetails | undefined> {
  const filters = [
    mainRequests,
    ...among('route', route),
    ...among('operation', operation),
    ...among('program', program),
  ]
  const { summaries: found, total } = await storage.search({ filters, limit: summaryLimit })
  const summaries = found.filter(isOfApplication).toSorted((one, other) => other.time - one.time)
  if (summaries.length === 0) return undefined
  const read = await readProfiles(storage, summaries.slice(0, profileLimit))
  // One profile of each part of the time is read, so that older restarts are found, too.
  const spread = Array.from({ length: profileLimit }, (_, part) =>
    summaries.at(Math.floor((part * summaries.length) / profileLimit)),
  ).filter(summary => summary !== undefined)
  const starts = (await readProfiles(storage, spread)).map(profile => readProcessStart(profile) ?? 0)
  const first = summaries.at(-1)?.time ?? 0
  return {
    statistics: summarize(summaries),
    summaries,
    newest: found[0]?.token ?? '',
    stored: total,
    restarts: [...new Set(starts)].filter(time => time > first).sort((one, other) => one - other),
    read: read.length,
    findings: countFindings(await addCalled(read, storage, 0), inspector),
    errors: countErrors(summaries.filter(summary => summary.fingerprint !== null || isError(summary))),
    machines: gatherMachines(summaries),
    queries: gatherQueries(read),
  }
}

function gatherMachines(summaries: readonly ProfileSummary[]): MachineStatistics[] {
  const groups = groupBy(summaries, ({ machine }) => machine ?? 'unknown')
  if (groups.size < 2) return []
  const all = [...groups].map(([machine, group]) => ({ machine, statistics: summarize(group) }))
  return all.sort((one, other) => one.machine.localeCompare(other.machine, 'en'))
}

function countFindings(profiles: readonly Profile[], inspector: Inspector): FindingCount[] {
  const counts = new Map<string, FindingCount>()
  for (const profile of profiles) {
    const titles = new Map(inspector.inspect(profile).map(({ rule, title }) => [rule, title]))
    for (const [rule, title] of titles) {
      const { count = 0, token = profile.summary.token } = counts.get(rule) ?? {}
      counts.set(rule, { rule, title, count: count + 1, token })
    }
  }
  return [...counts.values()].sort((one, other) => other.count - one.count)
}

function countErrors(failed: readonly ProfileSummary[]): ErrorCount[] {
  const counts = new Map<string, ErrorCount>()
  for (const summary of failed) {
    const { exception, fingerprint, outcome, status } = summary
    const name = exception ?? (outcome === 'complete' ? String(status) : outcome.replace('-', ' '))
    const key = fingerprint ?? name
    const { count = 0, latest = summary } = counts.get(key) ?? {}
    counts.set(key, { fingerprint: fingerprint ?? '', name, count: count + 1, latest })
  }
  return [...counts.values()].sort((one, other) => other.count - one.count).slice(0, listLimit)
}

function gatherQueries(profiles: readonly Profile[]): UsualQuery[] {
  const shapes = new Map<string, { first: UsualQuery; count: number; time: number; tokens: Set<string> }>()
  for (const profile of profiles) {
    const { token } = profile.summary
    for (const query of readQueries(profile).database.queries) {
      const { index, system, text } = query
      const key = shapeOf(query)
      const first = { text, system, perRequest: 0, time: 0, token, index }
      const shape = shapes.get(key) ?? { first, count: 0, time: 0, tokens: new Set() }
      shapes.set(key, shape)
      shape.count++
      shape.time += workTime(query)
      shape.tokens.add(token)
    }
  }
  return [...shapes.values()]
    .sort((one, other) => other.time - one.time)
    .slice(0, listLimit)
    .map(({ count, first, time, tokens }) => ({ ...first, perRequest: count / tokens.size, time: time / tokens.size }))
}
