import type { QueryEnd, QueryParameters } from '../../kernel/contracts/queries.ts'
import { observeMethod } from '../../lib/observe-calls.ts'

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

/** Notes that `measureSqlite` reports the queries of a database, or of a statement. Returns whether it was noted before. */
export function noteMeasured(part: object): boolean {
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
      return result
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

/** Reports the number of rows of an iterator when they end, or when no further row is read. The iterator stays the same object. */
function watchRows(iterator: Iterator<unknown>, end: QueryEnd): void {
  let rows = 0
  observeMethod(iterator, 'next', () => {
    reported++
    return {
      after(result) {
        reported--
        if ((result as IteratorResult<unknown>).done) end({ rows })
        else rows++
        return result
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
