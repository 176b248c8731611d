import { countFree, countRows, type PoolReport, type PoolState, type QueryEnd } from '../../kernel/contracts/queries.ts'
import { listenTo, subscribeChannels } from '../../lib/guard.ts'
import { endAll } from '../../lib/share.ts'
import { type Caller, createCallerSearch } from '../../lib/stack/callers.ts'
import { carryRequests, listenToOperations, toServer, type WatchServices } from './library.ts'

/** A message of `mysql2:query` and `mysql2:execute`, which mysql2 3.20 and later publish, and of the channels of pg. */
export interface SqlQuery {
  /** The statement; for `mysql2:query` with its values. */
  readonly query: string
  /** The values of `mysql2:execute` and of pg. Those of `mysql2:query` are in the statement. */
  readonly values?: readonly unknown[] | undefined
  /** Empty without a database. */
  readonly database: string
  readonly serverAddress: string
  readonly serverPort: number | undefined
}

/**
 * The place of a query without code of the application on its stack: `await` runs a query builder.
 * When the query has ended, its promise leads to the code that waits for it.
 */
interface LatePlace {
  isMissing?: boolean
  caller?: Caller | undefined
}

/** A library, and the first part of the names of its channels. */
interface PoolLibrary {
  readonly system: string
  readonly library: string
  readonly prefix: string
}

/**
 * Records queries of a library with pools until the returned function is called. The operations have the values
 * of a query by the last part of the name of its channel. A pool passes a connection to the next waiting caller
 * while the request runs that has released it. So the request is taken when a connection is asked for, and is
 * current again when the connection is there; for other code, no request is current then. The same is true of
 * callbacks of queries. `stateOf` reads the state of the pool that is asked, if the library reports it.
 */
export function watchPools(
  { callers, context, queries }: WatchServices,
  { library, prefix, system }: PoolLibrary,
  operations: Readonly<Record<string, (query: SqlQuery) => SqlQuery['values']>>,
  stateOf: (message: PoolReport) => PoolReport,
): () => void {
  const connecting = `${prefix}:pool:connect`
  const places = new WeakMap<object, Caller>()
  /** Where the connection was asked for: `pool.query` runs its query before the end of its callback. */
  let connected: Caller | undefined
  /** The code that has returned the connection, if it runs now. */
  let returning: Caller | undefined
  /** Ends the waits for which the pool had no connection, or did not report its state. */
  const waits = new WeakMap<object, () => void>()
  /** The connection that is being asked for, in the synchronous part. */
  let asked: object | undefined
  const latePlaces = new WeakMap<object, LatePlace>()
  /** The call of `query` of a pool, in the synchronous part. */
  let pooled: LatePlace | undefined
  /** The call of `query` for which the pool has got a connection. */
  let late: LatePlace | undefined
  const search = createCallerSearch(callers, `tracing:${connecting}:start`)
  const findCaller = () => {
    const caller = search()
    return caller === undefined || isSamePlace(caller, returning) ? connected : caller
  }
  const complete = (place: LatePlace | undefined) => {
    if (place?.isMissing) place.caller ??= search()
  }
  const begin = (message: SqlQuery, values: SqlQuery['values']): QueryEnd | undefined => {
    const { database, query, serverAddress, serverPort } = message
    const place = late ?? {}
    const end = queries.begin({
      system,
      text: query,
      parameters: values,
      namespace: database || undefined,
      server: toServer(serverAddress, serverPort),
      source: 'channel',
      library,
      findCaller() {
        const caller = findCaller()
        place.isMissing = caller === undefined
        return caller
      },
      findLateCaller: () => place.caller,
    })
    return (
      end &&
      (result => {
        complete(place)
        end(result)
      })
    )
  }
  const stop = subscribeChannels({
    [`tracing:${connecting}:start`]: listenTo<PoolReport>(message => {
      asked = message
      if (context.current === undefined) return
      const caller = search()
      if (caller !== undefined) places.set(message, caller)
      else if (pooled !== undefined) latePlaces.set(message, pooled)
      const pool = stateOf(message)
      const free = countFree(pool)
      // A connection that was never released never comes.
      if (!(free > 0))
        waits.set(message, queries.noteWait({ system, caller, pool: free <= 0 ? (pool as PoolState) : undefined }))
    }),
    [`tracing:${connecting}:end`]: () => {
      asked = undefined
    },
    // The pool opens another connection instead of waiting.
    [`tracing:${prefix}:connect:start`]: () => {
      if (asked !== undefined) waits.get(asked)?.()
    },
    [`tracing:${connecting}:asyncStart`]: listenTo<object>(message => {
      connected = places.get(message)
      late = latePlaces.get(message)
      returning = search()
      waits.get(message)?.()
    }),
    [`tracing:${connecting}:asyncEnd`]: () => {
      connected = undefined
      late = undefined
      returning = undefined
    },
    [`tracing:${prefix}:pool:query:start`]: listenTo<object>(message => {
      pooled = {}
      latePlaces.set(message, pooled)
    }),
    [`tracing:${prefix}:pool:query:end`]: () => {
      pooled = undefined
    },
    [`tracing:${prefix}:pool:query:asyncStart`]: listenTo<object>(message => complete(latePlaces.get(message))),
    ...Object.assign(
      {},
      ...Object.entries(operations).map(([name, valuesOf]) =>
        listenToOperations<SqlQuery>(`${prefix}:${name}`, message => begin(message, valuesOf(message)), countRows),
      ),
    ),
  })
  const carrying = ['pool:connect', 'callback', ...Object.keys(operations)].map(name => `${prefix}:${name}`)
  return endAll([stop, carryRequests(context, carrying)])
}

function isSamePlace(one: Caller, other: Caller | undefined): boolean {
  return one.file === other?.file && one.line === other?.line && one.column === other?.column
}
