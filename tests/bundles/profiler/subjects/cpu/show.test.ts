import fc from 'fast-check'
import { t } from 'tap'
import { toMarkdown } from '#bundles/profiler/export/markdown.ts'
import { createEditorLinks } from '#bundles/profiler/panels/editor-links.ts'
import type { CollectorTypes } from '#bundles/profiler/profile/profile.ts'
import { subjectViews } from '#bundles/profiler/subjects/views.ts'
import { formatProfile } from '#bundles/profiler/web/export-profile.ts'
import { createProfile, createShown, type ProfileInit } from '#tests/support/create-profile.ts'
import { plainEquals, toText } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

const runtime = { file: 'node:events', line: 500, origin: 'runtime', self: 0 } as const
const kernel = { file: 'kernel/http-kernel.ts', line: 60, origin: 'kernel', self: 0 } as const

/** emit → #answer → handle → controller → busy, and a bit of the garbage collector. */
const cpu: CollectorTypes['cpu'] = {
  samples: 900,
  busy: 100_000,
  idle: 10_000,
  startup: 6_000,
  others: 0,
  isCut: false,
  functions: [
    { name: 'busy', file: 'src/busy.ts', line: 3, hot: 5, origin: 'application', self: 88_000, total: 88_000 },
    { name: '(garbage collector)', origin: 'gc', self: 10_000, total: 10_000 },
    { name: 'controller', file: 'src/page.ts', line: 9, hot: 11, origin: 'application', self: 2_000, total: 90_000 },
    { name: 'handle', ...kernel, total: 90_000 },
    { name: '#answer', ...kernel, total: 90_000 },
    { name: 'emit', ...runtime, total: 90_000 },
  ],
  calls: [
    [5, -1, 0, 90_000],
    [4, 0, 0, 90_000],
    [3, 1, 0, 90_000],
    [2, 2, 2_000, 90_000],
    [0, 3, 88_000, 88_000],
    [1, -1, 10_000, 10_000],
  ],
  omitted: 7,
  excerpts: [{ file: 'src/busy.ts', line: 5, start: 4, lines: ['for (;;) {', '  step()', '}'] }],
}

const record = (data: object = {}, init: ProfileInit = {}) => createProfile({ cpu: { ...cpu, ...data } }, init)

/** The texts of the bars, by rows from the top. */
function barsOf(html: string): string[] {
  return [
    ...html.matchAll(
      /<svg x="([^"]+)" y="(\d+)em" width="([^"]+)"[^>]*>.*?(?:<text[^>]*>([^<]*)<\/text>)?<\/svg><\/a>/g,
    ),
  ].map(([, x, y, width, name]) => `${y}: ${x} + ${width} ${name}`)
}

t.test('bars are below their callers, as wide as the time; calls outside of the application are folded', async t => {
  const { show } = await createProfiledKernel(t)
  const html = plainEquals(await show('cpu', record()))
  t.strictSame(barsOf(html), [
    '0: 0% + 90% +2 › handle',
    '1: 0% + 90% controller',
    '2: 0% + 88% busy',
    '0: 90% + 10% (garbage collector)',
  ])
  t.match(html, '<svg class="flame" height="3em"')
  t.match(html, '+2 › handle: 90 ms, 90 %; kernel/http-kernel.ts:60; of Sinfonietta; through 2 calls from emit')
  t.match(html, 'busy: own 88 ms, 88 %; src/busy.ts:5; of the application')
  t.match(html, 'controller: 90 ms, 90 %; own 2.0 ms; src/page.ts:11; of the application')
  t.match(html, /2 library frames collapsed:[^<]*<a href="\/_profiler\/abc123\?panel=cpu&amp;calls=all#flame">/)
  t.match(html, '7 shorter frames were not recorded.')
  t.match(html, '<dd>100 ms <small>91 %</small></dd>')
  t.notMatch(html, /note-warning|rough picture/)
})

t.test('bars can be unfolded, and each call can be shown in full width, below its callers', async t => {
  const { show } = await createProfiledKernel(t)
  const of = async (query: string) => {
    const shown = { profile: record(), query: new URLSearchParams(query) }
    return plainEquals(await show('cpu', shown))
  }
  const all = await of('calls=all')
  t.strictSame(barsOf(all).slice(0, 3), ['0: 0% + 90% emit', '1: 0% + 90% #answer', '2: 0% + 90% handle'])
  t.match(all, '<a href="/_profiler/abc123?panel=cpu#flame">Collapse library frames</a>')
  const zoomed = await of('frame=3')
  t.strictSame(barsOf(zoomed), ['0: 0% + 100% controller', '1: 0% + 97.778% busy'])
  t.match(toText(zoomed), /All frames emit #answer handle controller/)
  t.match(zoomed, '<a href="/_profiler/abc123?panel=cpu&amp;frame=1#flame">#answer</a>')
  t.match(zoomed, '<a href="/_profiler/abc123?panel=cpu#flame">All frames</a>')
  for (const query of ['frame=99', 'frame=x', 'frame=', 'frame=-1']) {
    t.equal(barsOf(await of(query)).length, 4, query)
  }
})

t.test('a function of a package has the name of its package', async t => {
  const { show } = await createProfiledKernel(t)
  const called = { name: 'merge', file: 'node_modules/@scope/x/merge.js', line: 1, self: 90_000, total: 90_000 }
  const functions = [
    { ...called, origin: 'vendor', package: '@scope/x' },
    { ...called, origin: 'vendor' },
  ]
  const calls = [
    [0, -1, 50_000, 50_000],
    [1, -1, 40_000, 40_000],
  ]
  const html = plainEquals(await show('cpu', record({ functions, calls })))
  t.match(html, /(?<!\/)merge.js:1; of @scope\/x/, 'its path begins in the package')
  t.match(html, 'node_modules/@scope/x/merge.js:1; of a package', 'earlier versions have not stored the name')
  const shown = createShown({ cpu: { ...cpu, functions, calls } })
  t.match(toMarkdown(shown, 'cpu'), 'merge.js:1` (@scope/x): own')
})

t.test('only the widest bars are drawn', async t => {
  const { show } = await createProfiledKernel(t)
  const short = Array.from({ length: 30 }, () => [0, -1, 100, 100])
  const many = Array.from({ length: 450 }, () => [0, -1, 200, 200])
  const html = await show('cpu', record({ calls: [...many, ...short] }))
  t.equal(barsOf(plainEquals(html)).length, 400)
  t.match(html, '80 frames are too short to draw.')
})

t.test('hot spots have their source, a link to the editor and one to the widest call', async t => {
  const variables = { EDITOR_URL: 'ed://{file}:{line}' }
  const kernel = await createProfiledKernel(t, { directory: '/site', variables })
  const html = plainEquals(await kernel.show('cpu', record()))
  t.match(html, '<a class="place" href="ed:///site/src/busy.ts:5">src/busy.ts:5</a>')
  t.match(html, '<a class="call" href="/_profiler/abc123?panel=cpu&amp;frame=4#flame"')
  t.match(html, /<details class="more" open>[\s\S]*<mark class="line[^>]*><span class="line-number">5<\/span>/)
  t.match(
    html,
    '<a class="call" href="/_profiler/abc123?panel=cpu&amp;frame=5#flame" title="Show in the flame graph">(garbage',
  )
  const spots = Array.from({ length: 20 }, (_, index) => ({
    name: `f${index}`,
    origin: 'vendor',
    self: 20 - index,
    total: 20,
  }))
  const many = await kernel.show('cpu', record({ functions: spots, calls: [] }))
  t.match(many, '5 more functions took less time.')
  t.match(many, '<span class="call">f0</span>')
  t.match(many, 'No CPU activity in the samples.', 'without calls there is nothing to draw')
})

t.test('the panel notes limits of the picture', async t => {
  const { show } = await createProfiledKernel(t)
  const text = toText(await show('cpu', record({ others: 1, isCut: true, samples: 12 })))
  t.match(text, '1 concurrent request: the samples include')
  t.match(text, 'Sampling stopped after ten seconds')
  t.match(text, 'Few samples: the result is rough.')
})

t.test('the form arms the next request of the same route', async t => {
  const { show } = await createProfiledKernel(t)
  const byRoute = await show('cpu', createProfile({}, { route: 'partnership' }))
  t.match(byRoute, 'The CPU was not sampled: that is off by default.')
  t.match(byRoute, '<input type="hidden" name="route" value="partnership">')
  const byPath = await show('cpu', createProfile({}, { route: null, method: 'PUT', url: 'http://localhost/a%20b?c=d' }))
  t.match(byPath, /<input type="hidden" name="method" value="PUT">\s*<input type="hidden" name="path" value="\/a%20b">/)
  t.match(byPath, 'Profile the next PUT /a%20b</button>')
  const ofServer = await show('cpu', createProfile({}, { route: 'GET /users/:id', url: 'http://localhost/users/7' }))
  t.match(ofServer, 'Profile the next GET /users/7</button>', 'another server names its routes when they are called')
  const job = await show('cpu', createProfile({}, { type: 'job', route: 'send' }))
  t.match(job, 'The CPU was not sampled: only requests can be sampled.')
  t.notMatch(job, '<form')
})

t.test('Markdown lists the hot spots, the slowest first', async t => {
  const markdown = toMarkdown(createShown({ cpu }), 'cpu')
  t.match(markdown, '- 88 % `busy` at `src/busy.ts:5` (application): own 88 ms, with its calls 88 ms\n- 10 % `(garbage')
  t.match(markdown, '- Samples: 900, one every 0.12 ms; start of the V8 profiler 6.0 ms')
  t.match(markdown, '>    5 |   step()')
  const cut = toMarkdown(createShown({ cpu: { isCut: true } }), 'cpu')
  t.match(cut, '- Sampling stopped before the request ended.')
  t.match(cut, 'No CPU activity in the samples.')
  t.match(toMarkdown(createShown({}), 'cpu'), 'No data for this panel.')
})

t.test('in an HTML export, its links stay in the file', async t => {
  const { app, storage } = await createProfiledKernel(t)
  const shown = createShown({ cpu })
  const html = await formatProfile(
    'html',
    { ...shown, summaries: [] },
    {
      ...app,
      editor: createEditorLinks(app),
      panels: async () => subjectViews.filter(({ name }) => name === 'cpu'),
      storage,
      assets: { stylesheet: '' },
    },
  )
  t.match(plainEquals(String(html)), '<a class="cpu-application" href="#flame"')
  t.notMatch(String(html), /href="\/|action=/)
})

t.test('a damaged CPU profile can be shown', async t => {
  const { show } = await createProfiledKernel(t)
  const json = fc.jsonValue()
  const number = fc.oneof(json, fc.integer({ min: -2, max: 8 }))
  const called = fc.oneof(json, fc.record({ name: json, self: number, total: number, origin: json, hot: number }))
  const data = fc.oneof(
    json,
    fc.record({
      busy: number,
      idle: number,
      samples: number,
      functions: fc.oneof(json, fc.array(called)),
      calls: fc.oneof(json, fc.array(fc.oneof(json, fc.tuple(number, number, number, number)))),
      excerpts: fc.oneof(json, fc.array(fc.oneof(json, fc.record({ lines: json, start: number })))),
    }),
  )
  const property = fc.asyncProperty(data, fc.nat(5), async (cpu, frame) => {
    const profile = createProfile({ cpu })
    const query = new URLSearchParams({ frame: String(frame) })
    const html = await show('cpu', { profile, query })
    if (/NaN|undefined|\[object|Infinity/.test(html.replaceAll(/<pre.*?<\/pre>/gs, ''))) t.fail(html)
    if (toMarkdown(createShown({ cpu })).includes('NaN')) t.fail('NaN')
  })
  await t.resolves(fc.assert(property, { numRuns: 200 }))
})
