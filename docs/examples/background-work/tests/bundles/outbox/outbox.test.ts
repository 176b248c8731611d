import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import pg from 'pg'
import { addMail, outboxTable, sendMails } from '../../../bundles/outbox/outbox.ts'
import { runInOne } from '../../../bundles/outbox/run-in-one.ts'
import { sendByApi } from '../../../bundles/outbox/send-by-api.ts'

const pool = new pg.Pool({ connectionString: String(process.env.TEST_DATABASE_URL) })
test.after(() => pool.end())

test('each mail of the outbox is sent once, and none of a transaction that was rolled back', async () => {
  await pool.query(outboxTable)
  for (const [subject, end] of [
    ['one', 'COMMIT'],
    ['lost', 'ROLLBACK'],
    ['two', 'COMMIT'],
  ] as const) {
    const client = await pool.connect()
    await client.query('BEGIN')
    await addMail(client, { to: ['ada@example.org'], subject })
    await client.query(end)
    client.release()
  }
  const sent: unknown[] = []
  const send = async ({ subject }: { subject?: string | undefined }) => void sent.push(subject)
  await Promise.all([sendMails(pool, send), sendMails(pool, send)])
  assert.deepEqual(sent.toSorted(), ['one', 'two'])
})

test('a timer runs in one worker; when that ends, in another one', async () => {
  const runs: string[] = []
  const start = (worker: string) =>
    runInOne(pool, { name: 'outbox', milliseconds: 5, work: async () => void runs.push(worker) }, assert.ifError)
  const until = async (isDone: () => boolean) => {
    while (!isDone()) await new Promise(resolve => setTimeout(resolve, 5))
  }
  const end = start('first')
  await until(() => runs.length > 1)
  const endSecond = start('second')
  await until(() => runs.length > 10)
  assert.deepEqual(new Set(runs), new Set(['first']))
  end()
  await until(() => runs.includes('second'))
  endSecond()
})

test('a mail is sent by the API of a service', async t => {
  const server = createServer((_, response) => void response.end('{"id":"7"}')).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  assert.deepEqual(await sendByApi(`http://127.0.0.1:${port}/`, { to: ['ada@example.org'], subject: 'Hi' }), {
    id: '7',
  })
})
