import assert from 'node:assert/strict'
import { createTestKernel } from 'sinfonietta/testing'
import { Database } from '../bundles/database/database.ts'
import { migrations } from '../bundles/database/migrations.ts'
import { createBundles } from '../bundles/index.ts'
import { createTestDatabase } from './test-database.ts'

/** Boots the application with a database of its own. Its mails are kept. */
export async function boot() {
  const { remove, url } = await createTestDatabase()
  const database = new Database()
  const mails: { to: string; text: string }[] = []
  const createMailer = () => ({ sendMail: async (mail: { to: string; text: string }) => void mails.push(mail) })
  const bundles = createBundles(undefined, database, createMailer)
  const variables = { DATABASE_URL: url, MAILER_URL: 'smtp://localhost' }
  const kernel = await createTestKernel({ bundles, variables })
  await database.migrate(migrations)

  /** A client of a new member. */
  const join = async (name: string) => {
    const client = kernel.createClient()
    const form = { email: `${name}@example.org`, name, password: 'a good password' }
    assert.equal((await client.post('/join', { form })).status, 303)
    return client
  }
  const close = async () => {
    await kernel.close()
    await remove()
  }
  return { ...kernel, close, database, join, mails }
}
