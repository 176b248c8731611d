import { t } from 'tap'
import { toMarkdown } from '#bundles/profiler/export/markdown.ts'
import { controllerTimes, type EventNode, ownTime, readEventTree } from '#bundles/profiler/profile/event-tree.ts'
import { toProfile } from '#bundles/profiler/profile/parse-profile.ts'
import { createProfile, createShown } from '#tests/support/create-profile.ts'
import { plainEquals } from '#tests/support/html.ts'
import { shareKernel } from '#tests/support/profiled-kernel.ts'

const { panel, show } = await shareKernel()
const eventsPanel = panel('events')

const spans = [
  [null, 'kernel.request', 0, 1000, -1, 1, ['Late.onRequest']],
  [
    8,
    'Early.onRequest',
    10,
    400,
    0,
    0,
    ['set attribute a', 'set header b', 'removed header c', 'replaced the controller', 'and 10 more'],
  ],
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

const processData = {
  events: {
    listeners: [
      { event: 'kernel.request', name: 'Early.onRequest', priority: 8, site: 'src/early.ts:7' },
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

const profile = createProfile({ events: { spans, dropped: 7 } }, { processData })
const shown = createShown({}, { profile })

t.test('the tree shows the events in order, with times, places and changes', async t => {
  const view = await eventsPanel.toView(shown)
  t.hasStrict(view.nodes, [
    {
      id: 'span-0',
      name: 'kernel.request',
      facts: [{ text: '' }, { text: '1.0 ms' }, { text: '0.10 ms' }],
      bars: [{ kind: 'section', x: '0', width: '200' }],
      show: 'lasts-100us lasts-1ms',
      children: [
        {
          id: 'span-1',
          name: 'Early.onRequest',
          facts: [{ text: '8' }, {}, { text: '0.14 ms' }],
          where: 'early.ts:7',
          site: { place: 'src/early.ts:7', at: '1' },
          show: 'changed lasts-100us',
          changes: [
            {
              action: 'set attribute',
              kind: 'attribute',
              name: 'a',
              link: '/_profiler/abc123?panel=request#attribute-a',
            },
            { action: 'set header', kind: 'header', name: 'b', link: '/_profiler/abc123?panel=request#header-b' },
            { action: 'removed header', name: 'c', link: '' },
            { action: 'replaced the controller', kind: 'controller', name: '', link: '' },
            { action: '', kind: 'plain', name: 'and 10 more', link: '' },
          ],
          children: [
            {
              name: 'custom',
              facts: [{}, {}, { text: '0.050 ms' }],
              children: [{ name: 'anonymous' }, { name: 'anonymous' }],
            },
            { name: 'Sub-Request', token: 'abc123', facts: [{}, {}, { text: '' }], bars: [{ kind: 'request' }] },
          ],
        },
        { id: 'span-6', name: 'Stopper.onRequest', site: false, isStopped: true, skipped: 'Late.onRequest' },
      ],
    },
    { name: 'orphan', remark: 'no listeners', isPlain: true },
    { name: 'failing', remark: '', children: [{ name: 'thrower', thrown: 'threw an error', skipped: 'never' }] },
    {
      name: 'unfinished',
      facts: [{}, { text: '' }, { text: '' }],
      bars: [{ width: '0' }],
      remark: 'not finished',
    },
  ])
  t.equal(view.dropped, 7)
})

t.test('the controller is at its call, with its dispatches, changes and exceptions', async t => {
  const nodesOf = async (spans: unknown[], exceptions: unknown[] = []) =>
    (await eventsPanel.toView(createShown({ events: { spans }, exception: { exceptions } }))).nodes
  const before = [
    [null, 'kernel.controller', 0, 10],
    [null, 'kernel.controller_arguments', 20, 10, -1, 0, [], ['set attribute by-the-resolver']],
  ]
  const within = [
    [null, 'custom', 130, 100, -1, 0, [], ['set attribute a']],
    ['request', 'abcdef', 300, 500],
  ]
  const answer = [null, 'kernel.response', 1030, 10, -1, 0, [], ['changed attribute a']]
  t.hasStrict(await nodesOf([...before, ...within, answer]), [
    { id: 'span-0' },
    { id: 'span-1', by: 'The kernel, before this event:', changes: [{ name: 'by-the-resolver' }] },
    {
      id: 'controller',
      name: 'SomeController',
      facts: [{ text: '' }, { text: '1.0 ms' }, { text: '0.40 ms' }],
      thrown: '',
      changes: [{ action: 'set attribute' }, { action: 'changed attribute' }],
      children: [{ name: 'custom', changes: [] }, { token: 'abcdef' }],
    },
    { name: 'kernel.response', by: '', changes: [] },
  ])
  const failed = [...before, [null, 'kernel.exception', 130, 10]]
  t.hasStrict(await nodesOf(failed, [{ name: 'TypeError' }]), [{}, {}, { thrown: 'threw TypeError' }, {}])
  t.hasStrict(await nodesOf(failed, [{}, {}]), [{}, {}, { thrown: 'threw an error' }, {}])
  t.hasStrict(await nodesOf([...before, ...within]), [{}, {}, { remark: 'not finished', children: [{}, {}] }])
  const thrower = [null, 'kernel.controller_arguments', 0, 10, -1, 2]
  t.hasStrict(await nodesOf([thrower, answer]), [{ id: 'span-0' }, { id: 'span-1' }], 'it was never called')
  const nameless = { ...shown.profile, summary: { ...shown.profile.summary, controller: null } }
  const html = await show('events', { profile: toProfile({ ...nameless, data: { events: { spans: failed } } }) })
  t.match(html, 'the controller')
})

t.test('an event that was stopped before its dispatch lists the skipped listeners', async t => {
  const spans = [[null, 'custom', 0, 1, -1, 1, ['A.b', 'C.d']]]
  const view = await eventsPanel.toView(createShown({ events: { spans } }))
  t.hasStrict(view.nodes, [{ skipped: 'A.b, C.d', remark: '', isPlain: false }])
})

t.test('short repeated events without changes are one line', async t => {
  const custom = (at: number, name = 'tick', listener = 'Clock.onTick', duration = 10) => [
    [null, name, at, duration],
    [0, listener, at, 5],
  ]
  const spans = [0, 20, 40].flatMap(at => custom(at)).concat(custom(60, 'tick', 'Other.onTick'), custom(80, 'tock'))
  const slow = [100, 3000, 6000].flatMap(at => custom(at, 'slow', 'Slow.onSlow', 2000))
  const { nodes } = await eventsPanel.toView(createShown({ events: { spans: [...spans, ...slow] } }))
  t.match(nodes, [
    { id: '', name: 'tick', times: '× 3', facts: [{}, { text: '0.030 ms' }, { text: '' }], isOpen: false },
    { id: 'span-6', times: '' },
    { name: 'tock' },
    { name: 'slow' },
    { name: 'slow' },
    { name: 'slow' },
  ])
  t.match(nodes, [{ children: [{ id: 'span-0' }, { id: 'span-2' }, { id: 'span-4' }] }])
})

t.test('listeners of the framework in a row are one line, except those that say something', async t => {
  const bundle = 'framework'
  const listener = (name: string, more: object = {}) => ({ event: 'kernel.request', name, priority: 5, ...more })
  const names = ['one', 'two', 'slow', 'three', 'own', 'four', 'five', 'thrower']
  const listeners = names.map(name => listener(name, name === 'own' ? {} : { bundle, site: 'sinfonietta/x.ts:1' }))
  const call = (name: string, at: number, duration: number, ...more: unknown[]) => [5, name, at, duration, 0, ...more]
  const spans = [
    [null, 'kernel.request', 0, 5000],
    call('one', 10, 100, 0, ['set attribute a']),
    call('two', 120, 200),
    call('slow', 400, 1500),
    call('three', 2000, 10),
    call('own', 2100, 10),
    call('four', 2200, 10),
    call('five', 2300, 20),
    call('thrower', 2400, 20, 2),
  ]
  const profile = createProfile({ events: { spans } }, { processData: { events: { listeners } } })
  const { nodes } = await eventsPanel.toView(createShown({}, { profile }))
  const fold = { times: '', isOpen: false, site: false, isSoft: true }
  t.match(nodes, [
    {
      children: [
        {
          ...fold,
          name: '2 listeners of the framework',
          facts: [{ text: '' }, { text: '0.30 ms' }, {}],
          children: [{ id: 'span-1' }, { name: 'two' }],
        },
        { name: 'slow' },
        { name: 'three', facts: [{ text: '5' }, {}, {}], site: { place: 'x.ts:1' } },
        { name: 'own' },
        {
          ...fold,
          name: '2 listeners of the framework',
          facts: [{ text: '' }, { text: '0.030 ms' }, {}],
          children: [{ name: 'four' }, { name: 'five' }],
        },
        { name: 'thrower' },
      ],
    },
  ])
})

t.test('a page is limited, keeps the important rows, and links to the rest', async t => {
  const tick = (at: number) => [
    [null, `tick ${at % 4}`, at, 10],
    [0, 'Clock.onTick', at, 5],
  ]
  const spans = [
    ...Array.from({ length: 490 }, (_, at) => tick(at * 20)).flat(),
    [null, 'kernel.response', 9900, 50],
    [0, 'Late.onResponse', 9910, 1, 980, 0, ['set header etag']],
    [null, 'last', 9990, 3],
    [null, 'never over', 9995, null],
  ]
  const large = createShown({ events: { spans } })
  const html = await show('events', large)
  t.ok(html.length < 60_000, `${html.length} characters`)
  t.match(html, /id="span-981".*etag/)
  t.match(html, '909 short calls without an effect are not listed')
  t.match(html, /href="\/_profiler\/\w+\?panel(=|&#x3D;)events&amp;spans(=|&#x3D;)all"/)
  const all = await show('events', { ...large, query: new URLSearchParams('spans=all') })
  t.match(all, 'id="span-982"')
  t.notMatch(all, 'left out')
})

t.test('listeners are called, or not called with the reason; events are orphaned', async t => {
  const view = await eventsPanel.toView(shown)
  t.hasStrict(view.called, [
    {
      event: 'kernel.request',
      name: 'Early.onRequest',
      priority: '8',
      calls: '1',
      duration: '0.40 ms',
      site: { place: 'src/early.ts:7', at: '1' },
    },
    { name: 'Stopper.onRequest' },
    { event: 'custom', name: 'anonymous', calls: '2', duration: '0.15 ms' },
    { name: 'thrower' },
    { name: 'hanging', duration: '0 ms' },
  ])
  t.strictSame(view.notCalled, [
    {
      event: 'kernel.request',
      priority: '0',
      name: 'Late.onRequest',
      site: false,
      reason: 'skipped: Stopper.onRequest stopped propagation',
    },
    { event: 'custom', priority: '0', name: 'anonymous', site: false, reason: '' },
    { event: 'failing', priority: '0', name: 'never', site: false, reason: 'skipped: thrower threw' },
    {
      event: 'kernel.view',
      priority: '-128',
      name: 'View.onView',
      site: false,
      reason: 'the event was not dispatched',
    },
  ])
  t.strictSame(view.orphaned, [{ event: 'orphan', times: '1' }])
})

t.test('a sub-request is named after its controller, or its path', async t => {
  const { summary } = shown.profile
  const nameIn = async (child: typeof summary) => {
    const view = await eventsPanel.toView({ ...shown, children: [child] })
    const [{ children } = { children: [] }] = view.nodes as { children: { children: { name: string }[] }[] }[]
    return children[0]?.children[1]?.name
  }
  t.equal(await nameIn({ ...summary, controller: 'error_controller' }), 'Sub-Request error_controller')
  t.equal(await nameIn({ ...summary, controller: null, url: 'http://localhost/a' }), 'Sub-Request /a')
})

t.test(
  'the line of a controller and of a sub-request has its place without a link; its details have the link',
  async t => {
    const spans = [
      [null, 'kernel.controller_arguments', 0, 10],
      ['request', 'bbbbbb', 100, 500],
      [null, 'kernel.response', 1030, 10],
    ]
    const named = { controller: 'star_photo_booth' }
    const { summary: child } = createProfile({}, { ...named, token: 'bbbbbb', parent: 'abc123' })
    const render = async (list: unknown[]) =>
      plainEquals(
        await show('events', { profile: createProfile({ events: { spans: list } }, named), children: [child] }),
      )
    const html = await render(spans)
    const link = '<p class="sender"><span class="place" data-at="1">bundles/site/site-bundle.ts:'
    for (const name of ['star_photo_booth', 'Sub-Request star_photo_booth'])
      t.match(
        html,
        new RegExp(
          `<details[^>]*><summary class="line"><span class="item-text"><span class="name">${name}</span></span> <span class="item-place">site-bundle\\.ts:\\d+</span>.*?</summary><div class="item-details">${link}`,
        ),
      )
  },
)

t.test('the page shows all texts, escaped', async t => {
  const html = await show('events', shown)
  t.match(html, '/_profiler/abc123?panel&#x3D;events')
  t.match(html, '7 more events')
  const hostile = createShown({
    events: {
      spans: [
        [null, '<script>', 0, 1],
        ['request', '../..', 0, 1],
      ],
    },
  })
  const escaped = await show('events', hostile)
  t.match(escaped, '&lt;script&gt;')
  t.notMatch(escaped, /<script|href="\/_profiler/)
})

t.test('an empty tree has a message', async t => {
  const panel = eventsPanel
  t.notOk(panel.hasContent(createShown({}).profile))
  t.ok(panel.hasContent(shown.profile))
  const html = await show(panel, createShown({}))
  for (const text of ['No events recorded', 'No listeners were called', 'Every listener', 'Every dispatched event']) {
    t.match(html, text)
  }
})

t.test('invalid rows are omitted, and nothing refers to them', async t => {
  const rows = [
    'text',
    [],
    [null, 7, 0, 1],
    [{}, 'a', 0, 1],
    [1, 'call of nothing', 0, 1],
    [null, 'a', -5, -5, 99],
    [null, 'in a damaged one', 0, 1, 5],
    [2, 'in itself', 0, 1, 7],
    [2, 'a call', 3, null, 6, 1],
    [2, 'another', 'x', 'y', 6, 'z', { not: 'a list' }],
  ]
  const tree = readEventTree(createShown({ events: { spans: rows, dropped: 'many' } }).profile)
  t.strictSame(
    tree.nodes.map(({ name }) => name),
    ['in a damaged one', 'a call'],
  )
  t.hasStrict(tree, { roots: [{ index: 6, start: 0, duration: 1 }], dropped: 0 })
  t.hasStrict(tree.nodes[1], { index: 8, start: 3, duration: undefined, isStopped: true, details: [] })
})

t.test('a tree of any depth is shown', async t => {
  const deep = Array.from({ length: 5001 }, (_, index) =>
    index % 2 === 0 ? [null, 'e', index, 1, index - 1] : [0, 'l', index, 1],
  )
  const query = new URLSearchParams('spans=all')
  const html = await show('events', createShown({ events: { spans: deep } }, { query }))
  t.equal(html.match(/<li /g)?.length, 5000)
  t.ok(await eventsPanel.toView(createShown({ events: { spans: deep } })))
})

t.test('the own time is the time without the inner spans; overlapping spans count once', async t => {
  const create = (start: number, duration: number | undefined, children: EventNode[] = []): EventNode => ({
    index: 0,
    kind: 'call',
    isOfFramework: false,
    before: [],
    oldHeaders: [],
    place: undefined,
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

t.test('own times are those of the timeline: without calls, queries and measurements', async t => {
  const spans = [
    [null, 'kernel.controller_arguments', 0, 10],
    [null, 'kernel.response', 1010, 100],
    [5, 'onResponse', 1010, 100],
  ]
  const call = (start: number, end: number) => ({ method: 'GET', url: 'http://shop.test/', start, end, status: 200 })
  const measured = [{ name: 'sum', category: 'default', periods: [[600, 100]], duration: 100 }]
  const data = { events: { spans }, http: { calls: [call(0.2, 0.5), call(1.02, 1.06)] }, time: { measured } }
  const shown = createShown(data)
  t.hasStrict((await eventsPanel.toView(shown)).nodes, [
    {},
    { facts: [{}, { text: '1.0 ms' }, { text: '0.60 ms' }] },
    {
      facts: [{}, {}, { text: '0 ms' }],
      children: [{ name: 'onResponse', facts: [{}, { text: '0.10 ms' }, { text: '0.060 ms' }] }],
    },
  ])
  t.match(toMarkdown(shown, 'events'), '`onResponse` 0.10 ms (own 0.060 ms); priority 5')
})

t.test('an unfinished controller lasts until the request was handled', async t => {
  const events = { spans: [[null, 'kernel.controller_arguments', 100, 50]] }
  const tree = readEventTree(createProfile({ events }))
  t.strictSame(controllerTimes(tree.roots, 1000), [850])
  t.strictSame(controllerTimes(tree.roots, 120), [0])
})

t.test('of the request of another server, the panel shows the functions of its framework', async t => {
  const calls = [
    ['phase', 'middleware', 1000, 3000],
    ['function', 'session', 1000, 2000, 0],
    ['function', 'anonymous', 3000, 1000, 0, 2],
    ['phase', 'error handler', 4000, 500],
    ['function', 'answer', 4000, 500, 3],
  ]
  const events = {
    spans: calls,
    places: [
      [1, 'app.js:3'],
      [2, 'app.js:4'],
    ],
  }
  const ofServer = createShown({}, { profile: createProfile({ events }, { processData }) })
  t.hasStrict(await eventsPanel.toView(ofServer), {
    metrics: [{ name: 'Calls', value: '3' }],
    notCalled: [],
    nodes: [
      {
        name: 'middleware',
        children: [
          { name: 'session', facts: [{ text: '' }, {}, { text: '2.0 ms' }], site: { place: 'app.js:3' }, thrown: '' },
          { name: 'anonymous', site: { place: 'app.js:4' }, thrown: 'threw an error' },
        ],
      },
      { name: 'error handler', children: [{ name: 'answer', site: false }] },
    ],
  })
  const html = await show('events', ofServer)
  t.match(html, '<h3>Middleware</h3>')
  t.notMatch(html, /Priority|Listeners|Orphaned/)
})

t.test('the functions of a mounted framework are in the controller, or in the listener that has called it', async t => {
  const spans = [
    [null, 'kernel.request', 0, 900],
    [40, 'app', 0, 500],
    ['phase', 'middleware', 0, 500, 1],
    ['function', 'early', 0, 500, 2],
    [32, 'RouterListener.onRequest', 500, 300],
    [null, 'kernel.controller_arguments', 900, 50],
    ['phase', 'handler', 1000, 2000],
    ['function', 'showUser', 1000, 2000, 6],
    [null, 'kernel.response', 3000, 500],
  ]
  const shown = createShown(
    { events: { spans, places: [[7, 'app.js:3']] } },
    {
      profile: createProfile({ events: { spans, places: [[7, 'app.js:3']] } }, { processData, controller: 'showUser' }),
    },
  )
  const view = await eventsPanel.toView(shown)
  t.hasStrict(view, {
    isOfServer: false,
    metrics: [
      { name: 'Dispatched events', value: '3' },
      { name: 'Listener calls', value: '2' },
    ],
    nodes: [
      {
        name: 'kernel.request',
        children: [
          {
            name: 'app',
            facts: [{ text: '40' }, {}, {}],
            children: [{ name: 'middleware', children: [{ name: 'early', facts: [{ text: '' }, {}, {}] }] }],
          },
          { name: 'RouterListener.onRequest', facts: [{ text: '32' }, {}, {}] },
        ],
      },
      { name: 'kernel.controller_arguments' },
      {
        bars: [{ kind: 'controller' }],
        children: [
          {
            name: 'handler',
            children: [{ name: 'showUser', facts: [{ text: '' }, {}, {}], site: { place: 'app.js:3' } }],
          },
        ],
      },
      { name: 'kernel.response' },
    ],
  })
  t.match(await show('events', shown), '<h3>Dispatched Events</h3>')
})
