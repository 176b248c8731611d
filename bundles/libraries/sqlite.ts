import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel'
import { createRequire } from 'node:module'
import type { QueryEnd, QueryResult } from '../../kernel/contracts/queries.ts'
import { listenTo, subscribeChannels } from '../../lib/guard.ts'
import { createCallerSearch } from '../../lib/stack/callers.ts'
import type { Library, WatchServices } from './library.ts'
import {
  type BeginCall,
  isMeasured,
  isReporting,
  observeDatabase,
  observeStatements,
  type SqliteCall,
  SqliteTransactions,
  serverOf,
  toParameters,
} from './measure-sqlite.ts'

export const betterSqlite3: Library = {
  name: 'better-sqlite3',
  reports: 'queries',
  seenBy: 'patch',
  notSeen: 'imports of one platform, such as `better-sqlite3/linux-x64`',
  changes: {
    'better-sqlite3/lib/index.js': exports => changeDatabase(Object(exports).prototype, 'better-sqlite3'),
  },
  watch: watchSqlite,
}

/**
 * Where it is not patched, it publishes a channel of its own in later versions of Node, without
 * rows and errors. Its queries are reported by the watch of better-sqlite3, too.
 */
export const nodeSqlite: Library = {
  name: 'node:sqlite',
  reports: 'queries',
  seenBy: 'patch',
  node: '22.13',
  notSeen:
    'queries before the first request, and in a test those of a module that is imported after the start: `measureSqlite(database, app.queries)` reports them; rows of `createTagStore`',
  instrumentation: 'sqlite',
  opens: { 'node:sqlite': openNodeSqlite },
}

/** A message of the channel of better-sqlite3 and node:sqlite; when the call has ended, with its result. */
interface SqliteMessage extends SqliteCall, QueryResult {
  readonly library: 'better-sqlite3' | 'node:sqlite'
}

const queries = tracingChannel<object, SqliteMessage>('sinfonietta:sqlite:query')

/** The channels on which servers of Node publish that a request begins. */
const requestChannels = ['http.server.request.start', 'http2.server.stream.start']

/** Changes the classes of node:sqlite, if the application has loaded it since {@link openNodeSqlite} was called. */
let openWhenLoaded: (() => void) | undefined

/**
 * Changes the classes of node:sqlite before the first request after the application has loaded it, and
 * when a kernel has booted: the requests of a test have no server. It is not loaded here: in some versions
 * of Node it prints a warning then. Node publishes the statements of templates itself (`createTagStore`).
 */
export function openNodeSqlite(): void {
  const { moduleLoadList } = process as unknown as { readonly moduleLoadList: readonly string[] }
  let seen = 0
  const check = () => {
    if (moduleLoadList.length === seen) return
    const isLoaded = moduleLoadList.indexOf('NativeModule sqlite', seen) !== -1
    seen = moduleLoadList.length
    if (!isLoaded) return
    for (const name of requestChannels) unsubscribe(name, check)
    const { DatabaseSync, StatementSync } = createRequire(import.meta.url)('node:sqlite')
    changeDatabase(DatabaseSync.prototype, 'node:sqlite')
    changeStatements(StatementSync.prototype, 'node:sqlite')
  }
  for (const name of requestChannels) subscribe(name, check)
  openWhenLoaded = check
}

/** The prototypes of statements that were changed. */
const changed = new WeakSet<object>()

function changeDatabase(prototype: object, library: SqliteMessage['library']): void {
  observeDatabase(prototype, publishCalls(library), statement =>
    changeStatements(Object.getPrototypeOf(statement), library),
  )
}

function changeStatements(prototype: object, library: SqliteMessage['library']): void {
  if (!changed.has(prototype)) observeStatements(prototype, publishCalls(library))
  changed.add(prototype)
}

function publishCalls(library: SqliteMessage['library']): BeginCall {
  return call => {
    if (!queries.start.hasSubscribers) return undefined
    const message: SqliteMessage = { ...call, library }
    queries.start.publish(message)
    return result => queries.end.publish(Object.assign(message, result))
  }
}

/** A message of later versions of Node, when a statement has ended. */
interface SqliteQuery {
  /** The statement with its values. */
  readonly sql: string
  readonly database: object
  /** Nanoseconds, in steps of a millisecond. */
  readonly duration: number
}

/**
 * Records queries of better-sqlite3 and node:sqlite until the returned function is called. `openLibraries`
 * adds the channel of both; where it was not called, node:sqlite publishes a channel of its own in later
 * versions of Node, without rows and errors. What `measureSqlite` reports is not recorded twice.
 */
function watchSqlite({ callers, queries }: WatchServices): () => void {
  openWhenLoaded?.()
  const transactions = new WeakMap<object, SqliteTransactions>()
  const ends = new WeakMap<object, QueryEnd>()
  const findTransactions = (database: object) => {
    const known = transactions.get(database) ?? new SqliteTransactions(database)
    transactions.set(database, known)
    return known
  }
  const findCaller = createCallerSearch(callers, 'tracing:sinfonietta:sqlite:query:start')
  return subscribeChannels({
    'tracing:sinfonietta:sqlite:query:start': listenTo<SqliteMessage>(message => {
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
    'tracing:sinfonietta:sqlite:query:end': listenTo<SqliteMessage>(message => {
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
