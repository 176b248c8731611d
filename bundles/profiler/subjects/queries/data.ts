import * as v from 'valibot'
import { caller } from '../../profile/code.ts'
import {
  amount,
  check,
  count,
  indexedList,
  isObject,
  type JsonObject,
  list,
  maybe,
  number,
  oneOf,
  pairs,
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
  /** How it was recorded: by a channel of the library, by a span, or by the application's own call. */
  source: oneOf(['measure', 'channel', 'span']),
  /** The index of the first query with the same text and the same values. */
  twin: maybe(check.count),
  /** The commands of a MULTI or pipeline. */
  batch: maybe(check.count),
  /** Which transaction of the request it is part of, from 1; absent if it is not known. */
  transaction: maybe(check.count),
})

/** Queries refer to one another by their index: one without a system or a text is replaced. */
export const queriesSchema = v.object({
  /** In the order in which they began, at most 500. */
  queries: indexedList(query, { system: '', text: '', start: 0, source: 'measure' }),
  /** How many were only counted because there were too many. */
  omitted: count,
  /** Waits of 10 ms or more for a free connection of a pool, where the library reports them; at most 100. */
  waits: maybe(
    list(
      v.object({
        /** As that of a query. */
        system: check.text,
        start: number,
        duration: amount,
        caller: maybe(caller),
      }),
    ),
  ),
})

/** The fields that the queries of one statement have in common, if they are made at one place in the code. */
type QueryStatement = Pick<QueryData, 'system' | 'namespace' | 'server' | 'text' | 'caller' | 'source'>

/** A query without the fields of its statement. */
export interface PackedQuery extends Omit<QueryData, keyof QueryStatement> {
  /** The index of its statement. */
  readonly statement: number
}

/** The queries of a request as they are stored: each statement once. */
export interface PackedQueries extends Pick<QueriesData, 'omitted' | 'waits'> {
  readonly statements: readonly QueryStatement[]
  readonly queries: readonly PackedQuery[]
}

/** The different statements of a request, each with its place in the code. */
export class StatementList {
  readonly all: QueryStatement[] = []
  /** The indices of the statements, by their texts. */
  readonly #byText = new Map<string, number[]>()

  /** Returns the index of a statement, which is added if it is new. */
  add(statement: QueryStatement): number {
    const known = this.#byText.get(statement.text)
    const index = known?.find(index => isSame(this.all[index], statement))
    if (index !== undefined) return index
    const added = this.all.push(statement) - 1
    if (known === undefined) this.#byText.set(statement.text, [added])
    else known.push(added)
    return added
  }
}

function isSame(
  one: QueryStatement | undefined,
  { caller, namespace, server, source, system }: QueryStatement,
): boolean {
  // A place in the code has one object as long as it is cached.
  return (
    one?.caller === caller &&
    one?.system === system &&
    one.namespace === namespace &&
    one.server === server &&
    one.source === source
  )
}

/**
 * Packs the queries of a profile that was read, for the store: their callers are those objects that {@link unpackQueries}
 * has given to all queries of a statement. Queries that are packed stay as they are.
 */
export function packQueries(data: JsonObject): JsonObject {
  const { queries: unpacked } = data
  if (!isObject(unpacked) || Array.isArray(unpacked.statements) || !Array.isArray(unpacked.queries)) return data
  const statements = new StatementList()
  const queries = unpacked.queries.map(query => pack(query, statements))
  return { ...data, queries: { ...unpacked, statements: statements.all, queries } }
}

function pack(unpacked: unknown, statements: StatementList): unknown {
  if (!isObject(unpacked)) return unpacked
  // Its fields are checked when they are shown.
  const { caller, namespace, server, source, system, text, ...query } = unpacked as JsonObject & QueryStatement
  return { statement: statements.add({ system, namespace, server, text, caller, source }), ...query }
}

/** Gives the queries of stored data the fields of their statements. Data without statements is returned as it is. */
export function unpackQueries(data: JsonObject): JsonObject {
  const { queries: packed } = data
  if (!isObject(packed) || !Array.isArray(packed.statements) || !Array.isArray(packed.queries)) return data
  const { queries, statements, ...others } = packed
  return { ...data, queries: { queries: queries.map(query => unpack(query, statements)), ...others } }
}

function unpack(packed: unknown, statements: readonly unknown[]): unknown {
  if (!isObject(packed)) return packed
  const { statement, ...query } = packed
  return { ...Object(statements[Number(statement)]), ...query }
}
