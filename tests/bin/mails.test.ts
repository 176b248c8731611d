import { once } from 'node:events'
import { cpSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { SMTPServer } from 'smtp-server'
import { type Test, t } from 'tap'
import {
  createDependent,
  findProfile,
  listProfiles,
  type ProfileData,
  readProfile,
  startProfiled,
} from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

/** Starts a mail server that refuses `unknown@…`, and collects the messages. */
async function startMailServer(t: Test) {
  const messages: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo({ address }, _, done) {
      const refusal = Object.assign(new Error('no such user here'), { responseCode: 550 })
      done(address.startsWith('unknown@') ? refusal : undefined)
    },
    onData(stream, _, done) {
      let text = ''
      stream.on('data', (chunk: Buffer) => {
        text += chunk
      })
      stream.on('end', () => {
        messages.push(text)
        done()
      })
    },
  })
  // Connections that their client resets are no failure.
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  t.teardown(() => new Promise<void>(resolve => server.close(() => resolve())))
  return { messages, port: (server.server.address() as AddressInfo).port }
}

const source = `
import http from 'node:http'
import { Readable } from 'node:stream'
import nodemailer from 'nodemailer'
const host = '127.0.0.1'
const smtp = { host, port: Number(process.env.SMTP), ignoreTLS: true }
const plain = nodemailer.createTransport(smtp, { from: 'Shop <shop@example.org>' })
const pool = nodemailer.createTransport({ ...smtp, pool: true, maxConnections: 3 }, { from: 'shop@example.org' })
const local = {
  json: nodemailer.createTransport({ jsonTransport: true }),
  stream: nodemailer.createTransport({ streamTransport: true, buffer: true }),
  sendmail: nodemailer.createTransport({ sendmail: true, path: '/bin/cat' }),
  ses: nodemailer.createTransport({ SES: { sesClient: { send: async () => ({ MessageId: 'ses-1' }), config: {} }, SendEmailCommand: class {} } }),
}
plain.use('compile', (mail, done) => {
  if (mail.data.template) mail.data.html = '<h1>' + mail.data.template + '</h1>'
  done()
})
const order = number => ({ to: ['ada@example.org', { name: 'Bob', address: 'bob' + number + '@example.org' }], subject: 'Order ' + number, text: 'Thanks for ' + number })
const pages = {
  async full(number) {
    return plain.sendMail({
      ...order(number), cc: 'cc@example.org', bcc: 'secret-copy@example.org', replyTo: 'help@example.org', headers: { 'X-Campaign': 'spring', 'X-Api-Key': 'hunter22hunter22' },
      html: '<h1>Order ' + number + '</h1><script>alert(1)</script><img src="https://remote.test/pixel.png"><a href="https://shop.test/reset?token=abcdefgh12345678&amp;id=7">Reset</a>',
      text: 'Reset: https://shop.test/reset?token=abcdefgh12345678&id=7',
      attachments: [{ filename: 'invoice.pdf', content: Buffer.alloc(1234), contentType: 'application/pdf' }, { path: process.argv[1] }, { filename: 'note.txt', content: 'aGVsbG8=', encoding: 'base64' }],
    })
  },
  promise: number => plain.sendMail(order(number)),
  pool: number => pool.sendMail(order(number)),
  callback: number => new Promise((resolve, reject) => pool.sendMail(order(number), (error, info) => {
    console.log('sent', number)
    error ? reject(error) : resolve(info)
  })),
  fail: number => plain.sendMail({ ...order(number), to: 'unknown@example.org' }).catch(() => {}),
  partly: number => plain.sendMail({ ...order(number), to: 'ada@example.org, unknown@example.org' }),
  refused: number => nodemailer.createTransport({ host, port: 1 }).sendMail(order(number)).catch(() => {}),
  stream: number => plain.sendMail({ ...order(number), html: Readable.from(['<p>streamed</p>']) }),
  template: number => plain.sendMail({ ...order(number), template: 'Welcome ' + number }),
  late: number => void setTimeout(() => plain.sendMail(order(number)), 20),
  many: async number => { for (let n = 0; n < 60; n++) await local.json.sendMail(order(n)) },
  json: number => local.json.sendMail(order(number)),
  buffer: number => local.stream.sendMail(order(number)),
  ses: number => local.ses.sendMail({ from: 'shop@example.org', ...order(number) }),
  sendmail: number => local.sendmail.sendMail(order(number)).catch(error => ({ error: String(error) })),
  shape: () => ({ length: pool.sendMail.length, name: pool.sendMail.name, own: Object.keys(plain.transporter).includes('send') }),
  missing: number => plain.sendMail({ ...order(number), attachments: [{ path: '/no/such/file' }] }).catch(error => ({ error: error.code })),
}
const server = http.createServer(async (message, reply) => {
  const [, page, number] = message.url.split('/')
  const result = await pages[page](number)
  if (page !== 'callback') console.log('sent', number)
  reply.end(JSON.stringify(result ?? {}))
})
server.listen(0, host, () => console.log(JSON.stringify([server.address().port])))
process.stdin.on('end', () => process.exit()).resume()
`

interface MailView {
  readonly subject: string
  readonly to: readonly string[]
  readonly [field: string]: unknown
}

function mailsOf({ data }: ProfileData): readonly MailView[] {
  return (data.mails?.mails ?? []) as readonly MailView[]
}

/** A folder with another version of nodemailer. */
function install(t: Test, name: string): string {
  const folder = createDependent(t, 'nodemailer')
  cpSync(`node_modules/${name}`, path.join(folder, 'node_modules/nodemailer'), { recursive: true })
  return folder
}

async function start(t: Test, env: Readonly<Record<string, string>> = {}, cwd = createDependent(t, 'nodemailer')) {
  const { messages, port } = await startMailServer(t)
  const started = await startProfiled(t, source, { SMTP: String(port), ...env }, cwd)
  const read = async (target: string) => {
    const answer = (await (await fetch(started.url + target)).json()) as Readonly<Record<string, unknown>>
    const profile = await findProfile(started.viewer, target)
    const [mail = { subject: '', to: [] }] = mailsOf(profile)
    return { answer, profile, mail }
  }
  return { ...started, messages, read }
}

t.test('a mail has what was sent, who got it, and the answer of the server', async t => {
  const { messages, read, viewer } = await start(t)
  const { answer, mail, profile } = await read('/full/7')
  t.match(mail, {
    transport: /^SMTP 127\.0\.0\.1:\d+$/,
    from: 'Shop <shop@example.org>',
    to: ['ada@example.org', 'Bob <bob7@example.org>'],
    cc: ['cc@example.org'],
    bcc: ['secret-copy@example.org'],
    replyTo: ['help@example.org'],
    subject: 'Order 7',
    headers: [
      ['X-Campaign', 'spring'],
      ['X-Api-Key', '******'],
    ],
    envelope: { from: 'shop@example.org', to: ['ada@example.org', 'bob7@example.org', /^cc/, /^secret-copy/] },
    attachments: [
      { name: 'invoice.pdf', type: 'application/pdf', size: 1234 },
      { name: 'app.mjs', type: 'application/octet-stream', size: Number },
      { name: 'note.txt', type: 'text/plain', size: 5 },
    ],
    messageId: answer.messageId,
    response: answer.response,
    caller: { file: 'app.mjs', function: 'full' },
    text: { text: 'Reset: https://shop.test/reset?token=******&id=7' },
  })
  t.equal(messages.length, 1)
  t.notMatch(JSON.stringify(profile), /abcdefgh12345678|hunter22|aGVsbG8/, 'secrets and attachments are not stored')
  t.match(profile.summary, { mails: 1, calls: 0 })

  const { token } = profile.summary
  const page = async (path: string) => {
    const response = await fetch(`${viewer}/_profiler/${path}`)
    return { response, text: await response.text() }
  }
  const { text: panel } = await page(`${token}?panel=mails`)
  t.match(panel, /a link with a token does not work here/, 'the page says that secrets are masked')
  t.match(panel, new RegExp(`<iframe src="/_profiler/${token}/mail/0" sandbox=""`))
  const { response, text } = await page(`${token}/mail/0`)
  t.match(text, /<h1>Order 7<\/h1>.*token=\*{6}/)
  const policy = String(response.headers.get('content-security-policy'))
  t.match(policy, /^sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:;.*frame-ancestors 'self'$/)
  t.equal((await page(`${token}/mail/1`)).response.status, 404)
  t.equal((await page('abcdef/mail/0')).response.status, 404)
  const { text: list } = await page('mails')
  t.match(list, /<h1>1 mail<\/h1>/)
  t.match(list, new RegExp(`href="/_profiler/${token}\\?panel&#x3D;mails#mail-0">Order 7</a>`))
  const json = JSON.parse((await page('mails.json')).text)
  t.match(json, { total: 1, mails: [{ token, subject: 'Order 7', outcome: 'sent', sender: /^GET http.*\/full\/7$/ }] })
  t.match(
    (await page('mails.md')).text,
    /^# 1 mail\n\n- `\w+` `Order 7` to `ada@example\.org, Bob <bob7@example\.org>`: sent; /,
  )
  const markdown = (await page(`${token}.md?panel=mails`)).text
  t.match(markdown, /attached: `invoice\.pdf` \(`application\/pdf, 1,234 bytes`\)/)
  t.match(markdown, /```html\n<h1>Order 7<\/h1>/)
  const file = (await page(`${token}/export/html`)).text
  t.notMatch(file, '<iframe', 'a standalone file loads nothing')
})

t.test(
  'the ends of mails: refused, without a server, streams, plugins, late work, and transports without a server',
  async t => {
    const { read, viewer } = await start(t)
    const failed = (await read('/fail/1')).mail
    t.match(failed, { code: 'EENVELOPE', error: /550 no such user here/, response: '550 no such user here' })
    t.match((await read('/partly/1')).mail, { rejected: ['unknown@example.org'], response: /^250 / })
    t.match((await read('/refused/1')).mail, { error: /ECONNREFUSED/ })
    t.match((await read('/stream/1')).mail, { unread: ['HTML'], text: { text: 'Thanks for 1' } })
    t.match((await read('/template/1')).mail, { html: { text: '<h1>Welcome 1</h1>' } })
    t.match(await read('/json/1'), {
      mail: { transport: 'JSONTransport', subject: 'Order 1' },
      answer: { message: String },
    })
    t.match((await read('/buffer/1')).mail, { transport: 'StreamTransport' })
    t.match((await read('/ses/1')).mail, { transport: 'SESTransport', response: 'ses-1', subject: 'Order 1' })
    t.match((await read('/sendmail/1')).mail, { transport: 'Sendmail', end: Number })
    t.match(await read('/missing/1'), {
      answer: { error: /^E/ },
      mail: { error: /no such file/, attachments: [{ name: 'file' }] },
    })
    const many = (await read('/many/1')).profile
    t.match(many, { summary: { mails: 60 }, data: { mails: { omitted: 10, more: { ended: 10, failed: 0 } } } })
    t.equal(mailsOf(many).length, 50)
    t.strictSame((await read('/shape/1')).answer, { length: 1, name: 'sendMail', own: false })

    const { token } = (await read('/late/1')).profile.summary
    let late: ProfileData | undefined
    await until(async () => {
      late = await readProfile(viewer, token)
      return mailsOf(late)[0]?.response !== undefined
    })
    t.match(late, { summary: { mails: 1 }, data: { late: Object } })
  },
)

t.test('mails at once are those of their requests, in each version of nodemailer', async t => {
  // Older versions are CommonJS.
  for (const [version, count] of [
    ['nodemailer', 200],
    ['nodemailer6', 40],
    ['nodemailer7', 40],
  ] as const) {
    await t.test(version, async t => {
      const { messages, url, viewer } = await start(t, {}, install(t, version))
      const pages = ['promise', 'pool', 'callback', 'full']
      const targets = Array.from({ length: count }, (_, number) => `/${pages[number % 4]}/${number}`)
      await Promise.all(targets.map(async target => (await fetch(url + target)).json()))
      t.equal(messages.length, count)
      await until(async () => (await listProfiles(viewer, count)).length === count)
      const { mails } = (await (await fetch(`${viewer}/_profiler/mails.json`)).json()) as {
        readonly mails: readonly { readonly sender: string; readonly subject: string; readonly token: string }[]
      }
      const numberOf = (text: string) => text.match(/\d+$/)?.[0]
      t.strictSame(
        mails.filter(({ sender, subject }) => numberOf(sender) !== numberOf(subject)),
        [],
        'each request has its own mail',
      )
      t.equal(new Set(mails.map(({ token }) => token)).size, count)
      const called = mails.filter(({ sender }) => sender.includes('/callback/')).slice(0, 20)
      const printed = called.map(async ({ sender, token }) => {
        const { data } = await readProfile(viewer, token)
        return JSON.stringify(data.console?.entries).includes(`"text":"${numberOf(sender)}"`) ? [] : sender
      })
      t.strictSame((await Promise.all(printed)).flat(), [], 'the callback of a pool is in the context of its request')
    })
  }
})

t.test('mails are kept: they are recorded and not sent, the application gets a success, production sends', async t => {
  const { messages, output, read, viewer } = await start(t, { PROFILER_MAILS: 'keep' })
  const { answer, mail, profile } = await read('/full/1')
  t.match(answer, {
    accepted: ['ada@example.org', 'bob1@example.org', 'cc@example.org', 'secret-copy@example.org'],
    rejected: [],
    messageId: /^<.*@example\.org>$/,
    response: /^250 /,
    envelope: { from: 'shop@example.org' },
  })
  t.match(mail, { isKept: true, messageId: answer.messageId, html: { text: /<h1>Order 1/ } })
  t.match(await read('/pool/2'), { mail: { isKept: true } })
  t.match(await read('/callback/2'), { mail: { isKept: true } })
  t.match(await read('/sendmail/2'), { mail: { isKept: true } })
  t.match(await read('/missing/2'), { mail: { error: /no such file/ } }, 'what cannot be read fails')
  const { answer: json, mail: local } = await read('/json/2')
  t.match(json, { message: String }, 'nothing is sent by a transport without a server')
  t.equal(local.isKept, undefined)
  t.equal(messages.length, 0)
  t.match(output.stderr, /Mails are not sent, because PROFILER_MAILS is keep\./)
  const panel = await (await fetch(`${viewer}/_profiler/${profile.summary.token}?panel=mails`)).text()
  t.match(panel, /It was not sent, because PROFILER_MAILS is keep/)

  const production = await start(t, { PROFILER_MAILS: 'keep', NODE_ENV: 'production', PROFILER_IN_PRODUCTION: '1' })
  t.equal((await production.read('/promise/1')).mail.isKept, undefined)
  t.equal(production.messages.length, 1)
})
