import { once } from 'node:events'
import { t } from 'tap'
import { WebSocket } from 'ws'
import { checkMessages, serveMessages } from '#tests/support/check-messages.ts'
import { provenRuns } from '#tests/support/sample.ts'
import { listProfiles, type ProfileData, readProfile, startProfiled } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

/** Of several connections, all at once. */
const count = provenRuns(200)

t.test('a message of ws is a unit of its own, which its upgrade leads to', async t => {
  await checkMessages(t, serveMessages.ws, count)
})

t.test('so is one of @fastify/websocket', t => checkMessages(t, serveMessages.fastify, count))

t.test('so is an event of Socket.IO, and its packets are not messages of ws', async t => {
  await checkMessages(t, serveMessages.socketIo, count)
})

t.test('so is a message of a gateway of Nest with ws, which ends with its handler', async t => {
  await checkMessages(t, serveMessages.nestWs, count)
})

t.test('so is one with Socket.IO', t => checkMessages(t, serveMessages.nestSocketIo, count))

t.test(
  'a message whose listener blocks the event loop has the finding, with its line; the others have not',
  async t => {
    const source = `
import { createServer } from 'node:http'
import { WebSocketServer } from 'ws'
const server = createServer().listen(0, '127.0.0.1', () => console.log(JSON.stringify([server.address().port])))
function toil(time) {
  const begin = process.cpuUsage()
  for (let used = 0; used < time * 1000; used = Object.values(process.cpuUsage(begin)).reduce((sum, each) => sum + each));
}
new WebSocketServer({ server }).on('connection', socket => {
  socket.on('message', async data => {
    const { time, type } = JSON.parse(data)
    toil(time)
    socket.send(type)
  })
})
process.stdin.on('end', () => process.exit()).resume()
`
    const { stop, url, viewer } = await startProfiled(t, source)
    const socket = new WebSocket(url.replace('http', 'ws'))
    await once(socket, 'open')
    for (const [type, time] of Object.entries({ first: 0, slow: 400, last: 0 })) {
      const answered = once(socket, 'message')
      socket.send(JSON.stringify({ type, time }))
      await answered
    }
    const closed = once(socket, 'close')
    socket.close()
    await closed
    let messages: readonly ProfileData['summary'][] = []
    await until(async () => {
      messages = (await listProfiles(viewer)).filter(
        ({ outcome, type }) => type === 'message' && outcome === 'complete',
      )
      return messages.length === 3
    })
    const found: Record<string, readonly string[]> = {}
    for (const { route, token } of messages) {
      const { findings } = (await readProfile(viewer, token)) as unknown as {
        readonly findings: readonly { readonly rule: string; readonly problem: string }[]
      }
      found[String(route)] = findings.map(({ problem, rule }) => `${rule}: ${problem.replace(/\d.*ms/, 'TIME')}`)
    }
    t.match(found['message / slow'], [/^blocked-loop: This message blocked the event loop for TIME/])
    t.strictSame([found['message / first'], found['message / last']], [[], []])
    await stop()
  },
)
