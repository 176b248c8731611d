import type { QueryResult, QueryStart } from '../../../kernel/queries.ts'
import { rememberStatement } from '../../../lib/errors/error-statement.ts'
import { flattenError } from '../../../lib/errors/flat-error.ts'
import { isCache } from '../../../lib/sql/tokens.ts'
import type { Caller } from '../../../lib/stack/callers.ts'
import { roundTime } from '../profile/format.ts'
import { StatementList } from '../profile/packed-queries.ts'
import { joinPeriods, type Period, totalOf } from '../profile/periods.ts'
import type { ConnectionWaitData, QueryData } from '../profile/query-data.ts'
import type { CallOwner } from './call-trace.ts'

/** The part of a query that is masked when it is collected first. Its values are not kept after that. */
export type DescribedQuery = Pick<QueryData, 'text' | 'parameters' | 'namespace' | 'server' | 'twin'>

/** One query while it runs. Times are in milliseconds since the request began. */
export class TracedQuery {
  /** Its place among the queries of the request. */
  readonly index: number
  readonly isCache: boolean
  readonly source: QueryStart['source']
  readonly batch: number | undefined
  readonly transaction: number | undefined
  readonly start: number
  end: number | undefined
  rows: number | undefined
  /** The message of the error, masked. */
  error: string | undefined
  code: string | undefined
  /** The index of its statement in the trace; -1 before `describe`. */
  statement = -1
  /** The masked text of its statement. */
  text = ''
  /** The masked values; see {@link QueryData}. */
  parameters: QueryData['parameters']
  twin: number | undefined
  readonly #caller: Caller | undefined
  /** The report of its source, not masked. */
  #raw: QueryStart | undefined
  readonly #owner: CallOwner

  constructor(raw: QueryStart, place: Pick<TracedQuery, 'index' | 'transaction'>, owner: CallOwner, caller?: Caller) {
    this.index = place.index
    this.transaction = place.transaction
    this.isCache = isCache(raw.system)
    this.source = raw.source
    this.batch = raw.batch
    this.#raw = raw
    this.#caller = caller
    this.#owner = owner
    this.start = roundTime(owner.elapsed() - (raw.elapsed ?? 0))
  }

  /** Masks the report of its source, which is dropped. Later calls change nothing. */
  describe(mask: (raw: QueryStart, index: number) => DescribedQuery, statements: StatementList): void {
    const raw = this.#raw
    if (raw === undefined) return
    const { namespace, parameters, server, text, twin } = mask(raw, this.index)
    const { source, system } = raw
    this.statement = statements.add({ system, namespace, server, text, caller: this.#caller, source })
    this.text = text
    this.parameters = parameters
    this.twin = twin
    this.#raw = undefined
  }

  /** Called when the query has ended; later calls change nothing. `mask` masks the message of its error. */
  finish({ error, rows }: QueryResult, mask: (text: string) => string): void {
    if (this.end !== undefined) return
    this.end = roundTime(this.#owner.elapsed())
    this.rows = rows
    if (error !== undefined) {
      if (this.#raw !== undefined) rememberStatement(error, this.#raw)
      const { code, message, name } = flattenError(error, { hasFrames: false, mask })
      this.error = message || name
      this.code = code === undefined ? undefined : String(code)
    }
    this.#owner.touch()
  }
}

const queryLimit = 500
const waitLimit = 100

/** The queries of one request, in the order in which they began. */
export class QueryTrace {
  readonly queries: TracedQuery[] = []
  /** The statements of the queries that were described. */
  readonly statements: StatementList = new StatementList()
  /** All queries of databases; after 500 queries they are counted only. */
  databaseCount = 0
  /** All queries of caches. */
  cacheCount = 0
  /** Waits for connections. */
  readonly waits: ConnectionWaitData[] = []
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
  begin(raw: QueryStart, caller: Caller | undefined, owner: CallOwner): TracedQuery {
    const place = { index: this.queries.length, transaction: this.#number(raw.transaction) }
    const query = new TracedQuery(raw, place, owner, caller)
    this.queries.push(query)
    owner.touch()
    return query
  }

  /** Records that the request has waited for a connection. */
  addWait({ caller, duration, start, system }: ConnectionWaitData): void {
    if (this.waits.length === waitLimit) return
    this.waits.push({ system, start: roundTime(start), duration: roundTime(duration), caller })
  }

  /** Milliseconds in which at least one recorded query ran. Queries that have not ended do not count. */
  time(kind: 'database' | 'cache'): number {
    const periods: Period[] = []
    for (const { end, isCache, start } of this.queries) {
      if (end !== undefined && isCache === (kind === 'cache')) periods.push({ start, duration: end - start })
    }
    return roundTime(totalOf(joinPeriods(periods)))
  }

  #number(transaction: object | undefined): number | undefined {
    if (transaction === undefined) return undefined
    const known = this.#transactions.get(transaction) ?? this.#transactions.size + 1
    this.#transactions.set(transaction, known)
    return known
  }
}
