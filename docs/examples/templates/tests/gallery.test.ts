import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { galleryBundle } from '../bundles/gallery/gallery-bundle.ts'

test('layout, partials, globals and helpers', async t => {
  const bundles = [createFrameworkBundle(), galleryBundle]
  const { app, client, close } = await createTestKernel({ bundles, variables: { APP_DEBUG: '0' } })
  t.after(close)
  const page = await client.get('/gallery', { headers: { cookie: 'visitor=Ada' } })
  for (const part of [
    '<title>Dots &amp; lines · Gallery</title>',
    '<a href="/gallery">Gallery</a> Ada',
    '<a href="/gallery?tag&#x3D;ink">ink</a> of Dots &amp; lines',
    '<p>€120.00</p>',
  ]) {
    assert.ok(page.text.includes(part), part)
  }
  const error = await client.get('/nowhere', { headers: { cookie: 'visitor=Ada' } })
  assert.match(error.text, /Ada[\s\S]*<h1>404 Not Found<\/h1>/)
  assert.throws(() => app.view.addHelper('price', () => ''), /already, added in .*gallery-bundle/)
})
