import { t } from 'tap'
import { createLoggerPanel } from '../../../../bundles/profiler/panels/logger.ts'
import type { PanelSubject } from '../../../../bundles/profiler/panels/panel.ts'
import { createSubject } from '../../../support/create-profile.ts'
import { createProfiledKernel } from '../../../support/profiled-kernel.ts'

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

t.test('records stand in the order of time, between what follows from the event tree', async t => {
  const { dropped, entries } = await createLoggerPanel().toView(createLogs())
  t.match(entries, [
    { message: 'Matched.', level: 'info', channel: 'request', offset: '+0.050 ms', times: '', context: '' },
    {
      title: '1 event notification',
      time: '23:15:09.042',
      messages: [
        { message: 'Notified event "kernel.request" to listener "RouterListener.onRequest".', offset: '+0.100 ms' },
      ],
    },
    { message: 'Uncaught "x"', template: 'Uncaught "{message}"', context: '{\n  "message": "x"\n}' },
    { message: 'Again.', times: '2 times', place: 'a.ts:3', function: 'run', offset: '+0.600 ms' },
    { message: 'Again.', times: '', place: '' },
    {
      title: '4 event notifications',
      messages: [
        { message: 'Notified event "nested" to listener "nested listener".' },
        { message: 'Notified event "kernel.exception" to listener "ErrorListener.logException".' },
        { message: 'Notified event "kernel.exception" to listener "ErrorListener.onException".' },
        { message: 'Listener "ErrorListener.onException" stopped propagation of the event "kernel.exception".' },
      ],
    },
    { message: 'Cut.', isCut: true, place: 'b.ts:1', function: '', iso: '2026-11-20T23:15:09.044Z' },
  ])
  t.equal(dropped, 9)
})

t.test('records are counted by level; those of the summary are exact', async t => {
  const { profile } = createLogs()
  const summary = { ...profile.summary, errors: 12, warnings: 34 }
  const { metrics } = await createLoggerPanel().toView(createLogs({ profile: { ...profile, summary } }))
  t.strictSame(metrics, [
    { name: 'Errors', value: '12' },
    { name: 'Warnings', value: '34' },
    { name: 'Info', value: '1' },
    { name: 'Debug', value: '1' },
    { name: 'Event notifications', value: '5' },
  ])
})

t.test('the menu counts errors, else warnings', async t => {
  const { badge } = createLoggerPanel()
  const { profile } = createLogs()
  const badgeOf = (errors: number, warnings: number) =>
    badge?.({ ...profile, summary: { ...profile.summary, errors, warnings } })
  t.strictSame(badgeOf(2, 3), { text: '2', level: 'error' })
  t.strictSame(badgeOf(0, 3), { text: '3', level: 'warning' })
  t.strictSame(badgeOf(0, 0), { text: '', level: 'plain' })
})

t.test('the page has every line, and escapes it', async t => {
  const { show } = await createProfiledKernel(t)
  const html = await show(createLoggerPanel(), createLogs())
  t.match(html, 'Log Messages')
  t.match(html, '<span class="level level-error">error</span>')
  t.match(html, '<time datetime="2026-11-20T23:15:09.042Z">23:15:09.042</time>')
  t.match(html, 'Uncaught &quot;x&quot;')
  t.match(html, 'a.ts:3')
  t.match(html, '9 records between')
  t.match(html, 'The context was not kept')
})

t.test('where nothing was logged the page says how to', async t => {
  const { show } = await createProfiledKernel(t)
  const panel = createLoggerPanel()
  const empty = createSubject({})
  t.notOk(panel.hasContent(empty.profile))
  t.ok(panel.hasContent(createLogs().profile))
  t.match(await show(panel, empty), 'Nothing was logged')
  t.match(await show(panel, createSubject({ events: { spans } })), 'Notified event')
})

t.test('records that make no sense are left out', async t => {
  const { profile } = createLogs()
  const damaged = [null, 'text', { level: 'loud', message: 'x' }, { level: 'info' }, { level: 'info', message: 'kept' }]
  const data = { logger: { records: damaged, dropped: {} } }
  const summary = { ...profile.summary, time: Number.MAX_VALUE }
  const view = await createLoggerPanel().toView(createLogs({ profile: { ...profile, data, summary } }))
  t.match(view.entries, [{ message: 'kept', channel: '', iso: '', time: '', offset: '+0.000 ms' }])
  t.equal((view.entries as unknown[]).length, 1)
})
