import { channel, tracingChannel } from 'node:diagnostics_channel'
import type { PoolState } from '../queries.ts'
import {
  type AnyFunction,
  type FileChanges,
  type OperationOutcome,
  publishCallback,
  publishPromise,
} from './publish.ts'

/** A message of the channels of pg. */
export interface PgQuery {
  readonly query: string
  readonly values: readonly unknown[] | undefined
  readonly database: string
  readonly serverAddress: string
  readonly serverPort: number | undefined
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
  connect: AnyFunction
  query: AnyFunction
}

/** A pool of pg-pool, as far as it is used. */
interface PgPool {
  readonly idleCount: number
  readonly totalCount: number
  readonly waitingCount: number
  readonly options: { readonly max: number }
  connect: AnyFunction
  query: AnyFunction
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
  [method: string]: unknown
}

/** pg is CommonJS also for ES modules. */
export const pgFiles: FileChanges = {
  'pg/lib/client.js': ({ prototype }) => {
    const { connect, query } = Object(prototype)
    if (typeof connect === 'function' && typeof query === 'function') changeClient(prototype as PgClient)
  },
  'pg-pool': ({ prototype }) => {
    const { connect, query } = Object(prototype)
    if (typeof connect === 'function' && typeof query === 'function') changePool(prototype as PgPool)
  },
}

function changeClient(prototype: PgClient): void {
  const { connect, query } = prototype
  prototype.connect = function (...args) {
    pgConnects.publish({})
    return connect.apply(this, args)
  }
  prototype.query = function (this: PgClient, ...args) {
    const [given, values, callback] = args
    if (!pgQueries.start.hasSubscribers || given === null || given === undefined) return query.apply(this, args)
    const { database, host = '', port } = this
    const config: Submittable = typeof given === 'string' ? { text: given } : Object(given)
    const message: PgQuery & OperationOutcome = {
      query: config.text ?? config.cursor?.text ?? config.name ?? '',
      values: Array.isArray(values) ? values : (config.values ?? config.cursor?.values ?? undefined),
      database: database ?? '',
      serverAddress: host,
      // A socket has no port.
      serverPort: host.startsWith('/') ? undefined : port,
    }
    pgQueries.start.publish(message)
    try {
      const settle = [callback, values, config.callback].find(each => typeof each === 'function') as AnyFunction
      if (typeof config.submit === 'function') watchSubmittable(config, message)
      else if (settle === undefined) return publishPromise(pgQueries, message, query.apply(this, args))
      else {
        const isInConfig = settle === config.callback
        const parameters = typeof values === 'function' ? undefined : values
        // pg writes a callback into the object, which belongs to the application.
        return query.call(
          this,
          isInConfig ? { ...config } : given,
          parameters,
          publishCallback(pgQueries, message, settle),
        )
      }
      return query.apply(this, args)
    } catch (error) {
      message.error = error
      pgQueries.error.publish(message)
      throw error
    } finally {
      pgQueries.end.publish(message)
    }
  } as AnyFunction
}

/** Publishes the end of a query whose object the client calls: it has ended when the server is ready for the next one. */
function watchSubmittable(submitted: Submittable, message: PgQuery & OperationOutcome): void {
  let isEnded = false
  const end = (outcome: OperationOutcome) => {
    if (isEnded) return
    isEnded = true
    Object.assign(message, outcome)
    pgQueries.asyncStart.publish(message)
    pgQueries.asyncEnd.publish(message)
  }
  wrap(submitted, 'handleReadyForQuery', () => end({ result: (submitted.cursor ?? submitted)._result }))
  wrap(submitted, 'handleError', error => end({ error }))
  const cursor = submitted.cursor ?? submitted
  for (const name of ['read', 'close']) {
    const method = cursor[name]
    if (typeof method !== 'function') continue
    cursor[name] = function (this: unknown, ...args: unknown[]) {
      const last = args.at(-1)
      if (typeof last === 'function') args.splice(-1, 1, publishCallback(pgCallbacks, message, last as AnyFunction))
      return method.apply(this, args)
    }
  }
}

function wrap(target: Submittable, name: string, before: (first: unknown) => void): void {
  const method = target[name]
  if (typeof method !== 'function') return
  target[name] = function (this: unknown, ...args: unknown[]) {
    before(args[0])
    return method.apply(this, args)
  }
}

function changePool(prototype: PgPool): void {
  const { connect, query } = prototype
  prototype.query = function (...args) {
    if (!pgPoolQueries.start.hasSubscribers || typeof args.at(-1) === 'function') return query.apply(this, args)
    const message: OperationOutcome = {}
    pgPoolQueries.start.publish(message)
    try {
      return publishPromise(pgPoolQueries, message, query.apply(this, args))
    } finally {
      pgPoolQueries.end.publish(message)
    }
  }
  prototype.connect = function (this: PgPool, ...args) {
    if (!pgWaits.start.hasSubscribers) return connect.apply(this, args)
    const [callback] = args
    const { idleCount: idle, options, totalCount: total, waitingCount: waiting } = this
    const message: OperationOutcome & PoolState = { idle, total, limit: options.max, waiting }
    pgWaits.start.publish(message)
    try {
      if (typeof callback === 'function') {
        return connect.call(this, publishCallback(pgWaits, message, callback as AnyFunction))
      }
      return publishPromise(pgWaits, message, connect.apply(this, args))
    } finally {
      pgWaits.end.publish(message)
    }
  } as AnyFunction
}
