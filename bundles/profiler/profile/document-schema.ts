import * as v from 'valibot'
import { isCount, isToken, schemaVersion } from './json.ts'
import { check } from './schema.ts'
import { unitTypes } from './units.ts'

const token = v.custom<string>(isToken)
const count = v.custom<number>(isCount)

// Profiles of earlier versions do not have the fields with a default.
const laterText = v.optional(v.nullable(v.string()), null)
const laterCount = v.optional(count, 0)

/** The fields of a profile that the list shows. Masked. */
export const summarySchema = v.object({
  /** 6 or 12 lower-case hexadecimal digits. An identifier, not a secret. */
  token,
  /** The token of the request that made this sub-request; `null` of a main request. */
  parent: v.nullable(token),
  type: v.picklist(unitTypes),
  /**
   * The response was sent, the client has left, the stream has failed, the process has ended, or
   * none of these so far. Work that is no request is complete, or it has failed.
   */
  outcome: v.picklist(['complete', 'failed', 'aborted', 'stream-failed', 'crashed', 'unfinished']),
  /** 0 when there was no response. */
  status: count,
  /** Empty if it is no request, as are the method and the URL. */
  ip: v.string(),
  method: v.string(),
  /** Secrets in it are masked. */
  url: v.string(),
  /**
   * The name of the route; of work that is no request, its kind and its name: `job mail ship`.
   * Profiles with the same one are compared.
   */
  route: v.nullable(v.string()),
  controller: v.nullable(v.string()),
  /**
   * What the request does inside of its protocol, such as `query Books` of GraphQL; `null` if it
   * is of none that is known. Masked.
   */
  operation: laterText,
  /** The response's content type. */
  contentType: v.nullable(v.string()),
  /** Bytes of the response's body; `null` if they are not known. */
  size: v.optional(v.nullable(check.amount), null),
  /**
   * The same for each request of a client, by its IP and user agent: eight hexadecimal digits;
   * `null` in older profiles.
   */
  client: laterText,
  /** The use of the response in a browser, such as `document` or `empty`: `Sec-Fetch-Dest` (W3C Fetch Metadata). */
  destination: laterText,
  /** The name of the machine; `null` in storage of a single one. */
  machine: laterText,
  /** The name of the program that recorded it; `null` in older profiles. */
  program: laterText,
  /**
   * The folder of the program, in storage of several machines: eight hexadecimal digits of a hash of its path, and the
   * last two names of that: `1a2b3c4d/checkouts/shop`.
   */
  folder: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-f]{8}(?:\/[^/]{1,255}){0,2}$/))),
  /** When the request began, in milliseconds since 1970, in the range of a Date. */
  time: v.pipe(check.amount, v.maxValue(8.64e15)),
  /**
   * Milliseconds until the last byte was sent, or sending has ended; of a sub-request, until `kernel.finish_request`.
   */
  duration: check.amount,
  /**
   * Whether it was the first request of its route in the process, or one of the first three of the process:
   * code and caches were cold, so its duration says little about others. `false` in older profiles.
   */
  isCold: v.optional(v.boolean(), false),
  /** Bytes of the heap of the process in use when the request ended. */
  memory: check.amount,
  /** The name of the class of the last exception. */
  exception: v.nullable(v.string()),
  /** The same for each occurrence of that exception: eight hexadecimal digits; `null` where it cannot be recognised. */
  fingerprint: laterText,
  /** Log messages of level error and above. */
  errors: count,
  /** Log messages of level warning. */
  warnings: count,
  /** HTTP client calls. */
  calls: count,
  /** Queries of databases. */
  queries: laterCount,
  /** Milliseconds in which at least one query of a database ran. */
  queryTime: v.optional(check.amount, 0),
  /** Queries of caches. */
  cacheCalls: laterCount,
  /** Mails; absent without any. */
  mails: v.optional(count),
  /** Sub-requests. */
  subRequests: count,
  /** Errors in the response of the operation, whatever its status. */
  operationErrors: laterCount,
  /** Calls of `dump` and of `console`. */
  dumps: laterCount,
  /** Errors of the page in the browser. */
  browserErrors: laterCount,
  /** The token of the profile whose code has begun this work; absent of most. */
  cause: v.optional(token),
  /**
   * Of an attempt of a job, the names of its queue and of the job in it, and when it was created, if its id is only
   * unique in its server: `mail:4:1795786223000`; else absent.
   */
  job: v.optional(v.string()),
  /** The names of the jobs that it has put into queues, the first ones; absent without any. */
  enqueued: v.optional(v.array(v.string())),
})

/** The schema of a stored profile. */
export const documentSchema = v.object({
  /** The version of this schema. */
  schemaVersion: v.literal(schemaVersion),
  /** The fields that the list shows. */
  summary: v.pipe(summarySchema, v.readonly()),
  /** The tokens of its sub-requests, in the order in which they began. */
  children: v.pipe(v.array(token), v.readonly()),
  /** The stored part of each collector, by its name; also of the collectors of other bundles. */
  data: check.object,
  /** The messages of the collectors that failed, by their names. */
  failures: v.pipe(check.object, v.record(v.string(), v.string()), v.readonly()),
})
