import assert from 'node:assert/strict'
import { createTestKernel, runCommand } from 'sinfonietta/testing'
import { Database } from '../bundles/database/database.ts'
import { createBundles } from '../bundles/index.ts'
import type { Mail } from '../bundles/mails/outbox.ts'
import { createTestDatabase } from './test-database.ts'

/** Boots the application with a database of its own. Its mails are kept. */
export async function boot() {
  const { remove, url } = await createTestDatabase()
  const database = new Database()
  const mails: Mail[] = []
  const bundles = createBundles(undefined, database, async mail => void mails.push(mail))
  const kernel = await createTestKernel({ bundles, variables: { DATABASE_URL: url } })
  await database.migrate()

  /** A client of a new member. */
  const join = async (name: string) => {
    const client = kernel.createClient()
    const form = { email: `${name}@example.org`, name, password: 'a good password' }
    assert.equal((await client.post('/join', { form })).status, 303)
    return client
  }
  /** Sends the mails of the outbox. Returns all mails until now. */
  const sendMails = async () => {
    assert.equal((await runCommand(kernel.app, 'mails:send')).code, 0)
    return mails
  }
  const close = async () => {
    await kernel.close()
    await remove()
  }
  return { ...kernel, close, database, join, sendMails }
}
