import { AsyncResource } from 'node:async_hooks'
import { createRequire } from 'node:module'
import path from 'node:path'
import { hiddenValue, type QueryEnd, type QueryLibrary } from '../../kernel/contracts/queries.ts'
import { listenTo, subscribeChannels } from '../../lib/guard.ts'
import type { Request } from '../../lib/http/request.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { readClock } from '../../lib/own-globals.ts'
import type { Caller } from '../../lib/stack/callers.ts'
import { createCallerSearch } from '../../lib/stack/callers.ts'
import { listenToOperations, toServer, type WatchServices } from './watch.ts'

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

/** A command that waits for the connection. */
interface QueuedCommand {
  readonly request: Request
  readonly caller: Caller | undefined
  /** By `performance.now()`. */
  readonly since: number
}

/**
 * Records commands of ioredis (5.11 and later) until the returned function is called. Commands that have waited for the connection are those
 * of the request that has sent them.
 */
export function watchIoredis({ callers, context, queries }: WatchServices): () => void {
  /** Set while the commands of a MULTI are sent, which are one query. */
  let isInBatch = false
  const waiting = new WeakMap<object, QueuedCommand>()
  /** The command that has waited, while it is sent. */
  let resent: QueuedCommand | undefined
  let outer: Request | undefined
  const search = createCallerSearch(callers, 'tracing:ioredis:command:start')
  const begin = (place: RedisPlace, command: string, args: readonly string[], batch?: number): QueryEnd | undefined => {
    if (context.current === undefined) return undefined
    const caller = resent === undefined ? search() : resent.caller
    if (caller === undefined && callers.isWithin('ioredis', 'standard-as-callback')) return undefined
    const findCaller = () => caller
    return queries.begin({
      ...describeRedis('ioredis', place),
      text: command,
      parameters: toValues(args),
      batch,
      findCaller,
      elapsed: resent && readClock() - resent.since,
    })
  }
  return subscribeChannels({
    'sinfonietta:ioredis:queued': listenTo<object>(command => {
      const { current } = context
      if (current !== undefined) waiting.set(command, { request: current, caller: callers.find(), since: readClock() })
    }),
    'sinfonietta:ioredis:resent': listenTo<object>(command => {
      resent = waiting.get(command)
      if (resent === undefined) return
      outer = context.current
      context.enter(resent.request)
    }),
    'sinfonietta:ioredis:sent': () => {
      if (resent !== undefined) context.enter(outer)
      resent = undefined
    },
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
export function watchNodeRedis(services: WatchServices): () => void {
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
  readonly totalClients: number
  readonly tasksQueueLength: number
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
    const { callers, context, queries } = this.#services
    return observeMethod(prototype, 'execute', (given, args) => {
      const pool = given as Pool
      if (pool.idleClients > 0) return undefined
      const caller = context.current && callers.find()
      const { idleClients: idle, tasksQueueLength: waiting, totalClients: total } = pool
      const [task] = args
      const since = readClock()
      let isFull = false
      args[0] = AsyncResource.bind((client: unknown) => {
        const duration = readClock() - since
        if (isFull)
          queries.noteWait({ system: 'redis', duration, caller, pool: { idle, total, limit: total, waiting } })
        this.#caller = caller
        try {
          return (task as (client: unknown) => unknown)(client)
        } finally {
          this.#caller = undefined
        }
      })
      return {
        after(result) {
          // Below its limit, the pool opens a connection at once.
          isFull = pool.totalClients === total
          return result
        },
      }
    })
  }
}
