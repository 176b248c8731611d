import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { sendByApi } from '../../../bundles/mails/send-by-api.ts'

test('a mail is sent by the API of a service', async t => {
  const server = createServer((_, response) => void response.end('{"id":"7"}')).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  assert.deepEqual(await sendByApi(`http://127.0.0.1:${port}/`, { to: ['ada@example.org'], subject: 'Hi' }), {
    id: '7',
  })
})
