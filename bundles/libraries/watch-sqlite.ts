import type { QueryEnd } from '../../kernel/contracts/queries.ts'
import { listenTo, subscribeChannels } from '../../lib/guard.ts'
import { createCallerSearch } from '../../lib/stack/callers.ts'
import { openLoadedSqlite, type SqliteCall } from './open-sqlite.ts'
import { isMeasured, isReporting, SqliteTransactions, serverOf, toParameters } from './sqlite-statements.ts'
import type { WatchServices } from './watch.ts'

/** A message of later versions of Node, when a statement has ended. */
interface SqliteQuery {
  /** The statement with its values. */
  readonly sql: string
  readonly database: object
  /** Nanoseconds, in steps of a millisecond. */
  readonly duration: number
}

/**
 * Records queries of better-sqlite3 and node:sqlite until the returned function is called. `openLibraryChannels` adds the
 * channel of both; where it was not called, node:sqlite publishes a channel of its own in later versions of Node, without rows and
 * errors. What `measureSqlite` reports is not recorded twice.
 */
export function watchSqlite({ callers, queries }: WatchServices): () => void {
  openLoadedSqlite()
  const transactions = new WeakMap<object, SqliteTransactions>()
  const ends = new WeakMap<object, QueryEnd>()
  const findTransactions = (database: object) => {
    const known = transactions.get(database) ?? new SqliteTransactions(database)
    transactions.set(database, known)
    return known
  }
  const findCaller = createCallerSearch(callers, 'tracing:sinfonietta:sqlite:query:start')
  return subscribeChannels({
    'tracing:sinfonietta:sqlite:query:start': listenTo<SqliteCall>(message => {
      const { database, library, statement, text, values } = message
      if ((statement !== undefined && isMeasured(statement)) || (database !== undefined && isMeasured(database))) return
      const end = queries.begin({
        system: 'sqlite',
        text,
        parameters: values && toParameters(values),
        server: database && serverOf(database),
        source: 'channel',
        library,
        transaction: database && findTransactions(database).find(text),
        findCaller,
      })
      if (end !== undefined) ends.set(message, end)
    }),
    'tracing:sinfonietta:sqlite:query:end': listenTo<SqliteCall>(message => {
      const { error, rows } = message
      ends.get(message)?.(error === undefined ? { rows } : { error })
    }),
    'sqlite.db.query': listenTo<SqliteQuery>(({ database, duration, sql }) => {
      if (isReporting() || isMeasured(database)) return
      queries.begin({
        system: 'sqlite',
        text: sql,
        server: serverOf(database),
        source: 'channel',
        library: 'node:sqlite',
        elapsed: duration / 1e6,
      })?.({})
    }),
  })
}
