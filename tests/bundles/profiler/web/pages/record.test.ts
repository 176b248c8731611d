import type { Bundle } from 'sinfonietta'
import type { Collector, ProfileStorage } from 'sinfonietta/profiler'
import { createRequest } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { Inspector } from '#bundles/profiler/insight/findings/inspector.ts'
import { createEditorLinks } from '#bundles/profiler/panels/editor-links.ts'
import type { SubjectView } from '#bundles/profiler/panels/subject-view.ts'
import { toProfile } from '#bundles/profiler/profile/parse-profile.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { UnitedStorage } from '#bundles/profiler/store/united-storage.ts'
import { listViews, subjectViews } from '#bundles/profiler/subjects/views.ts'
import { Assets } from '#bundles/profiler/web/assets.ts'
import { renderProfile } from '#bundles/profiler/web/pages/profile-page.ts'
import { createRecord, createStorage, keep, type RecordInit, tokenOf } from '#tests/support/create-profile.ts'
import { disarm } from '#tests/support/hostile-texts.ts'
import { plainEquals, skeletonOf, textOf } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { turns } from '#tests/support/turns.ts'
import { until } from '#tests/support/until.ts'

/** A bundle with these collectors. */
function collecting(...collectors: Collector[]): Bundle {
  return { name: 'collecting', register: app => void app.collectors.push(...collectors) }
}

function panel(name: string, changes: Partial<SubjectView> = {}): SubjectView {
  return {
    name,
    label: `The ${name}`,
    template: 'profiler/collected',
    hasContent: ({ profile }) => profile.data[name] !== undefined,
    toView: () => ({ rows: [], text: `${name} is shown` }),
    ...changes,
  }
}

/** Shows profiles with panels of the test. */
async function withPanels(
  t: Test,
  ...panels: SubjectView[]
): Promise<{
  programs: UnitedStorage
  storage: ProfileStorage
  warnings: () => string[]
  show(target: string): Promise<string>
}> {
  const { app, records, storage } = await createProfiledKernel(t)
  const assets = new Assets('bundles/profiler/assets', 'dist/bundles/profiler/client')
  const profiler = { whenStored: async () => undefined, origin: { program: 'sinfonietta', machine: null } }
  const programs = new UnitedStorage(new MemoryProfileStorage())
  const services = {
    ...app,
    assets,
    editor: createEditorLinks(app),
    programs,
    storage,
    profiler,
    inspector: async () => new Inspector([]),
    panels: async () => panels,
  }
  return {
    programs,
    storage,
    warnings: () => records.filter(({ level }) => level === 'warning').map(({ message }) => message),
    async show(target) {
      const token = /[0-9a-f]{6}/.exec(target)?.[0] ?? ''
      return String((await renderProfile(token, 'html', createRequest(target), services)).body)
    },
  }
}

t.test('the routes of this process say nothing about a request of another program', async t => {
  const views = subjectViews.filter(({ name }) => name === 'router')
  const { programs, show, storage } = await withPanels(t, ...views)
  const data = { router: { outcome: 'match', route: 'pictures', parameters: {} } }
  keep(storage, ...['aaaaaa', 'bbbbbb'].map(token => ({ data, token, url: 'http://localhost/pictures' })))
  const gallery = { armFile: '', directory: '/srv/gallery', id: '000001', names: ['gallery'], storage: createStorage() }
  programs.ownerOf = token => (token === 'bbbbbb' ? gallery : undefined)
  t.match(textOf(await show('/_profiler/aaaaaa?panel=router')), 'The route pictures no longer matches')
  const other = textOf(await show('/_profiler/bbbbbb?panel=router'))
  t.match(other, 'Matched routepictures')
  t.notMatch(other, /no longer matches|Route matching/)
})

t.test('a 404 shows its summary and its forward', async t => {
  const { client } = await createProfiledKernel(t)
  const { headers } = await client.get('/missing-x?a=1', { headers: { host: 'localhost:8000' } })
  const main = headers.get('x-debug-token')
  const sub = headers.get('x-previous-debug-token')

  const { status, text: page } = await client.get(`/_profiler/${main}`)
  const html = plainEquals(page)
  t.equal(status, 200)
  t.match(html, '<title>404 GET /missing-x?a=1 · Profiler</title>')
  const text = textOf(html)
  t.match(text, 'Error 404 Not Found')
  t.match(text, '404 Not Found GET /missing-x?a=1', 'the head begins with what went wrong')
  t.match(text, 'GET /missing-x?a=1')
  t.match(html, 'href="http://localhost:8000/missing-x?a=1" rel="noreferrer"')
  t.match(html, '<a href="/_profiler/empty/search/results?ip=127.0.0.1">127.0.0.1</a>')
  t.match(text, /Profiled on \d+ \w+ \d{4}, \d\d:\d\d:\d\d UTC/)
  t.match(text, /Outcome Completed/)
  t.match(text, `Sub-requests 404 error_controller ${sub}`)
  t.match(html, `<form action="/_profiler/${main}/pin?panel=`)

  const ofSub = textOf((await client.get(`/_profiler/${sub}`)).text)
  t.match(ofSub, `Parent request 404 GET /missing-x?a=1 ${main}`)
  t.notMatch(ofSub, 'Sub-requests')
})

t.test('a successful page shows route and controller; HEAD has no body', async t => {
  const { client } = await createProfiledKernel(t)
  const token = (await client.post('/multi')).headers.get('x-debug-token')
  const failed = (await client.get(`/_profiler/${token}`)).text
  t.match(failed, /<dt>URL<\/dt>\s+<dd>\s+http:\/\/localhost\/multi\s+<\/dd>/, 'a POST is not asked for once more')
  const answered = (await client.get('/star-photo-booth')).headers.get('x-debug-token')
  const text = textOf((await client.get(`/_profiler/${answered}`)).text)
  t.match(text, '200 OK')
  t.match(text, 'Route star_photo_booth')
  t.match(text, 'Controller star_photo_booth')
  const head = await client.request('HEAD', `/_profiler/${answered}`)
  t.equal(head.status, 200)
  t.equal(head.text, '')
})

t.test('the latest profile has its own URL', async t => {
  const { client } = await createProfiledKernel(t)
  const none = await client.get('/_profiler/latest')
  t.equal(none.status, 404)
  t.match(textOf(none.text), 'No profiles')
  t.match(textOf(none.text), 'No requests recorded yet.')
  const token = (await client.get('/missing-x')).headers.get('x-debug-token')
  const latest = await client.get('/_profiler/latest')
  t.equal(latest.status, 200)
  t.match(latest.text, `/_profiler/${token}/pin`)
})

t.test('an unknown token is a 404 with the reason, and with links', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const { headers } = await client.get('/missing-x')
  await turns()
  const { profiles } = await storage.usage()
  for (const [path, shown] of [
    ['ffffff', 'ffffff'],
    ['ffffff?panel=nosuch', 'ffffff'],
    ['empty', 'empty'],
    ['%3Cb%3E%22', '&lt;b&gt;&quot;'],
  ] as const) {
    const { headers: answer, status, text } = await client.get(`/_profiler/${path}`)
    t.equal(status, 404)
    t.notOk(answer.has('x-debug-token'))
    t.match(text, 'Token not found')
    t.match(text, `Token "${shown}" not found.`)
    t.match(text, 'It has expired.')
    t.match(text, `<a href="/_profiler/${headers.get('x-debug-token')}">`)
  }
  await turns()
  t.equal((await storage.usage()).profiles, profiles)
  const { headers: slash } = await client.get('/_profiler/ffffff/')
  t.equal(slash.get('location'), 'http://localhost/_profiler/ffffff')
})

t.test('profiles link to the previous and the next main request', async t => {
  const { show, storage } = await withPanels(t)
  const keep = (init: RecordInit) => storage.append(createRecord(init), '{}')
  keep({ token: '000001', time: 1000 })
  keep({ token: '000002', time: 1000 })
  keep({ token: '000003', time: 1500, parent: '000004' })
  keep({ token: '000004', time: 1400, children: ['000003'] })
  keep({ token: '000005', time: 9000 })
  const neighbours = async (token: string) =>
    [...(await show(token)).matchAll(/rel="(prev|next)" href="\/_profiler\/([^"]+)"/g)].map(
      ([, rel, to]) => `${rel} ${to}`,
    )
  t.strictSame(await neighbours('000001'), ['next 000002'])
  t.strictSame(await neighbours('000002'), ['prev 000001', 'next 000004'])
  t.strictSame(await neighbours('000004'), ['prev 000002', 'next 000005'])
  t.strictSame(await neighbours('000003'), ['prev 000004', 'next 000005'])
  t.strictSame(await neighbours('000005'), ['prev 000004'])
})

t.test('neighbours keep the current panel; newer profiles are counted', async t => {
  const { show, storage } = await withPanels(t, panel('request'), panel('time'))
  const keep = (init: RecordInit) => storage.append(createRecord(init), '{}')
  for (let number = 100_000; number < 100_003; number++) keep({ token: String(number), time: number })
  const html = plainEquals(await show('/100001?panel=time'))
  t.match(html, 'rel="prev" href="/_profiler/100000?panel=time"')
  t.match(html, 'rel="next" href="/_profiler/100002?panel=time"')
  t.match(html, '<a href="/_profiler/latest?panel=time" data-key="l">')
  t.match(html, '<a href="/_profiler/empty/search/results?start=1970-01-01T00%3A01%3A40.001Z&amp;limit=50">1 newer</a>')
  for (let number = 100_003; number < 100_300; number++) keep({ token: String(number), time: number })
  t.match(await show('/100001?panel=time'), '199+ newer')
  t.notMatch(await show('/100299?panel=time'), 'newer</a>')
})

t.test('the previous main request is found before any number of sub-requests', async t => {
  const { show, storage } = await withPanels(t)
  storage.append(createRecord({ token: '0000aa', time: 1 }), '{}')
  for (let number = 0; number < 300; number++) {
    storage.append(createRecord({ token: tokenOf(1000 + number), parent: '0000ff', time: 2 + number }), '{}')
  }
  storage.append(createRecord({ token: '0000bb', time: 400 }), '{}')
  t.match(plainEquals(await show('0000bb')), 'rel="prev" href="/_profiler/0000aa"')
})

t.test('each page of a profile, and its toolbar, asks for the stored profiles once', async t => {
  const { client, panels, profileOf, storage } = await createProfiledKernel(t)
  await profileOf(await client.get('/nowhere'))
  const { token } = (await profileOf(await client.get('/nowhere'))).summary
  let searches = 0
  const { search } = storage
  storage.search = query => {
    searches++
    return search.call(storage, query)
  }
  const pages = panels().map(({ name }) => `/_profiler/${token}?panel=${name}`)
  const counts: number[] = []
  for (const page of [...pages, `/_wdt/${token}`, '/_profiler/empty/search/results']) {
    searches = 0
    t.equal((await client.get(page)).status, 200, page)
    counts.push(searches)
  }
  t.strictSame(new Set(counts), new Set([1]))
})

t.test('deleted related profiles keep their links', async t => {
  const { show, storage } = await withPanels(t)
  storage.append(createRecord({ token: '0000bb', parent: '0000aa', controller: null }), '{}')
  storage.append(createRecord({ token: '0000cc', parent: 'eeeeee', children: ['0000bb', '0000dd'] }), '{}')
  const gone = await show('0000cc')
  t.match(textOf(gone), 'Parent request Profile deleted eeeeee')
  t.match(
    textOf(gone),
    'Sub-requests Profile deleted 0000bb Profile deleted 0000dd',
    'and they are not those of another profile',
  )
  storage.append(createRecord({ token: '0000aa', children: ['0000bb'] }), '{}')
  t.match(textOf(await show('0000aa')), 'Sub-requests 200 no controller 0000bb')
})

t.test('the overview is the default panel, also after an exception', async t => {
  const { show, storage } = await withPanels(t, panel('overview'), panel('time'), panel('exception'))
  storage.append(createRecord({ token: '0000aa', data: { exception: {}, time: 1 } }), '{}')
  storage.append(createRecord({ token: '0000bb' }), '{}')
  t.match(await show('0000aa'), '<pre>overview is shown</pre>')
  t.match(await show('0000bb'), '<pre>overview is shown</pre>')
  t.match(await show('/0000bb?panel=time'), '<pre>time is shown</pre>')
  t.match(await show('/0000bb?panel='), '<pre>overview is shown</pre>')
  const unknown = await show('/0000bb?panel=nosuch%3C')
  t.match(unknown, '<p class="note note-warning">There is no panel <code>nosuch&lt;</code>.</p>')
  t.match(unknown, '<pre>overview is shown</pre>')
})

t.test('without panels there is a page', async t => {
  const { show, storage } = await withPanels(t)
  storage.append(createRecord(), '{}')
  t.match(await show('abc123'), 'There is no panel to show.')
  const { show: showOne, storage: other } = await withPanels(t, panel('time'))
  other.append(createRecord(), '{}')
  t.match(await showOne('abc123'), '<pre>time is shown</pre>')
})

t.test('an unknown panel is a 404 that is not recorded', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const token = (await client.get('/star-photo-booth')).headers.get('x-debug-token')
  const { headers, status, text } = await client.get(`/_profiler/${token}?panel=nosuch`)
  t.equal(status, 404)
  t.match(text, 'There is no panel <code>nosuch</code>.')
  t.notOk(headers.has('x-debug-token'))
  await turns()
  t.equal((await storage.usage()).profiles, 1)
})

t.test('a panel that fails does not affect the others', async t => {
  const fails = () => {
    throw new TypeError('a <b>damaged</b> record')
  }
  const { show, storage, warnings } = await withPanels(
    t,
    panel('good'),
    panel('model', { toView: fails }),
    panel('later', { toView: async () => fails() }),
    panel('template', { toView: () => ({ nothing: 'that the template wants' }) }),
    panel('value', { toView: () => ({ rows: [], text: { toString: 'x' } }) }),
    panel('unknown', { template: 'profiler/nosuch' }),
    panel('menu', { hasContent: fails, badge: fails }),
  )
  const data = { model: 1, later: 1, template: 1, value: 1, unknown: 1 }
  storage.append(createRecord({ data, failures: { mail: 'no <i>server</i>' } }), '{}')
  for (const name of ['model', 'later', 'template', 'value', 'unknown']) {
    const html = await show(`/abc123?panel=${name}`)
    t.match(html, 'This panel cannot be displayed.', name)
    t.match(html, `<h2>The ${name}</h2>`)
    t.match(html, '<span>The good</span>', 'the menu is there')
    t.match(html, 'The collector <code>mail</code> failed, its data is missing: no &lt;i&gt;server&lt;/i&gt;')
  }
  t.match(await show('/abc123?panel=model'), 'a &lt;b&gt;damaged&lt;/b&gt; record')
  t.equal(warnings().filter(message => /^The panel "\w+" cannot be displayed\.$/.test(message)).length, 6)
  t.match(await show('/abc123?panel=menu'), '<pre>menu is shown</pre>')
})

t.test('the menu has the order of the panels, and empty panels are behind More', async t => {
  const badge = () => ({ text: '3', level: 'error' as const })
  const c = panel('c', { badge: () => ({ text: '', level: 'plain' }) })
  const { show, storage } = await withPanels(t, panel('a'), panel('b', { badge }), c)
  storage.append(createRecord({ token: 'abc123', data: { b: 1, c: 1 } }), '{}')
  const [menu = ''] = /<nav class="panels".*?<\/nav>/s.exec(plainEquals(await show('/abc123?panel=c'))) ?? []
  const items = /<li( class="is-empty")?>\s*<a class="panel-link" href="([^"]*)"( aria-current="page")?>(.*?)<\/a>/gs
  t.strictSame(
    Array.from(menu.matchAll(items), ([, empty, link, current, label = '']) => [
      textOf(label).trim(),
      link,
      [empty, current].flatMap(each => each?.trim() ?? []),
    ]),
    [
      ['The b3', '/_profiler/abc123?panel=b#panel', []],
      ['The c', '/_profiler/abc123?panel=c#panel', ['aria-current="page"']],
      ['The a', '/_profiler/abc123?panel=a#panel', ['class="is-empty"']],
    ],
  )
  t.match(menu, /badge-error[^>]*>3.*More.*The a/s)
  const empty = await show('/abc123?panel=a')
  t.match(empty, /The a.*The b/s)
  t.notMatch(empty, 'More', 'the panel of the page is in sight')
})

t.test('the menu has eight panels and those with trouble, which come first; the others are behind More', async t => {
  const names = [...'abcdefghijk']
  const badgeOf = (level: 'error' | 'warning') => ({ badge: () => ({ text: '7', level }) })
  const panels = names.map(name =>
    panel(name, name === 'i' ? badgeOf('warning') : name === 'j' ? badgeOf('error') : {}),
  )
  const { show, storage } = await withPanels(t, ...panels)
  storage.append(createRecord({ token: 'abc123', data: Object.fromEntries(names.map(name => [name, 1])) }), '{}')
  const menuOf = async (name: string) => plainEquals(await show(`/abc123?panel=${name}`))
  const moreOf = async (name: string) => {
    const html = await menuOf(name)
    return /<details class="more-panels"( open)?>\s*<summary[^>]*>(.*?)<\/summary>(.*?)<\/details>/s.exec(html) ?? []
  }
  const [, isOpen, summary = '', links = ''] = await moreOf('a')
  t.equal(isOpen, undefined)
  t.equal(textOf(summary).trim(), 'More')
  t.equal(textOf(links).trim(), 'The k')
  const shown = (await menuOf('a')).matchAll(/class="panel-link"[^>]*><span>The (\w)/g)
  t.equal(Array.from(shown, ([, name]) => name).join(''), 'aijbcdefghk')
  t.equal((await moreOf('k'))[1], ' open', 'the current panel is in sight')
})

t.test('the badges of the head lead to their panels', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const summary = { errors: 2, queries: 27, queryTime: 236, calls: 1, exception: 'TypeError', status: 500 }
  storage.append(createRecord({ token: 'abc123', ...summary }), '{}')
  const html = plainEquals((await client.get('/_profiler/abc123?panel=request')).text)
  const [badges = ''] = /<ul class="badges".*?<\/ul>/s.exec(html) ?? []
  t.strictSame(
    Array.from(badges.matchAll(/href="[^"]*\?panel=(\w+)">([^<]*)</g), ([, panel, text]) => [panel, text]),
    [
      ['exception', 'TypeError'],
      ['logger', '2 errors'],
    ],
  )
  const file = (await client.get('/_profiler/abc123/export/html')).text
  t.match(textOf(file), '2 errors', 'also in a file')
})

t.test('collectors of other bundles are shown with their own panel, or as a table', async t => {
  const bundle = collecting(
    { name: 'demo-table', collect: () => ({ hits: 3, nested: { a: [1] } }) },
    { name: 'demo-list', collect: () => ['one', 'two'] },
    { name: 'demo-text', collect: () => 'plain' },
    { name: 'demo-nothing', collect: () => undefined },
    {
      name: 'demo-own',
      collect: () => ({ rows: [] }),
      // Any template that needs only `data`.
      panel: { label: 'Own panel', template: 'profiler/table', badge: () => '7' },
    },
    {
      name: 'demo-silent',
      collect: () => undefined,
      panel: {
        label: 'Silent',
        template: 'profiler/table',
        badge: (data: unknown) => String(Object.keys(Object(data))),
      },
    },
  )
  const { client, storage } = await createProfiledKernel(t, { bundles: [bundle] })
  const token = String((await client.get('/star-photo-booth')).headers.get('x-debug-token'))
  // The profile waits for all collectors, and the response does not.
  await until(() => storage.has(token))
  const show = async (panel: string) => (await client.get(`/_profiler/${token}?panel=${panel}`)).text
  const table = await show('demo-table')
  t.match(table, '<th scope="row">hits</th><td><pre>3</pre></td>')
  t.match(await show('demo-list'), '<pre>[&quot;one&quot;,&quot;two&quot;]</pre>')
  t.match(await show('demo-text'), '<pre>plain</pre>')
  t.match(await show('demo-nothing'), 'Nothing was collected.')
  t.match(table, '<span>Own panel</span><span class="badge badge-plain">7</span>')
  t.match(table, /<li class="is-empty">\s*<a [^>]*>\s*<span>Demo nothing<\/span>\s*<\/a>/)
  t.match(await show('demo-silent'), 'No data for this panel.')
  // The template gets `data`, and none of the other values that it needs.
  t.match(await show('demo-own'), /cannot be displayed[\s\S]*&quot;title&quot; is not defined/)
})

t.test('the first of two panels with the same name is used', async t => {
  const collectors = ['overview', 'otherThings', '--', 'otherThings'].map(name => ({ name, collect: () => 1 }))
  const labels = listViews(collectors).map(({ label }) => label)
  t.strictSame(labels.slice(subjectViews.length), ['Other things', '--'])
  t.equal(labels[0], 'Overview')
})

t.test('texts of a profile never become markup', async t => {
  const nasty = `"'\`><script>alert(1)</script><b onclick=x>{{token}}&#0;</b>`
  const say = async (text: string) => {
    const { client, storage } = await createProfiledKernel(t, {
      bundles: [collecting({ name: 'demo', collect: () => undefined })],
    })
    // A profile that was not checked when it was read.
    const kept = new Map<string, Profile>()
    storage.find = async token => {
      const profile = kept.get(token)
      return profile && { profile, isPinned: false }
    }
    const keep = (init: RecordInit) => {
      const record = createRecord(init)
      kept.set(record.summary.token, toProfile(JSON.parse(record.text)))
      storage.append(record, '{}')
    }
    const summary = {
      ip: text,
      method: text,
      url: `http://localhost/${text}`,
      route: text,
      controller: text,
      contentType: text,
      exception: text,
      parent: text,
    }
    const data = { demo: { [`1${text}`]: text, [`2${text}`]: { [text]: [text] } } }
    const record = { ...summary, children: [text, 'fedcba'], data, failures: { [text]: text } }
    keep({ ...summary, token: 'fedcba', parent: 'abcdef' })
    keep({ ...record, token: 'abcdef' })
    keep({ ...summary, token: text })
    const query = new URLSearchParams({ ip: text, url: text, status_code: text, start: text, end: text, sort: text })
    const targets = [
      '/_profiler/abcdef?panel=demo',
      '/_profiler/fedcba?panel=demo',
      '/_profiler/empty/search/results',
      `/_profiler/empty/search/results?${query}`,
      `/_profiler/no${encodeURIComponent(text.replaceAll('/', ''))}`,
    ]
    return Promise.all(targets.map(async target => (await client.get(target)).text))
  }
  // Of the same length: long JSON is a tree.
  const tame = await say(disarm(nasty))
  for (const [index, html] of (await say(nasty)).entries()) {
    t.ok(skeletonOf(html).length > 30)
    t.strictSame(skeletonOf(html), skeletonOf(tame[index] ?? ''))
    t.notMatch(html, '<script>')
  }
})

t.test('only web URLs become links', async t => {
  const { show, storage } = await withPanels(t)
  storage.append(createRecord({ url: 'javascript:alert(1)' }), '{}')
  t.notMatch(await show('abc123'), 'href="javascript:')
})
