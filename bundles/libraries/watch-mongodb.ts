import { AsyncLocalStorage } from 'node:async_hooks'
import type { QueryEnd, QueryResult } from '../../kernel/contracts/queries.ts'
import { listenTo, subscribeChannels } from '../../lib/guard.ts'
import type { Request } from '../../lib/http/request.ts'
import { readClock } from '../../lib/own-globals.ts'
import type { Caller } from '../../lib/stack/callers.ts'
import { createCallerSearch } from '../../lib/stack/callers.ts'
import { readCommand } from './mongodb-command.ts'
import type { MongodbCommand, PoolWait } from './open-mongodb.ts'
import type { WatchServices } from './watch.ts'

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

/**
 * Records commands of mongodb, whose channels `openLibraryChannels` adds, until the returned function is called. An operation
 * waits for a connection before it sends its command: its place in the code is kept meanwhile.
 */
export function watchMongodb({ callers, context, queries }: WatchServices): () => void {
  const places = new AsyncLocalStorage<Caller | undefined>()
  const ends = new WeakMap<object, QueryEnd>()
  const waits = new WeakMap<object, Wait>()
  /** The place that was current before an operation: it is current again behind its synchronous part. */
  const outer = new WeakMap<object, Caller | undefined>()
  const search = createCallerSearch(callers, 'tracing:sinfonietta:mongodb:operation:start')
  return subscribeChannels({
    'tracing:sinfonietta:mongodb:operation:start': listenTo<object>(message => {
      outer.set(message, places.getStore())
      places.enterWith(context.current && search())
    }),
    'tracing:sinfonietta:mongodb:operation:end': listenTo<object>(message => places.enterWith(outer.get(message))),
    'tracing:sinfonietta:mongodb:command:start': listenTo<MongodbCommand>(message => {
      if (context.current === undefined) return
      const { command, database, server } = message
      const end = queries.begin({
        system: 'mongodb',
        ...readCommand(command),
        namespace: database,
        server,
        source: 'channel',
        library: 'mongodb',
        transaction: findTransaction(message),
        findCaller: () => places.getStore(),
      })
      if (end !== undefined) ends.set(message, end)
    }),
    'tracing:sinfonietta:mongodb:command:asyncStart': listenTo<MongodbCommand>(message => {
      const { command, error, result } = message
      ends.get(message)?.(error === undefined ? readReply(command, Object(result)) : { error })
    }),
    'tracing:sinfonietta:mongodb:pool:wait:start': listenTo<object>(message => {
      waits.set(message, { request: context.current, since: readClock(), caller: places.getStore() })
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
