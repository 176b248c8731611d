import type { Request } from '../../../../lib/http/request.ts'
import { knownMethods } from '../../../../lib/http/request-target.ts'
import type { Response } from '../../../../lib/http/response.ts'
import {
  defaultOrder,
  type ListMark,
  type ListRequest,
  marks,
  parseListRequest,
  searchParameters,
} from '../../insight/list-request.ts'
import { mainRequests } from '../../insight/relatives.ts'
import {
  type Bucket,
  describeCount,
  type ListContext,
  type ListEntry,
  type ListResult,
  type RowFacts,
  searchList,
} from '../../insight/search-list.ts'
import { type Badge, isBrowserProbe, toSummaryView, withBadge } from '../../insight/summary-view.ts'
import type { EditorLinks, PlaceView } from '../../panels/editor-links.ts'
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatNumber,
  formatTime,
  shorten,
  toOption,
  toTarget,
} from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { listChangeLink, listDataLink, listLink, liveLink, profileLink, routeLink } from '../../profile/links.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import { unitOf } from '../../profile/units.ts'
import { clientOf } from '../../record/collect.ts'
import type { RecordingPolicy } from '../../record/recording-policy.ts'
import type { StorageUsage } from '../../store/profile-storage.ts'
import {
  alternatesOf,
  ofProgram,
  type PageForm,
  type ProfilerApplication,
  type ProgramServices,
  redirect,
  renderPage,
  respondData,
} from '../page.ts'
import { toPosition } from './live-stream.ts'

/** The services of the list, and of a page that says why there is no profile. */
export type ListServices = Pick<ProfilerApplication, 'assets' | 'storage' | 'view'> & ProgramServices

/** Renders the results of a search, the search form, and the state of recording; as data, the results only. */
export async function renderList(
  form: PageForm,
  request: Request,
  facts: RowFacts,
  app: ListServices & Pick<ProfilerApplication, 'policy'>,
): Promise<Response> {
  const { policy, storage } = app
  const wanted = parseListRequest(request.query)
  const { isPinned, page, parameters } = wanted
  const [result, usage] = await Promise.all([
    searchList(storage, wanted, createContext(request, facts)),
    storage.usage(),
  ])
  if (form !== 'html') {
    const { listToJson, listToMarkdown } = await import('../../export/lists.ts')
    const list = listToJson(result, wanted)
    return respondData(form, list, () => listToMarkdown(list))
  }
  const { histogram, mains, notes, pinned, profiles, unstored } = result
  const summaries = profiles.map(({ summary }) => summary)
  await facts.read(summaries)
  const searchForm = createSearchForm(wanted, mains)
  const shown = selectColumns(summaries, searchForm.origins)
  const model = {
    rows: createRows(profiles, {
      facts,
      columns: shown,
      editorOf: summary => ofProgram(app, summary).editor,
      unstored,
      list: { pinned, parameters: toQuery(parameters) },
    }),
    // A profile that is pinned later is not new, and a new profile moves all rows of later pages.
    liveLink: isPinned || page > 1 ? '' : liveLink(parameters),
    newest: toPosition(result.newest),
    alternates: alternatesOf(form => listDataLink(form, parameters)),
    quickFilters: createQuickFilters(wanted, result),
    histogram: createHistogramView(wanted, histogram),
    columns: createColumns(wanted, shown),
    probes: describeProbes(wanted, result),
    notes,
    form: searchForm,
    activeFilters: listActiveFilters(wanted),
    ...describePage(wanted, result),
    ...describeRecording(policy, usage),
    purged: describePurged(app),
  }
  return renderPage('profiler/list', model, request, app)
}

/**
 * Whose profiles are deleted, where the list shows those of other programs, too: only its own, but
 * all of a store of several programs.
 */
function describePurged({ programs, storage }: ProgramServices): string {
  if (storage.isShared === true) return 'those of all programs and machines'
  return programs.list().length > 0 ? `those of ${programs.nameOf()}` : 'all'
}

/** The context of a search for a client. */
export function createContext(request: Request, facts: RowFacts): ListContext {
  return { client: clientOf(request), facts }
}

/** Redirects to the profile if the form has a token, otherwise to the list; its address contains the first result. */
export async function search(request: Request, facts: RowFacts, app: ProfilerApplication): Promise<Response> {
  const token = request.query.get('token')?.trim()
  if (token) return /^\w+$/.test(token) ? redirect(profileLink(token)) : renderMissing(token, request, app)
  const wanted = parseListRequest(request.query)
  const query = { ...wanted.query, offset: 0, limit: 1 }
  const { profiles } = await searchList(app.storage, { ...wanted, query }, createContext(request, facts))
  // As in Symfony, the type is always a parameter.
  const given = { type: 'request', ...wanted.parameters }
  const sorted = Object.entries(given).sort(
    ([one], [other]) => searchParameters.indexOf(one) - searchParameters.indexOf(other),
  )
  return redirect(listLink(Object.fromEntries(sorted), profiles[0]?.summary.token))
}

/** The number of latest profiles, and of those that are searched: browsers ask for icons. */
const latestLimit = 5
const searchLimit = 50

/** Renders the 404 page of an unknown token, with the latest profiles; without a token, that of an empty store. */
export async function renderMissing(token: string | undefined, request: Request, app: ListServices): Promise<Response> {
  const found = await app.storage.search({ filters: [mainRequests], limit: searchLimit })
  const summaries = found.summaries.filter(summary => !isBrowserProbe(summary)).slice(0, latestLimit)
  const title = token === undefined ? 'No profiles' : 'Token not found'
  const shown = selectColumns(summaries)
  const rows = createRows(
    summaries.map(summary => ({ summary, main: summary, depth: 0 })),
    { columns: shown, editorOf: summary => ofProgram(app, summary).editor },
  )
  return renderPage(
    'profiler/missing',
    { title, token: token ?? '', columns: listColumns(shown), rows },
    request,
    app,
    404,
  )
}

function toQuery(parameters: Readonly<Record<string, string>>): string {
  return String(new URLSearchParams(parameters))
}

/** A link to the first page of the same list with some parameters changed; an empty one is left out. */
function linkTo({ parameters }: ListRequest, changes: Readonly<Record<string, string>>): string {
  const { page: _, ...others } = parameters
  const given = Object.entries({ ...others, ...changes }).filter(([, value]) => value !== '')
  return `?${toQuery(Object.fromEntries(given))}`
}

const quickFilters: Readonly<Record<ListMark, readonly [label: string, hint: string]>> = {
  main: ['Main', 'Main requests, without sub-requests'],
  errors: ['Errors', 'Status 500 and above, exceptions, failed streams, crashes'],
  slow: ['Slow', '500 ms or more, or three times the median of the route and at least 50 ms'],
  findings: ['Findings', 'With findings'],
  '4xx': ['4xx', 'Status 400 to 499'],
  api: ['API', 'Requests of scripts (fetch, XMLHttpRequest) and of programs'],
  client: ['Mine', 'Requests with your IP and browser'],
}

function createQuickFilters(wanted: ListRequest, { counts, examined, mains }: ListResult) {
  if (mains.length === 0) return []
  return marks.map(mark => {
    const isActive = wanted.marks.includes(mark)
    const isPart = mark === 'findings' && examined < counts.all
    const only = isActive ? wanted.marks.filter(other => other !== mark) : [...wanted.marks, mark]
    const [label, hint] = quickFilters[mark]
    return {
      label,
      hint: isPart ? `${hint}: of the ${formatCount(examined, 'request')} that have been read so far` : hint,
      count: `${formatNumber(counts[mark])}${isPart ? ` of ${formatNumber(examined)}` : ''}`,
      link: linkTo(wanted, { only: only.join(',') }),
      isActive,
      tone: counts[mark] === 0 ? 'none' : mark === 'errors' ? 'error' : '',
    }
  })
}

/** The labels of the filters in the order of the form, which are shown beside the list as long as they are used. */
const filterLabels: Readonly<Record<string, string>> = {
  text: 'Text',
  method: 'Method',
  status_code: 'Status',
  route: 'Route',
  url: 'URL',
  slower: 'Slower than',
  content: 'Content type',
  exception: 'Exception',
  error: 'Error',
  queries: 'Queries',
  ip: 'IP',
  program: 'Program',
  machine: 'Machine',
  token: 'Token',
  start: 'From',
  end: 'Until',
  type: 'Type',
  pinned: 'Pinned',
}

/** The filters of the list, each with a link to the list without it. */
function listActiveFilters(wanted: ListRequest) {
  return Object.entries(filterLabels).flatMap(([name, label]) => {
    const value = wanted.parameters[name]
    if (value === undefined || (name === 'type' && value === 'all')) return []
    return { label, value: name === 'pinned' ? '' : shorten(value, labelLimit), link: linkTo(wanted, { [name]: '' }) }
  })
}

/** The height of the tallest bar. */
const barHeight = 24

function createHistogramView(wanted: ListRequest, buckets: readonly Bucket[]) {
  const [first] = buckets
  const last = buckets.at(-1)
  if (first === undefined || last === undefined) return false
  const most = buckets.reduce((most, bucket) => (bucket.count > most.count ? bucket : most))
  const total = buckets.reduce((sum, { count }) => sum + count, 0)
  const errors = buckets.reduce((sum, bucket) => sum + bucket.errors, 0)
  const heightOf = (count: number) => (count === 0 ? 0 : Math.max(2, Math.round((barHeight * count) / most.count)))
  const clock = (time: number) => `${formatTime(time).day} ${formatTime(time).clock}`
  const isOneDay = formatTime(first.start).day === formatTime(last.end).day
  const label = (time: number) => (isOneDay ? formatTime(time).clock : clock(time))
  return {
    width: buckets.length * 10,
    height: barHeight,
    sentence: `${formatCount(total, 'request')}, ${errors} failed, from ${clock(first.start)} to ${clock(last.end)} UTC; most from ${clock(most.start)}: ${formatNumber(most.count)}.`,
    bars: buckets.flatMap((bucket, index) => {
      const { count, end, errors, start } = bucket
      if (count === 0) return []
      const [height, errorHeight] = [heightOf(count), heightOf(errors)]
      return {
        x: index * 10,
        y: barHeight - height,
        height,
        errorY: barHeight - errorHeight,
        errorHeight,
        link: linkTo(wanted, { start: String(start / 1000), end: String(end / 1000 - 1) }),
        title: `${label(start)} to ${label(end)} UTC: ${formatCount(count, 'request')}${errors === 0 ? '' : `, ${errors} failed`}`,
      }
    }),
  }
}

const unsortable: readonly string[] = ['token']

function createColumns(wanted: ListRequest, shown: ShownColumns) {
  const { sort = { field: 'time', direction: 'descending' } } = wanted.query
  return listColumns(shown).map(({ label, name }) => {
    const sorted = sort.field === name ? sort.direction : ''
    const order = sorted === 'descending' ? 'asc' : defaultOrder
    return { name, label, link: unsortable.includes(name) ? '' : linkTo(wanted, { sort: name, order }), sorted }
  })
}

function describePage(wanted: ListRequest, { profiles, total }: ListResult) {
  const { page, query } = wanted
  const { limit, offset } = query
  const count = profiles.length
  const { found, inAll } = describeCount(count, total)
  return {
    title: found,
    inAll,
    range:
      count > 0 && count < total
        ? `${formatNumber(offset + 1)}–${formatNumber(offset + count)} · page ${formatNumber(page)} of ${formatNumber(Math.ceil(total / limit))}`
        : '',
    previousLink: page > 1 && count > 0 ? linkTo(wanted, { page: String(page - 1) }) : '',
    nextLink: count > 0 && offset + count < total ? linkTo(wanted, { page: String(page + 1) }) : '',
    // The requested page is after the last one.
    firstLink: count === 0 && total > 0 ? linkTo(wanted, {}) : '',
  }
}

/** The requests that browsers made by themselves, which the list leaves out; `false` without any. */
function describeProbes(wanted: ListRequest, { probes }: ListResult) {
  if (probes.length === 0) return false
  const paths = [...new Set(probes.map(({ url }) => toTarget(url).replace(/\?.*/, '')))]
  return {
    count: formatCount(probes.length, 'probe of a browser', 'probes of browsers'),
    paths: paths.slice(0, 3),
    hasMore: paths.length > 3,
    link: linkTo(wanted, { type: 'probe' }),
  }
}

function describeRecording({ ignored, isPaused }: RecordingPolicy, usage: StorageUsage) {
  const { bytes, dropped, problem, profiles } = usage
  return {
    isPaused,
    stored: formatCount(profiles, 'profile'),
    size: formatBytes(bytes),
    ignored: ignored === 0 ? '' : formatCount(ignored, 'request'),
    dropped: dropped === 0 ? '' : formatCount(dropped, 'profile'),
    problem: problem ?? '',
  }
}

/** The columns that are only shown if they distinguish rows; `needsHost` says of which rows the URL needs its host. */
type ShownColumns = ReturnType<typeof selectColumns>

const columns: readonly (readonly [name: string, label: string, needs?: Exclude<keyof ShownColumns, 'needsHost'>])[] = [
  ['status', 'Status'],
  ['ip', 'IP'],
  ['method', 'Method'],
  ['url', 'URL'],
  ['route', 'Route', 'hasRoutes'],
  ['program', 'Program', 'hasPrograms'],
  ['machine', 'Machine', 'hasMachines'],
  ['queries', 'Queries', 'hasQueries'],
  ['duration', 'Duration'],
  ['time', 'Time'],
  ['token', 'Token'],
]

/** Lists the columns of rows: their classes in the styles, which are fields of a summary, and their titles. */
function listColumns(shown: ShownColumns) {
  const isShown = ([, , needs]: (typeof columns)[number]) => needs === undefined || shown[needs]
  return columns.filter(isShown).map(([name, label]) => ({ name, label }))
}

interface RowOptions {
  readonly columns: ShownColumns
  readonly editorOf: (summary: ProfileSummary) => EditorLinks
  /** The findings and the places of profiles. */
  readonly facts?: RowFacts
  /** Tokens of profiles that are only in memory, because the disk is full or failing. */
  readonly unstored?: ReadonlySet<string> | undefined
  /** The pinned tokens, and the parameters of the list. */
  readonly list?: {
    readonly pinned: ReadonlySet<string>
    readonly parameters: string
  }
}

const notStored: Badge = { text: 'not stored', tone: 'warning' }

/** Chooses the columns for the content of a list. `origins` are those of which the store has several. */
function selectColumns(summaries: readonly ProfileSummary[], origins: readonly { readonly name: string }[] = []) {
  const hasPrograms = origins.some(({ name }) => name === 'program')
  // The column of programs is enough for one that has one host.
  const ownerOf = ({ program }: ProfileSummary) => (hasPrograms ? program : null)
  const owned = groupBy(summaries, ownerOf)
  const hostsOf = (owner: string | null) =>
    new Set(
      owned
        .get(owner)
        ?.map(({ url }) => hostOf(url))
        .filter(Boolean),
    )
  const several = new Set([...owned.keys()].filter(owner => hostsOf(owner).size > 1))
  return {
    hasRoutes: summaries.some(summary => unitOf(summary).isExchange && summary.route !== null),
    hasPrograms,
    hasMachines: origins.some(({ name }) => name === 'machine'),
    needsHost: (summary: ProfileSummary) => several.has(ownerOf(summary)),
    hasQueries: summaries.some(({ queries }) => queries > 0),
  }
}

function hostOf(url: string): string {
  return /^https?:\/\/([^/]*)/.exec(url)?.[1] ?? ''
}

/** Characters of a URL in a row, and in the label of a control. The profile has the whole URL. */
const addressLimit = 500
const labelLimit = 200

/** Creates the rows of a list: of a main request, or of a sub-request below it. */
function createRows(profiles: readonly ListEntry[], { columns, editorOf, facts, list, unstored }: RowOptions) {
  /** The number of rows of sub-requests, by the token of the request that made them. */
  const listed = new Map<string | null, number>()
  for (const { depth, summary } of profiles) {
    if (depth > 0) listed.set(summary.parent, (listed.get(summary.parent) ?? 0) + 1)
  }
  const errorPages = findErrorPages(profiles, facts)
  const folded = new Set(errorPages.values())
  const longest = profiles.reduce((longest, { summary }) => Math.max(longest, summary.duration), 0)
  return profiles.map(({ depth, main, summary }) => {
    const { duration, outcome, queryTime, token, url } = summary
    // Its badge counts the sub-requests without a row: they are on another page, or do not match.
    const shown = { ...summary, subRequests: summary.subRequests - (listed.get(token) ?? 0) }
    const { isExchange } = unitOf(summary)
    const errorPage = errorPages.get(token)
    const view = withBadge(toSummaryView(shown), unstored?.has(token) ? notStored : undefined)
    const handler = viewHandler(summary, facts?.get(summary)?.place, editorOf(summary))
    const findings = toFindings(token, facts?.get(summary)?.badge)
    const name = shorten(`${columns.needsHost(summary) ? hostOf(url) : ''}${view.target}`, addressLimit)
    return {
      ...view,
      address: shorten(view.address, addressLimit),
      statusLink: isExchange ? `${profileLink(token, 'request')}#response` : profileLink(token),
      // It repeats the name of work that is no request.
      route: isExchange ? view.route : '',
      target: shorten(view.target, labelLimit),
      ...columns,
      isFolded: folded.has(summary),
      errorPageLink: errorPage === undefined ? '' : profileLink(errorPage.token),
      routeLink: routeLink({ route: summary.route, program: columns.hasPrograms ? summary.program : null }),
      level: depth === 0 ? '' : `level-${Math.min(depth, 4)}`,
      // How long after its main request it began.
      after: depth === 0 ? '' : `+ ${Math.max(0, summary.time - main.time)} ms`,
      name,
      handler,
      hasNotes: handler !== false || errorPage !== undefined,
      findings,
      hasBadges: findings !== false || view.badges.length > 0,
      duration: `${outcome === 'unfinished' ? '> ' : ''}${formatDuration(duration)}`,
      queryTime: formatDuration(queryTime),
      // The length of its bar, in percent of the longest.
      share: (longest === 0 ? 0 : Math.min(100, (100 * duration) / longest)).toFixed(1),
      actions: list !== undefined && createActions(token, list),
    }
  })
}

/**
 * The sub-requests that made the page of an error, by the token of their parent, whose row leads
 * to them: their own row says nothing new. One with badges, with findings or with sub-requests has
 * a row that is seen, as has one whose parent is on another page.
 */
function findErrorPages(
  profiles: readonly ListEntry[],
  facts: RowFacts | undefined,
): ReadonlyMap<string, ProfileSummary> {
  const tokens = new Set(profiles.map(({ summary }) => summary.token))
  return new Map(
    profiles.flatMap(({ depth, summary }): [string, ProfileSummary][] => {
      const { controller, parent, subRequests } = summary
      const isErrorPage = depth > 0 && parent !== null && tokens.has(parent) && controller === 'error_controller'
      const isPlain = toSummaryView(summary).badges.length === 0 && facts?.get(summary)?.badge === undefined
      return isErrorPage && isPlain && subRequests === 0 ? [[parent, summary]] : []
    }),
  )
}

/**
 * The view of the place that answered a request: of the controller if the route does not name it,
 * or else of its file. The row of a sub-request has the name of its controller anyway.
 */
function viewHandler(summary: ProfileSummary, answered: string | undefined, editor: EditorLinks): PlaceView | false {
  const { controller, parent, route } = summary
  const defined = editor.findDefinition(summary)
  const place = answered || defined
  const isNamed = controller !== null && parent === null && !isSameName(route ?? '', controller)
  if (isNamed && place === defined) return editor.viewController(controller)
  return editor.viewFile(place)
}

/** Whether a controller has the name of its route, but for its notation. */
function isSameName(route: string, controller: string): boolean {
  const simplify = (name: string) => name.toLowerCase().replace(/[^a-z0-9]|controller$/g, '')
  return simplify(route) === simplify(controller)
}

function toFindings(token: string, badge: Badge | undefined) {
  if (badge === undefined) return false
  return { ...badge, link: profileLink(token, 'findings') }
}

function createActions(token: string, { parameters, pinned }: NonNullable<RowOptions['list']>) {
  const isPinned = pinned.has(token)
  return { isPinned, pinLink: listChangeLink(token, isPinned ? 'unpin' : 'pin', parameters) }
}

const methods = [...knownMethods].sort()
const limits = ['10', '25', '50', '100']

/** Parameters without a field, which a search keeps. */
const keptNames: readonly string[] = ['only', 'url', 'content', 'error', 'queries', 'order']

/** The orders that the form offers; the titles of the columns offer some of them, too. */
const orders = [
  ['', 'Time'],
  ['duration', 'Duration'],
  ['queries', 'Queries'],
  ['queryTime', 'Query time'],
  ['size', 'Size'],
  ['memory', 'Heap'],
] as const

const types = [
  ['all', 'All'],
  ['request', 'Requests'],
  ['sub-request', 'Sub-requests'],
  ['probe', 'Probes of browsers'],
  ['job', 'Jobs'],
  ['message', 'Messages'],
  ['task', 'Tasks'],
  ['command', 'Commands'],
] as const

/** Where requests were recorded. */
const origins = [
  { name: 'program', label: 'Program' },
  { name: 'machine', label: 'Machine' },
] as const

/** A longer list would make the page heavy. */
const suggestionLimit = 100

/**
 * Creates the search form with the current filters. Its choices are those of `mains`, the main
 * requests in the store; there is no choice of one program or machine.
 */
export function createSearchForm(
  { isFiltering, isPinned, marks, parameters, query }: ListRequest,
  mains: readonly ProfileSummary[] = [],
) {
  const { method = '', route = '', sort = '', type = 'all' } = parameters
  const boundOf = (wanted: 'from' | 'until') => {
    const bound = query.filters.find(({ field, test }) => field === 'time' && test === wanted)
    return bound === undefined ? '' : toInputValue(Number(bound.value))
  }
  return {
    values: Object.fromEntries(searchParameters.map(name => [name, parameters[name] ?? ''])),
    methods: [toOption('', 'Method', method), ...choices(methods, method.toUpperCase())],
    types: types.map(([value, label]) => toOption(value, label, type)),
    origins: origins.flatMap(({ label, name }) => {
      const chosen = parameters[name] ?? ''
      const names = listMostFrequent(mains.map(summary => summary[name])).toSorted()
      if (names.length < 2 && chosen === '') return []
      return { name, label, options: [toOption('', label, chosen), ...choices(names, chosen)] }
    }),
    routes: listMostFrequent(mains.map(({ route }) => route)).toSorted(),
    // Most applications have none.
    operations: listMostFrequent([parameters.operation ?? null, ...mains.map(({ operation }) => operation)]).toSorted(),
    route,
    start: boundOf('from'),
    end: boundOf('until'),
    isPinned,
    limits: choices(limits, String(query.limit)),
    orders: [
      ...orders.map(([value, label]) => toOption(value, label, sort)),
      ...(orders.some(([value]) => value === sort) ? [] : [toOption(sort, sort, sort)]),
    ],
    kept: keptNames.flatMap(name => (parameters[name] === undefined ? [] : { name, value: parameters[name] })),
    isFiltering: isFiltering || isPinned || marks.length > 0 || type !== 'all',
  }
}

function listMostFrequent(values: readonly (string | null)[]): string[] {
  const counts = new Map<string, number>()
  for (const value of values) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1)
  const sorted = [...counts].sort(([, one], [, other]) => other - one)
  return sorted.slice(0, suggestionLimit).map(([value]) => value)
}

/** A value from a link stays selected, even if it is not one of the usual choices. */
function choices(usual: readonly string[], chosen: string) {
  const all = chosen === '' || usual.includes(chosen) ? usual : [...usual, chosen]
  return all.map(value => toOption(value, value, chosen))
}

/**
 * The format of `datetime-local`, without seconds if they are 0; a bound ends with the last millisecond of a minute.
 */
function toInputValue(time: number): string {
  const iso = new Date(time).toISOString()
  // The field supports years of four digits only.
  if (!/^\d{4}-/.test(iso)) return ''
  return /:(?:00\.000|59\.999)Z$/.test(iso) ? iso.slice(0, 16) : iso.slice(0, 19)
}
