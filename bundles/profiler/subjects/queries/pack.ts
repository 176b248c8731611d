import { isObject, type JsonObject } from '../../profile/json.ts'
import type { QueriesData, QueryData } from './data.ts'

/** The fields that the queries of one statement have in common, if they are made at one place in the code. */
type QueryStatement = Pick<QueryData, 'system' | 'namespace' | 'server' | 'text' | 'caller' | 'field' | 'source'>

/** A query without the fields of its statement. */
export interface PackedQuery extends Omit<QueryData, keyof QueryStatement> {
  /** The index of its statement. */
  readonly statement: number
}

/** The queries of a request as they are stored: each statement once. */
export interface PackedQueries extends Pick<QueriesData, 'below' | 'more' | 'omitted' | 'waits'> {
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
  { caller, field, namespace, server, source, system }: QueryStatement,
): boolean {
  // A place in the code has one object as long as it is cached.
  return (
    one?.caller === caller &&
    one?.system === system &&
    one.namespace === namespace &&
    one.server === server &&
    one.source === source &&
    one.field === field
  )
}

/**
 * Packs the queries of a profile that was read, for the store: their callers are those objects that
 * {@link unpackQueries} has given to all queries of a statement. Queries that are packed stay as they are.
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
  const { caller, field, namespace, server, source, system, text, ...query } = unpacked as JsonObject & QueryStatement
  return { statement: statements.add({ system, namespace, server, text, caller, field, source }), ...query }
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
