import { AsyncLocalStorage } from 'node:async_hooks'
import { tracingChannel } from 'node:diagnostics_channel'
import { countFree, type PoolState, type QueryEnd, type QueryResult } from '../../kernel/contracts/queries.ts'
import { listenTo, subscribeChannels } from '../../lib/guard.ts'
import type { Request } from '../../lib/http/request.ts'
import { type BeforeCall, observeMethod } from '../../lib/observe-calls.ts'
import { readClock } from '../../lib/own-globals.ts'
import { type Caller, createCallerSearch } from '../../lib/stack/callers.ts'
import { type Library, type OperationOutcome, publishOperation, type WatchServices } from './library.ts'

/** Commands of mongodb, whose functions are asynchronous; it is CommonJS also for ES modules. */
export const mongodb: Library = {
  name: 'mongodb',
  reports: 'queries',
  connects: ['mongodb', 'mongodb'],
  seenBy: 'patch',
  from: '6',
  files: { mongodb: 'lib/index.js' },
  bundledText: 'Auto-encryption requested, but the module is not installed',
  notSeen: 'values: `find users { filter: { name: ? } }`',
  changes: {
    // The other files of the package read the function from these exports for each call.
    'mongodb/lib/operations/execute_operation.js': exports =>
      observeAsync(exports, 'executeOperation', (_, [, operation]) => {
        const { commandName, ns } = Object(operation)
        const message: MongodbOperation = { command: { [commandName]: Object(ns).collection }, database: Object(ns).db }
        return publishOperation(operations, message)
      }),
    'mongodb/lib/cmap/connection.js': exports =>
      observeAsync(Object(Object(exports).Connection).prototype, 'command', beginCommand),
    'mongodb/lib/cmap/connection_pool.js': exports =>
      observeAsync(Object(Object(exports).ConnectionPool).prototype, 'checkOut', beginWait),
  },
  watch: watchMongodb,
}

/** A message of the channel of the operations of mongodb. */
interface MongodbOperation extends OperationOutcome {
  readonly database: string
  /** Its first property is its name. */
  readonly command: Readonly<Record<string, unknown>>
}

/** A message of the channel of the commands of mongodb. */
interface MongodbCommand extends MongodbOperation {
  /** Such as `localhost:27017`. */
  readonly server: string
  /** Its session, with a transaction or without. */
  readonly session: object | undefined
}

/** An operation of the application, which sends commands later, when it has a connection. */
const operations = tracingChannel<object, OperationOutcome>('sinfonietta:mongodb:operation')
const commands = tracingChannel<object, OperationOutcome>('sinfonietta:mongodb:command')
/** The waits of operations for a connection, because all connections of the pool are in use. */
const waits = tracingChannel<object, OperationOutcome>('sinfonietta:mongodb:pool:wait')

/** A message of the channel of the waits. */
interface PoolWait {
  readonly pool: PoolState
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
    server: (connection as { readonly address: string }).address,
    session: Object(options).session,
  }
  return publishOperation(commands, message)
}

function beginWait(given: unknown) {
  if (!waits.start.hasSubscribers) return undefined
  const { availableConnectionCount: idle, options, totalConnectionCount: total, waitQueueSize: waiting } = given as Pool
  const pool: PoolState = { idle, total, limit: options.maxPoolSize, waiting }
  if (!(countFree(pool) <= 0)) return undefined
  const message: OperationOutcome & PoolWait = { pool }
  return publishOperation(waits, message)
}

/** The reply of a server: a document, or an object that reads it when it is asked. */
interface Reply {
  /** The documents of a cursor in this reply. */
  readonly batchSize?: number
  toObject?(): WriteResult
}

/** What a server says about a command that changes documents. */
interface WriteResult {
  /** The documents that were inserted, changed or removed. */
  readonly n?: number
  /** Of `findAndModify`. */
  readonly lastErrorObject?: { readonly n?: number }
  readonly writeErrors?: readonly { readonly code?: number; readonly errmsg?: string }[]
}

/** The requests that wait for a connection, and since when. */
interface Wait {
  readonly request: Request | undefined
  readonly since: number
  readonly caller: Caller | undefined
}

/** An operation of a request. */
interface RunningOperation extends Wait {
  readonly request: Request
  /** Whether it has sent a command, which is reported. */
  isSent: boolean
}

const system = 'mongodb'

/**
 * Records commands of mongodb until the returned function is called. An operation
 * waits for a connection before it sends its command: its place in the code is kept meanwhile.
 */
function watchMongodb({ callers, context, queries }: WatchServices): () => void {
  const running = new AsyncLocalStorage<RunningOperation | undefined>()
  const started = new WeakMap<object, RunningOperation>()
  const ends = new WeakMap<object, QueryEnd>()
  const waits = new WeakMap<object, Wait>()
  /** The operation that was current before another one: it is current again behind its synchronous part. */
  const outer = new WeakMap<object, RunningOperation | undefined>()
  const search = createCallerSearch(callers, 'tracing:sinfonietta:mongodb:operation:start')
  return subscribeChannels({
    'tracing:sinfonietta:mongodb:operation:start': listenTo<object>(message => {
      const { current: request } = context
      const operation = request && { request, caller: search(), since: readClock(), isSent: false }
      outer.set(message, running.getStore())
      running.enterWith(operation)
      if (operation !== undefined) started.set(message, operation)
    }),
    'tracing:sinfonietta:mongodb:operation:end': listenTo<object>(message => running.enterWith(outer.get(message))),
    // Without a server, no command is sent.
    'tracing:sinfonietta:mongodb:operation:asyncStart': listenTo<MongodbOperation>(message => {
      const { command, database: namespace, error } = message
      const operation = started.get(message)
      if (operation === undefined || operation.isSent || error === undefined) return
      const { caller, request, since } = operation
      queries.begin({
        ...{ system, library: system, source: 'channel', request, ...readCommand(command), namespace },
        findCaller: () => caller,
        elapsed: readClock() - since,
      })?.({ error })
    }),
    'tracing:sinfonietta:mongodb:command:start': listenTo<MongodbCommand>(message => {
      if (context.current === undefined) return
      const { command, database: namespace, server } = message
      const operation = running.getStore()
      if (operation !== undefined) operation.isSent = true
      const end = queries.begin({
        ...{ system, library: system, source: 'channel', ...readCommand(command), namespace, server },
        transaction: findTransaction(message),
        findCaller: () => operation?.caller,
      })
      if (end !== undefined) ends.set(message, end)
    }),
    'tracing:sinfonietta:mongodb:command:asyncStart': listenTo<MongodbCommand>(message => {
      const { command, error, result } = message
      ends.get(message)?.(error === undefined ? readReply(command, Object(result)) : { error })
    }),
    'tracing:sinfonietta:mongodb:pool:wait:start': listenTo<object>(message => {
      waits.set(message, { request: context.current, since: readClock(), caller: running.getStore()?.caller })
    }),
    'tracing:sinfonietta:mongodb:pool:wait:asyncStart': listenTo<PoolWait>(message => {
      const { since = Infinity, ...wait } = waits.get(message) ?? {}
      queries.noteWait({ system: 'mongodb', duration: readClock() - since, pool: message.pool, ...wait })
    }),
  })
}

/** A session has another object for each of its transactions. */
function findTransaction({ command, session }: MongodbCommand): object | undefined {
  const transaction: { readonly isActive?: boolean } | undefined = Object(session).transaction
  const isEnd = 'commitTransaction' in command || 'abortTransaction' in command
  return isEnd || transaction?.isActive === true ? transaction : undefined
}

/** The commands that change documents, whose replies are small. */
const changing: ReadonlySet<string | undefined> = new Set(['insert', 'update', 'delete', 'findAndModify'])

/** A reply may say that some of the changes have failed. */
function readReply(command: object, reply: Reply & WriteResult): QueryResult {
  const [name] = Object.keys(command)
  if (!changing.has(name)) return { rows: reply.batchSize }
  const { lastErrorObject, n = lastErrorObject?.n, writeErrors: [failed] = [] } = reply.toObject?.() ?? reply
  if (failed === undefined) return { rows: n }
  return { error: Object.assign(new Error(failed.errmsg), { code: failed.code }) }
}

/** Properties of a command that say nothing about what it does. */
const omitted: ReadonlySet<string> = new Set([
  ...['lsid', 'txnNumber', 'startTransaction', 'autocommit', 'ordered', 'writeConcern', 'readConcern'],
  ...['bypassDocumentValidation', 'cursor', 'comment', 'maxTimeMS', 'collection'],
])

/** Properties of all documents of a command that are read; a document may be a whole file. */
const propertyLimit = 200
const depthLimit = 8
const textLimit = 5000

/** Separates a command of MongoDB from its values. */
export function readCommand(command: Readonly<Record<string, unknown>>) {
  const [name = '', ...others] = Object.keys(command)
  const { [name]: target, collection, key } = command
  // `getMore` has its cursor there.
  const known = [target, collection].find(value => typeof value === 'string')
  // What `distinct` reads is the name of a property, not a value.
  const isDistinct = name === 'distinct' && typeof key === 'string'
  const place = isDistinct ? `${known}.${key}` : known
  const values = new CommandValues()
  const properties = others
    .filter(property => !omitted.has(property) && !(isDistinct && property === 'key'))
    .map(property => [property, command[property]] as const)
  const shape = properties.length === 0 ? '' : ` ${values.describeProperties(properties, '', 0)}`
  const text = `${name}${place === undefined ? '' : ` ${place}`}${shape}`
  return { text: text.slice(0, textLimit), parameters: Object.fromEntries(values.found) }
}

class CommandValues {
  /** The paths of the values, and the values. */
  readonly found: [path: string, value: unknown][] = []
  #left = propertyLimit

  describeProperties(properties: readonly (readonly [string, unknown])[], path: string, depth: number): string {
    const parts: string[] = []
    for (const [name, value] of properties) {
      if (this.#left-- <= 0) {
        parts.push('…')
        break
      }
      parts.push(`${name}: ${this.#describe(value, path === '' ? name : `${path}.${name}`, depth + 1)}`)
    }
    return parts.length === 0 ? '{}' : `{ ${parts.join(', ')} }`
  }

  #describe(value: unknown, path: string, depth: number): string {
    if (depth <= depthLimit) {
      const list = listOf(value)
      if (list?.some(isDocument)) return this.#describeList(list, path, depth)
      if (isDocument(value)) return this.describeProperties(entriesOf(value), path, depth)
    }
    this.found.push([path, toPlain(value)])
    return '?'
  }

  /** Documents with the same properties, such as those of an insertion, are written once. */
  #describeList(list: readonly unknown[], path: string, depth: number): string {
    const parts: string[] = []
    for (const [index, item] of list.entries()) {
      if (this.#left <= 0) break
      const shape = this.#describe(item, index === 0 ? path : `${path}.${index}`, depth + 1)
      if (shape !== parts.at(-1)) parts.push(shape)
    }
    return `[${parts.join(', ')}]`
  }
}

/** The items of a list, also of one whose bytes the library has prepared. */
function listOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value
  const { chunks, documents } = Object(value) as { readonly chunks?: unknown; readonly documents?: unknown }
  return Array.isArray(chunks) && Array.isArray(documents) ? documents : undefined
}

/** Whether a value has properties of the application: values of BSON, such as an id, are classes. */
function isDocument(value: unknown): value is object {
  if (value instanceof Map) return true
  if (typeof value !== 'object' || value === null) return false
  const { _bsontype: type } = value as { readonly _bsontype?: unknown }
  const isValue = value instanceof Date || value instanceof RegExp || ArrayBuffer.isView(value)
  return type === undefined && !isValue && !Array.isArray(value)
}

function entriesOf(document: object): readonly (readonly [string, unknown])[] {
  if (document instanceof Map) return [...document]
  // A getter of the application is not called.
  const own = Object.entries(Object.getOwnPropertyDescriptors(document))
  return own.filter(([, { enumerable }]) => enumerable).map(([name, { value }]) => [name, value])
}

/** A value of BSON as it is written: the hexadecimal digits of an id. */
function toPlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toPlain)
  if (value instanceof RegExp) return String(value)
  const { _bsontype: type, buffer } = Object(value) as { readonly _bsontype?: unknown; readonly buffer?: unknown }
  if (type === undefined) return value
  return type === 'Binary' && ArrayBuffer.isView(buffer) ? buffer : String(value)
}
