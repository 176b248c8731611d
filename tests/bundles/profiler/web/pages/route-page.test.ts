import fc from 'fast-check'
import { t } from 'tap'
import { Inspector } from '#bundles/profiler/insight/findings/inspector.ts'
import { gatherRoute } from '#bundles/profiler/insight/routes.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { drawHistogram, drawOverTime } from '#bundles/profiler/web/pages/routes-page.ts'
import { createProfile, createRecord, type RecordInit } from '#tests/support/create-profile.ts'
import { plainEquals, textOf } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

function createStorage(records: readonly (RecordInit & { readonly process?: string })[]): MemoryProfileStorage {
  const storage = new MemoryProfileStorage()
  for (const [index, { process = '{}', ...record }] of records.entries()) {
    storage.append(createRecord({ token: (index + 0x100000).toString(16), route: 'shop', ...record }), process)
  }
  return storage
}

const startedAt = (time: number) => JSON.stringify({ server: { process: { started: new Date(time).toISOString() } } })

const query = { system: 'postgresql', text: 'SELECT 1', start: 1, end: 3, caller: {} }

t.test('a route has its restarts, errors, findings and usual queries, from bounded reads', async t => {
  const storage = createStorage([
    { time: 1000, duration: 5, process: startedAt(500) },
    { time: 2000, status: 500, fingerprint: 'aaaaaaaa', exception: 'TypeError', process: startedAt(1500) },
    { time: 3000, status: 500, fingerprint: 'aaaaaaaa', exception: 'TypeError', process: startedAt(1500) },
    { time: 3500, status: 502 },
    { time: 3600, outcome: 'stream-failed', status: 200 },
    { time: 4000, data: { queries: { queries: [query, query, { ...query, text: 'SELECT 2', end: 1.5 }] } } },
    { time: 5000, data: { queries: { queries: [query] } } },
    { time: 6000, route: 'other' },
    { time: 6000, parent: 'abcdef' },
  ])
  const rule = {
    name: 'always',
    title: 'Always',
    find: () => [{ severity: 'info', problem: 'x', values: {}, advice: '', evidence: {} } as const],
  }
  const details = await gatherRoute(storage, new Inspector([rule]), { route: 'shop' })
  t.hasStrict(details, {
    statistics: { route: 'shop', count: 7, errors: 4 },
    stored: 7,
    read: 7,
    restarts: [1500],
    errors: [
      { fingerprint: 'aaaaaaaa', name: 'TypeError', count: 2, latest: { token: '100002' } },
      { fingerprint: '', name: 'stream failed', count: 1 },
      { name: '502' },
    ],
    queries: [
      { text: 'SELECT 1', perRequest: 1.5, time: 3, token: '100006', index: 0 },
      { text: 'SELECT 2', perRequest: 1, time: 0.5, index: 2 },
    ],
  })
  t.hasStrict(details?.findings.at(0), { rule: 'always', count: 7, token: '100006' })
  t.strictSame(details?.machines, [])
  t.equal(await gatherRoute(storage, new Inspector([]), { route: 'nope' }), undefined)
  let reads = 0
  const counting = {
    search: storage.search.bind(storage),
    async find() {
      reads++
      return undefined
    },
  }
  const many = createStorage(Array.from({ length: 500 }, (_, time) => ({ time })))
  const { read } =
    (await gatherRoute({ ...counting, search: many.search.bind(many) }, new Inspector([]), { route: 'shop' })) ?? {}
  t.strictSame([read, reads <= 60], [0, true], 'deleted profiles')
})

t.test('a histogram counts each duration once, and has no bar outside of the picture', async t => {
  const duration = fc.double({ min: 0, max: 1e5, noNaN: true })
  const property = fc.property(fc.array(duration, { minLength: 1 }), durations => {
    const sorted = Float64Array.from(durations).sort()
    const { bars, marks } = drawHistogram(sorted, { p50: Number(sorted[sorted.length >> 1]) })
    const counted = bars.reduce((sum, { title }) => sum + Number(title.split(': ')[1]), 0)
    const isInside = bars.every(
      ({ height, width, x, y }) =>
        Number(x) >= 0 && Number(x) + Number(width) <= 1000 && Number(y) + Number(height) <= 100.1,
    )
    return counted === durations.length && isInside && Number.parseFloat(String(marks[0]?.x)) <= 100
  })
  t.doesNotThrow(() => fc.assert(property))
  const { labels, summary } = drawHistogram(Float64Array.of(1, 1.1, 100), {})
  t.strictSame(
    labels.map(({ label }) => label),
    ['1.0 ms', '3.2 ms', '10 ms', '32 ms', '100 ms'],
    'logarithmic',
  )
  t.equal(summary, 'Most requests took 1.0 ms to 1.2 ms.')
  t.equal(drawHistogram(Float64Array.of(10, 30), {}).labels[2]?.label, '20 ms', 'linear')
})

t.test('durations over time are columns, with failed requests and restarts', async t => {
  const { summary } = createProfile({})
  const at = (time: number, duration: number, status = 200) => ({ ...summary, time, duration, status })
  const drawn = drawOverTime([at(0, 10), at(600, 20, 500), at(600, 40)], [-5, 300, 900])
  t.strictSame(drawn.columns, [
    { x: '0.0', width: '14.7', y: '75.5', height: '2.0', hasErrors: false, title: '1 × median 10 ms, p95 10 ms' },
    {
      ...{ x: '983.3', width: '14.7', y: '2.0', height: '49.0', hasErrors: true },
      title: '2 × median 20 ms, p95 40 ms, 1 failed',
    },
  ])
  t.hasStrict(drawn, { restarts: [{ x: '500.0' }], highest: '40 ms' })
  t.equal(drawn.restarts.length, 1, 'others are outside')
  t.equal(drawOverTime([at(5, 0)], []).columns.length, 1)
})

t.test('the page of a route shows its requests, and is linked from its profiles', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const response = await client.get('/partnership')
  const token = response.headers.get('x-debug-token')
  const html = plainEquals((await client.get('/_profiler/route?name=partnership')).text)
  const text = textOf(html)
  t.match(text, /GET \/partnership partnership All requests Requests 1 Total time/)
  t.match(html, 'data-live="/_profiler/live?route=partnership"')
  t.match(html, `href="/_profiler/${token}"`)
  t.notMatch(text, 'p99')
  t.match(
    (await client.get(`/_profiler/${token}`)).text,
    'href="/_profiler/route?name&#x3D;partnership&amp;program&#x3D;sinfonietta"',
  )
  for (let index = 0; index < 100; index++) {
    const data = { queries: { queries: [query, { ...query, text: 'SELECT slow', end: 400 }] } }
    const error = { exception: 'TypeError', fingerprint: 'aaaaaaaa', status: 500 }
    const record = { token: (0x200000 + index).toString(16), route: '<b>', queries: 1, ...error, data }
    storage.append(createRecord(record), '{}')
  }
  storage.append(createRecord({ token: '300000', route: '<b>', outcome: 'stream-failed' }), '{}')
  const hostile = await client.get('/_profiler/route?name=%3Cb%3E')
  t.equal(hostile.status, 200)
  t.match(
    textOf(hostile.text),
    /p99.*Queries \d.*Slow query 29 of 30.*Errors TypeError 100 ×.*Usual queries.*SELECT 1 1 × 2\.0 ms/s,
  )
  t.match(plainEquals(hostile.text), 'search/results?error=aaaaaaaa')
  t.match(textOf(hostile.text), /stream failed 1 ×/)
  const unknown = await client.get('/_profiler/route?name=nope')
  t.equal(unknown.status, 404)
  t.match(textOf(unknown.text), 'No request of this route is stored.')
  t.match(unknown.text, 'data-live=""', 'it is not loaded once more')
  t.equal((await client.get('/_profiler/route?name=star_photo_booth')).status, 200, 'a route without requests')
  t.equal((await client.get('/_profiler/route')).status, 404)
})

t.test('the page of a route compares its machines', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const answers = [
    { machine: 'web-2', duration: 80, status: 500 },
    { machine: 'web-1', duration: 5 },
    { machine: 'web-1', duration: 7 },
  ]
  for (const [index, answer] of answers.entries()) {
    storage.append(createRecord({ token: `00000${index}`, route: 'item', status: 200, ...answer }), '{}')
  }
  const { text } = await client.get('/_profiler/route?name=item')
  const [, table = ''] = /<h2>Machines<\/h2>([\s\S]*?)<\/table>/.exec(text) ?? []
  const rows = table
    .split('<tr>')
    .slice(2)
    .map(row => textOf(row).trim().split(/\s+/).join(' '))
  t.strictSame(rows, ['web-1 2 5.0 ms 7.0 ms', 'web-2 1 80 ms 80 ms 1'])
  t.match(plainEquals(table), 'route=item&amp;machine=web-2')
})
