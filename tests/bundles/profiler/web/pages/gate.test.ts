import { Headers, Request } from 'sinfonietta'
import { type Test, t } from 'tap'
import { acceptsFetch } from '#bundles/profiler/web/routes.ts'
import { createProfiledKernel, type ProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { turns } from '#tests/support/turns.ts'

type Row = readonly [accepted: boolean, method: string, headers: Record<string, string>]

const origin = 'http://localhost:8000'
const evil = 'http://evil.example'

const table: readonly Row[] = [
  // Programs without these headers may read.
  [true, 'GET', {}],
  [true, 'HEAD', {}],
  [false, 'POST', {}],
  [false, 'PUT', {}],
  // The profiler's own pages.
  [true, 'GET', { 'sec-fetch-site': 'same-origin' }],
  [true, 'GET', { 'sec-fetch-site': 'same-origin', origin }],
  [true, 'GET', { origin }],
  [true, 'POST', { origin }],
  [true, 'POST', { 'sec-fetch-site': 'same-origin' }],
  [true, 'POST', { 'sec-fetch-site': 'same-origin', origin }],
  // The address bar.
  [true, 'GET', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
  [true, 'POST', { 'sec-fetch-site': 'none' }],
  // Links on other sites.
  [true, 'GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
  [true, 'GET', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate' }],
  // All other requests from other sites.
  [false, 'HEAD', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }],
  [false, 'POST', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
  [false, 'GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }],
  [false, 'GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'object' }],
  [false, 'GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' }],
  [false, 'GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }],
  [false, 'GET', { 'sec-fetch-site': 'cross-site' }],
  [false, 'GET', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }],
  [false, 'POST', { 'sec-fetch-site': 'same-site' }],
  // Other origins, with any other headers.
  [false, 'GET', { origin: evil }],
  [false, 'GET', { origin: 'null' }],
  [false, 'GET', { origin: '' }],
  [false, 'GET', { origin: `${origin}1` }],
  [false, 'GET', { origin: `${origin}, ${origin}` }],
  [false, 'POST', { origin: evil, 'sec-fetch-site': 'same-origin' }],
  [false, 'POST', { origin: 'null', 'sec-fetch-site': 'same-origin' }],
  [false, 'GET', { origin: evil, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }],
  // Contradictions, and unknown values.
  [false, 'POST', { origin, 'sec-fetch-site': 'cross-site' }],
  [false, 'GET', { 'sec-fetch-site': 'Same-Origin' }],
  [false, 'GET', { 'sec-fetch-site': 'other-site', 'sec-fetch-mode': 'navigate' }],
]

t.test('other sites may only link to the profiler', async t => {
  for (const [accepted, method, headers] of table) {
    const claim = `${method} ${JSON.stringify(headers)} is ${accepted ? 'accepted' : 'refused'}`
    t.equal(acceptsFetch({ method, headers: new Headers(headers), origin }), accepted, claim)
  }
})

/** The response, without the parts that differ between any two requests. */
interface Answer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

async function ask(
  { app }: ProfiledKernel,
  target: string,
  headers: Record<string, string>,
  { method = 'GET', remoteAddress = '127.0.0.1', httpVersion = '1.1' } = {},
): Promise<Answer> {
  const init = {
    target,
    method,
    headers: { host: 'localhost', ...headers },
    connection: { remoteAddress },
    httpVersion,
  }
  const request = new Request(init)
  const response = await app.kernel.handle(request)
  const { body, status } = response
  await app.kernel.terminate(request, response)
  const masked = (text: string) => text.replace(/_profiler|nowhere__/g, 'PATH').replace(/\b[0-9a-f]{6}\b/g, 'TOKEN')
  const fields = [...response.headers]
    .filter(([name]) => !['date', 'server-timing', 'x-request-id'].includes(name))
    .map(([name, value]) => [name, masked(value)])
  return { status, headers: Object.fromEntries(fields), body: masked(String(body)) }
}

/** Every kind of path, for a known token and an existing asset. */
async function pathsOf({ client }: ProfiledKernel): Promise<string[]> {
  const { headers } = await client.get('/star-photo-booth')
  const token = headers.get('x-debug-token')
  const { text } = await client.get('/_profiler/empty/search/results')
  const assets = [...text.matchAll(/href="(\/_profiler\/assets\/[^"#]+)"/g)].map(([, path]) => String(path))
  const pages = [
    '',
    '/',
    '/search?limit=10',
    '/latest',
    `/${token}`,
    `/${token}/search/results`,
    `/${token}?panel=request`,
  ]
  return [...pages.map(page => `/_profiler${page}`), '/_profiler/open?file=package.json', ...assets]
}

async function refuses(
  t: Test,
  kernel: ProfiledKernel,
  headers: Record<string, string>,
  init: { method?: string; remoteAddress?: string; httpVersion?: string } = {},
): Promise<void> {
  for (const path of await pathsOf(kernel)) {
    const refused = await ask(kernel, path, headers, init)
    const unknown = await ask(kernel, path.replace('_profiler', 'nowhere__'), headers, init)
    t.equal(refused.status, 404, path)
    t.strictSame(refused, unknown, `${path} equals an unknown path`)
  }
}

t.test('a client without access gets the 404 of an unknown path, byte for byte', async t => {
  const kernel = await createProfiledKernel(t)
  await refuses(t, kernel, { 'x-forwarded-for': '127.0.0.1' })
  await refuses(t, kernel, { forwarded: 'for=127.0.0.1' })
  await refuses(t, kernel, { via: '1.1 proxy' })
  await refuses(t, kernel, { host: 'site.example' })
  await refuses(t, kernel, {}, { remoteAddress: '192.0.2.1' })
  await refuses(t, kernel, {}, { httpVersion: '1.0' })
})

t.test('without debug, no client has access', async t => {
  const kernel = await createProfiledKernel(t, { variables: { APP_DEBUG: '0' } })
  t.equal((await kernel.client.get('/star-photo-booth')).status, 200)
  for (const path of ['/_profiler', '/_profiler/', '/_profiler/latest', '/_profiler/empty/search/results']) {
    t.equal((await kernel.client.get(path)).status, 404)
  }
})

t.test('requests from other sites get the same 404, with any content', async t => {
  const kernel = await createProfiledKernel(t)
  // HTML would not be equal: for a developer, it lists the nearest routes of each path.
  const accept = 'application/json'
  await refuses(t, kernel, { accept, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' })
  await refuses(t, kernel, { accept, origin: evil })
  const { storage } = kernel
  await turns()
  const before = await storage.usage()
  for (const path of ['/_profiler/purge', '/_profiler/pause', '/_profiler/resume', '/_profiler/abc123/pin']) {
    for (const headers of [{}, { origin: evil }, { 'sec-fetch-site': 'same-site' }] as Record<string, string>[]) {
      const sent = { accept, ...headers }
      const refused = await ask(kernel, path, sent, { method: 'POST' })
      const unknown = await ask(kernel, path.replace('_profiler', 'nowhere__'), sent, { method: 'POST' })
      t.strictSame(refused, unknown)
    }
  }
  await turns()
  t.ok((await storage.usage()).profiles > before.profiles, 'nothing was deleted, and the attempts are recorded')
})
