import fc from 'fast-check'
import { t } from 'tap'
import { toCpuProfileFile, toTraceEvents } from '#bundles/profiler/export/timeline-files.ts'
import { createSpan, type TimelineSpan } from '#bundles/profiler/insight/timeline/request-spans.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { createCallTree } from '#bundles/profiler/subjects/cpu/summarize-samples.ts'
import { createProfile } from '#tests/support/create-profile.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

type TraceEvents = ReturnType<typeof toTraceEvents>['traceEvents']
type Complete = Extract<TraceEvents[number], { readonly ph: 'X' }>

const completeOf = (events: TraceEvents) => events.filter((event): event is Complete => event.ph === 'X')

interface Drawn {
  readonly start: number
  readonly duration: number
  readonly children: readonly Drawn[]
}

const drawn: (depth?: number) => fc.Arbitrary<Drawn> = fc.memo(depth =>
  fc.record({
    start: fc.nat(50),
    duration: fc.nat(30),
    children: depth === 1 ? fc.constant([]) : fc.array(drawn(), { maxLength: 4 }),
  }),
)

function toSpan({ children, duration, start }: Drawn, name = 'root'): TimelineSpan {
  const inner = children.map((child, index) => toSpan(child, `${name}.${index}`))
  return createSpan({ name, category: 'listener', periods: [{ start, duration }] }, { children: inner })
}

t.test('in a thread of a trace, an event lies within another only if it is a part of it', async t => {
  const property = fc.property(drawn(4), drawn => {
    const events = completeOf(toTraceEvents(createProfile({}), { root: toSpan(drawn), logs: [] }).traceEvents)
    for (const [at, event] of events.entries()) {
      const end = event.ts + event.dur
      for (const other of events.slice(at + 1)) {
        if (other.tid !== event.tid || other.ts >= end) continue
        if (other.ts + other.dur > end || !other.name.startsWith(`${event.name}.`)) return false
      }
    }
    return events.length === countOf(drawn)
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 200 }))
})

function countOf({ children }: Drawn): number {
  return children.reduce((sum, child) => sum + countOf(child), 1)
}

t.test('a trace has the fields that Perfetto needs, GC runs and warnings', async t => {
  const memory = {
    pauses: {
      longest: [
        { start: 2, duration: 0.5, kind: 'minor' },
        { start: -1, duration: 1 },
      ],
    },
  }
  const query = (start: number) =>
    createSpan(
      { name: 'SELECT 1', category: 'database', periods: [{ start, duration: 2000 }] },
      { problem: 'failed', text: 'SELECT ?' },
    )
  const root = createSpan(
    { name: 'GET /', category: 'request', periods: [{ start: 0, duration: 5000 }] },
    { children: [query(1000), query(1500.4)], note: '200' },
  )
  const log = { at: 1200.6, level: 'warning', isError: false, message: 'slow', link: '' }
  const { displayTimeUnit, otherData, traceEvents } = toTraceEvents(createProfile({ memory }), { root, logs: [log] })
  t.equal(displayTimeUnit, 'ms')
  t.hasStrict(otherData, { profile: 'abc123', start: '2026-11-20T23:15:09.042Z' })
  t.strictSame(
    traceEvents.flatMap(event => (event.name === 'thread_name' ? [`${event.tid} ${event.args?.name}`] : [])),
    ['1 Request', '2 Concurrent 1', '3 Garbage collection'],
  )
  const start = Date.parse('2026-11-20T23:15:09.042Z') * 1000
  t.strictSame(
    traceEvents.flatMap(event => (event.ph === 'M' ? [] : [{ ...event, ts: event.ts - start }])),
    [
      { name: 'GET /', cat: 'request', ph: 'X', ts: 0, dur: 5000, pid: 1, tid: 1, args: { note: '200' } },
      {
        name: 'SELECT 1',
        cat: 'database',
        ph: 'X',
        ts: 1000,
        dur: 2000,
        pid: 1,
        tid: 1,
        args: { text: 'SELECT ?', problem: 'failed' },
      },
      {
        name: 'SELECT 1',
        cat: 'database',
        ph: 'X',
        ts: 1500,
        dur: 2000,
        pid: 1,
        tid: 2,
        args: { text: 'SELECT ?', problem: 'failed' },
      },
      { name: 'minor', cat: 'gc', ph: 'X', ts: 2000, dur: 500, pid: 1, tid: 3 },
      { name: 'gc', cat: 'gc', ph: 'X', ts: 0, dur: 1000, pid: 1, tid: 3 },
      { name: 'warning', cat: 'log', ph: 'i', ts: 1201, s: 't', pid: 1, tid: 1, args: { message: 'slow' } },
    ],
  )
})

t.test('a trace has at most 20,000 spans', async t => {
  const spans = (count: number) =>
    Array.from({ length: count }, (_, start) =>
      createSpan({ name: 'part', category: 'event', periods: [{ start, duration: 1 }] }),
    )
  const root = createSpan(
    { name: 'all', category: 'request', periods: [{ start: 0, duration: 30_000 }] },
    { children: spans(30_000) },
  )
  const { traceEvents } = toTraceEvents(createProfile({}), { root, logs: [] })
  t.equal(completeOf(traceEvents).length, 20_000)
})

const functions = [
  { name: 'handle', file: 'a.ts', line: 3, column: 5, origin: 'application', self: 10, total: 100 },
  { name: '(anonymous)', file: 'a.ts', line: 9, column: 1, origin: 'application', self: 60, total: 60 },
  { name: '(garbage collector)', origin: 'gc', self: 20, total: 20 },
]

function createSampled(): Profile {
  const calls = [
    [0, -1, 10, 100],
    [1, 0, 60, 60],
    [2, -1, 20, 20],
    [1, 0, 0, 0],
  ]
  return createProfile({ cpu: { samples: 3, busy: 130, idle: 70, functions, calls, omitted: 4 } })
}

t.test('a CPU profile has the times of the stored calls, in the format of V8', async t => {
  const file = toCpuProfileFile(createSampled())
  const startTime = Date.parse('2026-11-20T23:15:09.042Z') * 1000
  const [samples, timeDeltas] = [
    [4, 5, 6, 2, 3],
    [0, 40, 60, 20, 10],
  ]
  t.hasStrict(file, { startTime, endTime: startTime + 200, samples, timeDeltas })
  t.hasStrict(file?.nodes, [
    { id: 1, callFrame: { functionName: '(root)' }, children: [4, 6, 2, 3] },
    { id: 2, callFrame: { functionName: '(program)' }, hitCount: 1 },
    { id: 3, callFrame: { functionName: '(idle)' } },
    {
      id: 4,
      callFrame: { functionName: 'handle', scriptId: '1', url: 'a.ts', lineNumber: 2, columnNumber: 4 },
      children: [5, 7],
    },
    { id: 5, callFrame: { functionName: '', scriptId: '1', lineNumber: 8, columnNumber: 0 }, hitCount: 1 },
    { id: 6, callFrame: { functionName: '(garbage collector)', scriptId: '0', url: '', lineNumber: -1 } },
    { id: 7, hitCount: 0 },
  ])
  // The reader of V8's own profiles reads it, with the same times.
  const copy = JSON.parse(JSON.stringify(file))
  const { idle, root } = createCallTree(copy, () => false)
  t.equal(idle, 70)
  t.equal(root.total, 130)
  const [handle] = [...root.children.values()]
  t.hasStrict(handle, { self: 40, total: 100 }, 'with calls that were too short to be stored')
})

t.test('a CPU profile is listed and found only if the request was sampled', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const { summary, ...document } = createSampled()
  const { children, data, failures, schemaVersion } = document
  storage.append({ summary, text: JSON.stringify({ schemaVersion, summary, children, data, failures }) }, '{}')
  const [page, file] = [await client.get('/_profiler/abc123'), await client.get('/_profiler/abc123/export/cpuprofile')]
  t.match(page.text, '/_profiler/abc123/export/cpuprofile')
  t.equal(file.headers.get('content-disposition'), 'attachment; filename="profile-abc123.cpuprofile"')
  t.hasStrict(file.json(), { endTime: summary.time * 1000 + 200 })
  t.hasStrict((await client.get('/_profiler/abc123.json')).json(), {
    links: { exports: { cpuprofile: '/_profiler/abc123/export/cpuprofile' } },
  })

  const other = (await client.get('/star-photo-booth')).headers.get('x-debug-token')
  t.notMatch((await client.get(`/_profiler/${other}`)).text, 'cpuprofile')
  t.notMatch((await client.get(`/_profiler/${other}.json`)).text, 'cpuprofile')
  const missing = await client.get(`/_profiler/${other}/export/cpuprofile`)
  t.equal(missing.status, 404)
  t.hasStrict(missing.json(), { detail: `The CPU was not sampled during the request ${other}` })
  const trace = await client.get(`/_profiler/${other}/export/trace`)
  t.equal(trace.headers.get('content-disposition'), `attachment; filename="profile-${other}.trace.json"`)
  const { otherData, traceEvents } = JSON.parse(trace.text)
  t.hasStrict(
    traceEvents.find(({ ph }: { readonly ph: string }) => ph === 'X'),
    { name: 'GET /star-photo-booth', cat: 'request', ts: Date.parse(otherData.start) * 1000, pid: 1, tid: 1 },
  )
})
