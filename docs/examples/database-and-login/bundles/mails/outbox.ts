import { type Application, profile } from 'sinfonietta'
import type { Database } from '../database/database.ts'

/** A mail to one address. */
export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** Sends a mail, or throws. */
export type SendMail = (mail: Mail) => Promise<unknown>

/**
 * The mails that wait in a table. One that is added in a transaction is sent if the transaction
 * ends well, also if the process ends before.
 */
export class Outbox {
  readonly #database: Database
  #secrets: Application['secrets'] | undefined

  constructor(database: Database) {
    this.#database = database
  }

  /** A mail may have a link that lets its reader in, so those who read the table, or a copy of it, cannot read its text. */
  open(secrets: Application['secrets']): void {
    this.#secrets = secrets
  }

  async add({ subject, text, to }: Mail): Promise<void> {
    const statement = 'INSERT INTO outbox (recipient, subject, content) VALUES ($1, $2, $3)'
    await this.#database.query(statement, [to, subject, this.#opened.encrypt('mail', text)])
  }

  /**
   * Sends all mails that wait. Several processes may do it at once. Each attempt has its time: the
   * second one comes after a minute, the tenth and last one after hours. Returns the number of mails.
   */
  async send(sendMail: SendMail): Promise<number> {
    // No transaction is open while a mail is sent. The process that has changed the row sends it.
    const take = `UPDATE outbox SET attempts = attempts + 1,
        next_attempt = CAST($1 AS bigint) + 60000 * (attempts + 1) * (attempts + 1)
      WHERE next_attempt <= $1 AND id = (SELECT min(id) FROM outbox WHERE next_attempt <= $1 AND attempts < 10)
      RETURNING id, recipient AS "to", subject, content`
    for (let count = 0; ; count++) {
      const [row] = await this.#database.query<{ id: number; to: string; subject: string; content: string }>(take, [
        Date.now(),
      ])
      if (row === undefined) return count
      const { content, id, ...addressed } = row
      await profile('mail', async () => {
        const text = this.#opened.decrypt('mail', content)
        if (text === undefined) throw new Error(`The mail ${id} is not readable: APP_SECRET has changed.`)
        await sendMail({ ...addressed, text })
        await this.#database.query('DELETE FROM outbox WHERE id = $1', [id])
      })
    }
  }

  /** How many mails wait for an attempt, or have failed ten times. */
  async count(): Promise<number> {
    return Number((await this.#database.query<{ count: number }>('SELECT count(*) AS count FROM outbox'))[0]?.count)
  }

  get #opened(): Application['secrets'] {
    if (this.#secrets === undefined) throw new Error('The outbox is not open: its bundle is not in the list.')
    return this.#secrets
  }
}
