import * as v from 'valibot'
import type { NearRoute } from '../../../lib/routing/nearest-routes.ts'
import { outcomesByNearness } from '../../../lib/routing/nearest-routes.ts'
import { type ContentData, contentEntries } from './content-data.ts'
import {
  amount,
  amountOrNull,
  check,
  flag,
  isToken,
  type JsonObject,
  list,
  maybe,
  number,
  oneOf,
  type Pairs,
  pairs,
  type Schema,
  text,
  texts,
} from './schema.ts'

/** The request as it was received. Empty parts are absent. Names of cookies are in the headers. */
export interface RequestData {
  readonly httpVersion: string
  readonly headers: Pairs
  readonly attributes: Pairs
  /** Whether the client may see debug output. A replay has the same permission. */
  readonly isDebugAllowed: boolean
  /** The id of the request in log lines and in the response header `x-request-id`. */
  readonly id?: string | undefined
  /** The id of the distributed trace; absent without tracing, unless the client has sent a trace context. */
  readonly traceId?: string | undefined
  /** The span of the caller in this trace; only of a main request. */
  readonly parentSpanId?: string | undefined
  /** The span of the request in this trace; absent without tracing. */
  readonly spanId?: string | undefined
  readonly query?: Pairs | undefined
  readonly body?: BodyData | undefined
}

/** The body of a request. Of text, only forms and JSON are stored. */
export interface BodyData extends ContentData {
  /** `parent`: a sub-request has the body of its parent. `broken`: reading failed or never ended. */
  readonly state: 'read' | 'unread' | 'broken' | 'parent'
  readonly files?: readonly FileData[] | undefined
}

/** An uploaded file; its content is never recorded. */
export interface FileData {
  readonly field: string
  /** The name that the client has sent. */
  readonly name: string
  /** The type that the client claims. */
  readonly type: string
  readonly size: number
}

/** The response. */
export interface ResponseData {
  readonly headers: Pairs
  /** Bytes of the body before compression, whether or not all were sent; `null` for a stream of unknown length. */
  readonly size: number | null
  readonly isStreamed: boolean
  /** Bytes of a stream that were sent, as they were sent: maybe compressed. Absent if the response was no stream. */
  readonly sent?: number | undefined
  /** Cookies that are nearly too large for browsers: their names and bytes. The bytes are those before their values are masked. */
  readonly largeCookies?: Pairs | undefined
  /** Server-sent events; absent if the response was no stream of events. */
  readonly events?: number | undefined
  /** As it was before compression, without the profiler's toolbar; absent of a stream and of the profiler's error page. */
  readonly content?: ContentData | undefined
}

/** The session, without its id. */
export interface ProfiledSession {
  /** Whether the route says that it uses no session. */
  readonly isStateless: boolean
  /** Uses by the main request and all of its sub-requests so far. */
  readonly useCount: number
  /** Uses by this request itself. */
  readonly uses: readonly SessionUseData[]
  /** The class of the store, such as `FileSessionStore`. Absent as `metadata`, and in profiles of 0.2. */
  readonly store?: string | undefined
  /** Absent unless the session was started; times are milliseconds since 1970. Profiles of 0.1 have no `expiresAt`. */
  readonly metadata?: SessionMetadataData | undefined
  readonly attributes?: JsonObject | undefined
  /** Flash messages that were not shown yet, by type. */
  readonly flashes?: JsonObject | undefined
}

/** When a session was created and used, and when it ends. */
export interface SessionMetadataData {
  readonly createdAt: number
  readonly lastUsedAt: number
  readonly expiresAt?: number | undefined
}

/** A use of a session. */
export interface SessionUseData {
  readonly method: string
  /** Milliseconds since the start of the request. */
  readonly at: number
  /** Places in the source, innermost call first. */
  readonly trace: readonly string[]
}

/** A response that redirected the client. */
export interface RedirectData {
  readonly token: string
  readonly status: number
  readonly method: string
  /** Masked. */
  readonly url: string
}

/** The files that a page refers to, and that do not exist. */
export interface MissingAssetsData {
  /** Their paths, at most 20. */
  readonly paths: readonly string[]
}

/** The result of the router. */
export type RouterData = FoundRouteData | RedirectRouteData | MissingRouteData

/** A route that matched. */
export interface FoundRouteData {
  readonly outcome: 'match'
  readonly route: string
  readonly parameters?: unknown
}

/** A route that matched after its slash was corrected. */
export interface RedirectRouteData {
  readonly outcome: 'redirect'
  readonly route: string
  readonly parameters?: unknown
  readonly location: string
}

/** No route matched. */
export interface MissingRouteData {
  readonly outcome: 'not-found' | 'method-not-allowed'
  /** The methods that the routes of the path declare; of a 405. */
  readonly allow?: readonly string[] | undefined
  /** The nearest first. */
  readonly nearest: readonly NearRoute[]
  /** How many routes there were. */
  readonly total: number
}

/** The routes of the process, in the order in which they are tried. */
export interface RouterProcessData {
  readonly routes: readonly RouteData[]
}

/** A route; absent lists stand for all methods or schemes. */
export interface RouteData {
  readonly name: string
  readonly path: string
  readonly controller: string
  readonly methods?: readonly string[] | undefined
  readonly host?: string | undefined
  readonly schemes?: readonly string[] | undefined
  readonly requirements?: readonly { readonly name: string; readonly text: string }[] | undefined
}

const body = v.object({
  ...contentEntries,
  state: oneOf(['unread', 'read', 'broken', 'parent']),
  files: maybe(list(v.object({ field: text, name: text, type: text, size: amount }))),
})

export const requestSchema: Schema<RequestData> = v.object({
  httpVersion: text,
  headers: pairs,
  attributes: pairs,
  isDebugAllowed: flag,
  id: maybe(check.text),
  traceId: maybe<string>(v.pipe(v.string(), v.regex(/^[\da-f]{32}$/))),
  parentSpanId: maybe<string>(v.pipe(v.string(), v.regex(/^[\da-f]{16}$/))),
  spanId: maybe<string>(v.pipe(v.string(), v.regex(/^[\da-f]{16}$/))),
  query: maybe(pairs),
  body: maybe(body),
})

export const responseSchema: Schema<ResponseData> = v.object({
  headers: pairs,
  size: amountOrNull,
  isStreamed: flag,
  sent: maybe(check.amount),
  events: maybe(check.amount),
  largeCookies: maybe(pairs),
  content: maybe(v.object(contentEntries)),
})

export const sessionSchema: Schema<ProfiledSession> = v.object({
  isStateless: flag,
  useCount: amount,
  uses: list(v.object({ method: text, at: number, trace: texts })),
  store: maybe(text),
  metadata: maybe(v.object({ createdAt: amount, lastUsedAt: amount, expiresAt: maybe(amount) })),
  attributes: maybe(check.object),
  flashes: maybe(check.object),
})

export const redirectsSchema: Schema<readonly RedirectData[]> = list(
  v.object({ token: v.custom<string>(isToken), status: amount, method: text, url: text }),
)

export const missingAssetsSchema: Schema<MissingAssetsData> = v.object({ paths: texts })

const nearRoute: Schema<NearRoute> = v.object({
  position: amount,
  name: text,
  path: text,
  reason: v.fallback(v.picklist(outcomesByNearness), 'path'),
  text,
})

export const routerSchema: Schema<RouterData> = v.variant('outcome', [
  v.object({ outcome: v.literal('match'), route: text, parameters: v.optional(v.unknown()) }),
  v.object({ outcome: v.literal('redirect'), route: text, parameters: v.optional(v.unknown()), location: text }),
  v.object({
    outcome: v.picklist(['not-found', 'method-not-allowed']),
    allow: maybe(texts),
    nearest: list(nearRoute),
    total: amount,
  }),
])

export const routerProcessSchema: Schema<RouterProcessData> = v.object({
  routes: list(
    v.object({
      name: text,
      path: text,
      controller: text,
      methods: maybe(texts),
      host: maybe(check.text),
      schemes: maybe(texts),
      requirements: maybe(list(v.object({ name: text, text }))),
    }),
  ),
})
