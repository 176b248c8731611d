import type { Profile, ProfileSummary } from '../profile.ts'
import { asObject } from '../reading/read-soft.ts'
import { type Change, type Compared, compareMaps } from './compare-maps.ts'
import { type ListenerUse, readListenerUses } from './read-listener-uses.ts'
import { type LogUse, readLogUses } from './read-log-uses.ts'
import { readPairs } from './read-pairs.ts'
import { readTimings, type Timing } from './read-timings.ts'

/** What of two profiles is the same and what is not, part by part. Names are compared in lower case, where case means nothing. */
export interface Comparison {
  readonly summary: readonly Compared<string | number>[]
  readonly timings: readonly Compared<Timing>[]
  readonly query: readonly Compared<readonly string[]>[]
  readonly attributes: readonly Compared<readonly string[]>[]
  readonly requestHeaders: readonly Compared<readonly string[]>[]
  readonly responseHeaders: readonly Compared<readonly string[]>[]
  readonly listeners: readonly Compared<ListenerUse>[]
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
]

/** Compares two profiles, which may be damaged: what cannot be read is taken for missing. */
export function compareProfiles(first: Profile, second: Profile): Comparison {
  const compare = <value>(
    read: (profile: Profile) => ReadonlyMap<string, value>,
    isSame?: (first: value, second: value) => boolean,
  ) => compareMaps(read(first), read(second), isSame)
  const comparePairs = (part: 'request' | 'response', name: string, hasCase: boolean) =>
    compare(({ data }) => readPairs(asObject(asObject(data)[part])[name], hasCase, neverCompared))
  return {
    summary: compare(readSummary),
    timings: compare(readTimings),
    query: comparePairs('request', 'query', true),
    attributes: comparePairs('request', 'attributes', true),
    requestHeaders: comparePairs('request', 'headers', false),
    responseHeaders: comparePairs('response', 'headers', false),
    listeners: compare(readListenerUses, isSameUse),
    logs: compare(readLogUses, ({ times }, other) => times === other.times),
  }
}

/** Whether two have done anything another way, however long it took. */
export function hasDifferences({ timings: _, ...parts }: Comparison): boolean {
  const compared: readonly (readonly { readonly change: Change }[])[] = Object.values(parts)
  return compared.some(part => part.some(({ change }) => change !== 'same'))
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
