import { Readable } from 'node:stream'
import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import { findBodyEnd, findHeadStart, findPage, insertTags } from '#bundles/profiler/web/toolbar/page-toolbar.ts'
import { Response } from '#lib/http/response.ts'
import type { RequestHandler } from '#lib/routing/route-collection.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

const page = '<body>page</body>'
const policy = { 'content-security-policy': "default-src 'none'" }

/** Answers with HTML. */
function html(headers: Record<string, string> = {}, body: string | Uint8Array = page, status = 200): RequestHandler {
  return () => new Response(body, { status, headers: { 'content-type': 'text/html; charset=UTF-8', ...headers } })
}

const pages: Readonly<Record<string, RequestHandler>> = {
  '/html': html(),
  '/untyped': () => new Response(page),
  '/xhtml': html({ 'content-type': 'application/xhtml+xml' }),
  '/inline': html({ 'content-disposition': 'inline; filename="attachment.html"' }),
  '/failed': html({}, page, 500),
  '/bytes': html({}, Buffer.from(page)),
  '/plain-bytes': html({ 'content-type': 'text/html' }, new Uint8Array(Buffer.from(page))),
  '/spaced': html({}, '<BODY>page</BODY\n>'),
}

const others: Readonly<Record<string, RequestHandler>> = {
  '/text': () => Response.text(page),
  '/fragment': html({}, '<p>text</p>'),
  '/download': html({ 'content-disposition': 'Attachment' }),
  '/encoded': html({ 'content-encoding': 'gzip' }, Buffer.from(page)),
  '/part': html({ 'content-range': 'bytes 0-16/100' }, page, 206),
  '/signed': html({ 'content-digest': 'sha-256=:eA==:' }),
  '/streamed': () => Response.stream(Readable.from([page]), { headers: { 'content-type': 'text/html' } }),
  '/bodiless': () => new Response(null, { headers: { 'content-type': 'text/html' } }),
  '/empty': html({}, page, 204),
  '/choices': html({}, page, 300),
  '/utf-16': html({ 'content-type': 'text/html; charset=utf-16' }, Buffer.from(page, 'utf16le')),
  '/huge': html({}, Buffer.concat([Buffer.alloc(1024 * 1024, 32), Buffer.from(page)])),
}

const errorsTag =
  /<script src="(\/_profiler\/assets\/[0-9a-f]{8}\/browser-errors\.js)" data-profiler-errors="\/_wdt\/([0-9a-f]{6})\/browser-errors"><\/script>/

const tagged =
  /^(.*)<script type="module" async="" fetchpriority="low" src="(\/_profiler\/assets\/[0-9a-f]{8}\/toolbar\.js)" data-profiler-toolbar="\/_wdt\/([0-9a-f]{6})"><\/script>(<\/body\s*>)$/is

t.test('a page gets a tag before its end, and one that reports errors, with the token of its profile', async t => {
  const { client } = await createProfiledKernel(t, { handlers: pages })
  for (const path of Object.keys(pages)) {
    const { headers, text } = await client.get(path)
    const [, reporter = '', reported] = errorsTag.exec(text) ?? []
    const [, before, script = '', token] = tagged.exec(text.replace(errorsTag, '')) ?? []
    t.match(before, /^<body>page$/i, path)
    t.equal(token, headers.get('x-debug-token'))
    t.equal(reported, token)
    for (const file of [script, reporter]) t.equal((await client.get(file)).status, 200)
    t.ok(text.length - page.length < 1024)
  }
})

t.test('a response that is not a page, or would be invalid with a tag, is not changed', async t => {
  const { client } = await createProfiledKernel(t, { handlers: others })
  for (const path of Object.keys(others)) {
    const { headers, text } = await client.get(path)
    t.notMatch(text, '_wdt', path)
    t.ok(headers.has('x-debug-token'), 'it is recorded nevertheless')
  }
})

t.test('a response without a content type is treated as a page', async t => {
  t.equal(findPage(createRequest(), new Response(page)), page)
})

t.test('the toolbar also depends on the request', async t => {
  const { client, app } = await createProfiledKernel(t, {
    handlers: { '/html': html(policy) },
    register({ routes }) {
      routes.add({ name: 'format', path: '/format', defaults: { _format: 'json' }, controller: html() })
    },
  })
  for (const headers of [
    { 'x-requested-with': 'XMLHttpRequest' },
    { 'x-profiler-toolbar': 'OFF' },
    { 'x-profiler': 'off' },
    { 'sec-fetch-dest': 'iframe' },
    { 'x-forwarded-for': '127.0.0.1' },
    { host: 'site.example' },
  ] as Record<string, string>[]) {
    const answer = await client.get('/html', { headers })
    t.equal(answer.text, page, JSON.stringify(headers))
    t.equal(answer.headers.get('content-security-policy'), policy['content-security-policy'])
  }
  t.equal((await client.get('/format')).text, page)
  t.match((await client.get('/html', { headers: { 'sec-fetch-dest': 'document' } })).text, '_wdt')
  t.match((await client.get('/html', { headers: { 'sec-fetch-dest': 'empty' } })).text, '_wdt', 'a page may be fetched')

  const request = createRequest('/html', { remoteAddress: '::1' })
  const sub = await app.kernel.handle(request.duplicate())
  t.equal(sub.body, page, 'a part of a page has no toolbar')
})

t.test('an error page has a toolbar; the pages of the profiler have none', async t => {
  const { client } = await createProfiledKernel(t)
  const { headers, text } = await client.get('/nowhere')
  t.match(text, `data-profiler-toolbar="/_wdt/${headers.get('x-debug-token')}"`)
  t.notMatch((await client.get(`/_profiler/${headers.get('x-debug-token')}`)).text, 'data-profiler-toolbar')
})

t.test('lengths are right, also for HEAD', async t => {
  const kernel = await createProfiledKernel(t, { handlers: { '/html': html({ 'content-length': '17' }, `é${page}`) } })
  const { url } = await serveKernel(t, kernel)
  const answer = await fetch(`${url}/html`)
  const length = String((await answer.arrayBuffer()).byteLength)
  t.equal(answer.headers.get('content-length'), length)
  t.ok(Number(length) > 100)
  const head = await fetch(`${url}/html`, { method: 'HEAD' })
  t.equal(head.headers.get('content-length'), length)
})

t.test('the etag of a page with a toolbar becomes weak', async t => {
  const handlers = {
    '/strong': html({ etag: '"one"' }),
    '/weak': html({ etag: 'W/"one"' }),
    '/fragment': html({ etag: '"one"' }, 'text'),
  }
  const { client } = await createProfiledKernel(t, { handlers })
  t.equal((await client.get('/strong')).headers.get('etag'), 'W/"one"')
  t.equal((await client.get('/weak')).headers.get('etag'), 'W/"one"')
  t.equal((await client.get('/fragment')).headers.get('etag'), '"one"', 'an unchanged page keeps its etag')
})

t.test('a policy of the page is extended for its origin, and the tag carries its nonce', async t => {
  const { client } = await createProfiledKernel(t, {
    handlers: {
      '/none': html(policy),
      '/inline': html({ 'content-security-policy': "default-src 'unsafe-inline'" }),
      '/sandbox': html({ 'content-security-policy': 'sandbox' }),
      '/fragment': html(policy, 'text'),
    },
  })
  const policyOf = async (path: string, host = 'localhost:8000') => {
    const { headers, text } = await client.get(path, { headers: { host } })
    return {
      policy: String(headers.get('content-security-policy')),
      nonce: / nonce="([\w-]{22})"/.exec(text)?.[1],
      text,
    }
  }
  const first = await policyOf('/none')
  const paths = ['/_profiler/assets/', '/_wdt/', '/_profiler/open-editor', '/_profiler/state']
  const sources = paths.map(path => `http://localhost:8000${path}`).join(' ')
  t.equal(first.policy, `default-src 'none'; script-src 'nonce-${first.nonce}'; connect-src ${sources}`)
  t.not((await policyOf('/none')).nonce, first.nonce, 'each page has its own')

  for (const host of ['[::1]:8000', '127.0.0.2']) {
    const { policy } = await policyOf('/inline', host)
    const isRefused = host === '127.0.0.2'
    t.equal(policy.includes("'self'"), !isRefused, `a source list cannot name ${host}`)
  }
  const named = await policyOf('/inline', '127.0.0.1')
  t.match(named.policy, "script-src 'unsafe-inline' http://127.0.0.1/_profiler/assets/;")
  t.equal(named.nonce, undefined)
  t.match(named.text, '_wdt')

  t.equal((await policyOf('/sandbox')).policy, 'sandbox')
  t.equal((await policyOf('/sandbox')).text, page)
  t.equal((await policyOf('/fragment')).policy, policy['content-security-policy'], 'without a tag nothing is needed')
})

t.test('the reason for a missing toolbar is logged', async t => {
  const { client, profileOf } = await createProfiledKernel(t, {
    handlers: { '/sandbox': html({ 'content-security-policy': 'sandbox' }) },
  })
  const { data } = await profileOf(await client.get('/sandbox'))
  t.match(JSON.stringify(data.logger), 'The page has no toolbar: the policy of the page is a sandbox.')
})

t.test('errors are reported from the start of the head', async t => {
  const head = '<!doctype html><html><head lang="a>b"><title>x</title></head><body></body></html>'
  const { client } = await createProfiledKernel(t, {
    handlers: { '/head': html({}, head), '/bytes': html({}, new TextEncoder().encode(head)) },
  })
  for (const path of ['/head', '/bytes']) {
    const { text } = await client.get(path)
    t.match(text, /^<!doctype html><html><head lang="a>b"><script src="[^"]+browser-errors\.js"/)
    t.match(text, /<body><script type="module"/)
  }
  t.equal(findHeadStart('<header><p></p></header>'), undefined)
  t.equal(findHeadStart(`${' '.repeat(20_000)}<head>`), undefined)
  t.equal(findHeadStart('<HEAD >'), 7)
})

t.test('the last end of a body is found in text and in bytes, as by a full search', async t => {
  const slow = (text: string) => Array.from(text.matchAll(/<\/body\s*>/gi)).at(-1)?.index
  const parts = ['</body>', '</BODY >', '</html>', '<body>', '</', 'é', 'text', '</body']
  const wrong: string[] = []
  for (let round = 0; round < 500; round++) {
    const text = Array.from(
      { length: round % 7 },
      (_, at) => parts[(round * 31 + at * 17 + at * at) % parts.length],
    ).join('')
    const at = findBodyEnd(text)
    const bytes = Buffer.from(text)
    const byte = findBodyEnd(bytes)
    const inText = at === undefined ? undefined : insertTags(text, [0, '<b>'], [at, '<hr>'])
    const inBytes =
      byte === undefined ? undefined : Buffer.from(insertTags(bytes, [0, '<b>'], [byte, '<hr>'])).toString()
    if (at !== slow(text) || inBytes !== inText) wrong.push(text)
  }
  t.strictSame(wrong, [])
})
