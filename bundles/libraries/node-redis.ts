import { AsyncResource } from 'node:async_hooks'
import { createRequire } from 'node:module'
import path from 'node:path'
import { listenTo, subscribeChannels } from '../../lib/guard.ts'
import { type BeforeCall, observeMethod } from '../../lib/observe-calls.ts'
import { readClock } from '../../lib/own-globals.ts'
import { endAll } from '../../lib/share.ts'
import { type Caller, createCallerSearch } from '../../lib/stack/callers.ts'
import { type Library, listenToOperations, type WatchServices } from './library.ts'
import { countValues, describeRedis, type RedisBatch, type RedisCommand, toValues } from './redis-commands.ts'

/** It reports its commands itself; its pools are patched. */
export const nodeRedis: Library = {
  name: 'node-redis',
  reports: 'queries',
  connects: ['@redis/client', 'redis'],
  isCache: true,
  seenBy: 'channel',
  bundledText: 'Returning a client with active MONITOR',
  from: '5.12',
  // Before version 4, all of it was in the package `redis`.
  files: { '@redis/client': 'dist/index.js', redis: 'index.js' },
  instrumentation: 'redis',
  watch: watchNodeRedis,
}

/**
 * Records commands until the returned function is called. If the class of a pool is not found,
 * because the application is bundled, waiting commands run while another request returns its
 * client: their request is not known, so they are not recorded.
 */
function watchNodeRedis(services: WatchServices): () => void {
  const { callers, context, queries } = services
  const waits = watchWaits(services)
  const search = createCallerSearch(callers, 'tracing:node-redis:command:start')
  const findCaller = () => (waits.caller === undefined ? search() : (callers.list(1)[0] ?? waits.caller))
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
  return endAll([stop, waits.stop])
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
 * Runs each command that waits for a client of a pool of node-redis in the context of its own request.
 * The pool would run it in that of the request that returns the client, and it publishes nothing when
 * the command begins to wait. So the method of the loaded classes is replaced, until `stop` is called.
 * `caller` is the place of the code that has waited for the client, while it runs.
 */
function watchWaits({ callers, context, queries }: WatchServices) {
  const restores = new Map<Pool, () => void>()
  const waits: { caller: Caller | undefined; readonly stop: () => void } = { caller: undefined, stop }
  const replace = () => {
    for (const [file, loaded] of Object.entries(require.cache)) {
      const prototype: Pool | undefined = file.endsWith(clientModule)
        ? loaded?.exports.RedisClientPool?.prototype
        : undefined
      if (prototype !== undefined && !restores.has(prototype))
        restores.set(prototype, observeMethod(prototype, 'execute', beginWait))
    }
  }
  const beginWait: BeforeCall = (given, args) => {
    const pool = given as Pool
    if (pool.idleClients > 0) return undefined
    const caller = context.current && callers.find()
    const { idleClients: idle, tasksQueueLength: waiting, totalClients: total } = pool
    const [task] = args
    const since = readClock()
    let isFull = false
    args[0] = AsyncResource.bind((client: unknown) => {
      const duration = readClock() - since
      if (isFull) queries.noteWait({ system: 'redis', duration, caller, pool: { idle, total, limit: total, waiting } })
      waits.caller = caller
      try {
        return (task as (client: unknown) => unknown)(client)
      } finally {
        waits.caller = undefined
      }
    })
    return {
      after() {
        // Below its limit, the pool opens a connection at once.
        isFull = pool.totalClients === total
      },
    }
  }
  replace()
  // The package may be loaded later. A pool connects before it takes commands.
  const unsubscribe = subscribeChannels({ 'tracing:node-redis:connect:start': replace })
  function stop() {
    unsubscribe()
    for (const restore of restores.values()) restore()
  }
  return waits
}
