import type { Queries, QueryParameters } from '../../kernel/contracts/queries.ts'
import { checkFunction } from '../../lib/errors/arguments.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { followQuery, noteMeasured, SqliteTransactions, serverOf, toParameters } from './sqlite-statements.ts'

/** A prepared statement of node:sqlite and better-sqlite3. */
export interface SqliteStatement {
  run(...values: never[]): unknown
  get(...values: never[]): unknown
  all(...values: never[]): unknown
  iterate(...values: never[]): Iterable<unknown>
}

/** The part of a database of node:sqlite and better-sqlite3 that runs statements. */
export interface SqliteDatabase {
  prepare(text: string): SqliteStatement
  exec(text: string): unknown
}

/**
 * Reports the queries of an SQLite database, with their rows and transactions, and returns the database: `const database =
 * measureSqlite(new DatabaseSync('var/shop.db'), app.queries)`. It is for node:sqlite and better-sqlite3, whose calls are
 * synchronous. Statements that are prepared before are not reported.
 */
export function measureSqlite<Database extends SqliteDatabase>(database: Database, queries: Queries): Database {
  const call = 'measureSqlite(database, app.queries)'
  checkFunction(call, 'the method prepare() of the database', database?.prepare)
  checkFunction(call, 'the method begin() of the queries', queries?.begin)
  if (noteMeasured(database)) return database
  const reports = new SqliteReports(database, queries)
  observeMethod(database, 'exec', (_, [text]) => reports.follow('exec', String(text), undefined))
  observeMethod(database, 'prepare', (_, [text]) => ({
    after: statement => reports.watch(String(text), statement as SqliteStatement),
  }))
  reports.watchTransactions()
  return database
}

class SqliteReports {
  readonly #database: SqliteDatabase
  readonly #queries: Queries
  readonly #server: string | undefined
  readonly #transactions: SqliteTransactions

  constructor(database: SqliteDatabase, queries: Queries) {
    this.#database = database
    this.#queries = queries
    this.#server = serverOf(database)
    this.#transactions = new SqliteTransactions(database)
  }

  watch(text: string, statement: SqliteStatement): SqliteStatement {
    noteMeasured(statement)
    for (const name of ['run', 'get', 'all', 'iterate']) {
      observeMethod(statement, name, (_, values) => this.follow(name, text, toParameters(values)))
    }
    return statement
  }

  /** `transaction` of better-sqlite3 begins and ends a transaction without a statement that is seen here. */
  watchTransactions(): void {
    let depth = 0
    observeMethod(this.#database, 'transaction', (_, args) => {
      const [work] = args
      if (typeof work !== 'function') return undefined
      args[0] = observeCalls(work as AnyFunction, () => {
        // A transaction in another one is a part of it.
        if (depth === 0) this.#transactions.begin()
        depth++
        const leave = () => void depth--
        return {
          after(result) {
            leave()
            return result
          },
          failed: leave,
        }
      })
      return undefined
    })
  }

  follow(name: string, text: string, parameters: QueryParameters | undefined) {
    const end = this.#queries.begin({
      system: 'sqlite',
      text,
      parameters,
      server: this.#server,
      source: 'measure',
      transaction: this.#transactions.find(text),
    })
    return end && followQuery(name, end)
  }
}
