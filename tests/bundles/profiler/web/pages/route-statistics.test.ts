import { t } from 'tap'
import { routesToJson, routesToMarkdown } from '#bundles/profiler/export/lists.ts'
import { gatherRoutes, parseRoutesRequest } from '#bundles/profiler/insight/routes.ts'
import { searchMains } from '#bundles/profiler/insight/search-list.ts'
import { EditorLinks } from '#bundles/profiler/panels/editor-links.ts'
import type { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { toRoutesView } from '#bundles/profiler/web/pages/routes-page.ts'
import { Response } from '#lib/http/response.ts'
import { RouteCollection } from '#lib/routing/route-collection.ts'
import { createRecord, createStorage, type RecordInit, tokenOf } from '#tests/support/create-profile.ts'
import { plainEquals, textOf } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { turns } from '#tests/support/turns.ts'

const routes = new RouteCollection()
routes.add({ name: 'shop', path: '/shop/:id', methods: ['GET', 'POST'], controller: () => Response.text('') })
routes.add({ name: 'cut', path: '/cut', controller: () => Response.text('') })

const editor = new EditorLinks({ directory: process.cwd(), routes })

const restart = Date.parse('2026-11-20T12:00Z')

/** A storage in which the profiles have consecutive tokens. */
function createNumbered(...records: readonly (RecordInit | readonly RecordInit[])[]) {
  return createStorage(...records.flat().map((record, index) => ({ token: tokenOf(index + 0x100000), ...record })))
}

/** The given number of requests of a route, before the restart or after it. */
function ask(count: number, side: 'before' | 'since', init: RecordInit): RecordInit[] {
  const time = side === 'before' ? restart - 1000 : restart
  return Array.from({ length: count }, (_, index) => ({ time: time + (side === 'before' ? -index : index), ...init }))
}

async function gather(storage: MemoryProfileStorage, query = '') {
  const wanted = parseRoutesRequest(new URLSearchParams(query))
  const { found, mains } = await searchMains(storage, wanted.listed)
  const report = gatherRoutes(found, wanted, { program: 'sinfonietta', startedAt: restart })
  return { report, wanted, view: toRoutesView(report, wanted, () => [routes, editor], mains) }
}

const names = ({ report }: Awaited<ReturnType<typeof gather>>) => report.routes.map(({ route }) => route)

t.test('each route has its statistics, and its worst profiles', async t => {
  const { report, view } = await gather(
    createNumbered(
      { route: 'shop', duration: 4, status: 500, time: 1 },
      { route: 'shop', duration: 9, status: 0, outcome: 'crashed', time: 5 },
      { route: 'shop', duration: 1 },
      { route: 'shop', duration: 2, status: 503, time: 3 },
      { route: 'shop', duration: 3, status: 404 },
      { route: 'shop', parent: 'abcdef' },
      { route: null },
      { route: 'cut', status: 200, outcome: 'stream-failed' },
    ),
  )
  t.match(report, {
    requests: 7,
    routes: [{ route: 'shop', count: 5, p50: 3, p95: 9, errors: 3 }, { route: 'cut', errors: 1 }, { route: null }],
  })
  const [shop, cut, none] = view.rows
  t.hasStrict(shop, {
    ...{ name: 'shop', methods: 'GET, POST', pattern: '/shop/:id' },
    link: '/_profiler/route?name=shop&program=sinfonietta',
    ...{ count: '5', total: '19 ms', p50: '3.0 ms', p95: '9.0 ms', p99: '–', errors: '3', clientErrors: '1' },
    ...{ slowest: '9.0 ms', slowestLink: '/_profiler/100001', failedLink: '/_profiler/100001' },
  })
  t.hasStrict(cut, { methods: 'any', errors: '1', clientErrors: '' })
  t.hasStrict(none, { name: '', link: '/_profiler/empty/search/results?status_code=404', errors: '', failedLink: '' })
  t.match(shop?.place, { place: 'shop', at: /route-statistics\.test\.ts:\d+:\d+$/ })
  t.equal(none?.place, false)
  t.strictSame([shop?.share, cut?.share, none?.share], ['65.5', '17.2', '17.2'])
  t.hasStrict(view, { hasP99: false })
})

t.test('the distributions of routes have one scale, and there is a p99 from 100 requests on', async t => {
  const { report, view } = await gather(
    createNumbered(
      [1, 1, 31, 1000].map(duration => ({ route: 'a', duration })),
      ask(100, 'before', { route: 'b', duration: 4 }),
      { route: '_profiler_home', duration: 5000 },
      { route: '_wdt', duration: 0 },
    ),
  )
  const countsOf = (name: string) => {
    const { distribution = [] } = report.routes.find(({ route }) => route === name) ?? {}
    return [distribution.length, ...distribution.flatMap((count, step) => (count === 0 ? [] : [[step, count]]))]
  }
  t.strictSame(countsOf('a'), [24, [0, 2], [11, 1], [23, 1]])
  t.strictSame(countsOf('b'), [24, [4, 100]])
  t.strictSame([report.durations, report.requests], [[1, 1000], 104], 'the pages of the profiler do not count')
  t.match(view.scale, 'From 1.0 ms to 1.0 s')
  const rowOf = (name: string) => view.rows.find(row => row.name === name)
  t.match(rowOf('b'), { p99: '4.0 ms', distribution: 'M18 20V0' })
  t.match(rowOf('a'), { p99: '–', distribution: 'M2 20V0M46 20V10M94 20V10' })
  t.match(
    view.columns.map(({ label }) => label),
    ['Route', 'Count', 'Total time', 'p50', 'p95', 'p99', 'Slowest', '4xx', 'Failed'],
  )
  const { view: alike } = await gather(createNumbered({ route: 'a', duration: 3 }, { route: 'b', duration: 3 }))
  t.match(alike.rows, [{ distribution: 'M2 20V0' }, { distribution: 'M2 20V0' }])
})

t.test('changes since the restart are shown only for enough requests', async t => {
  const { report, view } = await gather(
    createNumbered(
      ask(20, 'before', { route: 'much', duration: 10 }),
      ask(15, 'since', { route: 'much', duration: 20 }),
      ask(5, 'since', { route: 'much', duration: 2, status: 500 }),
      ask(5, 'before', { route: 'some', duration: 10 }),
      ask(19, 'since', { route: 'some', duration: 5 }),
      ask(4, 'before', { route: 'few' }),
      ask(9, 'since', { route: 'few' }),
      ask(9, 'since', { route: 'new' }),
      ask(9, 'before', { route: 'old' }),
      ask(5, 'before', { route: 'alike', duration: 0 }),
      ask(5, 'since', { route: 'alike', duration: 0 }),
    ),
    'sort=route',
  )
  const of = (route: string) => report.routes.find(each => each.route === route)
  t.strictSame(of('much')?.changes, {
    p50: { before: 10, since: 20 },
    p95: { before: 10, since: 20 },
    queries: { before: 0, since: 0 },
    errorRate: { before: 0, since: 0.25 },
  })
  t.strictSame(of('some')?.changes, {
    p50: { before: 10, since: 5 },
    p95: null,
    queries: { before: 0, since: 0 },
    errorRate: null,
  })
  t.strictSame(of('few')?.changes, { p50: null, p95: null, queries: null, errorRate: null })
  t.strictSame(of('few')?.counts, { before: 4, since: 9 })
  t.strictSame(
    view.rows.map(({ change, name }) => [name, change.text, change.tone]),
    [
      ['alike', '+0 %', 'plain'],
      ['few', '', 'plain'],
      ['much', '+100 %', 'error'],
      ['new', '', 'plain'],
      ['old', '', 'plain'],
      ['some', '−50 %', 'ok'],
    ],
  )
  t.equal(
    view.rows[2]?.change.title,
    'p50 10 ms → 20 ms; p95 10 ms → 20 ms; failed 0 % → 25 %; 20 requests before, 20 since',
  )
  t.equal(view.rows[1]?.change.title, '4 requests before, 9 since')
  const alike = await gather(createNumbered(ask(20, 'before', { duration: 10 }), ask(20, 'since', { duration: 10.1 })))
  t.hasStrict(alike.view.rows[0]?.change, { text: '+1 %', tone: 'plain' })
})

t.test('a restart says nothing about another program', async t => {
  const both = (program: string) => [
    ask(5, 'before', { program, duration: 10 }),
    ask(5, 'since', { program, duration: 20 }),
  ]
  const { view } = await gather(createNumbered(...both('sinfonietta'), ...both('stock')))
  t.strictSame(
    view.rows.map(({ change, program }) => [program, change.text]),
    [
      ['stock', ''],
      ['sinfonietta', '+100 %'],
    ],
  )
})

t.test('routes with queries have their median, the most, and the change since the restart', async t => {
  const storage = createNumbered(
    ask(4, 'before', { route: 'posts', queries: 51 }),
    ask(1, 'before', { route: 'posts', queries: 60 }),
    ask(5, 'since', { route: 'posts', queries: 2 }),
    ask(5, 'before', { route: 'home', queries: 1 }),
    ask(5, 'since', { route: 'home', queries: 3 }),
    ask(5, 'before', { route: 'same', queries: 1 }),
    ask(5, 'since', { route: 'same', queries: 1 }),
  )
  const { report, view, wanted } = await gather(storage, 'sort=mostQueries')
  t.match(report.routes[0], {
    route: 'posts',
    queries: 2,
    mostQueries: 60,
    changes: { queries: { before: 51, since: 2 } },
  })
  t.hasStrict(view, {
    hasQueries: true,
    rows: [{ name: 'posts', queries: '2 to 60' }, { queries: '1 to 3' }, { queries: '1' }],
  })
  t.ok(view.columns.some(({ label }) => label === 'Queries'))
  const titles = view.rows.map(({ change }) => change.title.replace(/; \d+ requests.*/, ''))
  t.strictSame(titles, [
    'p50 5.0 ms → 5.0 ms; queries 51 → 2',
    'p50 5.0 ms → 5.0 ms; queries 1 → 3',
    'p50 5.0 ms → 5.0 ms',
  ])
  const markdown = routesToMarkdown(routesToJson(report, wanted))
  t.match(markdown, 'queries: median 2, most 60; ')
  t.match(markdown, '; queries 51 → 2')
  const { client, storage: pages } = await createProfiledKernel(t)
  pages.append(createRecord({ route: 'posts', queries: 51 }), '{}')
  t.match(textOf((await client.get('/_profiler/routes')).text), /Queries .* 51 /)
  const { view: plain } = await gather(createNumbered({ route: 'a' }))
  t.notMatch(plain.columns.map(({ label }) => label).join(), 'ueries')
})

t.test('routes are sorted and filtered', async t => {
  const storage = createNumbered(
    { route: 'b', duration: 1, method: 'POST' },
    { route: 'b', duration: 1 },
    { route: 'a', duration: 9 },
    { route: null, duration: 5, status: 500 },
  )
  t.strictSame(names(await gather(storage)), ['a', null, 'b'], 'those with the most time come first')
  t.strictSame(names(await gather(storage, 'sort=count')), ['b', null, 'a'])
  t.strictSame(names(await gather(storage, 'sort=route')), [null, 'a', 'b'])
  t.strictSame(names(await gather(storage, 'sort=route&order=desc')), ['b', 'a', null])
  t.strictSame(names(await gather(storage, 'sort=p95')), ['a', null, 'b'])
  t.strictSame(names(await gather(storage, 'sort=worst&order=asc')), ['b', null, 'a'])
  t.strictSame(names(await gather(storage, 'sort=errors')), [null, 'b', 'a'])
  t.strictSame(names(await gather(storage, 'method=post')), ['b'])
  t.strictSame(names(await gather(storage, 'route=a&limit=x&page=7&pinned=1')), ['a'])
  const { view, wanted } = await gather(storage, 'sort=nope&order=up&start=never&route=b&status_code=2xx')
  t.equal(wanted.notes.length, 2)
  t.match(wanted.notes[1], 'Routes cannot be sorted by “nope”')
  t.strictSame(wanted.parameters, { status_code: '2xx', start: 'never', route: 'b' })
  t.hasStrict(view.form, {
    route: 'b',
    kept: [{ name: 'status_code', value: '2xx' }, { name: 'start' }],
    isFiltering: true,
  })
  const link = (query: string, label: string) =>
    gather(storage, query).then(({ view }) => view.columns.find(column => column.label === label))
  t.hasStrict(await link('', 'Total time'), { sorted: 'descending', link: '/_profiler/routes?sort=total&order=asc' })
  t.match(await link('sort=count&order=asc', 'Count'), { sorted: 'ascending', link: /order=desc$/ })
  t.hasStrict(await link('method=get', 'Route'), {
    sorted: '',
    link: '/_profiler/routes?method=get&sort=route&order=asc',
  })
  t.match(await link('sort=route', 'Route'), { sorted: 'ascending', link: /order=desc$/ })
})

t.test('programs have statistics of their own, also for routes of the same name', async t => {
  const health = (program: string, duration: number) => ({ route: 'GET /health', program, duration })
  const storage = createNumbered(health('shop', 2), health('stock', 40), health('shop', 4), health('stock', 60))
  const { view } = await gather(storage)
  t.strictSame(
    view.rows.map(({ count, link, name, program, slowest }) => [program, name, count, slowest, link]),
    [
      ['stock', 'GET /health', '2', '60 ms', '/_profiler/route?name=GET%20%2Fhealth&program=stock'],
      ['shop', 'GET /health', '2', '4.0 ms', '/_profiler/route?name=GET%20%2Fhealth&program=shop'],
    ],
  )
  const { view: filtered } = await gather(storage, 'program=shop')
  t.match(filtered, { rows: [{ program: false, slowest: '4.0 ms' }], form: { isFiltering: true } })
})

t.test('routes are those of all machines, or of one', async t => {
  const one = createNumbered({ route: 'a', machine: 'web-1' }, { route: 'a', machine: 'web-1' })
  t.strictSame((await gather(one)).view.form.origins, [], 'a single machine is no choice')
  const storage = createNumbered(
    { route: 'a', machine: 'web-1' },
    { route: 'b', machine: 'web-10' },
    { route: 'b', machine: 'web-10' },
  )
  const { report, view } = await gather(storage, 'machine=web-1&sort=count')
  t.match(report.routes, [{ route: 'a', count: 1 }])
  t.equal(report.routes.length, 1, 'the name is the whole name')
  t.match(view.form, { isFiltering: true, kept: [{ name: 'sort', value: 'count' }] })
  t.strictSame(
    view.form.origins.flatMap(({ options }) => options.map(({ isSelected, value }) => [value, isSelected])),
    [
      ['', false],
      ['web-1', true],
      ['web-10', false],
    ],
  )
  t.match(view.columns[2]?.link, 'machine=web-1', 'a sorted table keeps it')
})

t.test('the page is in the menu, and shows the requests of this process', async t => {
  const { client, storage } = await createProfiledKernel(t)
  t.match(textOf((await client.get('/_profiler/routes')).text), 'No requests yet')
  for (let times = 0; times < 5; times++) {
    // The real requests take less time, on any machine.
    storage.append(createRecord({ token: `00000${times}`, route: 'partnership', duration: 90_000, time: 5 }), '{}')
    await client.get('/partnership')
  }
  await client.get('/boom')
  await turns()
  const page = await client.get('/_profiler/routes?method=GET')
  const html = plainEquals(page.text)
  const text = textOf(html)
  t.match(page.headers.get('vary'), 'Accept')
  t.notOk(page.headers.has('x-debug-token'))
  t.match(html, '<a class="nav-link" href="/_profiler/routes">Routes</a>')
  t.match(text, '2 routes 11 requests Clear filters')
  t.match(text, /GET \/partnership partnership 10 450 s .* 90 s .*−\d+ %/)
  t.match(html, 'title="p50 90 s → ')
  t.match(html, '<link rel="alternate" type="text/markdown" href="/_profiler/routes.md?method=GET">')
  t.match(
    html,
    /aria-sort="descending">\s*<a class="sort" href="\/_profiler\/routes\?method=GET&amp;sort=total&amp;order=asc">/,
  )
  const none = textOf((await client.get('/_profiler/routes?route=nope')).text)
  t.match(none, 'No route matches the filters.')
})

t.test('the routes are those of the requests that the list shows', async t => {
  const storage = createNumbered(
    { route: 'a', url: 'http://x/find-me', status: 500 },
    { route: 'b', exception: 'TypeError', status: 404 },
    { route: 'c', duration: 900 },
    { route: 'd', parent: '100000', url: 'http://x/find-me' },
  )
  for (const [query, expected] of [
    ['text=find-me', ['a']],
    ['only=errors', ['a']],
    ['only=slow', ['c']],
    ['exception=*', ['b']],
    ['', ['a', 'b', 'c']],
  ] as const) {
    const gathered = await gather(storage, query)
    t.strictSame(names(gathered).sort(), expected, query)
    t.equal(gathered.view.form.isFiltering, query !== '')
  }
})

t.test('a route that the application does not have is named once', async t => {
  const { client, storage } = await createProfiledKernel(t)
  storage.append(createRecord({ route: 'GET /users/*', duration: 2 }), '{}')
  const text = textOf((await client.get('/_profiler/routes')).text)
  t.strictSame(text.match(/GET \/users\/\*/g)?.length, 1, text)
})

t.test('the statistics exist as JSON and as Markdown', async t => {
  const { client, storage } = await createProfiledKernel(t)
  storage.append(createRecord({ token: '00000a', route: '`a`\n# b', duration: 2, status: 500 }), '{}')
  const json = (await client.get('/_profiler/routes.json?sort=p95')).json()
  t.hasStrict(json, {
    schemaVersion: 1,
    requests: 1,
    notes: [],
    routes: [{ route: '`a`\n# b', p95: 2, link: '/_profiler/00000a.json', counts: { before: 1, since: 0 } }],
    links: {
      self: '/_profiler/routes.json?sort=p95',
      html: '/_profiler/routes?sort=p95',
      markdown: '/_profiler/routes.md?sort=p95',
    },
  })
  const markdown = (await client.get('/_profiler/routes', { headers: { accept: 'text/markdown' } })).text
  t.match(markdown, /^# 1 request of 1 route\n\nLast restart of the server: \d{4}-/)
  t.match(markdown, '- ``` `a`\\n# b ```: 1 request; total 2.0 ms; p50 2.0 ms'.replaceAll('```', '``'))
  t.match(markdown, 'slowest `00000a` 2.0 ms; failed `00000a` 500\n')
  const { report, wanted } = await gather(
    createNumbered(ask(20, 'before', { route: null, duration: 10 }), ask(20, 'since', { route: null, status: 500 })),
    'sort=x',
  )
  const quiet = await gather(createNumbered({ duration: 0 }))
  t.equal(quiet.view.rows[0]?.share, '0.0')
  t.notMatch(routesToMarkdown(routesToJson(quiet.report, quiet.wanted)), 'failed')
  const missing = await gather(createNumbered({ status: 404 }))
  t.match(routesToMarkdown(routesToJson(missing.report, missing.wanted)), '1 response with a status of 4xx')
  const text = routesToMarkdown(routesToJson(report, wanted))
  t.match(text, '- `Routes cannot be sorted by')
  t.match(text, 'no route: 40 requests')
  t.match(text, 'since the restart p50 10 ms → 5.0 ms; p95 10 ms → 5.0 ms; errors 0 % → 100 %\n')
})
