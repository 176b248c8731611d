import { AsyncResource } from 'node:async_hooks'
import { channel } from 'node:diagnostics_channel'
import { createRequire } from 'node:module'
import path from 'node:path'
import { type ChannelListeners, createCallerSearch, listenTo, subscribeChannels } from '../lib/channels.ts'
import type { Request } from '../lib/http/request.ts'
import { type Caller, Callers } from '../lib/stack/callers.ts'
import type { Foundation } from './bundle.ts'
import type { PostgresQuery } from './library-channels.ts'
import { isMeasured } from './measure-sqlite.ts'
import { countRows, hiddenValue, type Queries, type QueryEnd, type QueryLibrary, type QueryResult } from './queries.ts'
import type { RequestContext } from './request-context.ts'

/** Reports the queries of libraries that publish them by diagnostics channels, until the returned function is called. */
export function watchLibraries({
  context,
  directory,
  queries,
}: Pick<Foundation, 'context' | 'directory' | 'queries'>): () => void {
  const watches = [watchMysql2, watchPg, watchPostgres, watchIoredis, watchNodeRedis, watchNodeSqlite]
  // The callers of a library mostly have the same depth, so each has its own search.
  const stops = watches.map(watch => watch({ queries, context, callers: new Callers(directory) }))
  return () => {
    for (const stop of stops) stop()
  }
}

/** The parts that the watches of libraries work with. */
interface WatchServices {
  readonly queries: Pick<Queries, 'begin' | 'noteWait'>
  readonly context: RequestContext
  /** Finds the callers of the queries of one library. */
  readonly callers: Callers
}

/** A message of `mysql2:query` and `mysql2:execute`, which mysql2 3.20 and later publish, and of the channels of pg. */
interface SqlQuery {
  /** The statement; for `mysql2:query` with its values. */
  readonly query: string
  /** The values of `mysql2:execute` and of pg. Those of `mysql2:query` are in the statement. */
  readonly values?: readonly unknown[]
  /** Empty without a database. */
  readonly database: string
  readonly serverAddress: string
  readonly serverPort: number | undefined
}

function watchMysql2(services: WatchServices): () => void {
  const place = { system: 'mysql', library: 'mysql2', prefix: 'mysql2' } as const
  return watchPools(services, place, { query: () => undefined, execute: ({ values }) => values })
}

/** Records queries of pg, whose channels `openLibraryChannels` adds. */
function watchPg(services: WatchServices): () => void {
  const place = { system: 'postgresql', library: 'pg', prefix: 'sinfonietta:pg' } as const
  return watchPools(services, place, { query: ({ values }) => values })
}

/** A library, and the first part of the names of its channels. */
interface PoolLibrary {
  readonly system: string
  readonly library: QueryLibrary
  readonly prefix: string
}

/**
 * Records queries of a library with pools until the returned function is called. The operations have the values of a query by
 * the last part of the name of its channel. A pool passes a connection to the next waiting caller
 * while the request runs that has released it. So the request is taken when a connection is asked for, and is current
 * again when the connection is there; for other code, no request is current then. The same is true of callbacks of queries.
 */
function watchPools(
  { callers, context, queries }: WatchServices,
  { library, prefix, system }: PoolLibrary,
  operations: Readonly<Record<string, (query: SqlQuery) => SqlQuery['values']>>,
): () => void {
  const connecting = `${prefix}:pool:connect`
  const requests = new WeakMap<object, Request>()
  const places = new WeakMap<object, Caller>()
  /** Where the connection was asked for: `pool.query` runs its query before the end of its callback. */
  let connected: Caller | undefined
  /** The code that has returned the connection, if it runs now. */
  let returning: Caller | undefined
  /** When requests asked for connections, by `performance.now()`. Those for which the pool opens a connection are removed. */
  const waits = new WeakMap<object, number>()
  /** The connection that is being asked for, in the synchronous part. */
  let asked: object | undefined
  const keep = (message: object) => {
    const { current } = context
    if (current !== undefined) requests.set(message, current)
  }
  const search = createCallerSearch(callers, `tracing:${connecting}:start`)
  const findCaller = () => {
    const caller = search()
    return caller === undefined || isSamePlace(caller, returning) ? connected : caller
  }
  const begin = (message: SqlQuery, values: SqlQuery['values']): QueryEnd | undefined => {
    const { database, query, serverAddress, serverPort } = message
    keep(message)
    return queries.begin({
      system,
      text: query,
      parameters: values,
      namespace: database || undefined,
      server: toServer(serverAddress, serverPort),
      source: 'channel',
      library,
      findCaller,
    })
  }
  const stop = subscribeChannels({
    [`tracing:${connecting}:start`]: listenTo<object>(message => {
      asked = message
      if (context.current === undefined) return
      keep(message)
      const caller = search()
      if (caller !== undefined) places.set(message, caller)
      waits.set(message, performance.now())
    }),
    [`tracing:${connecting}:end`]: () => {
      asked = undefined
    },
    // The pool opens another connection instead of waiting.
    [`tracing:${prefix}:connect:start`]: () => {
      if (asked !== undefined) waits.delete(asked)
    },
    [`tracing:${connecting}:asyncStart`]: listenTo<object>(message => {
      connected = places.get(message)
      returning = search()
      const since = waits.get(message)
      if (since === undefined) return
      const duration = performance.now() - since
      queries.noteWait({ system, request: requests.get(message), duration, caller: connected })
    }),
    [`tracing:${connecting}:asyncEnd`]: () => {
      connected = undefined
      returning = undefined
    },
    ...Object.assign(
      {},
      ...Object.entries(operations).map(([name, valuesOf]) =>
        listenToOperations<SqlQuery>(`${prefix}:${name}`, message => begin(message, valuesOf(message)), countRows),
      ),
    ),
  })
  const unbinds = ['pool:connect', 'callback', ...Object.keys(operations)].map(name =>
    context.carry(channel(`tracing:${prefix}:${name}:asyncStart`), message => requests.get(Object(message))),
  )
  return () => {
    stop()
    for (const unbind of unbinds) unbind()
  }
}

function isSamePlace(one: Caller, other: Caller | undefined): boolean {
  return one.file === other?.file && one.line === other?.line && one.column === other?.column
}

/** Where a query of postgres.js was created. */
interface Creation {
  readonly request: Request
  readonly caller: Caller | undefined
}

/**
 * Records queries of postgres.js, whose channels `openLibraryChannels` adds, until the returned function is called. A query
 * belongs to the request that has created it; the library's own question for the types of a database belongs to none.
 */
function watchPostgres({ callers, context, queries }: WatchServices): () => void {
  const creations = new WeakMap<object, Creation>()
  const search = createCallerSearch(callers, 'sinfonietta:postgres:create')
  return subscribeChannels({
    'sinfonietta:postgres:create': listenTo<object>(query => {
      const { current: request } = context
      if (request !== undefined) creations.set(query, { request, caller: search() })
    }),
    ...listenToOperations<{ readonly query: PostgresQuery }>(
      'sinfonietta:postgres:query',
      ({ query }) => {
        const creation = creations.get(query)
        // A connection runs its own questions itself.
        if (creation === undefined || query.handler.name === 'execute') return undefined
        const { caller, request } = creation
        return queries.begin({
          system: 'postgresql',
          text: query.string ?? query.strings.join('?'),
          parameters: query.parameters,
          source: 'channel',
          library: 'postgres',
          request,
          findCaller: () => caller,
        })
      },
      result => Object(result).count ?? countRows(result),
    ),
  })
}

/** The place of a message of ioredis and node-redis. */
interface RedisPlace {
  /** The number of the database. */
  readonly database: number
  readonly serverAddress: string
  readonly serverPort: number | undefined
}

/** A message of `ioredis:command` and `node-redis:command`. */
interface RedisCommand extends RedisPlace {
  readonly command: string
  /** Arguments that may be values are `?`. The arguments of node-redis begin with the command. */
  readonly args: readonly string[]
  /** The number of commands, in a pipeline of node-redis. */
  readonly batchSize?: number
}

/** A message of `ioredis:batch` and `node-redis:batch`. */
interface RedisBatch extends RedisPlace {
  readonly batchMode: 'MULTI' | 'PIPELINE'
  readonly batchSize: number
}

/**
 * Records commands of ioredis (5.11 and later) until the returned function is called. Commands that ioredis sends by itself
 * later, such as those that waited for the connection, run in the context of another request: they are not recorded.
 */
function watchIoredis({ callers, context, queries }: WatchServices): () => void {
  /** Set while the commands of a MULTI are sent, which are one query. */
  let isInBatch = false
  const search = createCallerSearch(callers, 'tracing:ioredis:command:start')
  const begin = (place: RedisPlace, command: string, args: readonly string[], batch?: number): QueryEnd | undefined => {
    if (context.current === undefined) return undefined
    const caller = search()
    if (caller === undefined && callers.isWithin('ioredis', 'standard-as-callback')) return undefined
    const findCaller = () => caller
    return queries.begin({
      ...describeRedis('ioredis', place),
      text: command,
      parameters: toValues(args),
      batch,
      findCaller,
    })
  }
  return subscribeChannels({
    ...listenToOperations<RedisCommand>(
      'ioredis:command',
      message => (isInBatch ? undefined : begin(message, message.command, message.args)),
      countValues,
    ),
    ...listenToOperations<RedisBatch>(
      'ioredis:batch',
      message => {
        const end = begin(message, message.batchMode, [], message.batchSize)
        isInBatch = true
        return end
      },
      () => undefined,
    ),
    'tracing:ioredis:batch:end': () => {
      isInBatch = false
    },
  })
}

/**
 * Records commands of node-redis (5.12 and later) until the returned function is called. If the class of a pool is not found,
 * because the application is bundled, waiting commands run while another request returns its client: their request is not
 * known, so they are not recorded.
 */
function watchNodeRedis(services: WatchServices): () => void {
  const { callers, context, queries } = services
  const pools = new NodeRedisPools(services)
  const search = createCallerSearch(callers, 'tracing:node-redis:command:start')
  const findCaller = () => (pools.caller === undefined ? search() : (callers.list(1)[0] ?? pools.caller))
  const stop = subscribeChannels({
    'node-redis:pool:connection-wait': listenTo<object>(() => {
      if (context.current !== undefined && callers.isWithin('@redis/client')) context.enter(undefined)
    }),
    ...listenToOperations<RedisCommand>(
      'node-redis:command',
      message => {
        const { args, batchSize: batch, command } = message
        const parameters = toValues(args.slice(1))
        return queries.begin({ ...describeRedis('node-redis', message), text: command, parameters, batch, findCaller })
      },
      countValues,
    ),
    ...listenToOperations<RedisBatch>(
      'node-redis:batch',
      message =>
        // The commands of a pipeline are published, too.
        message.batchMode === 'PIPELINE'
          ? undefined
          : queries.begin({
              ...describeRedis('node-redis', message),
              text: message.batchMode,
              batch: message.batchSize,
              findCaller,
            }),
      () => undefined,
    ),
  })
  return () => {
    stop()
    pools.stop()
  }
}

function describeRedis(library: QueryLibrary, { database, serverAddress, serverPort }: RedisPlace) {
  const server = toServer(serverAddress, serverPort)
  return { system: 'redis', namespace: `${database}`, server, source: 'channel', library } as const
}

function toValues(args: readonly string[]): readonly unknown[] {
  return args.map(arg => (arg === '?' ? hiddenValue : arg))
}

/** How many values a command has found: 0 for a miss. A number and `OK` are no found values. */
function countValues(result: unknown): number | undefined {
  if (result === null || result === undefined) return 0
  if (Array.isArray(result)) return result.filter(value => value !== null).length
  if (typeof result === 'object') return Buffer.isBuffer(result) ? 1 : Object.keys(result).length
  return typeof result === 'string' && result !== 'OK' ? 1 : undefined
}

/** The part of the class of a pool that is used. */
interface Pool {
  readonly idleClients: number
  execute(task: (client: unknown) => unknown): Promise<unknown>
}

const require = createRequire(import.meta.url)

/** The main module of the package, which exports the class. */
const clientModule = path.join('node_modules', '@redis', 'client', 'dist', 'index.js')

/**
 * Runs each command that waits for a client of a pool of node-redis in the context of its own request. The pool would run it
 * in that of the request that returns the client, and it publishes nothing when the command begins to wait. So the method of
 * the loaded classes is replaced, until `stop` is called.
 */
class NodeRedisPools {
  readonly #services: WatchServices
  readonly #restores = new Map<Pool, () => void>()
  readonly #unsubscribe: () => void
  #caller: Caller | undefined

  constructor(services: WatchServices) {
    this.#services = services
    this.#replace()
    // The package may be loaded later. A pool connects before it takes commands.
    this.#unsubscribe = subscribeChannels({
      'tracing:node-redis:connect:start': listenTo<object>(() => this.#replace()),
    })
  }

  /** The place of the code that waited for the client; `undefined` for code that has not waited. */
  get caller(): Caller | undefined {
    return this.#caller
  }

  stop(): void {
    this.#unsubscribe()
    for (const restore of this.#restores.values()) restore()
  }

  #replace(): void {
    for (const [file, loaded] of Object.entries(require.cache)) {
      if (!file.endsWith(clientModule)) continue
      const prototype: Pool | undefined = loaded?.exports.RedisClientPool?.prototype
      if (prototype !== undefined && !this.#restores.has(prototype))
        this.#restores.set(prototype, this.#bind(prototype))
    }
  }

  #bind(prototype: Pool): () => void {
    const { execute } = prototype
    const { callers, context } = this.#services
    const pools = this
    let isStopped = false
    function executeBound(this: Pool, task: (client: unknown) => unknown): Promise<unknown> {
      if (isStopped || this.idleClients > 0) return execute.call(this, task)
      const caller = context.current && callers.find(executeBound)
      const bound = AsyncResource.bind((client: unknown) => {
        pools.#caller = caller
        try {
          return task(client)
        } finally {
          pools.#caller = undefined
        }
      })
      return execute.call(this, bound)
    }
    prototype.execute = executeBound
    return () => {
      isStopped = true
      if (prototype.execute === executeBound) prototype.execute = execute
    }
  }
}

/** A message of Node 26 and later, when a statement has ended. */
interface SqliteQuery {
  /** The statement with its values. */
  readonly sql: string
  readonly database: object & { location?(): string | null }
  /** Nanoseconds, in steps of a millisecond. */
  readonly duration: number
}

/**
 * Records queries of node:sqlite until the returned function is called. Before Node 26 it publishes none. Neither rows nor
 * errors are published: `measureSqlite` reports both, and its queries are not recorded twice.
 */
function watchNodeSqlite({ queries }: WatchServices): () => void {
  return subscribeChannels({
    'sqlite.db.query': listenTo<SqliteQuery>(({ database, duration, sql }) => {
      if (isMeasured(database)) return
      const server = database.location?.() ?? undefined
      queries.begin({
        system: 'sqlite',
        text: sql,
        server,
        source: 'channel',
        library: 'node:sqlite',
        elapsed: duration / 1e6,
      })?.({})
    }),
  })
}

/** The part of a message of a tracing channel that is the same in each library. */
interface Settled {
  readonly result?: unknown
  readonly error?: unknown
}

/**
 * Creates the listeners of a tracing channel whose operations are queries. `begin` reports the start, `count` counts the
 * rows of a result. A message has the documented shape: the guard of the channel catches the error if it changes.
 */
function listenToOperations<Message extends object>(
  channel: string,
  begin: (message: Message) => QueryEnd | undefined,
  count: (result: unknown, message: Message) => number | undefined,
): ChannelListeners {
  const ends = new WeakMap<object, QueryEnd>()
  const finish = listenTo<Message & Settled>(message => {
    const { error, result } = message
    const settled: QueryResult = error === undefined ? { rows: count(result, message) } : { error }
    ends.get(message)?.(settled)
  })
  return {
    [`tracing:${channel}:start`]: listenTo<Message>(message => {
      const end = begin(message)
      if (end !== undefined) ends.set(message, end)
    }),
    [`tracing:${channel}:asyncStart`]: finish,
    // An error may be thrown at once.
    [`tracing:${channel}:error`]: finish,
  }
}

/** Writes the place of a server; a socket has no port. */
function toServer(address: string, port: number | undefined): string {
  return port === undefined ? address : `${address}:${port}`
}
