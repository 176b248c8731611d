import fc from 'fast-check'
import { t } from 'tap'
import { type Comparison, compareProfiles } from '#bundles/profiler/insight/compare/comparison.ts'
import { type Compared, compareMaps, type DifferenceKind } from '#bundles/profiler/insight/compare/differences.ts'
import { judgeComparison, writeChanges } from '#bundles/profiler/insight/compare/judge-comparison.ts'
import { toProfile } from '#bundles/profiler/profile/parse-profile.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { createProfile, createQuery } from '#tests/support/create-profile.ts'

const text = fc.constantFrom('a', 'b', 'A', 'kernel.request', 'date', '', 'ä')
const number = fc.integer({ min: -5, max: 3000 })
const pairs = fc.array(fc.tuple(text, fc.oneof(text, number, fc.constant(null))), { maxLength: 5 })
const spans = fc.array(
  fc.tuple(fc.oneof(fc.constant(null), fc.constant('request'), number), text, number, number, number, fc.nat(3)),
  { maxLength: 8 },
)
const data = fc.record(
  {
    request: fc.record({ headers: pairs, query: pairs, attributes: pairs }, { requiredKeys: [] }),
    response: fc.oneof(fc.record({ headers: pairs }), fc.anything()),
    events: fc.oneof(fc.record({ spans }), fc.anything()),
    logger: fc.record({
      records: fc.array(fc.record({ level: fc.constantFrom('info', 'error', 'x'), channel: text, message: text })),
    }),
    templates: fc.record({ renders: fc.array(fc.record({ parent: fc.constantFrom(-1, 0), duration: number })) }),
    http: fc.record({ calls: fc.array(fc.record({ start: number, end: number }, { requiredKeys: ['start'] })) }),
    queries: fc.record({
      queries: fc.array(fc.record({ system: fc.constantFrom('redis', 'sqlite'), text, start: number, end: number })),
    }),
    time: fc.record({ measured: fc.array(fc.record({ name: text, duration: number })) }),
  },
  { requiredKeys: [] },
)
const profileOf: fc.Arbitrary<Profile> = fc
  .record({ data, status: fc.constantFrom(200, 404), route: fc.constantFrom(null, 'a'), duration: fc.nat(100) })
  .map(({ data, ...summary }) => createProfile(data, summary))

const mirrored: Readonly<Record<DifferenceKind, DifferenceKind>> = {
  same: 'same',
  changed: 'changed',
  onlyFirst: 'onlySecond',
  onlySecond: 'onlyFirst',
}

function mirror(comparison: Comparison): unknown {
  const parts = Object.entries(comparison) as [string, readonly Compared<unknown>[]][]
  return Object.fromEntries(
    parts.map(([part, compared]) => [
      part,
      compared.map(({ change, first, key, second }) => ({
        key,
        first: second,
        second: first,
        change: mirrored[change],
      })),
    ]),
  )
}

t.test('a profile has no difference from itself, with any data', async t => {
  fc.assert(
    fc.property(profileOf, profile => {
      const comparison = compareProfiles(profile, toProfile(JSON.parse(JSON.stringify(profile))))
      const changes = Object.values(comparison).flatMap((part: readonly Compared<unknown>[]) =>
        part.map(each => each.change),
      )
      return judgeComparison(comparison).isSame && changes.every(change => change === 'same')
    }),
  )
  t.pass()
})

t.test('exchanged profiles have the same differences', async t => {
  fc.assert(
    fc.property(profileOf, profileOf, (first, second) => {
      t.strictSame(mirror(compareProfiles(first, second)), compareProfiles(second, first))
    }),
    { numRuns: 50 },
  )
})

t.test('a comparison has each key once, and its order is the same for exchanged profiles', async t => {
  const map = (text: string) => new Map([...text].map(key => [key.toLowerCase(), key]))
  const compare = (first: string, second: string) =>
    compareMaps(map(first), map(second)).map(({ change, key }) => `${key} ${change}`)
  t.strictSame(compare('abc', 'xbCd'), ['a onlyFirst', 'x onlySecond', 'b same', 'c changed', 'd onlySecond'])
  t.strictSame(compare('', ''), [])
})

/** The differences, as `key change`. */
function changed(compared: readonly Compared<unknown>[]): string[] {
  return compared.filter(({ change }) => change !== 'same').map(({ change, key }) => `${key} ${change}`)
}

t.test('headers are compared by name in any case, with all values; what is always new is left out', async t => {
  const response = (headers: unknown) => createProfile({ response: { headers } })
  const { responseHeaders } = compareProfiles(
    response([
      ['ETag', '1'],
      ['Set-Cookie', 'a'],
      ['set-cookie', 'b'],
      ['Date', 'now'],
      ['vary', 'accept'],
    ]),
    response([['etag', '1'], ['set-cookie', 'a'], ['date', 'then'], ['x-debug-token', 'abc123'], 'damaged', [1, 2]]),
  )
  t.strictSame(changed(responseHeaders), ['set-cookie changed', 'vary onlyFirst'])
  t.strictSame(
    responseHeaders.map(({ key }) => key),
    ['etag', 'set-cookie', 'vary'],
  )
})

t.test('names of parameters are case-sensitive', async t => {
  const asking = (query: unknown) => createProfile({ request: { query } })
  t.strictSame(changed(compareProfiles(asking([['A', '1']]), asking([['a', '1']])).query), [
    'A onlyFirst',
    'a onlySecond',
  ])
})

t.test('the summary is compared without times and durations', async t => {
  const one = createProfile({}, { token: '000001', time: 5, memory: 1, duration: 1, status: 200 })
  const other = createProfile(
    {},
    { token: '000002', time: 9, memory: 2, duration: 2, status: 500, exception: 'TypeError' },
  )
  const comparison = compareProfiles(one, other)
  t.strictSame(changed(comparison.summary), ['status changed', 'exception changed'])
  t.notOk(judgeComparison(comparison).isSame)
  const again = compareProfiles(one, createProfile({}, { token: '000003', time: 9, memory: 3, duration: 4 }))
  t.ok(judgeComparison(again).isSame)
  t.strictSame(changed(again.timings), ['main Total changed'])
})

t.test('listeners differ in their numbers of calls and their changes, not in their durations', async t => {
  const of = (...spans: unknown[]) => createProfile({ events: { spans } })
  const { listeners } = compareProfiles(
    of([null, 'e', 0, 9], [1, 'same', 1, 1], [2, 'twice', 2, 1], [3, 'gone', 3, 1], [4, 'thrower', 4, 1, 0, 0]),
    of(
      ...[
        [null, 'e', 0, 9],
        [1, 'same', 1, 5],
        [2, 'twice', 2, 1],
        [4, 'thrower', 4, 1, 0, 2, ['set header a']],
      ],
      ...[
        [null, 'e', 10, 9],
        [2, 'twice', 12, 1],
        [1, 'elsewhere', 13, 1],
      ],
    ),
  )
  t.strictSame(
    listeners.map(({ change, first, second }) => `${(first ?? second)?.name} ${change}`),
    ['same same', 'twice changed', 'gone onlyFirst', 'thrower changed', 'elsewhere onlySecond'],
  )
  t.hasStrict(listeners[1], { first: { calls: 1 }, second: { calls: 2, duration: 2, event: 'e', priority: 2 } })
})

t.test('log messages differ in their numbers', async t => {
  const of = (...messages: string[]) =>
    createProfile({ logger: { records: messages.map(message => ({ level: 'info', channel: 'c', message })) } })
  const { logs } = compareProfiles(of('a', 'b', 'b', 'c'), of('b', 'c', 'd'))
  t.strictSame(
    logs.map(({ change, first, second }) => `${(first ?? second)?.message} ${change}`),
    ['a onlyFirst', 'b changed', 'c same', 'd onlySecond'],
  )
})

t.test('queries are compared by statement shape, in their numbers', async t => {
  const text = 'SELECT * FROM posts'
  const get = createQuery({ system: 'redis', text: 'GET posts', start: 60, end: 61 })
  const items = Array.from({ length: 11 }, (_, index) => createQuery({ start: index }))
  const profileOf = (queries: readonly object[], count: number) =>
    createProfile({ queries: { queries, omitted: 0 } }, { queries: count })
  const before = profileOf([createQuery({ text }), ...items], 12)
  const after = profileOf([createQuery({ text, end: 9 }), get, createQuery({ text: 'SELECT 1' })], 2)
  const comparison = compareProfiles(before, after)
  t.match(comparison.queries, [
    { change: 'same', first: { duration: 1 }, second: { text, duration: 8 } },
    { change: 'onlyFirst', first: { text: 'SELECT * FROM products WHERE id = ?', times: 11, duration: 11 } },
    { change: 'onlySecond', second: { system: 'postgresql', text: 'SELECT 1' } },
    { change: 'onlySecond', second: { system: 'redis', text: 'GET posts', times: 1 } },
  ])
  t.match(judgeComparison(comparison).changes, [
    { part: 'queries', text: '3 statement shapes, queries (12 → 2)', count: 3 },
  ])
  const other = profileOf([createQuery({ text: 'SELECT 2' }), createQuery({ text: 'SELECT 1' })], 2)
  t.match(judgeComparison(compareProfiles(after, other)).changes, [{ part: 'queries', text: '3 statement shapes' }])
  const cached = createProfile({ queries: { queries: [get], omitted: 0 } }, { cacheCalls: 1 })
  t.match(judgeComparison(compareProfiles(createProfile({}), cached)), {
    title: '1 change',
    changes: [{ part: 'queries', text: 'cache calls (0 → 1)' }],
  })
  const { timings } = compareProfiles(before, after)
  t.strictSame(timings.find(({ key }) => key === 'main Database queries')?.first, {
    name: 'Database queries',
    kind: 'main',
    // Two of them ran at the same time.
    duration: 11_000,
    times: 12,
  })
  t.match(timings.find(({ key }) => key === 'main Cache calls')?.second, { duration: 1000, times: 1 })
})

t.test('timings contain the parts of a request, its events, and the stopwatch', async t => {
  const profile = createProfile(
    {
      events: {
        spans: [
          [null, 'kernel.controller_arguments', 0, 100],
          [null, 'kernel.response', 1100, 50],
          [null, 'other', 1200, 10],
          [null, 'other', 1300, 20],
        ],
      },
      templates: {
        renders: [
          { parent: -1, duration: 0.5 },
          { parent: 0, duration: 0.2 },
        ],
      },
      http: { calls: [{ start: 1, end: 3 }, { start: 2 }] },
      time: { measured: [{ name: 'query', duration: 70 }] },
    },
    { duration: 2 },
  )
  t.strictSame(
    compareProfiles(profile, profile).timings.map(({ first }) => [first?.name, first?.duration, first?.times]),
    [
      ['Total', 2000, 1],
      ['Controller', 1000, 1],
      ['HTTP client calls', 2000, 2],
      ['Templates', 500, 1],
      ['kernel.controller_arguments', 100, 1],
      ['kernel.response', 50, 1],
      ['other', 30, 2],
      ['query', 70, 1],
    ],
  )
})

t.test('a fact about a body that only one profile has is no difference', async t => {
  const one = createProfile({ response: { size: 10, isStreamed: false, headers: [] } })
  const other = createProfile({})
  for (const [first, second] of [
    [one, other],
    [other, one],
  ] as const) {
    const comparison = compareProfiles(first, second)
    t.strictSame(comparison.responseBody, [])
    t.equal(writeChanges(judgeComparison(comparison).changes), '')
  }
})

t.test('with another content, another size is no difference of its own, but another transfer is one', async t => {
  const of = (text: string, isStreamed: boolean) => {
    const content = { type: 'text/plain', length: text.length, text }
    return createProfile({ response: { size: text.length, isStreamed, headers: [], content } })
  }
  const { responseBody } = compareProfiles(of('one', false), of('another', true))
  t.strictSame(
    responseBody.filter(({ change }) => change !== 'same').map(({ key }) => key),
    ['transfer', 'line 1'],
  )
})

t.test('the verdict counts different results, and separates differences in the request', async t => {
  const one = createProfile({
    request: {
      query: [['page', '1']],
      headers: [['accept', 'a']],
      body: { type: 'a', state: 'read', form: [['name', 'Ada']] },
    },
    response: { size: 10, isStreamed: false, headers: 'abcd'.split('').map(name => [name, '1']) },
    templates: { renders: [{ name: 'page', parent: -1, duration: 1 }] },
  })
  const files = [{ field: 'cv', name: 'cv.txt', type: 'text/plain', size: 4 }]
  const other = createProfile(
    {
      request: {
        query: [['page', '2']],
        headers: [['accept', 'b']],
        body: { type: 'a', state: 'read', json: [{ a: 1 }], files },
        attributes: [['team', 'x']],
      },
      response: { size: 11, isStreamed: true, headers: [['a', '2']] },
      exception: { exceptions: [{ name: 'TypeError', message: 'no' }, { name: 'Error' }] },
      templates: {
        renders: [
          { name: 'page', parent: -1, duration: 1 },
          { name: 'page', parent: 0, duration: 1 },
        ],
      },
      http: {
        calls: [
          { method: 'GET', url: 'http://a/', start: 1, end: 2, status: 200 },
          { method: 'GET', url: 'http://a/', start: 2, end: 3, status: 500 },
        ],
      },
      logger: { records: [{ level: 'error', channel: 'app', message: 'No.' }] },
    },
    { status: 500, url: 'http://localhost:8000/somewhere?q=2', exception: 'TypeError' },
  )
  const comparison = compareProfiles(one, other)
  const verdict = judgeComparison(comparison)
  t.notOk(verdict.isSame)
  t.equal(verdict.title, '9 changes')
  t.equal(
    writeChanges(verdict.changes),
    'status (200 → 500), 2 exceptions, exception (none → TypeError), response size (10 bytes → 11 bytes), ' +
      'response transfer (at once → streamed), 1 template (page), ' +
      '1 HTTP client call, 1 request attribute (team), 1 log message',
  )
  t.equal(
    writeChanges(verdict.asked),
    'URL (http://localhost:8000/somewhere?q=1 → http://localhost:8000/somewhere?q=2), 1 GET parameter (page), ' +
      '1 request header (accept), 4 response headers (a, b, c, …), 3 parts of the request body',
  )
  t.strictSame(comparison.calls[0]?.second, ['200', '500'])
  t.strictSame(
    comparison.requestBody.map(({ key }) => key),
    ['media type', 'state', '$.a', 'field “name”', 'file 1'],
  )
})

t.test('nonces, and an `expires` at the time of the response, are no differences', async t => {
  const time = Date.parse('2026-11-20T12:00:00.900Z')
  const of = (time: number, expires: string, policy: string) =>
    createProfile(
      {
        request: { headers: [['expires', '0']] },
        response: {
          headers: [
            ['Expires', expires],
            ['content-security-policy', policy],
          ],
        },
      },
      { time },
    )
  const first = of(time, 'Fri, 20 Nov 2026 12:00:00 GMT', "script-src 'nonce-abc' 'self'")
  const second = of(time + 60_000, 'Fri, 20 Nov 2026 12:01:00 GMT', "script-src 'nonce-def' 'self'")
  t.ok(judgeComparison(compareProfiles(first, second)).isSame)
  for (const other of [
    of(time, 'Fri, 20 Nov 2026 12:00:09 GMT', "script-src 'nonce-abc' 'self'"),
    of(time, '0', "script-src 'nonce-abc' 'self'"),
    of(time, 'Fri, 20 Nov 2026 12:00:00 GMT', "script-src 'self'"),
  ]) {
    t.notOk(judgeComparison(compareProfiles(first, other)).isSame)
  }
})

t.test('compressed lengths and the sizes of error pages are no differences', async t => {
  const of = (length: string, size: number, ...more: string[][]) =>
    createProfile({ response: { size, headers: [['content-length', length], ...more] } })
  t.ok(judgeComparison(compareProfiles(of('700', 2000), of('703', 2000))).isSame)
  t.notOk(judgeComparison(compareProfiles(of('700', 2000), of('700', 2001))).isSame)
  const exception = ['x-debug-exception', 'No']
  t.ok(judgeComparison(compareProfiles(of('9', 9, exception), of('8', 8, exception))).isSame)
})

t.test('times differ if the difference is more than 5 %, 2 ms and the usual spread of such requests', async t => {
  const of = (duration: number) => createProfile({}, { duration })
  const title = (before: number, after: number, spread?: number) =>
    judgeComparison(compareProfiles(of(before), of(after), spread)).title
  t.equal(title(100, 104), 'Only timings changed, within the usual range')
  t.equal(title(10, 11.9), 'Only timings changed, within the usual range')
  t.equal(title(100, 130), 'Only timings changed: 30 % slower')
  t.equal(title(100, 80), 'Only timings changed: 20 % faster')
  t.equal(title(100, 130, 31), 'Only timings changed, within the usual range')
  t.equal(title(0, 30), 'Only timings changed')
})

t.test('messages are compared by their templates, calls by their URLs without values', async t => {
  const of = (...ids: number[]) =>
    createProfile({
      logger: {
        records: ids.map(id => ({ level: 'info', channel: 'c', message: `Item ${id}.`, template: 'Item {id}.' })),
      },
      http: {
        calls: ids.map(id => ({ method: 'GET', url: `http://a/items/${id}?q=${id}`, start: 1, end: 2, status: 200 })),
      },
    })
  const { calls, logs } = compareProfiles(of(1, 2), of(3, 4))
  t.match(logs, [{ change: 'same', first: { message: 'Item {id}.', times: 2 } }])
  t.match(calls, [{ key: 'GET http://a/items/:id?q=…', change: 'same', first: ['2 × 200'] }])
})

t.test('values in the path belong to the request', async t => {
  const of = (id: string) =>
    createProfile(
      {
        request: {
          attributes: [
            ['id', id],
            ['_route_params', { id }],
            ['team', 'a'],
          ],
        },
        router: { outcome: 'match', route: 'item', parameters: { id } },
      },
      { url: `http://localhost/items/${id}` },
    )
  const verdict = judgeComparison(compareProfiles(of('1'), of('2')))
  t.ok(verdict.isSame)
  t.match(writeChanges(verdict.asked), /^URL .*, 1 route parameter \(id\)$/)
})

/** The differences of two contents. */
function differences(first: object, second: object): unknown[] {
  const length = { type: 'text/plain', length: 1 }
  const of = (content: object, size: number) =>
    createProfile({ response: { size, headers: [], content: { ...length, ...content } } })
  const comparison = compareProfiles(of(first, 1), of(second, 2))
  const all = comparison.responseBody.filter(({ change }) => change !== 'same')
  const found = all.filter(({ key }) => key !== 'size')
  const { changes } = judgeComparison(comparison)
  const plural = all.length === 1 ? '1 difference' : `${all.length} differences`
  if (found.length > 0) t.equal(writeChanges(changes), `response body (${plural})`)
  return found.map(({ first, key, second }) => [key, first, second])
}

t.test('JSON is compared by the paths of its values, a form by its fields', async t => {
  const before = { json: [{ a: 1, list: [{ b: 'x' }, 2], 'odd name': null, gone: {}, size: [] }] }
  const after = { json: [{ a: '1', list: [{ b: 'y' }, 2, 3], 'odd name': 1, size: [] }] }
  t.strictSame(differences(before, after), [
    ['$.a', '1', '"1"'],
    ['$.list[0].b', '"x"', '"y"'],
    ['$["odd name"]', 'null', '1'],
    ['$.gone', '{}', undefined],
    ['$.list[2]', undefined, '3'],
  ])
  t.strictSame(
    differences(
      {
        form: [
          ['a', '1'],
          ['a', '2'],
        ],
      },
      {
        form: [
          ['a', '1'],
          ['b', '2'],
        ],
      },
    ),
    [
      ['a', '1\n2', '1'],
      ['b', undefined, '2'],
    ],
  )
  t.equal(differences({ json: [Array(200).fill(1)] }, { json: [Array(200).fill(2)] }).length, 100)
  t.equal(differences({ json: [Array(6000).fill(1)] }, { json: [[...Array(5999).fill(1), 2]] }).length, 0, 'a limit')
})

t.test('other text is compared by lines, markup by elements', async t => {
  t.strictSame(differences({ text: 'a\nb\nc\nd\ne' }, { text: 'a\nx\nc\nd\ny\ne' }), [
    ['line 2', 'b', 'x'],
    ['line 5', undefined, 'y'],
  ])
  t.strictSame(differences({ text: 'a\nb\nb\nc' }, { text: 'a\nc' }), [['line 2', 'b\nb', undefined]])
  const page = (nonce: string, text: string) => ({
    type: 'text/html',
    text: `<p><script nonce="${nonce}"></script><b>${text}</b></p>`,
  })
  t.strictSame(differences(page('a', 'x'), page('b', 'y')), [['element 4', '<b>x</b>', '<b>y</b>']])
  t.strictSame(differences({ json: [{ a: 1 }] }, { text: '{\n  "a": 2\n}' }), [['line 2', '  "a": 1', '  "a": 2']])
  t.strictSame(differences({ form: [['a', '1']] }, { text: 'b=1' }), [['line 1', 'a=1', 'b=1']])
  const lines = (prefix: string) => Array.from({ length: 3000 }, (_, index) => `${prefix}${index}`).join('\n')
  t.equal(differences({ text: lines('a') }, { text: lines('b') }).length, 1, 'too long for the table')
  const mixed = (odd: string) => Array.from({ length: 400 }, (_, index) => (index % 2 ? odd + index : `x${index}`))
  t.equal(differences({ text: mixed('a').join('\n') }, { text: mixed('b').join('\n') }).length, 100)
})

t.test('content without text is compared by its digest', async t => {
  t.strictSame(differences({ digest: 'a'.repeat(32) }, { digest: 'a'.repeat(32) }), [])
  t.strictSame(differences({ text: '<p>a</p>' }, { note: 'Not stored: too much content in a short time.' }), [])
  const of = (digest: string) =>
    createProfile({ response: { headers: [], content: { type: 'image/png', length: 1, digest: digest.repeat(32) } } })
  t.match(
    writeChanges(judgeComparison(compareProfiles(of('a'), of('b'))).changes),
    /^response digest \(a{32} → b{32}\)$/,
  )
})
