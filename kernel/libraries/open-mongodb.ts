import { channel, tracingChannel } from 'node:diagnostics_channel'
import { countFree, type PoolState } from '../queries.ts'
import { type AnyFunction, type FileChanges, type OperationOutcome, publishPromise } from './publish.ts'

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
const operations = channel('sinfonietta:mongodb:operation')
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
  command: AnyFunction
}

/** A pool of connections. */
interface Pool {
  readonly availableConnectionCount: number
  readonly totalConnectionCount: number
  /** How many wait already. */
  readonly waitQueueSize: number
  /** 0 for a pool without a limit. */
  readonly options: { readonly maxPoolSize: number }
  checkOut: AnyFunction
}

/** mongodb 6 and 7, whose functions are asynchronous; it is CommonJS also for ES modules. */
export const mongodbFiles: FileChanges = {
  'mongodb/lib/operations/execute_operation.js': exports => changeOperations(exports as { executeOperation?: unknown }),
  'mongodb/lib/cmap/connection.js'({ Connection }) {
    const { command } = Object(Connection).prototype ?? {}
    if (isAsync(command)) changeConnection(Object(Connection).prototype)
  },
  'mongodb/lib/cmap/connection_pool.js'({ ConnectionPool }) {
    const { checkOut } = Object(ConnectionPool).prototype ?? {}
    if (isAsync(checkOut)) changePool(Object(ConnectionPool).prototype)
  },
}

function isAsync(method: unknown): method is AnyFunction {
  return typeof method === 'function' && method.constructor.name === 'AsyncFunction'
}

/** The other files of the package read the function from these exports for each call. */
function changeOperations(exports: { executeOperation?: unknown }): void {
  const { executeOperation } = exports
  if (!isAsync(executeOperation)) return
  exports.executeOperation = function (this: unknown, ...args: unknown[]) {
    if (!operations.hasSubscribers) return executeOperation.apply(this, args)
    return operations.runStores({}, () => executeOperation.apply(this, args))
  }
}

/** The commands with which the library opens a connection, or watches a server. */
const ownCommands: ReadonlySet<string> = new Set(['hello', 'ismaster', 'isMaster', 'saslStart', 'saslContinue'])

function changeConnection(prototype: Connection): void {
  const { command: send } = prototype
  prototype.command = function (this: Connection, ...args) {
    const [place, command, options] = args
    const [name = ''] = Object.keys(Object(command))
    if (!commands.start.hasSubscribers || ownCommands.has(name)) return send.apply(this, args)
    const message: MongodbCommand = {
      database: Object(place).db,
      command: Object(command),
      server: this.address,
      session: Object(options).session,
    }
    commands.start.publish(message)
    return publishPromise(commands, message, send.apply(this, args))
  } as AnyFunction
}

function changePool(prototype: Pool): void {
  const { checkOut } = prototype
  prototype.checkOut = function (this: Pool, ...args) {
    if (!waits.start.hasSubscribers) return checkOut.apply(this, args)
    const { availableConnectionCount: idle, options, totalConnectionCount: total, waitQueueSize: waiting } = this
    const pool: PoolState = { idle, total, limit: options.maxPoolSize, waiting }
    if (!(countFree(pool) <= 0)) return checkOut.apply(this, args)
    const message: OperationOutcome & PoolWait = { pool }
    waits.start.publish(message)
    return publishPromise(waits, message, checkOut.apply(this, args))
  } as AnyFunction
}
