import type { Pool } from 'pg'

/** Changes of the tables, in their order. A migration that has run is never edited: add another one. */
const migrations: readonly string[] = [
  `CREATE TABLE users (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email text NOT NULL UNIQUE,
    name text NOT NULL,
    password_hash text NOT NULL,
    role text NOT NULL DEFAULT 'member' CHECK (role IN ('member', 'admin'))
  )`,
  `CREATE TABLE tools (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    owner integer NOT NULL REFERENCES users,
    borrower integer REFERENCES users
  )`,
]

/** Runs the migrations that have not run yet, all of them or none. Returns their number. */
export async function migrate(pool: Pool): Promise<number> {
  const connection = await pool.connect()
  try {
    await connection.query('BEGIN')
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
    await connection.query('COMMIT')
    return missing.length
  } catch (error) {
    await connection.query('ROLLBACK')
    throw error
  } finally {
    connection.release()
  }
}
