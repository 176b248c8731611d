import { randomUUID } from 'node:crypto'
import { Client } from 'pg'

/** An empty schema of the database for tests, so that tests cannot disturb one another. */
export async function createTestDatabase(): Promise<{ url: string; remove: () => Promise<void> }> {
  const url = new URL(process.env.TEST_DATABASE_URL ?? 'postgres://localhost/acme-shop_test')
  const schema = `test_${randomUUID().replaceAll('-', '')}`
  const run = async (statement: string) => {
    const client = new Client(url.href)
    await client.connect().catch(cause => {
      throw new Error(`No PostgreSQL at ${url.host}${url.pathname}: set TEST_DATABASE_URL.`, { cause })
    })
    await client.query(statement).finally(() => client.end())
  }
  await run(`CREATE SCHEMA ${schema}`)
  const own = new URL(url)
  own.searchParams.set('options', `-c search_path=${schema}`)
  return { url: own.href, remove: () => run(`DROP SCHEMA ${schema} CASCADE`) }
}
