import { checkFunction } from '../../lib/errors/arguments.ts'
import type { Queries, QueryEnd, QueryParameters } from '../queries.ts'
import { noteMeasured, SqliteTransactions, serverOf, toParameters, watchRows } from './sqlite-statements.ts'

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

/** Of better-sqlite3: runs a function in a transaction. */
interface Transactions {
  transaction?(work: Work): unknown
}

/** A function with any values and any result. */
type Work = (this: unknown, ...values: unknown[]) => unknown

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
  const exec = database.exec.bind(database)
  const prepare = database.prepare.bind(database)
  database.exec = text =>
    reports.run(
      text,
      undefined,
      () => exec(text),
      () => undefined,
    )
  database.prepare = text => reports.wrap(text, prepare(text))
  reports.wrapTransactions()
  return database
}

class SqliteReports {
  readonly #database: SqliteDatabase & Transactions
  readonly #queries: Queries
  readonly #server: string | undefined
  readonly #transactions: SqliteTransactions

  constructor(database: SqliteDatabase & Transactions, queries: Queries) {
    this.#database = database
    this.#queries = queries
    this.#server = serverOf(database)
    this.#transactions = new SqliteTransactions(database)
  }

  /** Runs a query and reports it; `count` counts the rows of its result. */
  run<result>(
    text: string,
    parameters: QueryParameters | undefined,
    work: () => result,
    count: (result: result) => number | undefined,
  ): result {
    const end = this.#begin(text, parameters)
    if (end === undefined) return work()
    try {
      const result = work()
      end({ rows: count(result) })
      return result
    } catch (error) {
      end({ error })
      throw error
    }
  }

  wrap(text: string, statement: SqliteStatement): SqliteStatement {
    noteMeasured(statement)
    const { all, get, iterate, run } = statement
    const report =
      (method: (...values: never[]) => unknown, count: (result: unknown) => number | undefined) =>
      (...values: never[]) =>
        this.run(text, toParameters(values), () => method.apply(statement, values), count)
    statement.run = report(run, result => Number(Object(result).changes))
    statement.get = report(get, row => (row === undefined ? 0 : 1))
    statement.all = report(all, rows => (rows as readonly unknown[]).length)
    statement.iterate = (...values) => {
      const end = this.#begin(text, toParameters(values))
      const rows = iterate.apply(statement, values)
      if (end !== undefined) watchRows(rows as Iterable<unknown> & Iterator<unknown>, end)
      return rows
    }
    return statement
  }

  /** `transaction` of better-sqlite3 begins and ends a transaction without a statement that is seen here. */
  wrapTransactions(): void {
    const { transaction } = this.#database
    if (transaction === undefined) return
    let depth = 0
    const runWithin = (work: () => unknown) => {
      // A transaction in another one is a part of it.
      if (depth === 0) this.#transactions.begin()
      depth++
      try {
        return work()
      } finally {
        depth--
      }
    }
    Object.assign(this.#database, {
      transaction: (work: Work) =>
        transaction.call(this.#database, function (...values) {
          return runWithin(() => work.apply(this, values))
        }),
    })
  }

  #begin(text: string, parameters: QueryParameters | undefined): QueryEnd | undefined {
    return this.#queries.begin({
      system: 'sqlite',
      text,
      parameters,
      server: this.#server,
      source: 'measure',
      transaction: this.#transactions.find(text),
    })
  }
}
