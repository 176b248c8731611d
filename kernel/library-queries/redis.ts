import { createCallerSearch, listenTo, subscribeChannels } from '../../lib/channels.ts'
import { hiddenValue, type QueryEnd, type QueryLibrary } from '../queries.ts'
import { NodeRedisPools } from './node-redis-pools.ts'
import { listenToOperations, toServer, type WatchServices } from './watch-channels.ts'

/** The place of a message of ioredis and node-redis. */
interface Place {
  /** The number of the database. */
  readonly database: number
  readonly serverAddress: string
  readonly serverPort: number | undefined
}

/** A message of `ioredis:command` and `node-redis:command`. */
interface Command extends Place {
  readonly command: string
  /** Those that may be values are `?`. The arguments of node-redis begin with the command. */
  readonly args: readonly string[]
  /** Of a pipeline of node-redis. */
  readonly batchSize?: number
}

/** A message of `ioredis:batch` and `node-redis:batch`. */
interface Batch extends Place {
  readonly batchMode: 'MULTI' | 'PIPELINE'
  readonly batchSize: number
}

/**
 * Records commands of ioredis (5.11 and later) until the returned function is called. Commands that ioredis sends by itself
 * later, such as those that waited for the connection, run in the context of another request: they are not recorded.
 */
export function watchIoredis({ callers, context, queries }: WatchServices): () => void {
  /** Set while the commands of a MULTI are sent, which are one query. */
  let isInBatch = false
  const search = createCallerSearch(callers, 'tracing:ioredis:command:start')
  const begin = (place: Place, command: string, args: readonly string[], batch?: number): QueryEnd | undefined => {
    if (context.current === undefined) return undefined
    const caller = search()
    if (caller === undefined && callers.isWithin('ioredis', 'standard-as-callback')) return undefined
    const findCaller = () => caller
    return queries.begin({
      ...describe('ioredis', place),
      text: command,
      parameters: toValues(args),
      batch,
      findCaller,
    })
  }
  return subscribeChannels({
    ...listenToOperations<Command>(
      'ioredis:command',
      message => (isInBatch ? undefined : begin(message, message.command, message.args)),
      countValues,
    ),
    ...listenToOperations<Batch>(
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
      if (context.current !== undefined && callers.isWithin('@redis/client')) context.leave()
    }),
    ...listenToOperations<Command>(
      'node-redis:command',
      message => {
        const { args, batchSize: batch, command } = message
        const parameters = toValues(args.slice(1))
        return queries.begin({ ...describe('node-redis', message), text: command, parameters, batch, findCaller })
      },
      countValues,
    ),
    ...listenToOperations<Batch>(
      'node-redis:batch',
      message =>
        // The commands of a pipeline are published, too.
        message.batchMode === 'PIPELINE'
          ? undefined
          : queries.begin({
              ...describe('node-redis', message),
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

function describe(library: QueryLibrary, { database, serverAddress, serverPort }: Place) {
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
