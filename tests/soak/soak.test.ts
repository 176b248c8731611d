import { t } from 'tap'
import type { Usage } from './site.ts'
import { findGrowth, soak } from './soak.ts'

t.test('a site that keeps what it uses grows; single samples that are high are no growth', async t => {
  const toUsages = (descriptors: readonly number[], heap = 0) =>
    descriptors.map((count): Usage => ({ heap, resident: 0, descriptors: count, delay: { usual: 0, longest: 0 } }))
  const isGrown = (first: readonly Usage[], last: readonly Usage[]) =>
    findGrowth(first, last).some(({ isTooMuch }) => isTooMuch)
  t.notOk(isGrown(toUsages([27, 28, 31]), toUsages([32, 26, 33])))
  t.ok(isGrown(toUsages([27, 28, 29]), toUsages([33, 32])))
  t.ok(isGrown(toUsages([27], 10_000_000), toUsages([27], 17_000_000)))
})

// `npm run proof` soaks half a minute, with slow clients.
t.test('all kinds of clients at once get what they ask for, and the site ends in order', async t => {
  const complaints = await soak({ environment: 'dev', seconds: 2, slowSockets: 0, print: line => t.comment(line) })
  t.strictSame(complaints, [])
})
