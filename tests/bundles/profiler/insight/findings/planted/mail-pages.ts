import { setTimeout as sleep } from 'node:timers/promises'
import { type Application, recordMail } from 'sinfonietta'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { type Pages, page } from './page.ts'

const order = { from: 'shop@example.org', to: ['ada@example.org'], subject: 'Your order' }

const send = (time: number, subject = order.subject) => recordMail({ ...order, subject }, () => sleep(time), sleep)

const refuse = () =>
  recordMail(order, () => Promise.reject(Object.assign(new Error('550 no such user'), { code: 'EENVELOPE' })), sleep)

/** Pages that send mails. */
export function createMailPages({ logger, queries }: Application): Pages {
  const run = (text: string) => queries.measure('postgresql', text, undefined, async () => [])
  return {
    'transaction-mail': {
      answer: 'transaction-mail',
      async handle() {
        await run('BEGIN')
        await recordMail(order, () => sleep(20), sleep) // here: transaction-mail
        await run('COMMIT')
        return page()
      },
    },
    'mail-after-commit': {
      answer: 'healthy',
      async handle() {
        await run('BEGIN')
        await run('COMMIT')
        await send(20)
        return page()
      },
    },
    'slow-mail': {
      answer: 'slow-mail',
      async handle() {
        await recordMail(order, () => sleep(400), sleep) // here: slow-mail
        return page()
      },
    },
    'quick-mails': {
      answer: 'healthy',
      async handle() {
        await Promise.all([send(5, 'One'), send(5, 'Two')])
        return page()
      },
    },
    'failed-mail': {
      answer: 'failed-mail',
      async handle() {
        const error = Object.assign(new Error('550 no such user'), { code: 'EENVELOPE' })
        await recordMail(order, () => Promise.reject(error), sleep).catch(() => {}) // here: failed-mail
        return page()
      },
    },
    'hostless-link': {
      answer: 'hostless-link',
      async handle() {
        await recordMail({ ...order, html: '<p><a href="/reset/7">Reset</a>' }, () => sleep(1), sleep) // here: hostless-link
        return page()
      },
    },
    'whole-links': {
      answer: 'healthy',
      async handle() {
        const html = [
          '<a href="https://example.org/reset">a</a> <a href="//example.org/a">b</a> <a href="mailto:a@b.c">c</a>',
          '<a href="#top">d</a> <img src="cid:logo"> <img src="data:,"> <!-- <a href="/old">e</a> -->',
          '<code>&lt;a href="/f"&gt;</code> <a title="/g" data-href="/h" href="tel:1">g</a> <p>src="/i"',
        ].join('\n')
        await recordMail({ ...order, html }, () => sleep(1), sleep)
        const based = '<base href="https://example.org"><a href="/reset">a</a>'
        await recordMail({ ...order, subject: 'Based', html: based }, () => sleep(1), sleep)
        return page()
      },
    },
    'reported-mail': {
      answer: 'healthy',
      async handle() {
        await refuse().catch(error => logger.warning('The mail was refused.', { exception: error }))
        return page()
      },
    },
    'repeated-mail': {
      answer: 'healthy',
      async handle() {
        await refuse().catch(() => send(1))
        return page()
      },
    },
    'late-mail': {
      answer: 'late-work',
      isComplete: ({ data }: Profile) => data.late !== undefined,
      handle() {
        setTimeout(() => send(20), 20)
        return page()
      },
    },
  }
}
