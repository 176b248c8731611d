import { channel } from 'node:diagnostics_channel'
import { createCallerSearch, listenTo, subscribeChannels } from '../../lib/channels.ts'
import type { Request } from '../../lib/http/request.ts'
import type { Caller } from '../../lib/stack/callers.ts'
import { countRows, type QueryEnd } from '../queries.ts'
import { listenToOperations, toServer, type WatchServices } from './watch-channels.ts'

/** A message of `mysql2:query` and `mysql2:execute`; mysql2 3.20 and later publish them. */
interface Message {
  /** The statement; for `mysql2:query` with its values. */
  readonly query: string
  /** Of `mysql2:execute`; those of `mysql2:query` are in the statement. */
  readonly values?: readonly unknown[]
  /** Empty without a database. */
  readonly database: string
  readonly serverAddress: string
  readonly serverPort: number | undefined
}

const connecting = 'mysql2:pool:connect'
const operations = ['mysql2:query', 'mysql2:execute']

/**
 * Records queries of mysql2 until the returned function is called. A pool passes a connection to the next waiting caller
 * while the request runs that has released it. So the request is taken when a connection is asked for, and is current
 * again when the connection is there; for other code, no request is current then. The same is true of callbacks of queries.
 */
export function watchMysql2({ callers, context, queries }: WatchServices): () => void {
  const requests = new WeakMap<object, Request>()
  const places = new WeakMap<object, Caller>()
  /** Where the connection was asked for: `pool.query` runs its query before the end of its callback. */
  let connected: Caller | undefined
  /** When requests asked for connections, by `performance.now()`. Those for which the pool opens a connection are removed. */
  const waits = new WeakMap<object, number>()
  /** The connection that is being asked for, in the synchronous part. */
  let asked: object | undefined
  const keep = (message: object) => {
    const { current } = context
    if (current !== undefined) requests.set(message, current)
  }
  const search = createCallerSearch(callers, `tracing:${connecting}:start`)
  const findCaller = () => search() ?? connected
  const begin = (message: Message, values: Message['values']): QueryEnd | undefined => {
    const { database, query, serverAddress, serverPort } = message
    keep(message)
    return queries.begin({
      system: 'mysql',
      text: query,
      parameters: values,
      namespace: database || undefined,
      server: toServer(serverAddress, serverPort),
      source: 'channel',
      library: 'mysql2',
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
    'tracing:mysql2:connect:start': () => {
      if (asked !== undefined) waits.delete(asked)
    },
    [`tracing:${connecting}:asyncStart`]: listenTo<object>(message => {
      connected = places.get(message)
      const since = waits.get(message)
      if (since === undefined) return
      const duration = performance.now() - since
      queries.noteWait({ system: 'mysql', request: requests.get(message), duration, caller: connected })
    }),
    [`tracing:${connecting}:asyncEnd`]: () => {
      connected = undefined
    },
    ...listenToOperations<Message>('mysql2:query', message => begin(message, undefined), countRows),
    ...listenToOperations<Message>('mysql2:execute', message => begin(message, message.values), countRows),
  })
  const unbinds = [connecting, ...operations].map(name =>
    context.carry(channel(`tracing:${name}:asyncStart`), message => requests.get(Object(message))),
  )
  return () => {
    stop()
    for (const unbind of unbinds) unbind()
  }
}
