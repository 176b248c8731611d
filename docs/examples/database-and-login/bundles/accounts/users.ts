import type { Database } from '../database/database.ts'
import { hashPassword, isPassword } from './passwords.ts'

/** A user, without the hash of the password: it never leaves this file. */
export interface User {
  readonly id: number
  readonly name: string
  readonly role: Role
  /** Counts the passwords of the user: sessions and links that were made for an earlier one are void. */
  readonly passwordVersion: number
}

/** An administrator may do what a member may do. */
export type Role = 'member' | 'admin'

const columns = 'id, name, role, password_version AS "passwordVersion"'

/** The table of users. */
export class Users {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** The user with this id, if the password has not changed since this version. */
  async find(id: number, passwordVersion: number): Promise<User | undefined> {
    const statement = `SELECT ${columns} FROM users WHERE id = $1 AND password_version = $2`
    return (await this.#database.query<User>(statement, [id, passwordVersion]))[0]
  }

  async findByEmail(email: string): Promise<User | undefined> {
    const statement = `SELECT ${columns} FROM users WHERE email = $1`
    return (await this.#database.query<User>(statement, [email.toLowerCase()]))[0]
  }

  /** Adds a member; `undefined` if there is one with this address. */
  async add(email: string, name: string, password: string): Promise<User | undefined> {
    const statement = `INSERT INTO users (email, name, password_hash) VALUES ($1, $2, $3)
      ON CONFLICT DO NOTHING RETURNING ${columns}`
    const values = [email.toLowerCase(), name, await hashPassword(password)]
    return (await this.#database.query<User>(statement, values))[0]
  }

  /** The user with this address and password. */
  async authenticate(email: string, password: string): Promise<User | undefined> {
    const statement = `SELECT ${columns}, password_hash AS hash FROM users WHERE email = $1`
    const [row] = await this.#database.query<User & { hash: string }>(statement, [email.toLowerCase()])
    // Without a user it takes as long: the time does not show which addresses are known.
    return (await isPassword(password, row?.hash)) ? row : undefined
  }

  /** Changes the password, unless it has changed since this version: of two requests at once, one does it. */
  async changePassword({ id, passwordVersion }: User, password: string): Promise<User | undefined> {
    const statement = `UPDATE users SET password_hash = $1, password_version = password_version + 1
      WHERE id = $2 AND password_version = $3 RETURNING ${columns}`
    return (await this.#database.query<User>(statement, [await hashPassword(password), id, passwordVersion]))[0]
  }

  /** Whether there is a user with this address. */
  async setRole(email: string, role: Role): Promise<boolean> {
    const statement = 'UPDATE users SET role = $1 WHERE email = $2 RETURNING id'
    return (await this.#database.query(statement, [role, email.toLowerCase()])).length === 1
  }
}
