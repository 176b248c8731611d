import { channel, tracingChannel } from 'node:diagnostics_channel'
import type { PoolState } from '../../kernel/contracts/queries.ts'
import { type AnyFunction, observeMethod } from '../../lib/observe-calls.ts'
import { type Library, type OperationOutcome, publishCallback, publishOperation, publishOutcome } from './library.ts'
import { type SqlQuery, watchPools } from './pools.ts'

/** Queries of clients, pools, cursors and streams. pg is CommonJS also for ES modules. */
export const pg: Library = {
  name: 'pg',
  reports: 'queries',
  connects: ['pg', 'postgresql'],
  seenBy: 'patch',
  notSeen: 'pg-native',
  bundledText: 'Client has already been connected. You cannot reuse a client.',
  changes: {
    'pg/lib/client.js'(Client) {
      const { prototype } = Object(Client)
      observeMethod(prototype, 'connect', () => void pgConnects.publish({}))
      observeMethod(prototype, 'query', (client, args) => beginQuery(client as PgClient, args))
    },
    'pg-pool/index.js'(Pool) {
      const { prototype } = Object(Pool)
      observeMethod(prototype, 'query', (_, args) =>
        typeof args.at(-1) === 'function' ? undefined : publishOperation(pgPoolQueries, {}),
      )
      observeMethod(prototype, 'connect', (pool, args) => {
        const { idleCount: idle, options, totalCount: total, waitingCount: waiting } = pool as PgPool
        const message: OperationOutcome & PoolState = { idle, total, limit: options.max, waiting }
        const [callback] = args
        const following = publishOperation(pgWaits, message, typeof callback === 'function')
        if (following !== undefined && typeof callback === 'function')
          args[0] = publishCallback(pgWaits, message, callback as AnyFunction)
        return following
      })
    },
  },
  configure: addRowCounts,
  watch: services =>
    watchPools(
      services,
      { system: 'postgresql', library: 'pg', prefix: 'sinfonietta:pg' },
      { query: ({ values }) => values },
      message => message,
    ),
}

const pgQueries = tracingChannel<object, OperationOutcome>('sinfonietta:pg:query')
const pgWaits = tracingChannel<object, OperationOutcome>('sinfonietta:pg:pool:connect')
/** Queries of a pool that return a promise. */
const pgPoolQueries = tracingChannel<object, OperationOutcome>('sinfonietta:pg:pool:query')
const pgConnects = channel('tracing:sinfonietta:pg:connect:start')
/** Other callbacks of a query, which run for its request: those of a cursor. */
const pgCallbacks = tracingChannel<object, OperationOutcome>('sinfonietta:pg:callback')

/** A client of pg, as far as it is used. */
interface PgClient {
  readonly database?: string | null
  readonly host?: string
  readonly port: number
}

/** A pool of pg-pool, as far as it is used. */
interface PgPool {
  readonly idleCount: number
  readonly totalCount: number
  readonly waitingCount: number
  readonly options: { readonly max: number }
}

/** An object that a client sends itself: a query, a cursor or a stream. The client calls its methods. */
interface Submittable {
  submit?: unknown
  readonly text?: string
  readonly values?: readonly unknown[]
  readonly callback?: unknown
  readonly name?: string
  readonly cursor?: Submittable
  readonly _result?: unknown
}

function beginQuery(client: PgClient, args: unknown[]) {
  const [given, values, callback] = args
  if (!pgQueries.start.hasSubscribers || given === null || given === undefined) return undefined
  const { database, host = '', port } = client
  const config: Submittable = typeof given === 'string' ? { text: given } : Object(given)
  const message: SqlQuery & OperationOutcome = {
    query: config.text ?? config.cursor?.text ?? config.name ?? '',
    values: Array.isArray(values) ? values : (config.values ?? config.cursor?.values ?? undefined),
    database: database ?? '',
    serverAddress: host,
    // A socket has no port.
    serverPort: host.startsWith('/') ? undefined : port,
  }
  const settle = [callback, values, config.callback].find(each => typeof each === 'function') as AnyFunction | undefined
  const isSubmitted = typeof config.submit === 'function'
  const following = publishOperation(pgQueries, message, isSubmitted || settle !== undefined)
  if (isSubmitted) watchSubmittable(config, message)
  else if (settle !== undefined) {
    // pg writes a callback into the object, which belongs to the application.
    if (settle === config.callback) args[0] = { ...config }
    args[1] = typeof values === 'function' ? undefined : values
    args[2] = publishCallback(pgQueries, message, settle)
  }
  return following
}

/**
 * Publishes the end of a query whose object the client calls: it has ended when the server is ready for the next one.
 */
function watchSubmittable(submitted: Submittable, message: OperationOutcome): void {
  let isEnded = false
  const end = (outcome: OperationOutcome) => {
    if (isEnded) return
    isEnded = true
    publishOutcome(pgQueries, message, outcome)
  }
  const cursor = submitted.cursor ?? submitted
  observeMethod(submitted, 'handleReadyForQuery', () => void end({ result: cursor._result }))
  observeMethod(submitted, 'handleError', (_, [error]) => void end({ error }))
  for (const name of ['read', 'close']) {
    observeMethod(cursor, name, (_, args) => {
      const last = args.at(-1)
      if (typeof last === 'function') args.splice(-1, 1, publishCallback(pgCallbacks, message, last as AnyFunction))
    })
  }
}

/** Its instrumentation leaves the number of rows to a hook. A hook of the application is called as well. */
function addRowCounts(config: PgConfig): object {
  const { responseHook } = config
  return {
    ...config,
    responseHook(span: AttributeHolder, response: PgResponse) {
      const { rowCount } = response.data
      if (typeof rowCount === 'number') span.setAttribute('db.response.returned_rows', rowCount)
      responseHook?.(span, response)
    },
  }
}

interface PgConfig {
  readonly responseHook?: (span: AttributeHolder, response: PgResponse) => void
}

/** The part of a span that is used. */
interface AttributeHolder {
  setAttribute(name: string, value: number): unknown
}

/** A result of pg; `null` for commands without rows. */
interface PgResponse {
  readonly data: { readonly rowCount?: number | null }
}
