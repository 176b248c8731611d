import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'

test('development shows the error page of production at /_error', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle()] })
  t.after(close)
  const page = await client.get('/_error/503')
  assert.equal(page.status, 503)
  assert.match(page.text, /The server returned a "503 Service Unavailable"\./)
})
