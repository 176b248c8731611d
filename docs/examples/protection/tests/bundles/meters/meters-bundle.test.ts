import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { createMetersBundle, digest } from '../../../bundles/meters/meters-bundle.ts'

test('only a client with a token gets an answer', async t => {
  const owners = new Map([[digest('a-token'), 'Ada']])
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), createMetersBundle(owners)] })
  t.after(close)
  for (const authorization of ['', 'Bearer', 'Bearer another-token', 'Basic a-token']) {
    const { headers, status, text } = await client.get('/api/meters', { headers: { authorization } })
    assert.equal(status, 401, authorization)
    assert.equal(headers.get('www-authenticate'), 'Bearer')
    assert.equal(headers.get('content-type'), 'application/problem+json')
    assert.equal(JSON.parse(text).detail, 'A valid token is needed.')
  }
  const { status, text } = await client.get('/api/meters', { headers: { authorization: 'Bearer a-token' } })
  assert.equal(status, 200)
  assert.deepEqual(JSON.parse(text), { owner: 'Ada' })
})
