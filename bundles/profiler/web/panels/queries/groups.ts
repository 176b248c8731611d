import { formatDuration, formatNumber } from '../../../profile/format.ts'
import { type QueryGroup, queryDuration, type StoredQuery } from '../../../profile/queries.ts'

/** Queries that a table shows as one row: those of a statement shape, or of a command. */
export interface QuerySet {
  /** The index of the first query, which names the set in addresses. */
  readonly id: number
  /** The statement, or the name of the command. */
  readonly text: string
  readonly queries: readonly StoredQuery[]
  /** Milliseconds of all of them. */
  readonly total: number
}

/** Groups queries by what they do, those with the longest total first: statements by their shape, commands by their name. */
export function toQuerySets(kind: StoredQuery['kind'], { queries }: QueryGroup): QuerySet[] {
  const sets =
    kind === 'cache'
      ? collectSets(queries, ({ operation }) => operation)
      : collectSets(
          queries,
          ({ text }) => text,
          ({ system, text }) => `${system} ${text}`,
        )
  return sets.sort((a, b) => b.total - a.total)
}

/** Groups the duplicates: the queries with the same text and the same values, those that occur most often first. */
export function toDuplicateSets({ duplicates }: QueryGroup): QuerySet[] {
  const sets = collectSets(
    duplicates,
    ({ text }) => text,
    ({ index, twin = index }) => String(twin),
  )
  return sets.sort((a, b) => b.queries.length - a.queries.length)
}

/** Groups queries by a key, in the order of their first queries; by default the text is the key. */
function collectSets(
  queries: readonly StoredQuery[],
  textOf: (query: StoredQuery) => string,
  keyOf: (query: StoredQuery) => string = textOf,
): QuerySet[] {
  const sets = new Map<string, { id: number; text: string; queries: StoredQuery[]; total: number }>()
  for (const query of queries) {
    const key = keyOf(query)
    const set = sets.get(key) ?? { id: query.index, text: textOf(query), queries: [], total: 0 }
    sets.set(key, set)
    set.queries.push(query)
    set.total += queryDuration(query)
  }
  return [...sets.values()]
}

/** The longest duration of some queries, in milliseconds. */
export function slowestOf(queries: readonly StoredQuery[]): number {
  return queries.reduce((longest, query) => Math.max(longest, queryDuration(query)), 0)
}

/** The rows of some queries, as text; empty when no query reported them. */
export function rowsOf(queries: readonly StoredQuery[]): string {
  const known = queries.flatMap(({ rows }) => (rows === undefined ? [] : [rows]))
  return known.length === 0 ? '' : formatNumber(known.reduce((sum, rows) => sum + rows, 0))
}

/** The key of a command; empty for a command without a key. */
export function cacheKeyOf({ text }: Pick<StoredQuery, 'text'>): string {
  return /^\S+\s+(\S+)/.exec(text)?.[1] ?? ''
}

/** A transaction as its first row shows it. */
export interface TransactionView {
  readonly number: number
  readonly outcome: 'committed' | 'rolled back' | 'failed' | 'not ended'
  readonly tone: 'ok' | 'plain' | 'warning' | 'error'
  readonly count: number
  /** From its first query to the end of its last query. */
  readonly time: string
}

/** The transactions by the index of their first query. */
export function findTransactions(queries: readonly StoredQuery[]): ReadonlyMap<number, TransactionView> {
  const sets = collectSets(
    queries.filter(({ transaction }) => transaction !== undefined),
    ({ transaction }) => String(transaction),
  )
  return new Map(sets.map(({ id, queries, text }) => [id, toTransaction(text, queries)]))
}

const tones = { committed: 'ok', 'rolled back': 'warning', failed: 'error', 'not ended': 'plain' } as const

function toTransaction(number: string, queries: readonly StoredQuery[]): TransactionView {
  const start = Math.min(...queries.map(({ start }) => start))
  const end = Math.max(...queries.map(({ end, start }) => end ?? start))
  const outcome = outcomeOf(queries)
  return {
    number: Number(number),
    outcome,
    tone: tones[outcome],
    count: queries.length,
    time: formatDuration(Math.max(0, end - start)),
  }
}

/** The statement that ends a transaction is its last one; `ROLLBACK TO` a savepoint does not end it. */
function outcomeOf(queries: readonly StoredQuery[]): TransactionView['outcome'] {
  const last = queries.findLast(({ operation, text }) => endings.has(operation) && !/\bTO\b/i.test(text))
  if (last === undefined) return 'not ended'
  if (last.error !== '') return 'failed'
  return last.operation === 'COMMIT' || last.operation === 'END' ? 'committed' : 'rolled back'
}

const endings: ReadonlySet<string> = new Set(['COMMIT', 'END', 'ROLLBACK', 'ABORT'])
