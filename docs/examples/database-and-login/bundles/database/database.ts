import { Pool, type PoolClient } from 'pg'
import type { Application } from 'sinfonietta'

/** The connections to PostgreSQL. The bundle of the database opens and closes them. */
export class Database {
  #pool: Pool | undefined

  /** Connections are made when they are needed, at most ten. */
  open(url: string, { logger }: Pick<Application, 'logger'>): void {
    this.#pool = new Pool({ connectionString: url, max: 10, connectionTimeoutMillis: 3_000 })
    this.#pool.on('error', exception => logger.warning('A connection to the database has ended.', { exception }))
  }

  /**
   * Runs a statement with values for `$1`, `$2` …. Returns its rows, which have the columns that
   * the caller names as type.
   */
  async query<Row>(statement: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.pool.query(statement, [...values])).rows
  }

  /** Runs statements in a transaction: all of them or, if the function throws, none. */
  async transaction<Result>(work: (connection: PoolClient) => Promise<Result>): Promise<Result> {
    const connection = await this.pool.connect()
    try {
      await connection.query('BEGIN')
      const result = await work(connection)
      await connection.query('COMMIT')
      return result
    } catch (error) {
      await connection.query('ROLLBACK')
      throw error
    } finally {
      connection.release()
    }
  }

  /** Runs the migrations that have not run yet, all of them or none. Returns their number. */
  migrate(migrations: readonly string[]): Promise<number> {
    return this.transaction(async connection => {
      // Of two deployments at the same time, the second one waits here.
      await connection.query('SELECT pg_advisory_xact_lock(1)')
      await connection.query('CREATE TABLE IF NOT EXISTS migrations (number integer PRIMARY KEY)')
      const { rows } = await connection.query<{ number: number }>('SELECT number FROM migrations')
      const done = new Set(rows.map(({ number }) => number))
      const missing = [...migrations.entries()].filter(([number]) => !done.has(number))
      for (const [number, statement] of missing) {
        await connection.query(statement)
        await connection.query('INSERT INTO migrations VALUES ($1)', [number])
      }
      return missing.length
    })
  }

  async close(): Promise<void> {
    await this.#pool?.end()
  }

  /** The pool itself, for libraries and for the outbox. */
  get pool(): Pool {
    if (this.#pool === undefined) throw new Error('The database is not open: DATABASE_URL is not set.')
    return this.#pool
  }
}
