import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import type { Bundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { loadSdk, openServer } from '#bundles/profiler/cli/mcp/server.ts'
import { filterOptions, pagingOptions } from '#bundles/profiler/cli/profiler-list.ts'
import { Inspector } from '#bundles/profiler/insight/findings/inspector.ts'
import { profilerSettings } from '#bundles/profiler/settings.ts'
import { subjectViews } from '#bundles/profiler/subjects/views.ts'
import { connectAgent } from '#tests/support/agent.ts'
import { createRecord, createStorage, type RecordInit } from '#tests/support/create-profile.ts'

const hour = 3_600_000
const noon = Date.parse('2026-11-20T12:00Z')

const thrown = (message: string) => ({
  exceptions: [
    {
      name: 'TypeError',
      message,
      frames: [{ call: 'sell', file: 'bundles/shop.ts', line: 2, column: 1, origin: 'application' }],
    },
  ],
  excerpts: [{ file: 'bundles/shop.ts', line: 2, start: 1, lines: ['one', 'two', 'three'] }],
})

const records: readonly RecordInit[] = [
  { token: '00000a', time: noon, duration: 4, route: 'shop', data: { request: { query: [['page', '1']] } } },
  { token: '00000b', time: noon + hour, duration: 9, route: 'shop', data: { request: { query: [['page', '2']] } } },
  {
    token: '00000c',
    time: noon + 2 * hour,
    status: 500,
    method: 'POST',
    duration: 40,
    route: 'buy',
    exception: 'TypeError',
    errors: 1,
    queries: 12,
    queryTime: 38,
    ip: '10.0.0.7',
    data: { exception: thrown('Nothing is left.'), logger: { records: [] }, demo: { a: 1 } },
  },
  { token: '00000d', time: noon + 3 * hour, status: 404, route: null, exception: 'HttpError' },
  { token: '00000e', time: noon + 3 * hour, status: 404, route: null, parent: '00000d' },
]

async function createToolset(
  t: Test,
  init: readonly RecordInit[] = records,
  more: Partial<Parameters<typeof openServer>[1]> = {},
) {
  const storage = createStorage(...init)
  const bundle: Bundle = { name: 'settings', settings: profilerSettings, register() {} }
  const { app, close } = await createTestKernel({ bundles: [bundle] })
  await close()
  const awaited: string[] = []
  const profiler = { whenStored: async (token: string) => void awaited.push(token) }
  const inspector = new Inspector([])
  const services = { storage, inspector, profiler, panels: subjectViews, ...more }
  const { server } = await openServer(await loadSdk(), services, app.logger)
  const [near, far] = InMemoryTransport.createLinkedPair()
  await server.connect(far)
  const agent = await connectAgent(t, near)
  const { tools } = await agent.client.listTools()
  const call = async (name: string, given?: Readonly<Record<string, unknown>>) => {
    const { isError, text, texts } = await agent.ask(name, given)
    if (isError) throw new Error(text)
    return texts
  }
  const ask = async (name: string, given?: Readonly<Record<string, unknown>>) => (await call(name, given)).join('\n\n')
  return { storage, tools, call, ask, awaited }
}

const tokensOf = (text: string) => [...text.matchAll(/^- `(00000\w)`/gm)].map(([, token]) => token)

t.test('every tool has a description and a schema, and only reads', async t => {
  const { tools } = await createToolset(t)
  for (const { annotations, description = '', inputSchema, name, title = '' } of tools) {
    t.match(name, /^[a-z_]+$/)
    t.ok(title.length > 0 && title.length < 40)
    t.ok(description.length > 0 && description.length < 250, name)
    t.hasStrict(annotations, { title, readOnlyHint: true, destructiveHint: false, openWorldHint: false })
    const properties: Readonly<Record<string, { readonly description?: unknown }>> = inputSchema.properties ?? {}
    for (const property of Object.values(properties)) t.type(property.description, 'string')
    t.ok('max_length' in properties && 'format' in properties)
    t.equal(inputSchema.additionalProperties, false)
  }
})

t.test('find_profiles has every filter of the console and the web', async t => {
  const { ask, storage, tools } = await createToolset(t)
  const { inputSchema } = tools.find(({ name }) => name === 'find_profiles') ?? {}
  for (const { name } of [...filterOptions, ...pagingOptions]) t.ok(name in (inputSchema?.properties ?? {}), name)
  const find = async (given: Record<string, unknown>) => tokensOf(await ask('find_profiles', given))
  t.strictSame(await find({}), ['00000d', '00000e', '00000c', '00000b', '00000a'])
  t.strictSame(await find({ type: 'sub-request' }), ['00000e'])
  t.strictSame(await find({ slower: 40 }), ['00000c'])
  t.strictSame(await find({ ip: '10.0' }), ['00000c'])
  t.strictSame(await find({ method: 'post' }), ['00000c'])
  t.strictSame(await find({ status: 500 }), ['00000c'])
  t.strictSame(await find({ route: 'shop', order: 'asc', sort: 'time' }), ['00000a', '00000b'])
  t.strictSame(await find({ from: '2026-11-20T13:00', until: '2026-11-20T14:00' }), ['00000c', '00000b'])
  t.strictSame(await find({ sort: 'duration', limit: '1' }), ['00000c'])
  t.strictSame(await find({ limit: 2, page: 2, pinned: false, url: '' }), ['00000c', '00000b'])
  await storage.pin('00000b', true)
  t.strictSame(await find({ pinned: true }), ['00000b'])
  t.match(
    await ask('find_profiles', { limit: 2 }),
    /^# 2 results found · 5 in all\n[\s\S]*\n\nThere are more: ask for page 2\.$/,
  )
  t.hasStrict(JSON.parse(await ask('find_profiles', { limit: 5, format: 'json' })), { total: 5, links: { next: null } })
})

t.test('a profile is read as Markdown or as JSON, with the list of its panels', async t => {
  const { ask, awaited, call } = await createToolset(t)
  const [markdown = '', panels] = await call('read_profile', { token: '00000c' })
  t.match(markdown, '# 500 Internal Server Error')
  t.match(markdown, 'Nothing is left.')
  t.equal(panels, 'Panels for read_panel: overview, request, time, exception, config.')
  t.strictSame(awaited, ['00000c'], 'the tool waits for an unfinished profile')
  const [json = ''] = await call('read_profile', { token: '00000c', format: 'json' })
  t.hasStrict(JSON.parse(json), { summary: { token: '00000c' }, data: { demo: { a: 1 } } })
  t.match(await ask('read_profile', { token: 'latest' }), 'Token: `00000d`', 'sub-requests are not the latest request')
})

t.test('a panel is read as Markdown or as JSON', async t => {
  const { ask } = await createToolset(t)
  const panel = await ask('read_panel', { token: '00000c', panel: 'exception' })
  t.match(panel, '> ')
  t.match(panel, '   2 | two')
  t.match(await ask('read_panel', { token: '00000c', panel: 'demo' }), '"a": 1')
  t.match(await ask('read_panel', { token: '00000c', panel: 'http' }), 'No data for this panel.')
  const json = JSON.parse(await ask('read_panel', { token: '00000c', panel: 'demo', format: 'json' }))
  t.strictSame(json.data, { demo: { a: 1 } })
})

t.test('the last exception is from the last failure, or from the last failure with a status', async t => {
  const { ask } = await createToolset(t)
  const failure = await ask('last_exception')
  t.match(failure, 'Token: `00000c`')
  t.match(failure, '>    2 | two')
  t.match(failure, /Panels for read_panel: overview, request, time, exception, config\.$/)
  t.match(await ask('last_exception', { status: '404' }), 'Token: `00000d`')
  t.match(await ask('last_exception', { route: 'buy', format: 'json' }), '"token":"00000c"')
  t.equal(await ask('last_exception', { url: 'nowhere' }), 'No such exception is stored.')
  const other = await createToolset(t, [{ token: '00000d', status: 404, exception: 'HttpError' }])
  t.equal(
    await other.ask('last_exception'),
    'No such failure is stored; the latest exception was answered with 404: ask with status "404".',
  )
  const crashed = await createToolset(t, [{ token: '00000f', status: 0, outcome: 'crashed', exception: 'Error' }])
  t.match(await crashed.ask('last_exception'), 'Token: `00000f`')
})

t.test('two profiles are compared: a named one, or the previous one of the same request', async t => {
  const { ask } = await createToolset(t)
  const before = await ask('compare_profiles', { token: '00000b' })
  t.match(before, '- A: 00000a')
  t.match(before, '- B: 00000b')
  t.match(before, '| page | 1 | 2 |')
  t.equal(await ask('compare_profiles', { token: '00000b', with: '00000a' }), before)
  t.hasStrict(JSON.parse(await ask('compare_profiles', { token: '00000b', format: 'json' })), {
    second: { token: '00000b' },
  })
  await t.rejects(ask('compare_profiles', { token: '00000a' }), {
    message: /no earlier profile of the same request as "00000a"/,
  })
})

t.test('statistics count main requests by route', async t => {
  const { ask } = await createToolset(t)
  t.equal(
    await ask('route_statistics'),
    [
      '# 4 requests of 3 routes\n',
      '- `shop`: 2 requests; p50 4.0 ms, p95 9.0 ms, p99 9.0 ms; slowest 9.0 ms `00000b`',
      '- no route: 1 request; p50 5.0 ms, p95 5.0 ms, p99 5.0 ms; slowest 5.0 ms `00000d`',
      '- `buy`: 1 request; p50 40 ms, p95 40 ms, p99 40 ms; queries: median 12, most 12; 1 error (100 %); slowest 40 ms `00000c`\n',
    ].join('\n'),
  )
  t.match(await ask('route_statistics', { sort: 'p99', limit: 1 }), /routes\n\n- `buy`.*\n- … and 2 more\n$/)
  t.match(await ask('route_statistics', { sort: 'queries', limit: 1 }), '- `buy`')
  t.strictSame(tokensOf(await ask('find_profiles', { queries: 12 })), ['00000c'])
  t.equal(await ask('route_statistics', { route: 'none' }), '# 0 requests of 0 routes\n')
  const json = JSON.parse(await ask('route_statistics', { format: 'json', limit: 1 }))
  t.hasStrict(json, { requests: 4, total: 3, routes: [{ route: 'shop', count: 2 }] })
  t.equal(json.routes.length, 1)
})

t.test('all invalid arguments are named at once, with valid values', async t => {
  const { ask } = await createToolset(t)
  const cases: [tool: string, given: Record<string, unknown>, messages: readonly string[]][] = [
    [
      'find_profiles',
      { limit: 0, page: 1.5, queries: 'many', pinned: 'maybe', sort: 'beauty', from: 'yesterday', url: {} },
      [
        'must be a text at url',
        'must be a date such as 2026-11-20 or 2026-11-20T14:30 (UTC), or seconds since 1970 at from',
        'must be a number such as 10, or a range such as 10.. or 5..20 at queries',
        'must be true or false at pinned',
        'must be one of time, status, ip, method, url, route, queries, queryTime, size, memory, duration at sort',
        'must be a whole number from 1 to 100 at limit',
        'must be a whole number from 1 to 1000000 at page',
      ],
    ],
    ['read_profile', {}, ['must be a token (six hexadecimal digits) or "latest" at token']],
    ['read_profile', { token: 'last' }, ['must be a token (six hexadecimal digits) or "latest" at token']],
    ['read_profile', { token: 'ffffff' }, ['"ffffff"', 'find_profiles lists what is stored.']],
    [
      'read_panel',
      { token: '00000c', panel: 'x' },
      ['The profile has no panel "x"; it has overview, request, time, exception, config.'],
    ],
    [
      'read_panel',
      { token: '00000c', panel: 'http', form: 'json' },
      ['There is no argument form; there are token, panel, format, max_length.'],
    ],
    [
      'compare_profiles',
      { token: '00000b', with: '0' },
      ['must be a token (six hexadecimal digits) or "latest" at with'],
    ],
    ['purge', {}, ['purge not found']],
  ]
  const unnamed: string[] = []
  for (const [tool, given, messages] of cases) {
    const error: unknown = await ask(tool, given).catch((error: unknown) => error)
    const text = error instanceof Error ? error.message : 'no error'
    unnamed.push(...messages.filter(message => !text.includes(message)).map(message => `${tool}: ${message}; ${text}`))
  }
  t.strictSame(unnamed, [])
  const none = await createToolset(t, [])
  await t.rejects(none.ask('read_profile', { token: 'latest' }), { message: /find_profiles lists/ })
})

t.test('an answer has at most the requested length; a separate part notes that it was cut', async t => {
  const long = Array.from({ length: 300 }, (_, index) => ({ level: 'info', message: `Line ${index} of 😀😀😀` }))
  const { call } = await createToolset(t, [
    { token: '00000a', data: { logger: { records: long }, emoji: '😀'.repeat(500) } },
  ])
  for (const panel of ['logger', 'emoji']) {
    for (const format of ['markdown', 'json']) {
      const [text = '', note = ''] = await call('read_panel', { token: '00000a', panel, format, max_length: 500 })
      t.ok(text.length <= 500 && text.length > 200, `${panel} ${format}`)
      t.ok(text.isWellFormed())
      t.match(note, /^Cut: [\d,]+ more characters\. Ask for less .* or raise max_length\.$/)
    }
  }
  const whole = await call('read_panel', { token: '00000a', panel: 'logger' })
  t.equal(whole.length, 1)
  const [list = '', notes = ''] = await call('find_profiles', { max_length: 500 })
  t.ok(list.length <= 500)
  t.equal(notes, '')
})

t.test('an impossible replay has a reason', async t => {
  const problem = 'It was not answered in time.'
  const { ask } = await createToolset(t, records, { replayer: { replay: async () => ({ problem }) } })
  await t.rejects(ask('replay_request', { token: '00000a' }), { message: problem })
  await t.rejects(ask('replay_request', { token: '00000e' }), { message: /^A sub-request is a part .* 00000d$/ })
})

t.test('findings are listed rule by rule', async t => {
  const calls = Array.from({ length: 5 }, (_, index) => ({
    method: 'GET',
    url: 'http://stock/1',
    start: 0,
    end: 1 + index / 10,
    status: 200,
  }))
  const flawed = ['0000a1', '0000a2'].map(token => ({ token, time: noon, duration: 50, data: { http: { calls } } }))
  const { ask, storage } = await createToolset(t, [...flawed, { token: '0000a3', time: noon }])
  const text = await ask('find_findings')
  t.match(text, /^# \d+ rules? in 3 requests\n\n## `/)
  t.match(text, /## `repeated-calls`: [\s\S]*- `0000a2` `GET /)
  const json = JSON.parse(await ask('find_findings', { format: 'json' }))
  t.equal(json.requests, 3)
  t.equal(json.rules.find(({ rule }: { rule: string }) => rule === 'repeated-calls').examples.length, 2)
  t.equal(await ask('find_findings', { route: 'none' }), '# No findings in 0 requests\n')
  storage.append({ ...createRecord({ token: '0000a4', route: 'damaged' }), text: 'It is damaged.' }, '{}')
  t.equal(await ask('find_findings', { route: 'damaged' }), '# No findings in 1 request\n')
})
