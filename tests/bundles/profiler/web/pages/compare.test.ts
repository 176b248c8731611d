import { type Test, t } from 'tap'
import { writeRatio } from '#bundles/profiler/web/pages/compare-page.ts'
import { Response } from '#lib/http/response.ts'
import { createQuery, createRecord, type RecordInit } from '#tests/support/create-profile.ts'
import { plainEquals, skeletonOf, textOf } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

/** The page that compares two profiles. */
async function compare(t: Test, first: RecordInit, second: RecordInit) {
  const { client, storage } = await createProfiledKernel(t)
  storage.append(createRecord({ ...first, token: '00000a' }), '{}')
  storage.append(createRecord({ ...second, token: '00000b' }), '{}')
  const html = plainEquals((await client.get('/_profiler/compare?a=00000a&b=00000b')).text)
  return { html, text: textOf(html) }
}

t.test('two profiles are side by side, the differences first', async t => {
  // Times that differ by less than 2 ms are left out.
  const slow = () => Response.text(Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3))
  const { client } = await createProfiledKernel(t, { handlers: { '/slow': slow } })
  const tokenOf = async (path: string) => String((await client.get(path)).headers.get('x-debug-token'))
  const missing = await tokenOf('/missing-x?a=1')
  const found = await tokenOf('/slow')
  const { headers, status, text: page } = await client.get(`/_profiler/compare?a=${missing}&b=${found}`)
  t.equal(status, 200)
  t.notOk(headers.has('x-debug-token'))
  const html = plainEquals(page)
  const text = textOf(html)
  t.match(text, `A Error 404 Not Found ${missing} GET /missing-x?a=1`)
  t.match(text, `B 200 OK ${found} GET /slow`)
  t.match(html, `<a href="/_profiler/compare?a=${found}&amp;b=${missing}">Swap A and B</a>`)
  t.match(text, /status 404 200/)
  t.match(text, 'route /slow')
  t.match(text, /GET parameters 1 difference .* a only in A 1/)
  t.match(text, /x-debug-exception only in A/)
  t.match(
    text,
    /ErrorListener\.onException only in A ?kernel\.exception, priority -128 error-listener\.ts:\d+ called, [^ ]+ m?s stopped propagation/,
  )
  t.match(
    text,
    /RouterListener\.onRequest ?kernel\.request, priority 32 router-listener\.ts:\d+ called, [^ ]+ m?s threw called/,
  )
  t.match(text, 'Matched route &quot;{route}&quot;. only in B debug, request logged')
  t.match(text, /Controller only in B/)
  t.match(html, /<td class="delta full (slower|faster)">\s*<svg viewBox="-100 0 200 8"/)
  t.notMatch(html, 'style=')
  t.match(text, /\d+ changes status \(404 → 200\)/)
  t.match(text, /Request differs: URL \(/)
})

t.test('a difference of times has its percentage, and a bar if it is more than noise', async t => {
  const measured = (...times: number[]) => ({
    time: { measured: times.map((duration, at) => ({ name: `m${at}`, duration: duration * 1000 })) },
  })
  const { html } = await compare(
    t,
    { data: measured(10, 1, 400, 60, 0), duration: 398 },
    { data: measured(25, 2.9, 415, 57, 3), duration: 396.8 },
  )
  const [, timings = ''] = html.split(/<section[^>]*id="part-/)
  const row =
    /<span class="name">([^<]*)<(?:(?!<\/tr>).)*<svg[^>]*>\s*(?:<rect x="[^"]*" width="([^"]*)")?(?:(?!<\/tr>).)*<span>([^<]*)<\/span>\s*(?:<small>([^<]*))?/gs
  const seen = Array.from(timings.matchAll(row), ([, name, width, text, share = '']) => [name, text, share, width])
  t.strictSame(seen, [
    ['Total', '−1.2 ms', '±0 %', undefined],
    ['m0', '+15 ms', '+150 %', '100.0'],
    ['m3', '−3.0 ms', '−5 %', '20.0'],
    ['m4', '+3.0 ms', '', '20.0'],
    ['m2', '+15 ms', '+4 %', undefined],
    ['m1', '+1.9 ms', '+190 %', undefined],
  ])
})

t.test('an error is the same whatever values its message contains', async t => {
  const frame = (line: number) => ({ call: 'showOrder', file: 'src/orders.ts', line, origin: 'application' })
  const thrown = (message: string, frames: readonly object[] = []): RecordInit => ({
    data: { exception: { exceptions: [{ name: 'Error', message, frames }] } },
  })
  const changesOf = async (first: RecordInit, second: RecordInit) =>
    /Exceptions (\d+) difference/.exec((await compare(t, first, second)).text)?.[1]
  t.equal(await changesOf(thrown('No order 5.', [frame(7)]), thrown('No such article.', [frame(7)])), undefined)
  t.equal(await changesOf(thrown('No order 5.', [frame(7)]), thrown('No order 5.', [frame(9)])), '2')
  t.equal(await changesOf(thrown('No user 1 at /7f3a-41.'), thrown('No user 27 at /90bc-77e.')), undefined)
  t.equal(await changesOf(thrown('No user 1.'), thrown('No order 1.')), '2')
  const { text } = await compare(t, thrown('No order 4.', [frame(7)]), thrown('No order 5.', [frame(7)]))
  t.match(text, /Exceptions no differences, 1 equal .*Error: No order 5\./)
})

t.test('a change of time is a percentage, or a factor where that says more', async t => {
  const changes = [
    ...[writeRatio(100, 112.4), writeRatio(100, 70), writeRatio(100, 100), writeRatio(0, 5)],
    ...[writeRatio(10, 29), writeRatio(10, 54), writeRatio(1, 540.4)],
  ]
  t.strictSame(changes, ['+12 %', '−30 %', '±0 %', '', '+190 %', '×5.4', '×540'])
})

t.test('a longer time alone is neither good nor bad', async t => {
  const toneOf = async (duration: number, status = 200) =>
    /class="verdict verdict-(\w+)"/.exec((await compare(t, { duration: 10 }, { duration, status })).html)?.[1]
  const tones = [await toneOf(10), await toneOf(30), await toneOf(3), await toneOf(30, 500)]
  t.strictSame(tones, ['same', 'timed', 'timed', 'changed'])
})

t.test('queries are compared statement by statement', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const items = Array.from({ length: 12 }, () => createQuery())
  const keep = (token: string, queries: readonly object[]) => {
    const init = { token, data: { queries: { queries, omitted: 0 } }, queries: queries.length, queryTime: 38 }
    storage.append(createRecord(init), '{}')
  }
  keep('00000a', items)
  keep('00000b', items.slice(9))
  const html = plainEquals((await client.get('/_profiler/compare?a=00000a&b=00000b')).text)
  const text = textOf(html)
  t.match(text, '1 change queries (12 → 3)')
  t.notMatch(text, 'Summary 1 difference', 'each difference counts once')
  t.match(html, '<a href="#part-queries">queries (12 → 3)</a>')
  t.match(text, 'Queries 1 difference')
  t.match(text, 'SELECT * FROM products WHERE id = ? postgresql products.ts:12 12 queries 12 ms 3 queries 3.0 ms')
  t.match(html, '<a href="/_profiler/00000b?panel=database">3 in 38 ms</a>')
})

t.test('the verdict counts the differences that the sections show', async t => {
  const call = (path: string) => ({ method: 'GET', url: `http://a/${path}`, start: 0, end: 1, status: 200 })
  const of = (paths: string, text: string, more: object): RecordInit => ({
    data: {
      http: { calls: [...paths].map(call) },
      response: { size: text.length, headers: [['a', text]], content: { type: 'text/plain', length: 1, text } },
      exception: { exceptions: [...paths].map(message => ({ name: 'Error', message })) },
    },
    calls: paths.length,
    ...more,
  })
  const { html, text } = await compare(t, of('ab', 'one', {}), of('acd', 'other', { status: 500, exception: 'Error' }))
  t.match(text, '9 changes')
  const sections = /<section class="compared" id="(part-\w+)">\s*<h2>[^<]* <span class="badge badge-warning">(\d+)/g
  const counts = new Map(Array.from(html.matchAll(sections), ([, id, count]) => [id, Number(count)]))
  t.equal(
    [...counts.values()].reduce((sum, count) => sum + count),
    9,
  )
  const changes = [...html.matchAll(/<li><a href="#(part-\w+)">(\d+) ([^<]*)/g)]
  t.ok(changes.length > 1)
  for (const [change, id, count] of changes) t.equal(Number(count), counts.get(id), change)
})

t.test('rows have their places in the code', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const data = {
    events: {
      spans: [
        [null, 'kernel.request', 0, 9],
        [8, 'Early.onRequest', 1, 1, 0],
      ],
    },
    queries: { queries: [createQuery()], omitted: 0 },
    templates: { renders: [{ name: 'site/star-photo-booth', parent: -1, start: 1, duration: 1 }], omitted: 0 },
    http: { calls: [{ method: 'GET', url: 'http://a/7', status: 200, caller: { file: 'src/call.ts', line: 4 } }] },
    logger: {
      records: [{ level: 'warning', channel: 'app', message: 'Late.', site: { file: 'src/late.ts', line: 3 } }],
    },
  }
  const listeners = [{ event: 'kernel.request', name: 'Early.onRequest', priority: 8, site: 'src/early.ts:7' }]
  storage.append(createRecord({ token: '00000a', controller: 'one' }), '{}')
  const found = createRecord({ token: '00000b', data, controller: 'star_photo_booth' })
  storage.append(found, JSON.stringify({ events: { listeners } }))
  const html = plainEquals((await client.get('/_profiler/compare?a=00000a&b=00000b')).text)
  const places = html.match(/(?<=class="place" data-at=")[^"]+(?=")/g)
  t.match(places, [
    /^bundles\/site\/\S+\.ts:\d+:1$/,
    'bundles/shop/products.ts:12:1',
    'src/early.ts:7:1',
    'templates/site/star-photo-booth.hbs:1:1',
    'src/call.ts:4:1',
    'src/late.ts:3:1',
  ])
  t.match(html, '<code class="origin"><span class="place" data-at="src/early.ts:7:1">early.ts:7</span></code>')
})

t.test('a restart between two profiles is named, with the files that were edited', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const keep = (token: string, time: string, server: object) =>
    storage.append(createRecord({ token, time: Date.parse(time) }), JSON.stringify({ server }))
  const before = { process: { started: '2026-11-20T09:00:00.000Z' } }
  const after = { process: { started: '2026-11-20T10:00:00.000Z' } }
  keep('00000a', '2026-11-20T09:30:00Z', before)
  keep('00000b', '2026-11-20T10:30:00Z', {
    ...after,
    edits: [{ time: Date.parse('2026-11-20T10:00:00Z'), files: ['blog/list.ts', 'blog/<b>.hbs'] }],
  })
  keep('00000c', '2026-11-20T10:40:00Z', after)
  const files = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  keep('00000d', '2026-11-20T10:50:00Z', { ...after, edits: [{ time: Date.parse('2026-11-20T10:00:00Z'), files }] })
  const compare = async (a: string, b: string) => textOf((await client.get(`/_profiler/compare?a=${a}&b=${b}`)).text)
  const sentence = 'Server restarted in between, at 20 Nov 2026, 10:00:00 UTC'
  t.match(await compare('00000a', '00000b'), `${sentence}, after edits of blog/list.ts blog/&lt;b&gt;.hbs`)
  t.match(await compare('00000b', '00000a'), sentence, 'in any order')
  t.match(await compare('00000a', '00000d'), `${sentence}, after edits of a b c d e and 2 more files`)
  t.match(await compare('00000a', '00000c'), `${sentence} `, 'the reason is not known')
  t.notMatch(await compare('00000b', '00000c'), 'restarted', 'one process')
  const console = { ...after.process, 'command line': 'node bin/console profiler:replay latest' }
  keep('00000e', '2026-11-20T10:00:01Z', { process: console })
  t.notMatch(await compare('00000a', '00000e'), 'restarted', 'a replay by the console')
})

t.test('the functions of another framework are no listeners', async t => {
  const served = (name: string) => ({
    data: {
      events: {
        spans: [
          ['phase', 'middleware', 0, 500],
          ['function', name, 0, 400, 0],
        ],
        places: [[1, 'app.js:3']],
      },
    },
  })
  const { text } = await compare(t, served('session'), served('guard'))
  t.match(text, /Functions 2 differences .* guard only in B middleware called, 0\.40 ms session only in A middleware/)
  t.notMatch(text, 'Listeners')

  const mounted = (name: string) => ({
    data: {
      events: {
        spans: [
          [null, 'kernel.request', 0, 100],
          [0, 'mount', 0, 50, 0],
          ['phase', 'middleware', 100, 500],
          ['function', name, 100, 400, 2],
        ],
        places: [[3, 'app.js:3']],
      },
    },
  })
  const { text: inMount } = await compare(t, mounted('session'), mounted('guard'))
  t.match(inMount, /Functions 2 differences .* guard only in B middleware/, 'those of a mounted handler')
  t.match(inMount, /Listeners .*mount kernel\.request, priority 0/, 'the kernel has its listeners')
})

t.test('a profile does not differ from itself', async t => {
  const { client } = await createProfiledKernel(t)
  const token = (await client.get('/star-photo-booth')).headers.get('x-debug-token')
  const text = textOf((await client.get(`/_profiler/compare?a=${token}&b=${token}`)).text)
  t.match(text, 'Nothing changed')
  t.match(text, '±0 ms')
  t.notMatch(text, /\d differences?\b/)
})

t.test('two selected profiles are compared, the older first; one or three are not', async t => {
  const { client, storage } = await createProfiledKernel(t)
  for (const token of ['00000a', '00000b', '00000c']) storage.append(createRecord({ token }), '{}')
  const show = async (query: string) => {
    const { status, text } = await client.get(`/_profiler/compare${query}`)
    return { status, text: textOf(text) }
  }
  t.match(await show('?record=00000b&record=00000a'), { status: 200, text: /A 200 OK 00000a .* B 200 OK 00000b/ })
  for (const query of ['', '?record=00000a', '?record=00000a&record=00000b&record=00000c', '?a=00000a', '?record=']) {
    const { status, text } = await show(query)
    t.equal(status, 400, query)
    t.match(text, 'Two profiles are required')
  }
})

t.test('missing profiles are named', async t => {
  const { client, storage } = await createProfiledKernel(t)
  storage.append(createRecord({ token: '00000a' }), '{}')
  for (const [query, names] of [
    ['?a=ffffff&b=00000a', '"ffffff"'],
    ['?a=00000a&b=ffffff', '"ffffff"'],
    ['?a=eeeeee&b=ffffff', '"eeeeee" and "ffffff"'],
    ['?a=ffffff&b=ffffff', '"ffffff"'],
    ['?b=%3Cb%3E', '"&lt;b&gt;"'],
  ] as const) {
    const { status, text } = await client.get(`/_profiler/compare${query}`)
    t.equal(status, 404)
    const title = names.includes(' and ') ? 'Profiles not found' : 'Profile not found'
    t.match(textOf(text).replaceAll('&quot;', '"'), `${title} No profile ${names}:`)
  }
})

t.test('a profile is compared with the previous profile of the same request', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const keep = (init: RecordInit) => storage.append(createRecord(init), '{}')
  keep({ token: '000001', time: 1000, route: 'a' })
  keep({ token: '000002', time: 2000, route: 'a', method: 'POST' })
  keep({ token: '000003', time: 3000, route: 'ab' })
  keep({ token: '000004', time: 4000, route: 'a' })
  keep({ token: '000005', time: 5000, route: 'a' })
  keep({ token: '000006', time: 6000, route: null, url: 'http://localhost/x?a=1' })
  keep({ token: '000007', time: 7000, route: null, url: 'http://localhost/x/y' })
  keep({ token: '000008', time: 8000, route: null, url: 'http://localhost/x?b=2' })
  keep({ token: '000009', time: 9000, route: null, url: 'http://localhost/x', parent: '000008', controller: 'one' })
  keep({ token: '00000a', time: 9100, route: null, url: 'http://localhost/x', parent: '000008', controller: 'two' })
  keep({ token: '00000c', time: 9300, route: 'item', url: 'http://localhost/item/1?a' })
  keep({ token: '00000d', time: 9400, route: 'item', url: 'http://localhost/item/1?b' })
  keep({ token: '00000e', time: 9500, route: 'item', url: 'http://localhost/item/2' })
  keep({ token: '00000f', time: 9600, route: 'item', url: 'http://localhost/item/1?a' })
  keep({ token: '000010', time: 9700, route: 'item', url: 'http://localhost/item/3' })
  keep({ token: '000011', time: 9800, route: 'item', url: 'http://localhost/item/1?c' })
  keep({ token: '00000b', time: 9200, route: null, url: 'http://localhost/x', parent: '000008', controller: 'one' })
  const previous = async (token: string) => {
    const { headers, status, text } = await client.get(`/_profiler/compare?b=${token}`)
    return status === 302 ? headers.get('location') : `${status} ${textOf(text).includes('No profile to compare with')}`
  }
  t.equal(await previous('000004'), '/_profiler/compare?a=000001&b=000004')
  t.equal(await previous('000001'), '404 true')
  t.equal(await previous('000002'), '404 true')
  t.equal(await previous('000008'), '/_profiler/compare?a=000006&b=000008')
  t.equal(await previous('00000a'), '404 true')
  t.equal(await previous('00000b'), '/_profiler/compare?a=000009&b=00000b')
  t.match(plainEquals((await client.get('/_profiler/000004')).text), 'href="/_profiler/compare?b=000004"')

  t.equal(await previous('00000f'), '/_profiler/compare?a=00000c&b=00000f', 'the same URL')
  t.equal(await previous('000011'), '/_profiler/compare?a=00000f&b=000011', 'else the same path')
  t.equal(await previous('000010'), '/_profiler/compare?a=00000f&b=000010', 'else the same route')
  const { text } = await client.get('/_profiler/compare?a=00000c&b=00000f')
  t.match(textOf(text), 'Two profiles compared same URL')
  t.match(
    textOf(text),
    /another profile GET \/item\/1\?b same path, another query, .* \/item\/2 same route, another path/,
  )
  const wrong = textOf((await client.get('/_profiler/compare?a=000002&b=00000f')).text)
  t.match(wrong, 'Two profiles compared another method')
})

t.test('parameters have their own names, independent of the fields of a summary', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const query = ['ip', 'calls', 'constructor', '__proto__'].map(name => [name, '1'])
  storage.append(createRecord({ token: '000001' }), '{}')
  storage.append(createRecord({ token: '000002', data: { request: { query } } }), '{}')
  const { text } = await client.get('/_profiler/compare?a=000001&b=000002')
  for (const name of ['ip', 'calls', 'constructor', '__proto__']) t.match(textOf(text), `${name} only in B 1`)
})

t.test('texts of profiles never become markup, and damaged profiles are compared as far as possible', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const show = async (text: string) => {
    const pairs = [[text, text]]
    const data = {
      request: { headers: pairs, query: pairs, attributes: pairs },
      response: { headers: pairs },
      events: {
        spans: [
          [null, text, 0, 3],
          [1, text, 1, 1, 0, 3, [text]],
        ],
      },
      logger: {
        records: [
          { level: 'info', channel: text, message: text },
          { level: 'info', channel: text, message: text },
        ],
      },
      time: { measured: [{ name: text, duration: 7000 }] },
    }
    storage.append(createRecord({ token: '00000a', data, exception: text, url: `http://localhost/${text}` }), '{}')
    storage.append(
      createRecord({ token: '00000b', data: { request: 5, response: [], events: { spans: {} }, logger: 'x' } }),
      '{}',
    )
    return (await client.get('/_profiler/compare?a=00000a&b=00000b')).text
  }
  const tame = await show('tame')
  const nasty = await show(`"'\`><script>alert(1)</script><b onclick=x>{{token}}</b>`)
  t.ok(skeletonOf(tame).length > 60)
  t.strictSame(skeletonOf(nasty), skeletonOf(tame))
})

t.test('repeated items have their number', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const log = { level: 'info', channel: 'app', message: 'Once more.' }
  const events = {
    spans: [
      [null, 'e', 0, 9],
      [1, 'listener', 1, 1],
      [null, 'e', 20, 9],
      [1, 'listener', 21, 1],
    ],
  }
  storage.append(createRecord({ token: '00000a', data: { logger: { records: [log, log] }, events } }), '{}')
  storage.append(createRecord({ token: '00000b' }), '{}')
  const text = textOf((await client.get('/_profiler/compare?a=00000a&b=00000b')).text)
  t.match(text, 'called 2 times, 0.002 ms')
  t.match(text, 'logged 2 times')
  t.match(text, 'e 2 times 0.018 ms')
})

t.test('the latest request of the same URL is found behind many of the same route', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const keep = (token: string, time: number, url: string, more: RecordInit = {}) =>
    storage.append(createRecord({ token, time, url: `http://localhost${url}`, route: 'item', ...more }), '{}')
  keep('00000a', 1, '/item/1')
  keep('00000b', 2, '/item/1', { parent: '00000a', controller: 'one' })
  for (let time = 10; time < 260; time++) keep(time.toString(16).padStart(6, '1'), time, `/item/${time}`)
  keep('00000c', 900, '/item/1')
  keep('00000d', 901, '/item/1', { parent: '00000c', controller: 'one' })
  for (const [token, previous] of [
    ['00000c', '00000a'],
    ['00000d', '00000b'],
  ]) {
    const { headers } = await client.get(`/_profiler/compare?b=${token}`)
    t.equal(headers.get('location'), `/_profiler/compare?a=${previous}&b=${token}`)
  }
})
