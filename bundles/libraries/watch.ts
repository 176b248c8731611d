import type { Queries, QueryEnd, QueryResult } from '../../kernel/contracts/queries.ts'
import type { RequestContext } from '../../kernel/request-context.ts'
import { type ChannelListeners, listenTo } from '../../lib/guard.ts'
import type { Callers } from '../../lib/stack/callers.ts'

/** The parts that the watches of libraries work with. */
export interface WatchServices {
  readonly queries: Pick<Queries, 'begin' | 'noteWait'>
  readonly context: RequestContext
  /** Finds the callers of the queries of one library. */
  readonly callers: Callers
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
export function listenToOperations<Message extends object>(
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
export function toServer(address: string, port: number | undefined): string {
  return port === undefined ? address : `${address}:${port}`
}
