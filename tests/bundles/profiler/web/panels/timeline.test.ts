import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { t } from 'tap'
import { createAxis } from '#bundles/profiler/client/time-axis.ts'
import { categories, createSpan } from '#bundles/profiler/insight/timeline/request-spans.ts'
import { createBars, createTimelineRows, readFilter } from '#bundles/profiler/panels/timeline.ts'
import { joinPeriods, type Period, subtractPeriods, totalOf } from '#bundles/profiler/profile/work.ts'
import { workKinds } from '#bundles/profiler/subjects/work.ts'

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

t.test('bars have their true places and a width, and are joined, not omitted', async t => {
  const axis = createAxis(1000, 1000)
  const bars = createBars(
    [
      { start: 0, duration: 0 },
      { start: 500, duration: 250 },
      { start: 1000, duration: 0 },
    ],
    axis,
  )
  t.strictSame(bars, [
    { x: '0%', width: '0.001%' },
    { x: '50%', width: '25%' },
    { x: '100%', width: '0.001%' },
  ])
  const many = Array.from({ length: 100 }, (_, at) => ({ start: at * 10, duration: 2 }))
  t.equal(createBars(many, axis, 100).length, 100)
  t.strictSame(createBars(many, axis, 99), [{ x: '0%', width: '99.2%' }])
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

t.test('the own time of a measurement is without all work that runs at the same time', async t => {
  const part = (
    name: string,
    category: Parameters<typeof createSpan>[0]['category'],
    start: number,
    duration: number,
  ) => createSpan({ name, category, periods: [{ start, duration }] })
  const children = [
    part('report', 'stopwatch', 10, 60),
    part('format', 'stopwatch', 50, 15),
    part('query', 'database', 10, 25),
    part('later', 'database', 90, 5),
  ]
  const root = createSpan({ name: 'all', category: 'request', periods: [{ start: 0, duration: 100 }] }, { children })
  t.strictSame(
    createTimelineRows(root).map(({ name, ownTime }) => [name, ownTime]),
    [
      ['all', 35],
      ['report', 20],
      ['query', 25],
      ['format', 15],
      ['later', 5],
    ],
  )
})

t.test('a row waits for the queries, calls and sub-requests within it, not for those within one of these', async t => {
  const part = (
    name: string,
    category: Parameters<typeof createSpan>[0]['category'],
    periods: [number, number][],
    children: ReturnType<typeof createSpan>[] = [],
  ) => createSpan({ name, category, periods: periods.map(([start, duration]) => ({ start, duration })) }, { children })
  const sub = part(
    'sub',
    'request',
    [[50, 20]],
    [part('inner', 'controller', [[50, 20]], [part('deep', 'database', [[55, 5]])])],
  )
  const root = part(
    'all',
    'request',
    [[0, 100]],
    [
      part(
        'order',
        'controller',
        [[0, 90]],
        [
          part('event', 'event', [[5, 20]], [part('one', 'database', [[10, 5]])]),
          part('two', 'database', [
            [12, 8],
            [30, 5],
          ]),
          sub,
        ],
      ),
    ],
  )
  const awaited = createTimelineRows(root).map(({ awaited, name }) => [name, Object.fromEntries(awaited)])
  const database = [
    { start: 10, duration: 10 },
    { start: 30, duration: 5 },
  ]
  const request = [{ start: 50, duration: 20 }]
  const within = { database: [{ start: 55, duration: 5 }] }
  t.strictSame(awaited, [
    ['all', { request, database }],
    ['order', { request, database }],
    ['event', { database: [{ start: 10, duration: 5 }] }],
    ['one', {}],
    ['two', {}],
    ['sub', within],
    ['inner', within],
    ['deep', {}],
  ])
})

t.test('the default threshold depends on the length of a request', async t => {
  const thresholdOf = (length: number, query = '') =>
    readFilter(new URLSearchParams(query), createAxis(length, length)).threshold
  t.strictSame([thresholdOf(900), thresholdOf(3000), thresholdOf(47_000), thresholdOf(2e6)], [0, 5, 50, 2000])
  t.equal(thresholdOf(2e6, 'threshold=0.01'), 10)
})

t.test('the visible part is read from the URL', async t => {
  const windowOf = (query: string) => readFilter(new URLSearchParams(query), createAxis(10_000, 10_000)).window
  t.strictSame(windowOf('from=2.5&to=5'), { from: 25, to: 50 })
  t.strictSame(windowOf('from=8&to=99'), { from: 80, to: 100 })
  for (const wrong of ['', 'from=1', 'from=5&to=2', 'from=x&to=y', 'from=10&to=20']) {
    t.strictSame(windowOf(wrong), { from: 0, to: 100 }, wrong)
  }
})

t.test('each category of the timeline and kind of work has a label, a colour and a letter in the styles', async t => {
  const folder = 'bundles/profiler/assets/styles'
  const styles = readdirSync(folder).map(name => readFileSync(`${folder}/${name}`, 'utf8'))
  const rules = styles
    .join('')
    .replaceAll(/\/\*.*?\*\//gs, '')
    .split('}')
    .map(rule => rule.split('{'))
  const lacks = (selector: string, wanted: RegExp) =>
    rules.some(([names, body = '']) => names?.split(',').some(name => name.trim() === selector) && wanted.test(body))
      ? []
      : [`${selector}: ${wanted}`]
  const colour = /--bar: var\(--bar-\w+\)/
  const lacking = [
    ...categories.flatMap(({ name }) => lacks(`.timeline .of-${name}`, colour)),
    ...categories.flatMap(({ name }) => lacks(`.of-${name} i::before`, /content: "[A-Z]" \/ "\w/)),
    ...workKinds.flatMap(({ category }) => lacks(`.part-${category}`, colour)),
  ]
  t.strictSame(lacking, [])
  const used = new Set(styles.join('').match(/--bar-\w+(?=\))/g))
  t.strictSame(
    [...used].filter(name => !styles.join('').includes(`${name}: light-dark(`)),
    [],
  )
  const labels = new Map(categories.map(({ label, name }) => [name, label]))
  t.ok(workKinds.every(({ category, label }) => label !== '' && labels.get(category) === label))
})
