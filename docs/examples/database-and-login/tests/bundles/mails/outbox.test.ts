import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Mail, Outbox } from '../../../bundles/mails/outbox.ts'
import { boot } from '../../boot.ts'

test('after an error, a transaction has had no effect, and its mail is not sent', async t => {
  const { app, close, database, join, sendMails } = await boot()
  t.after(close)
  await join('Ada')
  const outbox = new Outbox(database)
  outbox.open(app.secrets)
  const mail = { to: 'ada@example.org', subject: 'Lost', text: 'Lost' }
  const nameOf = async () => (await database.query<{ name: string }>('SELECT name FROM users'))[0]?.name
  const failing = database.transaction(async () => {
    await database.query("UPDATE users SET name = 'Eve'")
    await database.transaction(() => outbox.add(mail))
    assert.equal(await nameOf(), 'Eve')
    throw new Error('No paper')
  })
  // A query of other work is not of the transaction.
  const other = nameOf()
  await assert.rejects(failing, /No paper/)
  assert.deepEqual([await other, await nameOf(), await sendMails()], ['Ada', 'Ada', []])
})

test('several processes send each mail once; one that fails is tried again later', async t => {
  const { app, close, database } = await boot()
  t.after(close)
  const outbox = new Outbox(database)
  outbox.open(app.secrets)
  for (const subject of ['1', '2', '3']) await outbox.add({ to: 'ada@example.org', subject, text: '' })
  const sent: string[] = []
  let isReady = false
  const sendMail = async ({ subject }: Mail) => {
    if (subject === '2' && !isReady) throw new Error('The mail server is not ready.')
    sent.push(subject)
  }
  const results = await Promise.allSettled([1, 2, 3].map(() => outbox.send(sendMail)))
  assert.equal(results.filter(({ status }) => status === 'rejected').length, 1)
  await outbox.send(sendMail)
  assert.deepEqual(sent.toSorted(), ['1', '3'])

  isReady = true
  assert.equal(await outbox.send(sendMail), 0, 'not before a minute')
  await database.query('UPDATE outbox SET next_attempt = 0')
  assert.equal(await outbox.send(sendMail), 1)
  assert.deepEqual(sent.toSorted(), ['1', '2', '3'])
})
