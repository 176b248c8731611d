import { Pool } from 'pg'

/** The connections to PostgreSQL. The bundle of the database opens and closes them. */
export class Database {
  #pool: Pool | undefined

  get pool(): Pool {
    if (this.#pool === undefined) throw new Error('The database is not open: its bundle is not in the list of bundles.')
    return this.#pool
  }

  /** Connections are made when they are needed, at most ten. `onError` gets errors of connections that are idle. */
  open(url: string, onError: (error: Error) => void): void {
    this.#pool = new Pool({ connectionString: url, max: 10, connectionTimeoutMillis: 3_000 }).on('error', onError)
  }

  async close(): Promise<void> {
    await this.#pool?.end()
  }
}
