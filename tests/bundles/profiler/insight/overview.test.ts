import assert from 'node:assert'
import fc from 'fast-check'
import { t } from 'tap'
import { compareTimes, compareWithUsual } from '#bundles/profiler/insight/durations.ts'
import type { Finding } from '#bundles/profiler/insight/findings/finding.ts'
import { summarizeProfile } from '#bundles/profiler/insight/overview/overview.ts'
import { toPlainText } from '#bundles/profiler/insight/overview/sentence.ts'
import type { SinceEdit } from '#bundles/profiler/insight/since-edit.ts'
import { formatDuration } from '#bundles/profiler/profile/format.ts'
import type { Profile, ProfileSummary } from '#bundles/profiler/profile/profile.ts'
import { coveredWorkTime } from '#bundles/profiler/profile/work.ts'
import { findBlocker, readBlocks } from '#bundles/profiler/subjects/memory/read.ts'
import { workKinds } from '#bundles/profiler/subjects/work.ts'
import { createProfile, createQuery, createSummary, type ProfileInit } from '#tests/support/create-profile.ts'
import { anyCharacter } from '#tests/support/sample.ts'

/** The events of a request whose controller worked from 2 ms until `end`, and whose response was sent 1 ms later. */
function spansOf(end: number): unknown[] {
  return [
    [null, 'kernel.request', 0, 1000],
    [32, 'RouterListener.onRequest', 100, 800, 0],
    [null, 'kernel.controller', 1100, 100],
    [null, 'kernel.controller_arguments', 1300, 700],
    [null, 'kernel.response', end * 1000, 500],
    [null, 'kernel.finish_request', end * 1000 + 600, 400],
    [null, 'kernel.terminate', end * 1000 + 1000, 100],
  ]
}

const usage = { wall: 100, cpu: {}, heap: {}, requests: {}, pauses: { count: 0, total: 0, longest: [] }, blocks: [] }

/** Queries of one line, one after another. */
function queriesOf(count: number, duration: number, line = 24): object[] {
  return Array.from({ length: count }, (_, index) => ({
    system: 'postgresql',
    text: 'SELECT name FROM author WHERE id = ?',
    start: 5 + index * duration,
    end: 5 + (index + 1) * duration,
    caller: { function: 'list', file: 'blog/list.ts', line },
    source: 'channel',
  }))
}

/** Summaries of earlier requests with these durations, the newest first. */
function earlierOf(...durations: readonly number[]): ProfileSummary[] {
  const { summary } = createProfile({})
  return durations.map((duration, index) => ({ ...summary, duration, time: summary.time - 1000 * (index + 1) }))
}

const sentenceOf = (
  data: Profile['data'],
  init: ProfileInit = {},
  more: {
    caused?: ProfileSummary[]
    children?: ProfileSummary[]
    earlier?: ProfileSummary[]
    findings?: readonly Finding[]
    sinceEdit?: SinceEdit
  } = {},
) => toPlainText(summarizeProfile({ profile: createProfile(data, init), earlier: [], findings: [], ...more }).sentence)

const partsOf = (data: Profile['data'], init: ProfileInit = {}) =>
  Object.fromEntries(
    summarizeProfile({ profile: createProfile(data, init), earlier: [], findings: [] }).parts.map(({ label, time }) => [
      label,
      time / 1000,
    ]),
  )

const finding: Finding = {
  rule: 'n-plus-one',
  title: 'N+1 queries',
  severity: 'warning',
  problem: '',
  advice: '',
  evidence: {},
  place: { panel: 'database' },
}

t.test('each moment belongs to one part', async t => {
  const data = {
    events: { spans: spansOf(92), dropped: 0 },
    http: { calls: [{ client: 'fetch', method: 'GET', url: 'http://x/', start: 30, end: 50 }], omitted: 0 },
    queries: { queries: [{ system: 'mysql', text: 'SELECT 1', start: 40, end: 60, source: 'channel' }], omitted: 0 },
    templates: { renders: [{ name: 'page', parent: -1, start: 55, duration: 15 }], omitted: 0, waited: 0 },
    memory: {
      ...usage,
      loop: { active: 100, idle: 0 },
      pauses: { count: 1, total: 2, longest: [{ start: 4, duration: 2 }] },
    },
  }
  t.strictSame(partsOf(data, { duration: 100 }), {
    Controller: 48,
    'Database queries': 20,
    'HTTP client calls': 10,
    Templates: 10,
    Sending: 7,
    Kernel: 2.2,
    'Garbage collection': 2,
    'Listeners of kernel.request': 0.8,
  })
})

t.test('the innermost listener counts; blocks by other requests are not part of the controller', async t => {
  const spans = [
    ...spansOf(92).slice(0, 1),
    [32, 'Outer.onRequest', 0, 1000, 0],
    [null, 'demo.event', 200, 600, 1],
    [0, 'Inner.onDemo', 300, 400, 2],
    ...spansOf(92).slice(2),
  ]
  const blocks = [
    { start: 10, duration: 30, cpu: 30, by: 'ffffff', isOwn: true },
    { start: 50, duration: 10, cpu: 10, by: 'abc123', isOwn: true },
    { start: 70, duration: 15, cpu: 15, by: '', isOwn: false, isAlone: true },
    { start: 86, duration: 5, cpu: 0, by: 'abc123', isOwn: true },
  ]
  const data = { events: { spans, dropped: 0 }, memory: { ...usage, loop: { active: 100, idle: 0 }, blocks } }
  const parts = partsOf(data, { duration: 100 })
  t.equal(parts['Listeners of kernel.request'], 0.6)
  t.equal(parts['Listeners of demo.event'], 0.4)
  t.equal(parts['Blocked by other work'], 30)
  t.equal(parts['Blocked, cause not known'], 15)
  t.equal(parts['No CPU time'], 5)
  t.equal(parts.Controller, 40)
})

t.test('a measurement of the stopwatch is a part, without the queries and the shorter measurements in it', async t => {
  const measuredOf = (name: string, start: number, duration: number) => ({
    ...{ name, category: 'shop', dropped: 0, isRunning: false },
    ...{ periods: [[start * 1000, duration * 1000]], duration: duration * 1000 },
  })
  const measured = [measuredOf('inner', 20, 10), measuredOf('outer', 10, 60), measuredOf('x'.repeat(100), 80, 5)]
  const queries = [{ system: 'mysql', text: 'SELECT 1', start: 40, end: 60, source: 'channel' }]
  const data = {
    events: { spans: spansOf(92), dropped: 0 },
    queries: { queries, omitted: 0 },
    time: { measured, dropped: 0 },
    memory: { ...usage, loop: { active: 100, idle: 0 } },
  }
  const parts = partsOf(data, { duration: 100 })
  t.match(parts, { inner: 10, outer: 30, 'Database queries': 20, Controller: 25, [`${'x'.repeat(60)}…`]: 5 })
  t.equal(
    sentenceOf(data, { duration: 100, url: '/x', controller: 'show' }),
    'GET /x took 100 ms: outer took 30 ms, controller show took 25 ms, 1 query took 20 ms.',
  )
  const only = (duration: number, start = 10) => ({
    ...data,
    queries: undefined,
    time: { measured: [measuredOf('short', 5, 1), measuredOf('SELECT', start, duration)], dropped: 0 },
  })
  const init = { duration: 100, url: '/x', controller: 'show' }
  const ofShow = 'GET /x took 100 ms: controller show took'
  t.equal(sentenceOf(only(40), init), `${ofShow} 49 ms, SELECT took 40 ms.`)
  t.equal(sentenceOf(only(5), init), `${ofShow} 84 ms.`, 'a short measurement is not named')
})

t.test('a part is divided into waiting and work by what the event loop did meanwhile', async t => {
  const init = { duration: 100, url: '/x', controller: 'show' }
  const eventsOf = (waits: number[][], isShared = false) => ({ spans: spansOf(92), dropped: 0, waits, isShared })
  const waited = { events: eventsOf([[2000, 90_000, 78_000]]) }
  t.match(partsOf(waited, init), { 'Waiting in the controller': 78, Controller: 12 })
  t.equal(sentenceOf(waited, init), 'GET /x took 100 ms: controller show waited 78 ms, controller show worked 12 ms.')
  t.strictSame(partsOf({ events: eventsOf([[100, 800, 800]]) }, init), {
    Controller: 90,
    Sending: 7,
    Kernel: 2.2,
    'Waiting in listeners of kernel.request': 0.8,
  })
  const queries = { queries: [{ system: 'mysql', text: 'SELECT 1', start: 12, end: 42, source: 'span' }], omitted: 0 }
  t.match(
    partsOf({ events: eventsOf([[2000, 90_000, 50_000]]), queries }, init),
    { 'Database queries': 30, 'Waiting in the controller': 20, Controller: 40 },
    'the query may have had the rest of the waiting',
  )
  const pauses = { count: 1, total: 10, longest: [{ start: 50, duration: 10 }] }
  t.match(
    partsOf({ events: eventsOf([[2000, 90_000, 80_000]]), memory: { ...usage, loop: {}, pauses } }, init),
    { 'Garbage collection': 10, 'Waiting in the controller': 80 },
    'nothing waits for the garbage collection',
  )
  const shared = { events: eventsOf([[2000, 60_000, 20_000]], true) }
  t.match(partsOf(shared, init), {
    'Controller and other requests': 40,
    Controller: 30,
    'Waiting in the controller': 20,
  })
  t.equal(
    sentenceOf(shared, init),
    'GET /x took 100 ms: controller show and other requests worked 40 ms, controller show worked 30 ms, controller show waited 20 ms.',
  )
  // Nothing says how long the query would have taken.
  const slow = { queries: [{ ...queries.queries[0], start: 12, end: 62 }], omitted: 0 }
  const busyLoop = { ...shared, queries: slow, memory: { ...usage, busy: [{ start: 11, duration: 52 }] } }
  t.match(partsOf(busyLoop, init), { 'Database queries': undefined, 'Controller and other requests': 40 })
  // The CPU time, how long the event loop was busy, and how long a synchronous call took.
  const busy = (cpu: number, active: number, called = 0) => ({
    ...waited,
    memory: {
      ...{ ...usage, cpu: { user: cpu, system: 0 }, loop: { active, idle: 100 - active }, pauses: undefined },
      syncCalls: [{ name: 'fs.readFileSync', start: 0, duration: called }],
    },
    events: eventsOf([[2000, 90_000, 30_000]]),
  })
  t.match(partsOf(busy(15, 55), init), { Controller: 20, 'No CPU time': 40, 'Waiting in the controller': 30 })
  t.match(partsOf(busy(5, 99), init), { 'No CPU time': 60, Controller: undefined }, 'it did not run elsewhere, too')
  for (const data of [busy(40, 55), busy(15, 55, 40)])
    t.match(partsOf(data, init), { Controller: 60, 'No CPU time': undefined }, 'with CPU time, or a known call')
})

t.test('the named parts are links to their details', async t => {
  const data = { events: { spans: spansOf(92), dropped: 0 }, queries: { queries: queriesOf(3, 10), omitted: 0 } }
  const profile = createProfile(data, { duration: 100, controller: 'show', token: 'abc123' })
  const { sentence } = summarizeProfile({ profile, earlier: [], findings: [] })
  t.strictSame(
    sentence.filter(({ link }) => link !== '').map(({ link, text }) => `${text}: ${link}`),
    ['took 60 ms: /_profiler/abc123?panel=events#controller', '3 queries took 30 ms: /_profiler/abc123?panel=database'],
  )
})

t.test("the profiler's own listeners are never the cause", async t => {
  const spans = [
    ...spansOf(92).slice(0, 4),
    [null, 'kernel.response', 12_000, 80_000],
    [-128, 'ToolbarListener.onResponse', 12_000, 78_000, 4],
    [-64, 'StampListener.onResponse', 90_000, 2000, 4],
    [null, 'kernel.finish_request', 92_600, 400],
  ]
  const data = { events: { spans, dropped: 0 } }
  const toolbar = { event: 'kernel.response', name: 'ToolbarListener.onResponse', priority: -128, bundle: 'profiler' }
  const processData = { events: { listeners: [toolbar] } }
  const init = { duration: 100, url: '/x', controller: 'show', processData }
  t.match(partsOf(data, init), { Profiler: 78, 'Listeners of kernel.response': 2 })
  t.equal(sentenceOf(data, init), 'GET /x took 100 ms: controller show took 10 ms.')
  const both = [
    ...spans.slice(0, 5),
    [-128, 'ToolbarListener.onResponse', 12_000, 60_000, 4],
    [-64, 'StampListener.onResponse', 72_000, 12_000, 4],
    ...spans.slice(7),
  ]
  t.equal(
    sentenceOf({ events: { spans: both, dropped: 0 } }, init),
    'GET /x took 100 ms: listener StampListener.onResponse took 12 ms, controller show took 10 ms.',
  )
})

t.test('without events, the time is not recorded in detail', async t => {
  t.strictSame(partsOf({}, { duration: 5 }), { 'Not recorded': 5 })
})

t.test('the functions of a framework have the time of listeners, and its handler that of the controller', async t => {
  const spans = [
    ['phase', 'middleware', 1000, 30_000],
    ['function', 'session', 1000, 30_000, 0],
    ['phase', 'handler', 31_000, 60_000],
    ['function', 'showUser', 31_000, 60_000, 2],
  ]
  const data = { events: { spans, places: [[1, 'app.js:3']] } }
  const init = { duration: 100, controller: 'showUser' }
  t.strictSame(partsOf(data, init), { Framework: 10, Middleware: 30, Handler: 60 })
  const sentence = sentenceOf(data, init)
  t.equal(
    sentence,
    'GET /somewhere took 100 ms: handler showUser took 60 ms, middleware session took 30 ms (app.js:3).',
  )
  const placed = (...indexes: number[]) =>
    sentenceOf({ events: { spans, places: indexes.map(index => [index, 'app.js:8']) } }, init)
  t.match(placed(3), ': handler showUser took 60 ms (app.js:8), middleware')
  spans.push(['function', 'answer', 80_000, 11_000, 2])
  t.match(placed(3, 4), ': handler showUser took 60 ms (app.js:8), middleware', 'after a middleware has returned')
  t.match(placed(3), ': handler showUser took 60 ms, middleware', 'which of two functions it was is not known')
  const waiting = { events: { ...data.events, waits: [[40_000, 20_000, 20_000]] } }
  t.match(partsOf(waiting, init), { 'Waiting in the handler': 20, Handler: 40 })
})

t.test('a block of a function is its work, also while the event loop had no pause', async t => {
  const spans = [
    ['phase', 'middleware', 0, 570_000],
    ['function', 'audit', 0, 100, 0],
    ['function', 'show', 100, 48_000, 0],
    ['function', 'audit', 48_900, 520_000, 0],
  ]
  const block = { start: 50, duration: 510, cpu: 220, by: 'abc123', isOwn: true, isAlone: true, span: 3 }
  const busy = [{ start: 48.9, duration: 520 }]
  const memory = { ...usage, wall: 570, cpu: { user: 230, system: 0 }, blocks: [block], busy }
  const waits = [
    [100, 48_000, 47_000],
    [48_900, 520_000, 1000],
  ]
  const init = { duration: 570, token: 'abc123', controller: null }
  const sentence = sentenceOf({ events: { spans, dropped: 0, waits }, memory }, init)
  t.match(sentence, /middleware audit worked|middleware worked [\d.]+ ms, most of it in audit/)
})

t.test('the function of a block is recorded, or began within it, or is not known', async t => {
  const blockerOf = (begin: number, span?: number) => {
    const spans = [
      ['phase', 'middleware', 0, 570_000],
      ['function', 'audit', 0, 570_000, 0],
      ['function', 'show', begin, 560_000 - begin, 0],
    ]
    const block = {
      start: 50,
      duration: 500,
      cpu: 220,
      by: 'abc123',
      isOwn: true,
      isAlone: true,
      ...(span !== undefined && { span }),
    }
    const memory = { ...usage, wall: 570, cpu: { user: 230, system: 0 }, blocks: [block] }
    const profile = createProfile({ events: { spans, dropped: 0 }, memory }, { duration: 570, token: 'abc123' })
    const blocker = readBlocks(profile).map(each => findBlocker(each, profile))[0]
    return typeof blocker === 'object' ? blocker.name : blocker
  }
  t.strictSame([blockerOf(10_000), blockerOf(60_000), blockerOf(10_000, 1)], ['unknown', 'show', 'audit'])
})

t.test('the functions of a mounted framework have their time beside listeners and the controller', async t => {
  const spans = [
    [null, 'kernel.request', 0, 10_000],
    [48, 'SiteListener.onRequest', 0, 10_000],
    [null, 'kernel.controller_arguments', 10_000, 0],
    ['phase', 'middleware', 15_000, 30_000],
    ['function', 'session', 15_000, 30_000, 3],
    ['phase', 'handler', 45_000, 40_000],
    ['function', 'showUser', 45_000, 40_000, 5],
    [null, 'kernel.response', 95_000, 5000],
  ]
  const data = { events: { spans, places: [[4, 'app.js:3']], waits: [[50_000, 20_000, 20_000]] } }
  const init = { duration: 100, controller: 'showUser' }
  t.strictSame(partsOf(data, init), {
    'Listeners of kernel.request': 10,
    Controller: 15,
    Middleware: 30,
    'Waiting in the handler': 20,
    Handler: 20,
    Kernel: 5,
  })
  t.match(sentenceOf(data, init), /middleware session took 30 ms \(app\.js:3\)/)
})

t.test('of a command that a signal has ended, the sentence names its last work whose end is not known', async t => {
  const queries = {
    queries: [createQuery({ start: 1, end: 90 }), createQuery({ start: 95, end: undefined })],
    omitted: 0,
  }
  const init = {
    type: 'command',
    route: 'command import.js',
    url: '',
    method: '',
    outcome: 'failed',
    duration: 100,
  } as const
  const said = 'The command import.js was ended by SIGTERM after 100 ms'
  const sentence = sentenceOf({ unit: { signal: 'SIGTERM' }, queries }, init)
  t.match(sentence, `${said}; its last query at bundles/shop/products.ts:12 has no known end`)
  t.notMatch(sentenceOf({ unit: { exitCode: 1 }, queries }, init), 'no known end')
  t.notMatch(sentenceOf({ unit: { signal: 'SIGTERM' } }, init), 'no known end')
})

t.test('the parts of any profile add up to its duration', async t => {
  const time = fc.integer({ min: -10, max: 200 })
  const row = fc.oneof(
    fc.tuple(
      fc.constant(null),
      fc.constantFrom(
        'kernel.request',
        'kernel.controller_arguments',
        'kernel.response',
        'kernel.finish_request',
        'own',
      ),
      fc.nat(150_000),
      fc.option(fc.nat(150_000)),
      fc.integer({ min: -1, max: 20 }),
    ),
    fc.tuple(
      fc.constantFrom(5, 'request'),
      fc.string(),
      fc.nat(150_000),
      fc.option(fc.nat(150_000)),
      fc.integer({ min: -1, max: 20 }),
    ),
  )
  const period = fc.record({ start: time, duration: time, cpu: time, by: fc.constantFrom('', 'abc123', 'ffffff') })
  const query = fc.record({
    system: fc.constantFrom('redis', 'mysql'),
    text: fc.string(),
    start: time,
    end: fc.option(time, { nil: undefined }),
    source: fc.constant('span'),
  })
  const data = fc.record({
    events: fc.record({ spans: fc.array(row, { maxLength: 40 }), dropped: fc.nat() }),
    queries: fc.record({ queries: fc.array(query), omitted: fc.nat(3) }),
    templates: fc.record({
      renders: fc.array(fc.record({ name: fc.string(), start: time, duration: time })),
      omitted: fc.nat(),
      waited: fc.nat(),
    }),
    memory: fc.record({
      loop: fc.record({ active: time, idle: time }),
      blocks: fc.array(period),
      pauses: fc.record({ count: fc.nat(), total: time, longest: fc.array(period) }),
    }),
  })
  fc.assert(
    fc.property(data, fc.nat(150_000), (data, microseconds) => {
      const profile = createProfile(data, { duration: microseconds / 1000 })
      const { parts } = summarizeProfile({ profile, earlier: [], findings: [] })
      assert.equal(
        parts.reduce((sum, { time }) => sum + time, 0),
        microseconds,
      )
      assert(parts.every(({ time }) => time > 0))
    }),
  )
  t.pass('all of them')
})

t.test('the sentence names the longest part with its line, the usual time, and a finding about it', async t => {
  const data = { events: { spans: spansOf(411), dropped: 0 }, queries: { queries: queriesOf(50, 7.6), omitted: 0 } }
  const init = { duration: 412, url: 'http://localhost:8000/blog?page=2', queries: 50 }
  const earlier = earlierOf(90, 100, 110, 98, 97)
  const other = { ...finding, title: 'Insecure cookie', place: { panel: 'request' } }
  t.equal(
    sentenceOf(data, init, { earlier, findings: [other, finding] }),
    'GET /blog took 412 ms, 4.2 times as long as usual: 50 queries took 380 ms (blog/list.ts:24); finding: N+1 queries.',
  )
  t.equal(
    sentenceOf(data, init, { findings: [{ ...finding, place: { panel: 'events' } }, other] }),
    'GET /blog took 412 ms: 50 queries took 380 ms (blog/list.ts:24); finding: N+1 queries.',
    'otherwise the worst',
  )
  const several = [...queriesOf(30, 7), ...queriesOf(10, 3, 90)]
  t.equal(
    sentenceOf({ ...data, queries: { queries: several, omitted: 0 } }, { ...init, duration: 250, queries: 40 }),
    'GET /blog took 250 ms: 40 queries took 210 ms, most of it at blog/list.ts:24.',
  )
})

t.test('without a line of most queries, none is named; a long sentence loses its least important parts', async t => {
  const events = { spans: spansOf(92), dropped: 0 }
  const url = `/${'long-'.repeat(20)}`
  const init = { url, duration: 100, queries: 9 }
  const queries = [...queriesOf(3, 4, 1), ...queriesOf(3, 4, 2), ...queriesOf(3, 4, 3)].map((query, index) => {
    return { ...query, start: index * 10, end: index * 10 + 10 }
  })
  const { place: _, ...unplaced } = finding
  const findings = [{ ...unplaced, title: 'A finding with a rather long title' }]
  const earlier = earlierOf(10, 10, 10, 10, 10)
  const start = `GET /${'long-'.repeat(20).slice(0, 54)}… took 100 ms, 10 times as long as usual`
  t.equal(
    sentenceOf({ events, queries: { queries, omitted: 0 } }, init, { earlier }),
    `${start}: 9 queries took 90 ms.`,
  )
  const file = `a/${'folder/'.repeat(9)}list.ts`
  const one = queriesOf(1, 80).map(query => ({ ...query, caller: { file, line: 7 } }))
  const data = { events, queries: { queries: one, omitted: 0 } }
  t.equal(
    sentenceOf(data, { ...init, queries: 1 }, { earlier }),
    `${start}: 1 query took 80 ms (…/folder/folder/folder/folder/list.ts:7).`,
  )
  const long = { ...init, queries: 1, errors: 1, exception: 'AnExceptionWithARatherLongNameThatSaysAll' }
  t.equal(
    sentenceOf(data, { ...long, status: 200 }, { earlier, findings }),
    `${start}; exception: AnExceptionWithARatherLongNameThatSaysA…; 1 query took 80 ms (…/folder/folder/folder/folder/list.ts:7).`,
  )
  const controller = `${'long-'.repeat(20)}`
  const shorter = { events, queries: { queries: queriesOf(1, 50), omitted: 0 } }
  const startOfThree = `GET /x took 100 ms: 1 query took 50 ms (blog/list.ts:24), controller`
  t.match(sentenceOf(shorter, { ...init, url: '/x', controller, queries: 1 }, { findings }), startOfThree)
  t.equal(
    sentenceOf(shorter, { ...init, controller, queries: 1 }, { earlier, findings }),
    `${start}: 1 query took 50 ms (blog/list.ts:24); finding: A finding with a rather long title.`,
  )
  t.equal(
    sentenceOf({}, { url: '/', duration: 9 }, { findings }),
    'GET / took 9.0 ms; finding: A finding with a rather long title.',
  )
})

t.test('the sentence names other causes', async t => {
  const memory = { ...usage, loop: { active: 100, idle: 0 } }
  const events = { spans: spansOf(92), dropped: 0 }
  const init = { duration: 100, url: '/x', controller: 'ShopController.show' }
  const cases: [Profile['data'], string, ProfileInit?][] = [
    [{ events, memory }, 'controller ShopController.show took 90 ms'],
    [{ events, memory }, 'the controller took 90 ms', { controller: null }],
    [{ events: { ...events, waits: [[2000, 90_000, 90_000]] } }, 'controller ShopController.show waited 90 ms'],
    [
      {
        events,
        http: { calls: [{ client: 'fetch', method: 'GET', url: 'http://x/', start: 10, end: 90 }], omitted: 2 },
      },
      '3 HTTP client calls took 80 ms',
    ],
    [
      {
        events,
        queries: { queries: [{ system: 'redis', text: 'GET a', start: 10, end: 90, source: 'channel' }], omitted: 0 },
      },
      '1 cache call took 80 ms',
    ],
    [
      {
        events,
        templates: { renders: [{ name: 'shop/show', parent: -1, start: 10, duration: 80 }], omitted: 0, waited: 0 },
      },
      'templates took 80 ms in shop/show',
    ],
    [
      {
        events,
        templates: {
          renders: [
            { name: 'shop/show', parent: -1, start: 10, duration: 60 },
            { name: 'shop/foot', parent: -1, start: 70, duration: 20 },
          ],
          omitted: 0,
          waited: 0,
        },
      },
      'templates took 80 ms, most of it in shop/show',
    ],
    [
      {
        events,
        templates: {
          renders: [
            { name: 'shop/show', parent: -1, start: 10, duration: 40 },
            { name: 'shop/foot', parent: -1, start: 50, duration: 40 },
          ],
          omitted: 0,
          waited: 0,
        },
      },
      'templates took 80 ms',
    ],
    [
      { events: { spans: [...spansOf(92), ['request', 'ffffff', 10_000, 70_000, -1]], dropped: 0 } },
      '1 sub-request took 70 ms, controller ShopController.show took 20 ms',
    ],
    [{ events: { spans: spansOf(12), dropped: 0 } }, 'sending took 87 ms'],
    [
      { events: { spans: spansOf(12), dropped: 0 } },
      'the event stream took 87 ms',
      { contentType: 'text/event-stream' },
    ],
    [
      {
        events: { spans: spansOf(12), dropped: 0 },
        response: {
          content: { type: 'text/event-stream', length: 40, text: ': hi\n\ndata: 1\r\n\r\nid: 2\ndata\n\ndata: cut' },
        },
      },
      'the event stream of 2 events took 87 ms',
      { contentType: 'text/event-stream' },
    ],
    [
      { events, memory: { ...memory, pauses: { count: 1, total: 60, longest: [{ start: 10, duration: 60 }] } } },
      'garbage collection took 60 ms, controller ShopController.show took 30 ms',
    ],
    [
      { events, memory: { ...memory, blocks: [{ start: 10, duration: 70, cpu: 70, by: 'ffffff' }] } },
      'other work blocked the event loop for 70 ms, controller ShopController.show took 20 ms',
    ],
    [
      { events, memory: { ...memory, blocks: [{ start: 10, duration: 70, cpu: 70, by: '', isAlone: true }] } },
      'the event loop was blocked for 70 ms (the cause is not known), controller ShopController.show took 20 ms',
    ],
  ]
  for (const [data, cause, change] of cases)
    t.equal(sentenceOf(data, { ...init, ...change }), `GET /x took 100 ms: ${cause}.`)
  t.equal(
    sentenceOf(
      { events, queries: { queries: [{ system: 'mysql', text: 'SELECT 1', start: 10, source: 'span' }], omitted: 0 } },
      init,
    ),
    'GET /x took 100 ms.',
    'the time of a query that is not over is not known',
  )
  t.equal(
    sentenceOf(
      { events, http: { calls: [{ client: 'fetch', method: 'GET', url: 'http://x/', start: 10 }], omitted: 0 } },
      init,
    ),
    'GET /x took 100 ms.',
  )
  t.equal(sentenceOf({}, { ...init, duration: 0.9 }), 'GET /x took 0.90 ms.')
  const stream = createProfile(
    { events: { spans: spansOf(12), dropped: 0 } },
    { ...init, contentType: 'text/event-stream' },
  )
  t.ok(
    summarizeProfile({ profile: stream, earlier: [], findings: [] }).parts.some(
      ({ label }) => label === 'Event stream',
    ),
  )
})

t.test('a slow listener is named with the line where it was registered', async t => {
  const spans = [
    [null, 'kernel.request', 0, 90_000],
    [10, 'GeoListener.onRequest', 0, 80_000, 0],
    [5, 'OtherListener.onRequest', 81_000, 8_000, 0],
  ]
  const listeners = [
    { event: 'kernel.request', name: 'GeoListener.onRequest', priority: 10, site: 'geo/geo-bundle.ts:12' },
  ]
  const init = { duration: 100, url: '/x' }
  t.equal(
    sentenceOf({ events: { spans, dropped: 0 } }, { ...init, processData: { events: { listeners } } }),
    'GET /x took 100 ms: listeners of kernel.request took 88 ms, most of it in GeoListener.onRequest (geo/geo-bundle.ts:12).',
  )
  t.equal(
    sentenceOf({ events: { spans: spans.slice(0, 2), dropped: 0 } }, init),
    'GET /x took 100 ms: listener GeoListener.onRequest took 80 ms.',
  )
  const even = [spans[0], ...[0, 1, 2].map(index => [5, `Part${index}.on`, index * 30_000, 30_000, 0])]
  t.equal(
    sentenceOf({ events: { spans: even, dropped: 0 } }, init),
    'GET /x took 100 ms: listeners of kernel.request took 90 ms.',
  )
  const waits = [[0, 80_000, 80_000]]
  t.equal(
    sentenceOf({ events: { spans: spans.slice(0, 2), dropped: 0, waits } }, init),
    'GET /x took 100 ms: listener GeoListener.onRequest waited 80 ms.',
  )
  t.equal(
    sentenceOf({ events: { spans, dropped: 0, waits } }, init),
    'GET /x took 100 ms: listeners of kernel.request waited 80 ms.',
    'which of two listeners has waited is not known',
  )
})

t.test('the sentence of a failed request leads with the exception, and has no other cause', async t => {
  const frames = [
    { call: 'query', file: 'node_modules/pg/lib/client.js', line: 3, origin: 'vendor', package: 'pg' },
    { call: 'list', file: 'blog/list.ts', line: 24, origin: 'application' },
  ]
  const exceptions = [{ name: 'TypeError', message: 'Cannot read\n properties of undefined.', frames }]
  const data = { exception: { exceptions, excerpts: [] }, queries: { queries: queriesOf(50, 7), omitted: 0 } }
  const init = { duration: 412, status: 500, exception: 'TypeError', url: '/blog', errors: 1 }
  t.equal(
    sentenceOf(data, init, { findings: [finding] }),
    'GET /blog failed with 500 after 412 ms: TypeError at blog/list.ts:24: Cannot read properties of undefined.',
  )
  t.equal(sentenceOf({}, { ...init, status: 404 }), 'GET /blog failed with 404 after 412 ms: TypeError.')
  t.equal(sentenceOf({}, { ...init, status: 0 }), 'GET /blog had no response after 412 ms: TypeError.')
  t.equal(
    sentenceOf(data, { ...init, outcome: 'crashed' }),
    'GET /blog ended with the process after 412 ms: TypeError at blog/list.ts:24: Cannot read properties of undefined.',
  )
  t.equal(
    sentenceOf({ exception: { ...data.exception, late: 1 } }, { ...init, status: 200, outcome: 'crashed' }),
    'GET /blog took 412 ms, and ended the process later: TypeError at blog/list.ts:24: Cannot read properties of undefined.',
  )
  t.equal(
    sentenceOf({ exception: data.exception }, { ...init, status: 200, exception: 'TypeError' }),
    'GET /blog took 412 ms; exception: TypeError.',
    'an exception that a listener handled',
  )
})

t.test('an error without a place has that of the work that failed with its message', t => {
  const message = 'WRONGTYPE Operation against a key'
  const exception = { exceptions: [{ name: 'ReplyError', message, frames: [] }], excerpts: [] }
  const init = { duration: 4, status: 500, exception: 'ReplyError', url: '/blog' }
  const sentence = (queries: Parameters<typeof createQuery>[0][]) =>
    sentenceOf({ exception, queries: { queries: queries.map(createQuery), omitted: 0 } }, init)
  const caller = { function: 'push', file: 'shop/cart.ts', line: 7, column: 5 }
  const failed = 'GET /blog failed with 500 after 4.0 ms: ReplyError'
  t.equal(sentence([{ error: 'other' }, { error: message, caller }]), `${failed} at shop/cart.ts:7: ${message}.`)
  t.equal(sentence([{ error: 'other' }, {}]), `${failed}: ${message}.`)
  t.end()
})

t.test('a failed request names the innermost reason of its exception, and both ends of a long message', async t => {
  const reasonOf = (exception: object) => {
    const exceptions = [{ name: 'Error', message: '', frames: [], ...exception }]
    const init = { duration: 4, status: 500, exception: 'Error', url: '/blog' }
    return sentenceOf({ exception: { exceptions, excerpts: [] } }, init).replace(/^.*?ms: /, '')
  }
  const refused = { name: 'Error', message: 'connect ECONNREFUSED ::1:1.', frames: [] }
  const both = { name: 'AggregateError', message: '', frames: [], errors: [refused, { ...refused, message: 'later' }] }
  const expected: [object, string][] = [
    [{ message: 'fetch failed', cause: refused }, 'Error: fetch failed, caused by connect ECONNREFUSED ::1:1.'],
    [{ message: 'fetch failed', cause: both }, 'Error: fetch failed, caused by connect ECONNREFUSED ::1:1.'],
    [{ message: 'fetch failed', cause: { ...both, errors: [] } }, 'Error: fetch failed.'],
    [both, 'AggregateError: connect ECONNREFUSED ::1:1.'],
    [{ message: 'Not valid', errors: [refused] }, 'Error: Not valid: connect ECONNREFUSED ::1:1.'],
    [{ message: 'It was: connect ECONNREFUSED ::1:1!', cause: refused }, 'Error: It was: connect ECONNREFUSED ::1:1!.'],
    [
      { message: `insert ${'a '.repeat(90)}\n- users.email is not unique` },
      `Error: insert ${'a '.repeat(25)}a … ${'a '.repeat(16)}- users.email is not unique.`,
    ],
    [{ message: 'x'.repeat(200) }, `Error: ${'x'.repeat(60)} … ${'x'.repeat(60)}.`],
  ]
  t.strictSame(
    expected.map(([exception]) => reasonOf(exception)),
    expected.map(([, text]) => text),
  )
})

t.test('without a route, the sentence names the nearest one, or the methods of the path', async t => {
  const exception = { exceptions: [{ name: 'KERNEL_NO_ROUTE', message: 'No route found for "GET /blgo"', frames: [] }] }
  const nearest = [{ name: 'blog', path: '/blog', position: 1, reason: 'path', text: 'Path does not match' }]
  const router = { outcome: 'not-found', path: '/blgo', nearest, total: 1 }
  const init = { duration: 5, url: 'http://localhost/blgo', exception: 'KERNEL_NO_ROUTE', status: 404 }
  const start = 'GET /blgo failed with 404 after 5.0 ms: KERNEL_NO_ROUTE: '
  t.equal(sentenceOf({ exception, router }, init), `${start}no route matches, the nearest is /blog.`)
  t.equal(
    sentenceOf({ exception, router: { ...router, allow: ['GET', 'POST'] } }, init),
    `${start}the path takes GET, POST.`,
  )
  t.equal(
    sentenceOf({ exception, router: { ...router, nearest: [] } }, init),
    `${start}No route found for "GET /blgo".`,
  )
})

t.test('the sentence says how the request ended', async t => {
  const init = { url: 'http://localhost:8000/blog', duration: 12 }
  t.equal(sentenceOf({}, { ...init, outcome: 'aborted' }), 'GET /blog took 12 ms and was aborted by the client.')
  t.equal(sentenceOf({}, { ...init, outcome: 'stream-failed' }), 'GET /blog broke off after 12 ms.')
  t.equal(sentenceOf({}, { ...init, outcome: 'unfinished' }), 'GET /blog was not complete after 12 ms.')
  t.equal(sentenceOf({}, { ...init, status: 422, method: 'POST' }), 'POST /blog was answered with 422 in 12 ms.')
  const response = { headers: [['location', 'http://localhost:8000/news']] }
  t.equal(sentenceOf({ response }, { ...init, status: 302 }), 'GET /blog redirected to /news in 12 ms.')
  t.equal(sentenceOf({}, { ...init, status: 304 }), 'GET /blog took 12 ms.')
  t.equal(
    sentenceOf({}, { ...init, parent: 'ffffff', controller: 'ShopController.price' }),
    'Sub-request ShopController.price took 12 ms.',
  )
  t.equal(sentenceOf({}, { ...init, parent: 'ffffff', controller: null }), 'Sub-request GET /blog took 12 ms.')
  t.equal(sentenceOf({}, { ...init, errors: 2, warnings: 1 }), 'GET /blog took 12 ms; 2 errors logged.')
  t.equal(sentenceOf({}, { ...init, warnings: 1 }), 'GET /blog took 12 ms; 1 warning logged.')
  t.equal(sentenceOf({}, init, { findings: [{ ...finding, severity: 'info' }] }), 'GET /blog took 12 ms.')
})

t.test('a difference from the usual time is named from half as much on, with five earlier requests', async t => {
  const times = { count: 5, median: 100, p95: 120 }
  t.equal(compareWithUsual(149, times), undefined)
  t.strictSame(compareWithUsual(150, times), { factor: 1.5, isSlower: true })
  t.strictSame(compareWithUsual(50, times), { factor: 2, isSlower: false })
  t.equal(compareWithUsual(500, { ...times, count: 4 }), undefined)
  t.equal(compareWithUsual(5, { ...times, median: 1 }), undefined, 'milliseconds are noise')
  const init = { url: '/', duration: 100 }
  const earlier = earlierOf(...Array(5).fill(5))
  t.equal(sentenceOf({}, init, { earlier }), 'GET / took 100 ms, 20 times as long as usual.')
  const cold = earlier.map(summary => ({ ...summary, isCold: true }))
  t.equal(sentenceOf({}, init, { earlier: cold }), 'GET / took 100 ms.', 'cold requests are no measure')
  t.equal(sentenceOf({}, { ...init, isCold: true }, { earlier }), 'GET / took 100 ms.', 'nor is one compared')
  const slow = earlierOf(20, 20, 20, 20, 20)
  t.equal(sentenceOf({}, { url: '/', duration: 10 }, { earlier: slow }), 'GET / took 10 ms.', 'not faster by itself')
  const afterEdit = (...now: readonly number[]) => {
    const sinceEdit = { times: compareTimes(slow, earlierOf(...now)) } as SinceEdit
    return sentenceOf({}, { url: '/', duration: 10 }, { earlier: slow, sinceEdit })
  }
  t.equal(afterEdit(10, 10, 11, 12), 'GET / took 10 ms, 2 times as fast as before the edit.')
  t.equal(afterEdit(10, 20, 11, 20), 'GET / took 10 ms.', 'other requests since the edit are as slow as before')
  t.equal(afterEdit(10, 10), 'GET / took 10 ms.', 'too few since the edit')
  t.equal(
    sentenceOf({}, { ...init, outcome: 'aborted' }, { earlier }),
    'GET / took 100 ms and was aborted by the client.',
  )
})

t.test('earlier requests are divided by the start of the process', async t => {
  const started = '2026-11-20T23:15:06.500Z'
  const profile = (server: object) => createProfile({}, { processData: { server } })
  const readUsualTime = (profile: Profile, earlier: readonly ProfileSummary[]) =>
    summarizeProfile({ profile, earlier, findings: [] }).usual
  const usual = readUsualTime(profile({ process: { started } }), earlierOf(1, 2, 3, 4))
  t.strictSame(
    { ...usual, lastBefore: usual.lastBefore?.duration },
    {
      count: 4,
      median: 2,
      p95: 4,
      since: { count: 2, median: 1, p95: 2 },
      before: { count: 2, median: 3, p95: 4 },
      lastBefore: 3,
      start: Date.parse(started),
    },
  )
  const first = readUsualTime(profile({ process: { started: '2026-11-20T23:15:09.000Z' } }), earlierOf(1, 2))
  t.hasStrict(first, { since: undefined, start: Date.parse('2026-11-20T23:15:09.000Z') })
  const unknown = readUsualTime(profile({ process: { started: 'yesterday' } }), earlierOf(1, 2))
  t.hasStrict(unknown, { count: 2, before: undefined, since: undefined, start: undefined, lastBefore: undefined })
  t.hasStrict(readUsualTime(createProfile({}), []), { count: 0, median: 0, p95: 0 })
})

t.test('the sentence of any profile is short, and its numbers are those of the profile', async t => {
  const text = fc.string({ unit: anyCharacter, maxLength: 300 })
  const caller = fc.record({ file: fc.option(text, { nil: undefined }), line: fc.nat(99) })
  const times = { start: fc.nat(100), end: fc.option(fc.nat(200), { nil: undefined }) }
  const data = fc.oneof(
    fc.dictionary(
      fc.constantFrom('events', 'queries', 'http', 'exception', 'memory', 'templates', 'response'),
      fc.jsonValue(),
    ),
    fc.record({
      queries: fc.record({
        queries: fc.array(
          fc.record({ system: fc.constantFrom('mysql', 'redis'), text, caller, source: fc.constant('span'), ...times }),
        ),
        omitted: fc.nat(9),
      }),
      http: fc.record({
        calls: fc.array(fc.record({ client: fc.constant('fetch'), method: text, url: text, caller, ...times })),
        omitted: fc.nat(9),
      }),
      exception: fc.record({
        exceptions: fc.array(
          fc.record({
            name: text,
            message: text,
            frames: fc.array(fc.record({ call: text, file: text, origin: fc.constant('application') })),
          }),
        ),
        excerpts: fc.constant([]),
      }),
      response: fc.record({ headers: fc.array(fc.tuple(fc.constantFrom('location', 'etag'), text)) }),
    }),
  )
  const init = fc.record({
    method: text,
    url: text,
    duration: fc.double({ min: 0, max: 1e6, noNaN: true }),
    status: fc.constantFrom(0, 200, 301, 404, 500),
    outcome: fc.constantFrom('complete', 'aborted', 'stream-failed', 'crashed', 'unfinished'),
    controller: fc.option(text),
    exception: fc.option(text),
    parent: fc.option(fc.constant('ffffff')),
    errors: fc.nat(),
    warnings: fc.nat(),
  } as const)
  const title = text.map(title => ({ ...finding, title }))
  fc.assert(
    fc.property(data, init, fc.array(fc.nat(1000)), fc.array(title), (data, init, durations, findings) => {
      const profile = createProfile(data, init)
      const overview = summarizeProfile({ profile, earlier: earlierOf(...durations), findings })
      const sentence = toPlainText(overview.sentence)
      assert(sentence.length <= 240 && !/\p{Cc}/u.test(sentence), sentence)
      assert(sentence.includes(formatDuration(profile.summary.duration)))
      const { duration } = profile.summary
      // As the lists have it: work at the same time counts once, and the time of work that has not ended is not known.
      const known = workKinds.map(({ list }) => {
        const within = list(profile).flatMap(({ end, start }) =>
          start < duration && end !== undefined ? [{ start, end: Math.min(end, duration) }] : [],
        )
        return formatDuration(coveredWorkTime(within, []))
      })
      const named = [
        ...sentence.matchAll(/\d (?:query|queries|cache calls?|HTTP client calls?) took ([\d.]+ m?s)/g),
      ].map(([, time = '']) => time)
      assert.deepEqual(
        named.filter(time => !known.includes(time)),
        [],
        sentence,
      )
    }),
  )
  t.pass('each of them')
})

t.test('what a request has caused and has failed is said, of a job by its last attempt', async t => {
  const unit = (token: string, fields: Partial<ProfileSummary>) =>
    createSummary({ token, type: 'job', route: 'job mail ship', status: 0, outcome: 'complete', ...fields })
  const say = (...caused: ProfileSummary[]) => sentenceOf({}, { duration: 9 }, { caused })
  const failed = { outcome: 'failed', exception: 'RangeError' } as const
  const first = unit('aaaaaa', { job: 'mail:1', ...failed })
  t.equal(say(first), 'GET /somewhere took 9.0 ms; job mail ship failed with RangeError.')
  t.equal(say(first, unit('bbbbbb', { job: 'mail:1' })), 'GET /somewhere took 9.0 ms.', 'the second attempt is done')
  t.equal(
    say(first, unit('bbbbbb', { job: 'mail:1', ...failed }), unit('cccccc', { ...failed, exception: null })),
    'GET /somewhere took 9.0 ms; job mail ship failed with RangeError, and 1 more failed.',
  )
})

t.test('the sub-requests of a page are named with their work, and those that have failed', async t => {
  const [status, time] = [200, { duration: 100 }]
  const part = (fields: Partial<ProfileSummary>) =>
    createSummary({ status, parent: 'abcdef', controller: 'part', duration: 10, ...fields })
  const spans = [0, 1, 2].map(index => ['request', `fffff${index}`, 10_000 + index * 20_000, 20_000, -1])
  const say = (children: ProfileSummary[], init: ProfileInit = {}, data: Profile['data'] = {}) =>
    sentenceOf(
      { events: { spans: [...spansOf(92), ...spans], dropped: 0 }, ...data },
      { ...time, ...init },
      { children },
    )
  const begin = 'GET /somewhere took 100 ms: 3 sub-requests took 60 ms'
  const end = ', controller SomeController took 30 ms'
  const good = part({})
  t.equal(say([]), `${begin}${end}.`)
  t.equal(
    say([part({ duration: 40, calls: 1 }), good]),
    `${begin}, most of it in part (with 1 HTTP client call)${end}.`,
  )
  t.equal(say([part({ queries: 2 }), part({ queries: 1 })]), `${begin} (with 3 queries)${end}.`)

  const failed = part({ status: 500, exception: 'RangeError' })
  t.match(say([good, failed]), 'took 100 ms; 1 sub-request failed: part with RangeError; 3 sub-requests took')
  t.match(say([failed, good, part({ status: 0 })]), '; 2 sub-requests failed, the first: part with RangeError; ')
  for (const other of [
    part({ status: 404 }),
    part({ status: 500, controller: 'error_controller' }),
    part({ status: 0, outcome: 'unfinished' }),
  ])
    t.notMatch(say([other]), 'failed')

  const exceptions = [{ name: 'KERNEL_FRAGMENT_FAILED', message: 'The fragment failed.', frames: [], relation: '' }]
  const init = { status: 500, exception: 'KERNEL_FRAGMENT_FAILED' }
  t.match(
    say([failed, failed, failed, good], init, { exception: { exceptions } }),
    'failed, and 2 more sub-requests failed.',
  )
  t.notMatch(say([failed, good], init, { exception: { exceptions } }), 'more')
})
