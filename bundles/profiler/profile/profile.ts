import type * as v from 'valibot'
import type { collectorSchemas, processSchemas } from '../subjects/schemas.ts'
import type { documentSchema, summarySchema } from './document-schema.ts'
import type { JsonObject } from './json.ts'
import type { Schema } from './schema.ts'

declare module '../../../lib/signals.ts' {
  interface SignalMap {
    /** A profile was stored. */
    'profile.saved': ProfileSummary
  }
}

/** The fields of a profile that the list shows, and by which profiles are searched and sorted. Masked. */
export type ProfileSummary = Readonly<v.InferOutput<typeof summarySchema>>

/**
 * How a request ended: the response was sent, the client has left, the stream failed, the process
 * ended, or it has not ended.
 */
export type Outcome = ProfileSummary['outcome']

/** One request as it is stored, as plain JSON. `docs/reference/profile.md` describes the parts of `data`. */
export type ProfileDocument = Readonly<v.InferOutput<typeof documentSchema>>

/** A stored profile with its parsed parts, which the pages, exports and tools show. */
export interface Profile extends ProfileDocument {
  /** The parts of `data` that the profiler's own collectors recorded. Each is parsed when it is read first. */
  readonly collectors: CollectorData
  /** The parts of `processData` that the profiler's own collectors recorded. */
  readonly process: ProcessData
  /** The stored part of each collector about the process. */
  readonly processData: JsonObject
}

type TypesOf<Schemas extends Readonly<Record<string, Schema<unknown>>>> = {
  readonly [Name in keyof Schemas]: v.InferOutput<Schemas[Name]>
}

/** The types of the parts that the profiler's collectors record of a request, by the names of the collectors. */
export type CollectorTypes = TypesOf<typeof collectorSchemas>

/** The types of the parts that they record of the process, once for all of its profiles. */
export type ProcessTypes = TypesOf<typeof processSchemas>

/** The recorded parts of a request, by collector; `undefined` for a part that is absent or damaged. */
export type CollectorData = { readonly [Name in keyof CollectorTypes]: CollectorTypes[Name] | undefined }

/** The recorded parts of the process, by collector; `undefined` for a part that is absent or damaged. */
export type ProcessData = { readonly [Name in keyof ProcessTypes]: ProcessTypes[Name] | undefined }

/** The words for a count, and where it is shown. */
interface CountWords {
  /** Its name in texts: `cache calls`. */
  readonly name: string
  /** The noun for one of them. */
  readonly one: string
  /** The noun for several, if it is not `one` with an s. */
  readonly many?: string
  /** The panel that has all of them. */
  readonly panel: string
  /** The badge of a request: its noun and its colour. Queries have a column instead. */
  readonly badge?: { readonly one: string; readonly tone: 'plain' | 'warning' | 'error' }
  /** Whether two requests are compared by it. */
  readonly isCompared?: boolean
  /** The part of a comparison that contains the same difference. */
  readonly part?: 'calls' | 'queries'
  /** Whether it is absent of a request without any, so that others are no longer. */
  readonly isRare?: boolean
  /** Its place in Markdown: after the duration, or after the exception. Markdown does not list the other counts. */
  readonly after?: 'duration' | 'exception'
}

const counts = [
  {
    field: 'errors',
    name: 'errors',
    one: 'logged error',
    panel: 'logger',
    badge: { one: 'error', tone: 'error' },
    isCompared: true,
    after: 'exception',
  },
  {
    field: 'warnings',
    name: 'warnings',
    one: 'logged warning',
    panel: 'logger',
    badge: { one: 'warning', tone: 'warning' },
    isCompared: true,
    after: 'exception',
  },
  {
    field: 'operationErrors',
    name: 'errors of the operation',
    one: 'operation error',
    panel: 'request',
    badge: { one: 'operation error', tone: 'error' },
    isCompared: true,
    after: 'exception',
  },
  {
    field: 'browserErrors',
    name: 'errors in the browser',
    one: 'browser error',
    panel: 'browser',
    badge: { one: 'browser error', tone: 'error' },
    after: 'exception',
  },
  {
    field: 'queries',
    name: 'queries',
    one: 'query',
    many: 'queries',
    panel: 'database',
    isCompared: true,
    part: 'queries',
    after: 'duration',
  },
  {
    field: 'cacheCalls',
    name: 'cache calls',
    one: 'cache call',
    panel: 'cache',
    badge: { one: 'cache call', tone: 'plain' },
    isCompared: true,
    part: 'queries',
    after: 'duration',
  },
  {
    field: 'calls',
    name: 'HTTP client calls',
    one: 'HTTP client call',
    panel: 'http',
    badge: { one: 'HTTP client call', tone: 'plain' },
    isCompared: true,
    part: 'calls',
    after: 'duration',
  },
  {
    field: 'mails',
    name: 'mails',
    one: 'mail',
    panel: 'mails',
    badge: { one: 'mail', tone: 'plain' },
    isCompared: true,
    isRare: true,
    after: 'duration',
  },
  {
    field: 'subRequests',
    name: 'sub-requests',
    one: 'sub-request',
    panel: 'request',
    badge: { one: 'sub-request', tone: 'plain' },
    isCompared: true,
    after: 'exception',
  },
  {
    field: 'dumps',
    name: 'console calls',
    one: 'console call',
    panel: 'console',
    badge: { one: 'console call', tone: 'plain' },
  },
] as const satisfies readonly (CountWords & { readonly field: keyof ProfileSummary })[]

type CountName = (typeof counts)[number]['field']

/** A count of a summary: its field, the words for it, and where it is shown. */
export interface SummaryCount extends CountWords {
  readonly field: CountName
}

/** The counts of a summary, in the order in which they are shown. */
export const summaryCounts: readonly SummaryCount[] = counts

/** A count of a profile; 0 where it is absent. */
export function readCount(summary: ProfileSummary, { field }: Pick<SummaryCount, 'field'>): number {
  return summary[field] ?? 0
}

type RareName = Extract<(typeof counts)[number], { readonly isRare: true }>['field']

/** The counts of a request in which nothing has happened. Rare ones are absent. */
export const noCounts = Object.fromEntries(
  summaryCounts.flatMap(({ field, isRare }) => (isRare ? [] : [[field, 0]])),
) as Readonly<Record<Exclude<CountName, RareName>, number>>

/**
 * Recorded data holds what was derived from it under this key. The values of a WeakMap would survive minor garbage
 * collections.
 */
const derivedKey: unique symbol = Symbol('derived')

/**
 * Wraps a function that derives data from the recorded data of a profile, so that it runs once per
 * profile: a panel, the menu and the rules need the same data.
 */
export function oncePerProfile<result extends object>(
  derive: (collectors: CollectorData) => result,
): (profile: Pick<Profile, 'collectors'>) => result {
  return ({ collectors }) => {
    const holder: CollectorData & { [derivedKey]?: Map<object, object> } = collectors
    holder[derivedKey] ??= new Map()
    const derived = holder[derivedKey]
    // Under a function are only its own results.
    let result = derived.get(derive) as result | undefined
    if (result === undefined) {
      result = derive(collectors)
      derived.set(derive, result)
    }
    return result
  }
}
