import { t } from 'tap'
import type { PanelProfile } from '#bundles/profiler/panels/subject-view.ts'
import { toProfile } from '#bundles/profiler/profile/parse-profile.ts'
import { manyLogsRule } from '#bundles/profiler/subjects/logs/rules.ts'
import { logsView } from '#bundles/profiler/subjects/logs/show.ts'
import { Response } from '#lib/http/response.ts'
import { createShown } from '#tests/support/create-profile.ts'
import { toText } from '#tests/support/html.ts'
import { createProfiledKernel, shareKernel } from '#tests/support/profiled-kernel.ts'

const { panel, show } = await shareKernel()
const loggerPanel = panel('logger')

interface EventLine {
  readonly isEvent: boolean
  readonly channel: string
  readonly level: string
  readonly messages: readonly { readonly message: string; readonly context: string }[]
}

const spans = [
  [null, 'kernel.request', 0, 100],
  [32, 'RouterListener.onRequest', 10, 80],
  [null, 'kernel.exception', 200, 800, -1, 1],
  [0, 'ErrorListener.logException', 210, 50],
  [-128, 'ErrorListener.onException', 300, 600, 2, 1],
  [null, 'nested', 400, 600, 4],
  [0, 'nested listener', 410, 10],
]

const records = [
  { at: 50, level: 'info', channel: 'request', message: 'Matched.' },
  {
    at: 250,
    level: 'error',
    channel: 'request',
    message: 'Uncaught "x"',
    template: 'Uncaught "{message}"',
    context: { message: 'x' },
  },
  { at: 600, level: 'warning', channel: 'app', message: 'Again.', site: { file: 'a.ts', line: 3, function: 'run' } },
  { at: 700, level: 'warning', channel: 'app', message: 'Again.', site: { file: 'a.ts', line: 3, function: 'run' } },
  { at: 1000, level: 'warning', channel: 'app', message: 'Again.', context: { differs: true } },
  { at: 2000, level: 'debug', channel: 'app', message: 'Cut.', isCut: true, site: { file: 'b.ts', line: 1 } },
]

function createLogs(more: Partial<PanelProfile> = {}): PanelProfile {
  return createShown({ events: { spans }, logger: { records, dropped: 9 } }, more)
}

t.test('log messages are in the order of time, between lines from the event tree', async t => {
  const { left, lines } = await loggerPanel.toView(createLogs({ query: new URLSearchParams('events=1') }))
  t.hasStrict(lines, [
    {
      id: 'log-0',
      level: 'info',
      channel: 'request',
      lead: '+0.050 ms',
      since: '0.050 ms',
      times: '',
      context: false,
    },
    {
      title: '1 event notification',
      since: '0.050 ms',
      isEvent: true,
      isHidden: false,
      iso: '2026-11-20T23:15:09.042Z',
      messages: [
        { message: 'Notified event "kernel.request" to listener "RouterListener.onRequest".', offset: '+0.10 ms' },
      ],
    },
    {
      id: 'log-1',
      since: '0.20 ms',
      isHidden: false,
      parts: [
        { text: 'Uncaught "', isValue: false },
        { text: 'x', isValue: true },
        { text: '"', isValue: false },
      ],
      values: '{"message":"x"}',
      context: false,
      extra: '',
    },
    {
      id: 'log-2',
      times: '2 times',
      again: [3],
      place: { place: 'a.ts:3', call: 'run', link: '' },
      lead: '+0.60 ms',
    },
    { id: 'log-4', times: '', place: { place: '' } },
    {
      title: '4 event notifications',
      since: '0 ms',
      messages: [
        { message: 'Notified event "nested" to listener "nested listener".' },
        { message: 'Notified event "kernel.exception" to listener "ErrorListener.logException".' },
        { message: 'Notified event "kernel.exception" to listener "ErrorListener.onException".' },
        { message: 'Listener "ErrorListener.onException" stopped propagation of the event "kernel.exception".' },
      ],
    },
    { id: 'log-5', isCut: true, place: { place: 'b.ts:1', call: '' }, iso: '2026-11-20T23:15:09.044Z' },
  ])
  t.match(left, /^\d+ of \d+ log messages are here\.$/)
})

t.test('each event has a line with level, channel and context, also an event without a listener', async t => {
  const { client, panel, storedOf } = await createProfiledKernel(t)
  const cases: [path: string, token: string, events: string[]][] = [
    [
      '/star-photo-booth',
      'x-debug-token',
      ['controller', 'controller_arguments', 'response', 'finish_request', 'terminate'],
    ],
    ['/nope', 'x-debug-token', ['exception', 'response', 'finish_request', 'terminate']],
    ['/nope', 'x-previous-debug-token', ['controller', 'controller_arguments', 'response', 'finish_request']],
  ]
  for (const [path, token, events] of cases) {
    const stored = await storedOf(await client.get(path), token)
    const { lines } = await panel('logger').toView(
      createShown({}, { ...stored, query: new URLSearchParams('events=1&level=debug') }),
    )
    const shown = (lines as EventLine[]).filter(({ isEvent }) => isEvent)
    t.strictSame([...new Set(shown.map(({ channel, level }) => `${channel} ${level}`))], ['event debug'])
    const said = shown.flatMap(({ messages }) => messages)
    const contexts = said.map(({ context }) => JSON.parse(context))
    const notified = [
      ...new Set(said.flatMap(({ message }) => /^Notified event "kernel\.(\w+)" to /.exec(message)?.[1] ?? [])),
    ]
    t.strictSame(notified, ['request', ...events], `${path} ${token}`)
    t.ok(contexts.some(({ event, listener }) => event === 'kernel.request' && listener === 'RouterListener.onRequest'))
    t.strictSame(contexts.at(-1), { event: `kernel.${events.at(-1)}` })
    t.equal(said.at(-1)?.message, `Notified event "kernel.${events.at(-1)}" to no listener.`)
  }
})

t.test('log messages are counted by level and above, also those that were not recorded', async t => {
  const { profile } = createLogs()
  const countsOf = async (more: object) => {
    const summary = { ...profile.summary, ...more }
    const { levels } = await loggerPanel.toView(createLogs({ profile: { ...profile, summary } }))
    return (levels as { label: string; count: number; isSelected: boolean }[]).map(
      ({ count, isSelected, label }) => `${label} ${count}${isSelected ? ' chosen' : ''}`,
    )
  }
  t.strictSame(await countsOf({}), ['all 15', 'from info 5', 'warnings and errors 4 chosen', 'errors 1'])
  t.strictSame(await countsOf({ errors: 3, warnings: 9 }), ['all 15', 'warnings and errors 12 chosen', 'errors 3'])
})

t.test('the panel, Markdown and the finding count the messages that were not kept', async t => {
  const log = (level: string, message: string) => ({ at: 1, level, channel: 'app', message, template: 'Row {row}' })
  const records = Array.from({ length: 101 }, (_, index) => log('info', `Row ${index}`))
  const left = [
    { level: 'info', channel: 'app', message: 'Row {row}', times: 1899 },
    { level: 'debug', channel: '', message: '', times: 5 },
  ]
  const shown = createShown({ logger: { records, dropped: 1904, left } })
  const view = await loggerPanel.toView(shown)
  t.equal(view.left, '101 of 2,005 log messages are here. Not recorded: 1,899 × info “Row {row}”, 5 others.')
  t.strictSame(
    (view.levels as { label: string; count: string }[]).map(({ count, label }) => `${label} ${count}`),
    ['all 2,005', 'from info 2,000'],
  )
  t.match(logsView.toMarkdown?.(shown, 100), [/./, /./, 'Not recorded: 1,899 × info `Row {row}`, 5 others.'])
  const [finding] = manyLogsRule.find(shown.profile)
  t.match(finding?.problem, 'logged 2,000 messages, 2,000 of them {message}')
})

t.test('a log with warnings or errors shows these first, and says how many messages there are', async t => {
  const viewOf = async (records: object[], query = '') =>
    loggerPanel.toView(createShown({ logger: { records } }, { query: new URLSearchParams(query) }))
  const log = (level: string, message: string) => ({ at: 1, level, message })
  const info = Array.from({ length: 1200 }, (_, index) => log('info', `Line ${index}`))
  const mixed = [...info, log('warning', 'late'), log('critical', 'down'), log('warning', 'later')]
  const text = async (records: object[], query = '') => {
    const { lines } = await viewOf(records, query)
    const shown = lines as { parts: { text: string }[] }[]
    return { count: shown.length, first: shown[0]?.parts[0]?.text }
  }
  t.strictSame(await text(mixed), { count: 3, first: 'late' })
  t.hasStrict(await text(mixed, 'level=debug'), { count: 1203 })
  t.hasStrict(await text(mixed, 'find=log-7'), { count: 1203, first: 'Line 0' })
  t.hasStrict(await text(info), { count: 1200 })
  t.hasStrict(await text([log('error', 'only')]), { count: 1 })
  const html = await show('logger', createShown({ logger: { records: mixed } }))
  t.match(html, /<a class="quick-filter" href="[^"]*level&#x3D;debug#log">all <span class="count">1,203<\/span><\/a>/)
  t.match(
    html,
    '<ol class="items timed logs" id="logs" data-partial>',
    'a script asks for the other messages that links name',
  )
  t.notMatch(await show('logger', createShown({ logger: { records: info } })), 'data-partial')
})

t.test('what a message does not say of its context is beside it', async t => {
  const extraOf = async (log: object) => {
    const records = [{ at: 1, level: 'info', message: 'Paid 7.', template: 'Paid {sum}.', ...log }]
    return (await loggerPanel.toView(createShown({ logger: { records } }))).lines
  }
  t.match(await extraOf({ context: { sum: 7, by: 'Ada\nL', to: { id: 1 } } }), [{ extra: 'by: Ada L, to: {"id":1}' }])
  const error = { name: 'TypeError', message: 'no sum', frames: [] }
  t.match(await extraOf({ exceptions: { exception: error } }), [{ extra: 'exception: TypeError no sum' }])
  t.match(await extraOf({ context: { long: 'x'.repeat(500) } }), [{ extra: /^long: x{154}…$/ }])
})

t.test('the URL filters by level, channel and text, and shows event notifications', async t => {
  const shown = async (address: string) => {
    const { lines } = await loggerPanel.toView(createLogs({ query: new URLSearchParams(address) }))
    return (lines as { id?: string; isHidden: boolean }[])
      .filter(({ isHidden }) => !isHidden)
      .map(({ id }) => (id === undefined ? undefined : Number(id.slice('log-'.length))))
  }
  t.strictSame(await shown(''), [1, 2, 4])
  t.strictSame(await shown('level=debug'), [0, 1, 2, 4, 5])
  t.strictSame(await shown('level=warning'), [1, 2, 4])
  t.strictSame(await shown('level=loud'), [0, 1, 2, 4, 5])
  t.strictSame(await shown('channel=app'), [2, 4, 5])
  t.strictSame(await shown('level=warning&channel=app&text=DIFFERS+again'), [4])
  t.strictSame(await shown('events=1'), [0, undefined, 1, 2, 4, undefined, 5])
  t.strictSame(await shown('events=1&level=info'), [0, 1, 2, 4])
})

t.test('messages of sub-requests are between those of the request, with a link to their profile', async t => {
  const { profile } = createLogs()
  const span = (token: string, start: number) => ['request', token, start, 100, 4]
  const nest = (token: string, children: string[], spans: readonly unknown[], more: object = {}) =>
    toProfile({
      ...profile,
      children,
      summary: { ...profile.summary, token, ...more },
      data: { ...profile.data, events: { spans } },
    })
  const main = nest('abc123', ['bbbbbb', 'dddddd'], [...spans.slice(0, 5), span('bbbbbb', 500), span('cccccc', 550)])
  const child = nest('bbbbbb', ['cccccc'], [span('cccccc', 10), span('abc123', 20)], {
    controller: 'part',
    parent: 'abc123',
  })
  const inner = nest('cccccc', [], [], { controller: null, route: null, parent: 'bbbbbb' })
  // Neither a profile without a known start nor a circle of profiles is followed.
  const children: Readonly<Record<string, (typeof profile)[]>> = {
    abc123: [child, nest('dddddd', [], [])],
    bbbbbb: [inner, main],
  }
  const query = new URLSearchParams({ level: 'debug' })
  const shown = createLogs({ profile: main, query, findChildren: async of => children[of.summary.token] ?? [] })
  const { lines } = await loggerPanel.toView(shown)
  const own = lines as { at: number; subRequest: { name: string } | false }[]
  t.strictSame(
    own.map(({ at, subRequest }) => `${at} ${subRequest === false ? '' : subRequest.name}`.trim()),
    [
      ...['50', '250', '550 part', '560 /somewhere?q=1', '600', '750 part', '760 /somewhere?q=1', '1000'],
      ...[
        '1100 part',
        '1110 /somewhere?q=1',
        '1200 part',
        '1210 /somewhere?q=1',
        '1500 part',
        '1510 /somewhere?q=1',
        '2000',
        '2500 part',
        '2510 /somewhere?q=1',
      ],
    ],
  )
  const html = await show('logger', shown)
  t.match(html, '<span class="badge badge-plain">part</span>')
  t.match(html, '<a href="/_profiler/bbbbbb?panel&#x3D;logger">Sub-Request part</a>')
  t.equal(html.match(/id="log-1"/g)?.length, 1)
  const alike = Array.from({ length: 5 }, (_, i) => ({
    at: i * 2_000_000,
    level: 'info',
    message: `Query ${i}`,
    template: 'Query {i}',
    context: { i },
  }))
  const busy = toProfile({ ...child, data: { ...child.data, logger: { records: alike } } })
  const grouped = await show('logger', { ...shown, findChildren: async of => (of === main ? [busy] : []) })
  t.match(grouped, /<li><span class="when">\+6\.0 s<\/span> Query <b>3<\/b><\/li>/)
  const sub = { ...profile, summary: { ...profile.summary, parent: 'aaaaaa' } }
  t.match(await show('logger', createLogs({ profile: sub })), /aaaaaa[^>]*>Log messages of the main request/)
})

t.test('many messages of one template are one line', async t => {
  const query = (i: number) => ({
    at: i * 100,
    level: 'debug',
    channel: 'db',
    message: `Query ${i} executed.`,
    template: 'Query {i} executed.',
    context: i === 0 ? { i } : { i, sql: 'SELECT "a"' },
  })
  const many = (count: number, more: object = {}) => Array.from({ length: count }, (_, i) => ({ ...query(i), ...more }))
  const linesOf = async (records: object[], more: object = {}) =>
    (await loggerPanel.toView(createShown({ logger: { records } }, more))).lines as {
      times: string
      items?: unknown[]
    }[]
  const [line, ...others] = await linesOf(many(100))
  t.hasStrict(line, {
    times: '× 100',
    parts: [
      { text: 'Query ', isVarying: false },
      { text: '0', isValue: true, isVarying: true },
      { text: ' executed.', isVarying: false },
    ],
  })
  t.hasStrict(line?.items?.slice(0, 2), [
    { id: 'log-0', offset: '+0 ms', extra: '' },
    { id: 'log-1', offset: '+0.10 ms', extra: 'sql: SELECT "a"' },
  ])
  t.equal(others.length, 0)
  t.equal((await linesOf(many(3))).length, 3)
  t.equal((await linesOf(many(6, { isCut: true })))[0]?.times, '× 6')
  t.equal((await linesOf([...many(3), ...many(3, { level: 'info' })])).length, 6)
  t.equal((await linesOf(many(3).flatMap(log => [log, { ...log, channel: 'x' }]))).length, 6)
  const equal = many(2).flatMap(log => Array.from({ length: 5 }, () => ({ ...log, template: '', context: {} })))
  t.strictSame(
    (await linesOf(equal)).map(({ times }) => times),
    ['5 times', '5 times'],
  )
  t.match(
    await show('logger', createShown({ logger: { records: many(5) } })),
    /<li id="log-4"><span class="when">\+0\.40 ms<\/span> Query <b>4<\/b> executed\. <code>/,
  )
})

t.test('a long group is one line of the log, and has a page of its own', async t => {
  const query = (i: number) => ({ at: i, level: 'info', message: `Query ${i}`, template: 'Query {i}', context: { i } })
  const records = [{ at: 0, level: 'info', message: 'First.' }, ...Array.from({ length: 430 }, (_, i) => query(i))]
  const page = (search: string) =>
    show('logger', createShown({ logger: { records } }, { query: new URLSearchParams(search) }))
  const log = await page('')
  t.equal(log.match(/<li class="item /g)?.length, 2)
  t.equal(log.match(/<li id="log-/g)?.length, 10)
  t.match(log, /\?panel&#x3D;logger&amp;level&#x3D;debug&amp;group&#x3D;1#log">All 430 messages</)
  t.match(log, 'Query <b class="varying">0</b></span> <span class="badge badge-plain">× 430')
  t.notMatch(log, 'data-filter', 'the server filters: the page does not have all messages')
  const group = await page('group=1')
  t.match(group, '<input type="hidden" name="group" value="1">')
  t.match(group, 'Show the whole log')
  t.notMatch(group, 'First.')
  t.match(group, /× 430, 1 … 100<.*× 430, 401 … 430</s)
  t.match(await page('find=log-424'), /<li id="log-424">/, 'a message in the group has its page')
  t.match(await page('group=7'), 'First.', 'no group begins there')
})

t.test('a long log has pages, which the server filters', async t => {
  const { client, storedOf } = await createProfiledKernel(t, {
    register({ logger, routes }) {
      const controller = () => {
        for (let i = 0; i < 499; i++) {
          const level = i % 100 === 7 ? 'error' : 'info'
          logger.channel(`c${i % 2}`)[level](`Line ${i} "quoted"`)
        }
        return Response.text('')
      }
      routes.add({ name: 'lines', path: '/lines', controller })
    },
  })
  const { profile } = await storedOf(await client.get('/lines'))
  const page = async (search: string) =>
    (await client.get(`/_profiler/${profile.summary.token}?panel=logger&${search}`)).text
  const linesOf = (html: string) =>
    [...html.matchAll(/<li class="item [^>]*id="log-(\d+)"/g)].map(([, id]) => Number(id))
  const first = await page('level=debug')
  const size = linesOf(first).length
  t.ok(size > 20 && size <= 100)
  t.match(first, /level&#x3D;debug&amp;logs&#x3D;2#logs">Next rows/)
  t.strictSame(linesOf(await page('')), [8, 108, 208, 308, 408], 'without a filter, the errors')
  t.notMatch(first, 'Previous rows')
  const seen: number[] = []
  let number = 1
  for (let html = await page('text=line'); ; html = await page(`text=line&logs=${++number}`)) {
    seen.push(...linesOf(html))
    t.match(html, 'value="line"', 'each page has the filter')
    if (!html.includes('Next rows')) break
  }
  t.strictSame(seen, [...Array(500).keys()], 'the pages have each line once')
  const last = await page(`text=line&logs=${number + 5}`)
  t.match(last, `text&#x3D;line&amp;logs&#x3D;${number - 1}#logs">Previous rows`)
  t.match(last, /<span class="soft">\d+–500 of \d+<\/span>/)
  t.notMatch(last, 'Next rows')
  const named = await page('text=line&find=log-498')
  t.ok(linesOf(named).includes(498), 'the page of a message')
  t.notMatch(named, 'find&#x3D;', 'no other page is that of the message')
  for (const search of ['find=no', 'level=debug&find=', 'level=debug&logs=x', 'level=debug&logs=-1'])
    t.equal(linesOf(await page(search))[0], 0, search)
  const errors = await page('level=error')
  t.equal(linesOf(errors).length, 5)
  t.notMatch(errors, 'Next rows')
})

t.test('the menu shows the number of errors, or of warnings', async t => {
  const { badge } = loggerPanel
  const { profile } = createLogs()
  const badgeOf = (errors: number, warnings: number) =>
    badge?.({ ...profile, summary: { ...profile.summary, errors, warnings } })
  t.strictSame(badgeOf(2, 3), { text: '2', level: 'error' })
  t.strictSame(badgeOf(0, 3), { text: '3', level: 'warning' })
  t.strictSame(badgeOf(0, 0), { text: '', level: 'plain' })
})

t.test('the page has every line, and escapes it', async t => {
  const html = await show('logger', createLogs({ query: new URLSearchParams('events=1&text=x') }))
  t.match(html, 'Log Messages')
  t.match(html, '<li class="item item-error is-short" id="log-1"')
  t.match(html, '<i id="log-3"></i>')
  t.match(html, '<li class="item is-short" id="log-5" hidden>', 'a line without the text')
  t.match(html, '<span class="badge badge-error">error</span>')
  t.match(html, '<span class="item-lead">+0.25 ms</span>')
  t.match(html, '<p class="sender" title="0.20 ms after the last one">2026-11-20T23:15:09.042Z</p>')
  t.match(html, 'Uncaught &quot;<b>x</b>&quot;')
  t.match(html, 'a.ts:3')
  t.match(html, /\d+ of \d+ log messages are here/)
  t.match(html, 'Context over the limit, not recorded.')
})

t.test('without log messages, the page explains how to log', async t => {
  const panel = loggerPanel
  const empty = createShown({})
  t.notOk(panel.hasContent(empty.profile))
  t.ok(panel.hasContent(createLogs().profile))
  t.match(await show(panel, empty), 'No log messages.')
  const query = new URLSearchParams('events=1')
  t.match(await show(panel, createShown({ events: { spans } }, { query })), 'Notified event')
  t.notMatch(await show(panel, createShown({ events: { spans } })), 'No message matches')
})

t.test('invalid log messages are omitted', async t => {
  const { profile } = createLogs()
  const damaged = [null, 'text', { level: 'loud', message: 'x' }, { level: 'info' }, { level: 'info', message: 'kept' }]
  const data = { logger: { records: damaged, dropped: {} } }
  const summary = { ...profile.summary, time: Number.MAX_SAFE_INTEGER }
  const view = await loggerPanel.toView(createLogs({ profile: toProfile({ ...profile, data, summary }) }))
  t.hasStrict(view.lines, [{ id: 'log-0', parts: [{ text: 'kept' }], channel: '', iso: '', lead: '+0 ms' }])
  t.equal((view.lines as unknown[]).length, 1)
})

t.test('an error of a context is shown as an exception, folded, with a link to the editor', async t => {
  const kernel = await createProfiledKernel(t, {
    variables: { EDITOR_URL: 'vscode' },
    handlers: {
      '/logs-errors': () => {
        const cause = Object.assign(new TypeError('inner'), { code: 'E_INNER', syscall: 'connect' })
        const error = new Error('outer', { cause })
        const all = new AggregateError([new RangeError('gathered')], 'all')
        kernel.app.logger.error('Failed.', { exception: error, order: 7, all })
        kernel.app.logger.error('No stack.', { exception: Object.assign(new Error('bare'), { stack: '' }) })
        return new Response('fine')
      },
    },
  })
  const profile = await kernel.profileOf(await kernel.client.get('/logs-errors'))
  const stored = profile.collectors.logger?.records.find(({ message }) => message === 'Failed.')
  t.strictSame(stored?.context, { order: 7 })
  t.match(stored?.exceptions, {
    exception: {
      name: 'Error',
      message: 'outer',
      frames: [{ file: /^tests\/.*show\.test\.[jt]s$/, origin: 'application' }],
      cause: { name: 'TypeError', code: 'E_INNER', properties: { syscall: 'connect' } },
    },
    all: { errors: [{ name: 'RangeError', message: 'gathered' }] },
  })
  t.ok(Number(stored?.exceptions?.exception?.cause?.common) > 0, 'frames that the cause shares are not repeated')

  const html = await kernel.show('logger', profile)
  t.match(toText(html), /Error outer .*Caused by TypeError E_INNER inner syscall connect .*Error 1 of 1 RangeError/)
  t.match(toText(html), 'Error bare No stack trace recorded.')
  t.match(html, /href="vscode:\/\/file\/[^"]*show\.test\.ts:\d+:\d+"/)
  t.notMatch(html, '<details class="exception" open>')
  const { text } = await kernel.client.get(`/_profiler/${profile.summary.token}.md?panel=logger`)
  t.match(text, /\n {2}- `exception`: `Error` `outer`; at `tests\/.*show\.test\.ts:\d+:\d+`\n/)
  t.match(text, /\n {2}- `exception`, Caused by: `TypeError` `inner`; at .*; `syscall`: `connect`\n/)
  t.match(text, '\n  - `exception`: `Error` `bare`\n')
})
