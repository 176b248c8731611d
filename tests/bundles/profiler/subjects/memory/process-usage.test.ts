import { t } from 'tap'
import { readProcessUsage, sharedLifetime } from '#bundles/profiler/subjects/memory/record.ts'

t.test('a rare caller gets a current reading; under load, callers share a reading', async t => {
  let now = performance.now()
  /** Returns readings, at the given number of milliseconds from one another. */
  const want = (pause: number, count: number) =>
    Array.from({ length: count }, () => {
      now += pause
      return readProcessUsage(0, now)
    })

  want(20, 10)
  const seldom = want(20, 10)
  t.equal(new Set(seldom).size, 10)

  want(0.2, 1000)
  const often = want(0.2, 1000)
  t.ok(new Set(often).size <= 200 / sharedLifetime + 1, `${new Set(often).size} readings in 200 ms`)

  want(20, 10)
  const again = want(20, 10)
  t.equal(new Set(again).size, 10)
})
