import { checkFunction } from '../lib/errors/arguments.ts'
import type { Queries, QueryEnd, QueryParameters } from './queries.ts'

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

/** Members that one of the two libraries has. */
interface Details {
  /** Of node:sqlite: the path of the file, `null` in memory. */
  location?(): string | null
  readonly isTransaction?: boolean
  /** Of better-sqlite3: the path of the file. */
  readonly name?: string
  readonly inTransaction?: boolean
  transaction?(work: Work): unknown
}

/** A function with any values and any result. */
type Work = (this: unknown, ...values: unknown[]) => unknown

const measured = new WeakSet<object>()

/** Whether the queries of a database are reported by {@link measureSqlite}. */
export function isMeasured(database: object): boolean {
  return measured.has(database)
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
  if (measured.has(database)) return database
  measured.add(database)
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
  readonly #database: SqliteDatabase & Details
  readonly #queries: Queries
  readonly #server: string | undefined
  /** Identifies the open transaction. */
  #transaction: object | undefined

  constructor(database: SqliteDatabase & Details, queries: Queries) {
    this.#database = database
    this.#queries = queries
    this.#server = database.location?.() ?? database.name
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
      return end === undefined ? rows : countRows(rows, end)
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
      if (depth === 0) this.#transaction = {}
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
    if (this.#isInTransaction()) this.#transaction ??= {}
    else this.#transaction = /^\s*begin\b/i.test(text) ? {} : undefined
    const transaction = this.#transaction
    return this.#queries.begin({
      system: 'sqlite',
      text,
      parameters,
      server: this.#server,
      source: 'measure',
      transaction,
    })
  }

  #isInTransaction(): boolean {
    const { inTransaction, isTransaction } = this.#database
    return isTransaction ?? inTransaction ?? false
  }
}

/** Passes rows on, and reports their number when they end, or when no further row is read. */
function* countRows(given: Iterable<unknown>, end: QueryEnd): Generator<unknown> {
  let rows = 0
  try {
    for (const row of given) {
      rows++
      yield row
    }
  } catch (error) {
    end({ error })
    throw error
  } finally {
    end({ rows })
  }
}

/** Values are given one by one, as a list, or as an object with their names. */
function toParameters(values: readonly unknown[]): QueryParameters {
  const [first] = values
  if (Array.isArray(first)) return first
  return values.length === 1 && isRecord(first) ? first : values
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  const prototype: unknown = typeof value === 'object' && value !== null ? Object.getPrototypeOf(value) : undefined
  return prototype === Object.prototype || prototype === null
}
