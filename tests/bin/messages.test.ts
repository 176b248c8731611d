import { t } from 'tap'
import { checkMessages, serveMessages } from '#tests/support/check-messages.ts'
import { provenRuns } from '#tests/support/sample.ts'

/** Of several connections, all at once. */
const count = provenRuns(200)

t.test('a message of ws is a unit of its own, which its upgrade leads to', async t => {
  await checkMessages(t, serveMessages.ws, count)
})

t.test('so is one of @fastify/websocket', t => checkMessages(t, serveMessages.fastify, count))

t.test('so is an event of Socket.IO, and its packets are not messages of ws', async t => {
  await checkMessages(t, serveMessages.socketIo, count)
})
