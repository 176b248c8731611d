import { channel } from 'node:diagnostics_channel'
import type { QueryEnd } from '../../kernel/contracts/queries.ts'
import { listenTo, subscribeChannels } from '../../lib/guard.ts'
import type { Request } from '../../lib/http/request.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { readClock } from '../../lib/own-globals.ts'
import { type Caller, createCallerSearch } from '../../lib/stack/callers.ts'
import { readProperty } from '../../lib/text/describe-value.ts'
import { type Library, listenToOperations, type WatchServices } from './library.ts'
import {
  countValues,
  describeRedis,
  type RedisBatch,
  type RedisCommand,
  type RedisPlace,
  toValues,
} from './redis-commands.ts'

/**
 * It reports its commands itself; a command that has waited for the connection only when it is
 * sent, outside of its request. It is CommonJS also for ES modules.
 */
export const ioredis: Library = {
  name: 'ioredis',
  reports: 'queries',
  connects: ['ioredis', 'redis'],
  isCache: true,
  seenBy: 'channel',
  bundledText: 'writeable and enableOfflineQueue options is false',
  from: '5.11',
  files: { ioredis: 'built/index.js' },
  changes: {
    'ioredis/built/Redis.js': exports =>
      void observeMethod(Object(Object(exports).default).prototype, 'sendCommand', (client, [command]) => {
        const item = Object(command)
        if (waitingCommands.has(item)) {
          resentCommands.publish(item)
          return { after: () => void sent.publish(item) }
        }
        if ((client as RedisClient).status !== 'ready' && queued.hasSubscribers) {
          waitingCommands.add(item)
          queued.publish(item)
          observeMethod(item, 'reject', (_, [error]) => {
            const describe = (client as RedisClient)._buildCommandContext
            if (typeof describe === 'function') rejected.publish({ item, error, ...describe.call(client, item) })
          })
        }
        return undefined
      }),
  },
  watch: watchIoredis,
}

/** A client of ioredis, as far as it is used. */
interface RedisClient {
  readonly status?: unknown
  readonly _buildCommandContext?: (command: object) => RedisCommand
}

/** Have a command when it is sent first, before the connection is ready, and whenever it is sent again. */
const queued = channel('sinfonietta:ioredis:queued')
const resentCommands = channel('sinfonietta:ioredis:resent')
const sent = channel('sinfonietta:ioredis:sent')
/** Has a command that has waited for the connection, and has failed. */
const rejected = channel('sinfonietta:ioredis:rejected')

const waitingCommands = new WeakSet<object>()

/** A command that waits for the connection. */
interface QueuedCommand {
  readonly request: Request
  readonly caller: Caller | undefined
  /** By `performance.now()`. */
  readonly since: number
  /** Whether it was sent: then it is reported already. */
  isSent?: true
}

interface RejectedCommand extends RedisCommand {
  readonly item: object
  readonly error: unknown
}

/**
 * Records commands until the returned function is called. Commands that have waited for the
 * connection are those of the request that has sent them.
 */
function watchIoredis({ callers, context, queries }: WatchServices): () => void {
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
      resent.isSent = true
      outer = context.current
      context.enter(resent.request)
    }),
    'sinfonietta:ioredis:rejected': listenTo<RejectedCommand>(({ args, command, error, item, ...place }) => {
      const found = waiting.get(item)
      // With an answer of the server, it was sent: so is that by which a client introduces itself.
      const isAnswered = readProperty(error, 'name') === 'ReplyError'
      if (found === undefined || found.isSent || isAnswered) return
      const { caller, request, since } = found
      const start = { ...describeRedis('ioredis', place), text: command, parameters: toValues(args) }
      queries.begin({ ...start, request, findCaller: () => caller, elapsed: readClock() - since })?.({ error })
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
