import type { QueryResult, QueryStart } from '../../../kernel/queries.ts'
import { flattenError } from '../../../lib/errors/flat-error.ts'
import { isCache } from '../../../lib/sql/conventions.ts'
import { roundTime } from '../profile/format.ts'
import { joinPeriods, totalOf } from '../profile/periods.ts'
import type { QueryData } from '../profile/query-data.ts'
import type { CallerData } from '../profile/work-data.ts'
import type { CallOwner } from './call-trace.ts'

/** The part of a query that is masked when it is collected first. Its values are not kept after that. */
export type DescribedQuery = Pick<QueryData, 'text' | 'parameters' | 'namespace' | 'server' | 'twin'>

/** One query while it runs. Times are in milliseconds since the request began. */
export class TracedQuery {
  /** Its place among the queries of the request. */
  readonly index: number
  readonly system: string
  readonly source: QueryStart['source']
  readonly batch: number | undefined
  readonly transaction: number | undefined
  readonly caller: CallerData | undefined
  readonly start: number
  end: number | undefined
  rows: number | undefined
  /** The message of the error, not masked. */
  error: string | undefined
  code: string | undefined
  /** The masked part; empty before `describe`. */
  described: DescribedQuery = { text: '' }
  /** The report of its source, not masked. */
  #raw: QueryStart | undefined
  readonly #owner: CallOwner

  constructor(
    raw: QueryStart,
    { caller, index, transaction }: Pick<TracedQuery, 'index' | 'transaction' | 'caller'>,
    owner: CallOwner,
  ) {
    this.index = index
    this.transaction = transaction
    this.system = raw.system
    this.source = raw.source
    this.batch = raw.batch
    this.#raw = raw
    this.caller = caller
    this.#owner = owner
    this.start = roundTime(owner.elapsed() - (raw.elapsed ?? 0))
  }

  /** Masks the report of its source, which is dropped. Later calls change nothing. */
  describe(mask: (raw: QueryStart) => DescribedQuery): void {
    if (this.#raw === undefined) return
    this.described = mask(this.#raw)
    this.#raw = undefined
  }

  /** Called when the query has ended; later calls change nothing. */
  finish({ error, rows }: QueryResult): void {
    if (this.end !== undefined) return
    this.end = roundTime(this.#owner.elapsed())
    this.rows = rows
    if (error !== undefined) {
      const { code, message, name } = flattenError(error, { hasFrames: false })
      this.error = message || name
      this.code = code === undefined ? undefined : String(code)
    }
    this.#owner.touch()
  }
}

const queryLimit = 500

/** The queries of one request, in the order in which they began. */
export class QueryTrace {
  readonly queries: TracedQuery[] = []
  /** All queries of databases; after 500 queries they are counted only. */
  databaseCount = 0
  /** All queries of caches. */
  cacheCount = 0
  readonly #transactions = new Map<object, number>()

  /** The queries that were only counted. */
  get omitted(): number {
    return this.databaseCount + this.cacheCount - this.queries.length
  }

  /** Counts a query of a system. Returns whether there is room to record it. */
  count(system: string): boolean {
    if (isCache(system)) this.cacheCount++
    else this.databaseCount++
    return this.queries.length < queryLimit
  }

  /** Records a query that was counted. */
  begin(raw: QueryStart, caller: CallerData | undefined, owner: CallOwner): TracedQuery {
    const place = { index: this.queries.length, transaction: this.#number(raw.transaction), caller }
    const query = new TracedQuery(raw, place, owner)
    this.queries.push(query)
    owner.touch()
    return query
  }

  /** Milliseconds in which at least one recorded query ran. Queries that have not ended do not count. */
  time(kind: 'database' | 'cache'): number {
    const periods = this.queries.flatMap(({ end, start, system }) =>
      end === undefined || isCache(system) !== (kind === 'cache') ? [] : [{ start, duration: end - start }],
    )
    return roundTime(totalOf(joinPeriods(periods)))
  }

  #number(transaction: object | undefined): number | undefined {
    if (transaction === undefined) return undefined
    const known = this.#transactions.get(transaction) ?? this.#transactions.size + 1
    this.#transactions.set(transaction, known)
    return known
  }
}
