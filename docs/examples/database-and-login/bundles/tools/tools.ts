import type { Database } from '../database/database.ts'
import type { Outbox } from '../mails/outbox.ts'

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
  readonly #outbox: Outbox

  constructor(database: Database, outbox: Outbox) {
    this.#database = database
    this.#outbox = outbox
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

  /**
   * Whether the user gets the tool. The database decides which one of two requests at the same time
   * gets it. The mail to the owner is of the same transaction: there is one if, and only if, the tool is lent.
   */
  borrow(id: number, user: number): Promise<boolean> {
    return this.#database.transaction(async () => {
      const statement = 'UPDATE tools SET borrower = $2 WHERE id = $1 AND borrower IS NULL RETURNING id'
      if ((await this.#database.query(statement, [id, user])).length === 0) return false
      const people = `SELECT t.name AS tool, o.email, o.name AS owner, b.name AS borrower
        FROM tools t JOIN users o ON o.id = t.owner JOIN users b ON b.id = t.borrower WHERE t.id = $1`
      type People = { tool: string; email: string; owner: string; borrower: string }
      for (const { borrower, email, owner, tool } of await this.#database.query<People>(people, [id])) {
        const text = `Hello ${owner},\n\n${borrower} would like to borrow this: ${tool}.\n`
        await this.#outbox.add({ to: email, subject: `${borrower} borrows your tool`, text })
      }
      return true
    })
  }

  /** Does nothing if another user has the tool. */
  async giveBack(id: number, user: number): Promise<void> {
    await this.#database.query('UPDATE tools SET borrower = NULL WHERE id = $1 AND borrower = $2', [id, user])
  }

  async remove(id: number): Promise<void> {
    await this.#database.query('DELETE FROM tools WHERE id = $1', [id])
  }
}
