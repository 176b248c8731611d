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

/** The tools whose names contain `$1`, with the names of their users: the pages need no query for each tool. */
const found = `FROM tools t JOIN users o ON o.id = t.owner LEFT JOIN users b ON b.id = t.borrower
  WHERE lower(t.name) LIKE $1 ESCAPE '\\'`

/** The table of tools. */
export class Tools {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Some of the tools whose names contain the text, and the number of all of them. */
  async search(text: string, limit: number, offset: number): Promise<{ tools: Tool[]; count: number }> {
    const pattern = `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
    const columns = 't.id, t.name, o.name AS owner, b.name AS borrower, b.id AS "borrowerId"'
    const page = `SELECT ${columns} ${found} ORDER BY t.name, t.id LIMIT $2 OFFSET $3`
    const tools = await this.#database.query<Tool>(page, [pattern, limit, offset])
    const all = await this.#database.query<{ count: number }>(`SELECT count(*) AS count ${found}`, [pattern])
    return { tools, count: Number(all[0]?.count) }
  }

  async add(name: string, owner: number): Promise<void> {
    await this.#database.query('INSERT INTO tools (name, owner) VALUES ($1, $2)', [name, owner])
  }

  /** Whether the user gets the tool. The database decides which one of two requests at the same time gets it. */
  async borrow(id: number, user: number): Promise<boolean> {
    const statement = 'UPDATE tools SET borrower = $2 WHERE id = $1 AND borrower IS NULL RETURNING id'
    return (await this.#database.query(statement, [id, user])).length === 1
  }

  /** Does nothing if another user has the tool. */
  async giveBack(id: number, user: number): Promise<void> {
    await this.#database.query('UPDATE tools SET borrower = NULL WHERE id = $1 AND borrower = $2', [id, user])
  }

  async remove(id: number): Promise<void> {
    await this.#database.query('DELETE FROM tools WHERE id = $1', [id])
  }
}
