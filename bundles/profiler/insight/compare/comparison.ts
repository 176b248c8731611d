import { type Profile, type ProfileSummary, summaryCounts } from '../../profile/profile.ts'
import { isObject } from '../../profile/schema.ts'
import { replayAttribute } from '../../record/recording-policy.ts'
import { compareContents } from './compare-contents.ts'
import { type Compared, compareMaps } from './compare-maps.ts'
import {
  type ListenerUse,
  type LogUse,
  type QueryUse,
  readCallUses,
  readExceptionUses,
  readListenerUses,
  readLogUses,
  readPairs,
  readQueryUses,
  readRequestBody,
  readResponseBody,
  readTemplateUses,
  readTimings,
  type Timing,
} from './compared-parts.ts'

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
  readonly responseBody: readonly Compared<string>[]
  readonly exceptions: readonly Compared<number>[]
  readonly listeners: readonly Compared<ListenerUse>[]
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
 * Compares two profiles, part by part. Times that differ by less than 5 %, than 2 ms, or than the usual `spread` of such
 * requests in milliseconds count as equal.
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
  return {
    summary: compare(readSummary),
    timings: compare(readTimings).map(timing => (isNoise(timing, spread) ? { ...timing, change: 'same' } : timing)),
    query: compare(({ collectors }) => readPairs(collectors.request?.query, true, neverCompared)),
    parameters: compareAttributes(true),
    attributes: compareAttributes(false),
    requestHeaders: compare(profile => readHeaders('request', profile)),
    requestBody: compare(readRequestBody),
    responseHeaders: compare(readResponseHeaders),
    responseBody: compareBodies(first, second),
    exceptions: compare(readExceptionUses),
    listeners: compare(readListenerUses, isSameUse),
    templates: compare(readTemplateUses),
    calls: compare(readCallUses),
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
  // Another content has another size.
  return [...facts.filter(({ change, key }) => !hasChanged || change === 'same' || key !== 'size'), ...contents]
}

/** A smaller difference of two times is usual: in microseconds, and as a share of the longer time. */
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

/** The compared fields of summaries. Times and durations differ in each request. */
const summaryFields = [
  ...(['status', 'outcome', 'exception', 'method', 'url', 'route', 'controller', 'contentType', 'ip'] as const),
  ...summaryCounts.filter(({ isCompared }) => isCompared).map(({ field }) => field),
] satisfies readonly (keyof ProfileSummary)[]

function readSummary({ summary }: Profile): Map<string, string | number> {
  return new Map(summaryFields.map(field => [field, summary[field] ?? '']))
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
    const expires = Date.parse(value)
    return expires >= time - tolerance && expires <= time + duration + tolerance ? '(time of the response)' : value
  }
  return name.startsWith('content-security-policy') ? value.replace(/'nonce-[^']*'/g, "'nonce-…'") : value
}
