import { createTransport } from 'nodemailer'
import { asUrl, type Bundle, defineSettings } from 'sinfonietta'
import { exitCodes } from 'sinfonietta/console'
import { startTimer } from '../timer.ts'
import type { Outbox, SendMail } from './outbox.ts'

const mailSettings = defineSettings({
  MAILER_URL: {
    help: 'the mail server, such as smtp://user:password@localhost:25; without it, mails are printed',
    schema: { ...asUrl, expected: 'a URL such as smtp://user:password@localhost:25' },
    secret: true,
    default: undefined,
  },
  MAILER_FROM: { help: 'the sender of mails', default: 'no-reply@example.org' },
})

/** In development, mails are printed in the terminal: a profile would mask their links. */
const print: SendMail = async ({ text, to }) => process.stdout.write(`A mail to ${to}:\n\n${text}\n`)

function createSender(url: string, from: string): SendMail {
  const transport = createTransport(url)
  return mail =>
    transport.sendMail({ from, ...mail }).catch(cause => {
      throw new Error('The mail server of MAILER_URL has not taken a mail, which waits for its next attempt.', {
        cause,
      })
    })
}

/** Milliseconds between two looks into the outbox. */
const interval = 2_000

/** Sends the mails of the outbox: by a timer of the server, or by a command. Tests pass what sends a mail. */
export function createMailsBundle(outbox: Outbox, givenSender?: SendMail): Bundle {
  let stopTimer: (() => Promise<void>) | undefined
  return {
    name: 'mails',
    settings: mailSettings,
    register(app) {
      const { commands, config, secrets, settings } = app
      outbox.open(secrets)
      const { MAILER_FROM, MAILER_URL } = settings.of(mailSettings)
      if (MAILER_URL === undefined && config.environment === 'prod') throw new Error('In production, set MAILER_URL.')
      const sendMail = givenSender ?? (MAILER_URL === undefined ? print : createSender(MAILER_URL, MAILER_FROM))
      stopTimer = startTimer(app, interval, () => outbox.send(sendMail))
      commands.push({
        name: 'mails:send',
        description: 'Sends the mails that wait in the outbox',
        async run(_input, output) {
          const count = await outbox.send(sendMail)
          const waiting = await outbox.count()
          const text = `Mails that were sent: ${count}; in the outbox: ${waiting}.`
          output.print({ blocks: [{ kind: 'text', text }], json: { count, waiting } })
          return exitCodes.success
        },
      })
    },
    /** A mail that is being sent is waited for. */
    close: () => stopTimer?.(),
  }
}
