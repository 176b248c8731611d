import { readFileSync } from 'node:fs'
import { type Test, t } from 'tap'
import { EditorLinks } from '#bundles/profiler/web/editor-links.ts'
import { WelcomeListener } from '#bundles/profiler/web/welcome-listener.ts'
import { DebugGate } from '#kernel/debug-gate.ts'
import { KERNEL_NO_ROUTE } from '#kernel/errors.ts'
import type { ExceptionEvent } from '#kernel/events.ts'
import { createExceptionEvent, createRequest, silentLogger } from '#kernel/testing/event-factories.ts'
import { createAddressList } from '#lib/http/trusted-proxies.ts'
import { RouteCollection } from '#lib/routing/route-collection.ts'
import { createView } from '#lib/view/view.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

const noRoute = new KERNEL_NO_ROUTE(['GET', 'http://localhost/', ''])

async function welcome(t: Test, event: ExceptionEvent): Promise<string | undefined> {
  const template = '{{version}} {{stylesheet}}{{#each routes}} {{name}}|{{methods}}|{{this.path}}|{{link}}{{/each}}'
  const view = createView([{ path: t.testdir({ profiler: { 'welcome.hbs': template } }) }])
  view.load()
  const routes = new RouteCollection()
  routes.add({ name: 'page', path: '/page', methods: ['GET', 'POST'], controller: undefined })
  routes.add({ name: 'any', path: '/any', controller: undefined })
  routes.add({ name: 'change', path: '/change', methods: ['PUT'], controller: undefined })
  routes.add({ name: 'item', path: '/item/:id', controller: undefined })
  routes.add({ name: '_profiler_home', path: '/_profiler/', controller: undefined })
  const assets = { link: (name: string) => `/${name}` }
  const debugGate = new DebugGate(
    {
      isDebug: true,
      hosts: [],
      allowedPeers: createAddressList([]),
      trustedHeaders: [],
      users: undefined,
      key: undefined,
    },
    silentLogger,
  )
  const editor = new EditorLinks({ directory: '/' })
  await new WelcomeListener({ routes, view, debugGate, assets, editor, version: '1.0' }).onException(event)
  return event.response?.body?.toString()
}

t.test('a developer sees the routes, with links to the routes that can be visited', async t => {
  const event = createExceptionEvent(noRoute, { request: createRequest('/') })
  t.equal(
    await welcome(t, event),
    '1.0 /profiler.css page|GET, POST|/page|/page any|ANY|/any|/any change|PUT|/change| item|ANY|/item/:id|',
  )
  t.equal(event.response?.status, 404)
  t.ok(event.isPropagationStopped)
})

t.test('another path, error or client gets the error page', async t => {
  const elsewhere = createExceptionEvent(noRoute, { request: createRequest('/nope') })
  const failure = createExceptionEvent(new Error('lost'), { request: createRequest('/') })
  const stranger = createExceptionEvent(noRoute, { request: createRequest('/', { headers: { host: 'evil.test' } }) })
  for (const event of [elsewhere, failure, stranger]) t.equal(await welcome(t, event), undefined)
})

const foreign = { headers: { host: 'evil.example' } }

t.test('the page for / welcomes a developer and lists the routes; other clients do not see them', async t => {
  const { client } = await createProfiledKernel(t)
  const welcome = await client.get('/')
  t.equal(welcome.status, 404)
  t.match(welcome.text, 'Welcome to Sinfonietta')
  t.match(welcome.text, JSON.parse(readFileSync('package.json', 'utf8')).version)
  t.match(welcome.text, '<a href="/star-photo-booth">')
  t.match(welcome.text, '/item{/:id}')
  t.match(welcome.text, /<span class="place" data-at="[^"]*docs\/guides\/first-page\.md:1:1">first-page\.md</)
  t.notMatch(welcome.text, 'data-profiler-toolbar', 'the toolbar would show an error')
  t.notMatch(welcome.text, '_profiler_home')
  t.notOk(welcome.headers.has('x-debug-exception'))
  const stranger = await client.get('/', foreign)
  t.equal(stranger.status, 404)
  t.notMatch(stranger.text, /Welcome|star-photo-booth/)
  t.equal((await client.post('/')).headers.has('x-debug-exception'), false)
})
