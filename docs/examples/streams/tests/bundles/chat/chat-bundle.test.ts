import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createNodeServer } from 'sinfonietta/server'
import { createTestKernel } from 'sinfonietta/testing'
import { WebSocket } from 'ws'
import { chatBundle } from '../../../bundles/chat/chat-bundle.ts'

async function start(t: TestContext) {
  const bundles = [createFrameworkBundle(), chatBundle]
  const { app, client, close } = await createTestKernel({ bundles })
  const server = await createNodeServer(app)
  const url = (await server.listen('127.0.0.1', 0)).replace('http', 'ws')
  t.after(async () => {
    await server.close({ deadline: 100 })
    await close()
  })
  return { client, server, url: `${url}/chat` }
}

test('each client gets each message, until the server stops', async t => {
  const { client, server, url } = await start(t)
  assert.equal(
    (await client.post('/chat/name', { body: 'Ada', headers: { 'content-type': 'text/plain' } })).status,
    204,
  )
  const headers = { cookie: `session=${client.cookies.get('session')}` }
  const [one, other] = [new WebSocket(url, { headers }), new WebSocket(url, { headers })]
  await Promise.all([once(one, 'open'), once(other, 'open')])
  const received = once(other, 'message')
  one.send('hello')
  assert.equal(String((await received)[0]), 'Ada: hello')
  const closed = Promise.all([once(one, 'close'), once(other, 'close')])
  await server.close()
  assert.deepEqual(
    (await closed).map(([code]) => code),
    [1001, 1001],
  )
})

test('clients without a name, and pages of other sites, are refused', async t => {
  const { client } = await start(t)
  const headers = { connection: 'Upgrade', upgrade: 'websocket' }
  assert.equal((await client.get('/chat', { headers })).status, 401)
  await client.post('/chat/name', { body: 'Ada', headers: { 'content-type': 'text/plain' } })
  assert.equal((await client.get('/chat', { headers })).status, 101)
  assert.equal((await client.get('/chat', { headers: { ...headers, origin: 'https://evil.test' } })).status, 403)
})
