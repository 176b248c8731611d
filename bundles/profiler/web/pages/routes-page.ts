import type { Request } from '../../../../lib/http/request.ts'
import type { Response } from '../../../../lib/http/response.ts'
import { processStart } from '../../../../lib/process-start.ts'
import type { RouteCollection } from '../../../../lib/routing/route-collection.ts'
import { routesToJson, routesToMarkdown } from '../../export/lists.ts'
import { parseListRequest } from '../../insight/list-request.ts'
import {
  gatherRoutes,
  leastForP99,
  parseRoutesRequest,
  type RouteChange,
  type RouteReport,
  type RoutesReport,
  type RoutesRequest,
  type routeFields,
  usualDirection,
} from '../../insight/routes.ts'
import { type RowFacts, searchMains } from '../../insight/search-list.ts'
import {
  type FormattedTime,
  formatCount,
  formatDuration,
  formatNumber,
  formatShare,
  formatTime,
} from '../../profile/format.ts'
import {
  type DataForm,
  home,
  listLink,
  profileLink,
  routeLink,
  routesDataLink,
  routesLink,
} from '../../profile/links.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import type { EditorLinks, PlaceView } from '../editor-links.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { renderPage } from '../respond.ts'
import { respondData } from './data-pages.ts'
import { toListContext } from './list-page.ts'
import { drawTrend } from './route-charts.ts'
import { nameRoute } from './route-page.ts'
import { type Choice, createSearchForm } from './search-form.ts'

/** The start of this process, in milliseconds since 1970. Older profiles may be of other code. */
const startedAt = Math.floor(processStart())

/** Renders the statistics of all routes: as a page, or as data. */
export async function renderRoutes(
  form: 'html' | DataForm,
  request: Request,
  facts: Pick<RowFacts, 'find'>,
  app: Pick<ProfilerApplication, 'assets' | 'editor' | 'routes' | 'storage' | 'view'>,
): Promise<Response> {
  const wanted = parseRoutesRequest(request.query)
  const { found, mains } = await searchMains(app.storage, wanted.listed, toListContext(request, facts))
  const report = gatherRoutes(found, wanted, startedAt)
  if (form !== 'html') {
    const routes = routesToJson(report, wanted)
    return respondData(form, routes, () => routesToMarkdown(routes))
  }
  const alternates = [
    { type: 'application/json', link: routesDataLink('json', wanted.parameters) },
    { type: 'text/markdown', link: routesDataLink('md', wanted.parameters) },
  ]
  const model = { ...toRoutesView(report, wanted, app.routes, app.editor, mains), alternates }
  return renderPage('profiler/route-statistics', model, request, app)
}

/** The content of the page of routes. */
interface RoutesView {
  readonly title: string
  readonly requests: string
  readonly restart: FormattedTime
  readonly liveLink: string
  readonly columns: readonly RouteColumn[]
  readonly hasQueries: boolean
  readonly hasP99: boolean
  readonly hasChanges: boolean
  readonly rows: readonly RouteRow[]
  readonly notes: readonly string[]
  readonly form: RoutesForm
  /** The link to the page without filters. */
  readonly allLink: string
}

interface RoutesForm {
  readonly route: string
  readonly methods: readonly Choice[]
  /** Empty with one machine. */
  readonly machines: readonly Choice[]
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
  /** Its declaration; `false` of requests without a route. */
  readonly place: PlaceView | false
  readonly methods: string
  readonly pattern: string
  /** The page of the route; of requests without a route, their list. */
  readonly link: string
  readonly count: string
  readonly total: string
  /** Of the total time of all routes, in percent. */
  readonly share: string
  readonly p50: string
  readonly p95: string
  /** A dash with too few requests. */
  readonly p99: string
  readonly queries: string
  readonly clientErrors: string
  readonly errors: string
  /** The latest failed request. */
  readonly failedLink: string
  readonly slowest: string
  readonly slowestLink: string
  /** The points of the line. */
  readonly trend: string
  readonly change: ChangeView
}

/** The change since the restart. */
interface ChangeView {
  readonly text: string
  readonly title: string
  readonly tone: 'ok' | 'error' | 'plain'
}

/** Creates the view of the statistics of routes. The choices of its form are those of `mains`. */
export function toRoutesView(
  { requests, routes, startedAt }: RoutesReport,
  wanted: RoutesRequest,
  known: RouteCollection,
  editor: EditorLinks,
  mains: readonly ProfileSummary[] = [],
): RoutesView {
  const { listed, notes, parameters } = wanted
  const whole = routes.reduce((sum, { total }) => sum + total, 0)
  const hasQueries = routes.some(({ mostQueries }) => mostQueries > 0)
  const hasP99 = routes.some(({ count }) => count >= leastForP99)
  const hasChanges = routes.some(({ changes, counts }) => changes.p50 !== null || counts.before === 0)
  const { machines, methods, route } = createSearchForm(parseListRequest(new URLSearchParams(parameters)), mains)
  return {
    title: formatCount(routes.length, 'route'),
    requests: formatCount(requests, 'request'),
    restart: formatTime(startedAt),
    liveLink: `${home}live?${new URLSearchParams(parameters)}`,
    columns: createColumns(wanted, { hasQueries, hasP99 }),
    hasQueries,
    hasP99,
    hasChanges,
    rows: routes.map(report => viewRoute(report, whole, known, editor)),
    notes,
    form: {
      route,
      methods,
      machines,
      kept: Object.entries(parameters)
        .filter(([name]) => !['route', 'method', 'machine'].includes(name))
        .map(([name, value]) => ({ name, value })),
      isFiltering: listed.isFiltering || listed.marks.length > 0,
    },
    allLink: routesLink(),
  }
}

/** The columns in their order, which is that of the template. */
const columns: readonly (readonly [field: (typeof routeFields)[number], label: string])[] = [
  ['route', 'Route'],
  ['count', 'Requests'],
  ['total', 'Total time'],
  ['p50', 'p50'],
  ['p95', 'p95'],
  ['p99', 'p99'],
  ['worst', 'Slowest'],
  ['queries', 'Queries'],
  ['clientErrors', '4xx'],
  ['errors', '5xx'],
]

function createColumns(
  { parameters, sort }: RoutesRequest,
  { hasP99, hasQueries }: Pick<RoutesView, 'hasP99' | 'hasQueries'>,
): RouteColumn[] {
  const shown = columns.filter(([field]) => (field !== 'queries' || hasQueries) && (field !== 'p99' || hasP99))
  return shown.map(([field, label]) => {
    const sorted = sort.field === field ? sort.direction : ''
    const usual = usualDirection(field)
    const next = sorted === usual ? (usual === 'ascending' ? 'desc' : 'asc') : usual === 'ascending' ? 'asc' : 'desc'
    const link = routesLink({ ...parameters, sort: field, order: next })
    return { label, link, sorted, isNumber: field !== 'route' }
  })
}

function viewRoute(report: RouteReport, whole: number, known: RouteCollection, editor: EditorLinks): RouteRow {
  const { clientErrors, count, errors, failed, mostQueries, p50, p95, p99, queries, route, total, trend, worst } =
    report
  const { methods, pattern } = route === null ? { methods: '', pattern: '' } : nameRoute(known, route)
  return {
    name: route ?? '',
    place: route !== null && editor.viewRoute(route),
    methods,
    pattern,
    link: route === null ? listLink({ status_code: '404' }) : routeLink(route),
    count: formatNumber(count),
    total: formatDuration(total),
    share: (whole === 0 ? 0 : (100 * total) / whole).toFixed(1),
    p50: formatDuration(p50),
    p95: formatDuration(p95),
    p99: count < leastForP99 ? '–' : formatDuration(p99),
    queries:
      mostQueries === 0
        ? ''
        : formatNumber(queries) + (mostQueries > queries ? ` to ${formatNumber(mostQueries)}` : ''),
    clientErrors: clientErrors === 0 ? '' : formatNumber(clientErrors),
    errors: errors === 0 ? '' : formatNumber(errors),
    failedLink: failed[0] === undefined ? '' : profileLink(failed[0].token),
    slowest: formatDuration(worst.duration),
    slowestLink: profileLink(worst.token),
    trend: drawTrend(trend),
    change: viewChange(report),
  }
}

/** A smaller difference of the median is usual. */
const noticed = { share: 0.2, milliseconds: 0.5 }

/** The change of the median; its title has the other changes. */
function viewChange({ changes, counts }: RouteReport): ChangeView {
  const { errorRate, p50, p95, queries } = changes
  const numbers = `${formatNumber(counts.before)} requests before, ${formatNumber(counts.since)} since`
  if (p50 === null) return { text: counts.before === 0 ? 'new' : '', title: numbers, tone: 'plain' }
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
