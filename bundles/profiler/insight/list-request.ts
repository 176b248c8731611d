import type {
  ProfileFilter,
  ProfileQuery,
  ProfileSearchResult,
  ProfileStorage,
  SummaryField,
} from '../store/profile-storage.ts'

/** The parsed parameters of a search in the list of profiles. */
export interface ListRequest {
  readonly query: ProfileQuery & { readonly filters: readonly ProfileFilter[]; readonly offset: number }
  /** Whether only pinned profiles are wanted: {@link searchList} asks the store for their tokens. */
  readonly isPinned: boolean
  /** The given parameters by name, in the order of {@link searchParameters}. */
  readonly parameters: Readonly<Record<string, string>>
  /** The first page is 1. */
  readonly page: number
  /** Sentences about parameters that are ignored or corrected. */
  readonly notes: readonly string[]
}

/** The sortable columns of the list. */
export const sortableFields = [
  'status',
  'ip',
  'method',
  'url',
  'route',
  'queries',
  'queryTime',
  'duration',
  'time',
] as const

/** The order of a sort without the parameter `order`. */
export const defaultOrder = 'desc'

/** The names of the parameters: those of Symfony's profiler in its order, then additional ones. */
export const searchParameters: readonly string[] = [
  ...['ip', 'method', 'status_code', 'url', 'token', 'start', 'end', 'limit', 'type'],
  ...['route', 'error', 'queries', 'pinned', 'sort', 'order', 'page'],
]

const defaultLimit = 10
const maximalLimit = 1000
const maximalPage = 1_000_000

/** Parses the parameters of a search. Never throws: invalid parameters are ignored and noted. */
export function parseListRequest(given: URLSearchParams): ListRequest {
  const texts = searchParameters.map(name => [name, given.get(name)?.trim() ?? ''] as const)
  const parameters: Record<string, string> = Object.fromEntries(texts.filter(([, text]) => text !== ''))
  const notes: string[] = []
  const limit = readCount('limit', parameters, defaultLimit, maximalLimit, notes)
  const page = readCount('page', parameters, 1, maximalPage, notes)
  const sort = readSort(parameters, notes)
  const query = { filters: readFilters(parameters, notes), limit, offset: (page - 1) * limit, ...(sort && { sort }) }
  return { query, isPinned: parameters.pinned !== undefined, parameters, page, notes }
}

type Parameters = Readonly<Record<string, string>>

function readFilters(parameters: Parameters, notes: string[]): ProfileFilter[] {
  const { error, ip, method, route, status_code: status, token, type, url } = parameters
  const filters: ProfileFilter[] = []
  const contain = (field: SummaryField, value: string | undefined) => {
    if (value !== undefined) filters.push({ field, test: 'contains', value })
  }
  contain('ip', ip)
  contain('method', method?.toUpperCase())
  contain('status', status)
  if (url?.startsWith('!') && url.length > 1) filters.push({ field: 'url', test: 'lacks', value: url.slice(1) })
  else if (url !== '!') contain('url', url)
  contain('token', token?.toLowerCase())
  contain('route', route)
  contain('fingerprint', error?.toLowerCase())
  filters.push(...readQueryRange(parameters, notes))
  // Every profile belongs to a request, so the type `request` excludes none.
  if (type !== 'request') contain('type', type)
  const from = readMoment('start', parameters, 'first', notes)
  const until = readMoment('end', parameters, 'last', notes)
  if (from !== undefined) filters.push({ field: 'time', test: 'from', value: from })
  if (until !== undefined) filters.push({ field: 'time', test: 'until', value: until })
  return filters
}

function readQueryRange({ queries: text }: Parameters, notes: string[]): ProfileFilter[] {
  if (text === undefined) return []
  const range = parseCountRange(text)
  if (range === undefined) {
    notes.push(
      `The queries “${text}” are ignored: they are not a number such as 10, and not a range such as 10.. or 5..20.`,
    )
    return []
  }
  return (['from', 'until'] as const).flatMap((test, index) => {
    const value = range[index]
    return value === undefined ? [] : [{ field: 'queries', test, value }]
  })
}

/**
 * Parses a range of whole numbers to its first and last number: `10`, `10..`, `..20`, `5..20`. Returns `undefined` for any
 * other text.
 */
export function parseCountRange(
  text: string,
): readonly [first: number | undefined, last: number | undefined] | undefined {
  const [, first = '', dots = '', last = ''] = /^(\d{0,9})(?:(\.\.)(\d{0,9}))?$/.exec(text) ?? []
  if (first === '' && last === '') return undefined
  const toNumber = (digits: string) => (digits === '' ? undefined : Number(digits))
  return [toNumber(first), toNumber(dots === '' ? first : last)]
}

function readMoment(name: string, parameters: Parameters, edge: Edge, notes: string[]): number | undefined {
  const text = parameters[name]
  if (text === undefined) return undefined
  const moment = parseMoment(text, edge)
  if (moment === undefined)
    notes.push(
      `The ${name} “${text}” is ignored: it is not a date such as 2026-11-20, and not a number of seconds since 1970.`,
    )
  return moment
}

function readCount(name: string, parameters: Parameters, fallback: number, maximum: number, notes: string[]): number {
  const text = parameters[name]
  if (text === undefined) return fallback
  const count = /^\d+$/.test(text) ? Number(text) : 0
  if (count >= 1 && count <= maximum) return count
  const taken = count > maximum ? maximum : fallback
  notes.push(
    `The ${name} “${text}” is not a number from 1 to ${maximum.toLocaleString('en')}: ${taken.toLocaleString('en')} is used instead.`,
  )
  return taken
}

function readSort({ sort, order = defaultOrder }: Parameters, notes: string[]): ProfileQuery['sort'] {
  if (sort === undefined) return undefined
  const field = sortableFields.find(field => field === sort)
  if (field === undefined) notes.push(`The list cannot be sorted by “${sort}”: the order is by time, latest first.`)
  return field && { field, direction: order === 'asc' ? 'ascending' : 'descending' }
}

/** The edge of a time span: `2026-11-20` starts at midnight and ends before the next midnight. */
type Edge = 'first' | 'last'

/**
 * Parses a moment to milliseconds since 1970. The text is a number of seconds since 1970, or an ISO date, optionally
 * with a time to the minute, second or millisecond, and an offset. The time zone is UTC by default. Returns `undefined`
 * for any other text.
 */
export function parseMoment(text: string, edge: Edge): number | undefined {
  const parsed = /^-?\d{1,12}$/.test(text) ? { time: Number(text) * 1000, span: second } : parseIsoDate(text)
  return parsed && (edge === 'first' ? parsed.time : parsed.time + parsed.span - 1)
}

const second = 1000
const minute = 60 * second
const day = 24 * 60 * minute

const isoDate = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2})?(\.\d{1,3})?(Z|[+-]\d{2}:?\d{2})?)?$/i

function parseIsoDate(text: string): { time: number; span: number } | undefined {
  const [, date = '', clock, seconds = '', fraction = '', offset = 'Z'] = isoDate.exec(text) ?? []
  // Date parses the 30th of February as a day in March.
  if (!isDate(date)) return undefined
  const time = Date.parse(`${date}T${clock ?? '00:00'}${seconds}${fraction}${withColon(offset)}`)
  if (Number.isNaN(time)) return undefined
  if (clock === undefined) return { time, span: day }
  return { time, span: fraction !== '' ? 1 : seconds !== '' ? second : minute }
}

function isDate(date: string): boolean {
  const time = Date.parse(`${date}T00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(date)
}

function withColon(offset: string): string {
  return offset.toUpperCase().replace(/^([+-]\d{2})(\d{2})$/, '$1:$2')
}

/** The result of a search, and the tokens of all pinned profiles. */
export interface ListResult extends ProfileSearchResult {
  readonly pinned: ReadonlySet<string>
}

/** Searches the store for the requested page of the list. */
export async function searchList(storage: ProfileStorage, { isPinned, query }: ListRequest): Promise<ListResult> {
  const pinned = await storage.pinned()
  const filters = isPinned
    ? [...query.filters, { field: 'token', test: 'among', value: pinned } as const]
    : query.filters
  return { ...(await storage.search({ ...query, filters })), pinned }
}
