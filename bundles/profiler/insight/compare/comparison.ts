import { parseHttpDate } from '../../../../lib/http/http-date.ts'
import { controllerTimes, readEventTree } from '../../profile/event-tree.ts'
import { readExceptions } from '../../profile/exceptions.ts'
import { formatSize, formatText, readHeader } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { isObject } from '../../profile/json.ts'
import { type Profile, type ProfileSummary, readCount, summaryCounts } from '../../profile/profile.ts'
import type { Pairs } from '../../profile/schema.ts'
import { coveredWorkTime, readStops } from '../../profile/work.ts'
import { replayAttribute } from '../../record/recording-policy.ts'
import { type ListenerUse, readFunctionUses, readListenerUses } from '../../subjects/events/read.ts'
import { readOperation } from '../../subjects/exchange/read.ts'
import { readCallOutcomes } from '../../subjects/http/read.ts'
import { type LogUse, readLogUses } from '../../subjects/logs/read.ts'
import { type QueryUse, readQueryUses } from '../../subjects/queries/read.ts'
import { readRenders } from '../../subjects/templates/read.ts'
import { readStopwatch } from '../../subjects/time/read.ts'
import { workKinds } from '../../subjects/work.ts'
import { type Compared, compareContents, compareMaps, readValues } from './differences.ts'

/** The equal and different parts of two profiles. Case-insensitive names are in lower case. */
export interface Comparison {
  readonly summary: readonly Compared<string | number>[]
  readonly timings: readonly Compared<Timing>[]
  readonly query: readonly Compared<readonly string[]>[]
  /** The values that the route has found in the path. */
  readonly parameters: readonly Compared<readonly string[]>[]
  readonly attributes: readonly Compared<readonly string[]>[]
  readonly requestHeaders: readonly Compared<readonly string[]>[]
  readonly requestBody: readonly Compared<string>[]
  readonly responseHeaders: readonly Compared<readonly string[]>[]
  /** The response headers that differ if the requests have not asked for the same: the clients may be the reason. */
  readonly negotiatedHeaders: readonly Compared<readonly string[]>[]
  readonly responseBody: readonly Compared<string>[]
  readonly exceptions: readonly Compared<ExceptionUse>[]
  readonly listeners: readonly Compared<ListenerUse>[]
  /** The functions of another framework: of another server, or of a mounted handler. */
  readonly functions: readonly Compared<ListenerUse>[]
  readonly templates: readonly Compared<number>[]
  readonly calls: readonly Compared<readonly string[]>[]
  readonly queries: readonly Compared<QueryUse>[]
  readonly logs: readonly Compared<LogUse>[]
}

/** Headers and attributes that differ in each request, so they are not compared. */
export const neverCompared: readonly string[] = [
  'date',
  'x-debug-token',
  'x-debug-token-link',
  'x-request-id',
  'x-previous-debug-token',
  'server-timing',
  '_stopwatch_token',
  replayAttribute,
]

/** Not compared: it may be the length before or after compression. The sizes of bodies are compared instead. */
const lengthHeader = 'content-length'

/**
 * Compares two profiles, part by part. Times that differ by less than 5 %, than 2 ms, or than the
 * usual `spread` of such requests in milliseconds count as equal.
 */
export function compareProfiles(first: Profile, second: Profile, spread = 0): Comparison {
  const compare = <value>(
    read: (profile: Profile) => ReadonlyMap<string, value>,
    isSame?: (first: value, second: value) => boolean,
  ) => compareMaps(read(first), read(second), isSame)
  const inPath = [first, second].flatMap(readParameterNames)
  const compareAttributes = (areInPath: boolean) =>
    compare(({ collectors }) => {
      const attributes = collectors.request?.attributes ?? []
      return readPairs(
        attributes.filter(([name]) => inPath.includes(name) === areInPath && name !== '_route_params'),
        true,
        neverCompared,
      )
    })
  const headers = compare(readResponseHeaders)
  const areAlike = isAlikeRequest(first, second)
  const isNegotiated = ({ change }: Compared<unknown>) => !areAlike && change !== 'same'
  return {
    summary: compare(readSummary),
    timings: compare(readTimings).map(timing => (isNoise(timing, spread) ? { ...timing, change: 'same' } : timing)),
    query: compare(({ collectors }) => readPairs(collectors.request?.query, true, neverCompared)),
    parameters: compareAttributes(true),
    attributes: compareAttributes(false),
    requestHeaders: compare(profile => readHeaders('request', profile)),
    requestBody: compare(readRequestBody),
    responseHeaders: headers.filter(header => !isNegotiated(header)),
    negotiatedHeaders: headers.filter(isNegotiated),
    responseBody: compareBodies(first, second),
    exceptions: compare(readExceptionUses, isSameTimes),
    listeners: compare(readListenerUses, isSameUse),
    functions: compare(readFunctionUses, isSameUse),
    templates: compare(profile => count(readRenders(profile).all.map(({ name }) => name))),
    calls: compare(readCallOutcomes),
    queries: compare(readQueryUses, isSameTimes),
    logs: compare(readLogUses, isSameTimes),
  }
}

function compareBodies(first: Profile, second: Profile): Compared<string>[] {
  const contents = compareContents(first.collectors.response?.content, second.collectors.response?.content)
  const facts = compareMaps(readResponseBody(first), readResponseBody(second)).filter(
    // A fact that only one profile contains is no difference.
    ({ change }) => change === 'same' || change === 'changed',
  )
  const hasChanged = contents.some(({ change }) => change !== 'same')
  // If the contents differ, a difference of their sizes says nothing more.
  return [...facts.filter(({ change, key }) => !hasChanged || change === 'same' || key !== 'size'), ...contents]
}

/** The least difference of two times that is not usual: in microseconds, and as a share of the longer time. */
const leastTime = 2_000
const leastShare = 0.05

function isNoise({ first, second }: Compared<Timing>, spread: number): boolean {
  const [one, other] = [first?.duration ?? 0, second?.duration ?? 0]
  return Math.abs(one - other) < Math.max(leastTime, leastShare * Math.max(one, other), spread * 1000)
}

function readParameterNames({ collectors: { router } }: Profile): string[] {
  const isFound = router?.outcome === 'match' || router?.outcome === 'redirect'
  return isFound && isObject(router.parameters) ? Object.keys(router.parameters) : []
}

function readHeaders(part: 'request' | 'response', { collectors }: Profile): Map<string, string[]> {
  return readPairs(collectors[part]?.headers, false, [...neverCompared, lengthHeader])
}

/** Reads the compared headers of a response, by name in lower case. Parts that differ in each response are replaced. */
export function readResponseHeaders(profile: Profile): ReadonlyMap<string, readonly string[]> {
  const { summary } = profile
  const headers = readHeaders('response', profile)
  return new Map([...headers].map(([name, values]) => [name, values.map(value => toStableValue(name, value, summary))]))
}

/** The request fields by which servers choose a response, or the way to send it, even if no `Vary` names them. */
const negotiating = [
  'accept',
  'accept-encoding',
  'accept-language',
  'connection',
  'cookie',
  'authorization',
  'origin',
  'range',
]

/**
 * Whether two requests have asked for the same: their negotiating fields, and those that `Vary` of
 * a response names, have equal values, and so has the version of HTTP. Otherwise a difference of
 * the responses may be that of the clients.
 */
export function isAlikeRequest(first: Profile, second: Profile): boolean {
  const both = [first, second].map(({ collectors }) => collectors)
  const vary = both
    .flatMap(({ response }) => readHeader(response, 'vary'))
    .flatMap(value => value.toLowerCase().split(/[\s,]+/))
  const asked = both.map(({ request }) =>
    JSON.stringify([request?.httpVersion ?? null, ...[...negotiating, ...vary].map(name => readHeader(request, name))]),
  )
  return !vary.includes('*') && asked[0] === asked[1]
}

/** The compared fields of summaries. Times and durations differ in each request. */
const summaryFields = [
  ...(['status', 'outcome', 'exception', 'method', 'url', 'route', 'controller', 'contentType', 'ip'] as const),
] satisfies readonly (keyof ProfileSummary)[]

function readSummary(profile: Profile): Map<string, string | number> {
  const { summary } = profile
  const counts = summaryCounts.filter(({ isCompared }) => isCompared)
  return new Map<string, string | number>([
    ...summaryFields.map(field => [field, summary[field] ?? ''] as const),
    ...counts.map(
      count => [count.field, isCountKnown(profile, count.field) ? readCount(summary, count) : 'not known'] as const,
    ),
  ])
}

/**
 * Whether a count of a summary is known: errors of an operation are read from the response, of
 * which only a part may be stored.
 */
export function isCountKnown(profile: Profile, field: keyof ProfileSummary): boolean {
  return field !== 'operationErrors' || readOperation(profile)?.areErrorsKnown !== false
}

function isSameTimes(one: { readonly times: number }, other: { readonly times: number }): boolean {
  return one.times === other.times
}

function isSameUse(first: ListenerUse, second: ListenerUse): boolean {
  const describe = ({ calls, changes, hasThrown, isStopped }: ListenerUse) =>
    JSON.stringify([calls, changes, hasThrown, isStopped])
  return describe(first) === describe(second)
}

/** Names of fields of a summary in texts, if they differ from the name in code. */
const fieldNames: ReadonlyMap<string, string> = new Map<string, string>([
  ['contentType', 'content type'],
  ['url', 'URL'],
  ['ip', 'IP'],
  ...summaryCounts.map(({ field, name }) => [field, name] as const),
])

/** Returns the name of a field of a summary in texts. */
export function nameOfField(field: string): string {
  return fieldNames.get(field) ?? field
}

/** Milliseconds: dates in headers have whole seconds. */
const tolerance = 2000

/**
 * Replaces the parts of a response header that differ in each response: a nonce, and an `expires` at the time of the
 * response.
 */
function toStableValue(
  name: string,
  value: string,
  { duration, time }: Pick<ProfileSummary, 'duration' | 'time'>,
): string {
  if (name === 'expires') {
    const expires = parseHttpDate(value)
    return expires >= time - tolerance && expires <= time + duration + tolerance ? '(time of the response)' : value
  }
  return name.startsWith('content-security-policy') ? value.replace(/'nonce-[^']*'/g, "'nonce-…'") : value
}

/** Reads the stored parts of a request body: facts, fields and files by name. */
function readRequestBody({ collectors }: Profile): Map<string, string> {
  const body = collectors.request?.body
  if (body === undefined) return new Map()
  const parts: [string, string][] = [
    ['media type', body.type],
    ['length', formatSize(body.length)],
    ['state', body.state],
    ...[...(readValues(body) ?? [])].map(([name, value]): [string, string] => [
      body.json === undefined ? `field “${name}”` : name,
      value,
    ]),
    ...(body.files ?? []).map(({ field, name, size }, index): [string, string] => [
      `file ${index + 1}`,
      [field, name, formatSize(size)].join(', '),
    ]),
  ]
  return new Map(parts.filter(([, text]) => text !== ''))
}

/** The header of the profiler's error pages: these contain times, so their sizes differ each time. */
const ownPageHeader = 'x-debug-exception'

/** The names of the facts of a response body. */
export const bodyFacts: readonly string[] = ['size', 'transfer', 'digest']

/** Reads the facts of a response body: its size before compression, its transfer, and a digest if it is no text. */
function readResponseBody({ collectors: { response } }: Profile): Map<string, string> {
  if (response === undefined || readPairs(response.headers, false, []).has(ownPageHeader)) return new Map()
  const parts: [string, string][] = [
    ['size', formatSize(response.size)],
    ['transfer', response.isStreamed ? 'streamed' : 'at once'],
    ['digest', response.content?.digest ?? ''],
  ]
  return new Map(parts.filter(([, text]) => text !== ''))
}

/** The total duration of an event or a measured part. */
export interface Timing {
  readonly name: string
  /** `main` for the parts of a request, `event` for dispatches, `measured` for the stopwatch. */
  readonly kind: 'main' | 'event' | 'measured'
  /** Whole microseconds. */
  readonly duration: number
  readonly times: number
}

/**
 * Reads the durations of a request: total, controller, each kind of work; then events, then the stopwatch.
 */
function readTimings(profile: Profile): Map<string, Timing> {
  const { summary } = profile
  const tree = readEventTree(profile)
  const total = Math.round(summary.duration * 1000)
  const timings: Timing[] = [{ name: 'Total', kind: 'main', duration: total, times: 1 }]
  const add = (name: string, kind: Timing['kind'], durations: readonly number[], times = durations.length) => {
    const duration = Math.round(durations.reduce((sum, each) => sum + Math.max(0, each), 0))
    if (durations.length > 0) timings.push({ name, kind, duration, times })
  }

  add('Controller', 'main', controllerTimes(tree.roots, total))
  for (const { count, label, list, more } of workKinds) {
    const listed = list(profile)
    const { ended = 0, periods = [] } = more?.(profile) ?? {}
    const time = coveredWorkTime([...listed, ...periods], readStops(profile)) * 1000
    const times = count?.(profile) ?? listed.length + ended
    add(label, 'main', listed.length + ended > 0 ? [time] : [], times)
  }
  const dispatches = tree.nodes.filter(({ kind }) => kind === 'dispatch')
  for (const [name, group] of groupBy(dispatches, ({ name }) => name)) {
    const times = group.map(({ duration = 0 }) => duration)
    add(name, 'event', times)
  }
  for (const { duration, name } of readStopwatch(profile).measured) add(name, 'measured', [duration])
  return new Map(timings.map(timing => [`${timing.kind} ${timing.name}`, timing]))
}

/**
 * Groups the values of headers or parameters by name, sorted by name. `hasCase` keeps the case of names; `without`
 * excludes names.
 */
function readPairs(pairs: Pairs | undefined, hasCase: boolean, without: readonly string[]): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (const [name, value] of pairs ?? []) {
    if (without.includes(name.toLowerCase())) continue
    const key = hasCase ? name : name.toLowerCase()
    const known = values.get(key)
    if (known === undefined) values.set(key, [formatText(value)])
    else known.push(formatText(value))
  }
  return new Map([...values].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** An exception of a profile. */
export interface ExceptionUse {
  /** Its class and its message. */
  readonly text: string
  readonly times: number
}

/** What differs in the messages of one error: numbers, and ids of hexadecimal digits. */
const valueInMessage = /\b(?=[a-f-]*\d)[a-f\d-]{6,}\b|\d+/gi

/**
 * Counts the exceptions of a profile, whatever values their messages contain: by class, code and the
 * innermost place in the application, or by the message without numbers if there is no such place.
 */
function readExceptionUses(profile: Profile): Map<string, ExceptionUse> {
  const uses = new Map<string, ExceptionUse>()
  for (const { code, frames, message, name } of readExceptions(profile)) {
    const { call, file, line } = frames.find(({ origin }) => origin === 'application') ?? {}
    const place = file === undefined ? [message.replaceAll(valueInMessage, '…')] : [call, file, line]
    const key = JSON.stringify([name, code, ...place])
    const text = message === '' ? name : `${name}: ${message}`
    uses.set(key, { text, times: (uses.get(key)?.times ?? 0) + 1 })
  }
  return uses
}

function count(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
