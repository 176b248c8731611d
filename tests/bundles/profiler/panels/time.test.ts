import { t } from 'tap'
import type { PanelSubject } from '../../../../bundles/profiler/panels/panel.ts'
import { createTimePanel } from '../../../../bundles/profiler/panels/time.ts'
import { createTimeline, type Timeline } from '../../../../bundles/profiler/panels/timeline.ts'
import type { ProfileSummary } from '../../../../bundles/profiler/profile.ts'
import { createSubject } from '../../../support/create-profile.ts'
import { createProfiledKernel } from '../../../support/profiled-kernel.ts'

const spans = [
  [null, 'kernel.request', 0, 1000],
  [8, 'SessionListener.onRequest', 10, 200],
  [null, 'kernel.controller', 1050, 20],
  [null, 'kernel.controller_arguments', 1100, 10],
  [null, 'custom.event', 1200, 600],
  [0, 'listen', 1210, 500],
  ['request', 'abc123', 1900, 1000],
  [null, 'kernel.response', 3110, 1800],
  [-1000, 'SessionListener.onResponse', 3200, 800],
  [null, 'kernel.finish_request', 4950, 10],
  [null, 'kernel.terminate', 9000, 500],
  [0, 'Mailer.onTerminate', 9010, 450],
]

const measured = {
  name: 'query',
  category: 'Database calls!',
  periods: [
    [1150, 30],
    [1300, 200],
  ],
  duration: 230,
  dropped: 3,
  isRunning: false,
}

const subject = createSubject({ events: { spans, dropped: 0 }, time: { measured: [measured], dropped: 2 } })

async function timelinesOf(subject: PanelSubject): Promise<{ timeline: Timeline; afterwards: Timeline }> {
  const { afterwards, timeline } = await createTimePanel().toView(subject)
  return { timeline, afterwards } as { timeline: Timeline; afterwards: Timeline }
}

t.test('the timeline has events, listeners by class, controller, sub-requests and measurements', async t => {
  const { timeline } = await timelinesOf(subject)
  t.strictSame(
    timeline.lines.map(({ category, duration, name, own, times }) => [name, category, duration, own, times]),
    [
      ['kernel.request', 'section', '1.000 ms', '0.800 ms', ''],
      ['SessionListener', 'event_listener', '1.000 ms', '1.000 ms', '2 times'],
      ['controller', 'controller', '2.000 ms', '0.400 ms', ''],
      ['query', 'Database calls!', '0.230 ms', '', '2 times'],
      ['custom.event', 'event', '0.600 ms', '0.100 ms', ''],
      ['listen', 'event_listener', '0.500 ms', '0.500 ms', ''],
      ['Sub-Request', 'sub_request', '1.000 ms', '', ''],
      ['kernel.response', 'section', '1.800 ms', '1.000 ms', ''],
    ],
  )
  t.strictSame(
    timeline.folded.map(({ duration, name }) => [name, duration]),
    [
      ['controller.get_callable', '0.050 ms'],
      ['kernel.controller', '0.020 ms'],
      ['controller.get_arguments', '0.030 ms'],
      ['kernel.controller_arguments', '0.010 ms'],
      ['kernel.finish_request', '0.010 ms'],
    ],
  )
})

t.test('what is done after the response has a timeline of its own', async t => {
  const { afterwards } = await timelinesOf(subject)
  t.match(afterwards.lines, [
    { name: 'kernel.terminate', start: '9.000 ms', bars: [{ x: '0.0', width: '1000.0' }] },
    { name: 'Mailer', bars: [{ x: '20.0', width: '900.0' }] },
  ])
})

t.test('bars are as long as they last, can always be seen, and never leave the chart', async t => {
  const periods = [
    { start: 0, duration: 0 },
    { start: 500, duration: 500 },
    { start: 1000, duration: 0 },
  ]
  const { folded, lines } = createTimeline([
    { name: 'a', category: 'x y', periods },
    { name: 'nothing', category: 'none', periods: [] },
    { name: 'b', category: 'template', periods: [{ start: 0, duration: 5 }], own: 3, token: 'abc123' },
  ])
  t.match(lines, [
    {
      name: 'a',
      barClass: 'bar-default',
      bars: [
        { x: '0.0', width: '2.0' },
        { x: '500.0', width: '500.0' },
        { x: '998.0', width: '2.0' },
      ],
    },
  ])
  t.match(folded, [{ name: 'b', barClass: 'bar-template', own: '0.003 ms', token: 'abc123' }])
  t.strictSame(createTimeline([]), { lines: [], folded: [], span: '' })
})

t.test('a controller that has not returned lasts until the record was made', async t => {
  const hung = createSubject({ events: { spans: spans.slice(0, 4) } })
  const { timeline } = await timelinesOf(hung)
  t.match(timeline.lines.at(-1), { name: 'controller', duration: '3.890 ms' })
  const within = [
    [null, 'kernel.request', 0, null],
    [0, 'Hanging.onRequest', 10, null],
  ]
  const { timeline: open } = await timelinesOf(createSubject({ events: { spans: within } }))
  t.match(open.lines, [{ name: 'kernel.request', duration: '5.000 ms' }, { duration: '4.990 ms' }])
  const late = createSubject({ events: { spans: [[null, 'kernel.controller_arguments', 0, null]] } })
  t.equal((await timelinesOf(late)).timeline.lines.length, 1, 'the gap begins where the event ends')
})

t.test('the metrics tell the whole, the controller, sub-requests and the heap', async t => {
  const child: ProfileSummary = { ...subject.profile.summary, controller: 'inner', duration: 1.5 }
  const { metrics } = await createTimePanel().toView({ ...subject, children: [child] })
  t.strictSame(metrics, [
    { name: 'Total execution time', value: '5.000 ms' },
    { name: 'Controller', value: '2.000 ms' },
    { name: 'Sub-Requests', value: '1 in 1.500 ms' },
    { name: 'Peak memory usage', value: '12.0 MiB' },
  ])
})

t.test('others may add rows of their own', async t => {
  const template = { name: 'site/page', category: 'template', periods: [{ start: 1200, duration: 700 }] }
  const { timeline } = await createTimePanel([() => [template]]).toView(subject)
  t.match(
    (timeline as Timeline).lines.find(({ category }) => category === 'template'),
    { duration: '0.700 ms' },
  )
})

t.test('the page shows everything, with bars that no strict policy forbids', async t => {
  const { show } = await createProfiledKernel(t)
  const children = [{ ...subject.profile.summary, controller: null }]
  const html = await show(createTimePanel(), { ...subject, children, parent: subject.profile.summary })
  t.match(html, '<rect class="bar-section"')
  t.match(html, '5 more measurements')
  t.match(html, 'After the response')
  t.match(html, 'Threshold: rows below 0.100 ms are folded.')
  t.match(html, '/_profiler/abc123?panel&#x3D;time')
  t.notMatch(html, /style=|<script/)
})

t.test('without any data there are the metrics of the summary', async t => {
  const { show } = await createProfiledKernel(t)
  const panel = createTimePanel()
  t.ok(panel.hasContent(createSubject({}).profile))
  const html = await show(panel, createSubject({}))
  t.match(html, 'Nothing that was recorded took so long.')
  t.notMatch(html, 'After the response')
  t.match(await show(panel, createSubject({ time: { measured: [{}, 7, { periods: [[], 'x'] }] } })), 'Threshold')
})
