import { tracingChannel } from 'node:diagnostics_channel'
import { countFree, type PoolState } from '../../kernel/contracts/queries.ts'
import { type BeforeCall, observeMethod } from '../../lib/observe-calls.ts'
import type { FileChanges } from './publish.ts'
import { type OperationOutcome, publishPromise } from './publish.ts'

/** A message of the channel of the commands of mongodb. */
export interface MongodbCommand extends OperationOutcome {
  readonly database: string
  /** Its first property is its name. */
  readonly command: Readonly<Record<string, unknown>>
  /** Such as `localhost:27017`. */
  readonly server: string
  /** Its session, with a transaction or without. */
  readonly session: object | undefined
}

/** An operation of the application, which sends commands later, when it has a connection. */
const operations = tracingChannel<object, object>('sinfonietta:mongodb:operation')
const commands = tracingChannel<object, OperationOutcome>('sinfonietta:mongodb:command')
/** The waits of operations for a connection, because all connections of the pool are in use. */
const waits = tracingChannel<object, OperationOutcome>('sinfonietta:mongodb:pool:wait')

/** A message of the channel of the waits. */
export interface PoolWait {
  readonly pool: PoolState
}

/** A connection of mongodb, as far as it is used. */
interface Connection {
  readonly address: string
}

/** A pool of connections. */
interface Pool {
  readonly availableConnectionCount: number
  readonly totalConnectionCount: number
  /** How many wait already. */
  readonly waitQueueSize: number
  /** 0 for a pool without a limit. */
  readonly options: { readonly maxPoolSize: number }
}

/** mongodb 6 and 7, whose functions are asynchronous; it is CommonJS also for ES modules. */
export const mongodbFiles: FileChanges = {
  // The other files of the package read the function from these exports for each call.
  'mongodb/lib/operations/execute_operation.js': exports =>
    observeAsync(exports, 'executeOperation', () => {
      const message = {}
      operations.start.publish(message)
      return {
        after(result) {
          operations.end.publish(message)
          return result
        },
      }
    }),
  'mongodb/lib/cmap/connection.js': exports =>
    observeAsync(Object(Object(exports).Connection).prototype, 'command', beginCommand),
  'mongodb/lib/cmap/connection_pool.js': exports =>
    observeAsync(Object(Object(exports).ConnectionPool).prototype, 'checkOut', beginWait),
}

/** Earlier versions have callbacks. */
function observeAsync(target: unknown, name: string, before: BeforeCall): void {
  const method: unknown = Object(target)[name]
  if (typeof method === 'function' && method.constructor.name === 'AsyncFunction')
    observeMethod(Object(target), name, before)
}

/** The commands with which the library opens a connection, or watches a server. */
const ownCommands: ReadonlySet<string> = new Set(['hello', 'ismaster', 'isMaster', 'saslStart', 'saslContinue'])

function beginCommand(connection: unknown, [place, command, options]: readonly unknown[]) {
  const [name = ''] = Object.keys(Object(command))
  if (!commands.start.hasSubscribers || ownCommands.has(name)) return undefined
  const message: MongodbCommand = {
    database: Object(place).db,
    command: Object(command),
    server: (connection as Connection).address,
    session: Object(options).session,
  }
  commands.start.publish(message)
  return { after: (result: unknown) => publishPromise(commands, message, result) }
}

function beginWait(given: unknown) {
  if (!waits.start.hasSubscribers) return undefined
  const { availableConnectionCount: idle, options, totalConnectionCount: total, waitQueueSize: waiting } = given as Pool
  const pool: PoolState = { idle, total, limit: options.maxPoolSize, waiting }
  if (!(countFree(pool) <= 0)) return undefined
  const message: OperationOutcome & PoolWait = { pool }
  waits.start.publish(message)
  return { after: (result: unknown) => publishPromise(waits, message, result) }
}
