import { t } from 'tap'
import { toProfile } from '#bundles/profiler/profile/parse-profile.ts'
import { EditorLinks } from '#bundles/profiler/web/editor-links.ts'
import { createLoggerPanel } from '#bundles/profiler/web/panels/logger.ts'
import type { PanelSubject } from '#bundles/profiler/web/panels/panel.ts'
import { Response } from '#lib/http/response.ts'
import { createSubject } from '#tests/support/create-profile.ts'
import { toText } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

const loggerPanel = createLoggerPanel(new EditorLinks({ directory: process.cwd() }))

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

function createLogs(more: Partial<PanelSubject> = {}): PanelSubject {
  return createSubject({ events: { spans }, logger: { records, dropped: 9 } }, more)
}

t.test('log messages are in the order of time, between lines from the event tree', async t => {
  const { dropped, lines } = await loggerPanel.toView(createLogs())
  t.hasStrict(lines, [
    { index: 0, level: 'info', channel: 'request', offset: '+0.050 ms', times: '', context: false },
    {
      title: '1 event notification',
      isEvent: true,
      isHidden: true,
      time: '23:15:09.042',
      messages: [
        { message: 'Notified event "kernel.request" to listener "RouterListener.onRequest".', offset: '+0.100 ms' },
      ],
    },
    {
      index: 1,
      isHidden: false,
      parts: [
        { text: 'Uncaught "', isValue: false },
        { text: 'x', isValue: true },
        { text: '"', isValue: false },
      ],
      context: '{\n  "message": "x"\n}',
      names: 'message',
      levels: 'debug info warning error',
    },
    { index: 2, times: '2 times', again: [3], place: 'a.ts:3', call: 'run', link: '', offset: '+0.600 ms' },
    { index: 4, times: '', place: '' },
    {
      title: '4 event notifications',
      messages: [
        { message: 'Notified event "nested" to listener "nested listener".' },
        { message: 'Notified event "kernel.exception" to listener "ErrorListener.logException".' },
        { message: 'Notified event "kernel.exception" to listener "ErrorListener.onException".' },
        { message: 'Listener "ErrorListener.onException" stopped propagation of the event "kernel.exception".' },
      ],
    },
    { index: 5, isCut: true, place: 'b.ts:1', call: '', iso: '2026-11-20T23:15:09.044Z' },
  ])
  t.equal(dropped, 9)
})

t.test('log messages are counted by level and above; the counts of the summary are exact', async t => {
  const { profile } = createLogs()
  const countsOf = async (more: object) => {
    const summary = { ...profile.summary, ...more }
    const { levels } = await loggerPanel.toView(createLogs({ profile: { ...profile, summary } }))
    return (levels as { level: string; count: number }[]).map(({ count, level }) => `${level} ${count}`)
  }
  t.strictSame(await countsOf({}), ['debug 6', 'info 5', 'warning 4', 'error 1', 'critical 0'])
  t.strictSame(await countsOf({ errors: 12, warnings: 34 }), [
    'debug 6',
    'info 5',
    'warning 46',
    'error 12',
    'critical 0',
  ])
})

t.test('the first names of a long context are shown', async t => {
  const context = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`name${index}`, index]))
  const logger = { records: [{ at: 1, level: 'info', message: 'Many.', context }] }
  const { lines } = await loggerPanel.toView(createSubject({ logger }))
  t.match(lines, [{ names: /^name0, name1, .{66}…$/ }])
})

t.test('the URL filters by level, channel and text, and shows event notifications', async t => {
  const shown = async (address: string) => {
    const { lines } = await loggerPanel.toView(createLogs({ query: new URLSearchParams(address) }))
    return (lines as { index?: number; isHidden: boolean }[])
      .filter(({ isHidden }) => !isHidden)
      .map(({ index }) => index)
  }
  t.strictSame(await shown(''), [0, 1, 2, 4, 5])
  t.strictSame(await shown('level=warning'), [1, 2, 4])
  t.strictSame(await shown('level=loud'), [0, 1, 2, 4, 5])
  t.strictSame(await shown('channel=app'), [2, 4, 5])
  t.strictSame(await shown('level=warning&channel=app&text=DIFFERS+again'), [4])
  t.strictSame(await shown('events=1'), [0, undefined, 1, 2, 4, undefined, 5])
  t.strictSame(await shown('events=1&level=info'), [0, 1, 2, 4])
})

t.test('a sub-request is at its start, and links to its own log', async t => {
  const { show } = await createProfiledKernel(t)
  const { profile } = createLogs()
  const request = ['request', 'fedcba', 500, 100, 4]
  const nested = toProfile({
    ...profile,
    data: { ...profile.data, events: { spans: [...spans.slice(0, 5), request] } },
  })
  const child = { ...profile.summary, token: 'fedcba', controller: 'error_controller', errors: 1, warnings: 2 }
  const html = await show(loggerPanel, createLogs({ profile: nested, children: [child] }))
  t.match(
    html,
    /<a href="[^"]*\/_profiler\/fedcba\?panel&#x3D;logger">Sub-Request error_controller<\/a>\s+has its own log/,
  )
  t.match(html, '<span class="badge badge-error">1 error</span> <span class="badge badge-warning">2 warnings</span>')
  const levelOf = async (more: object) => {
    const { lines } = await loggerPanel.toView(createLogs({ profile: nested, children: [{ ...child, ...more }] }))
    return (lines as { isSubRequest?: boolean; level: string }[]).find(line => line.isSubRequest)?.level
  }
  t.equal(await levelOf({ errors: 0 }), 'warning')
  t.equal(await levelOf({ errors: 0, warnings: 0 }), 'debug')
  const sub = { ...profile, summary: { ...profile.summary, parent: 'aaaaaa' } }
  t.match(await show(loggerPanel, createLogs({ profile: sub })), /aaaaaa[^>]*>Log messages of the main request/)
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
  const { show } = await createProfiledKernel(t)
  const html = await show(loggerPanel, createLogs())
  t.match(html, 'Log Messages')
  t.match(html, '<tr class="log log-error" id="log-1"')
  t.match(html, '<i id="log-3"></i>')
  t.match(html, /<tr [^>]*data-events="1" hidden>/)
  t.match(html, '<span class="level level-error">error</span>')
  t.match(html, '<time datetime="2026-11-20T23:15:09.042Z" data-local="clock">23:15:09.042 UTC</time>')
  t.match(html, 'Uncaught &quot;<b class="value">x</b>&quot;')
  t.match(html, 'a.ts:3')
  t.match(html, '9 log messages in the middle')
  t.match(html, 'Context over the limit, not recorded.')
})

t.test('without log messages, the page explains how to log', async t => {
  const { show } = await createProfiledKernel(t)
  const panel = loggerPanel
  const empty = createSubject({})
  t.notOk(panel.hasContent(empty.profile))
  t.ok(panel.hasContent(createLogs().profile))
  t.match(await show(panel, empty), 'No log messages.')
  t.match(await show(panel, createSubject({ events: { spans } })), 'Notified event')
})

t.test('invalid log messages are omitted', async t => {
  const { profile } = createLogs()
  const damaged = [null, 'text', { level: 'loud', message: 'x' }, { level: 'info' }, { level: 'info', message: 'kept' }]
  const data = { logger: { records: damaged, dropped: {} } }
  const summary = { ...profile.summary, time: Number.MAX_SAFE_INTEGER }
  const view = await loggerPanel.toView(createLogs({ profile: toProfile({ ...profile, data, summary }) }))
  t.hasStrict(view.lines, [
    { index: 0, parts: [{ text: 'kept' }], channel: '', iso: '', time: '', offset: '+0.000 ms' },
  ])
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
      frames: [{ file: /^tests\/.*logger\.test\.[jt]s$/, origin: 'application' }],
      cause: { name: 'TypeError', code: 'E_INNER', properties: { syscall: 'connect' } },
    },
    all: { errors: [{ name: 'RangeError', message: 'gathered' }] },
  })
  t.ok(Number(stored?.exceptions?.exception?.cause?.common) > 0, 'frames that the cause shares are not repeated')

  const html = await kernel.show('logger', profile)
  t.match(toText(html), /Error outer .*Caused by TypeError E_INNER inner syscall connect .*Error 1 of 1 RangeError/)
  t.match(toText(html), 'Error bare No stack trace recorded.')
  t.match(html, /href="vscode:\/\/file\/[^"]*logger\.test\.ts:\d+:\d+"/)
  t.notMatch(html, '<details class="exception" open>')
  const { text } = await kernel.client.get(`/_profiler/${profile.summary.token}.md?panel=logger`)
  t.match(text, /\n {2}- `exception`: `Error` `outer`; at `tests\/.*logger\.test\.ts:\d+:\d+`\n/)
  t.match(text, /\n {2}- `exception`, Caused by: `TypeError` `inner`; at .*; `syscall`: `connect`\n/)
  t.match(text, '\n  - `exception`: `Error` `bare`\n')
})
