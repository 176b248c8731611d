import { Response } from 'sinfonietta'
import { t } from 'tap'
import { openLibraries } from '#bundles/libraries/libraries.ts'
import { nodeCron } from '#bundles/libraries/node-cron.ts'
import { nodemailer as library } from '#bundles/libraries/nodemailer.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

const order = {
  from: 'Shop <shop@example.org>',
  to: ['ada@example.org', { name: 'Bob', address: 'bob@example.org' }],
  subject: 'Order 7',
  text: 'Thanks',
  html: Buffer.from('<h1>Thanks</h1>'),
  headers: { 'X-Campaign': 'spring' },
  attachments: [{ filename: 'note.txt', content: 'aGVsbG8=', encoding: 'base64' }, { path: 'package.json' }],
}

t.test('the mails of a request are in its profile and in the list of all mails', async t => {
  await openLibraries(process.cwd())
  const { createTransport } = await import('nodemailer')
  const local = createTransport({ jsonTransport: true })
  const { client, profileOf, show } = await createProfiledKernel(t, {
    directory: process.cwd(),
    handlers: {
      '/sent': async () => {
        await local.sendMail(order)
        return Response.text('sent')
      },
      '/called': () => new Promise(resolve => local.sendMail(order, () => resolve(Response.text('sent')))),
      '/plain': async () => {
        await local.sendMail({ ...order, html: undefined, text: 'A text without HTML' })
        return Response.text('sent')
      },
      '/many': async () => {
        await Promise.all(Array.from({ length: 80 }, () => local.sendMail(order)))
        return Response.text('sent')
      },
    },
  })
  for (const path of ['/sent', '/called']) {
    const profile = await profileOf(await client.get(path))
    t.match(profile.collectors.mails?.mails, [
      {
        from: order.from,
        to: ['ada@example.org', 'Bob <bob@example.org>'],
        subject: order.subject,
        headers: [['X-Campaign', 'spring']],
        attachments: [
          { name: 'note.txt', type: 'text/plain', size: 5 },
          { name: 'package.json', type: 'application/json' },
        ],
      },
    ])
    t.match(await show('mails', profile), /Order 7/)
  }
  const many = await profileOf(await client.get('/many'))
  t.equal((many.collectors.mails?.mails.length ?? 0) + (many.collectors.mails?.omitted ?? 0), 80, 'all are counted')
  const forms = ['', '.md', '.json'].map(async form => (await client.get(`/_profiler/mails${form}`)).text)
  for (const text of await Promise.all(forms)) t.match(text, /Order 7/)
  await profileOf(await client.get('/plain'))
  t.match((await client.get('/_profiler/mails')).text, /<pre [^>]*>A text without HTML<\/pre>/, 'one click shows it')
})

t.test('with PROFILER_MAILS=keep a mail is written as usual, and not sent', async t => {
  await openLibraries(process.cwd())
  const { createTransport } = await import('nodemailer')
  // No server is there.
  const transport = createTransport({ host: '127.0.0.1', port: 1 })
  const { client, profileOf, records } = await createProfiledKernel(t, {
    directory: process.cwd(),
    variables: { PROFILER_MAILS: 'keep' },
    handlers: { '/kept': async () => Response.json(await transport.sendMail(order)) },
  })
  const response = await client.get('/kept')
  t.match(response.json(), { accepted: ['ada@example.org', 'bob@example.org'], rejected: [] })
  t.match((await profileOf(response)).collectors.mails?.mails, [{ isKept: true }])
  t.match(JSON.stringify(records), /was not sent/)
})

t.test('the files of other versions are changed alike, and their functions look as before', async t => {
  class Mailer {
    sendMail(data: object, callback: unknown) {
      return [data, callback]
    }
    _processPlugins(step: string, mail: object) {
      return [step, mail]
    }
  }
  const exports: Readonly<Record<string, object>> = {
    'nodemailer/lib/mailer/index.js': Mailer,
    'nodemailer/dist/cjs/mailer/index.js': { default: Mailer },
  }
  for (const [file, value] of Object.entries(exports)) library.changes?.[file]?.(value, '')
  const { sendMail } = Mailer.prototype
  t.strictSame([sendMail.name, sendMail.length], ['sendMail', 2])
  t.strictSame(new Mailer().sendMail(order, undefined), [order, undefined])
  class Task {
    readonly runner = { onMatch: (now: Date) => now }
    start(reason: string) {
      return reason
    }
    execute(): void {}
    destroy(): void {}
  }
  for (const change of Object.values(nodeCron.changes ?? {})) change({ createTask: () => new Task() }, '')
  const task = new Task()
  t.equal(task.start('now'), 'now')
  t.strictSame([Task.prototype.start.length, task.runner.onMatch.length], [1, 1])
})
