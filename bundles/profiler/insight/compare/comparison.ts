import { isDeepStrictEqual } from 'node:util'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import { replayAttribute } from '../../record/recording-policy.ts'
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

/** Compares two profiles, part by part. */
export function compareProfiles(first: Profile, second: Profile): Comparison {
  const compare = <value>(
    read: (profile: Profile) => ReadonlyMap<string, value>,
    isSame?: (first: value, second: value) => boolean,
  ) => compareMaps(read(first), read(second), isSame)
  const compareSent = (name: 'query' | 'attributes') =>
    compare(({ collectors }) => readPairs(collectors.request?.[name], true, neverCompared))
  return {
    summary: compare(readSummary),
    timings: compare(readTimings),
    query: compareSent('query'),
    attributes: compareSent('attributes'),
    requestHeaders: compare(profile => readHeaders('request', profile)),
    requestBody: compare(readRequestBody),
    responseHeaders: compare(readResponseHeaders),
    // A fact that only one profile contains is no difference.
    responseBody: compare(readResponseBody).filter(({ change }) => change === 'same' || change === 'changed'),
    exceptions: compare(readExceptionUses),
    listeners: compare(readListenerUses, isSameUse),
    templates: compare(readTemplateUses),
    calls: compare(readCallUses),
    queries: compare(readQueryUses, isSameTimes),
    logs: compare(readLogUses, isSameTimes),
  }
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
  ...(['errors', 'warnings', 'calls', 'queries', 'cacheCalls', 'subRequests'] as const),
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

/** Whether a value is equal in both profiles, different, or in one of them only. */
export type DifferenceKind = 'same' | 'changed' | 'onlyFirst' | 'onlySecond'

/** A value that is in at least one of two profiles. */
export interface Compared<value> {
  readonly key: string
  readonly first: value | undefined
  readonly second: value | undefined
  readonly change: DifferenceKind
}

/**
 * Compares two maps by key. A key is sorted by its lower position in the two maps, so the order is the same if the maps
 * are exchanged.
 */
export function compareMaps<value>(
  first: ReadonlyMap<string, value>,
  second: ReadonlyMap<string, value>,
  isSame: (first: value, second: value) => boolean = isDeepStrictEqual,
): Compared<value>[] {
  const positions = new Map<string, number>()
  for (const keys of [first.keys(), second.keys()]) {
    for (const [position, key] of [...keys].entries()) {
      positions.set(key, Math.min(position, positions.get(key) ?? position))
    }
  }
  const keys = [...positions].sort(([a, one], [b, other]) => one - other || (a < b ? -1 : 1))
  return keys.map(([key]) => {
    const [one, other] = [first.get(key), second.get(key)]
    return { key, first: one, second: other, change: changeOf(one, other, isSame) }
  })
}

function changeOf<value>(
  first: value | undefined,
  second: value | undefined,
  isSame: (first: value, second: value) => boolean,
): DifferenceKind {
  if (second === undefined) return 'onlyFirst'
  if (first === undefined) return 'onlySecond'
  return isSame(first, second) ? 'same' : 'changed'
}

/** Names of fields of a summary in texts, if they differ from the name in code. */
const fieldNames: ReadonlyMap<string, string> = new Map([
  ['contentType', 'content type'],
  ['url', 'URL'],
  ['ip', 'IP'],
  ['calls', 'HTTP client calls'],
  ['cacheCalls', 'cache calls'],
  ['subRequests', 'sub-requests'],
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
