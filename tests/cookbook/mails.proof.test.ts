import { once } from 'node:events'
import { createRequire } from 'node:module'
import type { AddressInfo, Server } from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { type Test, t } from 'tap'
import { SiteProcess } from '#tests/bin/site-process.ts'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'
import { followRecipes, proven } from './recipes.ts'

/** The part of the package smtp-server that the test uses. */
interface SmtpServers {
  readonly SMTPServer: new (options: {
    readonly authOptional: boolean
    readonly disabledCommands: readonly string[]
    onData(stream: NodeJS.ReadableStream, session: Envelope, callback: (error?: Error) => void): void
  }) => { listen(port: number, host: string): Server; close(callback: () => void): void }
}

interface Envelope {
  readonly envelope: { readonly rcptTo: readonly { readonly address: string }[] }
}

/** Starts a mail server with the package in a folder, which keeps what it receives. */
async function startMailServer(t: Test, directory: string) {
  const { SMTPServer } = createRequire(path.join(directory, 'package.json'))('smtp-server') as SmtpServers
  const received: { to: string[]; text: string }[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, { envelope }, callback) {
      const keep = (text: string) => {
        received.push({ to: envelope.rcptTo.map(({ address }) => address), text })
        callback()
      }
      text(stream).then(keep, callback)
    },
  })
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  t.teardown(() => new Promise<void>(resolve => server.close(resolve)))
  return { received, url: `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}` }
}

t.test('the recipes of mails and queues', { skip: noRegistry || lacksRedis }, async t => {
  const redis = await startRedis(t)
  const recipes = await followRecipes(t, proven.mails, ['smtp-server'])
  const mails = await startMailServer(t, recipes.directory)
  recipes.list({
    'receipts/receipts-bundle.ts': `createReceiptsBundle('redis://${redis.host}:${redis.port}')`,
    'feedback/feedback-bundle.ts': `createFeedbackBundle('${mails.url}')`,
  })
  const { site, url } = await recipes.serve(t)

  await t.test('BullMQ', async t => {
    const added = await fetch(`${url}/receipts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"order":7}',
    })
    t.strictSame([added.status, await added.json()], [202, { id: '1' }])
    const command = [process.execPath, 'bin/console', 'receipts:work']
    const worker = new SiteProcess(t, command, { cwd: recipes.directory })
    await worker.until(/Order 7/)
    worker.child.kill('SIGTERM')
    t.equal(await worker.end(), 0, 'it ends in order', { output: worker.stderr })
    t.match(await recipes.run('bin/console debug:routes receipts'), /\/receipts/, 'other commands end, too')
  })

  await t.test('Nodemailer', async t => {
    const send = (form: Record<string, string>) =>
      fetch(`${url}/feedback`, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual' })
    const sent = await send({ from: 'ada@example.org', text: 'Good soup.\r\n.\r\nThank you.' })
    t.equal(sent.status, 303)
    t.match(mails.received, [{ to: ['team@example.org'], text: /^Good soup\.\r\n\.\r\nThank you\./m }])
    t.match(mails.received[0]?.text, /^Reply-To: ada@example\.org\r$/m)
    t.equal((await send({ from: 'no address', text: 'Hello' })).status, 422)
    t.equal(mails.received.length, 1, 'a refused form sends nothing')
  })

  site.child.kill('SIGTERM')
  t.equal(await site.end(), 0, 'all connections are closed')
})
