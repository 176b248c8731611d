import { t } from 'tap'
import { beginMail, keepMails, type Mail, type MailEnd, observeMails, recordMail } from '#kernel/contracts/mails.ts'

const mail: Mail = { to: ['ada@example.org'], subject: 'Hello' }

t.test('recordMail only sends if nothing records the mail; otherwise it reports how sending has ended', async t => {
  t.equal(
    recordMail(
      mail,
      () => 'sent',
      () => 'kept',
    ),
    'sent',
  )
  t.equal(beginMail(mail), undefined)

  const ends: MailEnd[] = []
  const stop = observeMails({ begin: () => ({ describe() {}, end: ending => void ends.push(ending) }) })
  const failure = new Error('refused')
  const fail = () => {
    throw failure
  }
  t.equal(await recordMail(mail, async () => 'sent', fail), 'sent')
  t.throws(() => recordMail(mail, fail, fail), failure)
  await t.rejects(
    recordMail(mail, () => Promise.reject(failure), fail),
    failure,
  )
  t.strictSame(ends, [{ isKept: false }, { error: failure }, { error: failure }])

  const kept: Mail[] = []
  let isOn = true
  const send = keepMails({ isOn: () => isOn, note: each => void kept.push(each) })
  t.equal(
    recordMail(mail, fail, () => 'kept'),
    'kept',
  )
  t.strictSame(ends.at(-1), { isKept: true })
  isOn = false
  t.equal(
    recordMail(mail, () => 'sent', fail),
    'sent',
  )
  send()
  stop()
  t.strictSame(kept, [mail])
  t.equal(ends.length, 5)
  t.equal(beginMail(mail), undefined)
})

t.test('an observer that fails does not reach the sender', t => {
  const stop = observeMails({
    begin() {
      throw new Error('broken')
    },
  })
  t.equal(
    recordMail(
      mail,
      () => 'sent',
      () => 'kept',
    ),
    'sent',
  )
  stop()
  t.end()
})
