import { readdirSync } from 'node:fs'
import { t } from 'tap'
import { followGuides } from './support/follow-guides.ts'

t.test('every block of code in the guides works as shown', async t => {
  // The cookbook needs packages of others: its recipes have proofs of their own, in tests/cookbook.
  const guides = readdirSync('docs/guides').filter(name => name.endsWith('.md') && name !== 'cookbook.md')
  t.ok(guides.length > 30, 'guides are found')
  await followGuides(t, guides)
})
