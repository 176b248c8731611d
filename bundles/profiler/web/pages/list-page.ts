import type { Request } from '../../../../lib/http/request.ts'
import type { Response } from '../../../../lib/http/response.ts'
import type { FindingBadges } from '../../insight/findings/finding-badges.ts'
import {
  defaultOrder,
  type ListRequest,
  parseListRequest,
  searchList,
  sortableFields,
} from '../../insight/list-request.ts'
import { groupByParent } from '../../insight/relatives.ts'
import { type Badge, type SummaryView, toSummaryView, withBadge } from '../../insight/summary-view.ts'
import { formatBytes, formatCount } from '../../profile/format.ts'
import { home, listChangeLink, listDataLink } from '../../profile/links.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import type { RecordingPolicy } from '../../record/recording-policy.ts'
import type { StorageUsage } from '../../store/profile-storage.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { renderPage } from '../respond.ts'

/** Renders the results of a search, the search form, and the state of recording. */
export async function renderList(
  request: Request,
  findings: Pick<FindingBadges, 'find'>,
  app: Pick<ProfilerApplication, 'assets' | 'policy' | 'storage' | 'view'>,
): Promise<Response> {
  const { policy, storage } = app
  const wanted = parseListRequest(request.query)
  const { isPinned, notes, page, parameters, query } = wanted
  const [{ pinned, summaries, total, unstored }, usage] = await Promise.all([
    searchList(storage, wanted),
    storage.usage(),
  ])
  const isGrouped = query.sort === undefined || query.sort.field === 'time'
  const count = summaries.length
  const hasQueries = summaries.some(({ queries }) => queries > 0)
  const badges = await findings.find(summaries.map(({ token }) => token))
  const model = {
    title: count === 0 ? 'No results found' : `${count} results found`,
    rows: createRows(summaries, {
      badges,
      isGrouped,
      hasQueries,
      unstored,
      list: { pinned, parameters: `${new URLSearchParams(parameters)}` },
    }),
    // A profile that is pinned later is not new, and a new profile moves all rows of later pages.
    liveLink: isPinned || page > 1 ? '' : `${home}live?${new URLSearchParams(parameters)}`,
    alternates: [
      { type: 'application/json', link: listDataLink('json', parameters) },
      { type: 'text/markdown', link: listDataLink('md', parameters) },
    ],
    columns: createColumns(wanted, hasQueries),
    notes,
    form: createSearchForm(wanted),
    ...describePage(wanted, count, total),
    ...describeRecording(policy, usage),
  }
  return renderPage('profiler/list', model, request, app)
}

/** A link to the same list with some parameters changed. */
function linkTo({ parameters }: ListRequest, changes: Readonly<Record<string, string>>): string {
  const { page: _, ...others } = parameters
  return `?${new URLSearchParams({ ...others, ...changes })}`
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

const labels: Readonly<Record<(typeof sortableFields)[number], string>> = {
  status: 'Status',
  ip: 'IP',
  method: 'Method',
  url: 'URL',
  route: 'Route',
  queries: 'Queries',
  queryTime: 'Query time',
  duration: 'Duration',
  time: 'Time',
}

/** The columns of an application without a database would be empty. */
const queryFields: readonly string[] = ['queries', 'queryTime']

function createColumns(wanted: ListRequest, hasQueries: boolean): Column[] {
  const { sort } = wanted.query
  const fields = sortableFields.filter(field => hasQueries || !queryFields.includes(field))
  const sortable = fields.map(field => {
    const sorted = sort?.field === field ? sort.direction : ''
    const order = sorted === 'descending' ? 'asc' : defaultOrder
    return { name: field, label: labels[field], link: linkTo(wanted, { sort: field, order }), sorted }
  })
  return [...sortable, { name: 'token', label: 'Token', link: '', sorted: '' }]
}

function describePage(wanted: ListRequest, count: number, total: number): object {
  const { page, query } = wanted
  const from = query.offset + 1
  const to = query.offset + count
  const isPaged = count > 0 && count < total
  return {
    range: isPaged ? `${from.toLocaleString('en')}–${to.toLocaleString('en')} of ${total.toLocaleString('en')}` : '',
    previousLink: page > 1 && total > 0 ? linkTo(wanted, { page: String(page - 1) }) : '',
    nextLink: count > 0 && to < total ? linkTo(wanted, { page: String(page + 1) }) : '',
    // The requested page is after the last one.
    firstLink: count === 0 && total > 0 ? linkTo(wanted, {}) : '',
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

/** A row of the list of profiles. */
interface RowView extends SummaryView {
  /** Whether it is a sub-request below the row of its parent. */
  readonly isBelowParent: boolean
  /** Whether the table has columns for queries. */
  readonly hasQueries: boolean
  /** `query` or `queries`: narrow screens have no titles of columns. */
  readonly queryUnit: string
  /** The length of its bar, in hundredths of the longest. */
  readonly share: string
  /** `false` where rows cannot be selected and pinned. */
  readonly actions: { readonly isPinned: boolean; readonly pinLink: string } | false
}

/** The options of a list of rows. */
interface RowOptions {
  /** Whether sub-requests are below their parents. The default is true. */
  readonly isGrouped?: boolean
  /** Whether the table has columns for queries. The default is false. */
  readonly hasQueries?: boolean
  /** The badges of findings, by token. */
  readonly badges?: ReadonlyMap<string, Badge>
  /** Tokens of profiles that are only in memory, because the disk is full or failing. */
  readonly unstored?: ReadonlySet<string> | undefined
  /** The pinned tokens, and the parameters of the list, to return to it. */
  readonly list?: { readonly pinned: ReadonlySet<string>; readonly parameters: string }
}

const notStored: Badge = { text: 'not stored', tone: 'warning' }

/** Creates the rows of a list. */
export function createRows(
  summaries: readonly ProfileSummary[],
  { badges, hasQueries = false, isGrouped = true, list, unstored }: RowOptions = {},
): RowView[] {
  const listed = isGrouped ? groupByParent(summaries) : summaries.map(summary => ({ summary, isBelowParent: false }))
  const longest = summaries.reduce((longest, { duration }) => Math.max(longest, duration), 0)
  return listed.map(({ summary, isBelowParent }) => {
    const { duration, queries, token } = summary
    return {
      isBelowParent,
      hasQueries,
      queryUnit: queries === 1 ? 'query' : 'queries',
      share: (longest === 0 ? 0 : (100 * duration) / longest).toFixed(1),
      actions: list !== undefined && createActions(token, list),
      ...withBadge(withBadge(toSummaryView(summary), badges?.get(token)), unstored?.has(token) ? notStored : undefined),
    }
  })
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

/** The content of the search form. */
interface SearchForm {
  readonly ip: string
  readonly methods: readonly Choice[]
  readonly status: string
  readonly address: string
  readonly start: string
  readonly end: string
  readonly route: string
  readonly error: string
  readonly token: string
  readonly queries: string
  readonly isPinned: boolean
  readonly limits: readonly Choice[]
  /** Hidden fields that keep the order of the list. */
  readonly kept: readonly { readonly name: string; readonly value: string }[]
  /** Whether one of the folded fields is used. */
  readonly isOpen: boolean
  /** Whether there is a filter. */
  readonly isFiltering: boolean
}

const methods = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']
const limits = ['10', '25', '50', '100']

/** Creates the search form with the current filters. */
export function createSearchForm({ isPinned, parameters, query }: ListRequest): SearchForm {
  const {
    error = '',
    ip = '',
    method = '',
    queries = '',
    route = '',
    status_code: status = '',
    token = '',
    url: address = '',
  } = parameters
  const boundOf = (wanted: 'from' | 'until') => {
    const bound = query.filters.find(({ field, test }) => field === 'time' && test === wanted)
    return bound === undefined ? '' : toInputValue(Number(bound.value))
  }
  const start = boundOf('from')
  const end = boundOf('until')
  return {
    ip,
    methods: [choose('', 'Any', method), ...choices(methods, method.toUpperCase())],
    status,
    address,
    start,
    end,
    route,
    error,
    token,
    queries,
    isPinned,
    limits: choices(limits, String(query.limit)),
    kept: Object.entries(parameters)
      .filter(([name]) => name === 'sort' || name === 'order')
      .map(([name, value]) => ({ name, value })),
    isOpen: isPinned || [error, ip, route, token, queries, start, end].some(text => text !== ''),
    isFiltering: isPinned || query.filters.length > 0,
  }
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
