import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { createArticlesBundle } from '../../../bundles/articles/articles-bundle.ts'

test('an article is shown, or is not there', async t => {
  const articles = {
    find: async (slug: string) => (slug === 'events' ? { slug, title: 'On events' } : undefined),
  }
  const bundles = [createFrameworkBundle(), createArticlesBundle(articles)]
  const { client, close } = await createTestKernel({ bundles })
  t.after(close)
  assert.match((await client.get('/articles/events?page=2')).text, /<h1>On events<\/h1>\n<p>Page 2<\/p>/)
  assert.equal((await client.get('/articles/events?page=two')).status, 400)
  assert.equal((await client.get('/articles/nothing')).status, 404)
})
