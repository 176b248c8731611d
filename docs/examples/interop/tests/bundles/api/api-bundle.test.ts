import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { createApiBundle } from '../../../bundles/api/api-bundle.ts'

test('the API of Hono answers below its path', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), createApiBundle()] })
  t.after(close)
  assert.deepEqual((await client.get('/api/hello/Ada')).json(), { hello: 'Ada' })
  assert.equal((await client.get('/api/client')).text, '127.0.0.1')
  assert.deepEqual((await client.post('/api/size', { body: 'x'.repeat(2_000_000) })).json(), { size: 2_000_000 })
  assert.equal((await client.get('/api/nothing')).text, '404 Not Found')
})
