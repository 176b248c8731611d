import { readdirSync } from 'node:fs'
import { t } from 'tap'
import { followGuides } from './support/follow-guides.ts'

t.test('every block of code in the guides works as shown', async t => {
  const guides = readdirSync('docs/guides').filter(name => name.endsWith('.md'))
  t.ok(guides.length > 30, 'guides are found')
  await followGuides(t, guides)
})
