import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { createAccountsBundle } from '../../../bundles/accounts/accounts-bundle.ts'
import { Database } from '../../../bundles/database/database.ts'
import { createDatabaseBundle } from '../../../bundles/database/database-bundle.ts'
import { migrate } from '../../../bundles/database/migrate.ts'
import { createToolsBundle } from '../../../bundles/tools/tools-bundle.ts'

const { TEST_DATABASE_URL } = process.env
const needsDatabase = { skip: TEST_DATABASE_URL === undefined && 'TEST_DATABASE_URL is not set' }

/** Boots the application with tables of its own, so that tests cannot disturb one another. */
async function boot(t: TestContext) {
  const schema = `test_${randomUUID().replaceAll('-', '')}`
  const url = new URL(String(TEST_DATABASE_URL))
  url.searchParams.set('options', `-c search_path=${schema}`)
  const directory = mkdtempSync(path.join(tmpdir(), 'tools-'))
  cpSync('templates', path.join(directory, 'templates'), { recursive: true })
  const database = new Database()
  const create = [createDatabaseBundle, createAccountsBundle, createToolsBundle]
  const bundles = [createFrameworkBundle(), ...create.map(each => each(database))]
  const kernel = await createTestKernel({ bundles, directory, variables: { DATABASE_URL: url.href } })
  await database.pool.query(`CREATE SCHEMA ${schema}`)
  await migrate(database.pool)
  t.after(async () => {
    await database.pool.query(`DROP SCHEMA ${schema} CASCADE`)
    await kernel.close()
    rmSync(directory, { recursive: true })
  })

  /** A client of a new member. */
  const join = async (name: string) => {
    const client = kernel.createClient()
    const form = { email: `${name}@example.org`, name, password: 'a good password' }
    assert.equal((await client.post('/join', { form })).status, 303)
    return client
  }
  return { ...kernel, database, join }
}

const photo = { name: 'saw.jpg', type: 'image/jpeg', content: Buffer.from('ffd8ffe0', 'hex') }

test('a member adds a tool, and another one borrows it', needsDatabase, async t => {
  const { client, join } = await boot(t)
  assert.equal((await client.get('/tools/new')).headers.get('location'), '/login')
  const ada = await join('Ada')
  const added = await ada.post('/tools', { upload: { name: 'A saw', photo } })
  assert.match((await ada.follow(added)).text, /It belongs to Ada\./)
  assert.equal((await ada.get('/tools/1/photo')).headers.get('content-type'), 'image/jpeg')

  const grace = await join('Grace')
  await grace.post('/tools/1/borrow')
  assert.match((await client.get('/?q=saw')).text, /of Ada, lent to Grace/)
  assert.match((await client.get('/?q=%25')).text, /No tool has this name\./)
  await ada.post('/tools/1/return')
  assert.match((await ada.get('/tools/1')).text, /Grace has it\./)
  await grace.post('/tools/1/return')
  assert.match((await ada.get('/tools/1')).text, /Borrow it/)
})

test('of six members who borrow a tool at once, one gets it', needsDatabase, async t => {
  const { join } = await boot(t)
  const members = await Promise.all(Array.from({ length: 6 }, (_, index) => join(`m${index}`)))
  await members[0]?.post('/tools', { upload: { name: 'A ladder' } })
  await Promise.all(members.map(member => member.post('/tools/1/borrow')))
  const pages = await Promise.all(members.map(member => member.get('/tools/1')))
  assert.equal(pages.filter(({ text }) => text.includes('Give it back')).length, 1)
  assert.equal(pages.filter(({ text }) => text.includes('Another member was faster.')).length, 5)
})

test('a form with mistakes is shown again', needsDatabase, async t => {
  const { client, join } = await boot(t)
  const joined = await client.post('/join', { form: { email: 'Ada', name: '<Ada>', password: 'short' } })
  assert.equal(joined.status, 422)
  assert.match(joined.text, /no email address.*value="&lt;Ada&gt;".*at least 10 characters/s)
  assert.doesNotMatch(joined.text, /value="short"/)
  const ada = await join('Ada')
  const refused = await ada.post('/tools', { upload: { name: '', photo: { ...photo, content: '<script>' } } })
  assert.match(refused.text, /What is it\?.*This is no JPEG\./s)
})

test('only the right password logs in, and only administrators remove tools', needsDatabase, async t => {
  const { client, database, join } = await boot(t)
  const ada = await join('Ada')
  await ada.post('/tools', { upload: { name: 'A saw', photo } })
  const logIn = (password: string, email = 'ada@example.org') => client.post('/login', { form: { email, password } })
  assert.match((await logIn('a bad password')).text, /is wrong/)
  assert.match((await logIn('a good password', 'eve@example.org')).text, /is wrong/)
  assert.equal((await logIn('a good password')).status, 303)
  assert.equal((await client.post('/tools/1/remove')).status, 403)
  await database.pool.query("UPDATE users SET role = 'admin' WHERE name = 'Ada'")
  assert.equal((await client.post('/tools/1/remove')).status, 303)
  assert.equal((await client.get('/tools/1')).status, 404)
  await client.post('/logout')
  assert.equal((await client.get('/tools/new')).headers.get('location'), '/login')
})

test('the application is ready while its database is', needsDatabase, async t => {
  const { client, database } = await boot(t)
  assert.match((await client.get('/_health')).text, /"status":"ready"/)
  assert.equal(await migrate(database.pool), 0, 'the tables are up to date')
})
