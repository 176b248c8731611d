import { groupBy } from './group-by.ts'
import type { QueryData } from './query-data.ts'

/** The part of a query that says how it is related to a transaction. */
interface OrderedQuery
  extends Pick<QueryData, 'system' | 'namespace' | 'server' | 'text' | 'start' | 'end' | 'transaction'> {
  readonly index: number
  readonly kind: 'database' | 'cache'
  /** The first word in capitals. */
  readonly operation: string
}

/** The operations with which a transaction begins, and those with which it ends. */
const beginnings: ReadonlySet<string> = new Set(['BEGIN', 'START'])
const endings: ReadonlySet<string> = new Set(['COMMIT', 'END', 'ROLLBACK', 'ABORT'])

/** Whether a query begins a transaction. */
export function beginsTransaction({ operation }: Pick<OrderedQuery, 'operation'>): boolean {
  return beginnings.has(operation)
}

/** Whether a query ends its transaction. `ROLLBACK TO` a savepoint does not. */
export function endsTransaction({ operation, text }: Pick<OrderedQuery, 'operation' | 'text'>): boolean {
  return endings.has(operation) && !/\bTO\b/i.test(text)
}

/**
 * Numbers the transactions that the libraries do not report: they do not say which connection runs a query. The queries of a
 * database from BEGIN to COMMIT or ROLLBACK are a transaction if each began after the end of the one before it, so that
 * one connection may have run them. If two transactions are open at the same time, neither gets a number.
 */
export function numberTransactions<query extends OrderedQuery>(queries: readonly query[]): readonly query[] {
  const unknown = queries.filter(({ kind, transaction }) => kind === 'database' && transaction === undefined)
  const databases = groupBy(unknown, ({ namespace, server, system }) => JSON.stringify([system, server, namespace]))
  const found = [...databases.values()].flatMap(findTransactions).sort(([one], [other]) => one.index - other.index)
  if (found.length === 0) return queries
  const last = queries.reduce((highest, { transaction = 0 }) => Math.max(highest, transaction), 0)
  const numbers = new Map(found.flatMap((members, at) => members.map(({ index }) => [index, last + at + 1])))
  return queries.map(query => ({ ...query, transaction: numbers.get(query.index) ?? query.transaction }))
}

type Members = [OrderedQuery, ...OrderedQuery[]]

/** Finds the transactions among the queries of one database. */
function findTransactions(queries: readonly OrderedQuery[]): Members[] {
  const found: Members[] = []
  let members: Members | undefined
  let open = 0
  let isCertain = true
  for (const query of queries) {
    const isBeginning = beginsTransaction(query)
    if (isBeginning) open++
    if (isBeginning && members === undefined) members = [query]
    else if (members !== undefined) {
      const previous = members[members.length - 1] as OrderedQuery
      if (isBeginning || query.start < (previous.end ?? Number.POSITIVE_INFINITY)) isCertain = false
      members.push(query)
    }
    if (members === undefined || !endsTransaction(query)) continue
    open--
    if (open > 0) continue
    if (isCertain) found.push(members)
    members = undefined
    isCertain = true
  }
  return members !== undefined && isCertain ? [...found, members] : found
}
