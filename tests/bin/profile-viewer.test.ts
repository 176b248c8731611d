import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { t } from 'tap'
import { answerLate } from '#bin/profiling/profile.ts'
import { createRecorder } from '#tests/support/recording-logger.ts'

type Load = Parameters<typeof answerLate>[0]

t.test('what answers is loaded once, by the first request', async t => {
  const answers = async (load: Load) => {
    const { logger, records } = createRecorder()
    const server = createServer(answerLate(load, logger)).listen(0, '127.0.0.1')
    t.teardown(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const fetched = await Promise.all(['/one', '/two'].map(path => fetch(`http://127.0.0.1:${port}${path}`)))
    const texts = fetched.map(async response => [response.status, await response.text()])
    return { answers: await Promise.all(texts), logged: records.map(({ message }) => message) }
  }
  let loads = 0
  const load: Load = async () => {
    loads++
    return (message, reply) => void reply.end(message.url)
  }
  t.strictSame(await answers(load), {
    answers: [
      [200, '/one'],
      [200, '/two'],
    ],
    logged: [],
  })
  t.equal(loads, 1)

  const refusal = 'The pages of the profiler cannot be shown. The output of the application says why.\n'
  t.strictSame(await answers(() => Promise.reject(new Error('A file is missing.'))), {
    answers: [
      [500, refusal],
      [500, refusal],
    ],
    logged: Array(2).fill('The pages of the profiler cannot be shown.'),
  })
})
