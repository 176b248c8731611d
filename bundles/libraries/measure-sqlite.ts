import type { Queries, QueryEnd, QueryParameters } from '../../kernel/contracts/queries.ts'
import { checkFunction } from '../../lib/errors/arguments.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'

/** A prepared statement of node:sqlite and better-sqlite3. */
export interface SqliteStatement {
  /** Runs the statement, and returns how many rows it has changed. */
  run(...values: never[]): unknown
  /** Runs the statement, and returns its first row. */
  get(...values: never[]): unknown
  /** Runs the statement, and returns all of its rows. */
  all(...values: never[]): unknown
  /** Runs the statement, and returns its rows one by one. */
  iterate(...values: never[]): Iterable<unknown>
}

/** The part of a database of node:sqlite and better-sqlite3 that runs statements. */
export interface SqliteDatabase {
  /** Compiles a statement. */
  prepare(text: string): SqliteStatement
  /** Runs statements without values. */
  exec(text: string): unknown
}

/**
 * Reports the queries of an SQLite database, with their rows and transactions, and returns the database:
 * `const database = measureSqlite(new DatabaseSync('var/shop.db'), app.queries)`. It is for node:sqlite
 * and better-sqlite3, whose calls are synchronous. Statements that are prepared before are not reported.
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
    failed: error => void (typeof text === 'string' && reports.begin(text, undefined)?.({ error })),
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
      if (typeof work !== 'function') return
      args[0] = observeCalls(work as AnyFunction, () => {
        // A transaction in another one is a part of it.
        if (depth === 0) this.#transactions.begin()
        depth++
        const leave = () => void depth--
        return {
          after() {
            leave()
          },
          failed: leave,
        }
      })
    })
  }

  begin(text: string, parameters: QueryParameters | undefined): QueryEnd | undefined {
    return this.#queries.begin({
      system: 'sqlite',
      text,
      parameters,
      server: this.#server,
      source: 'measure',
      transaction: this.#transactions.find(text),
    })
  }

  follow(name: string, text: string, parameters: QueryParameters | undefined) {
    const end = this.begin(text, parameters)
    return end && followQuery(name, end)
  }
}

/** Members that a database of node:sqlite or of better-sqlite3 has. */
interface Details {
  /** Of node:sqlite: the path of the file, `null` in memory. */
  location?(): string | null
  readonly isTransaction?: boolean
  /** Of better-sqlite3: the path of the file. */
  readonly name?: string
  readonly inTransaction?: boolean
}

/** The databases whose queries `measureSqlite` reports, and their statements. */
const measured = new WeakSet<object>()

/**
 * Notes that `measureSqlite` reports the queries of a database, or of a statement. Returns whether it was noted before.
 */
function noteMeasured(part: object): boolean {
  const isKnown = measured.has(part)
  measured.add(part)
  return isKnown
}

/** Whether the queries of a database, or of a statement, are reported by `measureSqlite`. */
export function isMeasured(part: object): boolean {
  return measured.has(part)
}

/** The path of the file of a database; `undefined` in memory, and for a database that is closed. */
export function serverOf(database: object): string | undefined {
  const { location, name } = database as Details
  try {
    return (location === undefined ? name : location.call(database)) ?? undefined
  } catch {
    return undefined
  }
}

/** Finds the transactions of a database. */
export class SqliteTransactions {
  readonly #database: Details
  /** Identifies the open transaction. */
  #open: object | undefined

  constructor(database: object) {
    this.#database = database
  }

  /** The next statement begins a transaction, though none was seen. */
  begin(): void {
    this.#open = {}
  }

  /** The transaction of a statement that begins now; `undefined` without one. */
  find(text: string): object | undefined {
    const { inTransaction, isTransaction } = this.#database
    if (isTransaction ?? inTransaction ?? false) this.#open ??= {}
    else this.#open = /^\s*begin\b/i.test(text) ? {} : undefined
    return this.#open
  }
}

/** Values are given one by one, as a list, or as an object with their names, also together. */
export function toParameters(values: readonly unknown[]): QueryParameters {
  const named = values.find(isRecord)
  const others = values.filter(value => value !== named).flatMap(value => (Array.isArray(value) ? value : [value]))
  return named === undefined ? others : { ...others, ...named }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  const prototype: unknown = typeof value === 'object' && value !== null ? Object.getPrototypeOf(value) : undefined
  return prototype === Object.prototype || prototype === null
}

let reported = 0

/** Whether a call runs whose query is reported: what Node publishes meanwhile is the same query. */
export function isReporting(): boolean {
  return reported > 0
}

/** Follows a call of a statement, or of `exec`, whose query is reported, to its end. */
export function followQuery(name: string, end: QueryEnd) {
  reported++
  return {
    after(result: unknown) {
      reported--
      if (name === 'iterate') watchRows(result as Iterator<unknown>, end)
      else end({ rows: rowsOf(name, result) })
    },
    failed(error: unknown) {
      reported--
      end({ error })
    },
  }
}

function rowsOf(name: string, result: unknown): number | undefined {
  if (name === 'exec') return undefined
  if (name === 'run') return Number(Object(result).changes)
  return name === 'all' ? (result as readonly unknown[]).length : Number(result !== undefined)
}

/**
 * Reports the number of rows of an iterator when they end, or when no further row is read. The
 * iterator stays the same object.
 */
function watchRows(iterator: Iterator<unknown>, end: QueryEnd): void {
  let rows = 0
  observeMethod(iterator, 'next', () => {
    reported++
    return {
      after(result) {
        reported--
        if ((result as IteratorResult<unknown>).done) end({ rows })
        else rows++
      },
      failed(error) {
        reported--
        end({ error })
      },
    }
  })
  const { return: close } = iterator
  // An iterator of an earlier version of node:sqlite has none.
  if (close === undefined) iterator.return = value => ({ done: true, value })
  observeMethod(iterator, 'return', () => void end({ rows }))
}
