import { t } from 'tap'
import { parseProfile, parseSummary, toProfile } from '#bundles/profiler/profile/parse-profile.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { createProfile } from '#tests/support/create-profile.ts'

const { collectors: _, ...document } = toProfile(createProfile({}))

/** Parses stored data. */
const collectorsOf = (data: Profile['data']) => toProfile({ ...document, data }).collectors

t.test('a part is parsed once, at the first access, and is absent if nothing was recorded', t => {
  const { logger, http, ...others } = collectorsOf({ logger: { records: [], dropped: 2 }, strange: { some: 'data' } })
  t.strictSame(logger, { records: [], dropped: 2 })
  t.equal(http, undefined)
  t.notOk('strange' in others, 'foreign collectors have no type')
  const collectors = collectorsOf({ late: { since: 1 } })
  t.equal(collectors.late, collectors.late)
  t.end()
})

t.test('a damaged field loses only that field', t => {
  const { memory, request, http } = collectorsOf({
    memory: {
      wall: 'long',
      cpu: [1],
      loop: null,
      heap: { before: -1, after: 1e300, limit: 7 },
      requests: 3,
      blocks: {},
    },
    request: {
      httpVersion: 1,
      headers: { a: 1 },
      attributes: [['a', 1], 'b', [2, 3], ['c']],
      body: { type: 'text/plain' },
    },
    http: { calls: [{ client: 'smoke signals', method: 'GET', status: 'fine', caller: { line: '1', file: 'a.ts' } }] },
  })
  t.strictSame(memory, {
    wall: 0,
    cpu: { user: 0, system: 0 },
    loop: { active: 0, idle: 0 },
    heap: { before: 0, after: 0, limit: 7 },
    requests: { others: 0, most: 0 },
    pauses: { count: 0, total: 0, longest: [] },
    blocks: [],
  })
  t.strictSame(request, {
    httpVersion: '',
    headers: [],
    attributes: [['a', 1], ['c']],
    isDebugAllowed: false,
    body: { type: 'text/plain', length: null, state: 'unread' },
  })
  const call = { client: 'fetch', method: 'GET', url: '', start: 0, status: undefined }
  t.strictSame(http, { calls: [{ ...call, caller: { file: 'a.ts', line: undefined } }], omitted: 0 })
  t.end()
})

t.test('a damaged item is omitted; an item with references to it is replaced', t => {
  const message = { at: 5, level: 'info', channel: 'app', message: 'Well.' }
  const call = ['request', 'abc123', 1, 2]
  const { logger, events, templates, cpu } = collectorsOf({
    logger: { records: [message, 7, { ...message, level: 'loud' }, { ...message, message: 1 }, message], dropped: 0 },
    events: { spans: [[null, 'a', 0, null], 'no', [1, 'b', -1, 2], call, [...call, 0, 0, ['x'], [1]]], dropped: 0 },
    templates: { renders: [null, { name: 'a', parent: 0, start: 1, duration: 1, hasFailed: 'yes' }] },
    cpu: { functions: ['f'], calls: [[0, -1, 1, 1], [0]], samples: 2 },
  })
  t.strictSame(logger?.records, [message, message])
  t.strictSame(events?.spans, [[null, 'a', 0, null], null, null, call, null])
  t.strictSame(templates?.renders[0], { name: '', parent: -1, start: 0, duration: 0 })
  t.strictSame(templates?.renders[1]?.parent, 0)
  t.strictSame(cpu?.functions, [{ name: '(unknown)', origin: 'runtime', self: 0, total: 0 }])
  t.strictSame(cpu?.calls, [
    [0, -1, 1, 1],
    [-1, -1, 0, 0],
  ])
  t.end()
})

t.test('a part that cannot be parsed is absent, and the other parts stay', t => {
  const { router, late, cpu, redirects } = collectorsOf({
    router: { outcome: 'lost' },
    late: { since: 'now' },
    cpu: 5,
    redirects: [{ token: 'no token' }, { token: 'abc123', status: 302, method: 'GET', url: 'http://localhost/' }],
  })
  t.strictSame([router, late, cpu], [undefined, undefined, undefined])
  t.equal(redirects?.length, 1)
  t.end()
})

t.test('a profile can be read if its frame is valid', t => {
  const text = (changes: object) => JSON.stringify({ ...document, data: { late: { since: 1 } }, ...changes })
  t.equal(parseProfile(`\ufeff${text({})}`, '{"server":{}}')?.collectors.late?.since, 1)
  t.strictSame(parseProfile(text({}), '{"server":{"environment":{"A":"b"}}}')?.process.server?.environment, { A: 'b' })
  t.strictSame(parseProfile(text({}), 'nonsense')?.processData, {})
  const damages = [
    { schemaVersion: 2 },
    { children: ['me'] },
    { data: [] },
    { failures: { a: 1 } },
    { summary: { ...document.summary, status: 0.5 } },
    { summary: { ...document.summary, time: 9e15 } },
    { summary: { ...document.summary, token: 'ABC123' } },
    { data: JSON.parse(`${'['.repeat(101)}${']'.repeat(101)}`) },
  ]
  for (const damage of damages)
    t.equal(parseProfile(text(damage), '{}'), undefined, JSON.stringify(damage).slice(0, 60))
  t.equal(parseProfile('{', '{}'), undefined)
  t.strictSame(parseSummary({ ...document.summary, more: 1 }), document.summary)
  t.end()
})
