import { t } from 'tap'
import { Inspector } from '#bundles/profiler/insight/findings/inspector.ts'
import { parseListRequest, parseMilliseconds, parseStatus } from '#bundles/profiler/insight/list-request.ts'
import {
  createHistogram,
  groupFamilies,
  listMembers,
  pinFamily,
  RowFacts,
  recognizeSlow,
  searchList,
} from '#bundles/profiler/insight/search-list.ts'
import { toReadableUrl } from '#bundles/profiler/profile/format.ts'
import type { ProfileSummary } from '#bundles/profiler/profile/profile.ts'
import { createRecord, createStorage, keep, type RecordInit, tokenOf } from '#tests/support/create-profile.ts'

const flawed: RecordInit['data'] = { memory: { blocks: [{ by: 'fedcba', duration: 300, cpu: 300 }] } }

const readFacts = (storage: ConstructorParameters<typeof RowFacts>[0]['storage']) =>
  new RowFacts({ storage, inspector: async () => new Inspector([]), findPlace: () => '' })

const make = (token: string, parent: string | null = null, time = 0): ProfileSummary =>
  createRecord({ token, parent, time }).summary

t.test('sub-requests are in the family of their main request, as a tree; none is lost', async t => {
  const group = (...summaries: ProfileSummary[]) =>
    groupFamilies(summaries).map(family => [
      family.main.token,
      ...listMembers(family).map(({ depth, summary }) => `${'>'.repeat(depth)} ${summary.token}`),
    ])
  t.strictSame(
    group(make('m2', null, 5), make('s2', 'm1', 4), make('s1', 'm1', 3), make('ss', 's1', 3), make('m1', null, 2)),
    [['m2'], ['m1', '> s1', '>> ss', '> s2']],
    'in the order of their beginning, also if they are newer than their main request',
  )
  t.strictSame(group(make('b', 'm', 1), make('a', 'm', 1), make('m')), [['m', '> a', '> b']], 'in the same millisecond')
  t.strictSame(group(make('ss', 's'), make('s', 'gone')), [['s', '> ss']], 'a parent that was removed')
  t.strictSame(group(make('a', 'b'), make('b', 'a'), make('c', 'c')), [['a'], ['b'], ['c']], 'circles')
  t.strictSame(group(make('x', 'a'), make('a', 'b'), make('b', 'a')).flat().sort(), ['a', 'b', 'x'], 'below a circle')
  t.strictSame(group(make('m'), make('s', 'm'), make('m')), [['m', '> s'], ['m']], 'a token that was drawn twice')
  const deep = Array.from({ length: 30 }, (_, depth) => make(`d${depth}`, depth === 0 ? null : `d${depth - 1}`))
  t.equal(group(...deep.toReversed()).flat().length, 30, 'no profile is lost below the deepest level')
})

t.test('a family is pinned and unpinned together', async t => {
  const storage = createStorage(
    { token: 'aaaaa2', parent: 'aaaaa1' },
    { token: 'aaaaa1', parent: 'aaaaa0' },
    { token: 'aaaaa0' },
    { token: 'bbbbbb' },
  )
  t.equal(await pinFamily(storage, 'aaaaa1', true), true)
  t.strictSame([...(await storage.pinned())].sort(), ['aaaaa0', 'aaaaa1', 'aaaaa2'])
  t.equal(await pinFamily(storage, 'aaaaa0', false), true)
  t.strictSame(await storage.pinned(), new Set())
  t.equal(await pinFamily(storage, 'ffffff', true), false)
})

t.test('each profile matches by itself; a sub-request follows its main request if both match', async t => {
  const storage = createStorage(
    { token: 'aaaaa1', parent: 'aaaaa0', route: 'part', status: 500 },
    { token: 'aaaaa0', route: 'page' },
    { token: 'bbbbb1', parent: 'bbbbb0', route: 'part' },
    { token: 'bbbbb0', route: 'page', status: 500, time: Date.now() },
  )
  const search = async (query: string) => {
    const { profiles, total } = await searchList(storage, parseListRequest(new URLSearchParams(query)))
    t.equal(total, profiles.length)
    return profiles.map(({ depth, summary }) => `${'>'.repeat(depth)}${summary.token}`)
  }
  t.strictSame(await search(''), ['bbbbb0', '>bbbbb1', 'aaaaa0', '>aaaaa1'])
  t.strictSame(await search('type=request&sort=time&order=asc'), ['aaaaa0', '>aaaaa1', 'bbbbb0', '>bbbbb1'])
  t.strictSame(await search('route=part'), ['bbbbb1', 'aaaaa1'])
  t.strictSame(await search('only=errors'), ['bbbbb0', 'aaaaa1'])
  t.strictSame(await search('only=main'), ['bbbbb0', 'aaaaa0'])
  t.strictSame(await search('only=errors,main'), ['bbbbb0'])
  t.strictSame(await search('type=sub-request'), ['bbbbb1', 'aaaaa1'])
  t.strictSame(await search('type=sub-request&status_code=5xx'), ['aaaaa1'])
  await storage.pin('aaaaa1', true)
  t.strictSame(await search('pinned=1'), ['aaaaa1'])
})

t.test('limit and page count profiles; a sub-request whose main request is a page before stands alone', async t => {
  const storage = createStorage(
    { token: 'aaaaa2', parent: 'aaaaa1', time: 3 },
    { token: 'aaaaa1', parent: 'aaaaa0', time: 2 },
    { token: 'aaaaa0', time: 1 },
    { token: 'bbbbb0', time: 4 },
  )
  const search = async (query: string) => {
    const { profiles, total } = await searchList(storage, parseListRequest(new URLSearchParams(query)))
    t.equal(total, 4)
    return profiles.map(({ depth, main, summary }) => [depth, summary.token, main.token])
  }
  t.strictSame(await search('limit=3'), [
    [0, 'bbbbb0', 'bbbbb0'],
    [0, 'aaaaa0', 'aaaaa0'],
    [1, 'aaaaa1', 'aaaaa0'],
  ])
  t.strictSame(await search('limit=3&page=2'), [[0, 'aaaaa2', 'aaaaa2']])
  t.strictSame(await search('limit=3&page=3'), [])
  t.strictSame(await search('limit=2&sort=duration&order=asc'), [
    [0, 'bbbbb0', 'bbbbb0'],
    [0, 'aaaaa0', 'aaaaa0'],
  ])
})

t.test('marks are counted for all that match, and restrict the list together', async t => {
  const call = { destination: 'empty', contentType: 'text/html' }
  const storage = createStorage(
    { token: '000001', status: 500 },
    { token: '000002', exception: 'TypeError', duration: 900 },
    { token: '000003', status: 404, exception: 'NotFoundError', client: 'mine' },
    { token: '000004', outcome: 'crashed', ...call },
    { token: '000005', destination: 'document', contentType: 'application/json' },
    { token: '000006', contentType: 'application/problem+json' },
    { token: '000007', contentType: 'text/event-stream', duration: 9000, client: null },
    { token: '000009', parent: '000008', status: 500, duration: 900, data: flawed, ...call },
    { token: '000008', url: 'http://localhost/other', contentType: null, data: flawed },
    { token: '00000a', status: 404, route: null, url: 'http://localhost/favicon.ico' },
  )
  const context = { client: 'mine', facts: readFacts(storage) }
  const search = (query: string) => searchList(storage, parseListRequest(new URLSearchParams(query)), context)
  const tokens = async (query: string) => (await search(query)).profiles.map(({ summary }) => summary.token)
  const { counts, probes, total } = await search('')
  t.equal(total, 9)
  t.strictSame(counts, { all: 9, main: 8, errors: 4, slow: 1, findings: 2, '4xx': 1, api: 3, client: 1 })
  t.strictSame(
    probes.map(({ token }) => token),
    ['00000a'],
  )
  t.strictSame(await tokens('only=errors'), ['000009', '000004', '000002', '000001'])
  t.strictSame(await tokens('only=errors,slow'), ['000002'])
  t.strictSame(await tokens('only=4xx'), ['000003'])
  t.strictSame(await tokens('only=api'), ['000007', '000006', '000004'])
  t.strictSame(await tokens('only=client'), ['000003'])
  t.strictSame(await tokens('only=findings'), ['000008', '000009'])
  t.strictSame(await tokens('type=probe'), ['00000a'])
  t.strictSame((await search('only=slow&url=other')).counts.all, 1, 'the filters of the form count')
  const { counts: none } = await searchList(storage, parseListRequest(new URLSearchParams()))
  t.hasStrict(none, { findings: 0, client: 0 }, 'in a console')
})

t.test('the filter of findings counts all stored profiles, or says of how many it knows, and goes on', async t => {
  const profiles = Array.from({ length: 3000 }, (_, index): RecordInit => ({ token: tokenOf(index) }))
  const storage = createStorage(...profiles.map((init, index) => (index % 10 === 0 ? { ...init, data: flawed } : init)))
  const wanted = parseListRequest(new URLSearchParams('only=findings'))
  // A slow disk.
  const find = async (token: string) => {
    await new Promise(resolve => setTimeout(resolve, 15))
    return storage.find(token)
  }
  const facts = readFacts({ find, search: query => storage.search(query) })
  const first = await searchList(storage, wanted, { facts })
  t.ok(first.examined > 0 && first.examined < 3000)
  t.equal(first.total, Math.ceil(first.examined / 10), 'the newest first')
  t.match(first.notes, [
    `The findings of ${first.examined.toLocaleString('en')} of 3,000 requests are known: each time that the list is loaded, more are read.`,
  ])
  let last = first
  while (last.examined < 3000) {
    const next = await searchList(storage, wanted, { facts })
    t.ok(next.examined > last.examined)
    last = next
  }
  t.strictSame([last.total, last.counts.findings, last.notes], [300, 300, []])

  keep(storage, { token: tokenOf(0) }, { token: tokenOf(3000), data: flawed }, { token: tokenOf(3001), data: flawed })
  await storage.pin(tokenOf(3001), true)
  const changed = await searchList(storage, wanted, { facts })
  t.strictSame([changed.total, changed.examined], [301, 3002], 'one profile has changed, and two are new')
  await storage.purge()
  const purged = await searchList(storage, wanted, { facts })
  t.strictSame([purged.total, purged.examined], [1, 1])
})

t.test('slow is half a second, or three times the median of a route with enough requests', async t => {
  const of = (route: string | null, ...durations: number[]) =>
    durations.map(duration => createRecord({ route, duration }).summary)
  const isSlow = recognizeSlow([
    ...of('fast', 10, 10, 10, 10, 10),
    ...of('usual', 40, 40, 40, 40, 40),
    ...of('rare', 10),
  ])
  const check = (route: string, duration: number) => isSlow(createRecord({ route, duration }).summary)
  t.strictSame([check('fast', 49), check('fast', 50)], [false, true])
  t.strictSame([check('usual', 119), check('usual', 120)], [false, true])
  t.strictSame([check('rare', 499), check('rare', 500)], [false, true])
  t.strictSame([check('unknown', 499), check('unknown', 500)], [false, true])
})

t.test('text is searched in URL, route and controller, in any case and decoded', async t => {
  const storage = createStorage(
    { token: '000001', url: 'http://localhost/%E6%97%A5', route: null, controller: null },
    { token: '000002', route: 'Blog_Show' },
    { token: '000003', controller: 'BlogController' },
  )
  const search = async (text: string) => {
    const { profiles } = await searchList(storage, parseListRequest(new URLSearchParams({ text })))
    return profiles.map(({ summary }) => summary.token)
  }
  t.strictSame(await search('日'), ['000001'])
  t.strictSame(await search('%e6'), ['000001'])
  t.strictSame(await search('BLOG'), ['000003', '000002'])
})

t.test('a histogram counts requests and failures in whole steps of time', async t => {
  const at = (...seconds: number[]) => seconds.map(second => ({ time: second * 1000, isError: second % 2 === 1 }))
  t.strictSame(createHistogram(at(1, 2, 3, 4, 5, 6, 7, 8, 9)), [], 'nine are too few')
  t.strictSame(createHistogram(at(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)), [], 'all at once')
  const seconds = createHistogram(at(10, 10, 10, 11, 12, 13, 13, 15, 15, 15))
  t.strictSame(
    seconds.map(({ count, errors }) => [count, errors]),
    [
      [3, 0],
      [1, 1],
      [1, 0],
      [2, 2],
      [0, 0],
      [3, 3],
    ],
  )
  t.strictSame([seconds[0]?.start, seconds[0]?.end], [10_000, 11_000])
  const last = createHistogram(at(0, 1, 2, 3, 4, 5, 6, 7, 8, 8.64e12)).at(-1)
  t.strictSame([last?.count, last?.end], [1, 8.64e15], 'the last time that is possible')
  const day = 24 * 3600
  for (const span of [40, 100, 3000, day, 3 * day, 47 * day, 400 * day]) {
    const times = Array.from({ length: 10 }, (_, index) => 1_000_000 + (index * span) / 9)
    const buckets = createHistogram(at(...times))
    t.equal(
      buckets.reduce((sum, { count }) => sum + count, 0),
      10,
      `all within ${span} s`,
    )
    t.ok(buckets.length > 1 && buckets.length <= 48, `${buckets.length} buckets`)
  }
})

t.test('URLs are decoded where that is safe to read', async t => {
  for (const [url, readable] of [
    ['/a?b=1', '/a?b=1'],
    ['/%E6%97%A5%e6%9c%ac?q=%C3%A9', '/日本?q=é'],
    ['/a%2Fb%3Fc%20d%25', '/a%2Fb%3Fc%20d%25'],
    ['/%00%0A%E2%80%AE%E2%80%8B', '/%00%0A%E2%80%AE%E2%80%8B'],
    ['/%FF%E6%97', '/%FF%E6%97'],
    ['/100%', '/100%'],
  ] as const) {
    t.equal(toReadableUrl(url), readable)
  }
})

t.test('statuses and durations', async t => {
  for (const [text, range] of [
    ['404', '404'],
    ['40', '40'],
    ['5', '5'],
    ['0', [0, 0]],
    ['5XX', [500, 599]],
    ['400..499', [400, 499]],
    ['..399', [undefined, 399]],
    ['500..', [500, undefined]],
  ] as const) {
    t.strictSame(parseStatus(text), range, text)
  }
  for (const text of ['', '6xx', 'abc', '..', '40..50', '4040', '-1']) t.equal(parseStatus(text), undefined, text)
  t.strictSame(['250', '250 ms', '1.5s', '', 'x', '-1'].map(parseMilliseconds), [
    250,
    250,
    1500,
    undefined,
    undefined,
    undefined,
  ])
})
