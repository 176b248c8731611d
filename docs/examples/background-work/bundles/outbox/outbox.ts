import type { Pool, PoolClient } from 'pg'
import type { Mail } from 'sinfonietta'

/** The table of mails that are to be sent. */
export const outboxTable = `CREATE TABLE outbox (
  id bigserial PRIMARY KEY,
  mail jsonb NOT NULL,
  taken_until timestamptz NOT NULL DEFAULT '-infinity'
)`

/** Adds a mail in the transaction of the data that it is about: after a rollback, there is no mail. */
export async function addMail(client: Pick<PoolClient, 'query'>, mail: Mail): Promise<void> {
  await client.query('INSERT INTO outbox (mail) VALUES ($1)', [mail])
}

/**
 * Sends all mails of the outbox. Several workers may do it at once. A mail that fails is tried again after a minute.
 */
export async function sendMails(pool: Pool, send: (mail: Mail) => Promise<unknown>): Promise<void> {
  for (;;) {
    // No transaction is open while a mail is sent: the row is taken for a minute.
    const { rows } = await pool.query<{ id: string; mail: Mail }>(
      `UPDATE outbox SET taken_until = now() + interval '1 minute' WHERE id = (
        SELECT id FROM outbox WHERE taken_until < now() ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
      ) RETURNING id, mail`,
    )
    const [row] = rows
    if (row === undefined) return
    await send(row.mail)
    await pool.query('DELETE FROM outbox WHERE id = $1', [row.id])
  }
}
