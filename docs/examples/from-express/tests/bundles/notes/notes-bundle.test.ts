import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { createNotesBundle } from '../../../bundles/notes/notes-bundle.ts'

test('notes need the key', async t => {
  const bundles = [createFrameworkBundle(), createNotesBundle('open sesame')]
  const { client, close } = await createTestKernel({ bundles })
  t.after(close)
  const headers = { authorization: 'Bearer open sesame' }
  const refused = await client.get('/notes/1')
  assert.equal(refused.status, 401)
  assert.deepEqual(refused.json(), { error: 'The key is wrong.' })
  assert.equal(refused.headers.get('x-served-by'), 'notes')

  assert.deepEqual((await client.get('/notes/1', { headers })).json(), { id: '1', text: 'Buy paper' })
  const missing = await client.get('/notes/7', { headers })
  assert.equal(missing.status, 404)
  assert.deepEqual(missing.json(), { error: 'There is no such note.' })
  const added = await client.post('/notes', { headers, json: { text: 'Buy ink' } })
  assert.equal(added.status, 201)
  assert.deepEqual((await client.get('/notes/2', { headers })).json(), { id: '2', text: 'Buy ink' })
  assert.equal((await client.post('/notes', { headers, json: ['nothing'] })).status, 422)
})
