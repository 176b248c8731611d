import type { QueriesData, QueryData } from './query-data.ts'
import { isObject, type JsonObject } from './schema.ts'

/** The fields that the queries of one statement have in common, if they are made at one place in the code. */
export type QueryStatement = Pick<QueryData, 'system' | 'namespace' | 'server' | 'text' | 'caller' | 'source'>

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
