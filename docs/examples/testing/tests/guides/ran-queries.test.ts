import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Bundle, createFrameworkBundle, Response } from 'sinfonietta'
import { createProfiledTestKernel } from 'sinfonietta/profiler/testing'

const authors = new Map([
  [1, 'Ada'],
  [2, 'Grace'],
])

const libraryBundle: Bundle = {
  name: 'library',
  register({ queries, routes }) {
    const findAuthors = (ids: readonly number[]) =>
      queries.measure('sqlite', 'SELECT name FROM authors WHERE id IN (?)', ids, () => ids.map(id => authors.get(id)))
    routes.get('together', '/together', () => Response.json(findAuthors([1, 2])))
    routes.get('one-by-one', '/one-by-one', () => Response.json([1, 2].flatMap(id => findAuthors([id]))))
  },
}

test('a list of authors needs one query', async t => {
  const kernel = await createProfiledTestKernel({ bundles: [createFrameworkBundle(), libraryBundle] })
  t.after(kernel.close)

  const together = await kernel.expectProfile(await kernel.client.get('/together'))
  together
    .ran(1)
    .ran({ text: 'FROM authors', atMost: 1 })
    .not.ran({ text: /^(INSERT|UPDATE|DELETE)/ })
    .not.ran({ kind: 'cache' })
    .not.ran({ isRepeated: true })

  const oneByOne = await kernel.expectProfile(await kernel.client.get('/one-by-one'))
  assert.throws(() => oneByOne.ran(1), /to run 1 database query, but it ran 2; in all 2 × SELECT name FROM authors/)
})
