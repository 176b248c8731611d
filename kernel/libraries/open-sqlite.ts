import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel'
import { createRequire } from 'node:module'
import type { QueryResult } from '../queries.ts'
import type { AnyFunction, FileChanges } from './publish.ts'
import { runReported, watchRows } from './sqlite-statements.ts'

/** A message of the channels of better-sqlite3 and node:sqlite. */
export interface SqliteCall {
  readonly library: 'better-sqlite3' | 'node:sqlite'
  readonly text: string
  readonly values: readonly unknown[] | undefined
  /** `undefined` for a statement that was prepared before the classes were changed. */
  readonly database: object | undefined
  /** `undefined` for `exec`. */
  readonly statement: object | undefined
  /** When it has ended: the rows that it returned or changed, or its error. */
  rows?: number | undefined
  error?: unknown
}

const queries = tracingChannel<object, SqliteCall>('sinfonietta:sqlite:query')

/** A database or a statement. */
type Methods = Record<string, AnyFunction>

/** The main file of better-sqlite3 copies these functions to its class. */
export const betterSqliteFiles: FileChanges = {
  'better-sqlite3/lib/methods/wrappers.js': exports => changeDatabase(exports as Methods, 'better-sqlite3'),
}

/** The channels on which servers of Node publish that a request begins. */
const requestChannels = ['http.server.request.start', 'http2.server.stream.start']

let openWhenLoaded: (() => void) | undefined

/** Changes the classes of node:sqlite now, if {@link openNodeSqlite} was called, and the application has loaded it since. */
export function openLoadedSqlite(): void {
  openWhenLoaded?.()
}

/**
 * Changes the classes of node:sqlite before the first request after the application has loaded it, and when a kernel has booted: the
 * requests of a test have no server. It is not loaded here: in some versions of Node it prints a warning then. Node publishes the
 * statements of templates itself (`createTagStore`).
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

/** The databases of statements. */
const databases = new WeakMap<object, object>()

function changeDatabase(prototype: Methods, library: SqliteCall['library']): void {
  const { exec, prepare } = prototype
  if (typeof exec !== 'function' || typeof prepare !== 'function') return
  change(
    prototype,
    'exec',
    (database, [text]) => ({ library, text: String(text), values: undefined, database, statement: undefined }),
    () => undefined,
  )
  prototype.prepare = function (this: object, ...args) {
    const statement = prepare.apply(this, args) as Methods
    databases.set(statement, this)
    changeStatements(Object.getPrototypeOf(statement), library)
    return statement
  } as AnyFunction
}

/** The prototypes of statements that were changed. */
const changed = new WeakSet<object>()

function changeStatements(prototype: Methods, library: SqliteCall['library']): void {
  if (changed.has(prototype)) return
  changed.add(prototype)
  changeQueries(prototype, (statement, values) => {
    const { database, source, sourceSQL } = statement as { readonly [name: string]: unknown }
    return {
      library,
      text: String(source ?? sourceSQL),
      values,
      database: databases.get(statement) ?? (database as object | undefined),
      statement,
    }
  })
}

type Describe = (target: object, args: readonly unknown[]) => SqliteCall

function changeQueries(prototype: Methods, describe: Describe): void {
  change(prototype, 'run', describe, result => Number(Object(result).changes))
  change(prototype, 'get', describe, row => (row === undefined ? 0 : 1))
  change(prototype, 'all', describe, rows => (rows as readonly unknown[]).length)
  change(prototype, 'iterate', describe)
}

/** Publishes the calls of a method. `count` counts the rows of its result; without it, the result is an iterator of them. */
function change(prototype: Methods, name: string, describe: Describe, count?: (result: unknown) => number | undefined) {
  const method = prototype[name]
  if (method === undefined) return
  prototype[name] = function (this: object, ...args) {
    if (!queries.start.hasSubscribers) return method.apply(this, args)
    const message = describe(this, args)
    const end = ({ error, rows }: QueryResult) => {
      message.rows = rows
      message.error = error
      queries.end.publish(message)
    }
    queries.start.publish(message)
    try {
      const result = runReported(() => method.apply(this, args))
      if (count === undefined) watchRows(result as Iterator<unknown>, end)
      else end({ rows: count(result) })
      return result
    } catch (error) {
      end({ error })
      throw error
    }
  } as AnyFunction
}
