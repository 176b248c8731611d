import type { Database } from './database.ts'

/** Changes of the tables, in their order. A migration that has run is never edited: add another one. */
const migrations: readonly string[] = [
  `CREATE TABLE users (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email text NOT NULL UNIQUE,
    name text NOT NULL,
    password_hash text NOT NULL,
    password_version integer NOT NULL DEFAULT 1,
    role text NOT NULL DEFAULT 'member' CHECK (role IN ('member', 'admin'))
  )`,
  `CREATE TABLE tools (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    owner integer NOT NULL REFERENCES users,
    borrower integer REFERENCES users
  )`,
  `CREATE TABLE outbox (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    recipient text NOT NULL,
    subject text NOT NULL,
    content text NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    next_attempt bigint NOT NULL DEFAULT 0
  )`,
]

/** The migrations, each with what has run as such: nothing, the same, or an earlier text of it. */
export async function readMigrations(database: Database) {
  const rows = await database.query<{ number: number; statement: string }>('SELECT number, statement FROM migrations')
  const done = new Map(rows.map(({ number, statement }) => [number, statement]))
  return migrations.map((statement, number) => ({ number, statement, done: done.get(number) }))
}

/**
 * Runs those that have not run yet, in a transaction. Returns their number.
 * @throws Error if one has failed, or was edited after it had run
 */
export async function runMigrations(database: Database, run: (statement: string) => unknown): Promise<number> {
  await database.query('CREATE TABLE IF NOT EXISTS migrations (number integer PRIMARY KEY, statement text NOT NULL)')
  const all = await readMigrations(database)
  const name = (statement: string) => `The migration "${statement.split('\n', 1)[0]}" in bundles/database/migrations.ts`
  const edited = all.find(({ done, statement }) => done !== undefined && done !== statement)
  if (edited !== undefined) throw new Error(`${name(edited.statement)} was edited after it had run: add another one.`)
  const missing = all.filter(({ done }) => done === undefined)
  for (const { number, statement } of missing) {
    try {
      await run(statement)
    } catch (cause) {
      throw new Error(`${name(statement)} has failed, so none has run.`, { cause })
    }
    await database.query('INSERT INTO migrations VALUES ($1, $2)', [number, statement])
  }
  return missing.length
}
