import type { Database } from '../database/database.ts'
import { hashPassword, isPassword } from './passwords.ts'

/** A user, without the hash of the password: it never leaves this file. */
export interface User {
  readonly id: number
  readonly name: string
  readonly role: Role
}

/** An administrator may do what a member may do. */
export type Role = 'member' | 'admin'

/** The table of users. */
export class Users {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(id: number): Promise<User | undefined> {
    const { rows } = await this.#database.pool.query<User>('SELECT id, name, role FROM users WHERE id = $1', [id])
    return rows[0]
  }

  /** Adds a member; `undefined` if there is one with this address. */
  async add(email: string, name: string, password: string): Promise<User | undefined> {
    const { rows } = await this.#database.pool.query<User>(
      `INSERT INTO users (email, name, password_hash) VALUES (lower($1), $2, $3)
      ON CONFLICT DO NOTHING RETURNING id, name, role`,
      [email, name, await hashPassword(password)],
    )
    return rows[0]
  }

  /** The user with this address and password. */
  async authenticate(email: string, password: string): Promise<User | undefined> {
    const { rows } = await this.#database.pool.query<User & { hash: string }>(
      'SELECT id, name, role, password_hash AS hash FROM users WHERE email = lower($1)',
      [email],
    )
    const { hash, ...user } = rows[0] ?? {}
    // Without a user it takes as long: the time does not show which addresses are known.
    return (await isPassword(password, hash)) ? (user as User) : undefined
  }
}
