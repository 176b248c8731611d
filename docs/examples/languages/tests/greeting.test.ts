import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { greetingBundle } from '../bundles/greeting/greeting-bundle.ts'

test('each page has the language of its address', async t => {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), greetingBundle] })
  t.after(close)
  for (const [accept, location] of [
    ['de-AT, en;q=0.5', '/de/hello'],
    ['fr', '/en/hello'],
  ] as const) {
    const { headers, status } = await client.get('/', { headers: { 'accept-language': accept } })
    assert.deepEqual([status, headers.get('location'), headers.get('vary')], [302, location, 'accept-language'])
  }
  assert.match((await client.get('/en/hello')).text, /<a href="\/en\/visits\?count&#x3D;3">3 visits<\/a>/)
  assert.match((await client.get('/de/hello')).text, /<a href="\/en\/hello" hreflang="en" lang="en">In English<\/a>/)
  assert.equal((await client.get('/fr/hello')).status, 404)
})
