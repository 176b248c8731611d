import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { boardBundle } from '../../../bundles/board/board-bundle.ts'

test('a client gets new notes, and those that it has missed', async t => {
  const bundles = [createFrameworkBundle(), boardBundle]
  const { client, close } = await createTestKernel({ bundles })
  t.after(close)
  const stream = await client.open('/board/events')
  await client.post('/board', { body: 'one', headers: { 'content-type': 'text/plain' } })
  await client.post('/board', { body: 'two', headers: { 'content-type': 'text/plain' } })
  assert.equal(await stream.readUntil('"one"}\n\n'), ':\n\nevent: note\nid: 1\ndata: {"id":1,"text":"one"}\n\n')
  await stream.close()
  const again = await client.open('/board/events', { headers: { 'last-event-id': '1' } })
  assert.equal(await again.readUntil('}\n\n'), ':\n\nevent: note\nid: 2\ndata: {"id":2,"text":"two"}\n\n')
  await again.close()
})
