import { tracingChannel } from 'node:diagnostics_channel'
import { hiddenValue } from '../../kernel/contracts/queries.ts'
import { type AnyFunction, observeMethod } from '../../lib/observe-calls.ts'
import { type Library, type OperationOutcome, publishCallback, toServer, watchCommands } from './library.ts'
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
  watch: services => watchCommands(services, channelName, describeCommand, countFound),
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

function describeCommand({ args: [key, ...values], name, server }: MemjsCommand) {
  return {
    system: 'memcached',
    text: name,
    parameters: key === undefined ? [] : [key, ...values.map(() => hiddenValue)],
    server: server && toServer(server.host, server.port),
    library: 'memjs',
  }
}

function countFound(result: unknown, { name }: MemjsCommand): number | undefined {
  return name === 'get' ? countValues(result) : undefined
}
