import { once } from 'node:events'
import path from 'node:path'
import { SMTPServer } from 'smtp-server'
import { startRedis } from '../../dist/tests/support/start-redis.js'
import { until } from '../../dist/tests/support/until.js'
import { inFolder, start, startDatabase } from './take-frameworks.js'

/** Takes pictures of a failed job and of a mail. @param {import('./camera.js').Camera} camera */
export async function takeWork(camera) {
  await inFolder(async (test, folder) => {
    const { port: redis } = await startRedis(test)
    const database = await startDatabase(test)
    const mails = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onData(stream, _session, done) {
        stream.resume().on('end', done)
      },
    })
    mails.listen(0, '127.0.0.1')
    await once(mails.server, 'listening')
    const address = /** @type {import('node:net').AddressInfo} */ (mails.server.address())
    const { stop, url, viewer } = await start(test, path.join(folder, 'work'), ['bullmq', 'nodemailer', 'pg'], {
      ...database,
      REDIS_PORT: String(redis),
      SMTP_PORT: String(address.port),
    })
    /** @param {number} count */
    const findJobs = async count => {
      /** @type {readonly { token: string, outcome: string }[]} */
      let found = []
      await until(async () => {
        const response = await fetch(`${viewer}search.json?limit=100&type=job`)
        found = (await response.json()).records.map((/** @type {{ summary: object }} */ { summary }) => summary)
        return found.filter(({ outcome }) => outcome !== 'pending').length === count
      })
      return found
    }
    // The third time everything is compiled, and takes as long as it does.
    for (const count of [1, 2, 3]) {
      await fetch(`${url}/orders/7`, { method: 'POST' })
      await findJobs(count)
    }
    await fetch(`${url}/orders/8`, { method: 'POST' })
    const [failed] = await findJobs(6)
    const done = (await findJobs(6)).find(({ outcome }) => outcome === 'complete')
    await camera.take('job', `${viewer}${failed?.token}`, { height: 820 })
    await camera.take('mail', `${viewer}${done?.token}?panel=mails`, { height: 600 })
    await stop()
    mails.close()
  })
}
