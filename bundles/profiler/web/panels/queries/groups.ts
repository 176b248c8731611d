import { formatDuration, formatNumber } from '../../../profile/format.ts'
import { groupBy } from '../../../profile/group-by.ts'
import {
  operationOf,
  type QueryGroup,
  type QuerySet,
  queryDuration,
  type StoredQuery,
  toSets,
} from '../../../profile/queries.ts'
import { endsTransaction } from '../../../profile/transactions.ts'

/** Groups queries by what they do, those with the longest total first: statements by their shape, commands by their name. */
export function toQuerySets(kind: StoredQuery['kind'], { queries, shapes }: QueryGroup): readonly QuerySet[] {
  if (kind === 'database') return shapes
  const sets = toSets(queries, ({ operation }) => operation).map(set => ({ ...set, text: operationOf(set.text) }))
  return sets.sort((a, b) => b.total - a.total)
}

/** Groups the duplicates: the queries with the same text and the same values, those that occur most often first. */
export function toDuplicateSets({ duplicates }: QueryGroup): QuerySet[] {
  const sets = toSets(duplicates, ({ index, twin = index }) => String(twin))
  return sets.sort((a, b) => b.queries.length - a.queries.length)
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
  const groups = groupBy(queries, ({ transaction }) => transaction)
  return new Map(
    Array.from(groups).flatMap(([number, group]) =>
      number === undefined ? [] : [[group[0]?.index ?? 0, toTransaction(number, group)] as const],
    ),
  )
}

const tones = { committed: 'ok', 'rolled back': 'warning', failed: 'error', 'not ended': 'plain' } as const

function toTransaction(number: number, queries: readonly StoredQuery[]): TransactionView {
  const start = Math.min(...queries.map(({ start }) => start))
  const end = Math.max(...queries.map(({ end, start }) => end ?? start))
  const outcome = outcomeOf(queries)
  return {
    number,
    outcome,
    tone: tones[outcome],
    count: queries.length,
    time: formatDuration(Math.max(0, end - start)),
  }
}

function outcomeOf(queries: readonly StoredQuery[]): TransactionView['outcome'] {
  const last = queries.findLast(endsTransaction)
  if (last === undefined) return 'not ended'
  if (last.error !== '') return 'failed'
  return last.operation === 'COMMIT' || last.operation === 'END' ? 'committed' : 'rolled back'
}
