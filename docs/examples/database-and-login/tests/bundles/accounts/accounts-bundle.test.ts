import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestKernel, runCommand } from 'sinfonietta/testing'
import { createBundles } from '../../../bundles/index.ts'
import { boot } from '../../boot.ts'

test('only the right password logs in', async t => {
  const { client, close, join } = await boot()
  t.after(close)
  const isLoggedIn = async () => (await client.get('/')).text.includes('Log out')
  await join('Ada')
  const logIn = (password: string, email = 'ADA@example.org') => client.post('/login', { form: { email, password } })
  assert.match((await logIn('a bad password')).text, /is wrong/)
  assert.match((await logIn('a good password', 'eve@example.org')).text, /is wrong/)
  assert.equal((await logIn('a good password')).status, 303)
  assert.equal(await isLoggedIn(), true)
  await client.post('/logout')
  assert.equal(await isLoggedIn(), false)
})

test('a form with mistakes is shown again, without the password', async t => {
  const { client, close, join } = await boot()
  t.after(close)
  const joined = await client.post('/join', { form: { email: 'Ada', name: '<Ada>', password: 'short' } })
  assert.equal(joined.status, 422)
  assert.match(joined.text, /no email address.*value="&lt;Ada&gt;".*at least 10 characters/s)
  assert.doesNotMatch(joined.text, /value="short"/)
  await join('Ada')
  const form = { email: 'ada@EXAMPLE.org', name: 'Eve', password: 'a good password' }
  assert.match((await client.post('/join', { form })).text, /There is an account/)
})

test('after ten attempts, a client has to wait', async t => {
  const { client, close, join } = await boot()
  t.after(close)
  // Not an address, but the key of another client must not be that of an account.
  const form = { email: '127.0.0.1', password: '' }
  const statuses: number[] = []
  for (let attempt = 1; attempt <= 11; attempt++) statuses.push((await client.post('/login', { form })).status)
  assert.deepEqual(statuses, [...Array(10).fill(422), 429])
  // Nor can the client go on to try addresses.
  await join('Eve')
  const known = { email: 'eve@example.org', name: 'Ada', password: 'a good password' }
  assert.equal((await client.post('/join', { form: known })).status, 429)
})

test('a client cannot log in to its own account to try others again', async t => {
  const { client, close, join } = await boot()
  t.after(close)
  await join('Eve')
  const own = { email: 'eve@example.org', password: 'a good password' }
  const tryOther = async (name: string) =>
    (await client.post('/login', { form: { email: `${name}@example.org`, password: 'guess' } })).status
  for (let number = 1; number <= 9; number++) assert.equal(await tryOther(`user${number}`), 422)
  assert.equal((await client.post('/login', { form: own })).status, 303)
  assert.equal(await tryOther('user10'), 422)
  assert.equal(await tryOther('user11'), 429)
})

test('a mail leads to another password, once, and ends all sessions', async t => {
  const { client, close, database, join, sendMails } = await boot()
  t.after(close)
  const ada = await join('Ada')
  const known = await client.post('/password', { form: { email: 'ada@example.org' } })
  const unknown = await client.post('/password', { form: { email: 'eve@example.org' } })
  assert.equal(known.status, 200)
  assert.equal(known.text, unknown.text, 'the answer does not show which addresses are known')
  const [row] = await database.query<{ content: string }>('SELECT content FROM outbox')
  assert.match(String(row?.content), /^[\w.-]+$/, 'the link is not readable in the table')
  const mails = await sendMails()
  assert.deepEqual(
    mails.map(({ to }) => to),
    ['ada@example.org'],
  )

  const [link = ''] = /http\S+/.exec(mails[0]?.text ?? '') ?? []
  assert.equal((await client.get(link)).status, 200)
  assert.equal((await client.get(link.replace(/\w$/, end => (end === 'A' ? 'B' : 'A')))).status, 410)
  const password = 'a better password'
  assert.equal((await client.post(link, { form: { password: 'short' } })).status, 422)
  // Of two requests at the same time, one changes the password.
  const changed = await Promise.all([
    client.post(link, { form: { password } }),
    client.post(link, { form: { password } }),
  ])
  assert.deepEqual(changed.map(({ status }) => status).toSorted(), [303, 410])
  assert.equal((await client.get(link)).status, 410)
  assert.doesNotMatch((await ada.get('/')).text, /Log out/)
  assert.equal((await ada.post('/login', { form: { email: 'ada@example.org', password } })).status, 303)
})

test('in production no mail is printed: the mail server must be set', async () => {
  const variables = { APP_ENV: 'prod', APP_HOSTS: 'localhost' }
  await assert.rejects(createTestKernel({ bundles: createBundles(), variables }), /set MAILER_URL/)
})

test('commands fill the tables and give roles', async t => {
  const { app, close } = await boot()
  t.after(close)
  assert.match((await runCommand(app, 'database:migrate')).output, /have run: 0\./)
  assert.match((await runCommand(app, 'mails:send')).output, /were sent: 0; in the outbox: 0\./)
  assert.equal((await runCommand(app, 'database:seed')).code, 0)
  assert.equal((await runCommand(app, 'database:seed')).code, 1, 'the tables are not empty')
  assert.equal((await runCommand(app, 'accounts:role', ['member@example.org', 'admin'])).code, 0)
  assert.equal((await runCommand(app, 'accounts:role', ['eve@example.org', 'admin'])).code, 64)
})

test('the application is ready while its database is', async t => {
  const { client, close } = await boot()
  t.after(close)
  assert.match((await client.get('/_health')).text, /"status":"ready"/)
})

test('without a migration it is not; one that fails or was edited is named', async t => {
  const { client, close, database } = await boot()
  t.after(close)
  await database.query('DELETE FROM migrations WHERE number = 2')
  assert.equal((await client.get('/_health')).status, 503)
  await assert.rejects(database.migrate(), /"CREATE TABLE outbox \(" in bundles\S+ has failed/)
  await database.query("UPDATE migrations SET statement = '' WHERE number = 1")
  await assert.rejects(database.migrate(), /"CREATE TABLE tools \(" in bundles\S+ was edited/)
})
