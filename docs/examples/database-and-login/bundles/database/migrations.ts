/** Changes of the tables, in their order. A migration that has run is never edited: add another one. */
export const migrations: readonly string[] = [
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
