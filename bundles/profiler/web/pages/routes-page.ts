import type { Request } from '../../../../lib/http/request.ts'
import type { Response } from '../../../../lib/http/response.ts'
import { processStart } from '../../../../lib/process-start.ts'
import { RouteCollection } from '../../../../lib/routing/route-collection.ts'
import { percentile, sortDurations } from '../../insight/durations.ts'
import { parseListRequest } from '../../insight/list-request.ts'
import {
  describeStatistics,
  gatherRoute,
  gatherRoutes,
  leastForP99,
  parseRoutesRequest,
  type RouteChange,
  type RouteDetails,
  type RouteReport,
  type RoutesReport,
  type RoutesRequest,
  type routeFields,
  usualDirection,
} from '../../insight/routes.ts'
import { type RowFacts, searchMains } from '../../insight/search-list.ts'
import { isError, nameOfWork, toSummaryView } from '../../insight/summary-view.ts'
import type { EditorLinks } from '../../panels/editor-links.ts'
import {
  formatCount,
  formatDuration,
  formatNumber,
  formatShare,
  formatTime,
  shorten,
  toOneLine,
} from '../../profile/format.ts'
import { listLink, liveLink, profileLink, routeLink, routesDataLink, routesLink } from '../../profile/links.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import { unitOf } from '../../profile/units.ts'
import { alternatesOf, type PageForm, type ProfilerApplication, renderPage, respondData } from '../page.ts'
import { createContext, createSearchForm } from './list-page.ts'
import { toPosition } from './live-stream.ts'

/** The start of this process, in milliseconds since 1970. Profiles from before it may be of other code. */
const startedAt = Math.floor(processStart())

/** Renders the statistics of all routes: as a page, or as data. */
export async function renderRoutes(
  form: PageForm,
  request: Request,
  facts: RowFacts,
  app: Pick<ProfilerApplication, 'assets' | 'editor' | 'programs' | 'routes' | 'storage' | 'view'>,
): Promise<Response> {
  const parsed = parseRoutesRequest(request.query)
  const { found, mains, newest, notes } = await searchMains(app.storage, parsed.listed, createContext(request, facts))
  const wanted = { ...parsed, notes: [...new Set([...parsed.notes, ...notes])] }
  const report = gatherRoutes(found, wanted, { program: app.programs.nameOf(), startedAt })
  if (form !== 'html') {
    const { routesToJson, routesToMarkdown } = await import('../../export/lists.ts')
    const routes = routesToJson(report, wanted)
    return respondData(form, routes, () => routesToMarkdown(routes))
  }
  const alternates = alternatesOf(form => routesDataLink(form, wanted.parameters))
  const model = {
    ...toRoutesView(report, wanted, createDeclared(app), mains),
    newest: toPosition(newest),
    alternates,
  }
  return renderPage('profiler/route-statistics', model, request, app)
}

/** Creates the view of the statistics of routes. The choices of its form are those of `mains`. */
export function toRoutesView(
  { durations, requests, routes, startedAt }: RoutesReport,
  wanted: RoutesRequest,
  declared: (program: string | null) => Declared,
  mains: readonly ProfileSummary[] = [],
) {
  const { listed, notes, parameters } = wanted
  const whole = routes.reduce((sum, { total }) => sum + total, 0)
  const hasQueries = routes.some(({ mostQueries }) => mostQueries > 0)
  const hasP99 = routes.some(({ count }) => count >= leastForP99)
  const hasPrograms = new Set(routes.map(({ program }) => program)).size > 1
  const rows = routes.map(report => ({
    ...viewRoute(report, whole, declared(report.program)),
    program: hasPrograms && (report.program ?? ''),
  }))
  const { methods, origins, route } = createSearchForm(parseListRequest(new URLSearchParams(parameters)), mains)
  return {
    title: formatCount(routes.length, 'route'),
    requests: formatCount(requests, routes.every(({ worst }) => unitOf(worst).isExchange) ? 'request' : 'profile'),
    restart: formatTime(startedAt),
    liveLink: liveLink(parameters),
    columns: createColumns(wanted, { hasQueries, hasP99 }),
    hasQueries,
    hasP99,
    hasChanges: rows.some(({ change }) => change.text !== ''),
    scale: `From ${formatDuration(durations[0])} to ${formatDuration(durations[1])}, logarithmic, the same for all routes`,
    rows,
    notes,
    form: {
      route,
      methods,
      origins,
      kept: Object.entries(parameters)
        .filter(([name]) => !['route', 'method', 'program', 'machine'].includes(name))
        .map(([name, value]) => ({ name, value })),
      isFiltering: listed.isFiltering || listed.marks.length > 0,
    },
    allLink: routesLink(),
  }
}

/** The routes of a program, and the links to their places. */
type Declared = readonly [routes: RouteCollection, editor: EditorLinks]

/** Another program may have a route with the name of one of this application: it is declared elsewhere. */
function createDeclared({ editor, programs, routes }: Pick<ProfilerApplication, 'editor' | 'programs' | 'routes'>) {
  const own = programs.list().length === 0 ? null : programs.nameOf()
  return (program: string | null): Declared =>
    own === null || program === null || program === own
      ? [routes, editor]
      : [new RouteCollection(), editor.in(undefined)]
}

/** The columns in their order, which is that of the template. */
const columns: readonly (readonly [field: (typeof routeFields)[number], label: string])[] = [
  ['route', 'Route'],
  ['count', 'Count'],
  ['total', 'Total time'],
  ['p50', 'p50'],
  ['p95', 'p95'],
  ['p99', 'p99'],
  ['worst', 'Slowest'],
  ['queries', 'Queries'],
  ['clientErrors', '4xx'],
  ['errors', 'Failed'],
]

function createColumns(
  { parameters, sort }: RoutesRequest,
  { hasP99, hasQueries }: { readonly hasP99: boolean; readonly hasQueries: boolean },
) {
  const shown = columns.filter(([field]) => (field !== 'queries' || hasQueries) && (field !== 'p99' || hasP99))
  return shown.map(([field, label]) => {
    const sorted = sort.field === field ? sort.direction : ''
    const usual = usualDirection(field)
    // A second click turns the order round.
    const isNextAscending = (usual === 'ascending') !== (sorted === usual)
    const link = routesLink({ ...parameters, sort: field, order: isNextAscending ? 'asc' : 'desc' })
    return { label, link, sorted, isNumber: field !== 'route' }
  })
}

function viewRoute(report: RouteReport, whole: number, [known, editor]: Declared) {
  const { count, distribution, failed, operation, p50, p95, p99, route, total, worst } = report
  const { methods, pattern } = route === null ? { methods: '', pattern: '' } : nameRoute(known, route)
  return {
    ...describeStatistics(report),
    name: nameOfWork(report),
    operation: operation ?? '',
    place: route !== null && editor.viewRoute(route),
    methods,
    pattern,
    link: linkOf(report),
    // Of the total time of all routes, in percent.
    share: (whole === 0 ? 0 : (100 * total) / whole).toFixed(1),
    // A dash with too few requests.
    total: formatDuration(total),
    p50: formatDuration(p50),
    p95: formatDuration(p95),
    p99: count < leastForP99 ? '–' : formatDuration(p99),
    slowest: formatDuration(worst.duration),
    // The latest failed request.
    failedLink: failed[0] === undefined ? '' : profileLink(failed[0].token),
    slowestLink: profileLink(worst.token),
    distribution: drawDistribution(distribution),
    change: viewChange(report),
  }
}

/** A change of the median is coloured if it has this share and this length. */
const noticed = { share: 0.2, milliseconds: 0.5 }

/** The change of the median since the restart; its title has the other changes. */
function viewChange({ changes, counts }: RouteReport) {
  const { errorRate, p50, p95, queries } = changes
  const numbers = `${formatNumber(counts.before)} requests before, ${formatNumber(counts.since)} since`
  if (p50 === null) return { text: '', title: numbers, tone: 'plain' }
  const difference = p50.since - p50.before
  const share = p50.before === 0 ? 0 : difference / p50.before
  const isNoticed = Math.abs(share) >= noticed.share && Math.abs(difference) >= noticed.milliseconds
  const parts = [
    describeChange('p50', p50, formatDuration),
    describeChange('p95', p95, formatDuration),
    describeChange('queries', queries, formatNumber),
    describeChange('failed', errorRate, rate => formatShare(rate, 1)),
  ]
  return {
    text: `${difference < 0 ? '−' : '+'}${Math.abs(100 * share).toFixed(0)} %`,
    title: [...parts.flat(), numbers].join('; '),
    tone: isNoticed ? (difference > 0 ? 'error' : 'ok') : 'plain',
  }
}

function describeChange(label: string, change: RouteChange | null, format: (value: number) => string): string[] {
  if (change === null || (change.before === change.since && label !== 'p50')) return []
  return [`${label} ${format(change.before)} → ${format(change.since)}`]
}

/** The requests in each list of the page. */
const listLength = 5

/** The page of a route and operation. Without a route there is none: the list has its requests. */
function linkOf(report: RouteReport): string {
  const { operation, route } = report
  if (route !== null) return routeLink(report)
  return listLink(operation === null ? { status_code: '404' } : { operation })
}

const textLimit = 120

/**
 * Renders the page of the route that the parameter `name` names, or of one `operation` of it; 404
 * if the application has no such route.
 */
export async function renderRoute(
  request: Request,
  app: Pick<ProfilerApplication, 'assets' | 'editor' | 'inspector' | 'programs' | 'routes' | 'storage' | 'view'>,
): Promise<Response> {
  const name = request.query.get('name') ?? ''
  const operation = request.query.get('operation')
  const program = request.query.get('program')
  const details = await gatherRoute(app.storage, await app.inspector(), { route: name, operation, program })
  const [routes, editor] = createDeclared(app)(program)
  const isUnknown = details === undefined && routes.find(name) === undefined
  const model = {
    title: nameOfWork({ operation, route: name }),
    name,
    operation,
    program: program ?? '',
    newest: toPosition(details?.newest ?? ''),
    heading: nameRoute(routes, name),
    place: editor.viewRoute(name),
    listLink: listLink({ route: name, ...(operation !== null && { operation }), ...(program !== null && { program }) }),
    // A stream loads the page once more when it opens, which would be a second 404.
    liveLink: isUnknown ? '' : liveLink({ route: name }),
    details: details === undefined ? false : viewDetails(details, program),
  }
  return renderPage('profiler/route', model, request, app, isUnknown ? 404 : 200)
}

/** Names a route by its methods and path; by its name if the application does not have it any more. */
function nameRoute(routes: RouteCollection, name: string) {
  const route = routes.find(name)
  return route === undefined
    ? { methods: '', pattern: name }
    : { methods: route.methods.join(', ') || 'any', pattern: route.path.source }
}

function viewDetails(details: RouteDetails, program: string | null) {
  const { errors, findings, machines, queries, read, restarts, statistics, stored, summaries } = details
  const { clientErrors, count, p50, p95, p99 } = statistics
  const texts = describeStatistics(statistics)
  const sorted = sortDurations(summaries)
  const view = (summary: ProfileSummary) => ({
    ...toSummaryView(summary),
    link: profileLink(summary.token),
    duration: formatDuration(summary.duration),
  })
  const slowest = summaries.toSorted((one, other) => other.duration - one.duration)
  return {
    metrics: [
      { name: 'Requests', value: formatNumber(stored) },
      { name: 'Total time', value: formatDuration(statistics.total) },
      { name: 'p50', value: formatDuration(p50) },
      { name: 'p95', value: formatDuration(p95) },
      ...(count < leastForP99 ? [] : [{ name: 'p99', value: formatDuration(p99) }]),
      { name: '5xx and failures', value: texts.errorRate },
      { name: '4xx', value: formatShare(clientErrors, count) },
      ...(texts.queries === '' ? [] : [{ name: 'Queries', value: texts.queries }]),
    ],
    histogram: drawHistogram(sorted, { p50, p95 }),
    overTime: drawOverTime(summaries, restarts),
    slowest: slowest.slice(0, listLength).map(view),
    latest: summaries.slice(0, listLength).map(view),
    read: formatCount(read, 'latest profile'),
    findings: findings.map(({ count, title, token }) => ({
      title,
      share: `${count} of ${read}`,
      link: profileLink(token, 'findings'),
    })),
    errors: errors.map(({ count, fingerprint, latest, name }) => ({
      name,
      count: formatNumber(count),
      latest: toSummaryView(latest).time,
      link:
        fingerprint === ''
          ? profileLink(latest.token)
          : listLink({ error: fingerprint, ...(program !== null && { program }) }),
    })),
    machines: machines.map(({ machine, statistics }) => ({
      ...describeStatistics(statistics),
      name: machine,
      link: listLink({ route: statistics.route ?? '', machine }),
    })),
    queries: queries.map(({ index, perRequest, text, time, token }) => ({
      text: shorten(toOneLine(text), textLimit),
      times: `${Number(perRequest.toFixed(1))} ×`,
      time: formatDuration(time),
      link: `${profileLink(token, 'database')}#query-${index}`,
    })),
  }
}

const binCount = 30

/**
 * Draws the distribution of sorted durations in milliseconds, in a picture of 1,000 by 100 units.
 * The axis is logarithmic if the longest duration is ten times as long as the shortest, otherwise
 * linear. Labels and `marks` are placed in percent of the width.
 */
export function drawHistogram(sorted: Float64Array, marks: Readonly<Record<string, number>>) {
  const [least, most] = [sorted[0] ?? 0, sorted.at(-1) ?? 0]
  const isLogarithmic = least > 0 && most >= 10 * least
  const toAxis = (value: number) => (isLogarithmic ? Math.log10(value) : value)
  const fromAxis = (place: number) => (isLogarithmic ? 10 ** place : place)
  const [first, last] = [toAxis(least), toAxis(most)]
  const size = (last - first) / binCount || 1 / binCount
  const place = (value: number) => (toAxis(value) - first) / (size * binCount)
  const counts = new Array<number>(binCount).fill(0)
  for (const duration of sorted) {
    const bin = Math.min(binCount - 1, Math.floor((toAxis(duration) - first) / size))
    counts[bin] = (counts[bin] ?? 0) + 1
  }
  const highest = Math.max(...counts)
  const rangeOf = (bin: number) =>
    `${formatDuration(fromAxis(first + bin * size))} to ${formatDuration(fromAxis(first + (bin + 1) * size))}`
  return {
    bars: counts.flatMap((count, bin) => {
      if (count === 0) return []
      const height = Math.max(2, (100 * count) / highest)
      const [x, width] = [(1000 * bin) / binCount, 1000 / binCount - 2]
      return {
        x: x.toFixed(1),
        width: width.toFixed(1),
        y: (100 - height).toFixed(1),
        height: height.toFixed(1),
        title: `${rangeOf(bin)}: ${count}`,
      }
    }),
    labels: [0, 1, 2, 3, 4].map(part => ({
      x: `${25 * part}%`,
      label: formatDuration(fromAxis(first + (part / 4) * size * binCount)),
    })),
    marks: Object.entries(marks).map(([label, value]) => {
      const share = Math.min(1, Math.max(0, place(value)))
      // The label of a late mark is on its left.
      return { x: `${(100 * share).toFixed(2)}%`, label, isLate: share > 0.9 }
    }),
    // For screen readers.
    summary: `Most requests took ${rangeOf(counts.indexOf(highest))}.`,
  }
}

const columnCount = 60

/**
 * Draws the durations of requests over time, with the starts of processes, in a picture of 1,000 by
 * 100 units. A column is a part of the time: it begins at the median and ends at the 95th percentile.
 */
export function drawOverTime(summaries: readonly ProfileSummary[], restarts: readonly number[]) {
  const times = summaries.map(({ time }) => time)
  const first = times.reduce((one, other) => Math.min(one, other))
  const last = times.reduce((one, other) => Math.max(one, other))
  const span = Math.max(1, last - first)
  const groups = Array.from({ length: columnCount }, (): ProfileSummary[] => [])
  for (const summary of summaries) {
    groups[Math.min(columnCount - 1, Math.floor((columnCount * (summary.time - first)) / span))]?.push(summary)
  }
  const measured = groups.flatMap((group, column) => {
    if (group.length === 0) return []
    const sorted = sortDurations(group)
    return { group, column, median: percentile(sorted, 50), high: percentile(sorted, 95) }
  })
  const highest = Math.max(...measured.map(({ high }) => high), 0.001)
  return {
    columns: measured.map(({ column, group, high, median }) => {
      const [y, height] = [100 - (98 * high) / highest, Math.max(2, (98 * (high - median)) / highest)]
      const failed = group.filter(isError).length
      return {
        x: ((1000 * column) / columnCount).toFixed(1),
        width: (1000 / columnCount - 2).toFixed(1),
        y: Math.min(98, y).toFixed(1),
        height: height.toFixed(1),
        hasErrors: failed > 0,
        title: `${group.length} × median ${formatDuration(median)}, p95 ${formatDuration(high)}${failed > 0 ? `, ${failed} failed` : ''}`,
      }
    }),
    restarts: restarts
      .filter(time => time >= first && time <= last)
      .map(time => ({ x: ((1000 * (time - first)) / span).toFixed(1), label: formatTime(time).iso })),
    first: formatTime(first),
    last: formatTime(last),
    highest: formatDuration(highest),
  }
}

/** Draws a distribution as the lines of a path, in a picture of 96 by 20 units: each is the middle of a bar. */
function drawDistribution(counts: readonly number[]): string {
  const highest = Math.max(...counts)
  const width = 96 / counts.length
  const lines = counts.map((count, step) => {
    if (count === 0) return ''
    return `M${(step + 0.5) * width} 20V${Number((20 - Math.max(2, (20 * count) / highest)).toFixed(1))}`
  })
  return lines.join('')
}
