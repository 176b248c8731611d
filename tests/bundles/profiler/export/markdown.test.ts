import assert from 'node:assert'
import fc from 'fast-check'
import { marked, type Token } from 'marked'
import { type Test, t } from 'tap'
import { listToJson, listToMarkdown } from '#bundles/profiler/export/lists.ts'
import { toMarkdown } from '#bundles/profiler/export/markdown.ts'
import { parseListRequest } from '#bundles/profiler/insight/list-request.ts'
import type { ShownProfile } from '#bundles/profiler/insight/relatives.ts'
import { toProfile } from '#bundles/profiler/profile/parse-profile.ts'
import { createProfile, createQuery, createShown } from '#tests/support/create-profile.ts'
import { disarm, hostileTexts } from '#tests/support/hostile-texts.ts'
import { changeTree, type Json, mergeTrees } from '#tests/support/json-tree.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { askRichly, richBundle } from '#tests/support/rich-bundle.ts'
import { provenRuns, provenSample } from '#tests/support/sample.ts'
import { serveKernel } from '#tests/support/test-server.ts'

/** Texts with Markdown syntax. */
const hostile = [
  ...hostileTexts,
  '`',
  '``` ',
  ' `` ` ```',
  '\n# Forged\n\n[link](http://evil.test)',
  '\r\n```\n# Forged\n```js\n',
  '~~~\n</code></pre>\n~~~',
  '\n\n- [ ] item\n\n1. one\n\n> quoted\n\n---\n\n| a | b |\n|---|---|\n| 1 | 2 |',
  '![image](http://evil.test/x.png) <http://evil.test> http://evil.test www.evil.test a@evil.test',
  '[ref]: http://evil.test\n[^1]: note',
  '**bold** _it_ ~~gone~~ \\` \\',
  '    indented',
  '\t',
  ' ',
]

const marks = /[#[\]()!*_~|:.@\\>+\d -]/g
const tame = (text: string) => disarm(text).replace(marks, 'x')

/**
 * The structure of Markdown: its blocks and spans, without their texts. Of the first block, the
 * sentence, these are the kinds of its spans: how many causes it names depends on its length.
 */
function structureOf(markdown: string): string[] {
  const found: string[] = []
  const walk = (tokens: readonly Token[]) => {
    for (const token of tokens) {
      found.push(token.type === 'heading' ? `heading ${token.depth}` : token.type)
      // The text of an item is contained twice: as a block, and as spans.
      if ('tokens' in token && token.tokens !== undefined) walk(token.tokens)
      if (token.type === 'list') walk(token.items)
    }
  }
  const [sentence, ...others] = marked.lexer(markdown, { gfm: true })
  const spans: readonly Token[] = (sentence !== undefined && 'tokens' in sentence && sentence.tokens) || []
  found.push(String(sentence?.type), ...[...new Set(spans.map(({ type }) => type))].toSorted())
  walk(others)
  return found
}

/** The data of several requests with much content, in one profile. */
async function createRichProfile(t: Test): Promise<ShownProfile> {
  const kernel = await createProfiledKernel(t, { bundles: [richBundle] })
  const { url } = await serveKernel(t, kernel)
  const tokens = (await askRichly(url)).map(({ token }) => token)
  const redirected = await fetch(`${url}/redir`)
  tokens.push(String(redirected.headers.get('x-debug-token')))
  const stored = await Promise.all(tokens.map(token => kernel.storedOf({ headers: { get: () => token } })))
  const [first] = stored
  assert(first)
  const merged = stored.map(({ profile }) => JSON.parse(JSON.stringify(profile)) as Json).reduce(mergeTrees)
  const { summary } = first.profile
  const document = merged as unknown as ShownProfile['profile']
  const profile = toProfile({ ...document, children: ['abcdef', summary.token] }, document.processData)
  return { ...first, profile, parent: summary, children: [summary], findings: [], earlier: [] }
}

/** Fields that recorded text cannot reach: names, enumerations, and values that are checked when a profile is read. */
const isFixed =
  /^(?:\{?schemaVersion|\{?isPinned|\{(?:profile|parent|children|data|summary|failures|findings|earlier)\b)/
const isChecked =
  /(?:^|\.)(?:summary|parent|children\.\*)\.(?:token|parent|type|outcome|status|time|duration|memory|errors|warnings|calls|subRequests)$/

function plant(shown: ShownProfile, manner: 'after' | 'instead', text: string): ShownProfile {
  const change = (value: string | number, place: string) => {
    if (isFixed.test(place) && !/^\{profile\.data\.(?:demo|session)/.test(place)) return undefined
    if (isChecked.test(place) || /summary$/.test(place) || typeof value === 'number') return undefined
    return manner === 'instead' ? text : `${value}${text}`
  }
  const { collectors, process, ...document } = shown.profile
  const stored = JSON.parse(JSON.stringify({ ...shown, profile: document }))
  const planted = changeTree(stored, change) as unknown as ShownProfile
  return { ...planted, profile: toProfile(planted.profile, planted.profile.processData) }
}

t.test('the structure of the Markdown does not depend on recorded texts', async t => {
  const shown = await createRichProfile(t)
  const usual = toMarkdown(shown)
  for (const heading of ['Exceptions', 'Request', 'Response', 'Session', 'Logs', 'Events', 'Routing', 'Templates']) {
    t.match(usual, `\n## ${heading}\n`)
  }
  for (const heading of ['HTTP client calls', 'Stopwatch', 'Process', '`demo`', '`text`'])
    t.match(usual, `\n## ${heading}\n`)
  t.notOk(structureOf(usual).some(type => /^(?:html|link|image|table|blockquote|hr|em|strong|del|escape)$/.test(type)))
  const names = [
    'request',
    'exception',
    'logger',
    'events',
    'router',
    'http',
    'database',
    'cache',
    'templates',
    'config',
    'demo',
  ]
  const panels = [undefined, ...provenSample(names, 3)]
  const check = (text: string) => {
    for (const manner of ['after', 'instead'] as const) {
      const [armed, disarmed] = [text, tame(text)].map(text => plant(shown, manner, text)) as [
        ShownProfile,
        ShownProfile,
      ]
      for (const panel of panels) {
        const found = structureOf(toMarkdown(armed, panel))
        assert.deepStrictEqual(
          found,
          structureOf(toMarkdown(disarmed, panel)),
          `${manner} ${panel} ${JSON.stringify(text)}`,
        )
      }
      const list = (shown: ShownProfile) => {
        const { summary } = shown.profile
        const profiles = [{ summary, main: summary, depth: 0 }]
        const wanted = parseListRequest(new URLSearchParams({ url: `${summary.url}.`, sort: `${summary.url}.` }))
        const { notes } = wanted
        return listToMarkdown(listToJson({ profiles, total: 2, pinned: new Set<string>(), notes }, wanted))
      }
      assert.deepStrictEqual(structureOf(list(armed)), structureOf(list(disarmed)), JSON.stringify(text))
    }
  }
  for (const text of provenSample(hostile, 6)) check(text)
  t.pass('texts of the list')
  const piece = fc.oneof(fc.constantFrom(...hostile), fc.constantFrom('`', '\n', ' ', '#', '\\'), fc.string())
  const mutation = fc.array(piece, { minLength: 1, maxLength: 5 }).map(pieces => pieces.join(''))
  fc.assert(fc.property(mutation, check), { numRuns: provenRuns(30) })
  t.pass('mutations of them')
})

t.test('a recorded text is unchanged; invisible characters are escaped', async t => {
  const written = (text: string) => {
    const shown = createShown({}, { profile: createProfile({}, { url: text }) })
    const [, , line = ''] = toMarkdown(shown).split('\n')
    return line.slice('# 200 OK: '.length)
  }
  t.equal(written('/a'), '`GET /a`')
  t.equal(written('/`a`'), '`` GET /`a` ``')
  t.equal(written('/a\r\n\tb\0\u202e'), '`GET /a\\r\\n\\tb\\u0000\\u202e`')
  t.equal(written('\ud800'), '`GET \ufffd`')
  const routed = (id: unknown) =>
    toMarkdown(createShown({ router: { outcome: 'match', route: 'a', parameters: { id } } }), 'router')
  t.equal(routed(undefined), routed(''), 'no value')
  const empty = { headers: [], attributes: [], httpVersion: '1.1', body: { type: 'application/json', json: [] } }
  t.notMatch(
    toMarkdown(createShown({ request: empty }), 'request'),
    /undefined|```json/,
    'JSON without a value is damaged',
  )
  t.match(written('x'.repeat(600)), /x…`$/)
})

t.test('the times of a session are written', async t => {
  const metadata = { createdAt: 0, lastUsedAt: 1000, expiresAt: 61_000 }
  const written = toMarkdown(createShown({ session: { isStateless: false, useCount: 1, metadata } }))
  t.match(
    written,
    /- Created: `[^`]*00:00:00\.000Z`\n- Last used: `[^`]*00:00:01\.000Z`\n- Expires: `[^`]*00:01:01\.000Z`\n$/,
  )
})

t.test('unusual facts are written', async t => {
  const call = {
    method: 'GET',
    url: 'http://a/',
    start: 1,
    end: 2,
    status: 200,
    caller: { function: 'ask', file: 'a.ts', line: 7 },
  }
  const render = { parent: 0, start: 0, duration: 1 }
  const data = {
    request: { body: { type: 'text/plain', length: null, state: 'read', note: 'not shown' } },
    response: {
      size: null,
      isStreamed: true,
      content: { type: 'text/csv', length: null, text: 'a,b', isCut: true, note: 'from a cache' },
    },
    session: { isStateless: true, useCount: 0 },
    http: {
      calls: [call, call, { ...call, caller: undefined }, { ...call, url: 'http://b/', caller: { file: 'b.ts' } }],
      omitted: 4,
    },
    events: {
      spans: [
        [null, 'kernel.request', 0, null],
        [null, 'a.b', 1, 1, -1, 0, [], ['set attribute x']],
      ],
    },
    exception: { exceptions: [{ name: 'Odd', message: '', note: 'the cause is the error itself', frames: [] }] },
    time: {
      measured: [
        {
          name: 'query',
          category: 'sql',
          duration: 9,
          periods: [
            [1, 4],
            [6, 5],
          ],
        },
      ],
    },
    router: { outcome: 'redirect', route: 'slash', location: '/slash/', allow: ['GET'] },
    templates: {
      renders: [
        { name: 'page', parent: -1, start: 0, duration: 9, keys: ['title'], hasFailed: true },
        { ...render, name: 'row' },
        { ...render, name: 'row' },
      ],
    },
  }
  const summary = {
    status: 0,
    route: null,
    controller: null,
    contentType: null,
    queries: 3,
    queryTime: 2.5,
    cacheCalls: 1,
    calls: 2,
    outcome: 'crashed',
    parent: 'abcdef',
  } as const
  const profile = createProfile(data, summary)
  const related = createProfile({}, { controller: null, token: 'abcdef' }).summary
  const markdown = toMarkdown(createShown({}, { profile, isPinned: true, parent: related }))
  for (const line of [
    '# No response: `GET http://localhost:8000/somewhere?q=1`',
    '- Token: `abc123`, pinned',
    '- Sub-request of `abcdef` 200 `http://localhost:8000/somewhere?q=1` 5.0 ms',
    '`text/plain`, of unknown length, state `read`',
    '`not shown`',
    'Body: not known (streamed)',
    '`text/csv`, of unknown length, cut',
    '- Stateless: yes',
    '- Queries: 3 in 2.5 ms',
    '- Cache calls: 1',
    '- HTTP client calls: 2',
    '- 1. `GET` `http://a/`: 200, 1.0 ms; by `ask` at `a.ts:7`',
    '- 2. `GET` `http://a/`: 200, 1.0 ms; by `ask` at `a.ts:7`; same as 1',
    '- 4. `GET` `http://b/`: 200, 1.0 ms; at `b.ts`',
    '4 more not recorded.',
    '- `kernel.request` not finished',
    '- `a.b` 0.001 ms (own 0 ms); before it `set attribute x`',
    '`the cause is the error itself`',
    '- `query` (`sql`) 0.009 ms, 2 times',
    'Redirected to `/slash/`.',
    '- `page` 9.0 ms (own 7.0 ms); failed; model `title`',
    '  - `row` 2.0 ms (own 2.0 ms); 2 times',
  ]) {
    t.match(markdown, `\n${line}\n`.slice(line.startsWith('# ') ? 1 : 0))
  }
  const refused = createProfile({ router: { outcome: 'method-not-allowed', allow: ['GET'], nearest: [], total: 3 } })
  const routing = createShown({}, { profile: refused })
  t.match(toMarkdown(routing, 'router'), /^None of 3 routes matched\.\n\nAllowed methods: `GET`$/m)
  const profiles = [{ summary: profile.summary, main: profile.summary, depth: 0 }]
  const result = { profiles, total: 3, pinned: new Set(['abc123']), notes: [] }
  const list = listToMarkdown(listToJson(result, parseListRequest(new URLSearchParams())))
  t.match(list, /^# 1 results found · 3 in all\n/)
  t.match(list, '- `abc123` no response `GET http://localhost:8000/somewhere?q=1`; 5.0 ms;')
  t.match(list, '; queries: 3 in 2.5 ms; cache calls: 1; HTTP client calls: 2')
  t.match(list, '; crashed; sub-request of `abcdef`; pinned')
})

t.test('queries are written by statement shape, then each with its values', async t => {
  const queries = [
    createQuery({ start: 1.5, end: 3, text: 'SELECT *\n  FROM products' }),
    createQuery({
      start: 3,
      end: 4,
      text: 'SELECT *\n  FROM products',
      twin: 0,
      parameters: undefined,
      transaction: 2,
    }),
    createQuery({
      start: 4,
      end: undefined,
      rows: undefined,
      text: 'UPDATE `stock`',
      caller: {},
      namespace: undefined,
    }),
    createQuery({ start: 5, text: 'SELECT broken', error: 'no column "broken"', code: '42703', rows: 0 }),
    createQuery({ start: 6, text: 'SELECT', error: 'gone', rows: undefined, caller: { file: 'a.ts' } }),
    createQuery({ system: 'redis', namespace: '0', text: 'MULTI', batch: 3, rows: undefined, caller: undefined }),
  ]
  const profile = createProfile({ queries: { queries, omitted: 3 } }, { queries: 6, cacheCalls: 3 })
  const shown = createShown({}, { profile })
  const markdown = toMarkdown(shown)
  for (const line of [
    '## Database',
    'Queries: 6; Statement shapes (5 of 6): 4; Duplicates (5 of 6): 2; Elapsed: 4.5 ms; Slowest: 1.5 ms; Rows (5 of 6): 2; Transactions (5 of 6): 1; Errors: 2',
    '1 more not recorded.',
    '- 2 × `SELECT * FROM products`: 2.5 ms, slowest 1.5 ms; 2 rows; at `bundles/shop/products.ts:12`',
    '- 1 × `` UPDATE `stock` ``: 0 ms, slowest 0 ms',
    '- 1. +1.5 ms `SELECT * FROM products`: 1.5 ms; `postgresql shop on localhost:5432`; 1 row; with `id` `7`; by `findProduct` at `bundles/shop/products.ts:12`',
    '- 2. +3.0 ms `SELECT * FROM products`: 1.0 ms; `postgresql shop on localhost:5432`; 1 row; same as 1; transaction 2; by `findProduct` at `bundles/shop/products.ts:12`',
    '- 3. +4.0 ms `` UPDATE `stock` ``: not finished; `postgresql on localhost:5432`; with `id` `7`',
    '- 4. +5.0 ms `SELECT broken`: 1.0 ms; `postgresql shop on localhost:5432`; 0 rows; with `id` `7`; failed: `no column "broken"` (`42703`); by `findProduct` at `bundles/shop/products.ts:12`',
    '- 5. +6.0 ms `SELECT`: 1.0 ms; `postgresql shop on localhost:5432`; with `id` `7`; failed: `gone`; at `a.ts`',
    '## Cache',
    'Commands: 3; Elapsed: 1.0 ms; Slowest: 1.0 ms; Batches (1 of 3): 1; Commands in batches (1 of 3): 3',
    '2 more not recorded.',
    '- 1. +1.0 ms `MULTI`: 1.0 ms; `redis 0 on localhost:5432`; with `id` `7`; batch of 3 commands',
  ]) {
    t.ok(markdown.includes(`\n${line}\n`), line)
  }
  t.notMatch(toMarkdown(shown, 'cache'), '## Database')
  const none = { ...shown, profile: createProfile({}) }
  t.match(toMarkdown(none, 'database'), '\nNo queries of a database.\n')
  t.match(toMarkdown(none, 'cache'), '\nNo cache calls.\n')
})

t.test('long lists are cut, and end with the number of omitted items', async t => {
  const row = (index: number) => ({ at: index, level: 'info', channel: 'app', message: `line ${index}` })
  const records = Array.from({ length: 1200 }, (_, index) => row(index))
  const spans = Array.from({ length: 400 }, (_, index) => [null, 'a.b', index, 1])
  const deep = Array.from({ length: 60 }, (_, index) =>
    index % 2 === 0 ? [null, 'a', index, 1, index - 1] : [0, 'b', index, 1],
  )
  const renders = Array.from({ length: 150 }, (_, index) => ({ name: `t${index}`, parent: -1, start: 0, duration: 1 }))
  const shown = createShown({
    logger: { records, dropped: 7 },
    events: { spans, dropped: 3 },
    templates: { renders, omitted: 1, waited: 2 },
  })
  const markdown = toMarkdown(shown)
  t.match(markdown, '- … and 1,100 more')
  t.match(markdown, '1,200 of 1,207 log messages are here.')
  t.match(markdown, '103 more not listed.')
  t.match(markdown, '50 more not listed.')
  t.match(markdown, 'Waiting for sub-requests and globals: 2.0 ms.')
  t.match(toMarkdown(shown, 'logger'), '- … and 200 more')
  t.match(toMarkdown(createShown({ events: { spans: deep } }), 'events'), '40 more not listed.')
  t.match(toMarkdown(createShown({}), 'memory'), 'No data for this panel.')
  t.match(toMarkdown(createShown({ config: 1 }), 'config'), '## `config`')
})

t.test('the overview has the parts of the time, and the usual time before and since the process began', async t => {
  const server = { process: { started: '2026-11-20T23:00:00.000Z' } }
  const profile = createProfile({}, { processData: { server } })
  const { summary } = profile
  const earlier = [1, 60_000_000].map(age => ({ ...summary, duration: 4, time: summary.time - age }))
  const shown = createShown({}, { profile, earlier })
  const times = 'median 4.0 ms'
  t.match(
    toMarkdown(shown, 'overview'),
    [
      '## Overview\n\n- `Not recorded` 5.0 ms, 100 %\n',
      `- Usual: ${times}, all within 4.0 ms, 2 earlier requests`,
      '- The process started at 2026-11-20T23:00:00.000Z',
      `- Before the start: ${times}, 1 earlier request`,
      `- Since the start: ${times}, 1 earlier request`,
    ].join('\n'),
  )
  const spread = { count: 1, median: 4, least: 4, most: 4 }
  const sinceEdit = {
    ...{ files: ['shop.ts', 'a.hbs'], time: summary.time, isSameUrl: false, before: summary },
    times: { before: spread, now: spread, change: 'unknown' },
    changes: [{ name: 'Queries', before: '51', now: '2', text: '49 queries fewer', tone: 'ok' }],
  } as const
  const edited = toMarkdown({ ...shown, sinceEdit }, 'overview')
  t.match(edited, '### Since your edit\n\n- Edited: `shop.ts`, `a.hbs`, at 2026-11-20T23:15:09.042Z\n')
  t.match(edited, '- Compared with `abc123`, the last request of the same route before\n')
  t.match(
    edited,
    '- `Time` `4.0 ms` → `4.0 ms`: `too few warm requests to compare: 1 of 5 before the edit, 1 of 4 since`\n',
  )
  t.match(edited, '- `Queries` `51` → `2`: `49 queries fewer`\n')
  t.match(toMarkdown({ ...shown, sinceEdit: { ...sinceEdit, isSameUrl: true } }), 'of the same URL before')
})
