import type { ProfileSummary } from '../profile/profile.ts'
import { toReadableUrl } from '../profile/readable-url.ts'
import type { ProfileFilter, ProfileQuery, SummaryField } from '../store/profile-storage.ts'
import { matchFilter } from '../store/search-summaries.ts'
import { type Edge, parseCountRange, parseMoment, parseStatusRange, rangeHint, statusHint } from './search-values.ts'

/** The parsed parameters of a search in the list of profiles. */
export interface ListRequest {
  readonly query: ProfileQuery & { readonly filters: readonly ProfileFilter[]; readonly offset: number }
  /** Whether a profile meets all conditions, without the marks. */
  readonly matches: (summary: ProfileSummary) => boolean
  /** Whether there are such conditions. */
  readonly isFiltering: boolean
  /** The marks that a request must have: all of them. */
  readonly marks: readonly ListMark[]
  /** Whether each sub-request is an entry of its own, and main requests are not listed. */
  readonly isOfSubRequests: boolean
  /** Whether only the requests of browsers themselves are wanted, which are else left out. */
  readonly isOfProbes: boolean
  /** Whether only pinned profiles are wanted. */
  readonly isPinned: boolean
  /** The tokens of the main requests whose sub-requests are unfolded. */
  readonly open: ReadonlySet<string>
  /** The given parameters by name, in the order of {@link searchParameters}. */
  readonly parameters: Readonly<Record<string, string>>
  /** The first page is 1. */
  readonly page: number
  /** Sentences about parameters that are ignored or corrected. */
  readonly notes: readonly string[]
}

/**
 * What a list can be restricted to by one click: failed requests, slow requests, requests with findings, statuses from 400
 * to 499, requests of scripts and programs, and requests of the client that looks at the list.
 */
export const marks = ['errors', 'slow', 'findings', '4xx', 'api', 'client'] as const

/** See {@link marks}. */
export type ListMark = (typeof marks)[number]

/** The fields by which the list is sorted. */
export const sortableFields = [
  'time',
  'status',
  'ip',
  'method',
  'url',
  'route',
  'queries',
  'queryTime',
  'size',
  'memory',
  'duration',
] as const

/** The order of a sort without the parameter `order`. */
export const defaultOrder = 'desc'

/** The types of profiles that the parameter `type` selects: main requests by default. */
export const profileTypes = ['request', 'sub-request', 'probe'] as const

/** The names of the parameters: those of Symfony's profiler in its order, then additional ones. */
export const searchParameters: readonly string[] = [
  ...['ip', 'method', 'status_code', 'url', 'token', 'start', 'end', 'limit', 'type'],
  ...[
    'text',
    'only',
    'route',
    'slower',
    'content',
    'exception',
    'error',
    'queries',
    'machine',
    'pinned',
    'sort',
    'order',
    'page',
  ],
]

/** The number of main requests on a page, by default. */
export const defaultLimit = 25
const maximalLimit = 1000
const maximalPage = 1_000_000
const openLimit = 100

/** Parses the parameters of a search. Never throws: invalid parameters are ignored and noted. */
export function parseListRequest(given: URLSearchParams): ListRequest {
  const texts = [...searchParameters, 'open'].map(name => [name, given.get(name)?.trim() ?? ''] as const)
  const parameters: Record<string, string> = Object.fromEntries(texts.filter(([, text]) => text !== ''))
  const notes: string[] = []
  const limit = readCount('limit', parameters, defaultLimit, maximalLimit, notes)
  const page = readCount('page', parameters, 1, maximalPage, notes)
  const sort = readSort(parameters, notes)
  const filters = readFilters(parameters, notes)
  const tests = [...filters.map(matchFilter), ...readTests(parameters)]
  return {
    query: { filters, limit, offset: (page - 1) * limit, ...(sort && { sort }) },
    matches: summary => tests.every(test => test(summary)),
    isFiltering: tests.length > 0,
    marks: readMarks(parameters, notes),
    isOfSubRequests: parameters.type === 'sub-request',
    isOfProbes: parameters.type === 'probe',
    isPinned: parameters.pinned !== undefined,
    open: new Set(parameters.open?.split(',').slice(0, openLimit)),
    parameters,
    page,
    notes,
  }
}

type Parameters = Readonly<Record<string, string>>

function readFilters(parameters: Parameters, notes: string[]): ProfileFilter[] {
  const { content, error, exception, ip, machine, method, route, token, type = 'request', url } = parameters
  const filters: ProfileFilter[] = []
  const contain = (field: SummaryField, value: string | undefined) => {
    if (value !== undefined) filters.push({ field, test: 'contains', value })
  }
  contain('ip', ip)
  // A name may be the beginning of another one: web-1, web-10.
  if (machine !== undefined) filters.push({ field: 'machine', test: 'among', value: new Set([machine]) })
  contain('method', method?.toUpperCase())
  filters.push(...readRange('status_code', 'status', parseStatusRange, statusHint, parameters, notes))
  if (url?.startsWith('!') && url.length > 1) filters.push({ field: 'url', test: 'lacks', value: url.slice(1) })
  else if (url !== '!') contain('url', url)
  contain('token', token?.toLowerCase())
  contain('route', route)
  contain('contentType', content?.toLowerCase())
  if (exception !== '*') contain('exception', exception)
  contain('fingerprint', error?.toLowerCase())
  filters.push(...readRange('queries', 'queries', parseCountRange, rangeHint, parameters, notes))
  const slower = readMilliseconds(parameters, notes)
  if (slower !== undefined) filters.push({ field: 'duration', test: 'from', value: slower })
  // Another type, such as Symfony's `command`, has no profiles.
  if (!profileTypes.some(known => known === type)) contain('type', type)
  const from = readMoment('start', parameters, 'first', notes)
  const until = readMoment('end', parameters, 'last', notes)
  if (from !== undefined) filters.push({ field: 'time', test: 'from', value: from })
  if (until !== undefined) filters.push({ field: 'time', test: 'until', value: until })
  return filters
}

/** The conditions that are no {@link ProfileFilter}. */
function readTests({ exception, text }: Parameters): ((summary: ProfileSummary) => boolean)[] {
  const wanted = text?.toLowerCase()
  const isIn = (value: string | null) => wanted !== undefined && value?.toLowerCase().includes(wanted) === true
  return [
    ...(exception === '*' ? [(summary: ProfileSummary) => summary.exception !== null] : []),
    ...(wanted === undefined
      ? []
      : [
          ({ controller, route, url }: ProfileSummary) =>
            isIn(url) || isIn(route) || isIn(controller) || isIn(toReadableUrl(url)),
        ]),
  ]
}

function readMarks({ only = '' }: Parameters, notes: string[]): ListMark[] {
  return only.split(',').flatMap(text => {
    const mark = marks.find(mark => mark === text.trim())
    if (mark === undefined && only !== '')
      notes.push(`“${text}” is ignored: a list is restricted to ${marks.join(', ')}.`)
    return mark ?? []
  })
}

function readRange(
  name: string,
  field: 'queries' | 'status',
  parse: typeof parseCountRange,
  hint: string,
  { [name]: text }: Parameters,
  notes: string[],
): ProfileFilter[] {
  if (text === undefined) return []
  const range = parse(text)
  if (range === undefined) notes.push(`The ${field} “${text}” ${verbOf(field)} ignored: expected ${hint}.`)
  return (['from', 'until'] as const).flatMap((test, index) => {
    const value = range?.[index]
    return value === undefined ? [] : [{ field, test, value }]
  })
}

function verbOf(field: string): string {
  return field === 'queries' ? 'are' : 'is'
}

/** Parses milliseconds, optionally with their unit: `250`, `250 ms`, `1.5s`. */
export function parseMilliseconds(text: string): number | undefined {
  const [, number, unit] = /^(\d{1,9}(?:\.\d{1,9})?) ?(ms|s)?$/.exec(text) ?? []
  return number === undefined ? undefined : Number(number) * (unit === 's' ? 1000 : 1)
}

function readMilliseconds({ slower }: Parameters, notes: string[]): number | undefined {
  const duration = slower === undefined ? undefined : parseMilliseconds(slower)
  if (slower !== undefined && duration === undefined)
    notes.push(`The duration “${slower}” is ignored: expected milliseconds such as 250.`)
  return duration
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
