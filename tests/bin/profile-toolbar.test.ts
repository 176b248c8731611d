import { t } from 'tap'
import { createSender } from '#tests/support/raw-connection.ts'
import { findProfile, startProfiled } from '#tests/support/start-profiled.ts'

const application = `
import { gzipSync } from 'node:zlib'
import express from 'express'
const html = '<!doctype html><html><head><title>Page</title></head><body>Grüße</body></html>'
const policy = text => (request, response) => response.set('content-security-policy', text).send(html)
const app = express()
app.get('/page', (request, response) => response.send(html))
app.get('/self', policy("default-src 'self'"))
app.get('/nonce', policy("default-src 'self'; script-src 'nonce-abc'"))
app.get('/none', policy("default-src 'none'"))
app.get('/written', (request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/html', 'Content-Length': Buffer.byteLength(html), ETag: '"1"', Last: 'kept' })
  response.end(html)
})
app.get('/latin', (request, response) => response.set('content-type', 'text/html; charset=latin1').end(html, 'latin1'))
app.get('/chunked', (request, response) => {
  response.write(html.slice(0, 30))
  response.end(html.slice(30))
})
app.get('/flushed', (request, response) => {
  response.set('content-type', 'text/html').flushHeaders()
  response.end(html)
})
app.get('/strict', (request, response) => {
  response.strictContentLength = true
  response.send(html)
})
app.get('/packed', (request, response) => response.set('content-encoding', 'gzip').type('html').send(gzipSync(html)))
app.get('/json', (request, response) => response.json({ html }))
app.get('/text', (request, response) => response.type('text').send(html))
app.get('/plain', (request, response) => response.end(html))
app.get('/gone', (request, response) => response.redirect('/page'))
app.use((request, response) => response.status(404).type('text').send('the application has no ' + request.path))
const server = app.listen(0, '127.0.0.1', () => process.stdout.write('[' + server.address().port + ']\\n'))
process.stdin.on('end', () => process.exit()).resume()
`

const withToolbar = ['/page', '/self', '/nonce', '/written']
const without = [
  '/none',
  '/latin',
  '/chunked',
  '/flushed',
  '/strict',
  '/packed',
  '/json',
  '/text',
  '/plain',
  '/gone',
  '/missing',
]

/** The fields of a response that are the same for the same request. */
function stableFields(headers: Iterable<[string, string]> | undefined) {
  const changing = /^(?:date|x-debug-token.*|server-timing|keep-alive)$/
  return [...(headers ?? [])].filter(([name]) => !changing.test(name))
}

t.test('with PROFILER_TOOLBAR, whole pages have a toolbar, and everything else stays the same', async t => {
  const plain = await startProfiled(t, application)
  const get = async (url: string, init?: RequestInit) => {
    const response = await fetch(url, { redirect: 'manual', ...init })
    return { response, body: Buffer.from(await response.arrayBuffer()) }
  }
  const before = new Map<string, Awaited<ReturnType<typeof get>>>()
  for (const path of [...withToolbar, ...without]) before.set(path, await get(`${plain.url}${path}`))
  t.equal((await get(`${plain.url}/_profiler/`)).response.status, 404, 'by default, the pages have a port of their own')
  await plain.stop()
  const { stop, url, viewer } = await startProfiled(t, application, { PROFILER_TOOLBAR: '1' })

  for (const path of withToolbar) {
    const { body, response } = await get(`${url}${path}`)
    const token = response.headers.get('x-debug-token')
    const text = body.toString()
    t.match(text, `data-profiler-toolbar="/_wdt/${token}"`, path)
    t.equal(text.includes(' nonce="abc"'), path === '/nonce')
    t.equal(text.replace(/<script.*?<\/script>/g, ''), before.get(path)?.body.toString(), 'nothing else is changed')
    t.equal(response.headers.get('content-length'), String(body.length))
    t.equal(response.headers.get('etag'), null, 'a browser does not go on with an older page')
    const kept = (all: [string, string][]) => all.filter(([name]) => !['etag', 'content-length'].includes(name))
    t.strictSame(kept(stableFields(response.headers)), kept(stableFields(before.get(path)?.response.headers)))
  }
  for (const path of without) {
    const { body, response } = await get(`${url}${path}`)
    const old = before.get(path)
    t.ok(old?.body.equals(body), `${path} has the same bytes`)
    t.strictSame(
      [response.status, stableFields(response.headers)],
      [old?.response.status, stableFields(old?.response.headers)],
    )
  }
  const off = await get(`${url}/page`, { headers: { 'x-profiler-toolbar': 'off' } })
  t.ok(before.get('/page')?.body.equals(off.body))
  const forwarded = await get(`${url}/page`, { headers: { 'x-forwarded-for': '192.0.2.1' } })
  t.ok(before.get('/page')?.body.equals(forwarded.body), 'the debug gate decides')

  const { data } = await findProfile(viewer, '/written')
  t.match(data.response?.content, { text: /^<!doctype html><html><head><title>Page<\/title><\/head><body>Gr/ })
  const { content, sent, size } = data.response ?? {}
  t.equal(sent, size, 'with the toolbar')
  t.ok(Number(sent) > Number((content as { readonly length?: number }).length))
  await stop()
})

t.test('the pages are at the address of the application, for clients that may see debug output', async t => {
  const { output, ports, stop, url, viewer } = await startProfiled(t, application, { PROFILER_SAME_PORT: '1' })
  t.notMatch(await (await fetch(`${url}/page`)).text(), 'data-profiler-toolbar')
  const { summary } = await findProfile(viewer, '/page')
  for (const link of [`/_profiler/${summary.token}`, `/_profiler/search?limit=10`, `/_wdt/${summary.token}`]) {
    const response = await fetch(`${url}${link}`)
    t.equal(response.status, 200, link)
    t.match(await response.text(), summary.token)
  }
  const pause = await fetch(`${url}/_profiler/pause`, { method: 'POST', headers: { origin: url }, redirect: 'manual' })
  t.strictSame([pause.status, pause.headers.get('location')], [303, '/_profiler/'])
  await fetch(`${url}/_profiler/resume`, { method: 'POST', headers: { origin: url }, redirect: 'manual' })
  t.equal(await (await fetch(`${url}/_profilers`)).text(), 'the application has no /_profilers')
  const { isAnswered, send } = createSender(t, Number(ports[0]))
  const foreign = send('GET /_profiler/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n')
  t.match(
    await isAnswered(foreign, '/_profiler/'),
    'the application has no /_profiler/',
    'its answer, as without a profiler',
  )
  const urls = (
    (await (await fetch(`${viewer}/_profiler/search.json`)).json()) as { records: { summary: { url: string } }[] }
  ).records
  t.strictSame(urls.map(({ summary }) => new URL(summary.url).pathname).sort(), ['/_profiler/', '/_profilers', '/page'])
  t.notMatch(output.stderr, 'ERROR')
  await stop()
})
