import type { TestClient } from 'sinfonietta/testing'
import { t } from 'tap'
import { parseListRequest, parseMoment } from '#bundles/profiler/insight/list-request.ts'
import { findLatest } from '#bundles/profiler/insight/relatives.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { createSearchForm } from '#bundles/profiler/web/pages/list-page.ts'
import { createRecord, keep } from '#tests/support/create-profile.ts'
import { plainEquals, textOf } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

const results = '/_profiler/empty/search/results'

/** A stored HTTP client call, which is repeated. */
function createCall(index: number): object {
  const place = { function: 'load', file: 'bundles/shop/load.ts', line: 3 }
  return { method: 'GET', url: 'http://api.test/users/7', status: 200, start: index, end: index + 1, caller: place }
}

function parse(query: string): ReturnType<typeof parseListRequest> {
  return parseListRequest(new URLSearchParams(query))
}

async function show(client: TestClient, query = ''): Promise<string> {
  const { headers, status, text } = await client.get(`${results}${query}`)
  if (status !== 200 || headers.has('x-debug-token')) throw new Error(`The list is answered with ${status}.`)
  return plainEquals(text)
}

/** The tokens of the rows, in their order. */
function tokensOf(html: string): string[] {
  return [...html.matchAll(/<td class="token"><a[^>]*>([^<]*)</g)].map(([, token]) => String(token))
}

t.test('a time is given in seconds, or as an ISO date of any precision', async t => {
  const iso = (text: string, edge: 'first' | 'last') => {
    const moment = parseMoment(text, edge)
    return moment === undefined ? undefined : new Date(moment).toISOString()
  }
  const rows: [text: string, first: string, last: string][] = [
    ['0', '1970-01-01T00:00:00.000Z', '1970-01-01T00:00:00.999Z'],
    ['1000000000', '2001-09-09T01:46:40.000Z', '2001-09-09T01:46:40.999Z'],
    ['-1', '1969-12-31T23:59:59.000Z', '1969-12-31T23:59:59.999Z'],
    ['2026-11-20', '2026-11-20T00:00:00.000Z', '2026-11-20T23:59:59.999Z'],
    ['2026-11-20T23:15', '2026-11-20T23:15:00.000Z', '2026-11-20T23:15:59.999Z'],
    ['2026-11-20 23:15:09', '2026-11-20T23:15:09.000Z', '2026-11-20T23:15:09.999Z'],
    ['2026-11-20T23:15:09.5', '2026-11-20T23:15:09.500Z', '2026-11-20T23:15:09.500Z'],
    ['2026-11-20t23:15z', '2026-11-20T23:15:00.000Z', '2026-11-20T23:15:59.999Z'],
    ['2026-11-20T23:15+01:00', '2026-11-20T22:15:00.000Z', '2026-11-20T22:15:59.999Z'],
    ['2026-11-20T23:15:09-0130', '2026-11-21T00:45:09.000Z', '2026-11-21T00:45:09.999Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z', '2028-02-29T23:59:59.999Z'],
  ]
  for (const [text, first, last] of rows) {
    t.equal(iso(text, 'first'), first, text)
    t.equal(iso(text, 'last'), last, text)
  }
  const none = ['', 'nope', '2026-02-30', '2026-13-01', '2026-11-20T25:00', '2026-11-20T10', '1e3', '9'.repeat(400)]
  for (const text of none) t.equal(parseMoment(text, 'first'), undefined, text)
})

t.test('a search without parameters lists the latest ten profiles; the list begins with 25', async t => {
  const query = { filters: [], limit: 10, offset: 0 }
  const expected = { query, isFiltering: false, isPinned: false, marks: [], parameters: {}, page: 1, notes: [] }
  t.hasStrict(parse(''), expected)
  t.hasStrict(parse('ip=&method=&limit=&start=+&nonsense=1&text='), expected, 'an empty form says nothing')
  t.strictSame(parse('type=all').query, expected.query)
  const { client } = await createProfiledKernel(t)
  const home = (await client.get('/_profiler/')).headers.get('location')
  t.equal(home, `${results}?limit=25`)
})

t.test('filters match parts; the method is case-insensitive; an exclamation mark excludes', async t => {
  t.strictSame(parse('url=a&ip=127&method=pos&status_code=404&start=10&end=20&type=command&token=4D5').query.filters, [
    { field: 'ip', test: 'contains', value: '127' },
    { field: 'method', test: 'contains', value: 'POS' },
    { field: 'status', test: 'contains', value: '404' },
    { field: 'url', test: 'contains', value: 'a' },
    { field: 'token', test: 'contains', value: '4d5' },
    { field: 'type', test: 'among', value: new Set(['command']) },
    { field: 'time', test: 'from', value: 10_000 },
    { field: 'time', test: 'until', value: 20_999 },
  ])
  t.strictSame(parse('url=!%2Fx').query.filters, [{ field: 'url', test: 'lacks', value: '/x' }])
  t.strictSame(parse('url=!').query.filters, [])
})

t.test('a limit, a page or an order that cannot be read is replaced, and noted', async t => {
  for (const [query, expected] of [
    ['limit=abc', { limit: 10, offset: 0 }],
    ['limit=0', { limit: 10, offset: 0 }],
    ['limit=-3', { limit: 10, offset: 0 }],
    ['limit=5000', { limit: 1000, offset: 0 }],
    ['limit=1e2', { limit: 10, offset: 0 }],
    ['page=x', { limit: 10, offset: 0 }],
    ['page=0', { limit: 10, offset: 0 }],
    ['sort=controller', { limit: 10, offset: 0 }],
  ] as const) {
    const { matches, notes, query: found } = parse(query)
    t.strictSame(found, { filters: [], ...expected }, query)
    t.equal(notes.length, 1, query)
    t.ok(matches(createRecord({}).summary), query)
  }
  t.strictSame(parse('limit=5000').notes, ['The limit “5000” is not a number from 1 to 1,000: 1,000 is used instead.'])
})

t.test('a filter that cannot be read finds nothing, and is noted', async t => {
  const { client, storage } = await createProfiledKernel(t)
  keep(storage, { token: 'aaaaaa' })
  const mistakes = [
    ...['start=yesterday', 'end=2026-02-30', 'status_code=abc', 'status_code=4040', 'slower=fast', 'only=nonsense'],
    ...['queries=many', 'method=GTE', 'method=pots', 'only=main,nonsense', 'status_code=x&url=some'],
  ]
  const found: string[] = []
  for (const query of mistakes) {
    const html = await show(client, `?${query}`)
    const notes = html.match(/class="note note-warning"/g)?.length
    const isEmpty = textOf(html).includes('No results found') && textOf(html).includes('The query returned no result.')
    if (!isEmpty || notes !== 1 || tokensOf(html).length > 0) found.push(query)
  }
  t.strictSame(found, [])
  const { records, total } = JSON.parse((await client.get('/_profiler/search.json?status_code=abc')).text)
  t.strictSame([records, total], [[], 0])
  t.match(
    (await client.get('/_profiler/search.md?start=x')).text,
    /^# No results found\n\n- .*start “x” cannot be read/,
  )
  t.strictSame(
    ['get', 'OS', 'PROPFIND', 'MKCOL', 'SUBSCRIBE'].flatMap(method => parse(`method=${method}`).notes),
    [],
  )
  t.strictSame(parse('status_code=abc&slower=x&only=slow,y').notes, [
    'The filter status “abc” cannot be read: expected a status such as 404, a part of one such as 40, a class such as 4xx, or a range such as 500..599.',
    'The filter slower “x” cannot be read: expected milliseconds such as 250.',
    'A list cannot be restricted to “y”: expected main, errors, slow, findings, 4xx, api, client.',
  ])
})

t.test('a status is searched by a part of its digits, by its class or by a range', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const statuses = [0, 200, 240, 404, 405, 500, 540]
  for (const status of statuses) keep(storage, { token: `000${String(status).padStart(3, '0')}`, status })
  const find = async (text: string) =>
    tokensOf(await show(client, `?status_code=${text}`)).map(token => Number(token.slice(3)))
  t.strictSame(await find('40'), [540, 405, 404, 240])
  t.strictSame(await find('404'), [404])
  t.strictSame(await find('5'), [540, 500, 405])
  t.strictSame(await find('4xx'), [405, 404])
  t.strictSame(await find('500..539'), [500])
  t.strictSame(await find('0'), [0], 'without a response')
})

t.test('pages and columns', async t => {
  t.hasStrict(parse('limit=25&page=3').query, { limit: 25, offset: 50 })
  t.strictSame(parse('sort=duration').query.sort, { field: 'duration', direction: 'descending' })
  t.strictSame(parse('sort=url&order=asc').query.sort, { field: 'url', direction: 'ascending' })
})

t.test('the form keeps the parameters of the search', async t => {
  const form = createSearchForm(parse('ip=1&method=get&status_code=4xx&url=!x&start=2026-11-20&end=2026-11-20&limit=7'))
  t.hasStrict(form, { values: { ip: '1', status_code: '4xx', url: '!x' }, isFiltering: true })
  t.hasStrict(form, { start: '2026-11-20T00:00', end: '2026-11-20T23:59' })
  const selected = (choices: typeof form.methods) => choices.filter(each => each.isSelected).map(each => each.value)
  t.strictSame(selected(form.methods), ['GET'])
  t.strictSame(selected(form.limits), ['7'], 'also when it is not one of the usual')
  t.strictSame(selected(createSearchForm(parse('method=ge')).methods), ['GE'])
  t.strictSame(selected(createSearchForm(parse('type=sub-request')).types), ['sub-request'])

  t.hasStrict(createSearchForm(parse('token=abc')), { values: { token: 'abc' } })
  const sorted = createSearchForm(parse('text=a&only=slow&type=request&sort=url&order=asc&queries=2..'))
  t.hasStrict(sorted, {
    isFiltering: true,
    kept: [
      { name: 'only', value: 'slow' },
      { name: 'queries', value: '2..' },
      { name: 'order', value: 'asc' },
    ],
  })
  t.strictSame(selected(sorted.orders), ['url'])
  t.strictSame(selected(createSearchForm(parse('sort=size')).orders), ['size'])

  const empty = createSearchForm(parse(''))
  t.hasStrict(empty, { values: {}, start: '', end: '', isFiltering: false })
  t.strictSame(selected(empty.methods), [''])
  const seconds = createSearchForm(parse('start=1000000001&end=1000000001'))
  t.hasStrict(seconds, { start: '2001-09-09T01:46:41', end: '2001-09-09T01:46:41' })
  t.equal(createSearchForm(parse('end=999999999999')).end, '', 'a year that the field does not know')
})

t.test('the form offers the routes of the stored requests, and keeps filters without a field', async t => {
  const { client, storage } = await createProfiledKernel(t)
  keep(storage, { token: '00000a', route: 'shop', contentType: 'application/json' }, { token: '00000b', route: 'blog' })
  keep(storage, { token: '00000c', route: null, contentType: null })
  const html = await show(client, '?content=application/json')
  t.match(html, '<datalist id="routes"><option value="blog"><option value="shop"></datalist>')
  t.match(html, '<input type="hidden" name="content" value="application/json">')
  t.strictSame(tokensOf(html), ['00000a'])
})

t.test('a 404 is listed with the sub-request that answered it, right below it', async t => {
  const { client } = await createProfiledKernel(t)
  await client.get('/star-photo-booth')
  const { headers } = await client.get('/missing-x')
  const main = headers.get('x-debug-token')
  const sub = headers.get('x-previous-debug-token')
  const html = await show(client, '?limit=10')
  t.strictSame(tokensOf(html).slice(0, 2), [main, sub])
  t.match(html, '<h1 id="results-title">3 results found</h1>')
  t.notMatch(textOf(html), 'in all')
  t.match(textOf(html), /404 127\.0\.0\.1 GET \/missing-x error page (?:\d findings? )?KERNEL_NO_ROUTE 1 error \d/)
  t.notMatch(textOf(html), 'sub-request', 'it is the next row')
  t.match(html, `<a class="entry" href="/_profiler/${main}" title="http://localhost/missing-x">/missing-x</a>`)
  t.match(html, `<tr class="sub level-1" data-token="${sub}" hidden>`, 'a row of the page, which is folded')
  t.match(html, `<a class="origin" href="/_profiler/${sub}" title="The sub-request that made it">error page</a>`)
  t.match(textOf(html), /404 127\.0\.0\.1 GET \/missing-x error_controller/)
  t.match(textOf(html), /\+ [\d.]+ m?s/)
  t.match(textOf(html), '3 profiles stored')
  const cut = textOf(await show(client, '?limit=1'))
  t.match(cut, '1 results found · 3 in all')
  t.match(cut, '1 sub-request')
  t.match(textOf(await show(client, '?limit=1&page=2')), `error_controller sub-request of ${main}`)
})

t.test('the row of an error page is folded if it says nothing new', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const failed = { controller: 'error_controller', status: 500 }
  const keepFamily = (token: string, sub: object) => {
    keep(storage, { token: `${token}2`, parent: `${token}1`, ...failed, ...sub })
    keep(storage, { token: `${token}1`, status: 500 })
  }
  keepFamily('aaaaa', {})
  keepFamily('bbbbb', { errors: 1 })
  keepFamily('ccccc', { subRequests: 1 })
  keepFamily('ddddd', { controller: 'teaser' })
  const folded = async (query: string) =>
    Array.from((await show(client, query)).matchAll(/data-token="(\w+)" hidden/g), ([, token]) => token)
  t.strictSame(await folded('?limit=10'), ['aaaaa2'])
  t.strictSame(await folded('?limit=1&page=8'), [], 'its request is on another page')
  t.strictSame(await folded('?type=sub-request'), [])
})

t.test('the badge of sub-requests counts those without a row below their main request', async t => {
  const { client, storage } = await createProfiledKernel(t)
  for (let index = 10; index < 40; index++) {
    const route = index === 20 ? 'menu' : 'teaser'
    keep(storage, { token: `bbbb${index}`, parent: 'aaaaaa', route })
  }
  keep(storage, { token: 'aaaaaa', route: 'menu', subRequests: 30 })
  const badge = async (query: string) => {
    const text = textOf(await show(client, query))
    return /\d+ sub-requests?/.exec(text)?.[0]
  }
  t.equal(await badge('?limit=2'), '29 sub-requests', 'the others are on the next pages')
  t.equal(await badge('?route=menu'), '29 sub-requests', 'the others do not match')
  t.equal(await badge('?limit=100'), undefined)
})

t.test('rows have marks for conspicuous profiles', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const many = { errors: 2, warnings: 1, calls: 3, subRequests: 1 }
  keep(storage, { ...many, token: 'aaaaaa', exception: 'TypeError', outcome: 'aborted', status: 500, duration: 1520 })
  keep(storage, { token: 'bbbbbb', status: 0, outcome: 'crashed', duration: 45.67, url: 'not a url', route: null })
  keep(storage, { token: 'cccccc', status: 302, outcome: 'unfinished', duration: 123.4, url: 'https://x.example/' })
  keep(storage, { token: 'dddddd', status: 206, outcome: 'stream-failed' })
  keep(storage, { token: 'eeeeee', status: 200, outcome: 'crashed' })
  keep(storage, { token: 'ffffff', status: 0, outcome: 'unfinished' })
  const html = await show(client)
  t.match(html, /<a class="pill pill-error" href="[^"]+" title="206 Partial Content">206<\/a>/)
  t.match(html, 'href="/_profiler/dddddd?panel=request#response" title="206', 'the headers, and what has set them')
  t.match(html, /<a class="pill pill-error" href="[^"]+" title="Error 500 Internal Server Error">500<\/a>/)
  t.match(html, /<a class="pill pill-error" href="[^"]+" title="200 OK">200<\/a>/)
  t.match(html, /<a class="pill pill-error" href="[^"]+" title="No response">–<\/a>/)
  t.match(html, /<a class="pill pill-plain" href="[^"]+" title="No response">–<\/a>/)
  t.match(html, /<a class="pill pill-plain" href="[^"]+" title="302 Found">302<\/a>/)
  t.match(html, '<time datetime="2026-11-20T23:15:09.042Z"')
  t.match(textOf(html), '20 Nov 2026, 23:15:09 UTC')
  t.match(textOf(html), 'TypeError aborted 2 errors 1 warning 3 HTTP client calls 1 sub-request')
  for (const text of ['1.5 s', '46 ms', '&gt; 123 ms', 'not a url', 'crashed', 'unfinished', 'stream failed'])
    t.match(html, text)
})

t.test('automatic requests of browsers are marked, are never the latest, and do not count in statistics', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const none = { route: null, status: 404, contentType: 'text/html' }
  const at = (time: number) => Date.parse('2026-11-20T23:15Z') + time
  keep(storage, { token: 'aaaaaa', url: 'http://localhost/page', time: at(0) })
  const call = { url: 'http://localhost/api', contentType: 'application/json' }
  const byPage = { destination: 'empty' }
  keep(storage, { ...call, ...byPage, token: 'bbbbbb', time: at(1_000) })
  const probes = ['/favicon.ico', '/apple-touch-icon.png?a=1', '/apple-touch-icon-120x120.png', '/.well-known/x/y.json']
  for (const [index, path] of probes.entries()) {
    keep(storage, {
      ...none,
      token: `00000${index}`,
      url: `http://localhost${path}`,
      exception: 'NotFoundError',
      time: at(2_000),
    })
  }
  const latest = async () => (await findLatest(storage))?.token
  t.equal(await latest(), 'aaaaaa', 'the page of the call')
  const html = await show(client)
  t.strictSame(tokensOf(html), ['bbbbbb', 'aaaaaa'])
  t.match(
    textOf(html),
    '4 probes of browsers left out: /.well-known/x/y.json /apple-touch-icon-120x120.png /apple-touch-icon.png and others Show',
  )
  const errorPage = { ...none, controller: null, parent: '000000', url: 'http://localhost/favicon.ico' }
  keep(storage, { ...errorPage, token: '000009', time: at(2_000) })
  t.strictSame(tokensOf(await show(client)), ['bbbbbb', 'aaaaaa'], 'without the sub-request of a probe')
  const shown = await show(client, '?type=probe')
  t.strictSame(tokensOf(shown), ['000003', '000002', '000001', '000000', '000009'])
  t.equal(shown.match(/browser probe/g)?.length, 5)
  t.notMatch(shown, 'NotFoundError')
  const rows = shown.match(/<td class="status"><a class="pill pill-plain"/g)
  t.equal(rows?.length, 5, 'the row of its error page is grey, too')
  t.equal(textOf((await client.get('/_profiler/latest')).text).includes('/page'), true)
  const { requests, routes } = (await client.get('/_profiler/routes.json')).json() as {
    requests: number
    routes: { route: string | null }[]
  }
  t.strictSame([requests, routes.map(({ route }) => route)], [2, ['somewhere']])
  keep(storage, { ...call, token: 'cccccc', time: at(2_100) })
  t.equal(await latest(), 'cccccc', 'a call of a program')
  keep(storage, { ...call, ...byPage, token: 'eeeeee', time: at(9_000) })
  t.equal(await latest(), 'eeeeee', 'a call without a page')
  keep(storage, { ...none, token: 'ffffff', url: 'http://localhost/robots.txt', time: at(10_000) })
  t.strictSame(tokensOf(await show(client, '?limit=1')), ['ffffff'], 'crawlers ask for it, browsers do not')
  keep(storage, { token: 'dddddd', url: 'http://localhost/favicon.ico', time: at(20_000) })
  t.equal(await latest(), 'dddddd', 'an icon that is there')
  t.equal(await findLatest(new MemoryProfileStorage()), undefined)
})

t.test('a profile that is only in memory is marked', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const search = storage.search.bind(storage)
  storage.search = async query => ({ ...(await search(query)), unstored: new Set(['bbbbbb']) })
  keep(storage, { token: 'aaaaaa' })
  keep(storage, { token: 'bbbbbb' })
  const html = await show(client)
  t.equal(html.match(/not stored/g)?.length, 1)
  const { records } = (await client.get('/_profiler/search.json')).json() as {
    records: { token: string; isStored: boolean }[]
  }
  t.strictSame(
    records.map(({ isStored, token }) => [token, isStored]),
    [
      ['bbbbbb', false],
      ['aaaaaa', true],
    ],
  )
  t.match((await client.get('/_profiler/search.md')).text, /bbbbbb[^\n]*; not stored/)
})

t.test('an empty result says so, and links to results', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const fresh = textOf(await show(client))
  t.match(
    fresh,
    /No results found .*The query returned no result\. No requests recorded yet\. Open a page of the application first\./,
  )
  t.notMatch(fresh, 'Mine', 'without profiles there is nothing to choose')
  keep(storage, { token: 'aaaaaa' }, { token: 'bbbbbb' })
  const html = await show(client, '?ip=9.9.9.9&limit=10')
  t.match(textOf(html), /No results found\s+IP 9\.9\.9\.9 ×\s+Clear filters/)
  t.match(html, '<a class="active-filter" href="?limit=10" title="Remove this filter">IP')
  t.match(textOf(html), 'The query returned no result.')
  t.match(textOf(html), '2 profiles stored')
  t.equal(html.match(/<a href="\/_profiler\/">Clear filters<\/a>/g)?.length, 1)
  const beyond = await show(client, '?limit=1&page=9')
  t.match(textOf(beyond), 'There is no such page.')
  t.match(beyond, '<a href="?limit=1">')
  t.notMatch(beyond, 'rel="prev"', 'the page before it does not exist either')
})

t.test('pages link to one another', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const tokens = Array.from({ length: 25 }, (_, index) => String(100_000 + index))
  for (const token of tokens) keep(storage, { token })
  const latest = tokens.toReversed()
  const first = await show(client, '?ip=127&limit=10')
  t.strictSame(tokensOf(first), latest.slice(0, 10))
  t.match(textOf(first), '10 results found · 25 in all')
  t.match(textOf(first), '1–10 · page 1 of 3 Next page')
  t.notMatch(first, 'rel="prev"')
  t.match(first, 'rel="next" href="?ip=127&amp;limit=10&amp;page=2"')
  const last = await show(client, '?ip=127&limit=10&page=3')
  t.strictSame(tokensOf(last), latest.slice(20))
  t.match(textOf(last), '5 results found · 25 in all')
  t.match(textOf(last), 'Previous page 21–25 · page 3 of 3')
  t.match(last, 'rel="prev" href="?ip=127&amp;limit=10&amp;page=2"')
  t.notMatch(last, 'rel="next"')
  const all = textOf(await show(client, '?limit=25'))
  t.match(all, '25 results found')
  t.notMatch(all, 'in all')
})

t.test('columns sort main requests in both directions; a sub-request stays below its main request', async t => {
  const { client, storage } = await createProfiledKernel(t)
  keep(storage, { token: 'cccccc', parent: 'bbbbbb', duration: 1 })
  keep(storage, { token: 'bbbbbb', duration: 5, url: 'http://localhost/z-somewhere' })
  keep(storage, { token: 'aaaaaa', duration: 3, url: 'http://localhost/x-somewhere' })
  t.match(await show(client), /<th scope="col" class="time" aria-sort="descending">/, 'the default order is marked')
  const sorted = await show(client, '?sort=duration&page=1&url=some')
  t.strictSame(tokensOf(sorted), ['bbbbbb', 'cccccc', 'aaaaaa'])
  t.match(
    sorted,
    'aria-sort="descending"><a class="sort" href="?url=some&amp;sort=duration&amp;order=asc">Duration</a>',
  )
  t.strictSame(tokensOf(await show(client, '?sort=url&url=-')), ['bbbbbb', 'aaaaaa'])
  const ascending = await show(client, '?sort=duration&order=asc')
  t.strictSame(tokensOf(ascending), ['aaaaaa', 'bbbbbb', 'cccccc'])
  t.match(ascending, 'aria-sort="ascending"><a class="sort" href="?sort=duration&amp;order=desc">')
})

t.test('a list with queries has their number and time, by which it is sorted and filtered', async t => {
  const { client, storage } = await createProfiledKernel(t)
  keep(
    storage,
    { token: '00000a', queries: 2, queryTime: 40 },
    { token: '00000b', queries: 51, queryTime: 38, cacheCalls: 3 },
    { token: '00000c' },
    { token: '00000d', queries: 1, time: 0 },
  )
  const html = await show(client, '?limit=10')
  t.match(html, '<td class="queries">1 <small>0 ms</small></td>')
  t.match(
    html,
    /<th scope="col" class="queries">\s*<a class="sort" href="[^"]*sort=queries&amp;order=desc">Queries<\/a>/,
  )
  t.match(html, '<td class="queries">51 <small>38 ms</small></td>')
  t.match(html, '<td class="queries"></td>')
  t.match(textOf(html), '3 cache calls')
  t.strictSame(tokensOf(await show(client, '?sort=queries')), ['00000b', '00000a', '00000d', '00000c'])
  t.strictSame(tokensOf(await show(client, '?sort=queryTime')), ['00000a', '00000b', '00000d', '00000c'])
  for (const [range, tokens] of [
    ['51', ['00000b']],
    ['2..', ['00000b', '00000a']],
    ['..2', ['00000d', '00000c', '00000a']],
    ['2..50', ['00000a']],
  ] as const) {
    const filtered = await show(client, `?queries=${range}`)
    t.strictSame(tokensOf(filtered), tokens, range)
    t.match(filtered, `name="queries" value="${range}"`)
    t.match(textOf(filtered), `Queries ${range} ×`)
  }
  t.notMatch(await show(client, '?queries=0'), 'class="queries"', 'the columns would be empty')
  for (const text of ['many', '..', '1.5', '-1', '1234567890', '1..2..3'])
    t.match(
      parse(`queries=${text}`),
      { query: { filters: [] }, notes: [/cannot be read: expected a number such as 10/] },
      text,
    )
  const { records } = JSON.parse((await client.get('/_profiler/search.json?queries=10..')).text)
  t.match(records, [{ token: '00000b', summary: { queries: 51, queryTime: 38, cacheCalls: 3 } }])
})

t.test('bad parameters are noted on the page', async t => {
  const { client } = await createProfiledKernel(t)
  const html = await show(client, '?limit=abc&start=%3Cb%3E&end=nope&page=-1&sort=%22&order=up&ip=%FF%00')
  t.equal(html.match(/class="note note-warning"/g)?.length, 5)
  t.match(html, 'The filter start “&lt;b&gt;” cannot be read')
})

t.test('the list shows the state of the store, and unrecorded requests', async t => {
  const { client, storage } = await createProfiledKernel(t)
  await client.get('/star-photo-booth', { headers: { 'x-profiler': 'off' } })
  keep(storage, { token: 'aaaaaa' })
  storage.usage = async () => ({ profiles: 1234, bytes: 3_440_000, dropped: 2, problem: 'ENOSPC: no space left' })
  const text = textOf(await show(client))
  t.match(text, '1,234 profiles stored, 3.3 MiB.')
  t.match(text, '1 request not recorded')
  t.match(text, '2 profiles dropped.')
  t.match(text, 'could not be saved: ENOSPC: no space left')
  storage.usage = async () => ({ profiles: 1, bytes: 820, dropped: 0, problem: undefined })
  t.match(textOf(await show(client)), '1 profile stored, 820 B.')
  storage.usage = async () => ({ profiles: 1, bytes: 4.2e13, dropped: 0, problem: undefined })
  t.match(textOf(await show(client)), '1 profile stored, 39116 GiB.')
})

t.test('a profile is pinned in the list, which is shown again; pinned profiles can be listed', async t => {
  const { client, storage } = await createProfiledKernel(t)
  keep(storage, { token: 'aaaaaa', duration: 0 }, { token: 'bbbbbb', duration: 0 })
  const html = await show(client, '?url=some&limit=5')
  const [, link] = /formaction="([^"]*aaaaaa[^"]*)"/.exec(html) ?? []
  t.equal(link, '/_profiler/aaaaaa/pin?list=url%3Dsome%26limit%3D5')
  t.match(html, 'title="Pin aaaaaa" aria-pressed="false"')
  t.match(html, '<rect width="0.0%"')
  const answer = await client.post(String(link), { headers: { origin: 'http://localhost' } })
  t.equal(answer.status, 303)
  t.equal(answer.headers.get('location'), '/_profiler/empty/search/results?url=some&limit=5')
  const pinned = await show(client, '?pinned=1')
  t.strictSame(tokensOf(pinned), ['aaaaaa'])
  t.match(pinned, 'title="Pin aaaaaa" aria-pressed="true"')
  t.match(pinned, '/_profiler/aaaaaa/unpin?list=pinned%3D1')
  t.match(pinned, 'name="pinned" value="1" checked')
  t.match(pinned, 'data-live=""', 'nothing that comes is pinned')
  t.equal(
    (await client.get('/_profiler/search?pinned=1&route=x')).headers.get('location'),
    '/_profiler/empty/search/results?type=request&route=x&pinned=1',
  )
  t.equal(
    (await client.get('/_profiler/search?pinned=1')).headers.get('location'),
    '/_profiler/aaaaaa/search/results?type=request&pinned=1',
  )
})

t.test('routes are searched, and a sorted list stays sorted', async t => {
  const { client, storage } = await createProfiledKernel(t)
  keep(
    storage,
    { token: 'aaaaaa', route: 'blog_show' },
    { token: 'bbbbbb', route: null },
    { token: 'cccccc', route: 'blog' },
  )
  const html = await show(client, '?route=blog&sort=route&order=asc')
  t.strictSame(tokensOf(html), ['cccccc', 'aaaaaa'])
  t.match(html, '<option value="route" selected>route</option>')
  t.match(html, '<input type="hidden" name="order" value="asc">')
  t.match(html, '<input name="route" value="blog"')
})

t.test('the first page is live, with its filters; other pages are not', async t => {
  const { client } = await createProfiledKernel(t)
  t.match(await show(client, '?ip=127&limit=5'), 'data-live="/_profiler/live?ip=127&amp;limit=5"')
  t.match(await show(client, '?page=2'), 'data-live=""')
})

t.test('several machines or programs are a column, a filter and a fact of a profile; a single one is not', async t => {
  for (const [name, label] of [
    ['machine', 'Machine'],
    ['program', 'Program'],
  ] as const) {
    const { client, storage } = await createProfiledKernel(t)
    keep(storage, { token: '000001', [name]: 'web-1' }, { token: '000002', [name]: 'web-1' })
    t.notMatch(await show(client), label)
    keep(storage, { token: '000003', [name]: 'web-2' })
    const html = await show(client)
    t.match(html, `<td class="${name}">web-2</td>`)
    const options = `<option value="" selected>${label}</option><option value="web-1">web-1`
    t.match(html, new RegExp(`<select name="${name}">\\s*${options}`))
    const filtered = await show(client, `?${name}=web-2`)
    t.strictSame(tokensOf(filtered), ['000003'])
    t.match(filtered, '<option value="web-2" selected>')
    t.match(filtered, `<td class="${name}">web-2</td>`, 'the rows of a page may have the same')
    const { text } = await client.get('/_profiler/000003')
    const link = `<dt>${label}</dt> <dd><a href="[^"]*${name}=web-2[^"]*">web-2</a>`
    t.match(plainEquals(text), new RegExp(link))
  }
})

t.test('a host is named if the program of a row has several', async t => {
  const { client, storage } = await createProfiledKernel(t)
  keep(storage, { token: '000001', program: 'shop', url: 'http://localhost:1/books' })
  keep(storage, { token: '000002', program: 'stock', url: 'http://localhost:2/left' })
  t.match(await show(client), 'title="http://localhost:2/left">/left</a>')
  keep(storage, { token: '000003', program: 'stock', url: 'http://localhost:3/left' })
  const text = await show(client)
  t.match(text, 'title="http://localhost:2/left">localhost:2/left</a>')
  t.match(text, 'title="http://localhost:1/books">/books</a>', 'the other program has one host')
})

t.test('columns are shown if they distinguish rows; a controller, if its route does not name it', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const columnsOf = (html: string) =>
    [...html.matchAll(/<th scope="col" class="(\w+)"/g)].map(([, name]) => String(name))
  keep(storage, { token: '000009', size: null, route: null })
  const few = await show(client)
  t.notOk(columnsOf(few).includes('route'))
  t.match(textOf(few), 'Status IP Method URL Duration Time Token')
  const usual = ['status', 'ip', 'method', 'url', 'route', 'duration', 'time', 'token']
  keep(storage, { token: '00000a', size: null, route: 'shop_show', controller: 'ShopShowController' })
  const alone = await show(client)
  t.strictSame(columnsOf(alone), usual)
  t.notMatch(alone, 'ShopShowController')
  keep(storage, {
    token: '00000b',
    ip: '10.0.0.1',
    url: 'http://shop.test/%E6%97%A5?a=1',
    route: 'shop_list',
    controller: 'find_products',
  })
  const html = await show(client)
  t.strictSame(columnsOf(html), usual)
  t.match(html, '<a class="entry" href="/_profiler/00000b" title="http://shop.test/%E6%97%A5?a=1">shop.test/日?a=1</a>')
  t.match(html, '<code><span class="place">find_products</span></code>')
  t.strictSame(columnsOf((await client.get('/_profiler/ffffff')).text).slice(0, 4), usual.slice(0, 4))
})

t.test('each row has the place in the code that answered it', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const frame = { call: 'load', file: 'src/load.ts', line: 3, origin: 'application' }
  const exception = { exceptions: [{ name: 'Error', message: '', frames: [frame] }] }
  const site = { controller: 'star_photo_booth', route: 'star_photo_booth' }
  keep(
    storage,
    { token: '00000d', ...site, parent: '00000a' },
    { token: '00000a', ...site, subRequests: 1 },
    { token: '00000b', ...site, route: 'other' },
    { token: '00000c', ...site, route: 'other', data: { exception } },
    { token: '00000e', controller: null, route: null },
  )
  const html = await show(client)
  const placeOf = (token: string) =>
    html
      .slice(html.indexOf(`data-token="${token}"`))
      .split('</tr>', 1)[0]
      ?.match(/<code><span class="place" data-at="([^"]+)">([^<]+)</)
      ?.slice(1)
  const defined = /^bundles\/site\/site-bundle\.ts:\d+:1$/
  t.match(placeOf('00000a'), [defined, /^site-bundle\.ts:\d+$/], 'the route has the name of the controller')
  t.match(placeOf('00000b'), [/^bundles\/site\/site-bundle\.ts:\d+:\d+$/, 'star_photo_booth'])
  t.strictSame(placeOf('00000c'), ['src/load.ts:3:1', 'load.ts:3'], 'the line that threw')
  t.match(placeOf('00000d'), [defined, /^site-bundle\.ts:\d+$/], 'a sub-request')
  t.equal(placeOf('00000e'), undefined, 'nothing is known')
})

t.test('findings are the first badge of a row, and sub-requests have their own list', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const calls = { omitted: 0, calls: Array.from({ length: 9 }, (_, index) => createCall(index)) }
  keep(storage, { token: '00000c', parent: '00000a' }, { token: '00000a', data: { http: calls } }, { token: '00000b' })
  const html = await show(client)
  t.match(
    html,
    /<span class="badges"><a class="badge badge-\w+" href="\/_profiler\/00000a\?panel=findings">\d findings?</,
  )
  t.strictSame(tokensOf(await show(client, '?only=findings')), ['00000a'])
  const subRequests = await show(client, '?type=sub-request')
  t.strictSame(tokensOf(subRequests), ['00000c'])
  t.match(subRequests, '>1 results found</h1>')
  t.match(textOf(subRequests), 'sub-request of 00000a')
})

t.test('quick filters are toggled, and combined', async t => {
  const { client, storage } = await createProfiledKernel(t)
  keep(storage, { token: '00000a', status: 500, duration: 900 }, { token: '00000b', status: 404 })
  const html = await show(client, '?only=slow&limit=5&page=1')
  const filters = [
    ...html.matchAll(
      /<a class="quick-filter[^"]*" href="([^"]*)"[^>]*?(aria-current="true")?>([^<]*) <span class="count">(\d+)</g,
    ),
  ]
  t.strictSame(
    filters.map(([, link, active, label, count]) => [label, count, link, active !== undefined]),
    [
      ['Main', '2', '?limit=5&amp;only=slow%2Cmain', false],
      ['Errors', '1', '?limit=5&amp;only=slow%2Cerrors', false],
      ['Slow', '1', '?limit=5', true],
      ['Findings', '0', '?limit=5&amp;only=slow%2Cfindings', false],
      ['4xx', '1', '?limit=5&amp;only=slow%2C4xx', false],
      ['API', '0', '?limit=5&amp;only=slow%2Capi', false],
      ['Mine', '0', '?limit=5&amp;only=slow%2Cclient', false],
    ],
  )
  t.match(html, '<input type="hidden" name="only" value="slow">')
})

t.test('a histogram shows the requests over time, and leads to those of a span', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const start = Date.parse('2026-11-20T22:00Z')
  for (let number = 0; number < 9; number++) keep(storage, { token: `00000${number}`, time: start + number * 60_000 })
  t.notMatch(await show(client), 'class="histogram"', 'of nine requests there is none')
  keep(storage, { token: '00000a', time: start + 61_000, status: 500 })
  const html = await show(client)
  t.match(
    html,
    'href="?start=1795212000&amp;end=1795212014" tabindex="-1"><title>22:00:00 to 22:00:15 UTC: 1 request</title>',
  )
  t.match(html, '22:01:00 to 22:01:15 UTC: 2 requests, 1 failed')
  const failed = [...html.matchAll(/<rect class="failed"[^>]* height="(\d+)"/g)].map(([, height]) => height)
  t.strictSame(failed, ['12'], 'half of a bar')
  t.match(
    textOf(html),
    '10 requests, 1 failed, from 20 Nov 2026 22:00:00 to 20 Nov 2026 22:08:15 UTC; most from 20 Nov 2026 22:01:00: 2.',
  )
  t.strictSame(tokensOf(await show(client, '?start=1795212000&end=1795212014')), ['000000'])
  keep(storage, { token: '00000b', time: start + 3 * 3_600_000 })
  t.match(await show(client), '<title>20 Nov 2026 22:00:00 to 20 Nov 2026 22:05:00 UTC: 6 requests, 1 failed</title>')
})

t.test('a paused recording is shown, with a button to resume; then the list is not live', async t => {
  const { app, client } = await createProfiledKernel(t)
  await client.post('/_profiler/pause', { headers: { origin: 'http://localhost' } })
  const html = await show(client)
  t.ok(app)
  t.match(textOf(html), 'Recording is paused. Resume')
  t.match(html, 'data-live=""')
  t.notMatch(html, 'Pause recording')
})
