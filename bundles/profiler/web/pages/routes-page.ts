import type { Request } from '../../../../lib/http/request.ts'
import type { Response } from '../../../../lib/http/response.ts'
import { routesToJson, routesToMarkdown } from '../../export/routes.ts'
import { parseListRequest } from '../../insight/list-request.ts'
import {
  gatherRoutes,
  leastCounts,
  parseRoutesRequest,
  type RouteChange,
  type RouteReport,
  type RoutesReport,
  type RoutesRequest,
  routeFields,
  usualDirection,
  type WorstProfile,
} from '../../insight/route-statistics.ts'
import {
  type FormattedTime,
  formatCount,
  formatDuration,
  formatNumber,
  formatShare,
  formatTime,
} from '../../profile/format.ts'
import { type DataForm, listLink, profileLink, routesDataLink, routesLink } from '../../profile/links.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { renderPage } from '../respond.ts'
import { respondData } from './data-pages.ts'
import { type Choice, createSearchForm } from './search-form.ts'

/** The start of this process, in milliseconds since 1970. Older profiles may be of other code. */
const startedAt = Math.floor(performance.timeOrigin)

/** Renders the statistics of all routes: as a page, or as data. */
export async function renderRoutes(
  form: 'html' | DataForm,
  request: Request,
  app: Pick<ProfilerApplication, 'assets' | 'storage' | 'view'>,
): Promise<Response> {
  const wanted = parseRoutesRequest(request.query)
  const report = await gatherRoutes(app.storage, wanted, startedAt)
  if (form !== 'html') {
    const routes = routesToJson(report, wanted)
    return respondData(form, routes, () => routesToMarkdown(routes))
  }
  const alternates = [
    { type: 'application/json', link: routesDataLink('json', wanted.parameters) },
    { type: 'text/markdown', link: routesDataLink('md', wanted.parameters) },
  ]
  return renderPage('profiler/route-statistics', { ...toRoutesView(report, wanted), alternates }, request, app)
}

/** The content of the page of routes. */
interface RoutesView {
  readonly title: string
  readonly requests: string
  readonly restart: FormattedTime
  readonly enough: typeof leastCounts
  readonly columns: readonly RouteColumn[]
  readonly hasQueries: boolean
  readonly rows: readonly RouteRow[]
  readonly notes: readonly string[]
  readonly form: RoutesForm
  /** Without filters. */
  readonly allLink: string
}

interface RoutesForm {
  readonly route: string
  readonly methods: readonly Choice[]
  readonly kept: readonly { readonly name: string; readonly value: string }[]
  readonly isFiltering: boolean
}

interface RouteColumn {
  readonly label: string
  readonly link: string
  /** `ascending`, `descending`, or empty. */
  readonly sorted: string
  readonly isNumber: boolean
}

interface RouteRow {
  readonly name: string
  /** The list of its profiles; empty for requests without a route. */
  readonly link: string
  readonly count: string
  readonly p50: string
  readonly p95: string
  readonly p99: string
  /** Whether the table has a column for queries. */
  readonly hasQueries: boolean
  /** In a request: the median, and the most. */
  readonly queries: string
  readonly mostQueries: string
  /** The length of the bar of p95, in hundredths of the longest. */
  readonly share: string
  readonly errors: string
  readonly hasErrors: boolean
  readonly slowest: readonly RecordView[]
  readonly failed: readonly RecordView[]
  readonly changes: readonly ChangeView[]
  /** Why there are no changes; empty when there are some. */
  readonly remark: string
}

interface RecordView {
  readonly token: string
  readonly link: string
  readonly text: string
}

/** A change since the restart. */
interface ChangeView {
  readonly label: string
  readonly before: string
  readonly since: string
  readonly difference: string
  readonly tone: 'ok' | 'error' | 'plain'
}

/** Creates the view of the statistics of routes. */
export function toRoutesView({ requests, routes, startedAt }: RoutesReport, wanted: RoutesRequest): RoutesView {
  const { filters, notes, parameters } = wanted
  const longest = Math.max(0, ...routes.map(({ p95 }) => p95))
  const hasQueries = routes.some(({ mostQueries }) => mostQueries > 0)
  const { methods, route } = createSearchForm(parseListRequest(new URLSearchParams(parameters)))
  return {
    title: formatCount(routes.length, 'route'),
    requests: formatCount(requests, 'request'),
    restart: formatTime(startedAt),
    enough: leastCounts,
    columns: createColumns(wanted, hasQueries),
    hasQueries,
    rows: routes.map(report => viewRoute(report, longest, hasQueries)),
    notes,
    form: {
      route,
      methods,
      kept: Object.entries(parameters)
        .filter(([name]) => name !== 'route' && name !== 'method')
        .map(([name, value]) => ({ name, value })),
      isFiltering: filters.length > 0,
    },
    allLink: routesLink(),
  }
}

const labels: Readonly<Record<(typeof routeFields)[number], string>> = {
  route: 'Route',
  count: 'Requests',
  p50: 'p50',
  p95: 'p95',
  p99: 'p99',
  queries: 'Queries',
  mostQueries: 'Most queries',
  errors: 'Errors',
  worst: 'Slowest',
}

/** The columns of an application without a database would be empty. */
const queryFields: readonly string[] = ['queries', 'mostQueries']

function createColumns({ parameters, sort }: RoutesRequest, hasQueries: boolean): RouteColumn[] {
  const fields = routeFields.filter(field => hasQueries || !queryFields.includes(field))
  return fields.map(field => {
    const sorted = sort.field === field ? sort.direction : ''
    const usual = usualDirection(field)
    const next = sorted === usual ? (usual === 'ascending' ? 'desc' : 'asc') : usual === 'ascending' ? 'asc' : 'desc'
    const link = routesLink({ ...parameters, sort: field, order: next })
    return { label: labels[field], link, sorted, isNumber: field !== 'route' && field !== 'worst' }
  })
}

function viewRoute(report: RouteReport, longest: number, hasQueries: boolean): RouteRow {
  const { changes, count, counts, errorRate, errors, failed } = report
  const { mostQueries, p50, p95, p99, queries, route, slowest } = report
  const viewed = [
    ...viewChange('p50', changes.p50, viewTime),
    ...viewChange('p95', changes.p95, viewTime),
    ...viewChange('queries', hasQueries ? changes.queries : null, viewQueries),
    ...viewChange('errors', changes.errorRate, viewRate),
  ]
  return {
    name: route ?? '',
    link: route === null ? '' : listLink({ route, limit: '25' }),
    count: count.toLocaleString('en'),
    p50: formatDuration(p50),
    p95: formatDuration(p95),
    p99: formatDuration(p99),
    hasQueries,
    queries: formatNumber(queries),
    mostQueries: formatNumber(mostQueries),
    share: (longest === 0 ? 0 : (100 * p95) / longest).toFixed(1),
    errors: formatShare(errorRate, 1),
    hasErrors: errors > 0,
    slowest: slowest.map(record => viewRecord(record, formatDuration(record.duration))),
    failed: failed.map(record =>
      viewRecord(record, record.status < 500 ? record.outcome.replace('-', ' ') : String(record.status)),
    ),
    changes: viewed,
    remark: viewed.length > 0 ? '' : remarkOn(counts),
  }
}

function viewRecord({ token }: WorstProfile, text: string): RecordView {
  return { token, link: profileLink(token), text }
}

function remarkOn({ before, since }: RouteReport['counts']): string {
  if (since === 0) return 'no requests yet'
  if (before === 0) return 'new'
  return `${before.toLocaleString('en')} before, ${since.toLocaleString('en')} since: too few`
}

type ViewDifference = (change: RouteChange) => Omit<ChangeView, 'label'>

function viewChange(label: string, change: RouteChange | null, view: ViewDifference): ChangeView[] {
  return change === null ? [] : [{ label, ...view(change) }]
}

/** Smaller differences are noise. */
const noticed = { share: 0.2, milliseconds: 0.5 }

function viewTime({ before, since }: RouteChange): Omit<ChangeView, 'label'> {
  const difference = since - before
  const share = before === 0 ? 0 : difference / before
  const isNoticed = Math.abs(share) >= noticed.share && Math.abs(difference) >= noticed.milliseconds
  return {
    before: formatDuration(before),
    since: formatDuration(since),
    difference: `${signOf(difference)}${Math.abs(100 * share).toFixed(0)} %`,
    tone: isNoticed ? (difference > 0 ? 'error' : 'ok') : 'plain',
  }
}

function viewQueries({ before, since }: RouteChange): Omit<ChangeView, 'label'> {
  const difference = since - before
  return {
    before: formatNumber(before),
    since: formatNumber(since),
    difference: `${signOf(difference)}${formatNumber(Math.abs(difference))}`,
    tone: difference === 0 ? 'plain' : difference > 0 ? 'error' : 'ok',
  }
}

function viewRate({ before, since }: RouteChange): Omit<ChangeView, 'label'> {
  const difference = since - before
  return {
    before: formatShare(before, 1),
    since: formatShare(since, 1),
    difference: `${signOf(difference)}${Math.abs(100 * difference).toFixed(1)} points`,
    tone: difference === 0 ? 'plain' : difference > 0 ? 'error' : 'ok',
  }
}

function signOf(difference: number): string {
  return difference === 0 ? '±' : difference > 0 ? '+' : '−'
}
