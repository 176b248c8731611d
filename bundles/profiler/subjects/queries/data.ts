import * as v from 'valibot'
import { caller } from '../../profile/code.ts'
import {
  amount,
  check,
  count,
  flag,
  indexedList,
  list,
  maybe,
  moreWorkSchema,
  number,
  oneOf,
  pairs,
  text,
} from '../../profile/schema.ts'

/** The queries of a request: calls of databases and caches. */
export type QueriesData = v.InferOutput<typeof queriesSchema>

/** A wait for a free connection of a pool. Times are in milliseconds, the start from that of the request. */
export type ConnectionWaitData = NonNullable<QueriesData['waits']>[number]

/** A query of a database or a cache. Times are in milliseconds since the request began. All texts are masked. */
export type QueryData = v.InferOutput<typeof query>

const query = v.object({
  /** The `db.system.name` of OpenTelemetry: `postgresql`, `mysql`, `mariadb`, `sqlite`, `redis`. */
  system: check.text,
  /** The name of the database, or the number of a Redis database. */
  namespace: maybe(check.text),
  /** `host:port`, or the path of a file or socket. */
  server: maybe(check.text),
  /** The statement shape: the statement with `?` for its literals. Of a cache, the command with its key. */
  text: check.text,
  /** Names and masked values. Names are derived from the statement; else they are positions, `$1` or `1`. */
  parameters: maybe(pairs),
  /** Milliseconds since the start of the request. */
  start: number,
  /** Absent if it was not over. */
  end: maybe(check.number),
  /** Rows that were returned or changed. */
  rows: maybe(check.count),
  error: maybe(check.text),
  /** The code of the error: the SQLSTATE, or that of the library. */
  code: maybe(check.text),
  /** The innermost function of the application that made the query. */
  caller: maybe(caller),
  /** The field of GraphQL whose resolver made it: `Book.author`. */
  field: maybe(check.text),
  /** How it was recorded: by a channel of the library, by a span, or by the application's own call. */
  source: oneOf(['measure', 'channel', 'span']),
  /** The index of the first query with the same text and the same values. */
  twin: maybe(check.count),
  /** The commands of a MULTI or pipeline. */
  batch: maybe(check.count),
  /** Which transaction of the request it is part of, from 1; absent if it is not known. */
  transaction: maybe(check.count),
})

export const queriesProcessSchema = v.object({
  /**
   * The loaded libraries that do not report their work: their versions are too old, or, without
   * a version, they are in a file of a bundler.
   */
  unseen: list(
    v.object({
      name: text,
      version: text,
      /** The first version that reports them. */
      first: text,
      work: oneOf(['queries', 'commands', 'resolvers', 'mails']),
    }),
  ),
})

/** The reading queries of one statement and one place that many sub-requests have made. */
export type RepeatedBelow = v.InferOutput<typeof below>

const below = v.object({
  system: check.text,
  text: check.text,
  caller: maybe(caller),
  count: check.count,
  /**
   * Starts, since that of the request, and durations in milliseconds: the times in which at least
   * one of them was not over.
   */
  periods: list(v.tuple([check.amount, check.amount])),
  /** How many sub-requests have made them. */
  requests: check.count,
  /** Whether all had the same values. */
  isSame: flag,
})

/** Queries refer to one another by their index: one without a system or a text is replaced. */
export const queriesSchema = v.object({
  /** In the order in which they began, at most 500. */
  queries: indexedList(query, { system: '', text: '', start: 0, source: 'measure' }),
  /** How many were only counted and timed because there were too many. */
  omitted: count,
  /** Their times, and those of further waits. */
  more: maybe(
    v.object({ database: maybe(moreWorkSchema), cache: maybe(moreWorkSchema), waits: maybe(moreWorkSchema) }),
  ),
  /** The queries that were repeated in sub-requests; absent without any. */
  below: maybe(list(below)),
  /** Waits of 10 ms or more for a connection of a pool, where the library reports them; at most 100 with details. */
  waits: maybe(
    list(
      v.object({
        /** As that of a query. */
        system: check.text,
        start: number,
        duration: amount,
        caller: maybe(caller),
        /**
         * The pool when the connection was asked for: all connections were in use. Absent if the
         * library does not report it.
         */
        pool: maybe(
          v.object({
            /** Connections that nothing used. */
            idle: count,
            /** All of its connections. */
            total: count,
            /** How many it may have. */
            limit: count,
            /** How many callers waited already. */
            waiting: count,
          }),
        ),
      }),
    ),
  ),
})
