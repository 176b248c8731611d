import type { Request } from '../../../../lib/http/request.ts'
import type { Response } from '../../../../lib/http/response.ts'
import {
  defaultOrder,
  type ListMark,
  type ListRequest,
  marks,
  parseListRequest,
  searchParameters,
} from '../../insight/list-request.ts'
import {
  type Bucket,
  describeCount,
  type ListContext,
  type ListEntry,
  type ListResult,
  type RowFact,
  type RowFacts,
  searchList,
} from '../../insight/search-list.ts'
import { type Badge, type SummaryView, toSummaryView, withBadge } from '../../insight/summary-view.ts'
import { formatBytes, formatCount, formatNumber, formatTime, shorten, toTarget } from '../../profile/format.ts'
import { home, listChangeLink, listDataLink, profileLink } from '../../profile/links.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import { clientOf } from '../../record/collect.ts'
import type { RecordingPolicy } from '../../record/recording-policy.ts'
import type { StorageUsage } from '../../store/profile-storage.ts'
import { findDefinition } from '../answer-place.ts'
import type { EditorLinks, PlaceView } from '../editor-links.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { renderPage } from '../respond.ts'

/** Describes the client of a request to the search. */
export function toListContext(request: Request, facts: Pick<RowFacts, 'find'>): ListContext {
  return {
    client: clientOf(request),
    async findFindings(tokens) {
      const found = [...(await facts.find(tokens))]
      return new Set(found.flatMap(([token, { badge }]) => (badge === undefined ? [] : [token])))
    },
  }
}

/** Renders the results of a search, the search form, and the state of recording. */
export async function renderList(
  request: Request,
  facts: Pick<RowFacts, 'find'>,
  app: Pick<ProfilerApplication, 'assets' | 'editor' | 'policy' | 'storage' | 'view'>,
): Promise<Response> {
  const { policy, storage } = app
  const wanted = parseListRequest(request.query)
  const { isPinned, notes, page, parameters } = wanted
  const [result, usage] = await Promise.all([
    searchList(storage, wanted, toListContext(request, facts)),
    storage.usage(),
  ])
  const { histogram, mains, pinned, profiles, unstored } = result
  const summaries = profiles.map(({ summary }) => summary)
  const known = await facts.find(summaries.map(({ token }) => token))
  const form = createSearchForm(wanted, mains)
  const shown = selectColumns(summaries, known, form.machines.length > 0)
  const model = {
    rows: createRows(profiles, {
      facts: known,
      columns: shown,
      editor: app.editor,
      unstored,
      list: { pinned, parameters: toQuery(parameters) },
    }),
    // A profile that is pinned later is not new, and a new profile moves all rows of later pages.
    liveLink: isPinned || page > 1 ? '' : `${home}live?${toQuery(parameters)}`,
    alternates: [
      { type: 'application/json', link: listDataLink('json', parameters) },
      { type: 'text/markdown', link: listDataLink('md', parameters) },
    ],
    quickFilters: createQuickFilters(wanted, result),
    histogram: createHistogramView(wanted, histogram),
    columns: createColumns(wanted, shown),
    probes: describeProbes(wanted, result),
    notes,
    form,
    ...describePage(wanted, result),
    ...describeRecording(policy, usage),
  }
  return renderPage('profiler/list', model, request, app)
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

const filterLabels: Readonly<Record<ListMark, string>> = {
  main: 'Main requests',
  errors: 'Errors',
  slow: 'Slow',
  findings: 'Findings',
  '4xx': '4xx',
  api: 'AJAX/API',
  client: 'This client',
}

const filterHints: Readonly<Record<ListMark, string>> = {
  main: 'Without sub-requests',
  errors: 'Status 500 and above, exceptions, failed streams, crashes',
  slow: '500 ms or more, or three times the median of the route and at least 50 ms',
  findings: 'With findings: of the newest 200 requests',
  '4xx': 'Status 400 to 499',
  api: 'Requests of scripts (fetch, XMLHttpRequest) and of programs',
  client: 'Requests with your IP and browser',
}

function createQuickFilters(wanted: ListRequest, { counts, mains }: ListResult): object[] {
  if (mains.length === 0) return []
  const all = {
    label: 'All',
    hint: '',
    count: formatNumber(counts.all),
    link: linkTo(wanted, { only: '' }),
    isActive: wanted.marks.length === 0,
    tone: '',
  }
  const filters = marks.map(mark => {
    const isActive = wanted.marks.includes(mark)
    const only = isActive ? wanted.marks.filter(other => other !== mark) : [...wanted.marks, mark]
    return {
      label: filterLabels[mark],
      hint: filterHints[mark],
      count: formatNumber(counts[mark]),
      link: linkTo(wanted, { only: only.join(',') }),
      isActive,
      tone: counts[mark] === 0 ? 'none' : mark === 'errors' ? 'error' : '',
    }
  })
  return [all, ...filters]
}

/** The height of the tallest bar. */
const barHeight = 40

function createHistogramView(wanted: ListRequest, buckets: readonly Bucket[]): object | false {
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
    start: formatTime(first.start),
    end: formatTime(last.end),
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

interface Column {
  /** Its class in the styles. */
  readonly name: string
  readonly label: string
  /** Empty when the column cannot be sorted. */
  readonly link: string
  /** `ascending`, `descending`, or empty. */
  readonly sorted: string
}

const unsortable: readonly string[] = ['findings', 'token']

function createColumns(wanted: ListRequest, shown: ShownColumns): Column[] {
  const { sort = { field: 'time', direction: 'descending' } } = wanted.query
  return listColumns(shown).map(({ label, name }) => {
    const sorted = sort.field === name ? sort.direction : ''
    const order = sorted === 'descending' ? 'asc' : defaultOrder
    return { name, label, link: unsortable.includes(name) ? '' : linkTo(wanted, { sort: name, order }), sorted }
  })
}

function describePage(wanted: ListRequest, { profiles, total }: ListResult): object {
  const { page, query } = wanted
  const { offset } = query
  const count = profiles.length
  const { found, inAll } = describeCount(count, total)
  return {
    title: found,
    inAll,
    range: count > 0 && count < total ? `${formatNumber(offset + 1)}–${formatNumber(offset + count)}` : '',
    previousLink: page > 1 && count > 0 ? linkTo(wanted, { page: String(page - 1) }) : '',
    nextLink: count > 0 && offset + count < total ? linkTo(wanted, { page: String(page + 1) }) : '',
    // The requested page is after the last one.
    firstLink: count === 0 && total > 0 ? linkTo(wanted, {}) : '',
  }
}

/** The requests that browsers made by themselves, which the list leaves out; `false` without any. */
function describeProbes(wanted: ListRequest, { probes }: ListResult): object | false {
  if (probes.length === 0) return false
  const paths = [...new Set(probes.map(({ url }) => toTarget(url).replace(/\?.*/, '')))]
  return {
    count: formatCount(probes.length, 'probe of a browser', 'probes of browsers'),
    paths: paths.slice(0, 3),
    hasMore: paths.length > 3,
    link: linkTo(wanted, { type: 'probe' }),
  }
}

function describeRecording({ ignored, isPaused }: RecordingPolicy, usage: StorageUsage): object {
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

/** The columns that are only shown if they distinguish rows. */
interface ShownColumns {
  readonly hasRoutes: boolean
  readonly hasFindings: boolean
  readonly hasQueries: boolean
  readonly hasSizes: boolean
  readonly hasMemory: boolean
  readonly hasMachines: boolean
  /** Whether the URLs have their host. */
  readonly hasHosts: boolean
}

const columns: readonly (readonly [name: string, label: string, needs?: keyof ShownColumns])[] = [
  ['status', 'Status'],
  ['ip', 'IP'],
  ['method', 'Method'],
  ['url', 'URL'],
  ['route', 'Route', 'hasRoutes'],
  ['machine', 'Machine', 'hasMachines'],
  ['findings', 'Findings', 'hasFindings'],
  ['queries', 'Queries', 'hasQueries'],
  ['queryTime', 'Query time', 'hasQueries'],
  ['size', 'Size', 'hasSizes'],
  ['memory', 'Heap', 'hasMemory'],
  ['duration', 'Duration'],
  ['time', 'Time'],
  ['token', 'Token'],
]

/** Lists the columns of rows: their classes in the styles, which are fields of a summary, and their titles. */
export function listColumns(shown: ShownColumns): { readonly name: string; readonly label: string }[] {
  const isShown = ([, , needs]: (typeof columns)[number]) => needs === undefined || shown[needs]
  return columns.filter(isShown).map(([name, label]) => ({ name, label }))
}

/** A row of the list of profiles: a main request, or a sub-request below it. */
interface RowView extends SummaryView, ShownColumns {
  /** The class of its level: empty for a row that is not below its main request. */
  readonly level: string
  /** The text of its link: the URL. */
  readonly name: string
  /** The place that answered it: the controller if the route does not name it, or else file and line. */
  readonly handler: PlaceView | false
  /** How long after its main request it began: `+ 12.3 ms`. */
  readonly after: string
  readonly size: string
  readonly findings:
    | { readonly count: string; readonly unit: string; readonly tone: string; readonly link: string }
    | false
  /** `query` or `queries`: narrow screens have no titles of columns. */
  readonly queryUnit: string
  /** The length of its bar, in hundredths of the longest. */
  readonly share: string
  /** `false` where rows cannot be selected and pinned. */
  readonly actions: { readonly isPinned: boolean; readonly pinLink: string } | false
}

/** The options of a list of rows. */
interface RowOptions {
  /** Makes places links. */
  readonly editor: EditorLinks
  /** By default those of the content. */
  readonly columns?: ShownColumns
  /** The findings and the places of profiles, by token. */
  readonly facts?: ReadonlyMap<string, RowFact>
  /** Tokens of profiles that are only in memory, because the disk is full or failing. */
  readonly unstored?: ReadonlySet<string> | undefined
  /** The pinned tokens, and the parameters of the list. */
  readonly list?: {
    readonly pinned: ReadonlySet<string>
    readonly parameters: string
  }
}

const notStored: Badge = { text: 'not stored', tone: 'warning' }

/** A memory use that differs by more than this says something about the request. */
const memorySpan = 32 * 1024 * 1024

/** Chooses the columns for the content of a list. `hasMachines` is whether the store has profiles of several machines. */
export function selectColumns(
  summaries: readonly ProfileSummary[],
  facts?: RowOptions['facts'],
  hasMachines = false,
): ShownColumns {
  const differ = (read: (summary: ProfileSummary) => string) => new Set(summaries.map(read)).size > 1
  const memory = summaries.map(summary => summary.memory)
  return {
    hasRoutes: summaries.some(({ route }) => route !== null),
    hasMachines,
    hasHosts: differ(({ url }) => hostOf(url)),
    hasFindings: summaries.some(({ token }) => facts?.get(token)?.badge !== undefined),
    hasQueries: summaries.some(({ queries }) => queries > 0),
    hasSizes: summaries.some(({ size }) => size !== null),
    hasMemory: Math.max(...memory) - Math.min(...memory) > memorySpan,
  }
}

function hostOf(url: string): string {
  return /^https?:\/\/([^/]*)/.exec(url)?.[1] ?? ''
}

/** Characters of a URL in a row, and in the label of a control. The profile has all of it. */
const addressLimit = 500
const labelLimit = 200

/** Creates the rows of a list. */
export function createRows(
  profiles: readonly ListEntry[],
  { columns: chosen, editor, facts, list, unstored }: RowOptions,
): RowView[] {
  const summaries = profiles.map(({ summary }) => summary)
  const columns = chosen ?? selectColumns(summaries, facts)
  /** The sub-requests that have rows below their main requests, by the token that made them. */
  const listed = new Map<string | null, number>()
  for (const { depth, summary } of profiles) {
    if (depth > 0) listed.set(summary.parent, (listed.get(summary.parent) ?? 0) + 1)
  }
  const longest = summaries.reduce((longest, { duration }) => Math.max(longest, duration), 0)
  return profiles.map(({ depth, main, summary }) => {
    const { duration, queries, size, token, url } = summary
    // Its badge counts the sub-requests without a row: they are on another page, or do not match.
    const shown = { ...summary, subRequests: summary.subRequests - (listed.get(token) ?? 0) }
    const view = withBadge(toSummaryView(shown), unstored?.has(token) ? notStored : undefined)
    return {
      ...view,
      address: shorten(view.address, addressLimit),
      target: shorten(view.target, labelLimit),
      ...columns,
      level: depth === 0 ? '' : `level-${Math.min(depth, 4)}`,
      after: depth === 0 ? '' : `+ ${Math.max(0, summary.time - main.time)} ms`,
      name: shorten(`${columns.hasHosts ? hostOf(url) : ''}${view.target}`, addressLimit),
      handler: viewHandler(summary, facts?.get(token)?.place, editor),
      size: size === null ? '' : formatBytes(size),
      findings: toFindings(token, facts?.get(token)?.badge),
      queryUnit: queries === 1 ? 'query' : 'queries',
      share: (longest === 0 ? 0 : Math.min(100, (100 * duration) / longest)).toFixed(1),
      actions: list !== undefined && createActions(token, list),
    }
  })
}

/** Views the place that answered a request. The row of a sub-request already has the name of its controller. */
function viewHandler(summary: ProfileSummary, answered: string | undefined, editor: EditorLinks): PlaceView | false {
  const { controller, parent, route } = summary
  const defined = findDefinition(summary, editor)
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

function toFindings(token: string, badge: Badge | undefined): RowView['findings'] {
  if (badge === undefined) return false
  const [count = '', unit = ''] = badge.text.split(' ')
  return { count, unit, tone: badge.tone, link: profileLink(token, 'findings') }
}

function createActions(token: string, { parameters, pinned }: NonNullable<RowOptions['list']>): RowView['actions'] {
  const isPinned = pinned.has(token)
  return { isPinned, pinLink: listChangeLink(token, isPinned ? 'unpin' : 'pin', parameters) }
}

/** One of the choices of a `<select>`. */
export interface Choice {
  readonly value: string
  readonly label: string
  readonly isSelected: boolean
}

/** The content of the search form. The texts of its fields are in `values`, by their names. */
interface SearchForm {
  readonly values: Readonly<Record<string, string>>
  readonly methods: readonly Choice[]
  readonly types: readonly Choice[]
  readonly contents: readonly Choice[]
  /** Empty with one machine. */
  readonly machines: readonly Choice[]
  /** Suggestions for a field that takes a part of the name. */
  readonly routes: readonly string[]
  readonly route: string
  readonly start: string
  readonly end: string
  readonly isPinned: boolean
  readonly limits: readonly Choice[]
  /** Hidden fields that keep the order and the marks of the list. */
  readonly kept: readonly { readonly name: string; readonly value: string }[]
  /** Whether one of the folded fields is used. */
  readonly isOpen: boolean
  /** Whether the list is restricted. */
  readonly isFiltering: boolean
}

const methods = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']
const limits = ['10', '25', '50', '100']
const keptNames: readonly string[] = ['only', 'sort', 'order']

/** Fields that are always visible, or have no effect on the number of results. */
const unfolded: readonly string[] = [...keptNames, 'text', 'page', 'limit']

const types = [
  ['request', 'All requests'],
  ['sub-request', 'Sub-requests'],
  ['probe', 'Probes of browsers'],
] as const

/** A longer list would make the page heavy. */
const suggestionLimit = 100

/** Creates the search form with the current filters. Its choices are those of the requests in the store. */
export function createSearchForm(
  { isFiltering, isPinned, marks, parameters, query }: ListRequest,
  mains: readonly ProfileSummary[] = [],
): SearchForm {
  const { content = '', machine = '', method = '', route = '', type = 'request' } = parameters
  const boundOf = (wanted: 'from' | 'until') => {
    const bound = query.filters.find(({ field, test }) => field === 'time' && test === wanted)
    return bound === undefined ? '' : toInputValue(Number(bound.value))
  }
  const contents = listMostFrequent(mains.map(({ contentType }) => contentType?.split(';')[0] ?? null))
  const machines = listMostFrequent(mains.map(({ machine }) => machine)).toSorted()
  const hasMachines = machines.length > 1 || machine !== ''
  return {
    values: Object.fromEntries(searchParameters.map(name => [name, parameters[name] ?? ''])),
    methods: [choose('', 'Any', method), ...choices(methods, method.toUpperCase())],
    types: types.map(([value, label]) => choose(value, label, type)),
    contents: [choose('', 'Any', content), ...choices(contents.toSorted(), content)],
    machines: hasMachines ? [choose('', 'Any', machine), ...choices(machines, machine)] : [],
    routes: listMostFrequent(mains.map(({ route }) => route)).toSorted(),
    route,
    start: boundOf('from'),
    end: boundOf('until'),
    isPinned,
    limits: choices(limits, String(query.limit)),
    kept: keptNames.flatMap(name => (parameters[name] === undefined ? [] : { name, value: parameters[name] })),
    isOpen: Object.entries(parameters).some(([name, value]) => !unfolded.includes(name) && value !== 'request'),
    isFiltering: isFiltering || isPinned || marks.length > 0 || type !== 'request',
  }
}

function listMostFrequent(values: readonly (string | null)[]): string[] {
  const counts = new Map<string, number>()
  for (const value of values) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1)
  const sorted = [...counts].sort(([, one], [, other]) => other - one)
  return sorted.slice(0, suggestionLimit).map(([value]) => value)
}

/** A value from a link stays selected, even if it is not one of the usual choices. */
function choices(usual: readonly string[], chosen: string): Choice[] {
  const all = chosen === '' || usual.includes(chosen) ? usual : [...usual, chosen]
  return all.map(value => choose(value, value, chosen))
}

function choose(value: string, label: string, chosen: string): Choice {
  return { value, label, isSelected: value === chosen }
}

/** The format of `datetime-local`, without seconds if they are 0; a bound ends with the last millisecond of a minute. */
function toInputValue(time: number): string {
  const iso = new Date(time).toISOString()
  // The field supports years of four digits only.
  if (!/^\d{4}-/.test(iso)) return ''
  return /:(?:00\.000|59\.999)Z$/.test(iso) ? iso.slice(0, 16) : iso.slice(0, 19)
}
