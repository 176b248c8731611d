import { createHash } from 'node:crypto'
import type { TestClient } from 'sinfonietta/testing'
import { t } from 'tap'
import { detachLinks } from '#bundles/profiler/web/export-profile.ts'
import { createRecord } from '#tests/support/create-profile.ts'
import { parseTags } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { askRichly, richBundle } from '#tests/support/rich-bundle.ts'
import { exportLinksOf } from '#tests/support/screens.ts'
import { serveKernel } from '#tests/support/test-server.ts'
import { turns } from '#tests/support/turns.ts'

const tokenOf = ({ headers }: { headers: { get(name: string): string | null } }) => String(headers.get('x-debug-token'))

/** The paths of the files that a profile is exported as, below `/_profiler`. */
async function readExports(client: TestClient, token: string): Promise<string[]> {
  return exportLinksOf((await client.get(`/_profiler/${token}`)).text).map(link => link.replace('/_profiler', ''))
}

t.test('profiles and lists exist as JSON and Markdown, protected like the pages, and are not recorded', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const token = tokenOf(await client.get('/missing-x'))
  await turns()
  const { profiles } = await storage.usage()
  const exports = await readExports(client, token)
  t.strictSame(exports.length, 4)
  const json = 'application/json'
  const markdown = 'text/markdown; charset=UTF-8'
  for (const [path, type] of [
    [`/${token}.json`, json],
    [`/${token}.md`, markdown],
    ['/latest.json?panel=logger', json],
    ['/latest.md?panel=logger', markdown],
    ['/search.json?status_code=404&limit=1', json],
    ['/search.md?status_code=404&limit=1', markdown],
    ...exports.map(link => [link, undefined] as const),
  ] as const) {
    for (const method of ['GET', 'HEAD']) {
      const { headers, status, text } = await client.request(method, `/_profiler${path}`)
      t.equal(status, 200, path)
      if (type !== undefined) t.equal(headers.get('content-type'), type)
      t.match(headers.get('content-security-policy'), "default-src 'none'")
      t.equal(headers.get('x-content-type-options'), 'nosniff')
      t.equal(headers.get('cache-control'), 'no-cache, private')
      t.notOk(headers.has('x-debug-token') || headers.has('set-cookie'))
      if (method === 'HEAD') t.equal(text, '')
    }
  }
  await turns()
  t.equal((await storage.usage()).profiles, profiles)
})

t.test('a client without access to the pages gets no data', async t => {
  const { client } = await createProfiledKernel(t)
  const token = tokenOf(await client.get('/missing-x'))
  const refused = [{ 'sec-fetch-site': 'cross-site' }, { 'x-forwarded-for': '9.9.9.9' }, { host: 'elsewhere.test' }]
  for (const path of [`/${token}.json`, '/latest.md', '/search.json', ...(await readExports(client, token))]) {
    for (const headers of refused) {
      const { status, text } = await client.get(`/_profiler${path}`, { headers })
      t.equal(status, 404)
      t.notMatch(text, 'missing-x')
    }
  }
})

t.test('the URLs of pages answer in the preferred format', async t => {
  const { client } = await createProfiledKernel(t)
  const token = tokenOf(await client.get('/star-photo-booth'))
  for (const path of [`/_profiler/${token}`, '/_profiler/latest', '/_profiler/empty/search/results?limit=1']) {
    const ask = async (accept?: string) => {
      const { headers } = await client.get(path, accept === undefined ? {} : { headers: { accept } })
      t.match(headers.get('vary'), /^Accept(?:, Accept-Encoding)?$/)
      return headers.get('content-type')
    }
    t.equal(await ask(), 'text/html; charset=UTF-8')
    t.equal(await ask('*/*'), 'text/html; charset=UTF-8')
    t.equal(await ask('image/png'), 'text/html; charset=UTF-8')
    t.equal(await ask('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'), 'text/html; charset=UTF-8')
    t.equal(await ask('application/json'), 'application/json')
    t.equal(await ask('text/markdown, text/html;q=0.5'), 'text/markdown; charset=UTF-8')
  }
})

t.test('the list has every filter of the pages, and links to the next page', async t => {
  const { client } = await createProfiledKernel(t)
  for (const path of ['/star-photo-booth', '/partnership', '/text', '/json']) await client.get(path)
  const search = async (query: string) => JSON.parse((await client.get(`/_profiler/search.json?${query}`)).text)
  const first = await search('limit=3&sort=url&order=asc&method=get')
  t.hasStrict(first, { total: 4, page: 1, limit: 3, notes: [], links: { previous: null } })
  t.strictSame(
    first.records.map(({ summary }: { summary: { url: string } }) => summary.url.replace(/.*\//, '')),
    ['json', 'partnership', 'star-photo-booth'],
  )
  const second = JSON.parse((await client.get(first.links.next)).text)
  t.hasStrict(second, { total: 4, page: 2, links: { next: null } })
  t.equal(second.records.length, 1)
  t.equal((await client.get(second.links.previous)).status, 200)
  t.match((await search('limit=x')).notes, [/limit/])
  t.equal((await search('url=!json&route=text')).total, 1)
  const { text } = await client.get(first.links.markdown)
  t.match(text, /^# 3 results found · 4 in all\n\n- `[0-9a-f]{6}` 200 `GET http:\/\/localhost\/json`/)
  t.match(text, 'More: `/_profiler/search.md?method=get&limit=3&sort=url&order=asc&page=2`')
  t.match((await client.get('/_profiler/search.md?limit=x')).text, /\n- `The limit “x”/)
  t.match((await client.get(first.links.html)).text, /3 results found<\/h1>\s*<p class="soft">· 4 in all</)
})

t.test('each filter of the list leaves the profiles that match it', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const time = (day: string) => Date.parse(`${day}T12:00:00Z`)
  for (const record of [
    createRecord({ token: '0000aa', url: 'http://localhost/text', time: time('2026-11-20') }),
    createRecord({ token: '0000bb', ip: '9.9.9.9', method: 'POST', status: 404, time: time('2026-11-22') }),
    createRecord({ token: '0000cc', parent: '0000bb', status: 500, time: time('2026-11-24') }),
  ]) {
    storage.append(record, '{}')
  }
  await storage.pin('0000bb', true)
  const found = async (query: string) => {
    const { text } = await client.get(`/_profiler/search.json?${query}`, { headers: { 'x-profiler': 'off' } })
    return JSON.parse(text)
      .records.map(({ token }: { token: string }) => token.slice(-1))
      .sort()
  }
  for (const [query, expected] of [
    ['', ['a', 'b', 'c']],
    ['ip=127.0.0', ['a', 'c']],
    ['ip=9.9.9', ['b']],
    ['method=post', ['b']],
    ['status_code=2xx', ['a']],
    ['status_code=404', ['b']],
    ['type=command', []],
    ['type=sub-request', ['c']],
    ['token=000BB', ['b']],
    ['start=2026-11-22', ['b', 'c']],
    ['end=2026-11-22', ['a', 'b']],
    ['start=2026-11-21&end=2026-11-23', ['b']],
    ['url=/text', ['a']],
    ['pinned=1', ['b']],
  ] as const) {
    t.strictSame(await found(query), expected, query)
  }
})

t.test('errors have the requested format', async t => {
  const { client } = await createProfiledKernel(t)
  const ask = async (path: string, headers = {}) => {
    const { headers: answered, status, text } = await client.get(`/_profiler/${path}`, { headers })
    t.equal(status, 404, path)
    return { type: answered.get('content-type'), text }
  }
  t.match((await ask('latest.json')).text, 'No requests recorded yet.')
  t.equal((await ask('latest.md')).text, '# 404 Not Found\n\nNo requests recorded yet.\n')
  t.match((await ask('latest')).text, 'No requests recorded yet.')
  const token = tokenOf(await client.get('/star-photo-booth'))
  const problem = await ask('ffffff.json')
  t.equal(problem.type, 'application/problem+json')
  t.match(JSON.parse(problem.text), { status: 404, title: 'Not Found', detail: /no such profile.* ffffff$/ })
  t.equal((await ask('ffffff', { accept: 'application/json' })).type, 'application/problem+json')
  t.match(await ask('%60%23x.md'), { type: 'text/markdown; charset=UTF-8', text: /`` `#x ``\n$/ })
  t.equal((await ask('ffffff/export/har')).type, 'application/problem+json')
  t.equal((await ask('ffffff/export/curl')).type, 'text/markdown; charset=UTF-8')
  t.match((await ask('ffffff/export/html')).text, 'Token not found')
  t.hasStrict(JSON.parse((await ask(`${token}.json?panel=nope`)).text), { detail: 'The profile has no panel nope' })
  t.match((await ask(`${token}.md?panel=nope`)).text, 'The profile has no panel `nope`')
  t.match((await ask(`${token}.txt`)).text, 'Token not found')
  await ask(`${token}/export/exe`)
  t.equal((await client.get(`/_profiler/${token}.json?panel=response`)).status, 200, 'a collector without a panel')
})

t.test('the page of a profile links to its exports, which are files with safe names', async t => {
  const kernel = await createProfiledKernel(t, { bundles: [richBundle] })
  const { url } = await serveKernel(t, kernel)
  const [{ token } = { token: '' }] = await askRichly(url)
  const page = await (await fetch(`${url}/_profiler/${token}?panel=logger`)).text()
  const linked = parseTags(page).flatMap(({ attributes, name }) => {
    const of = new Map(attributes)
    return name === 'link' && of.get('rel') === 'alternate' ? [`${of.get('type')} ${of.get('href')}`] : []
  })
  t.strictSame(linked, [
    `application/json /_profiler/${token}.json?panel&#x3D;logger`,
    `text/markdown /_profiler/${token}.md?panel&#x3D;logger`,
  ])
  t.match(page, `href="/_profiler/${token}.md"`)
  const extensions = { har: 'har', curl: 'sh', html: 'html', json: 'json' }
  for (const [kind, extension] of Object.entries(extensions)) {
    t.match(page, `href="/_profiler/${token}/export/${kind}"`)
    const { headers } = await fetch(`${url}/_profiler/${token}/export/${kind}`)
    t.equal(headers.get('content-disposition'), `attachment; filename="profile-${token}.${extension}"`)
    t.notMatch(headers.get('content-type'), 'script')
  }
})

t.test('links in an exported page stay in it, lead to other sites, or are removed', async t => {
  const link = (href: string) => detachLinks(`<a class="x" href="${href}">`, 'abc123').slice(12, -1)
  t.equal(link('#a-1'), ' href="#a-1"')
  t.equal(link('http://a/'), ' href="http://a/"')
  t.equal(link('/_profiler/abc123?panel&#x3D;logger#log-1'), ' href="#log-1"')
  t.equal(link('?panel=events&amp;spans=all'), ' href="#panel-events"')
  for (const href of [
    '/_profiler/',
    '/_profiler/abc123',
    '?a=1',
    'vscode://file/a.ts:1',
    'javascript:alert(1)',
    '/a#b c',
  ]) {
    t.equal(link(href), '', href)
  }
})

t.test('items of different kinds have ids of their own in an exported page', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const times = { start: 1, end: 9 }
  const http = { calls: [{ method: 'GET', url: 'http://a/', status: 200, ...times }], omitted: 0 }
  const time = { measured: [], dropped: 0, asyncCalls: [{ name: 'crypto.scrypt', ...times }] }
  storage.append(createRecord({ token: 'abc123', data: { http, time } }), '{}')
  const { text } = await client.get('/_profiler/abc123/export/html')
  const ids = parseTags(text).flatMap(({ attributes }) =>
    attributes.flatMap(([name, value]) => (name === 'id' ? [value] : [])),
  )
  t.ok(ids.includes('call-0') && ids.includes('async-0'), 'both are there')
  t.strictSame(
    ids.filter((id, index) => ids.indexOf(id) !== index),
    [],
  )
})

t.test('the HTML file has all panels, loads nothing, runs nothing, and has no link to the server', async t => {
  const kernel = await createProfiledKernel(t, { bundles: [richBundle] })
  const { url } = await serveKernel(t, kernel)
  for (const { token } of await askRichly(url)) {
    const html = await (await fetch(`${url}/_profiler/${token}/export/html`)).text()
    const tags = parseTags(html)
    const attributes = tags.flatMap(tag => tag.attributes)
    const ids = attributes.flatMap(([name, value]) => (name === 'id' ? [value] : []))
    const known = new Set(ids)
    t.strictSame(
      ids.filter((id, index) => ids.indexOf(id) !== index),
      [],
      'no id is repeated',
    )
    t.strictSame(
      ['request', 'time', 'events', 'logger', 'router'].filter(panel => !known.has(`panel-${panel}`)),
      [],
      'the panels are there',
    )
    const loading = tags.filter(({ name }) => /^(?:script|link|img|iframe|object|embed|base)$/.test(name))
    const acting = attributes.filter(([name]) => /^(?:on|style$|src|action|formaction)/.test(name))
    t.strictSame([...loading, ...acting], [], 'nothing is loaded, and nothing runs')
    const links = attributes.filter(([name]) => name === 'href')
    t.ok(links.length > 10, 'links are found')
    t.strictSame(
      links.filter(([, value]) => !/^https?:/.test(value) && !known.has(value.slice(1))),
      [],
      'links lead to parts of the file or to other sites',
    )
    const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(html) ?? []
    t.ok(style.length > 10_000)
    const [, policy = ''] = /Content-Security-Policy" content="([^"]*)"/.exec(html) ?? []
    const hash = createHash('sha256').update(style).digest('base64')
    t.equal(
      policy.replaceAll('&#x27;', "'").replaceAll('&#x3D;', '='),
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`,
    )
  }
})
