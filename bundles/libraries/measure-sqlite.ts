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
  const transactions = new SqliteTransactions(database)
  const server = serverOf(database)
  const begin: BeginCall = ({ text, values }) =>
    queries.begin({
      system: 'sqlite',
      text,
      parameters: values && toParameters(values),
      server,
      source: 'measure',
      transaction: transactions.find(text),
    })
  observeDatabase(database, begin, (statement, text) => {
    noteMeasured(statement)
    observeStatements(statement, call => begin({ ...call, text }))
  })
  watchTransactions(database, transactions)
  return database
}

/** `transaction` of better-sqlite3 begins and ends a transaction without a statement that is seen here. */
function watchTransactions(database: SqliteDatabase, transactions: SqliteTransactions): void {
  let depth = 0
  observeMethod(database, 'transaction', (_, args) => {
    const [work] = args
    if (typeof work !== 'function') return
    args[0] = observeCalls(work as AnyFunction, () => {
      // A transaction in another one is a part of it.
      if (depth === 0) transactions.begin()
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

/** A call of a statement, or of `exec`. */
export interface SqliteCall {
  readonly text: string
  /** Of a statement. */
  readonly values?: readonly unknown[]
  /** `undefined` for a statement that was prepared before the classes were changed. */
  readonly database: object | undefined
  /** Absent for `exec`. */
  readonly statement?: object
}

/** Begins the report of a call; `undefined` if nothing takes it. */
export type BeginCall = (call: SqliteCall) => QueryEnd | undefined

/** The databases of statements. */
const databases = new WeakMap<object, object>()

/** Observes the calls of a database, or of the prototype of databases. `onPrepared` gets each new statement. */
export function observeDatabase(
  target: object,
  begin: BeginCall,
  onPrepared: (statement: object, text: string) => void,
): void {
  observeMethod(target, 'exec', (self, [text]) =>
    followQuery('exec', begin({ text: String(text), database: Object(self) })),
  )
  observeMethod(target, 'prepare', (self, [text]) => ({
    after(statement) {
      databases.set(Object(statement), Object(self))
      onPrepared(Object(statement), String(text))
    },
    // SQLite finds most mistakes here, such as a missing table: no call of a statement follows.
    failed: error => void (typeof text === 'string' && begin({ text, database: Object(self) })?.({ error })),
  }))
}

/** Observes the calls of a statement, or of the prototype of statements. */
export function observeStatements(target: object, begin: BeginCall): void {
  for (const name of ['run', 'get', 'all', 'iterate']) {
    observeMethod(target, name, (self, values) => {
      const statement = Object(self)
      const { database, source, sourceSQL } = statement
      const text = String(source ?? sourceSQL)
      return followQuery(name, begin({ text, values, database: databases.get(statement) ?? database, statement }))
    })
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

/** Follows a call of a statement, or of `exec`, to its end, if its query is reported. */
function followQuery(name: string, end: QueryEnd | undefined) {
  if (end === undefined) return undefined
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
