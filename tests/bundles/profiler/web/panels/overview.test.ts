import { t } from 'tap'
import type { Finding } from '#bundles/profiler/insight/findings/finding.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { createProfile, createQuery, createRecord, type ProfileInit } from '#tests/support/create-profile.ts'
import { plainEquals, textOf } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

const spans = [
  [null, 'kernel.request', 0, 1000],
  [32, 'RouterListener.onRequest', 0, 900, 0],
  [null, 'kernel.controller_arguments', 1000, 1000],
  [null, 'kernel.response', 92_000, 500],
  [null, 'kernel.finish_request', 93_000, 1000],
]

/** Shows the overview of a profile. */
async function createOverview(t: Parameters<typeof createProfiledKernel>[0], editor = '') {
  const { show, storage } = await createProfiledKernel(t, { variables: { EDITOR_URL: editor } })
  return {
    storage,
    async show(data: Profile['data'], init: ProfileInit = {}, findings: readonly Finding[] = []) {
      return plainEquals(await show('overview', { profile: createProfile(data, { duration: 100, ...init }), findings }))
    },
  }
}

t.test('the overview begins with the sentence, and divides the time', async t => {
  const { show } = await createOverview(t)
  const queries = { queries: [createQuery({ start: 10, end: 80 })], omitted: 0 }
  const html = await show({ events: { spans, dropped: 0 }, queries }, { queries: 1 })
  const text = textOf(html)
  t.match(text, /^\s*GET \/somewhere took 100 ms: 1 query took 70 ms/)
  t.match(html, '(<code><span class="place" data-at="1">bundles/shop/products.ts:12</span></code>)')
  t.match(text, 'Where the time went')
  t.match(text, 'Database queries 70 ms 70 %')
  t.match(text, 'Controller 20 ms 20 %')
  t.match(html, '<a href="/_profiler/abc123?panel=events#controller">Controller</a>')
  t.match(html, 'class="part-database" x="0.0" width="700.0"')
  t.notMatch(text, 'Findings', 'there are none')
  t.notMatch(text, 'Usual time', 'there is none')
})

t.test('the overview says what has changed since the previous request', async t => {
  const { show, storage } = await createOverview(t)
  const header = (value: string) => ({ response: { headers: [['etag', value]] } })
  const of = (time: number) => ({ time, url: 'http://localhost/item/1', route: 'item' })
  t.notMatch(await show(header('b'), of(5)), 'Since the previous request')
  storage.append(createRecord({ token: '00000a', data: header('a'), duration: 100, ...of(1) }), '{}')
  const html = await show(header('b'), { ...of(5), status: 500, errors: 1 })
  t.match(
    textOf(html),
    /Since the previous request same URL, 1 Jan 1970 00:00:00 UTC\s+status \(200 → 500\)\s*errors \(0 → 1\)\s*1 response header \(etag\)\s+Compare with 00000a/,
  )
  const link = '/_profiler/compare?a=00000a&amp;b=abc123'
  t.match(html, `<a href="${link}#part-responseHeaders">1 response header (etag)</a>`)
  t.match(html, `<a href="${link}">Compare with <code>00000a</code></a>`)
  t.notMatch(
    textOf(await show(header('a'), { ...of(5), duration: 101 })),
    'Since the previous request',
    'only its time',
  )
  const more = { contentType: 'a/b', warnings: 1, cacheCalls: 2, controller: 'c', outcome: 'aborted' } as const
  t.match(await show(header('b'), { ...of(5), ...more }), `<a href="${link}">1 more, compare with`)
  t.notMatch(
    await show(header('b'), { ...of(5), status: 422 }),
    'Since the previous request',
    'a refused request has another input',
  )
  const lost = { ...of(5), earlier: [] }
  await storage.purge()
  t.notMatch(await show(header('b'), lost), 'Since the previous request')
})

t.test('the controller in the sentence is a place', async t => {
  const { show } = await createOverview(t)
  const slow = [
    [null, 'kernel.controller_arguments', 0, 10],
    [null, 'kernel.response', 90_000, 10],
  ]
  const html = await show({ events: { spans: slow, dropped: 0 } }, { controller: 'star_photo_booth' })
  t.match(
    html,
    /controller <code><span class="place" data-at="bundles\/site\/site-bundle\.ts:\d+:\d+">star_photo_booth</,
  )
})

t.test('short parts are one part together', async t => {
  const { show } = await createOverview(t)
  const events = Array.from({ length: 12 }, (_, index) => [
    [null, `event.${index}`, index * 2000, 2000 - index],
    [0, `Listener${index}.on`, index * 2000, 2000 - index, 2 * index],
  ]).flat()
  const html = await show({ events: { spans: events, dropped: 0 } })
  t.match(textOf(html), '5 short parts 10 ms')
  t.equal(html.match(/<rect class="part-/g)?.length, 9)
  const small = await show({
    events: {
      spans: [
        [null, 'kernel.request', 0, 1500],
        [0, 'A.on', 0, 1500, 0],
        [null, 'kernel.response', 2000, 1000],
        [2, 'B.on', 2000, 1000, 2],
      ],
      dropped: 0,
    },
  })
  t.match(textOf(small), '2 short parts 2.5 ms 2.5 %')
  const one = await show({
    events: {
      spans: [
        [null, 'kernel.request', 0, 1000],
        [1, 'A.on', 0, 200, 0],
      ],
      dropped: 0,
    },
  })
  t.match(textOf(one), 'Listeners of kernel.request 0.20 ms 0.20 %', 'a single short part keeps its name')
})

t.test('of several refused fields, the overview lists all, as the response says them', async t => {
  const { show } = await createOverview(t)
  const refusedOf = async (count: number) => {
    const errors = Array.from({ length: count }, (_, index) => ({
      field: `f${index}`,
      message: index === 1 ? '' : 'is bad',
    }))
    const content = { type: 'application/json', length: 9, json: [{ errors }] }
    return textOf(await show({ response: { content } }, { status: 422 }))
  }
  t.match(await refusedOf(2), 'The response says f0 is badf1 is refused')
  t.match(await refusedOf(7), /f4 is bad\s*2 more issues/)
  t.notMatch(await refusedOf(1), 'The response says', 'the sentence has it')
})

t.test('the time of an error page is not that of sub-requests', async t => {
  const { client, show, storedOf } = await createProfiledKernel(t)
  const missing = textOf(await show('overview', await storedOf(await client.get('/missing'))))
  t.match(missing, 'Error response')
  t.notMatch(missing, 'Sub-requests')
})

t.test('an exception comes first, with its place in the application', async t => {
  const { show } = await createOverview(t, 'editor://{file}:{line}')
  const frames = [
    { call: 'query', file: 'node_modules/pg/client.js', line: 3, origin: 'vendor', package: 'pg' },
    { call: 'list', file: 'blog/list.ts', line: 24, column: 7, origin: 'application' },
  ]
  const exceptions = [
    { name: 'TypeError', message: 'It <b>broke</b>.', frames, cause: { name: 'Error', message: 'why', frames: [] } },
  ]
  const excerpts = [{ file: 'blog/list.ts', line: 24, start: 23, lines: ['const a = 1', 'return a.b.c'] }]
  const init = { status: 500, exception: 'TypeError' }
  const html = await show({ exception: { exceptions, excerpts } }, init)
  const text = textOf(html)
  t.match(text, /failed with 500 after 100 ms: TypeError at blog\/list\.ts:24: It &lt;b&gt;broke&lt;\/b&gt;/)
  t.match(text, 'list blog/list.ts:24:7')
  t.match(text, '24 return a.b.c')
  t.match(text, 'Stack trace and 1 more exception')
  t.match(html, /href="editor:\/\/[^"]*blog\/list\.ts:24"/)
  t.match(html, 'href="/_profiler/abc123?panel=exception"')
  const without = await show({ exception: { exceptions, excerpts: [] } }, init)
  t.match(textOf(without), 'list blog/list.ts:24:7', 'the source is gone')
  const foreign = await show(
    { exception: { exceptions: [{ name: 'E', message: '', frames: [] }], excerpts: [] } },
    init,
  )
  t.match(
    textOf(foreign),
    /Exception\s+E\s+Stack trace\s+Copy prompt\s*$/,
    'nothing can be fixed in a place that is not known',
  )
})

t.test('an address in the sentence is no place, and an exception that is said has no block', async t => {
  const { show } = await createOverview(t, 'editor://{file}:{line}')
  const exceptions = [{ name: 'Error', message: 'connect ECONNREFUSED 127.0.0.1:25', frames: [] }]
  const html = await show({ exception: { exceptions, excerpts: [] } }, { status: 500, exception: 'Error' })
  t.match(html, '<code>connect ECONNREFUSED 127.0.0.1:25</code>')
  t.notMatch(html, '<h3>Exception</h3>')
})

t.test('an exception whose refused fields are listed has no block', async t => {
  const { show } = await createOverview(t)
  const issues = ['a', 'b'].map(name => ({ path: [name], message: 'is late' }))
  const input = { kind: 'note', text: '' }
  const validations = [{ source: 'json', vendor: 'zod', start: 1, end: 2, issues, omittedIssues: 0, input }]
  const exceptions = [{ name: 'E', message: 'The body does not fit: is late (a), is late (b)', frames: [] }]
  const text = textOf(
    await show(
      { validation: { validations, omitted: 0 }, exception: { exceptions, excerpts: [] } },
      { status: 422, exception: 'E' },
    ),
  )
  t.match(text, 'Refused input a is lateb is late')
  t.notMatch(text, 'does not fit')
})

t.test('logged errors and findings are listed, five of each', async t => {
  const { show } = await createOverview(t, 'editor://{file}:{line}')
  const records = Array.from({ length: 14 }, (_, at) => ({
    at,
    level: 'error',
    channel: 'app',
    message: `error ${at}`,
  }))
  const calls = [{ client: 'fetch', method: 'GET', url: 'http://x/', start: 0, end: 18 }]
  const findings = Array.from({ length: 6 }, (_, index) => ({
    rule: 'own',
    title: `Finding ${index}`,
    severity: 'warning' as const,
    problem: 'It is {value}.',
    values: { value: '<slow>' },
    advice: 'Do less.',
    evidence: {},
    place: { panel: 'http', anchor: 'call-0' },
    code: { file: 'blog/list.ts', line: 24 },
  }))
  const data = { logger: { records, dropped: 0 }, http: { calls, omitted: 0 } }
  const html = await show(data, { errors: 14, calls: 1 }, findings)
  const text = textOf(html)
  t.match(text, /error error 7\s+Other errors error error 8.* error error 12\s+1 more error/, 'each of them once')
  t.notMatch(text, 'error 13')
  t.match(
    text,
    /Finding 4 warning\s+Verify\s+It is &lt;slow&gt;\.\s+Show the HTTP client calls\s+Do less\.\s+blog\/list\.ts:24\s+1 more finding/,
  )
  t.notMatch(text, 'Finding 5')
  t.equal(text.match(/Copy prompt/g)?.length, 1, 'of the worst one')
  t.match(html, 'href="/_profiler/abc123?panel=http#call-0"')
  t.match(html, /href="editor:\/\/[^"]*blog\/list\.ts:24"/)
})

t.test('the usual time is divided by the start of the process', async t => {
  const { show, storage } = await createOverview(t, 'editor://{file}')
  const time = Date.parse('2026-11-20T23:00:00Z')
  const keep = (token: string, duration: number, minutes: number, more: ProfileInit = {}) =>
    storage.append(createRecord({ token, duration, time: time + minutes * 60_000, ...more }), '{}')
  for (let index = 0; index < 5; index++) keep(`00000${index}`, 20, index)
  keep('00000a', 1, 1, { route: 'other' })
  keep('00000b', 1, 1, { outcome: 'aborted' })
  keep('00000c', 40, 12)
  const started = '2026-11-20T23:10:00.000Z'
  const server = { process: { started }, edits: [{ time: Date.parse(started), files: ['blog/list.ts'] }] }
  const html = await show({}, { processData: { server } })
  const text = textOf(html)
  t.match(text, 'GET /somewhere took 100 ms, 5 times as long as usual.')
  t.match(
    text,
    /Usual time Median 20 ms, all within 40 ms 6 earlier requests Median 20 ms.* 5 before the restart Median 40 ms 1 since/,
  )
  t.match(html, 'href="/_profiler/compare?a=000004&amp;b=abc123"')
  t.match(
    text,
    /Since your edit blog\/list\.ts ·.* Time 20 ms 40 ms Time: too few warm requests to compare: 5 of 5 before the edit, 2 of 4 since\./,
  )
  t.match(html, /href="editor:\/\/[^"]*blog\/list\.ts"/)
  const files = Array.from({ length: 7 }, (_, index) => `file-${index}.ts`)
  const many = { ...server, edits: [{ time: Date.parse(started), files }] }
  t.match(textOf(await show({}, { processData: { server: many } })), /file-4\.ts and 2 more files/)
  const first = await show({}, { processData: { server: { process: { started: '2026-11-20T23:13:00.000Z' } } } })
  t.notMatch(textOf(first), 'Since your edit')
})

t.test('the overview shows profiles of sub-requests and old profiles', async t => {
  const { show } = await createOverview(t)
  t.match(textOf(await show({}, { parent: 'ffffff' })), 'Sub-request SomeController took 100 ms.')
  t.match(textOf(await show({}, { duration: 0 })), 'GET /somewhere took 0 ms.')
  const failed = [{ at: 1, level: 'error', channel: 'app', message: 'lost' }]
  t.match(textOf(await show({ logger: { records: failed, dropped: 0 } }, { errors: 1 })), /What it did .* error lost/)
})

t.test('the message of an exception is not repeated', async t => {
  const { show } = await createOverview(t)
  const frames = [{ call: 'list', file: 'blog/list.ts', line: 24, column: 7, origin: 'application' }]
  const exceptions = [{ name: 'TypeError', message: 'It broke.', frames }]
  const lines = Array.from({ length: 11 }, (_, index) => `line ${index}`)
  const excerpts = [{ file: 'blog/list.ts', line: 24, start: 19, lines }]
  const thrown = { exception: { name: 'TypeError', message: 'It broke.', frames } }
  const records = [
    { at: 1, level: 'critical', channel: 'request', message: 'Uncaught TypeError: "It broke."', exceptions: thrown },
    { at: 2, level: 'error', channel: 'app', message: 'The mail was lost.' },
  ]
  const data = { exception: { exceptions, excerpts }, logger: { records, dropped: 0 } }
  const text = textOf(await show(data, { status: 500, exception: 'TypeError', errors: 2 }))
  t.equal(text.match(/It broke/g)?.length, 1)
  t.match(text, 'The mail was lost.')
  t.match(text, /21 line 2.*27 line 8/s)
  t.notMatch(text, '28 line 9', 'the panel of exceptions has more of the source')
  const handled = textOf(await show({ exception: data.exception }, { errors: 2 }))
  t.match(handled, /Exception TypeError\s+It broke/, 'a sentence without the message')
})

t.test('where the sentence names the nearest route, the message of the exception is left out', async t => {
  const kernel = await createProfiledKernel(t)
  const text = textOf(
    await kernel.show('overview', await kernel.profileOf(await kernel.client.get('/star-photo-both'))),
  )
  t.match(text, 'no route matches, the nearest is /star-photo-booth')
  t.notMatch(text, 'No route found')
})

t.test('what has caused the work stands before its times, what it has caused behind them', async t => {
  const { show } = await createProfiledKernel(t)
  const queries = { queries: [createQuery({ start: 10, end: 80 })], omitted: 0 }
  const init = { type: 'job', route: 'job ship', url: '', method: '', queries: 1, duration: 100 } as const
  const profile = createProfile({ queries }, init)
  const linked = (route: string) => createProfile({}, { url: `http://localhost/${route}` }).summary
  const findLinked = () => ({ attempts: [], caused: [linked('mail')], causes: [linked('order')] })
  t.match(
    textOf(await show('overview', { profile, findLinked })),
    /Started by.*\/order.*Where the time went.*Started.*\/mail/s,
  )
})

t.test('what a request was given, and what it has answered, stand beside', async t => {
  const { show } = await createOverview(t)
  const entry = (text: string) => ({ kind: 'text' as const, text })
  const files = [{ field: 'photo', name: 'a.png', type: 'image/png', size: 1200 }]
  const form = [['title', 'Sea']]
  const body = { type: 'multipart/form-data', length: 1300, state: 'read', form, files }
  const json = { type: 'application/json', length: 8, json: [{ a: 'b'.repeat(400) }] }
  const request = { query: [['page', '2']], body }
  const text = textOf(await show({ request, response: { content: json } }))
  t.match(
    text,
    /Request multipart\/form-data, 1,300 bytes\s+page: 2 title: Sea photo: a\.png, image\/png, 1,200 bytes\s+Response application\/json, 8 bytes\s+\{ (?:"|&quot;)a(?:"|&quot;): (?:"|&quot;)b{280,300}…/,
  )
  const refused = textOf(await show({ request, response: { content: json } }, { status: 422 }))
  t.match(refused, /Response application.*Request multipart/, 'a refusal first')
  const page = { type: 'text/html', length: 12, text: '<p>Hello</p>' }
  t.match(textOf(await show({ response: { content: page } })), /Response text\/html, 12 bytes\s*$/, 'a page is no text')
  const entries = Array.from({ length: 30 }, (_, index) => ({ name: `n${index}`, value: entry('x') }))
  const unit = { input: { kind: 'object', text: 'Object', entries, omitted: 0 }, result: entry('done') }
  const job = textOf(await show({ unit }, { type: 'job', route: 'job ship', url: '', method: '' }))
  t.match(job, /Input\s+n0: (?:"|&quot;)x.*n9: \S+\s+Result\s+(?:"|&quot;)done/)
})
