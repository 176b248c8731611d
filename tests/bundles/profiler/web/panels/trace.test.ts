import fc from 'fast-check'
import { type Test, t } from 'tap'
import { createSpan, type TimelineSpan } from '#bundles/profiler/insight/timeline/request-spans.ts'
import { findDistributedTrace, placeTrace } from '#bundles/profiler/insight/timeline/services.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { createProfile } from '#tests/support/create-profile.ts'
import { textOf } from '#tests/support/html.ts'
import { createReceivedSpan, type ReceivedSpan, spanIdOf, traceId } from '#tests/support/otlp.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

const own = { spanId: spanIdOf(100), parentSpanId: spanIdOf(50), traceId }
const call = { client: 'fetch', method: 'GET', url: 'http://stock/', start: 1, end: 4, spanId: spanIdOf(101) }

function createFront(changes = {}) {
  const profile = createProfile({ request: { ...own, ...changes }, http: { calls: [call], omitted: 0 } })
  const inner = createSpan(
    { name: 'GET stock/', category: 'http', periods: [{ start: 1000, duration: 3000 }] },
    { spanId: spanIdOf(101) },
  )
  const root = createSpan(
    { name: 'GET /', category: 'request', periods: [{ start: 0, duration: 5000 }] },
    { children: [inner] },
  )
  return { profile, root, inner, begin: profile.summary.time * 1000 }
}

/** A span that lasts from one moment to another, in microseconds since the request began. */
function createAt(begin: number, from: number, until: number, changes: Partial<ReceivedSpan>): ReceivedSpan {
  return createReceivedSpan({ start: begin + from, end: begin + until, ...changes })
}

/** Names, notes and periods of a span and of those within it. */
function outline({ children, name, note, periods: [period] }: TimelineSpan): unknown {
  return [`${name} ${note}`.trim(), period?.start, period?.duration, ...children.map(outline)]
}

/** The part of the panel that shows a trace; empty if there is none. */
async function showTrace(t: Test, profile: Profile, parts: Awaited<ReturnType<typeof findDistributedTrace>>) {
  const { show } = await createProfiledKernel(t)
  const html = await show('time', { profile, findDistributedTrace: async () => parts })
  return /<section class="block trace".*/s.exec(html)?.[0] ?? ''
}

t.test('spans are put below the span that they name, in the order of time', async t => {
  const { begin, inner, profile, root } = createFront()
  const spans = [
    createAt(begin, 3000, 3500, { spanId: spanIdOf(3), parentId: spanIdOf(1), name: 'second' }),
    createAt(begin, 1500, 3800, { spanId: spanIdOf(1), parentId: spanIdOf(101), error: 'sold out' }),
    createAt(begin, 2000, 2500, { spanId: spanIdOf(2), parentId: spanIdOf(1), name: 'first' }),
    createAt(begin, 4200, 4300, { spanId: spanIdOf(4), parentId: own.spanId, name: 'other', service: '' }),
    createAt(begin, 0, 10, { spanId: spanIdOf(5), parentId: spanIdOf(99), name: 'of nothing known' }),
    createAt(begin, 0, 10, { spanId: spanIdOf(6), name: 'without a parent' }),
  ]
  const placed = placeTrace(root, profile, { spans, profiles: [] })
  t.strictSame(outline(inner), [
    'GET stock/',
    1000,
    3000,
    ['GET /stock stock', 1500, 2300, ['first stock', 2000, 500], ['second stock', 3000, 500]],
  ])
  t.equal(inner.children[0]?.problem, 'failed')
  t.equal(root.children[1]?.note, 'unknown')
  t.strictSame([placed.inner.length, placed.callers.length, placed.others], [4, 0, 2])
})

t.test('the clock of another process is moved into the call', async t => {
  const cases: [from: number, until: number, start: number][] = [
    [-9000, -8000, 1000],
    [3500, 5500, 2000],
    [2000, 9000, 1000],
    [1000, 4000, 1000],
  ]
  for (const [from, until, start] of cases) {
    const { begin, inner, profile, root } = createFront()
    const spans = [
      createAt(begin, from, until, { parentId: spanIdOf(101) }),
      createAt(begin, from + 100, from + 200, { spanId: spanIdOf(2), parentId: spanIdOf(1) }),
    ]
    placeTrace(root, profile, { spans, profiles: [] })
    t.strictSame(inner.children[0]?.periods, [{ start, duration: until - from }])
    t.strictSame(inner.children[0]?.children[0]?.periods, [{ start: start + 100, duration: 100 }])
  }
})

t.test('the spans that the application has sent itself are left out, and the work below them stays', async t => {
  const { begin, inner, profile, root } = createFront()
  const self = { service: 'shop', process: '7' }
  const spans = [
    createAt(begin, 0, 5000, { ...self, spanId: own.spanId, parentId: own.parentSpanId, name: 'GET /' }),
    createAt(begin, 100, 4900, { ...self, spanId: spanIdOf(7), parentId: own.spanId, kind: 'internal' }),
    createAt(begin, 1000, 4000, { ...self, spanId: spanIdOf(101), parentId: spanIdOf(7), kind: 'client' }),
    createAt(begin, 4500, 4600, { ...self, spanId: spanIdOf(8), parentId: spanIdOf(7), kind: 'client' }),
    createAt(begin, 1500, 3500, { parentId: spanIdOf(101), name: 'in the call' }),
    createAt(begin, 4500, 4600, { spanId: spanIdOf(2), parentId: spanIdOf(8), name: 'below an inner span' }),
    createAt(begin, 2000, 2500, { ...self, spanId: spanIdOf(9), parentId: spanIdOf(1), name: 'GET /back' }),
  ]
  const placed = placeTrace(root, profile, { spans, profiles: [] })
  t.strictSame(
    inner.children.map(({ name }) => name),
    ['in the call'],
  )
  t.strictSame(
    root.children.map(({ name }) => name),
    ['GET stock/', 'below an inner span'],
  )
  t.strictSame([placed.inner.length, placed.others], [3, 0])
})

t.test('requests of the application are parts of the trace, with or without a span', async t => {
  const { profile, root } = createFront()
  const back = { url: 'http://localhost/back', status: 503, token: 'bbbbbb', time: profile.summary.time + 1 }
  const traced = createProfile({ request: { traceId, spanId: spanIdOf(60), parentSpanId: spanIdOf(101) } }, back)
  const plain = createProfile(
    { request: { traceId, parentSpanId: spanIdOf(101) } },
    { ...back, token: 'cccccc', status: 200 },
  )
  const above = createProfile(
    {
      request: { traceId, spanId: spanIdOf(70) },
      http: {
        calls: [
          { ...call, spanId: own.parentSpanId },
          { ...call, spanId: undefined },
        ],
        omitted: 0,
      },
    },
    { url: 'http://localhost/above', token: 'dddddd' },
  )
  const placed = placeTrace(root, profile, { spans: [], profiles: [traced, plain, above] })
  t.strictSame(
    placed.inner.map(({ hasFailed, link, name }) => [name, link, hasFailed]),
    [
      ['GET /back', '/_profiler/bbbbbb?panel=time', true],
      ['GET /back', '/_profiler/cccccc?panel=time', false],
    ],
  )
  t.strictSame(
    placed.callers.map(({ name }) => name),
    ['GET /above'],
  )
  const trace = await showTrace(t, profile, { spans: [], profiles: [traced, plain, above] })
  t.match(textOf(trace), `Trace ${traceId}`)
  t.match(textOf(trace), /Called by GET \/above this application, /)
  t.match(trace, 'Spans of other services appear here')
})

t.test('circles of spans end, and endless chains of callers are cut', async t => {
  const { begin, profile, root } = createFront()
  const chain = Array.from({ length: 40 }, (_, at) =>
    createAt(begin, at, 99, { spanId: spanIdOf(50 - at), parentId: spanIdOf(49 - at) }),
  )
  const { callers } = placeTrace(root, profile, { spans: chain, profiles: [] })
  t.equal(callers.length, 10)
  const circle = [
    createAt(begin, 0, 9, { spanId: spanIdOf(50), parentId: spanIdOf(51) }),
    createAt(begin, 0, 9, { spanId: spanIdOf(51), parentId: spanIdOf(50) }),
    createAt(begin, 0, 9, { spanId: spanIdOf(52), parentId: spanIdOf(52) }),
  ]
  const placed = placeTrace(createFront().root, profile, { spans: circle, profiles: [] })
  t.strictSame([placed.callers.length, placed.inner.length, placed.others], [2, 0, 1])
})

t.test('each span of any trace is placed once, or counted', async t => {
  const id = fc.integer({ min: 0, max: 12 }).map(spanIdOf)
  const span = fc
    .record({
      spanId: id,
      parentId: fc.option(fc.oneof(id, fc.constantFrom(own.spanId, spanIdOf(101))), { nil: undefined }),
      service: fc.constantFrom('a', 'b'),
      kind: fc.constantFrom('server', 'client', 'internal'),
    })
    .map(changes => createReceivedSpan(changes as Partial<ReceivedSpan>))
  const property = fc.property(fc.uniqueArray(span, { selector: each => each.spanId }), spans => {
    const { profile, root } = createFront({ parentSpanId: spanIdOf(3) })
    const { callers, inner, others } = placeTrace(root, profile, { spans, profiles: [] })
    t.equal(new Set(inner).size, inner.length)
    t.equal(new Set([...inner, ...callers]).size + others, spans.length)
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 200 }))
})

t.test('a call without a time has the work as it was reported', async t => {
  const { begin, profile } = createFront()
  const holder = createSpan({ name: '', category: 'http', periods: [] }, { spanId: spanIdOf(101) })
  const root = createSpan({ name: '', category: 'request', periods: [] }, { children: [holder] })
  placeTrace(root, profile, { spans: [createAt(begin, 7, 9, { parentId: spanIdOf(101) })], profiles: [] })
  t.strictSame(holder.children[0]?.periods, [{ start: 7, duration: 2 }])
})

t.test('the parts of a trace are read only for a request that has one', async t => {
  const { profile } = createFront()
  const other = createProfile({ request: { traceId, spanId: spanIdOf(60) } }, { token: 'bbbbbb' })
  const foreign = createProfile({ request: { traceId: 'c'.repeat(32) } }, { token: 'cccccc' })
  const sub = createProfile({ request: { traceId } }, { token: 'dddddd', parent: 'bbbbbb' })
  const storage = new MemoryProfileStorage()
  await storage.spans.append([createReceivedSpan({ start: 1000, end: 2000 })])
  for (const { children, data, failures, schemaVersion, summary } of [profile, other, foreign, sub]) {
    storage.append({ summary, text: JSON.stringify({ children, data, failures, schemaVersion, summary }) }, '{}')
  }
  storage.append({ summary: { ...other.summary, token: 'eeeeee' }, text: 'damaged' }, '{}')
  const { summaries } = await storage.search({ limit: 9 })
  const { profiles, spans } = await findDistributedTrace(storage, summaries, profile)
  t.strictSame([spans.length, profiles.map(({ summary }) => summary.token)], [1, ['bbbbbb']])
  t.strictSame(await findDistributedTrace(storage, summaries, createProfile({})), { spans: [], profiles: [] })
})

t.test('the other requests of a trace may begin during a long request, and shortly after it', async t => {
  const begin = Date.parse('2026-11-20T12:00:00Z')
  const of = (token: string, seconds: number, duration = 1, span = 60) =>
    createProfile({ request: { traceId, spanId: spanIdOf(span) } }, { token, time: begin + seconds * 1000, duration })
  const profile = of('aaaaaa', 0, 60_000, 100)
  const storage = new MemoryProfileStorage()
  const others = [of('bbbbbb', 59), of('cccccc', 61), of('dddddd', 90)]
  for (const { children, data, failures, schemaVersion, summary } of [profile, ...others]) {
    storage.append({ summary, text: JSON.stringify({ children, data, failures, schemaVersion, summary }) }, '{}')
  }
  const { summaries } = await storage.search({ limit: 9 })
  const { profiles } = await findDistributedTrace(storage, summaries, profile)
  t.strictSame(profiles.map(({ summary }) => summary.token).sort(), ['bbbbbb', 'cccccc'])
})

t.test('the table of spans is limited, and a request without a trace has none', async t => {
  const { begin, profile } = createFront()
  const spans = Array.from({ length: 250 }, (_, at) =>
    createAt(begin, at - 5, at, { spanId: spanIdOf(1000 + at), parentId: own.spanId, attributes: [['a', at]] }),
  )
  const trace = await showTrace(t, profile, { spans, profiles: [] })
  t.equal(trace.match(/<tr id="span-/g)?.length, 200)
  t.match(trace, '50 more spans are in the timeline only.')
  const [row = ''] = /<tr id="span-.*?data-label="Time"/s.exec(trace) ?? []
  t.match(row, /<th scope="row">a<\/th>.*data-label="Kind">server<.*data-label="At">−0\.005 ms</s)
  t.equal(await showTrace(t, createProfile({}), { spans: [], profiles: [] }), '')
})
