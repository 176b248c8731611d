import { guard } from '../../lib/guard.ts'
import type { Request } from '../../lib/http/request.ts'
import type { Caller, Running } from '../../lib/stack/callers.ts'
import { runUnit } from './units.ts'

/** A value that its library does not publish: it is not known whether two of them are equal. */
export const hiddenValue: unique symbol = Symbol('?')

/** The values of a statement: by their positions, or by their names. */
export type QueryParameters = readonly unknown[] | Readonly<Record<string, unknown>>

/**
 * A query as its source reports it when it begins. Nothing in it is masked: its receiver masks it before it is stored.
 */
export interface QueryStart {
  /** The `db.system.name` of OpenTelemetry: `postgresql`, `mysql`, `mariadb`, `sqlite`, `mongodb`, `redis`. */
  readonly system: string
  /** The statement; of a cache the command with its key. */
  readonly text: string
  /** The values of the placeholders. */
  readonly parameters?: QueryParameters | undefined
  /** The name of the database, or the number of a Redis database. */
  readonly namespace?: string | undefined
  /** `host:port`, or the path of a file or socket. */
  readonly server?: string | undefined
  /** Where the report comes from: a diagnostics channel of the library, a span, or the application's own code. */
  readonly source: 'channel' | 'span' | 'measure'
  /** The library that reports its query by a diagnostics channel. */
  readonly library?: string | undefined
  /** The request that made the query. The default is the current request. */
  readonly request?: Request
  /** Finds the place in the application's code. The default is the place of the running code. */
  readonly findCaller?: (() => Caller | undefined) | undefined
  /**
   * Finds it when the request is collected, if it was not found: code that awaits a query builder
   * is known only when the query has ended.
   */
  readonly findLateCaller?: (() => Caller | undefined) | undefined
  /** How many commands are sent as one: a MULTI or a pipeline. */
  readonly batch?: number | undefined
  /** Milliseconds since the query began, for a source that reports it at its end. */
  readonly elapsed?: number | undefined
  /** Any object that the queries of one transaction share. */
  readonly transaction?: object | undefined
}

/** The result of a query. */
export interface QueryResult {
  /** Rows that were returned or changed. */
  readonly rows?: number | undefined
  /** The value that was thrown. */
  readonly error?: unknown
}

/** A pool at the moment when a connection is asked for. */
export interface PoolState {
  /** Its connections that nothing uses. */
  readonly idle: number
  /** All of its connections, also those that are being opened. */
  readonly total: number
  /** How many it may have. 0 is no limit. */
  readonly limit: number
  /** How many callers wait for a connection already. */
  readonly waiting: number
}

/** What a library reports of the state of a pool. */
export type PoolReport = { readonly [field in keyof PoolState]?: number | undefined }

/**
 * The connections that a pool has for further callers: those without use, and those that it may open.
 * Only if there is none, a caller waits for another one. `NaN` for a pool that does not report its state.
 */
export function countFree({ idle = NaN, limit = NaN, total = NaN, waiting = NaN }: PoolReport): number {
  return idle + (limit === 0 ? Infinity : limit) - total - waiting
}

/** A wait for a connection of a pool, as its source reports it when it begins, or when the request has got one. */
export interface ConnectionWait {
  /** The database system, as of a query. */
  readonly system: string
  /** The request that has waited. The default is the current request. */
  readonly request?: Request | undefined
  /** Milliseconds. Absent of a wait that begins now. */
  readonly duration?: number
  /** The place in the application's code. */
  readonly caller?: Caller | undefined
  /** The pool, all of whose connections were in use; `undefined` if the library does not report its state. */
  readonly pool?: PoolState | undefined
}

/** Ends the report of a query. */
export type QueryEnd = (result: QueryResult) => void

/** Receives the queries of the application, such as the profiler. */
export interface QueryObserver {
  /**
   * Called when a query begins. The returned function is called when it ends; `undefined` for a query that is not
   * recorded. `below` is the function that the application has called, for the search of the place in its code.
   */
  begin(query: QueryStart, below?: Running): QueryEnd | undefined
  /** Whether the queries of a request are recorded, as far as is known now. */
  isRecorded?(request: Request): boolean
  /**
   * Called when a request has waited for a connection, or begins to wait: then the returned
   * function is called at the end.
   */
  noteWait?(wait: ConnectionWait): (() => void) | undefined
}

/**
 * Reports queries of databases and caches, which the profiler adds to profiles. Libraries with
 * diagnostics channels, and those with an OpenTelemetry instrumentation, need no call of the application.
 */
export class Queries {
  #observers: readonly QueryObserver[] = []
  /** The only observer, or one for all of them. */
  #observer: Pick<QueryObserver, 'begin'> | undefined

  /** Adds an observer. The returned function removes it. */
  observe(observer: QueryObserver): () => void {
    const guarded = guardObserver(observer)
    this.#use([...this.#observers, guarded])
    return () => this.#use(this.#observers.filter(other => other !== guarded))
  }

  #use(observers: readonly QueryObserver[]): void {
    this.#observers = observers
    const [first] = observers
    this.#observer = observers.length > 1 ? { begin: (query, below) => beginAll(observers, query, below) } : first
  }

  /** Whether an observer records the queries of a request: else a source need not look for their details. */
  isRecorded(request: Request): boolean {
    return this.#observers.some(observer => observer.isRecorded?.(request))
  }

  /**
   * Reports that a request has waited for a connection, or begins to wait; the returned function
   * reports its end. A wait for a pool with free connections is not reported.
   */
  noteWait(wait: ConnectionWait): () => void {
    const ends = this.#observers.map(observer => observer.noteWait?.(wait))
    return () => {
      for (const end of ends) end?.()
    }
  }

  /**
   * Runs a query and reports it, with the rows of its result: the length of a list, or the
   * `rowCount`, `affectedRows` or `changes` of an object. Returns the result of `work`. A thenable
   * that is not a promise, such as a query builder, is executed, and a promise is returned.
   */
  measure<result>(system: string, text: string, parameters: QueryParameters | undefined, work: () => result): result {
    if (this.#observer === undefined) return work()
    const end = this.#observer.begin({ system, text, parameters, source: 'measure' }, this.measure)
    if (end === undefined) return work()
    return runUnit(
      { end: ending => end('error' in ending ? { error: ending.error } : { rows: countRows(ending.result) }) },
      work,
    )
  }

  /**
   * Reports that a query begins, for code that runs it in several steps. The returned function reports its end; it is
   * `undefined` if nothing records the query.
   */
  begin(query: QueryStart): QueryEnd | undefined {
    return this.#observer?.begin(query, this.begin)
  }
}

/** The query runs without its report if an observer fails. */
function guardObserver(observer: QueryObserver): QueryObserver {
  const begin = guard('queries', observer.begin.bind(observer))
  return {
    begin(query, below) {
      const end = begin(query, below)
      return end && guard('the end of queries', end)
    },
    isRecorded: guard('queries', request => observer.isRecorded?.(request) === true) as (request: Request) => boolean,
    noteWait: guard('the wait for connections', wait => observer.noteWait?.(wait)),
  }
}

/** Reports a query to several observers. */
function beginAll(
  observers: readonly QueryObserver[],
  query: QueryStart,
  below: Running | undefined,
): QueryEnd | undefined {
  const ends: QueryEnd[] = []
  for (const observer of observers) {
    const end = observer.begin(query, below)
    if (end !== undefined) ends.push(end)
  }
  if (ends.length === 0) return undefined
  return result => {
    for (const end of ends) end(result)
  }
}

/** The rows that a result of a database library returned or changed; `undefined` if it does not say how many. */
export function countRows(result: unknown): number | undefined {
  if (Array.isArray(result)) return result.length
  if (typeof result !== 'object' || result === null) return undefined
  const { affectedRows, changes, rowCount } = result as { readonly [name: string]: unknown }
  const count = [rowCount, affectedRows, changes].find(value => typeof value === 'number' || typeof value === 'bigint')
  return count === undefined ? undefined : Number(count)
}
