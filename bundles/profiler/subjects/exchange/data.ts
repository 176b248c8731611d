import * as v from 'valibot'
import { body, contentSchema } from '../../profile/content.ts'
import { isToken } from '../../profile/json.ts'
import {
  amount,
  amountOrNull,
  check,
  count,
  flag,
  list,
  maybe,
  number,
  pairs,
  text,
  texts,
} from '../../profile/schema.ts'

/** The request as it was received. Empty parts are absent. Names of cookies are in the headers. */
export type RequestData = v.InferOutput<typeof requestSchema>

/** The response. */
export type ResponseData = v.InferOutput<typeof responseSchema>

/** The session, without its id. */
export type ProfiledSession = v.InferOutput<typeof sessionSchema>

/** A use of a session. */
export type SessionUseData = ProfiledSession['uses'][number]

/** A response that redirected the client. */
export type RedirectData = v.InferOutput<typeof redirectsSchema>[number]

export const requestSchema = v.object({
  httpVersion: text,
  headers: pairs,
  attributes: pairs,
  /** Whether the client may see debug output. A replay has the same permission. */
  isDebugAllowed: flag,
  /** The id of the request in log lines and in the response header `x-request-id`. */
  id: maybe(check.text),
  /** The id of the distributed trace; absent without tracing, unless the client has sent a trace context. */
  traceId: maybe<string>(v.pipe(v.string(), v.regex(/^[\da-f]{32}$/))),
  /** The span of the caller in this trace; only of a main request. */
  parentSpanId: maybe<string>(v.pipe(v.string(), v.regex(/^[\da-f]{16}$/))),
  /** The span of the request in this trace; absent without tracing. */
  spanId: maybe<string>(v.pipe(v.string(), v.regex(/^[\da-f]{16}$/))),
  query: maybe(pairs),
  body: maybe(body),
})

export const responseSchema = v.object({
  headers: pairs,
  /** Bytes of the body before compression, whether or not all were sent; `null` for a stream of unknown length. */
  size: amountOrNull,
  isStreamed: flag,
  /**
   * Bytes of a stream that were sent, as they were sent: maybe compressed. Absent if the response
   * was no stream, except of another server.
   */
  sent: maybe(check.count),
  /** Server-sent events; absent if the response was no stream of events. */
  events: maybe(check.count),
  /**
   * Cookies that are nearly too large for browsers: their names and bytes. The bytes are those
   * before their values are masked.
   */
  largeCookies: maybe(pairs),
  /**
   * As it was before compression, without the profiler's toolbar; absent of a stream and of the profiler's error page.
   */
  content: maybe(contentSchema),
  /** The fields after the body: trailers of HTTP, or the last message of gRPC-web and Connect. Absent without one. */
  trailers: maybe(pairs),
})

export const sessionSchema = v.object({
  /** Whether the route says that it uses no session. */
  isStateless: flag,
  /** Uses by the main request and all of its sub-requests so far. */
  useCount: count,
  /** Uses by this request itself. */
  uses: list(
    v.object({
      method: text,
      /** Milliseconds since the start of the request. */
      at: number,
      /** Places in the source, innermost call first. */
      trace: texts,
      /**
       * Whether its change is not in the store: it came after the session was saved, or was
       * refused. Absent if it is, or if there is none.
       */
      isUnsaved: maybe(flag),
    }),
  ),
  /** The class of the store, such as `FileSessionStore`. Absent as `metadata`, and in profiles of 0.2. */
  store: maybe(text),
  /**
   * Whether the store has the session after the request. Absent of a sub-request, whose main
   * request saves it later, and in profiles of 0.3.
   */
  isStored: maybe(flag),
  /** Absent unless the session was started; times are milliseconds since 1970. Profiles of 0.1 have no `expiresAt`. */
  metadata: maybe(v.object({ createdAt: amount, lastUsedAt: amount, expiresAt: maybe(amount) })),
  attributes: maybe(check.object),
  /** Flash messages that were not shown yet, by type. */
  flashes: maybe(check.object),
})

/** The redirects that have led here, the first one first. */
export const redirectsSchema = list(
  v.object({
    token: v.custom<string>(isToken),
    status: count,
    method: text,
    /** Masked. */
    url: text,
  }),
)
