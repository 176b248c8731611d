import { AsyncLocalStorage } from 'node:async_hooks'
import { Pool, type PoolClient } from 'pg'
import type { Application } from 'sinfonietta'
import { runMigrations } from './migrations.ts'

/** The connections to PostgreSQL. The bundle of the database opens and closes them. */
export class Database {
  #pool: Pool | undefined
  /** The connection of the transaction that the running code belongs to; none when the transaction is over. */
  readonly #transaction = new AsyncLocalStorage<{ client?: PoolClient | undefined }>()

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
    const { client = this.pool } = this.#transaction.getStore() ?? {}
    return (await client.query(statement, [...values])).rows
  }

  /**
   * Runs a function whose queries, also in the functions that it calls, are one transaction: all of
   * them have an effect or, if the function throws, none.
   */
  async transaction<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#transaction.getStore()?.client !== undefined) return work()
    const client = await this.pool.connect()
    // A connection that ends fails the query, too.
    const ignore = () => {}
    client.on('error', ignore)
    const transaction: { client?: PoolClient | undefined } = { client }
    try {
      await client.query('BEGIN')
      const result = await this.#transaction.run(transaction, work)
      await client.query('COMMIT')
      return result
    } catch (error) {
      await client.query('ROLLBACK').catch(ignore)
      throw error
    } finally {
      transaction.client = undefined
      client.off('error', ignore)
      client.release()
    }
  }

  /** Runs the migrations that have not run yet, all of them or none. Returns their number. */
  migrate(): Promise<number> {
    return this.transaction(async () => {
      // Of two deployments at the same time, the second one waits here.
      await this.query('SELECT pg_advisory_xact_lock(1)')
      return runMigrations(this, statement => this.query(statement))
    })
  }

  async close(): Promise<void> {
    await this.#pool?.end()
  }

  /** The pool itself, for libraries. */
  get pool(): Pool {
    if (this.#pool === undefined) throw new Error('The database is not open: DATABASE_URL is not set.')
    return this.#pool
  }
}
