import * as v from 'valibot'
import type { Caller } from '../../../lib/stack/callers.ts'
import {
  amount,
  check,
  indexedList,
  isCount,
  list,
  maybe,
  number,
  oneOf,
  type Pairs,
  pairs,
  type Schema,
} from './schema.ts'
import { caller } from './work-data.ts'

/** The queries of a request: calls of databases and caches. */
export interface QueriesData {
  /** In the order in which they began, at most 500. */
  readonly queries: readonly QueryData[]
  /** How many were only counted because there were too many. */
  readonly omitted: number
  /** Waits of 10 ms or more for a free connection of a pool, where the library reports them; at most 100. */
  readonly waits?: readonly ConnectionWaitData[] | undefined
}

/** A wait for a free connection of a pool. Times are in milliseconds, the start from that of the request. */
export interface ConnectionWaitData {
  /** As that of a query. */
  readonly system: string
  readonly start: number
  readonly duration: number
  readonly caller?: Caller | undefined
}

/** A query of a database or a cache. Times are in milliseconds since the request began. All texts are masked. */
export interface QueryData {
  /** The `db.system.name` of OpenTelemetry: `postgresql`, `mysql`, `mariadb`, `sqlite`, `redis`. */
  readonly system: string
  /** The name of the database, or the number of a Redis database. */
  readonly namespace?: string | undefined
  /** `host:port`, or the path of a file or socket. */
  readonly server?: string | undefined
  /** The statement shape: the statement with `?` for its literals. Of a cache, the command with its key. */
  readonly text: string
  /** Names and masked values. Names are derived from the statement; else they are positions, `$1` or `1`. */
  readonly parameters?: Pairs | undefined
  readonly start: number
  /** Absent if it was not over. */
  readonly end?: number | undefined
  /** Rows that were returned or changed. */
  readonly rows?: number | undefined
  readonly error?: string | undefined
  /** The code of the error: the SQLSTATE, or that of the library. */
  readonly code?: string | undefined
  /** The innermost function of the application that made the query. */
  readonly caller?: Caller | undefined
  /** How it was recorded: by a channel of the library, by a span, or by the application's own call. */
  readonly source: 'channel' | 'span' | 'measure'
  /** The index of the first query with the same text and the same values. */
  readonly twin?: number | undefined
  /** The commands of a MULTI or pipeline. */
  readonly batch?: number | undefined
  /** Which transaction of the request it is part of, from 1; absent if it is not known. */
  readonly transaction?: number | undefined
}

const whole = v.custom<number>(isCount)

const query: Schema<QueryData> = v.object({
  system: check.text,
  namespace: maybe(check.text),
  server: maybe(check.text),
  text: check.text,
  parameters: maybe(pairs),
  start: number,
  end: maybe(check.number),
  rows: maybe(whole),
  error: maybe(check.text),
  code: maybe(check.text),
  caller: maybe(caller),
  source: oneOf(['measure', 'channel', 'span']),
  twin: maybe(whole),
  batch: maybe(whole),
  transaction: maybe(whole),
})

/** Queries refer to one another by their index: one without a system or a text is replaced. */
export const queriesSchema: Schema<QueriesData> = v.object({
  queries: indexedList(query, { system: '', text: '', start: 0, source: 'measure' }),
  omitted: amount,
  waits: maybe(list(v.object({ system: check.text, start: number, duration: amount, caller: maybe(caller) }))),
})
