import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { createHonoLinksBundle } from '../../../bundles/hono-links/hono-links-bundle.ts'
import { createLinksBundle } from '../../../bundles/links/links-bundle.ts'

const key = 'open-sesame'
const headers = { authorization: `Bearer ${key}` }
const target = 'https://example.org/news'

for (const bundle of [createHonoLinksBundle(key), createLinksBundle(key)]) {
  test(`short links of ${bundle.name}`, async t => {
    const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), bundle] })
    t.after(close)
    const known = await client.get('/to/docs')
    assert.equal(known.status, 302)
    assert.equal(known.headers.get('location'), 'https://example.org/documents')
    assert.equal(known.headers.get('x-served-by'), 'links')
    assert.equal((await client.get('/to/news')).status, 404)

    assert.equal((await client.put('/links/news', { json: { target } })).status, 401)
    assert.equal((await client.put('/links/news', { headers, json: { target: 'nowhere' } })).status, 422)
    const added = await client.put('/links/news', { headers, json: { target } })
    assert.equal(added.status, 201)
    assert.deepEqual(added.json(), { name: 'news', target })
    assert.equal((await client.get('/to/news')).headers.get('location'), target)
  })
}
