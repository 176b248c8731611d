import type { Request } from 'sinfonietta'
import { t } from 'tap'
import { findChildren } from '#bundles/profiler/insight/relatives.ts'
import type { createTimeline } from '#bundles/profiler/panels/timeline.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { defineController } from '#kernel/controller.ts'
import { Response } from '#lib/http/response.ts'
import { createProfile, createQuery, createShown } from '#tests/support/create-profile.ts'
import { plainEquals, toText } from '#tests/support/html.ts'
import { createProfiledKernel, shareKernel } from '#tests/support/profiled-kernel.ts'

const { panel, show } = await shareKernel()
const timePanel = panel('time')

const spans = [
  [null, 'kernel.request', 0, 1000],
  [8, 'SessionListener.onRequest', 10, 200],
  [null, 'kernel.controller', 1050, 20],
  [null, 'kernel.controller_arguments', 1100, 10],
  [null, 'custom.event', 1200, 600],
  [0, 'listen', 1210, 500, 4, 2],
  ['request', 'bcd234', 1900, 1000],
  [null, 'kernel.response', 3110, 1800],
  [-1000, 'SessionListener.onResponse', 3200, 800],
  [null, 'kernel.finish_request', 4950, 10],
  [null, 'kernel.terminate', 9000, 500],
  [0, 'Mailer.onTerminate', 9010, 450],
]

const measured = [
  {
    name: 'query',
    category: 'database',
    periods: [
      [1150, 30],
      [1300, 200],
    ],
    dropped: 3,
    isRunning: false,
  },
  { name: 'open', category: 'default', periods: [[4000, 10]], isRunning: true },
]

const data = {
  events: { spans, dropped: 0 },
  time: { measured, dropped: 2 },
  templates: {
    renders: [
      { name: 'page', parent: -1, start: 2.95, duration: 0.1 },
      { name: 'part', parent: 0, start: 2.96, duration: 0.01, hasFailed: true },
      { name: 'part', parent: 0, start: 2.98, duration: 0.02 },
    ],
  },
  http: {
    calls: [
      { method: 'GET', url: 'https://shop.test/a', start: 1.2, end: 2.2, status: 200 },
      { method: 'GET', url: 'https://shop.test/a', start: 1.3, status: 0 },
      { method: 'PUT', url: 'https://shop.test/b', start: 1.25, end: 1.3, error: 'refused' },
    ],
  },
  logger: {
    records: [
      { level: 'info', at: 1, message: 'nothing' },
      { level: 'warning', at: 1500, message: 'slow' },
      { level: 'critical', at: 2000, message: 'down' },
    ],
  },
  memory: {
    wall: 9,
    peak: 96 * 1024 * 1024,
    cpu: { user: 1, system: 0.5 },
    loop: { idle: 4.5 },
    pauses: { count: 2, longest: [{ start: 0.5, duration: 0.1 }, { start: 3 }] },
  },
}

const inner = createProfile(
  {
    events: { spans: [[null, 'kernel.request', 100, 300]] },
    logger: { records: [{ level: 'error', at: 50, message: 'within' }] },
  },
  { token: 'bcd234', parent: 'abc123', controller: 'inner', duration: 0.9 },
)

const findInner = async ({ summary }: Profile) => (summary.token === 'abc123' ? [inner] : [])
const shown = createShown(data, { findChildren: findInner })

type TimelineView = ReturnType<typeof createTimeline>

async function view(of: typeof shown): Promise<TimelineView> {
  const { timeline } = await timePanel.toView(of)
  return timeline as TimelineView
}

const depthOf = (className: string) => Number(/depth-(\d)/.exec(className)?.[1])
const all = { ...shown, query: new URLSearchParams({ threshold: '0' }) }

t.test('each duration is a row within its parent, also in sub-requests', async t => {
  const { lines } = await view(all)
  t.strictSame(
    lines.map(({ className, duration, name, ownTime }) => [depthOf(className), name, duration, ownTime]),
    [
      [0, 'GET /somewhere?q=1', '5.0 ms', '0.040 ms'],
      [1, 'kernel.request', '1.0 ms', '0.80 ms'],
      [2, 'SessionListener.onRequest', '0.20 ms', ''],
      [1, 'controller.get_callable', '0.050 ms', ''],
      [1, 'kernel.controller', '0.020 ms', ''],
      [1, 'controller.get_arguments', '0.030 ms', ''],
      [1, 'kernel.controller_arguments', '0.010 ms', ''],
      [1, 'controller SomeController', '2.0 ms', '0.27 ms'],
      [2, 'query', '0.23 ms', '0.030 ms'],
      [2, 'custom.event', '0.60 ms', '0 ms'],
      [3, 'GET shop.test/a', '1.0 ms', ''],
      [3, 'listen', '0.50 ms', '0.040 ms'],
      [4, 'PUT shop.test/b', '0.050 ms', ''],
      [4, 'GET shop.test/a', '3.7 ms', ''],
      [2, 'Sub-Request inner', '1.0 ms', '0.70 ms'],
      [3, 'kernel.request', '0.30 ms', ''],
      [2, 'page', '0.10 ms', '0.070 ms'],
      [3, 'part', '0.030 ms', ''],
      [1, 'kernel.response', '1.8 ms', '0.99 ms'],
      [2, 'SessionListener.onResponse', '0.80 ms', ''],
      [2, 'open', '0.010 ms', ''],
      [1, 'kernel.finish_request', '0.010 ms', ''],
      [1, 'response.send', '4.0 ms', ''],
      [1, 'kernel.terminate', '0.50 ms', '0.050 ms'],
      [2, 'Mailer.onTerminate', '0.45 ms', ''],
    ],
  )
})

t.test('rows link to their details, and show problems', async t => {
  const { lines } = await view(all)
  const find = (name: string) => lines.filter(line => line.name === name)
  const record = '/_profiler/abc123?panel='
  t.hasStrict(find('controller SomeController'), [{ link: `${record}events#controller` }])
  t.hasStrict(find('listen'), [{ link: `${record}events#span-5`, problem: 'threw', isBad: true }])
  t.hasStrict(find('part'), [{ link: `${record}templates#render-1`, problem: 'failed', times: '2 times' }])
  t.match(find('GET shop.test/a'), [
    { link: `${record}http#call-0`, note: '200', problem: '' },
    { link: `${record}http#call-1`, note: '', problem: 'not finished', isBad: false, className: /is-open/ },
  ])
  t.hasStrict(find('PUT shop.test/b'), [{ problem: 'failed' }])
  t.hasStrict(find('Sub-Request inner'), [{ link: '/_profiler/bcd234?panel=time' }])
  t.hasStrict(find('kernel.request'), [
    { detail: '0 ms to 1.0 ms' },
    { link: '/_profiler/bcd234?panel=events#span-0', detail: '2.0 ms to 2.3 ms' },
  ])
  t.hasStrict(find('query'), [{ link: '', note: 'database', detail: '1.1 ms to 1.5 ms' }])
  t.hasStrict(find('open'), [{ note: '', problem: 'not stopped' }])
})

t.test('a controller without a name is one nevertheless', async t => {
  const unnamed = (profile: Profile) => ({ ...profile, summary: { ...profile.summary, controller: null } })
  const found = async (of: Profile) => (await findInner(of)).map(unnamed)
  const { lines } = await view({ ...all, profile: unnamed(shown.profile), findChildren: found })
  t.ok(lines.some(({ name }) => name === 'controller'))
})

t.test('the kinds of rows are listed; warnings and the garbage collector have lanes', async t => {
  const { kinds, marks, moreMarks, pauseCount, pauses, pauseTime } = await view(shown)
  t.strictSame(
    kinds.map(({ category }) => category),
    ['kernel', 'event', 'listener', 'controller', 'template', 'http', 'stopwatch', 'request'],
  )
  t.hasStrict(marks, [
    { isError: false, title: 'warning at 1.5 ms: slow', link: '/_profiler/abc123?panel=logger#log-1' },
    { isError: true, title: 'critical at 2.0 ms: down', link: '/_profiler/abc123?panel=logger#log-2' },
    { isError: true, title: 'error at 1.9 ms: within', link: '/_profiler/bcd234?panel=logger#log-0' },
  ])
  t.equal(moreMarks, 0)
  t.strictSame({ pauseCount, pauseTime, pauses: pauses.length }, { pauseCount: 2, pauseTime: '0.10 ms', pauses: 2 })
})

t.test('threshold and categories are chosen in the URL', async t => {
  const hidden = async (parameters: string) => {
    const { hidden, lines } = await view({ ...shown, query: new URLSearchParams(parameters) })
    return { hidden, names: lines.filter(({ isHidden }) => isHidden).map(({ name }) => name) }
  }
  t.strictSame(await hidden('threshold=0'), { hidden: 0, names: [] })
  const usual = await hidden('')
  t.strictSame(await hidden('threshold=7&show=nope'), usual, 'invalid parameters are ignored')
  t.strictSame(usual, { hidden: 0, names: [] }, 'of a short request all can be seen')
  const long = await hidden('threshold=1')
  t.equal(long.hidden, 17)
  t.equal(long.names.length, 17)
  t.notOk(long.names.includes('controller SomeController'))
  const calls = await hidden('threshold=0&show=http&show=event')
  t.equal(calls.hidden, 25 - 5)
  t.equal(calls.names.length, 25 - 5)
  const view1 = await timePanel.toView({ ...shown, query: new URLSearchParams('threshold=1&show=http') })
  t.hasStrict(view1.thresholds, [{ isSelected: false }, {}, {}, { value: '1', isSelected: true }, {}, {}])
  t.match((view1.timeline as TimelineView).kinds, [
    { isShown: false },
    {},
    {},
    {},
    {},
    { category: 'http', isShown: true },
  ])
})

t.test('a long profile shows its longest rows by default, and all on request', async t => {
  const many = Array.from({ length: 400 }, (_, index) => [null, `event.${index}`, index * 10, index === 7 ? 0 : 9])
  const periods = Array.from({ length: 50 }, (_, index) => [index * 90, 10])
  const watched = Array.from({ length: 200 }, (_, index) => ({ name: `query ${index}`, periods }))
  const records = Array.from({ length: 70 }, () => ({ level: 'warning', at: 9, message: 'w'.repeat(500) }))
  const long = createShown({ events: { spans: many }, time: { measured: watched }, logger: { records } })
  const { lines, moreMarks, omitted } = await view(long)
  t.equal(lines.length, 90)
  t.equal(omitted, 511)
  t.equal(moreMarks, 40)
  t.ok(
    lines.every(({ own }) => own.length <= 10),
    'bars are joined when there are too many',
  )
  const { lines: every } = await view({ ...long, query: new URLSearchParams('rows=all') })
  t.equal(every.length, 601)
  const html = await show('time', long)
  t.ok(html.length < 50_000, `${html.length} characters are little enough for the page to be below 60 kB`)
  t.match(toText(html), '511 of 601 rows are hidden. Show all')
  t.match(plainEquals(html), 'href="/_profiler/abc123?panel=time&amp;rows=all&amp;threshold=0"')
  t.match(await show('time', { ...long, query: new URLSearchParams('rows=all') }), 'name="rows"')
})

t.test('in a part of the axis, rows of this part come before others', async t => {
  const many = Array.from({ length: 400 }, (_, index) => [null, `event.${index}`, index * 10, index < 200 ? 9 : 5])
  const long = createShown({ events: { spans: many } })
  const namesIn = async (query: string) =>
    (await view({ ...long, query: new URLSearchParams(query) })).lines.map(({ name }) => name)
  t.notOk((await namesIn('threshold=0')).includes('event.250'))
  const part = await view({ ...long, query: new URLSearchParams('threshold=0&from=2&to=3') })
  t.ok(part.lines.some(({ name }) => name === 'event.250'))
  t.hasStrict(part, { zoom: { from: '2', to: '3' }, plot: { x: '-200%', width: '500%' } })
  t.hasStrict(part.ticks.at(0), { x: '0%', label: '2 ms' })
  const html = plainEquals(await show('time', { ...long, query: new URLSearchParams('threshold=0&from=2&to=3&x=1') }))
  t.match(html, '<svg x="-200%" width="500%">')
  t.match(html, '<a class="button small" data-zoom="reset" href="/_profiler/abc123?panel=time&amp;threshold=0">')
})

t.test('the slowest rows by own time are listed first, and rows name what they waited for', async t => {
  const { lines, slowest } = await view(shown)
  t.hasStrict(slowest.slice(0, 3), [
    { name: 'response.send', time: '4.0 ms' },
    { name: 'GET shop.test/a', time: '3.7 ms', category: 'http' },
    { name: 'GET shop.test/a', time: '1.0 ms' },
  ])
  t.equal(slowest.length, 10)
  const controller = lines.find(({ name }) => name === 'controller SomeController')
  t.equal(controller?.detail, '1.1 ms to 3.1 ms, waiting 1.9 ms for HTTP client calls, 1.0 ms for sub-requests')
  t.equal(controller?.awaited.length, 1, 'it is one line, whatever it waited for')
  const query = { system: 'postgresql', start: 1, end: 2, caller: {} }
  const texts = ['SELECT * FROM "orders"  WHERE id = ?', 'COMMIT', 'INSERT INTO visits VALUES (?)']
  const queries = [...texts.map(text => ({ ...query, text })), { ...query, system: 'redis', text: 'GET a:?' }]
  const { lines: named } = await view(createShown({ queries: { queries } }))
  t.strictSame(
    named.slice(1).map(({ name, text }) => [name, text]),
    [
      ['SELECT … orders', 'SELECT * FROM "orders" WHERE id = ?'],
      ['COMMIT', ''],
      ['INSERT … visits', 'INSERT INTO visits VALUES (?)'],
      ['GET a:?', ''],
    ],
  )
})

t.test('an unfinished call lasts until the profile was made', async t => {
  const hung = createShown({ events: { spans: spans.slice(0, 4) } })
  t.hasStrict((await view(hung)).lines.at(-1), {
    name: 'controller SomeController',
    duration: '3.9 ms',
    problem: 'not finished',
  })
  const within = [
    [null, 'kernel.request', 0, null],
    [0, 'Hanging.onRequest', 10, null],
    ['request', 'no token', 20, null, 1],
  ]
  const { lines } = await view(createShown({ events: { spans: within } }))
  t.hasStrict(lines.slice(1), [
    { name: 'kernel.request', duration: '5.0 ms', problem: 'not finished' },
    { name: 'Hanging.onRequest', duration: '5.0 ms' },
    { name: 'Sub-Request', link: '' },
  ])
  const late = createShown({ events: { spans: [[null, 'kernel.controller_arguments', 0, null]] } })
  t.equal((await view(late)).lines.length, 2, 'the gap begins where the event ends')
})

t.test('work after the response has a separate part, drawn smaller if it is long', async t => {
  const afterOf = async (duration: number) => {
    const after = [
      [null, 'kernel.finish_request', 4900, 50],
      [null, 'kernel.terminate', 6000, duration],
    ]
    return (await view(createShown({ events: { spans: after } }))).after
  }
  t.strictSame(await afterOf(1500), { x: '80%', width: '20%', end: '' })
  t.strictSame(await afterOf(60_000), { x: '70%', width: '30%', end: '66 ms' })
  t.equal(await afterOf(0), false)
  t.equal(await afterOf(50), false, 'too narrow to be seen')
})

t.test('the metrics show the total, what was waited for, and the use of the process', async t => {
  const { metrics } = await timePanel.toView(shown)
  t.strictSame(metrics, [
    { name: 'Total execution time', value: '5.0 ms', isMinor: true },
    { name: 'HTTP client calls', value: '3 in 3.8 ms', isMinor: true },
    { name: 'Sub-requests', value: '1 in 1.0 ms', isMinor: true },
    { name: 'On CPU', value: '1.5 ms (17 %)' },
    { name: 'Event loop idle', value: '4.5 ms (50 %)' },
    { name: 'Heap at the end', value: '12 MiB', isMinor: true },
    { name: 'Peak memory usage', value: '96 MiB', isMinor: true },
  ])
})

t.test('metrics that include sub-requests have the number of the request itself', async t => {
  const { summary } = inner
  const calls = [{ method: 'GET', url: 'https://shop.test/c', start: 0.1, end: 0.2, status: 200 }]
  const first = createProfile({ events: { spans: [[null, 'kernel.request', 100, 300]] }, http: { calls } }, summary)
  const late = { method: 'GET', url: 'https://shop.test/d', start: 2.95, end: 3, status: 200 }
  const profile = createProfile({ ...data, http: { calls: [...data.http.calls, late] } })
  const { metrics } = await timePanel.toView({
    ...shown,
    profile,
    findChildren: async other => (other === profile ? [first] : []),
  })
  t.match(metrics, [{}, { name: 'HTTP client calls', value: /^5 \(4 direct\) in/ }, { value: /^1 in/ }])
  const more = { ended: 5, failed: 0, longest: 1, total: 3, periods: [[0.5, 1]] }
  const counted = createProfile({ http: { calls, omitted: 5, more } }, { calls: 6 })
  const ofCounted = await timePanel.toView(createShown({}, { profile: counted }))
  t.match(ofCounted.metrics, [{}, { value: '6 in 1.1 ms' }], 'calls that were only counted, too')
  const within = createProfile({ http: { calls }, within: { calls: 300 } }, { calls: 1 })
  const ofWithin = await timePanel.toView(createShown({}, { profile: within }))
  t.match(ofWithin.metrics, [{}, { value: '301 (1 direct) in at least 0.10 ms' }], 'sub-requests that are not read')
  const early = createProfile({ events: { spans: [[null, 'kernel.finish_request', 900, 100]] } })
  const { metrics: ofEarly } = await timePanel.toView(createShown({}, { profile: early }))
  t.match(ofEarly, [{ value: '5.0 ms' }, { name: 'Response ready', value: '1.0 ms' }], 'sending took time')
})

t.test('the page shows all rows, with bars that a strict policy allows', async t => {
  const html = plainEquals(await show('time', { ...all, parent: shown.profile.summary }))
  t.match(html, '5 more stopwatch measurements')
  t.match(html, 'The part on the right is after the response')
  t.match(html, /<tr id="row-\d+" class="of-controller depth-1" data-us="2000"><th scope="row">/)
  t.match(html, '<rect class="in" x="')
  t.match(html, '/_profiler/abc123?panel=time')
  t.match(html, '<option value="0" selected>0 ms</option>')
  t.notMatch(html, /style=|<script/)
})

t.test('without data, the request itself is shown', async t => {
  t.ok(timePanel.hasContent(createShown({}).profile))
  const { lines } = await view(createShown({}))
  t.hasStrict(lines, [{ name: 'GET /somewhere?q=1', own: [{ x: '0%', width: '100%' }], bars: [] }])
  const text = toText(await show('time', createShown({})))
  t.notMatch(text, 'after the response')
  t.match(await show('time', createShown({ time: { measured: [{}, 7, { periods: [[], 'x'] }] } })), 'Threshold')
})

t.test('a page of the profiler finds the sub-requests of a profile, and nested ones', async t => {
  const { client, profileOf, storage } = await createProfiledKernel(t, {
    register({ kernel, routes }) {
      const add = (name: string, answer: (request: Request) => unknown) =>
        routes.add({ name, path: `/${name}`, controller: defineController(name, answer) })
      const forward = (target: string) => (request: Request) =>
        kernel.handle(request.duplicate({ method: 'GET', target }), { catchErrors: false })
      add('outer', forward('/middle'))
      add('middle', forward('/innermost'))
      add('innermost', () => Response.html('<body>here</body>'))
    },
  })
  const profile = await profileOf(await client.get('/outer'))
  const { token } = profile.summary
  const { text: page } = await client.get(`/_profiler/${token}?panel=time&threshold=0`)
  t.match(page, /of-request depth-2.*of-request depth-4.*of-controller depth-5/s)
  t.match(toText(page), /Sub-Request middle .* Sub-Request innermost/)
  t.ok(page.length < 60_000)
  const { summaries } = await storage.search({ limit: 9 })
  const gone = { find: async () => undefined }
  t.strictSame(await findChildren(gone, summaries, profile), [], 'profiles that were deleted meanwhile')
})

t.test('the slowest rows have their places in the code', async t => {
  const spans = [
    [null, 'kernel.request', 0, 40_000],
    [8, 'Slow.onRequest', 0, 30_000, 0],
    [0, 'Unknown.onRequest', 30_000, 10_000, 0],
    [null, 'kernel.controller_arguments', 40_000, 10],
    [null, 'kernel.response', 90_000, 10],
  ]
  const caller = { function: 'load', file: 'src/load.ts', line: 3, column: 9 }
  const data = {
    events: { spans, dropped: 0 },
    queries: { queries: [createQuery({ start: 41, end: 60, caller })], omitted: 0 },
    http: {
      calls: [{ method: 'GET', url: 'http://a/', start: 61, end: 80, status: 200, caller: { file: 'src/call.ts' } }],
    },
  }
  const listeners = [{ event: 'kernel.request', name: 'Slow.onRequest', priority: 8, site: 'src/slow.ts:7' }]
  const init = { duration: 100, controller: 'star_photo_booth', processData: { events: { listeners } } }
  const html = plainEquals(await show('time', createProfile(data, init)))
  const [, slowest = ''] = /<section class="slowest"([\s\S]*?)<\/section>/.exec(html) ?? []
  const rows = [
    ...slowest.matchAll(/<a href="#row-\d+">([^<]+)<\/a>(?: <code><span class="place" data-at="([^"]+)">)?/g),
  ]
  t.match(Object.fromEntries(rows.map(([, name, at = '']) => [name, at])), {
    'Slow.onRequest': 'src/slow.ts:7:1',
    'Unknown.onRequest': /^$/,
    'SELECT … products': 'src/load.ts:3:1',
    'GET a/': /^$/,
    'controller star_photo_booth': /^bundles\/site\/site-bundle\.ts:\d+:1$/,
  })
})

t.test('a function of another server has its place, with which functions without a name differ', async t => {
  const spans = [
    [null, 'handler', 0, 50_000],
    ['function', 'anonymous', 0, 50_000, 0],
  ]
  const events = { spans, dropped: 0, places: [[1, 'shop/pages.js:27']] }
  const html = plainEquals(await show('time', createProfile({ events }, { duration: 50 })))
  t.match(html, 'anonymous</a> <code><span class="place" data-at="shop/pages.js:27:1">')
})

t.test('a slow sub-request and a slow template have their places', async t => {
  const spans = [
    [null, 'kernel.request', 0, 100],
    ['request', 'bbbbbb', 1000, 60_000, -1],
  ]
  const templates = { renders: [{ name: 'site/partnership', parent: -1, start: 70, duration: 20 }], omitted: 0 }
  const profile = createProfile({ events: { spans, dropped: 0 }, templates }, { duration: 100, children: ['bbbbbb'] })
  const child = createProfile({}, { token: 'bbbbbb', parent: 'abc123', controller: 'star_photo_booth', duration: 60 })
  const findChildren = async ({ summary: { token } }: Profile) => (token === 'abc123' ? [child] : [])
  const html = plainEquals(await show('time', { profile, findChildren }))
  const [, slowest = ''] = /<section class="slowest"([\s\S]*?)<\/section>/.exec(html) ?? []
  t.match(
    slowest,
    /Sub-Request star_photo_booth<\/a> <code><span class="place" data-at="bundles\/site\/site-bundle\.ts:\d+:1"/,
  )
  t.match(slowest, 'site/partnership</a> <code><span class="place" data-at="templates/site/partnership.hbs:1:1">')
})

t.test('awaited work has the time of its panel: without that in which the process did not run', async t => {
  const calls = [{ method: 'GET', url: 'https://shop.test/a', start: 1, end: 10, status: 200 }]
  const memory = { ...data.memory, blocks: [{ start: 4, duration: 3, away: 0 }], pauses: { count: 0, longest: [] } }
  const stopped = createShown({ ...data, memory, http: { calls } })
  t.match(toText(await show('time', stopped)), 'HTTP client calls 1 in 6.0 ms')
})

t.test('an asynchronous call has its time, its end and its place', async t => {
  const caller = { file: 'login.js', line: 12 }
  const asyncCalls = [
    { name: 'crypto.scrypt', start: 5, end: 25, caller },
    { name: 'child process', command: 'zip a.zip', start: 30, end: 40, exit: 'exit code 3' },
  ]
  const html = toText(await show('time', createShown({ time: { measured: [], dropped: 0, asyncCalls } })))
  t.match(html, /crypto\.scrypt.*login\.js:12/)
  t.match(html, /exit code 3/)
})
