import type * as v from 'valibot'
import type { collectorSchemas, processSchemas } from '../subjects/schemas.ts'
import type { JsonObject, Schema } from './schema.ts'

declare module '../../../lib/signals.ts' {
  interface SignalMap {
    /** A profile was stored. */
    'profile.saved': ProfileSummary
  }
}

/** Raised whenever profiles of the version before can no longer be read. */
export const schemaVersion = 1

/** How a request ended: response sent, client gone, stream failed, process ended, or not so far. */
export type Outcome = 'complete' | 'aborted' | 'stream-failed' | 'crashed' | 'unfinished'

/** The fields of a profile that the list shows, and by which profiles are searched and sorted. Masked. */
export interface ProfileSummary {
  /** 6 or 12 lower-case hexadecimal digits. An identifier, not a secret. */
  readonly token: string
  /** The token of the request that made this sub-request; `null` of a main request. */
  readonly parent: string | null
  readonly type: 'request'
  readonly outcome: Outcome
  /** 0 when there was no response. */
  readonly status: number
  readonly ip: string
  readonly method: string
  readonly url: string
  readonly route: string | null
  readonly controller: string | null
  /** The response's content type. */
  readonly contentType: string | null
  /** Bytes of the response's body; `null` if they are not known. */
  readonly size: number | null
  /** The same for each request of a client, by its IP and user agent: eight hexadecimal digits; `null` in older profiles. */
  readonly client: string | null
  /** The use of the response in a browser, such as `document` or `empty`: `Sec-Fetch-Dest` (W3C Fetch Metadata). */
  readonly destination: string | null
  /** The name of the machine; `null` in storage of a single one. */
  readonly machine: string | null
  /** When the request began, in milliseconds since 1970. */
  readonly time: number
  /**
   * Milliseconds until the last byte was sent, or sending has ended; of a sub-request, until `kernel.finish_request`.
   */
  readonly duration: number
  /**
   * Whether it was the first request of its route in the process, or one of the first three of the process: code and caches
   * were cold, so its duration says little about others. `false` in older profiles.
   */
  readonly isCold: boolean
  /** Bytes of the heap of the process in use when the request ended. */
  readonly memory: number
  /** The name of the class of the last exception. */
  readonly exception: string | null
  /** The same for each occurrence of that exception: eight hexadecimal digits; `null` where it cannot be recognised. */
  readonly fingerprint: string | null
  /** Log messages of level error and above. */
  readonly errors: number
  /** Log messages of level warning. */
  readonly warnings: number
  /** HTTP client calls. */
  readonly calls: number
  /** Queries of databases. */
  readonly queries: number
  /** Milliseconds in which at least one query of a database ran. */
  readonly queryTime: number
  /** Queries of caches. */
  readonly cacheCalls: number
  readonly subRequests: number
  /** Calls of `dump` and of `console`. */
  readonly dumps: number
  /** Errors of the page in the browser. */
  readonly browserErrors: number
}

/** A count of a summary: the words for it, and where it is shown. */
export interface SummaryCount {
  readonly field: 'errors' | 'warnings' | 'browserErrors' | 'queries' | 'cacheCalls' | 'calls' | 'subRequests' | 'dumps'
  /** Its name in texts: `cache calls`. */
  readonly name: string
  /** The noun for one of them. */
  readonly one: string
  /** The noun for several, if it is not `one` with an s. */
  readonly many?: string
  /** The badge of a request: its noun and its colour. Queries have a column instead. */
  readonly badge?: { readonly one: string; readonly tone: 'plain' | 'warning' | 'error' }
  /** Whether two requests are compared by it. */
  readonly isCompared?: boolean
  /** The part of a comparison that contains the same difference. */
  readonly part?: 'calls' | 'queries'
  /** Its place in Markdown: after the duration, or after the exception. Markdown does not list the other counts. */
  readonly after?: 'duration' | 'exception'
}

/** The counts of a summary, in the order in which they are shown. */
export const summaryCounts: readonly SummaryCount[] = [
  {
    field: 'errors',
    name: 'errors',
    one: 'logged error',
    badge: { one: 'error', tone: 'error' },
    isCompared: true,
    after: 'exception',
  },
  {
    field: 'warnings',
    name: 'warnings',
    one: 'logged warning',
    badge: { one: 'warning', tone: 'warning' },
    isCompared: true,
    after: 'exception',
  },
  {
    field: 'browserErrors',
    name: 'errors in the browser',
    one: 'browser error',
    badge: { one: 'browser error', tone: 'error' },
    after: 'exception',
  },
  {
    field: 'queries',
    name: 'queries',
    one: 'query',
    many: 'queries',
    isCompared: true,
    part: 'queries',
    after: 'duration',
  },
  {
    field: 'cacheCalls',
    name: 'cache calls',
    one: 'cache call',
    badge: { one: 'cache call', tone: 'plain' },
    isCompared: true,
    part: 'queries',
    after: 'duration',
  },
  {
    field: 'calls',
    name: 'HTTP client calls',
    one: 'HTTP client call',
    badge: { one: 'HTTP client call', tone: 'plain' },
    isCompared: true,
    part: 'calls',
  },
  {
    field: 'subRequests',
    name: 'sub-requests',
    one: 'sub-request',
    badge: { one: 'direct sub-request', tone: 'plain' },
    isCompared: true,
    after: 'exception',
  },
  { field: 'dumps', name: 'dumps', one: 'dump', badge: { one: 'dump', tone: 'plain' } },
]

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

/** One request as it is stored, as plain JSON. `docs/reference/profile.md` describes the parts of `data`. */
export interface ProfileDocument {
  readonly schemaVersion: typeof schemaVersion
  readonly summary: ProfileSummary
  /** The tokens of its sub-requests, in the order in which they began. */
  readonly children: readonly string[]
  /** The stored part of each collector, by its name; also of the collectors of other bundles. */
  readonly data: JsonObject
  /** The messages of the collectors that failed, by their names. */
  readonly failures: Readonly<Record<string, string>>
}

/** A stored profile with its parsed parts, which the pages, exports and tools show. */
export interface Profile extends ProfileDocument {
  /** The parts of `data` that the profiler's own collectors recorded. Each is parsed when it is read first. */
  readonly collectors: CollectorData
  /** The parts of `processData` that the profiler's own collectors recorded. */
  readonly process: ProcessData
  /** The stored part of each collector about the process. */
  readonly processData: JsonObject
}
