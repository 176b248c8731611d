import { knownMethods } from '../../../lib/http/request-target.ts'
import { nearestNames } from '../../../lib/text/mistakes.ts'
import { toReadableUrl } from '../profile/format.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import { unitTypes } from '../profile/units.ts'
import { matchFilter } from '../store/base-profile-storage.ts'
import type { ProfileFilter, ProfileQuery, SummaryField } from '../store/profile-storage.ts'
import { among } from './relatives.ts'

/** The parsed parameters of a search in the list of profiles. */
export interface ListRequest {
  readonly query: ProfileQuery & { readonly filters: readonly ProfileFilter[]; readonly offset: number }
  /** Whether a profile meets all conditions, without the marks; false if a condition cannot be read. */
  readonly matches: (summary: ProfileSummary) => boolean
  /** Whether there are conditions, apart from the marks. */
  readonly isFiltering: boolean
  /** The marks that a request must have: all of them. */
  readonly marks: readonly ListMark[]
  /** Whether only the requests of browsers themselves are wanted. By default they are left out. */
  readonly isOfProbes: boolean
  /** Whether only pinned profiles are wanted. */
  readonly isPinned: boolean
  /** The given parameters by name, in the order of {@link searchParameters}. */
  readonly parameters: Readonly<Record<string, string>>
  /** The first page is 1. */
  readonly page: number
  /** Sentences about parameters that cannot be read, or are corrected. */
  readonly notes: readonly string[]
}

/**
 * What a list can be restricted to by one click: main requests, failed requests, slow requests, requests with findings,
 * statuses from 400 to 499, requests of scripts and programs, and requests of the client that looks at the list.
 */
export const marks = ['main', 'errors', 'slow', 'findings', '4xx', 'api', 'client'] as const

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

/**
 * What the parameter `type` selects: by default all profiles but the probes of browsers. Requests include sub-requests.
 */
export const profileTypes = [...unitTypes, 'sub-request', 'probe'] as const

/** The names of the parameters: those of Symfony's profiler in its order, then additional ones. */
export const searchParameters: readonly string[] = [
  ...['ip', 'method', 'status_code', 'url', 'token', 'start', 'end', 'limit', 'type'],
  ...[
    'text',
    'only',
    'route',
    'operation',
    'slower',
    'content',
    'exception',
    'error',
    'queries',
    'program',
    'machine',
    'pinned',
    'sort',
    'order',
    'page',
  ],
]

/** The number of profiles on a page, by default. */
export const defaultLimit = 10

/** The number of profiles with which the list begins. */
export const startLimit = 25
const maximalLimit = 1000
const maximalPage = 1_000_000

/**
 * Parses the parameters of a search. Never throws: a filter that cannot be read matches no profile, other mistakes are
 * corrected, and both are noted.
 */
export function parseListRequest(given: URLSearchParams): ListRequest {
  const texts = searchParameters.map(name => [name, given.get(name)?.trim() ?? ''] as const)
  const parameters: Record<string, string> = Object.fromEntries(texts.filter(([, text]) => text !== ''))
  const notes: string[] = []
  const mistakes: string[] = []
  const limit = readCount('limit', parameters, defaultLimit, maximalLimit, notes)
  const page = readCount('page', parameters, 1, maximalPage, notes)
  const sort = readSort(parameters, notes)
  const filters = readFilters(parameters, mistakes)
  const tests = [...filters.map(matchFilter), ...readTests(parameters)]
  const wantedMarks = readMarks(parameters, mistakes)
  return {
    query: { filters, limit, offset: (page - 1) * limit, ...(sort && { sort }) },
    matches: summary => mistakes.length === 0 && tests.every(test => test(summary)),
    isFiltering: tests.length + mistakes.length > 0,
    marks: wantedMarks,
    isOfProbes: parameters.type === 'probe',
    isPinned: parameters.pinned !== undefined,
    parameters,
    page,
    notes: [...mistakes, ...notes],
  }
}

type Parameters = Readonly<Record<string, string>>

function readFilters(parameters: Parameters, mistakes: string[]): ProfileFilter[] {
  const { content, error, exception, ip, method, operation, route, token, type, url } = parameters
  const filters: ProfileFilter[] = []
  const contain = (field: SummaryField, value: string | undefined) => {
    if (value !== undefined) filters.push({ field, test: 'contains', value })
  }
  contain('ip', ip)
  // A name may be the beginning of another one: web-1, web-10.
  filters.push(...among('program', parameters.program), ...among('machine', parameters.machine))
  contain('method', method?.toUpperCase())
  if (method !== undefined && parseMethod(method) === undefined) mistakes.push(explain('method', method, methodHint))
  filters.push(...readRange('status_code', 'status', parseStatus, statusHint, parameters, mistakes))
  if (url?.startsWith('!') && url.length > 1) filters.push({ field: 'url', test: 'lacks', value: url.slice(1) })
  else if (url !== '!') contain('url', url)
  contain('token', token?.toLowerCase())
  contain('route', route)
  contain('operation', operation)
  contain('contentType', content?.toLowerCase())
  if (exception !== '*') contain('exception', exception)
  contain('fingerprint', error?.toLowerCase())
  filters.push(...readRange('queries', 'queries', parseCountRange, rangeHint, parameters, mistakes))
  const slower = readMilliseconds(parameters, mistakes)
  if (slower !== undefined) filters.push({ field: 'duration', test: 'from', value: slower })
  if (type !== undefined && !ofRequests.includes(type)) filters.push(...among('type', type))
  const from = readMoment('start', parameters, 'first', mistakes)
  const until = readMoment('end', parameters, 'last', mistakes)
  if (from !== undefined) filters.push({ field: 'time', test: 'from', value: from })
  if (until !== undefined) filters.push({ field: 'time', test: 'until', value: until })
  return filters
}

/** All profiles, and requests that their other fields distinguish. */
const ofRequests: readonly string[] = ['all', 'sub-request', 'probe']

/** Reads the conditions that no {@link ProfileFilter} expresses. */
function readTests({ exception, text, type }: Parameters): ((summary: ProfileSummary) => boolean)[] {
  const wanted = text?.toLowerCase()
  const isIn = (value: string | null) => wanted !== undefined && value?.toLowerCase().includes(wanted) === true
  return [
    ...(exception === '*' ? [(summary: ProfileSummary) => summary.exception !== null] : []),
    ...(type === 'sub-request' ? [(summary: ProfileSummary) => summary.parent !== null] : []),
    ...(wanted === undefined
      ? []
      : [
          ({ controller, operation, route, url }: ProfileSummary) =>
            isIn(url) || isIn(operation) || isIn(route) || isIn(controller) || isIn(toReadableUrl(url)),
        ]),
  ]
}

function readMarks({ only = '' }: Parameters, mistakes: string[]): ListMark[] {
  return only.split(',').flatMap(text => {
    const mark = marks.find(mark => mark === text.trim())
    if (mark === undefined && only !== '')
      mistakes.push(`A list cannot be restricted to “${text}”: expected ${marks.join(', ')}.`)
    return mark ?? []
  })
}

function readRange(
  name: string,
  field: 'queries' | 'status',
  parse: (text: string) => Range | string | undefined,
  hint: string,
  { [name]: text }: Parameters,
  mistakes: string[],
): ProfileFilter[] {
  if (text === undefined) return []
  const found = parse(text)
  if (typeof found === 'string') return [{ field, test: 'contains', value: found }]
  if (found === undefined) mistakes.push(explain(field, text, hint))
  return (['from', 'until'] as const).flatMap((test, index) => {
    const value = found?.[index]
    return value === undefined ? [] : [{ field, test, value }]
  })
}

/** What {@link parseMethod} expects. */
export const methodHint = 'a method such as GET, or a part of one'

/** A method, or a part of one, in capitals; `undefined` for a mistyped one. Servers may have methods of their own. */
export function parseMethod(text: string): string | undefined {
  const wanted = text.toUpperCase()
  const isKnown = knownMethods.some(method => method.includes(wanted))
  return isKnown || nearestNames(wanted, knownMethods, 1).length === 0 ? wanted : undefined
}

/** The sentence about a filter that cannot be read. */
function explain(filter: string, text: string, hint: string): string {
  return `The filter ${filter} “${text}” cannot be read: expected ${hint}.`
}

/** Parses milliseconds, optionally with their unit: `250`, `250 ms`, `1.5s`. */
export function parseMilliseconds(text: string): number | undefined {
  const [, number, unit] = /^(\d{1,9}(?:\.\d{1,9})?) ?(ms|s)?$/.exec(text) ?? []
  return number === undefined ? undefined : Number(number) * (unit === 's' ? 1000 : 1)
}

function readMilliseconds({ slower }: Parameters, mistakes: string[]): number | undefined {
  const duration = slower === undefined ? undefined : parseMilliseconds(slower)
  if (slower !== undefined && duration === undefined)
    mistakes.push(explain('slower', slower, 'milliseconds such as 250'))
  return duration
}

function readMoment(name: string, parameters: Parameters, edge: Edge, mistakes: string[]): number | undefined {
  const text = parameters[name]
  if (text === undefined) return undefined
  const moment = parseMoment(text, edge)
  if (moment === undefined)
    mistakes.push(explain(name, text, 'a date such as 2026-11-20, or a number of seconds since 1970'))
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

/** The first and the last value of a range; `undefined` where it has no bound. */
type Range = readonly [first: number | undefined, last: number | undefined]

/**
 * Parses a range of whole numbers to its first and last number: `10`, `10..`, `..20`, `5..20`.
 * Returns `undefined` for any other text.
 */
export function parseCountRange(text: string): Range | undefined {
  const [, first = '', dots = '', last = ''] = /^(\d{0,9})(?:(\.\.)(\d{0,9}))?$/.exec(text) ?? []
  if (first === '' && last === '') return undefined
  const toNumber = (digits: string) => (digits === '' ? undefined : Number(digits))
  const range: Range = [toNumber(first), toNumber(dots === '' ? first : last)]
  return Number(range[0] ?? 0) > Number(range[1] ?? Number.POSITIVE_INFINITY) ? undefined : range
}

/** What the sentence about a text that is no range of numbers expects. */
export const rangeHint = 'a number such as 10, or a range such as 10.. or 5..20'

/**
 * Parses a status: `4xx` and `500..599` to the first and last status, and `0` to that of requests
 * without a response; any other number is a part of the status in decimal digits, such as `404` or
 * `40`. Returns `undefined` for any other text.
 */
export function parseStatus(text: string): Range | string | undefined {
  const [, digit] = /^([1-5])xx$/i.exec(text) ?? []
  if (digit !== undefined) return [Number(digit) * 100, Number(digit) * 100 + 99]
  if (/^\d{1,3}$/.test(text) && text !== '0') return text
  return /^(?:0|(?:\d{3})?\.\.(?:\d{3})?)$/.test(text) ? parseCountRange(text) : undefined
}

/** What the sentence about a text that is no status expects. */
export const statusHint =
  'a status such as 404, a part of one such as 40, a class such as 4xx, or a range such as 500..599'

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
