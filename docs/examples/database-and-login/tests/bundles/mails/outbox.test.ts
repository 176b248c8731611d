import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Mail, Outbox } from '../../../bundles/mails/outbox.ts'
import { boot } from '../../boot.ts'

test('the owner of a tool gets one mail when it is borrowed', async t => {
  const { close, join, sendMails } = await boot()
  t.after(close)
  const ada = await join('Ada')
  await ada.post('/tools', { form: { name: 'A saw' } })
  const others = await Promise.all(['Grace', 'Eve'].map(join))
  await Promise.all(others.map(other => other.post('/tools/1/borrow')))
  const [mail, ...more] = await sendMails()
  assert.equal(mail?.to, 'ada@example.org')
  assert.match(mail.text, /(?:Grace|Eve) would like to borrow this: A saw\./)
  assert.deepEqual(more, [])
  assert.equal((await sendMails()).length, 1, 'it is sent once')
})

test('after an error, a transaction has had no effect: no tool is lent, and no mail is sent', async t => {
  const { close, database, join, sendMails } = await boot()
  t.after(close)
  const ada = await join('Ada')
  await ada.post('/tools', { form: { name: 'A saw' } })
  const outbox = new Outbox(database)
  const mail = { to: 'ada@example.org', subject: 'Lost', text: 'Lost' }
  const failing = database.transaction(async () => {
    await database.query('UPDATE tools SET borrower = 1')
    await database.transaction(() => outbox.add(mail))
    throw new Error('No paper')
  })
  // A query of other work is not of the transaction.
  const other = database.query<{ borrower: number | null }>('SELECT borrower FROM tools')
  await assert.rejects(failing, /No paper/)
  assert.equal((await other)[0]?.borrower, null)
  assert.deepEqual(await sendMails(), [])
  const [tool] = await database.query<{ borrower: number | null }>('SELECT borrower FROM tools')
  assert.equal(tool?.borrower, null)
})

test('several processes send each mail once; one that fails is tried again later', async t => {
  const { close, database } = await boot()
  t.after(close)
  const outbox = new Outbox(database)
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
