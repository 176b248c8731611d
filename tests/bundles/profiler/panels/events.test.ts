import { t } from 'tap'
import { type EventNode, ownTime, readEventTree } from '../../../../bundles/profiler/panels/event-tree.ts'
import { createEventsPanel } from '../../../../bundles/profiler/panels/events.ts'
import { createSubject } from '../../../support/create-profile.ts'
import { createProfiledKernel } from '../../../support/profiled-kernel.ts'

const spans = [
  [null, 'kernel.request', 0, 1000, -1, 1, ['Late.onRequest']],
  [8, 'Early.onRequest', 10, 400, 0, 0, ['set attribute a', 'set header b']],
  [null, 'custom', 100, 200, 1],
  [0, 'anonymous', 110, 50],
  [0, 'anonymous', 170, 100],
  ['request', 'abc123', 320, 60, 1],
  [4, 'Stopper.onRequest', 450, 500, 0, 1],
  [null, 'orphan', 2000, 3],
  [null, 'failing', 3000, 40, -1, 2, ['never']],
  [1, 'thrower', 3010, 20, 8, 2],
  [null, 'unfinished', 20_000, null],
  [0, 'hanging', 20_010, null],
]

const facts = {
  events: {
    listeners: [
      { event: 'kernel.request', name: 'Early.onRequest', priority: 8 },
      { event: 'kernel.request', name: 'Stopper.onRequest', priority: 4 },
      { event: 'kernel.request', name: 'Late.onRequest', priority: 0 },
      { event: 'custom', name: 'anonymous', priority: 0 },
      { event: 'custom', name: 'anonymous', priority: 0 },
      { event: 'custom', name: 'anonymous', priority: 0 },
      { event: 'failing', name: 'never', priority: 0 },
      { event: 'kernel.view', name: 'View.onView', priority: -128 },
    ],
  },
}

const subject = createSubject({ events: { spans, dropped: 7 } }, { facts })

t.test('the tree is told row by row, with lines, times, and what happened', async t => {
  const view = await createEventsPanel().toView(subject)
  t.match(view.rows, [
    { lines: '', name: 'kernel.request', isDispatch: true, start: '0.000 ms', duration: '1.000 ms', own: '0.100 ms' },
    { lines: '├─ ', name: 'Early.onRequest', priority: '8', duration: '0.400 ms', own: '0.140 ms' },
    { lines: '│\u00a0 ├─ ', name: 'custom', own: '0.050 ms' },
    { lines: '│\u00a0 │\u00a0 ├─ ', name: 'anonymous' },
    { lines: '│\u00a0 │\u00a0 └─ ', name: 'anonymous' },
    { lines: '│\u00a0 └─ ', name: 'Sub-Request', token: 'abc123', own: '' },
    {
      lines: '└─ ',
      name: 'Stopper.onRequest',
      badges: [{ text: 'stopped propagation (skipped: Late.onRequest)', level: 'warning' }],
    },
    { name: 'orphan', badges: [{ text: 'nobody listened', level: 'plain' }] },
    { name: 'failing', badges: [] },
    { name: 'thrower', badges: [{ text: 'threw (skipped: never)', level: 'error' }] },
    { name: 'unfinished', duration: '', own: '', badges: [{ text: 'was not over', level: 'warning' }] },
    { name: 'hanging', start: '20.0 ms', badges: [{ text: 'was not over', level: 'warning' }] },
  ])
  t.equal(view.dropped, 7)
})

t.test('called, not called with the reason, and orphaned', async t => {
  const view = await createEventsPanel().toView(subject)
  t.match(view.called, [
    { event: 'kernel.request', name: 'Early.onRequest', priority: '8', calls: '1', duration: '0.400 ms' },
    { name: 'Stopper.onRequest' },
    { event: 'custom', name: 'anonymous', calls: '2', duration: '0.150 ms' },
    { name: 'thrower' },
    { name: 'hanging', duration: '0.000 ms' },
  ])
  t.strictSame(view.notCalled, [
    {
      event: 'kernel.request',
      priority: '0',
      name: 'Late.onRequest',
      reason: 'skipped: Stopper.onRequest stopped propagation',
    },
    { event: 'custom', priority: '0', name: 'anonymous', reason: '' },
    { event: 'failing', priority: '0', name: 'never', reason: 'skipped: thrower threw' },
    { event: 'kernel.view', priority: '-128', name: 'View.onView', reason: 'the event was not dispatched' },
  ])
  t.strictSame(view.orphaned, [{ event: 'orphan', times: '1' }])
})

t.test('a sub-request is named after its controller, or its URL', async t => {
  const { summary } = subject.profile
  const nameIn = async (child: typeof summary) => {
    const { rows } = await createEventsPanel().toView({ ...subject, children: [child] })
    return (rows as { name: string }[])[5]?.name
  }
  t.equal(await nameIn({ ...summary, controller: 'error_controller' }), 'Sub-Request error_controller')
  t.equal(await nameIn({ ...summary, controller: null, url: 'http://localhost/a' }), 'Sub-Request http://localhost/a')
})

t.test('the page escapes what it shows, and shows everything', async t => {
  const { show } = await createProfiledKernel(t)
  const html = await show(createEventsPanel(), subject)
  t.match(html, '/_profiler/abc123?panel&#x3D;events')
  t.match(html, '7 more were dispatched')
  const hostile = createSubject({
    events: {
      spans: [
        [null, '<script>', 0, 1],
        ['request', '../..', 0, 1],
      ],
    },
  })
  const escaped = await show(createEventsPanel(), hostile)
  t.match(escaped, '&lt;script&gt;')
  t.notMatch(escaped, /<script|href/)
})

t.test('an empty tree says so', async t => {
  const { show } = await createProfiledKernel(t)
  const panel = createEventsPanel()
  t.notOk(panel.hasContent(createSubject({}).profile))
  t.ok(panel.hasContent(subject.profile))
  const html = await show(panel, createSubject({}))
  for (const text of ['No events were recorded', 'No listeners were called', 'Every listener', 'Somebody listens']) {
    t.match(html, text)
  }
})

t.test('rows that make no sense are left out, and nothing refers to them', async t => {
  const rows = [
    'text',
    [],
    [null, 7, 0, 1],
    [{}, 'a', 0, 1],
    [1, 'call of nothing', 0, 1],
    [null, 'a', -5, -5, 99],
    [null, 'in a dispatch', 0, 1, 5],
    [2, 'in itself', 0, 1, 7],
    [2, 'a call', 'x', 'y', 5, 'z', { not: 'a list' }],
  ]
  const tree = readEventTree(createSubject({ events: { spans: rows, dropped: 'many' } }).profile)
  t.strictSame(
    tree.nodes.map(({ name }) => name),
    ['a', 'in a dispatch', 'a call'],
  )
  t.match(tree, { roots: [{ name: 'a', start: 0, duration: 0 }, { name: 'in a dispatch' }], dropped: 0 })
  t.match(tree.nodes[2], { start: 0, duration: undefined, details: [] })
})

t.test('a tree of any depth is shown', async t => {
  const deep = Array.from({ length: 5001 }, (_, index) =>
    index % 2 === 0 ? [null, 'e', index, 1, index - 1] : [0, 'l', index, 1],
  )
  const view = await createEventsPanel().toView(createSubject({ events: { spans: deep } }))
  t.equal((view.rows as unknown[]).length, 5000)
})

t.test('the own time is what nothing within accounts for; what overlaps counts once', async t => {
  const create = (start: number, duration: number | undefined, children: EventNode[] = []): EventNode => ({
    index: 0,
    before: [],
    kind: "call",
    name: '',
    start,
    duration,
    priority: 0,
    isStopped: false,
    hasThrown: false,
    details: [],
    parent: undefined,
    children,
  })
  const children = [create(10, 50), create(20, 10), create(40, 40), create(90, 1000), create(95, undefined)]
  t.equal(ownTime(create(0, 100, children)), 20)
  t.equal(ownTime(create(0, undefined)), 0)
})
