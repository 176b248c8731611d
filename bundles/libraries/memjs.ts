import { tracingChannel } from 'node:diagnostics_channel'
import { hiddenValue } from '../../kernel/contracts/queries.ts'
import { guard, subscribeChannels } from '../../lib/guard.ts'
import type { Request } from '../../lib/http/request.ts'
import { type AnyFunction, observeMethod } from '../../lib/observe-calls.ts'
import { createCallerSearch } from '../../lib/stack/callers.ts'
import {
  type Library,
  listenToOperations,
  type OperationOutcome,
  publishCallback,
  toServer,
  type WatchServices,
} from './library.ts'
import { countValues } from './redis-commands.ts'

/** The methods, and the words of the protocol. */
const commands = {
  ...{ get: 'get', set: 'set', add: 'add', replace: 'replace', append: 'append', prepend: 'prepend' },
  ...{ delete: 'delete', increment: 'incr', decrement: 'decr', touch: 'touch', flush: 'flush_all' },
}

/** Commands of Memcached. Without a callback, a method calls itself with one. */
export const memjs: Library = {
  name: 'memjs',
  reports: 'queries',
  isCache: true,
  seenBy: 'patch',
  bundledText: 'MemJS SET: using deprecated call',
  changes: {
    'memjs/lib/memjs/memjs.js'(exports) {
      const { prototype } = Object(Object(exports).Client)
      for (const [method, name] of Object.entries(commands))
        observeMethod(prototype, method, (client, args) => void publish(client, name, args))
    },
  },
  watch: watchMemjs,
}

/** A message of the channel. */
interface MemjsCommand extends OperationOutcome {
  readonly name: string
  readonly args: readonly unknown[]
  /** `undefined` of a client of several servers. */
  readonly server: { readonly host: string; readonly port: number } | undefined
}

const channelName = 'sinfonietta:memjs:command'
const channel = tracingChannel<object, OperationOutcome>(channelName)

function publish(client: unknown, name: string, args: unknown[]): void {
  const callback = args.at(-1)
  if (!channel.start.hasSubscribers || typeof callback !== 'function') return
  const [server, ...others] = (client as { readonly servers: readonly MemjsCommand['server'][] }).servers
  const message: MemjsCommand = { name, args: args.slice(0, -1), server: others.length === 0 ? server : undefined }
  channel.start.publish(message)
  args.splice(-1, 1, publishCallback(channel, message, callback as AnyFunction))
}

/** Records commands until the returned function is called. Their callbacks run for the request that has sent them. */
function watchMemjs({ callers, context, queries }: WatchServices): () => void {
  const requests = new WeakMap<object, Request>()
  const findCaller = createCallerSearch(callers, `tracing:${channelName}:start`)
  const begin = (message: MemjsCommand) => {
    const { args, name, server } = message
    const [key, ...values] = args
    if (context.current !== undefined) requests.set(message, context.current)
    return queries.begin({
      system: 'memcached',
      text: name,
      parameters: key === undefined ? [] : [key, ...values.map(() => hiddenValue)],
      server: server && toServer(server.host, server.port),
      source: 'channel',
      library: 'memjs',
      findCaller,
    })
  }
  const count = (result: unknown, { name }: MemjsCommand) => (name === 'get' ? countValues(result) : undefined)
  const stop = subscribeChannels(listenToOperations<MemjsCommand>(channelName, begin, count))
  const find = guard('the request of a command', (message: unknown) => requests.get(Object(message)))
  const stopCarrying = context.carry(`tracing:${channelName}`, find)
  return () => {
    stop()
    stopCarrying()
  }
}
