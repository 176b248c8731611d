import type { Database } from '../database/database.ts'

/** A tool as the pages show it. */
export interface Tool {
  readonly id: number
  readonly name: string
  readonly owner: string
  /** The name of the user who has it; `null` while it is at home. */
  readonly borrower: string | null
  readonly borrowerId: number | null
}

const select = `SELECT t.id, t.name, o.name AS owner, b.name AS borrower, b.id AS "borrowerId"
  FROM tools t JOIN users o ON o.id = t.owner LEFT JOIN users b ON b.id = t.borrower`

/** The table of tools. */
export class Tools {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** The tools whose names contain the text, 20 to a page. Their owners and borrowers need no further queries. */
  async search(text: string, page: number): Promise<Tool[]> {
    const pattern = `%${text.replace(/[\\%_]/g, '\\$&')}%`
    const statement = `${select} WHERE t.name ILIKE $1 ORDER BY t.name, t.id LIMIT 20 OFFSET $2`
    const { rows } = await this.#database.pool.query<Tool>(statement, [pattern, (page - 1) * 20])
    return rows
  }

  async find(id: number): Promise<Tool | undefined> {
    const { rows } = await this.#database.pool.query<Tool>(`${select} WHERE t.id = $1`, [id])
    return rows[0]
  }

  /** Adds a tool. Returns its id. */
  async add(name: string, owner: number): Promise<number> {
    const statement = 'INSERT INTO tools (name, owner) VALUES ($1, $2) RETURNING id'
    const { rows } = await this.#database.pool.query<{ id: number }>(statement, [name, owner])
    return Number(rows[0]?.id)
  }

  /** Whether the user gets the tool. The database decides which one of two requests at the same time gets it. */
  async borrow(id: number, user: number): Promise<boolean> {
    const statement = 'UPDATE tools SET borrower = $2 WHERE id = $1 AND borrower IS NULL'
    return (await this.#database.pool.query(statement, [id, user])).rowCount === 1
  }

  /** Does nothing if another user has the tool. */
  async giveBack(id: number, user: number): Promise<void> {
    await this.#database.pool.query('UPDATE tools SET borrower = NULL WHERE id = $1 AND borrower = $2', [id, user])
  }

  async remove(id: number): Promise<void> {
    await this.#database.pool.query('DELETE FROM tools WHERE id = $1', [id])
  }
}
