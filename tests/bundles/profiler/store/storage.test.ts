import assert from 'node:assert'
import fc from 'fast-check'
import { t } from 'tap'
import type { ProfileSummary } from '#bundles/profiler/profile/profile.ts'
import { searchSummaries } from '#bundles/profiler/store/base-profile-storage.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { createSummary, type ProfileQuery } from '#tests/support/create-profile.ts'
import { createFileStorage } from './file-storage.ts'
import { storageCases } from './storage-cases.ts'

for (const [claim, testCase] of Object.entries(storageCases)) {
  t.test(`memory: ${claim}`, t => testCase(t, () => new MemoryProfileStorage()))
  t.test(`file: ${claim}`, async t => {
    const { storage } = createFileStorage(t)
    await testCase(t, () => storage)
    // Its directory is removed next: no write may be in progress.
    await storage.flush()
  })
}

const summaryOf = fc
  .record({
    status: fc.constantFrom(200, 301, 404, 500),
    duration: fc.float({ min: 0, max: 3, noNaN: true }),
    route: fc.constantFrom(null, 'a', 'b', 'ä', ''),
    url: fc.constantFrom('http://localhost/', 'http://localhost/a', 'http://localhost/b?a=1'),
    time: fc.integer({ min: 0, max: 20 }),
  })
  .map(fields => createSummary(fields))
const fields = fc.constantFrom(
  'status' as const,
  'duration' as const,
  'route' as const,
  'url' as const,
  'time' as const,
)
const queryOf: fc.Arbitrary<ProfileQuery> = fc.record(
  {
    filters: fc.array(
      fc.oneof(
        fc.record({
          field: fields,
          test: fc.constantFrom('contains' as const, 'lacks' as const),
          value: fc.constantFrom('', 'a', '0', 'null'),
        }),
        fc.record({ field: fields, test: fc.constantFrom('from' as const, 'until' as const), value: fc.nat(500) }),
      ),
      { maxLength: 3 },
    ),
    sort: fc.record({ field: fields, direction: fc.constantFrom('ascending' as const, 'descending' as const) }),
    offset: fc.nat(20),
    limit: fc.nat(20),
  },
  { requiredKeys: ['limit'] },
)

t.test('a search finds what the slow, obvious search finds', async _t => {
  fc.assert(
    fc.property(fc.array(summaryOf, { maxLength: 400 }), fc.constantFrom(1, 2, 300), queryOf, (some, times, query) => {
      const summaries = Array.from({ length: times }, () => some)
        .flat()
        .slice(0, 4000)
      const found = searchSummaries(
        summaries.map(summary => ({ summary })),
        query,
      )
      assert.deepStrictEqual(found, searchSlowly(summaries, query))
    }),
    { numRuns: 300, seed: 7 },
  )
})

function searchSlowly(summaries: readonly ProfileSummary[], { filters = [], limit, offset = 0, sort }: ProfileQuery) {
  const matching = summaries.toReversed().filter(summary =>
    filters.every(({ field, test, value }) => {
      const found = summary[field]
      const text = found === null ? '' : `${found}`
      if (test === 'contains') return text.includes(`${value}`)
      if (test === 'lacks') return !text.includes(`${value}`)
      return typeof found === 'number' && (test === 'from' ? found >= Number(value) : found <= Number(value))
    }),
  )
  const sign = sort?.direction === 'descending' ? -1 : 1
  if (sort !== undefined) {
    matching.sort((one, other) => {
      const value = one[sort.field]
      const otherValue = other[sort.field]
      if (value === otherValue) return 0
      if (value === null || otherValue === null) return value === null ? 1 : -1
      return sign * (value < otherValue ? -1 : 1)
    })
  }
  return { summaries: matching.slice(offset, offset + limit), total: matching.length }
}
