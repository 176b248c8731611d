import type { Profile, ProfileSummary } from '../profile.ts'
import { asObject } from '../reading/read-soft.ts'
import { replayAttribute } from '../replay/replay-mark.ts'
import { type Compared, compareMaps } from './compare-maps.ts'
import { readRequestBody, readResponseBody } from './read-bodies.ts'
import { type ListenerUse, readListenerUses } from './read-listener-uses.ts'
import { type LogUse, readLogUses } from './read-log-uses.ts'
import { readPairs } from './read-pairs.ts'
import { readTimings, type Timing } from './read-timings.ts'
import { readCallUses, readExceptionUses, readTemplateUses } from './read-uses.ts'
import { toSteadyValue } from './steady-value.ts'

/** What of two profiles is the same and what is not, part by part. Names are compared in lower case, where case means nothing. */
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
  readonly logs: readonly Compared<LogUse>[]
}

/** What is another in each request by its nature is not compared. */
export const neverCompared: readonly string[] = [
  'date',
  'x-debug-token',
  'x-debug-token-link',
  'x-previous-debug-token',
  'server-timing',
  '_stopwatch_token',
  replayAttribute,
]

/** It tells the length of what was sent, compressed or not; bodies are compared by themselves. */
const lengthHeader = 'content-length'

/** Compares two profiles, which may be damaged: what cannot be read is taken for missing. */
export function compareProfiles(first: Profile, second: Profile): Comparison {
  const compare = <value>(
    read: (profile: Profile) => ReadonlyMap<string, value>,
    isSame?: (first: value, second: value) => boolean,
  ) => compareMaps(read(first), read(second), isSame)
  const compareSent = (name: string) =>
    compare(({ data }) => readPairs(asObject(asObject(data).request)[name], true, neverCompared))
  return {
    summary: compare(readSummary),
    timings: compare(readTimings),
    query: compareSent('query'),
    attributes: compareSent('attributes'),
    requestHeaders: compare(profile => readHeaders('request', profile)),
    requestBody: compare(readRequestBody),
    responseHeaders: compare(profile => readHeaders('response', profile)),
    // What is known of one alone says nothing of the other.
    responseBody: compare(readResponseBody).filter(({ change }) => change === 'same' || change === 'changed'),
    exceptions: compare(readExceptionUses),
    listeners: compare(readListenerUses, isSameUse),
    templates: compare(readTemplateUses),
    calls: compare(readCallUses),
    logs: compare(readLogUses, ({ times }, other) => times === other.times),
  }
}

function readHeaders(part: 'request' | 'response', { data, summary }: Profile): Map<string, string[]> {
  const headers = readPairs(asObject(asObject(data)[part]).headers, false, [...neverCompared, lengthHeader])
  if (part === 'request') return headers
  return new Map([...headers].map(([name, values]) => [name, values.map(value => toSteadyValue(name, value, summary))]))
}

/** When it was, and what it took, is no difference of this kind. */
const summaryFields = [
  ...(['status', 'outcome', 'exception', 'method', 'url', 'route', 'controller', 'contentType', 'ip'] as const),
  ...(['errors', 'warnings', 'calls', 'subRequests'] as const),
] satisfies readonly (keyof ProfileSummary)[]

function readSummary({ summary }: Profile): Map<string, string | number> {
  return new Map(summaryFields.map(field => [field, summary[field] ?? '']))
}

function isSameUse(first: ListenerUse, second: ListenerUse): boolean {
  const describe = ({ calls, changes, hasThrown, isStopped }: ListenerUse) =>
    JSON.stringify([calls, changes, hasThrown, isStopped])
  return describe(first) === describe(second)
}
