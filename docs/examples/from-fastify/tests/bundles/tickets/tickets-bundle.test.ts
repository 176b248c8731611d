import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { createTicketsBundle } from '../../../bundles/tickets/tickets-bundle.ts'

test('tickets need the key, and a title', async t => {
  const bundles = [createFrameworkBundle(), createTicketsBundle('open sesame')]
  const { client, close } = await createTestKernel({ bundles })
  t.after(close)
  const headers = { authorization: 'Bearer open sesame' }
  assert.equal((await client.get('/tickets/1')).status, 401)
  const found = await client.get('/tickets/1', { headers })
  assert.deepEqual(found.json(), { id: 1, title: 'The printer is broken', isUrgent: true })
  assert.equal(found.headers.get('x-served-by'), 'tickets')
  assert.equal((await client.get('/tickets/7', { headers })).status, 404)

  const added = await client.post('/tickets', { headers, json: { title: 'No paper' } })
  assert.equal(added.status, 201)
  assert.deepEqual(added.json(), { id: 2, title: 'No paper', isUrgent: false })
  const refused = await client.post('/tickets', { headers, json: { title: '' } })
  assert.equal(refused.status, 422)
  assert.match(refused.text, /"pointer":"#\/title"/)
})
