import type {
  ConnectionWait,
  QueryEnd,
  QueryObserver,
  QueryResult,
  QueryStart,
} from '../../../../kernel/contracts/queries.ts'
import { describeUnseen, onUnseenLibrary, unseenLibraries } from '../../../../kernel/contracts/unseen-libraries.ts'
import { flattenError, rememberStatement } from '../../../../lib/errors/flat-error.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { readClock } from '../../../../lib/own-globals.ts'
import { maskQuotedValues } from '../../../../lib/redact/mask-quoted-values.ts'
import { cut, maskAndCut, type TextMasker } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { isCache } from '../../../../lib/sql/tokens.ts'
import { type Caller, Callers, type Running } from '../../../../lib/stack/callers.ts'
import { formatCount, roundTime } from '../../profile/format.ts'
import { coveredWorkTime, endOf, isAwaitedSystem, type Period, type Stopped, stopsOf } from '../../profile/work.ts'
import type { FindRunning } from '../../record/code-places.ts'
import type { Metric, ProfileCollector } from '../../record/collect.ts'
import { MoreWorkCounter } from '../../record/more-work.ts'
import type { RecordedSubject } from '../../record/recorded-subject.ts'
import { findField } from '../../record/running-field.ts'
import { type FindTrace, type Trace, TracePart, type WorkOwner } from '../../record/trace.ts'
import { findRepeatedBelow } from './below.ts'
import type { ConnectionWaitData, QueryData } from './data.ts'
import { captureQuery, type DescribedQuery, identityOf, QueryDescriber } from './describe-query.ts'
import { type PackedQueries, type PackedQuery, StatementList } from './pack.ts'
import { controlOperations, leastWait, operationOf, slowQuery } from './read.ts'

/** The queries of databases and caches. */
export const queriesSubject: RecordedSubject = {
  observeProcess: ({ logger, signals }) => [
    onUnseenLibrary(library => {
      logger.warning(describeUnseen(library))
      signals.emit('library.unseen', library)
    }),
  ],
  createCollectors: ({ redactor }) => [createQueriesCollector(redactor)],
  observeRequests({ directory, queries, redactor }, { findRunning, findTrace }) {
    const callers = new Callers(directory)
    return [queries.observe(new QueryRecorder({ findTrace, callers, findRunning, redactor }))]
  },
}

/** Characters of the message of an error. */
const messageLimit = 4000

/** The parts that the recorder works with. */
interface QueryRecorderServices {
  /** The trace of a request; of the current request by default. */
  readonly findTrace: FindTrace
  readonly callers: Pick<Callers, 'find'>
  readonly findRunning: FindRunning
  readonly redactor: TextMasker
}

/** Records each query on the trace of its request, whichever source reports it. */
export class QueryRecorder implements QueryObserver {
  readonly #services: QueryRecorderServices

  constructor(services: QueryRecorderServices) {
    this.#services = services
  }

  begin(start: QueryStart, below?: Running): QueryEnd | undefined {
    const { callers, findRunning, findTrace, redactor } = this.#services
    const trace = findTrace(start.request)
    if (trace === undefined) return undefined
    const queries = queryPart.of(trace)
    if (!queries.count(start.system)) return queries.beginMore(start, trace, redactor)
    const { findCaller, findLateCaller } = start
    const found = findCaller === undefined ? callers.find(below) : findCaller()
    const running = found ?? findRunning(trace)
    const place = found === undefined && findLateCaller !== undefined ? () => findLateCaller() ?? running : running
    // A span gets its statement and its values after it has begun. They are copies already.
    const raw = start.source === 'span' ? start : captureQuery(start, redactor)
    const query = queries.begin(raw, place, trace, findField(trace))
    return result => query.finish(result, text => maskAndCut(text, messageLimit, redactor))
  }

  noteWait({ caller, duration, pool, request, system }: ConnectionWait): (() => void) | undefined {
    const trace = this.#services.findTrace(request)
    if (trace === undefined) return undefined
    const now = readClock() - trace.start
    if (duration === undefined) return queryPart.of(trace).beginWait({ system, start: now, caller, pool }, trace)
    queryPart.of(trace).addWait({ system, start: now - duration, duration, caller, pool })
    return undefined
  }

  isRecorded(request: Request): boolean {
    return this.#services.findTrace(request) !== undefined
  }
}

/** The place of a query in the code, or what finds it when the query is collected. */
type Place = Caller | (() => Caller | undefined) | undefined

/** One query while it runs. Times are in milliseconds since the request began. */
class TracedQuery {
  /** Its place among the queries of the request. */
  readonly index: number
  readonly isCache: boolean
  /** Whether the event loop goes on meanwhile. */
  readonly isAwaited: boolean
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
  /** The field of GraphQL whose resolver made it. */
  readonly field: string | undefined
  /** The masked values; see {@link QueryData}. */
  parameters: QueryData['parameters']
  twin: number | undefined
  readonly #place: Place
  /** The report of its source, not masked. */
  #raw: QueryStart | undefined
  readonly #owner: WorkOwner

  constructor(
    raw: QueryStart,
    numbers: Pick<TracedQuery, 'field' | 'index' | 'transaction'>,
    owner: WorkOwner,
    place: Place,
  ) {
    this.index = numbers.index
    this.field = numbers.field
    this.transaction = numbers.transaction
    this.isCache = isCache(raw.system)
    this.isAwaited = isAwaitedSystem(raw.system)
    this.source = raw.source
    this.batch = raw.batch
    this.#raw = raw
    this.#place = place
    this.#owner = owner
    this.start = roundTime(owner.elapsed() - (raw.elapsed ?? 0))
  }

  /** Masks the report of its source, which is dropped. Later calls change nothing. */
  describe(mask: (raw: QueryStart, index: number) => DescribedQuery, statements: StatementList): void {
    const raw = this.#raw
    if (raw === undefined) return
    const { namespace, parameters, server, text, twin } = mask(raw, this.index)
    const { source, system } = raw
    const caller = typeof this.#place === 'function' ? this.#place() : this.#place
    this.statement = statements.add({ system, namespace, server, text, caller, field: this.field, source })
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

/** Over the limit, so many queries that failed or were slow have details, too; the last places are for failures. */
const badLimit = { slow: 25, failed: 50 }

const waitLimit = 100

/** A wait for a connection that has not come. */
type OpenWait = Omit<ConnectionWaitData, 'duration'>

/** The queries of one request, in the order in which they began. */
export class QueryTrace {
  readonly queries: TracedQuery[] = []
  /** The statements of the queries that were described. */
  readonly statements: StatementList = new StatementList()
  /** All queries of databases; after 500 queries they are counted and timed only. */
  databaseCount = 0
  /** All queries of caches. */
  cacheCount = 0
  /** Waits for connections. */
  readonly waits: ConnectionWaitData[] = []
  /** The queries and waits that are only counted and timed. */
  readonly more = { database: new MoreWorkCounter(), cache: new MoreWorkCounter(), waits: new MoreWorkCounter() }
  readonly #openWaits = new Set<OpenWait>()
  /** Late work has twins among the queries that were stored before. */
  readonly twins = new TwinFinder()
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

  /**
   * Times a query that was counted, and for which there is no room. It is recorded if it fails or
   * is slow, without its values: they may have changed.
   */
  beginMore(raw: QueryStart, owner: WorkOwner, redactor: TextMasker): QueryEnd {
    const start = owner.elapsed() - (raw.elapsed ?? 0)
    const counter = isCache(raw.system) ? this.more.cache : this.more.database
    let hasEnded = false
    owner.touch()
    return result => {
      if (hasEnded) return
      hasEnded = true
      const end = owner.elapsed()
      const limit = result.error !== undefined ? badLimit.failed : end - start >= slowQuery.warning ? badLimit.slow : 0
      if (this.queries.length < queryLimit + limit)
        this.begin(
          { ...captureQuery(raw, redactor), parameters: undefined, elapsed: end - start },
          undefined,
          owner,
        ).finish(result, text => maskAndCut(text, messageLimit, redactor))
      else counter.add(start, end, result.error !== undefined)
      owner.touch()
    }
  }

  /** Records a query that was counted. */
  begin(raw: QueryStart, place: Place, owner: WorkOwner, field?: string): TracedQuery {
    const numbers = { field, index: this.queries.length, transaction: this.#number(raw.transaction) }
    const query = new TracedQuery(raw, numbers, owner, place)
    this.queries.push(query)
    owner.touch()
    return query
  }

  /** Records that the request waits for a connection, until the returned function is called. */
  beginWait(wait: OpenWait, { start }: Pick<Trace, 'start'>): () => void {
    this.#openWaits.add(wait)
    return () => {
      if (this.#openWaits.delete(wait)) this.addWait({ ...wait, duration: readClock() - start - wait.start })
    }
  }

  /** The waits, also those that are not over at a time in milliseconds since the request began. */
  listWaits(now: number): ConnectionWaitData[] {
    const open = [...this.#openWaits].map(wait => ({ ...wait, duration: roundTime(now - wait.start) }))
    return [...this.waits, ...open.filter(({ duration }) => duration >= leastWait).slice(0, waitLimit)]
  }

  /** Records that the request has waited for a connection. */
  addWait({ caller, duration, pool, start, system }: ConnectionWaitData): void {
    if (duration < leastWait) return
    if (this.waits.length === waitLimit) this.more.waits.add(start, start + duration, false)
    else this.waits.push({ system, start: roundTime(start), duration: roundTime(duration), caller, pool })
  }

  /**
   * Milliseconds in which at least one query ran, without the stops of the event loop. Queries
   * that have not ended do not count.
   */
  time(kind: 'database' | 'cache', stops: readonly Period[] = []): number {
    return roundTime(coveredWorkTime(this.listWork(kind, 0), stops))
  }

  /** The times of all queries, moved by some milliseconds. */
  listWork(kind: 'database' | 'cache', offset: number) {
    const queries = this.queries.filter(({ isCache }) => isCache === (kind === 'cache'))
    const work = queries.map(({ end, isAwaited, start }) => ({ start, end, stopped: Number(isAwaited) }))
    const stopped = Number(this.queries.some(({ isAwaited }) => isAwaited))
    const more = this.more[kind].periods.map(period => ({ start: period.start, end: endOf(period), stopped }))
    return [...work, ...more].map(({ end, start, stopped }) => ({
      start: start + offset,
      end: end === undefined ? undefined : end + offset,
      stopped,
    }))
  }

  #number(transaction: object | undefined): number | undefined {
    if (transaction === undefined) return undefined
    const known = this.#transactions.get(transaction) ?? this.#transactions.size + 1
    this.#transactions.set(transaction, known)
    return known
  }
}

const queryPart: TracePart<QueryTrace> = new TracePart(() => new QueryTrace())

const errorLength = 500

/** The collector of the queries of databases and caches, which are stored packed. */
interface QueriesCollector extends ProfileCollector {
  collect(trace: Trace): PackedQueries | undefined
}

/** Creates that collector. When a query is collected first, its raw values are dropped. */
export function createQueriesCollector(redactor: Redactor): QueriesCollector {
  const describer = new QueryDescriber(redactor)
  return {
    name: 'queries',
    collectsLate: true,
    collect(collected) {
      const below = findRepeatedBelow(collected)
      const trace = below.length > 0 ? queryPart.of(collected) : queryPart.find(collected)
      if (trace === undefined) return undefined
      const { omitted, queries, statements, twins } = trace
      const waits = trace.listWaits(readClock() - collected.start)
      const [database, cache] = [trace.more.database.toData(), trace.more.cache.toData()]
      const moreWaits = trace.more.waits.toData()
      const describe = (report: QueryStart, index: number) => {
        const raw = report.source === 'span' ? captureQuery(report, redactor) : report
        return describer.describe(raw, () => (index < queryLimit ? twins.find(raw, index) : undefined))
      }
      for (const query of queries) query.describe(describe, statements)
      return {
        statements: statements.all,
        queries: queries.map(pack),
        omitted,
        ...((database ?? cache ?? moreWaits) && { more: { database, cache, waits: moreWaits } }),
        ...(waits.length > 0 && { waits }),
        ...(below.length > 0 && { below: [...below] }),
      }
    },
    summarize(trace) {
      const traced = queryPart.find(trace)
      return {
        queries: traced?.databaseCount ?? 0,
        queryTime: traced?.time('database') ?? 0,
        cacheCalls: traced?.cacheCount ?? 0,
      }
    },
    settle(trace, { memory }) {
      // The data of the collector with this name.
      const stops = stopsOf(memory as Stopped | undefined)
      const traced = stops.length === 0 ? undefined : queryPart.find(trace)
      return traced === undefined ? {} : { queryTime: traced.time('database', stops) }
    },
    describeProcess: () => ({ unseen: unseenLibraries }),
    hasWorked(trace, since) {
      const { more, queries = [] } = queryPart.find(trace) ?? {}
      const isLate = queries.some(({ end = -Infinity, start }) => Math.max(start, end) > since)
      return isLate || (more !== undefined && Math.max(more.database.latest, more.cache.latest) > since)
    },
    measure(traces, stopsOf) {
      const parts = traces.flatMap(trace => {
        const part = queryPart.find(trace)
        return part === undefined ? [] : [{ part, trace }]
      })
      const [first] = parts
      if (first === undefined) return []
      const stops = stopsOf(first.trace)
      const sum = (measured: (part: QueryTrace) => number) =>
        parts.reduce((total, { part }) => total + measured(part), 0)
      // Sub-requests may run at the same time.
      const timeOf = (kind: 'database' | 'cache') => {
        const work = parts.flatMap(({ part, trace }) => part.listWork(kind, trace.start - first.trace.start))
        return coveredWorkTime(work, stops)
      }
      const queries = sum(({ databaseCount }) => databaseCount)
      const cacheCalls = sum(({ cacheCount }) => cacheCount)
      const metrics: Metric[] = []
      if (queries > 0) metrics.push(['db', formatCount(queries, 'query', 'queries'), timeOf('database')])
      if (cacheCalls > 0) metrics.push(['cache', formatCount(cacheCalls, 'cache call'), timeOf('cache')])
      return metrics
    },
  }
}

/** Fields without a value are left out: a query without an end was still running. */
function pack(query: TracedQuery): PackedQuery {
  const { batch, code, end, error, parameters, rows, start, statement, text, transaction, twin } = query
  return {
    statement,
    parameters,
    twin,
    start,
    end,
    rows,
    // A thrown text is no object whose statement is known.
    error: error === undefined ? undefined : cut(maskQuotedValues(error, text), errorLength),
    code,
    batch,
    transaction,
  }
}

/** Finds the queries of one request that have the same statement and the same values. */
class TwinFinder {
  /** The indices of the first queries by their values, by their texts. */
  readonly #firsts = new Map<string, Map<string, number> | undefined>()

  /**
   * Returns the index of the first query like this one; `undefined` if it is the first, or its values are not known.
   */
  find(raw: QueryStart, index: number): number | undefined {
    const { text } = raw
    // Every transaction has these, so that they repeat for a reason.
    if (!this.#firsts.has(text))
      this.#firsts.set(text, controlOperations.has(operationOf(text)) ? undefined : new Map())
    const ofText = this.#firsts.get(text)
    const identity = ofText && identityOf(raw)
    if (identity === undefined) return undefined
    const first = ofText?.get(identity)
    if (first === undefined) ofText?.set(identity, index)
    return first
  }
}
