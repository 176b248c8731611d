import type { Collector } from 'sinfonietta/profiler'
import { createRequest } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import type { ShownProfile } from '#bundles/profiler/insight/relatives.ts'
import { createEditorLinks } from '#bundles/profiler/panels/editor-links.ts'
import type { Profile, ProfileSummary } from '#bundles/profiler/profile/profile.ts'
import { Trace } from '#bundles/profiler/record/trace.ts'
import { RecentRedirects } from '#bundles/profiler/subjects/exchange/record.ts'
import { listViews } from '#bundles/profiler/subjects/views.ts'
import { toToolbarView } from '#bundles/profiler/web/toolbar/toolbar-view.ts'
import { Response } from '#lib/http/response.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { createProfile, createQuery, createShown, type ProfileInit, tokenOf } from '#tests/support/create-profile.ts'
import { plainEquals, skeletonOf, toText } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

async function createFragments(t: Test) {
  const { app } = await createProfiledKernel(t)
  return async (profile: Profile, children: readonly ProfileSummary[] = []) => {
    const shown = { ...createShown({}), profile, children, findings: findFindings(profile) }
    return plainEquals(await app.view.render('profiler/toolbar', toToolbarView(shown)))
  }
}

t.test('the toolbar of a page shows its result, and links to the panels', async t => {
  const { client } = await createProfiledKernel(t)
  const { headers } = await client.get('/star-photo-booth')
  const token = headers.get('x-debug-token')
  const fragment = await client.get(`/_wdt/${token}`)
  t.equal(fragment.status, 200)
  t.match(fragment.headers.get('content-security-policy'), "default-src 'none'")
  t.equal(fragment.headers.has('x-debug-token'), false, 'it is not recorded itself')
  const text = plainEquals(fragment.text)
  t.match(toText(text), /Response 200 .*Time [\d.]+ m?s.*\d+ templates.*Memory [\d.]+ MiB.*Profile/)
  for (const panel of ['request', 'time', 'templates', 'memory'])
    t.match(text, `href="/_profiler/${token}?panel=${panel}"`)
  t.match(text, `href="/_profiler/${token}"`)
  t.match(text, /Sinfonietta<\/dt>\s*<dd>\d/)
})

t.test('the toolbar of an error shows the exception, the log messages, and the forward', async t => {
  const { client } = await createProfiledKernel(t)
  const { headers } = await client.get('/boom')
  const [token, previous] = [headers.get('x-debug-token'), headers.get('x-previous-debug-token')]
  const text = toText(plainEquals((await client.get(`/_wdt/${token}`)).text))
  t.match(text, /Response 500 @boom/)
  t.match(text, /Exception Error/)
  t.match(text, /1 error/)
  t.match(text, `Forwarded to error_controller · ${previous}`)
  t.match(text, /1 sub-request/)
})

t.test('the toolbar says what has changed since an edit, if anything has', async t => {
  const { app } = await createProfiledKernel(t)
  const shown = createShown({})
  const change = { name: 'Queries', before: '51', now: '2', text: '49 queries fewer', tone: 'ok' } as const
  const spread = { count: 5, median: 30, least: 29, most: 31 }
  const times = { before: { ...spread, median: 100 }, now: spread, change: 'faster' } as const
  const sinceEdit = { files: ['shop.ts', 'a.hbs'], time: 5, isSameUrl: true, before: shown.profile.summary, times }
  const show = async (found: ShownProfile['sinceEdit']) =>
    toText(await app.view.render('profiler/toolbar', toToolbarView({ ...shown, sinceEdit: found })))
  t.match(
    await show({ ...sinceEdit, changes: [change] }),
    /Since your edit edit −70 %, 49 queries fewer .* Edited shop\.ts and 1 other file Time 100 ms → 30 ms Queries 51 → 2 Before abc123/,
  )
  const many = [{ ...change, tone: 'error', text: 'worst' } as const, change, { ...change, tone: 'plain' } as const]
  t.match(
    await show({ ...sinceEdit, files: ['shop.ts'], changes: many }),
    /edit worst, −70 %, 2 more .* Edited shop\.ts/,
  )
  const none = { ...sinceEdit, times: { ...times, change: 'usual' }, changes: [] } as const
  t.notMatch(await show(none), 'edit')
})

t.test('rows of the toolbar have their places in the code', async t => {
  const { app } = await createProfiledKernel(t)
  const site = (file: string) => ({ file, line: 3, column: 9 })
  const frame = { call: 'load', ...site('src/throw.ts'), origin: 'application' }
  const data = {
    exception: {
      exceptions: [
        { name: 'Error', message: 'no', frames: [frame] },
        { name: '', message: '', frames: [] },
      ],
    },
    logger: { records: [{ level: 'error', channel: 'app', message: 'Late.', site: site('src/log.ts') }] },
    console: { entries: [{ at: 1, method: 'dump', values: [], site: site('src/dump.ts') }] },
    queries: { queries: [createQuery({ caller: site('src/query.ts') })], omitted: 0 },
    http: { calls: [{ method: 'GET', url: 'http://a/', start: 1, end: 2, caller: site('src/call.ts') }] },
  }
  const counts = { errors: 1, dumps: 1, exception: 'Error', controller: 'star_photo_booth' }
  const profile = createProfile(data, { ...counts, children: ['bbbbbb'] })
  const children = [createProfile({}, { token: 'bbbbbb', controller: 'star_photo_booth' }).summary]
  const code = { rule: 'demo', title: 'Demo', severity: 'info', problem: 'P', advice: 'A', evidence: {} } as const
  const findings = [{ ...code, code: site('src/finding.ts') }]
  const problems = [{ message: 'broken', ...site('src/broken.ts') }, { message: 'odd' }]
  type BrokenSources = ReturnType<NonNullable<Parameters<typeof toToolbarView>[2]>['brokenSources']>
  const sources: BrokenSources = { problems, served: 'older' }
  const show = async (shown: ShownProfile, brokenSources: () => BrokenSources = () => sources) => {
    const view = toToolbarView(shown, undefined, { brokenSources, editor: createEditorLinks(app) })
    const html = plainEquals(await app.view.render('profiler/toolbar', view))
    return [...html.matchAll(/<dt>([^<]*)<\/dt>\s*<dd>(?:(?!<\/dd>)[\s\S])*?class="place" data-at="([^"]+)"/g)].map(
      ([, name, at]) => [name, at],
    )
  }
  const found = (severity: 'info' | 'warning') =>
    toToolbarView({ ...createShown({}), findings: [{ ...code, severity }] })
  t.hasStrict(found('warning'), { trouble: 'Demo', troubleTone: 'warning' }, 'the folded toolbar names it')
  t.hasStrict(found('info'), { trouble: '' })
  const shown = { ...createShown({}), profile, children, findings }
  const defined = /^bundles\/site\/site-bundle\.ts:\d+:\d+$/
  t.match(await show(shown), [
    ['', '9'],
    ['Controller', defined],
    ['Code', 'src/throw.ts:3:1'],
    ['Error', 'src/throw.ts:3:1'],
    ['error', 'src/log.ts:3:1'],
    ['dump', 'src/dump.ts:3:1'],
    ['Demo', 'src/finding.ts:3:1'],
    [/ms$/, 'src/query.ts:3:1'],
    ['– GET', 'src/call.ts:3:1'],
    ['200', defined],
  ])
  const typed = await show(shown, () => ({ problems, served: 'current' }))
  t.equal(
    typed.findIndex(([name]) => name === ''),
    6,
    'type errors stand behind what the code did',
  )
  const plain = { ...createShown({}), profile: createProfile({}, { controller: 'star_photo_booth' }) }
  t.match(await show(plain, () => ({ problems: [], served: 'older' })), [['Controller', defined]])
})

t.test('a page without a profile says that recording is paused', async t => {
  const { client } = await createProfiledKernel(t)
  const ours = { headers: { origin: 'http://localhost' } }
  const show = async (path: string, headers: Readonly<Record<string, string>> = {}) =>
    (await client.get(path, { headers })).text
  t.equal((await client.get('/_wdt/paused')).status, 404)
  await client.post('/_profiler/pause', ours)
  const page = await show('/star-photo-booth')
  t.match(page, /<script type="module" [^>]*data-profiler-toolbar="\/_wdt\/paused"><\/script>/)
  t.notMatch(page, 'data-profiler-errors')
  t.match(toText(await show('/_wdt/paused')), 'paused Resume recording')
  t.notMatch(await show('/star-photo-booth', { 'x-forwarded-for': '127.0.0.1' }), 'data-profiler', 'only if allowed')
  t.notMatch(await show('/_profiler/empty/search/results'), 'data-profiler-toolbar')
  await client.post('/_profiler/resume', ours)
  t.equal((await client.get('/_wdt/paused')).status, 404)
})

t.test('collectors of bundles have items', async t => {
  const { app } = await createProfiledKernel(t)
  const shown = createShown({ cart: 3, broken: 1, empty: 0, silent: 1 })
  const collectors: Collector[] = [
    {
      name: 'cart',
      collect: () => 3,
      panel: { label: 'Cart', template: 'shop/cart' },
      toolbar: data => ({ text: `${data} products`, tone: 'warning', details: { Total: '9 €' } }),
    },
    {
      name: 'broken',
      collect: () => 1,
      toolbar() {
        throw new Error('on purpose')
      },
    },
    { name: 'empty', collect: () => 0, toolbar: () => undefined },
    { name: 'absent', collect: () => 0, toolbar: () => ({ text: 'absent' }) },
    { name: 'silent', collect: () => 1 },
    { name: 'plain', collect: () => 1, toolbar: () => ({ text: 'plain text' }) },
  ]
  const html = plainEquals(await app.view.render('profiler/toolbar', toToolbarView(shown, listViews(collectors))))
  t.match(toText(html), 'Cart 3 products Cart Total 9 €')
  t.match(html, /toolbar-link-warning" href="\/_profiler\/abc123\?panel=cart"/)
  t.notMatch(toText(html), /broken|empty|absent|silent/)
  const plain = { ...shown, profile: createProfile({ plain: 1 }) }
  t.match(
    toText(await app.view.render('profiler/toolbar', toToolbarView(plain, listViews(collectors)))),
    'Plain plain text',
  )
})

t.test('an unknown token has an empty 404; a client without access gets the usual 404', async t => {
  const { client } = await createProfiledKernel(t)
  for (const token of ['ffffff', 'empty', '%3Cb%3E']) {
    const { bytes, headers, status } = await client.get(`/_wdt/${token}`)
    t.strictSame([status, bytes.length, headers.has('x-debug-token')], [404, 0, false], token)
  }
  const known = (await client.get('/star-photo-booth')).headers.get('x-debug-token')
  for (const headers of [{ 'x-forwarded-for': '127.0.0.1' }, { origin: 'http://evil.example' }] as Record<
    string,
    string
  >[]) {
    t.match((await client.get(`/_wdt/${known}`, { headers })).text, /not found/i)
  }
})

t.test('a request for a toolbar waits for the profile', async t => {
  const kernel = await createProfiledKernel(t, {
    register({ collectors }) {
      const collect = () => new Promise(resolve => setTimeout(() => resolve('late'), 50))
      collectors.push({ name: 'slow', collect })
    },
  })
  const { url } = await serveKernel(t, kernel)
  const { headers } = await fetch(`${url}/star-photo-booth`)
  const fragment = await fetch(`${url}/_wdt/${headers.get('x-debug-token')}`)
  t.equal(fragment.status, 200)
})

t.test('the target of a redirect has the redirects before it', async t => {
  const { client, profileOf } = await createProfiledKernel(t, {
    handlers: {
      '/one': () => Response.redirect('/two?secret=hunter2'),
      '/two': () => Response.redirect('/three#part', 303),
      '/three': () => Response.html('<body>there</body>'),
      '/away': () => Response.redirect('http://other.example/three'),
      '/nowhere': () => new Response(null, { status: 302, headers: { location: 'http://[' } }),
      '/choices': () => new Response(null, { status: 300 }),
    },
  })
  const one = await client.post('/one')
  const two = await client.follow(one)
  const three = await client.get('/three')
  const { data, summary } = await profileOf(three)
  const token = (answer: typeof one) => String(answer.headers.get('x-debug-token'))
  t.strictSame(data.redirects, [
    { token: token(one), status: 302, method: 'POST', url: 'http://localhost/one' },
    { token: token(two), status: 303, method: 'GET', url: 'http://localhost/two?secret=******' },
  ])
  const fragment = plainEquals((await client.get(`/_wdt/${summary.token}`)).text)
  t.match(toText(fragment), /Redirected 303 from \/two\?secret=\*+ /)
  t.match(fragment, `href="/_profiler/${token(one)}"`)
  t.equal((await profileOf(await client.get('/three'))).data.redirects, undefined, 'redirects are reported once')
  for (const path of ['/away', '/nowhere', '/choices']) await client.get(path)
  t.equal((await profileOf(await client.get('/three'))).data.redirects, undefined)
  t.strictSame([...three.headers.getAll('set-cookie'), ...one.headers.getAll('set-cookie')], [], 'without a cookie')
})

t.test('redirects are kept for a short time, for their client, up to a limit', async t => {
  const recent = new RecentRedirects(new Redactor({}))
  let traces = 0
  const trace = (target: string, headers: Record<string, string> = {}, time = Date.now()) => {
    const created = new Trace(tokenOf(traces++), createRequest(target, { headers }), undefined)
    return Object.assign(created, { time })
  }
  const collect = (answered: Trace, response: Response) => recent.collect(Object.assign(answered, { response }))
  const arrive = (...values: Parameters<typeof trace>) => {
    return collect(trace(...values), Response.text('there'))
  }
  collect(trace('/from'), Response.redirect('/to'))
  t.equal(arrive('/to', { 'user-agent': 'another' }), undefined)
  t.equal(arrive('/to?other'), undefined)
  t.hasStrict(arrive('/to'), [{ url: 'http://localhost/from' }])
  collect(trace('/from'), Response.redirect('/to'))
  t.equal(arrive('/to', {}, Date.now() + 6000), undefined, 'too late')

  for (let n = 0; n <= 100; n++) collect(trace('/from'), Response.redirect(`/to/${n}`))
  t.equal(arrive('/to/0'), undefined)
  t.hasStrict(arrive('/to/1'), [{ status: 302 }])

  for (let n = 0; n < 20; n++) collect(trace(`/circle/${n}`), Response.redirect(`/circle/${n + 1}`))
  t.equal(arrive('/circle/20')?.length, 10)
})

t.test('the toolbar shows all conspicuous facts', async t => {
  const show = await createFragments(t)
  const render = (name: string, parent = -1) => ({ name, parent, start: 0, duration: 2 })
  const call = (end: number, more: object) => ({ method: 'GET', url: 'https://api.example/', start: 0, end, ...more })
  const log = (level: string) => ({ at: 1, level, channel: 'app', message: `a ${level}`, context: {} })
  const user = (id: number) => call(2, { url: `https://api.example/users/${id}`, status: 200, bytes: 1024 })
  const data = {
    templates: { renders: [render('page'), render('part', 0)], omitted: 3 },
    http: {
      calls: [
        ...[call(3, { status: 200 }), call(4, { status: 503 }), call(1, { error: 'refused' })],
        ...[call(5, { status: 200 }), user(1), user(2), user(3)],
        ...['a', 'b', 'c', 'd'].map(path => call(1, { url: `https://api.example/${path}`, status: 200 })),
      ],
    },
    logger: { records: [log('info'), log('warning'), log('critical')] },
    exception: { exceptions: [{ name: 'Error', message: 'm'.repeat(1000) }] },
    memory: { heap: { before: 1024, after: 2048, limit: 4096 }, pauses: { count: 2, total: 1.5 } },
  }
  const init: ProfileInit = {
    duration: 1500,
    calls: 12,
    errors: 1,
    warnings: 1,
    exception: 'Error',
    outcome: 'aborted',
    children: ['aaaaaa', 'bbbbbb'],
    route: null,
    controller: null,
    contentType: null,
  }
  const child = createProfile({}, { token: 'aaaaaa', parent: 'abc123', controller: null }).summary
  const processData = { config: { environment: 'dev' } }
  const html = await show(createProfile(data, { ...init, processData }), [child])
  const text = toText(html)
  t.match(text, /no route/)
  const ofServer = toText(await show(createProfile(data, { ...init, exception: null, route: 'GET /users/:id' })))
  t.match(ofServer, / GET \/users\/:id/, 'another server names a route by its method and path')
  t.match(text, /Outcome The client closed/)
  t.match(html, 'data-trouble="Error" data-trouble-tone="error"')
  t.match(text, /1 error, 1 warning/)
  t.match(text, /warning a warning .*critical a critical/)
  t.match(html, 'href="/_profiler/abc123?panel=logger#log-1"')
  t.match(text, /1\.5 s/)
  t.match(text, /5 templates/)
  t.match(html, 'href="/_profiler/abc123?panel=templates#render-0"')
  t.match(
    text,
    [
      'HTTP Client 12 HTTP client calls, 2 failed HTTP Client',
      '503 GET https://api.example/ · 4.0 ms',
      '– GET https://api.example/ · 1.0 ms',
      '200 GET 2 × https://api.example/ · 8.0 ms',
      '200 GET 3 × https://api.example/users/:id · 3.0 KiB · 6.0 ms',
      '200 GET https://api.example/a · 1.0 ms',
      '… 4 more',
    ].join(' '),
  )
  t.match(html, '<a href="/_profiler/abc123?panel=http">4 more</a>')
  t.match(html, 'href="/_profiler/abc123?panel=http#call-2"')
  t.match(text, /2 sub-requests .*no controller · 5\.0 ms · aaaaaa .*– bbbbbb/)
  t.match(text, /Before 1\.0 KiB Limit 4\.0 KiB Garbage collection 2 runs, 1\.5 ms/)
  t.match(text, /m{299}…/)
  t.match(html, 'toolbar-link-warning" href="/_profiler/abc123?panel=time"')
  for (const name of ['environment', 'Sinfonietta']) t.equal(text.includes(name), false)
})

t.test('the toolbar shows queries: the statements with the most time, and the tone of the worst finding', async t => {
  const show = await createFragments(t)
  const items = Array.from({ length: 12 }, (_, index) => createQuery({ start: index, end: index + 1 }))
  const slowest = createQuery({ text: 'SELECT * FROM posts', start: 20, end: 58 })
  const cache = createQuery({ system: 'redis', text: 'GET posts', start: 60, end: 61 })
  const data = (...queries: readonly object[]) => ({ queries: { queries, omitted: 0 } })
  const counts = { duration: 70, queries: 13, queryTime: 50, cacheCalls: 1 }
  const html = await show(createProfile(data(...items, slowest, cache), counts))
  const text = toText(html)
  t.match(text, 'Database 13 queries, 50 ms')
  const sentence =
    'GET /somewhere took 70 ms: 13 queries took 50 ms (bundles/shop/products.ts:12); finding: N+1 queries.'
  t.match(text, `Time ${sentence} Overview Total 70 ms`)
  t.match(html, `data-sentence="${sentence}"`)
  t.match(text, '38 ms SELECT * FROM posts products.ts:12 12 ms 12 × SELECT * FROM products WHERE id = ?')
  t.match(html, 'href="/_profiler/abc123?panel=database#query-12"')
  t.match(html, 'toolbar-link-warning" href="/_profiler/abc123?panel=database"', 'N+1')
  t.match(text, 'Cache 1 cache call')
  t.match(html, 'toolbar-link-plain" href="/_profiler/abc123?panel=cache"')
  t.match(text, /Database queries 50 ms .*Cache calls 1\.0 ms/, 'in the time of the request')
  t.notMatch(text, 'Duplicates')
  const failed = await show(createProfile(data(slowest, { ...slowest, error: 'gone', twin: 0 }), { queries: 2 }))
  t.match(failed, 'toolbar-link-error" href="/_profiler/abc123?panel=database"')
  t.match(toText(failed), 'Duplicates 2')
  t.match(failed, 'href="/_profiler/abc123?panel=database&amp;show=duplicate"')
  const none = await show(createProfile({}))
  t.notMatch(none, 'Database')
  t.notMatch(none, 'Cache')
  t.match(toText(await show(createProfile({}, { queries: 2, cacheCalls: 3 }))), /2 queries, 0 ms .*3 cache calls/)
})

t.test('warnings alone are not an error, and successful calls are not', async t => {
  const show = await createFragments(t)
  const html = await show(createProfile({ http: { calls: [{ status: 200 }] } }, { warnings: 2, calls: 1 }))
  t.match(html, 'toolbar-link-warning" href="/_profiler/abc123?panel=logger"')
  t.match(html, 'toolbar-link-plain" href="/_profiler/abc123?panel=http"')
})

t.test('a forwarded request without a profile keeps its token', async t => {
  const show = await createFragments(t)
  const headers = [['X-Previous-Debug-Token', 'dddddd']]
  t.match(toText(await show(createProfile({ response: { headers } }))), 'Forwarded to dddddd')
})

const hostile = '"><script>alert(1)</script><img src=x onerror=alert(1)>\'{{token}}'

t.test('texts of a profile stay text', async t => {
  const show = await createFragments(t)
  const make = (text: string) => {
    const data = {
      exception: { exceptions: [{ name: text, message: text }] },
      redirects: [{ token: text, status: 302, method: text, url: text }],
      http: { calls: [{ method: text, url: text, status: 500 }] },
      templates: { renders: [{ name: text, parent: -1, duration: 1 }] },
      logger: { records: [{ at: 1, level: 'error', channel: text, message: text, context: {} }] },
      queries: { queries: [createQuery({ text }), createQuery({ text, system: 'redis' })] },
      response: { headers: [['x-previous-debug-token', text]] },
    }
    const init = {
      method: text,
      url: text,
      route: text,
      controller: text,
      contentType: text,
      exception: text,
      errors: 1,
    }
    const processData = { config: { environment: text }, server: { versions: { node: text, sinfonietta: text } } }
    return show(createProfile(data, { ...init, children: [text], processData }), [])
  }
  t.strictSame(skeletonOf(await make(hostile)), skeletonOf(await make('plain')))
})

t.test('dumps and issues of validations lead to their places in the panels', async t => {
  const show = await createFragments(t)
  const issues = [{ message: 'too low', path: ['items', '0', 'price'] }]
  const data = {
    console: { entries: [{ at: 1, method: 'dump', label: 'cart', values: [], site: {} }] },
    validation: {
      validations: [
        { source: 'json', vendor: 'demo', start: 0, issues, omittedIssues: 0, input: { kind: 'note', text: '' } },
      ],
    },
  }
  const html = await show(createProfile(data, { dumps: 1 }))
  const linkTo = (panel: string) => `/_profiler/abc123?panel=${panel}`
  const rows = [
    ...html.matchAll(/<dt>([^<]*)<\/dt>\s*<dd>(?:(?!<\/dd>)[\s\S])*?href="([^"]*#(?:dump|validation)-[^"]*)"/g),
  ]
  t.strictSame(
    rows.map(([, name, link]) => [name, link]),
    [
      ['cart', `${linkTo('console')}#dump-0`],
      ['items.0.price', `${linkTo('validation')}#validation-0`],
    ],
  )
})
