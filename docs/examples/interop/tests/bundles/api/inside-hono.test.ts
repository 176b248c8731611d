import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { createApiBundle } from '../../../bundles/api/api-bundle.ts'
import { createOuterApplication } from '../../../bundles/api/inside-hono.ts'

test('the kernel answers inside of Hono', async t => {
  const { app, close } = await createTestKernel({ bundles: [createFrameworkBundle(), createApiBundle()] })
  t.after(close)
  const outer = createOuterApplication({ app })
  const incoming = { socket: new Socket() }
  assert.equal(await (await outer.request('/outer', {}, { incoming })).text(), 'Hono')
  const response = await outer.request('/api/hello/Ada', {}, { incoming })
  assert.deepEqual(await response.json(), { hello: 'Ada' })
})
