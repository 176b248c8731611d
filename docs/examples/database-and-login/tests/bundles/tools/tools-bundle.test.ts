import { randomUUID } from 'node:crypto'
import { cpSync } from 'node:fs'
import path from 'node:path'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { createAccountsBundle } from '../../../bundles/accounts/accounts-bundle.ts'
import { Database } from '../../../bundles/database/database.ts'
import { createDatabaseBundle } from '../../../bundles/database/database-bundle.ts'
import { migrate } from '../../../bundles/database/migrate.ts'
import { createToolsBundle } from '../../../bundles/tools/tools-bundle.ts'

const { TEST_DATABASE_URL } = process.env
const needsDatabase = { skip: TEST_DATABASE_URL === undefined && 'TEST_DATABASE_URL is not set' }

/** Boots the application with tables of its own, so that tests cannot disturb one another. */
async function boot(t: Test) {
  const schema = `test_${randomUUID().replaceAll('-', '')}`
  const url = new URL(String(TEST_DATABASE_URL))
  url.searchParams.set('options', `-c search_path=${schema}`)
  const directory = t.testdir()
  cpSync('templates', path.join(directory, 'templates'), { recursive: true })
  const database = new Database()
  const create = [createDatabaseBundle, createAccountsBundle, createToolsBundle]
  const bundles = [createFrameworkBundle(), ...create.map(each => each(database))]
  const kernel = await createTestKernel({ bundles, directory, variables: { DATABASE_URL: url.href } })
  await database.pool.query(`CREATE SCHEMA ${schema}`)
  await migrate(database.pool)
  t.teardown(async () => {
    await database.pool.query(`DROP SCHEMA ${schema} CASCADE`)
    await kernel.close()
  })

  /** A client of a new member. */
  const join = async (name: string) => {
    const client = kernel.createClient()
    const form = { email: `${name}@example.org`, name, password: 'a good password' }
    t.equal((await client.post('/join', { form })).status, 303)
    return client
  }
  return { ...kernel, database, join }
}

const photo = { name: 'saw.jpg', type: 'image/jpeg', content: Buffer.from('ffd8ffe0', 'hex') }

t.test('a member adds a tool, and another one borrows it', needsDatabase, async t => {
  const { client, join } = await boot(t)
  t.equal((await client.get('/tools/new')).headers.get('location'), '/login')
  const ada = await join('Ada')
  const added = await ada.post('/tools', { upload: { name: 'A saw', photo } })
  t.match((await ada.follow(added)).text, 'It belongs to Ada.')
  t.equal((await ada.get('/tools/1/photo')).headers.get('content-type'), 'image/jpeg')

  const grace = await join('Grace')
  await grace.post('/tools/1/borrow')
  t.match((await client.get('/?q=saw')).text, 'of Ada, lent to Grace')
  t.match((await client.get('/?q=%25')).text, 'No tool has this name.')
  await ada.post('/tools/1/return')
  t.match((await ada.get('/tools/1')).text, 'Grace has it.')
  await grace.post('/tools/1/return')
  t.match((await ada.get('/tools/1')).text, 'Borrow it')
})

t.test('of six members who borrow a tool at once, one gets it', needsDatabase, async t => {
  const { join } = await boot(t)
  const members = await Promise.all(Array.from({ length: 6 }, (_, index) => join(`m${index}`)))
  await members[0]?.post('/tools', { upload: { name: 'A ladder' } })
  await Promise.all(members.map(member => member.post('/tools/1/borrow')))
  const pages = await Promise.all(members.map(member => member.get('/tools/1')))
  t.equal(pages.filter(({ text }) => text.includes('Give it back')).length, 1)
  t.equal(pages.filter(({ text }) => text.includes('Another member was faster.')).length, 5)
})

t.test('a form with mistakes is shown again', needsDatabase, async t => {
  const { client, join } = await boot(t)
  const joined = await client.post('/join', { form: { email: 'Ada', name: '<Ada>', password: 'short' } })
  t.equal(joined.status, 422)
  t.match(joined.text, /no email address.*value="&lt;Ada&gt;".*at least 10 characters/s)
  t.notMatch(joined.text, 'value="short"')
  const ada = await join('Ada')
  const refused = await ada.post('/tools', { upload: { name: '', photo: { ...photo, content: '<script>' } } })
  t.match(refused.text, /What is it\?.*This is no JPEG\./s)
})

t.test('only the right password logs in, and only administrators remove tools', needsDatabase, async t => {
  const { client, database, join } = await boot(t)
  const ada = await join('Ada')
  await ada.post('/tools', { upload: { name: 'A saw', photo } })
  const logIn = (password: string, email = 'ada@example.org') => client.post('/login', { form: { email, password } })
  t.match((await logIn('a bad password')).text, 'is wrong')
  t.match((await logIn('a good password', 'eve@example.org')).text, 'is wrong')
  t.equal((await logIn('a good password')).status, 303)
  t.equal((await client.post('/tools/1/remove')).status, 403)
  await database.pool.query("UPDATE users SET role = 'admin' WHERE name = 'Ada'")
  t.equal((await client.post('/tools/1/remove')).status, 303)
  t.equal((await client.get('/tools/1')).status, 404)
  await client.post('/logout')
  t.equal((await client.get('/tools/new')).headers.get('location'), '/login')
})

t.test('the application is ready while its database is', needsDatabase, async t => {
  const { client, database } = await boot(t)
  t.match((await client.get('/_health')).text, '"status":"ready"')
  t.equal(await migrate(database.pool), 0, 'the tables are up to date')
})
