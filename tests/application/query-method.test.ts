import { type Bundle, createFrameworkBundle, jsonBody, Response } from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { createCurl } from '#bundles/profiler/export/snippets.ts'
import { planReplay } from '#bundles/profiler/insight/replay/replay.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { NodeServer } from '#kernel/server/node-server.ts'
import { TrustedProxies } from '#lib/http/trusted-proxies.ts'

const books = ['Dune', 'Emma', 'Ulysses']
const app = 'https://app.test'

/** A schema that takes any value. */
const any = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const

const library: Bundle = {
  name: 'library',
  register({ routes }) {
    routes.query('search', '/books', { body: jsonBody(any) }, ({ body }) => {
      const found = books.filter(title => title.includes(String(Object(body).word)))
      return Response.json(found).withEtag()
    })
    routes.get('books', '/books', () => Response.json(books))
    routes.post('add', '/added', () => Response.text('added'))
    routes.add({ name: 'any', path: '/any', controller: ({ method }) => Response.text(method) })
  },
}

async function start(t: Test) {
  const storage = new MemoryProfileStorage()
  const options = { cors: { origins: [app] } }
  const bundles = [createFrameworkBundle(options), library, createProfilerBundle({ storage })]
  const kernel = await createTestKernel({ bundles, variables: { APP_ENV: 'dev' } })
  t.teardown(kernel.close)
  const server = new NodeServer(kernel.app, { trustedProxies: new TrustedProxies() })
  const url = await server.listen('127.0.0.1', 0)
  t.teardown(() => server.close({ deadline: 100 }))
  return { storage, query: (path: string, init: RequestInit = {}) => fetch(url + path, { method: 'QUERY', ...init }) }
}

t.test('a route for QUERY reads its body; the answer has conditions, and needs no origin', async t => {
  const { query } = await start(t)
  const json = { 'content-type': 'application/json' }
  const init = { headers: json, body: JSON.stringify({ word: 'm' }) }
  const found = await query('/books', init)
  t.strictSame([found.status, await found.json()], [200, ['Emma']])
  const etag = String(found.headers.get('etag'))
  const again = await query('/books', { ...init, headers: { ...json, 'if-none-match': etag } })
  t.strictSame([again.status, await again.text()], [304, ''])
  const other = { ...init, body: JSON.stringify({ word: 'e' }), headers: { ...json, 'if-none-match': etag } }
  t.strictSame(await (await query('/books', other)).json(), ['Dune', 'Ulysses'])
  const foreign = await query('/books', { ...init, headers: { ...json, origin: 'https://evil.test' } })
  t.equal(foreign.status, 200)
  t.equal((await query('/any')).status, 200, 'a route without methods answers it')
  t.equal((await query('/books', { ...init, body: '{' })).status, 400)
})

t.test('Allow and preflights name QUERY; a GET of the same path is another route', async t => {
  const { query } = await start(t)
  const refused = await query('/added')
  t.strictSame([refused.status, refused.headers.get('allow')], [405, 'POST'])
  const put = await query('/books', { method: 'PUT' })
  t.strictSame([put.status, put.headers.get('allow')], [405, 'QUERY, GET'])
  t.strictSame(await (await query('/books', { method: 'GET' })).json(), books)
  const headers = { origin: app, 'access-control-request-method': 'QUERY' }
  const preflight = await query('/books', { method: 'OPTIONS', headers })
  t.strictSame([preflight.status, preflight.headers.get('access-control-allow-methods')], [204, 'QUERY'])
})

t.test('a profile of a QUERY is found, exported and replayed without a confirmation', async t => {
  const { query, storage } = await start(t)
  const asked = await query('/books', { headers: { 'content-type': 'application/json' }, body: '{"word":"m"}' })
  const list = await query('/_profiler/empty/search/results?method=QUERY', { method: 'GET' })
  const page = await list.text()
  t.match(page, '1 results found')
  t.match(page, '<option value="QUERY" selected>')
  const token = String(asked.headers.get('x-debug-token'))
  const profile = (await storage.find(token))?.profile
  if (profile === undefined) throw new Error('There is no profile.')
  const curl = createCurl(profile)
  t.match(curl, '--request QUERY')
  t.match(curl, `--data-raw '{"word":"m"}'`)
  const plan = planReplay(profile)
  t.strictSame(plan.isPossible && [plan.method, plan.caution], ['QUERY', ''])
})
