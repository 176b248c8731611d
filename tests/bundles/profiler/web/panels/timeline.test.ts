import fc from 'fast-check'
import { t } from 'tap'
import { createSpan } from '#bundles/profiler/insight/timeline/span.ts'
import { joinPeriods, type Period, subtractPeriods, totalOf } from '#bundles/profiler/profile/periods.ts'
import { createScale, findStep, formatTick, readFilter } from '#bundles/profiler/web/panels/timeline/scale.ts'
import { createBars, createTimelineRows } from '#bundles/profiler/web/panels/timeline/timeline.ts'

const period = fc.record({ start: fc.nat(60), duration: fc.nat(12) })

/** The slow version: the moments that periods cover, one by one. */
function momentsOf(periods: readonly Period[]): Set<number> {
  return new Set(periods.flatMap(({ duration, start }) => Array.from({ length: duration }, (_, at) => start + at)))
}

t.test('periods are joined and subtracted with the same result as moment by moment', async t => {
  const property = fc.property(fc.array(period), fc.array(period), (periods, others) => {
    const joined = joinPeriods(periods)
    const left = subtractPeriods(joined, joinPeriods(others))
    const wanted = momentsOf(periods)
    t.same(totalOf(joined), wanted.size)
    t.strictSame(momentsOf(joined), wanted)
    t.strictSame(
      [...momentsOf(left)],
      [...wanted].filter(moment => !momentsOf(others).has(moment)).sort((a, b) => a - b),
    )
    t.same(totalOf(left), momentsOf(left).size)
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 60 }))
})

t.test('an axis has round steps, and not too many', async t => {
  const property = fc.property(fc.integer({ min: 1, max: 10 ** 9 }), fc.nat(10 ** 9), (handled, more) => {
    const { boundary, isCompressed, place, ticks } = createScale(handled, handled + more)
    const xs = ticks.map(({ x }) => x)
    t.strictSame(
      xs,
      xs.toSorted((a, b) => a - b),
    )
    t.ok(ticks.length >= 2 && ticks.length <= 7, `${ticks.length} ticks`)
    for (const [at, { label }] of ticks.entries())
      t.ok(label === '' || (xs[at + 1] ?? 100) - (xs[at] ?? 0) > 9 || at === ticks.length - 1)
    t.equal(place(0), 0)
    t.ok(Math.abs(place(handled + more) - 100) < 1e-6)
    t.equal(place(handled), more === 0 ? 100 : boundary)
    t.equal(isCompressed, more > (handled + more) * 0.3)
  })
  fc.assert(property, { numRuns: 100 })
  t.strictSame([0.7, 1, 1.5, 3, 7, 70, 430].map(findStep), [1, 1, 2, 5, 10, 100, 500])
  t.strictSame(
    [formatTick(0, 10), formatTick(200, 900), formatTick(1500, 3000), formatTick(200_000, 1e6), formatTick(3e6, 4e6)],
    ['0', '200 µs', '1.5 ms', '0.2 s', '3 s'],
  )
})

t.test('work long after the response has a part of the width, with its own scale', async t => {
  const { boundary, isCompressed, place, ticks } = createScale(1000, 101_000)
  t.strictSame([isCompressed, boundary, place(500), place(51_000), place(101_000)], [true, 70, 35, 85, 100])
  t.strictSame(
    ticks.map(({ label }) => label),
    ['0', '0.5 ms', ''],
  )
  t.hasStrict(createScale(0, 0), { boundary: 100, isCompressed: false }, 'nothing at all')
})

t.test('bars are always visible and within the chart, and are joined, not omitted', async t => {
  const scale = createScale(1000, 1000)
  const bars = createBars(
    [
      { start: 0, duration: 0 },
      { start: 500, duration: 250 },
      { start: 1000, duration: 0 },
    ],
    scale,
  )
  t.strictSame(bars, [
    { x: '0%', width: '0.3%' },
    { x: '50%', width: '25%' },
    { x: '99.7%', width: '0.3%' },
  ])
  const many = Array.from({ length: 100 }, (_, at) => ({ start: at * 10, duration: 2 }))
  t.equal(createBars(many, scale, 100).length, 100)
  t.strictSame(createBars(many, scale, 99), [{ x: '0%', width: '99.3%' }])
})

t.test('spans with the same name and parent are one row, with the inner spans of all', async t => {
  const inner = (start: number) =>
    createSpan({ name: 'inner', category: 'event', periods: [{ start, duration: 1 }] }, { problem: 'threw' })
  const part = (start: number, problem = '') =>
    createSpan(
      { name: 'part', category: 'listener', periods: [{ start, duration: 4 }] },
      { children: [inner(start + 1)], problem },
    )
  const never = createSpan({ name: 'never', category: 'stopwatch', periods: [] })
  const root = createSpan(
    { name: 'all', category: 'request', periods: [{ start: 0, duration: 100 }] },
    { children: [part(50, 'threw'), never, part(10)] },
  )
  t.strictSame(
    createTimelineRows(root).map(({ depth, duration, name, own, periods, problem }) => [
      depth,
      name,
      duration,
      periods.length,
      totalOf(own),
      problem,
    ]),
    [
      [0, 'all', 100, 1, 92, ''],
      [1, 'part', 8, 2, 6, 'threw'],
      [2, 'inner', 2, 2, 2, 'threw'],
    ],
  )
  t.equal(root.children.length, 3, 'the spans are as they were')
})

t.test('the default threshold depends on the length of a request', async t => {
  const thresholdOf = (length: number, query = '') => readFilter(new URLSearchParams(query), length).threshold
  t.strictSame([thresholdOf(900), thresholdOf(3000), thresholdOf(47_000), thresholdOf(2e6)], [0, 5, 50, 2000])
  t.equal(thresholdOf(2e6, 'threshold=0.01'), 10)
})
