import { HttpError, type Request } from 'sinfonietta'
import t from 'tap'
import { toMarkdown } from '#bundles/profiler/export/markdown.ts'
import { findReason, writeReason } from '#bundles/profiler/insight/overview/answer.ts'
import { toProfile } from '#bundles/profiler/profile/parse-profile.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { rebuildRequest } from '#bundles/profiler/subjects/router/show.ts'
import { Response } from '#lib/http/response.ts'
import { createProfile, createShown } from '#tests/support/create-profile.ts'
import { toText } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

const dataOf = ({ collectors }: Profile) => collectors.router

t.test('the matched route is recorded; the reasons against other routes are computed', async t => {
  const { client, profileOf, show } = await createProfiledKernel(t)
  const profile = await profileOf(await client.get('/item/12'))
  t.strictSame(dataOf(profile), { outcome: 'match', route: 'item', parameters: { id: '12' } })
  const html = await show('router', profile)
  const text = toText(html)
  t.match(text, 'Matched route item Route path /item{/:id} Controller item')
  t.match(text, 'Route parameters Name Value id 12')
  t.match(text, 'Requirements Parameter Value id \\d+')
  t.match(text, 'Path to match: /item/12')
  t.match(text, 'Computed now, with the current routes')
  t.match(text, /# Route name Methods Path Result \d+ item GET, HEAD \/item\{\/:id\} match Route matches! /)
  t.match(html, '<tr class="route-ok">')
  t.match(html, /<summary>\d+ more routes, with other paths<\/summary>/)
  t.notMatch(text, '_profiler')
})

t.test('the guard that has answered or refused a request is named, and so are those that it has passed', async t => {
  const { client, profileOf, show } = await createProfiledKernel(t, {
    register({ guards, routes }) {
      const roleOf = ({ headers }: Request) => headers.get('x-role') ?? ''
      guards.push({
        name: 'login',
        check: request => (roleOf(request) === '' ? request.redirectTo('login') : true),
      })
      guards.push({
        name: 'admin',
        check(request) {
          if (roleOf(request) !== 'admin') throw new HttpError(403, 'Not yours.')
          return true
        },
      })
      routes.get('login', '/login', () => Response.text('log in'))
      routes.group({ prefix: '/shop', guard: 'login' }, group => {
        group.add({ name: 'admin', path: '/admin/', guard: 'admin', controller: () => Response.text('secret') })
      })
    },
  })
  const found: (string | undefined)[][] = []
  for (const [role, path] of [
    ['', '/shop/admin'],
    ['reader', '/shop/admin/'],
    ['admin', '/shop/admin/'],
  ] as const) {
    const profile = await profileOf(await client.get(path, { headers: { 'x-role': role } }))
    const text = toText(await show('router', profile))
    found.push([
      String(profile.summary.status),
      /Answered by the guard \w+|Guards passed [\w, ]+?(?= Route|$)/.exec(text)?.[0] ?? text,
      writeReason(findReason(profile)) ||
        toText(await show('overview', profile)).match(/redirected to .* in (?=\d)/)?.[0],
    ])
  }
  t.strictSame(found, [
    ['302', 'Answered by the guard login', 'redirected to /login by the guard login in '],
    ['403', 'Answered by the guard admin', 'the guard admin: Not yours'],
    ['200', 'Guards passed login, admin', undefined],
  ])
})

t.test('the cache policy of the route is shown', async t => {
  const { client, profileOf, show } = await createProfiledKernel(t, {
    register({ routes }) {
      const controller = () => Response.text('page')
      routes.add({ name: 'cached', path: '/cached', defaults: { _cache: { maxAge: 60, etag: true } }, controller })
      routes.add({ name: 'other', path: '/other', controller })
    },
  })
  const textOf = async (path: string) => toText(await show('router', await profileOf(await client.get(path))))
  t.match(await textOf('/cached'), 'Cache policy private, max-age=60; etag Route parameters')
  t.notMatch(await textOf('/other'), 'Cache policy')
})

t.test('a request without a route is recorded with the nearest routes', async t => {
  const { client, profileOf, show } = await createProfiledKernel(t)
  const profile = await profileOf(await client.get('/star-photo-both'))
  const data = dataOf(profile)
  t.match(data, {
    outcome: 'not-found',
    nearest: [{ name: 'star_photo_booth', path: '/star-photo-booth', reason: 'path', text: 'Path does not match' }],
  })
  t.notMatch(JSON.stringify(data), '_profiler')
  const text = toText(await show('router', profile))
  t.match(text, 'Matched route (none) Route matching')
  t.match(text, 'Recorded when no route matched')
  t.match(text, 'No route matches GET /star-photo-both . Nearest route: /star-photo-booth , star_photo_booth.')
  t.match(text, /Path \d+ star_photo_booth GET \/star-photo-booth \d/, 'without equal results')
  t.match(text, /\d+ more routes are not listed/)
})

t.test('a request without a similar route says so, and names no route of development', async t => {
  const { client, profileOf, show } = await createProfiledKernel(t, { handlers: { '/blog': () => Response.text('') } })
  for (const path of ['/nowhere/5', '/_error/none/more', '/_profile']) {
    const response = await client.get(path)
    const profile = await profileOf(response)
    t.match(dataOf(profile), { outcome: 'not-found', nearest: [] })
    const texts = [
      toText(response.text),
      toText(await show('router', profile)),
      (await client.get(path, { headers: { accept: 'text/markdown' } })).text,
    ]
    t.strictSame(
      texts.filter(text => !text.includes('No similar route.') || /_preview_error|Path does not match/.test(text)),
      [],
    )
  }
})

t.test('the page of a missing route names the files of bundles that are not in the list', async t => {
  const bundle = { 'shop-bundle.ts': '' }
  const directory = t.testdir({
    bundles: { 'index.ts': '', shop: bundle, tools: { 'tools.ts': '' }, probe: { 'probe-bundle.ts': '' } },
  })
  const { client } = await createProfiledKernel(t, { directory })
  const { text } = await client.get('/shop')
  t.match(toText(text), 'bundles/shop/shop-bundle.ts is not in the list of bundles.')
  t.equal(text.split('is not in the list').length, 2)
  const own = await createProfiledKernel(t)
  t.notMatch((await own.client.get('/shop')).text, 'is not in the list')
})

t.test('a 405 is recorded with the allowed methods', async t => {
  const { client, profileOf, show } = await createProfiledKernel(t)
  const profile = await profileOf(await client.request('PATCH', '/multi'))
  t.match(dataOf(profile), {
    outcome: 'method-not-allowed',
    allow: ['GET', 'PUT', 'DELETE'],
    nearest: [
      { name: 'multi_get', reason: 'method' },
      { name: 'multi_change', reason: 'method' },
    ],
  })
  const html = await show('router', profile)
  const text = toText(html)
  t.match(text, 'No route matches PATCH /multi . The path exists, and accepts GET, PUT, DELETE.')
  t.match(
    text,
    'method Path almost matches, but Method "PATCH" does not match any of the required methods (PUT, DELETE)',
  )
  t.match(html, '<tr class="route-warning">')
})

t.test('a redirect of the router is recorded with its target', async t => {
  const { client, profileOf, show } = await createProfiledKernel(t)
  const profile = await profileOf(await client.get('/slash?token=abc'))
  t.match(dataOf(profile), { outcome: 'redirect', route: 'slash', location: 'http://localhost/slash/?token=******' })
  const text = toText(await show('router', profile))
  t.match(text, 'Route redirection The router redirected to http://localhost/slash/?token=****** , the path')
  t.match(text, 'slash Path almost matches, but for the slash at its end')
})

t.test('a later route that also matches is not shown as the matched route', async t => {
  const { client, profileOf, show } = await createProfiledKernel(t)
  const html = await show('router', await profileOf(await client.get('/prio/static')))
  const text = toText(html)
  t.match(
    text,
    /prio ANY \/prio\/:x match Route matches! \d+ prio_static ANY \/prio\/static later Route matches, but another route/,
  )
  t.equal(html.match(/route-ok/g)?.length, 1)
})

t.test('the panel notes that the input of a condition is not available any more', async t => {
  const { client, profileOf, show } = await createProfiledKernel(t)
  const asked = await client.get('/cond', { headers: { 'x-probe': 'yes' } })
  const taken = toText(await show('router', await profileOf(asked)))
  t.match(taken, 'cond ANY /cond match Route matches!', 'it was taken, independent of a computation now')
  t.notMatch(taken, 'no longer matches')

  const refused = await profileOf(await client.get('/cond'))
  t.match(dataOf(refused), { outcome: 'not-found', nearest: [{ name: 'cond', reason: 'condition' }] })
  t.match(toText(await show('router', refused)), /condition Condition "request => .*" does not evaluate to "true"/)

  const { router: _, ...data } = refused.data
  const damaged = toProfile({ ...refused, data: { ...data, router: { outcome: 'match', route: 'gone' } } })
  t.match(toText(await show('router', damaged)), 'Conditions are checked with the recorded method')
})

t.test('a pattern that is made of the path is not said to have matched', async t => {
  const { show } = await createProfiledKernel(t)
  const textOf = async (router: object) => toText(await show('router', createProfile({ router })))
  const router = { outcome: 'match', route: 'GET /users/*', pattern: '/users/*' }
  const named = await textOf(router)
  t.match(named, 'Matched route GET /users/*')
  t.notMatch(named, 'Route path', 'the name of the route has it')
  const unnamed = await textOf({ ...router, isMadeOfPath: true })
  t.match(unnamed, 'Route not known, counted as GET /users/*')
  t.notMatch(unnamed, 'Route path')
  t.match(
    toMarkdown(createShown({ router: { ...router, isMadeOfPath: true } }), 'router'),
    'Route not known, counted as',
  )
})

t.test('a request that was not routed has an empty panel', async t => {
  const { client, panel, profileOf, show } = await createProfiledKernel(t)
  const sub = await profileOf(await client.get('/forward'), 'x-previous-debug-token')
  t.equal(dataOf(sub), undefined)
  t.match(
    toText(await show('router', sub)),
    'Matched route (none) Controller sub Route matching Not routed: this request',
  )
  t.notOk(panel('router').hasContent(sub))
  t.ok(panel('router').hasContent(await profileOf(await client.get('/forward'))))
})

t.test('the panel notes routes that have changed since', async t => {
  const { show } = await createProfiledKernel(t)
  const router = { outcome: 'match', route: 'gone', parameters: {} }
  const text = toText(await show('router', createProfile({ router }, { url: 'http://localhost/text' })))
  t.match(text, 'The route gone no longer matches')
  t.match(text, 'text ANY /text match Route matches!', 'now another one is')
})

t.test('the routes of a process are recorded once, with their requirements', async t => {
  const { client, profileOf, storage } = await createProfiledKernel(t)
  const { summary } = await profileOf(await client.get('/text'))
  const stored = (await storage.find(summary.token))?.profile.processData.router
  const routes = new Map(Object(stored).routes.map((route: { name: string }) => [route.name, route]))
  t.same(routes.get('item'), {
    name: 'item',
    path: '/item{/:id}',
    controller: 'item',
    methods: ['GET', 'HEAD'],
    requirements: [{ name: 'id', text: '\\d+' }],
  })
  t.match(routes.get('hostparam'), { host: ':sub.example.test', requirements: [{ name: 'sub', text: '[a-z]+' }] })
  t.match(routes.get('secure'), { schemes: ['https'] })
  t.notOk(routes.has('_profiler'))
})

t.test('secrets of a request or a condition are masked', async t => {
  const { client, profileOf } = await createProfiledKernel(t, {
    register({ routes }) {
      const condition = ({ headers }: { headers: { get(name: string): string | null } }) =>
        headers.get('x-api-key') === 'canary-9f3b'
      routes.add({ name: 'keyed', path: '/keyed', controller: () => undefined, condition })
      routes.add({ name: 'named', path: '/named/:token', controller: () => undefined })
    },
  })
  const refused = await profileOf(await client.get('/keyed'))
  t.match(dataOf(refused), { nearest: [{ name: 'keyed', reason: 'condition', text: /'\*{6}'/ }] })
  const named = await profileOf(await client.get('/named/canary-9f3b'))
  t.match(dataOf(named), { parameters: { token: '******' } })
  t.notMatch(JSON.stringify([dataOf(refused), dataOf(named)]), 'canary')
})

t.test('a request is rebuilt from its profile', async t => {
  const rebuild = (url: string) => rebuildRequest({ ip: '127.0.0.1', method: 'GET', url })
  for (const [url, expected] of Object.entries({
    'http://a.test/x/%C3%A9?y': ['http', 'a.test', '/x/é', 'http://a.test/x/%C3%A9?y'],
    'https://a.test:8443/': ['https', 'a.test', '/', 'https://a.test:8443/'],
    'http://[::1]:80/x': ['http', '[::1]', '/x', 'http://[::1]/x'],
    '/x': ['http', '', '/x', '/x'],
    'http://a.test*': ['http', 'a.test', '*', 'http://a.test*'],
  })) {
    const request = rebuild(url)
    t.same([request?.scheme, request?.hostname, request?.path, request?.url], expected)
  }
  t.equal(rebuild('http://a.test/')?.clientIp, '127.0.0.1')
  for (const url of ['', 'x', 'http://', 'http://a\r\nb/', 'ftp://a/']) t.equal(rebuild(url), undefined, url)
})

t.test('the panel notes that a part of the recorded path is masked', async t => {
  const { show } = await createProfiledKernel(t)
  const masked = createProfile({ router: { outcome: 'match', route: 'u' } }, { url: 'http://localhost/u/a=******' })
  t.match(toText(await show('router', masked)), 'A part of the recorded path is masked')
})

t.test('markup in a profile is shown as text', async t => {
  const evil = '"><img src=x onerror=alert(1)>'
  const { show } = await createProfiledKernel(t)
  const nearest = [{ position: 1, name: evil, path: evil, reason: 'method', text: evil }]
  const router = {
    outcome: 'not-found',
    route: evil,
    location: evil,
    allow: [evil],
    parameters: { [evil]: evil },
    nearest,
  }
  const summary = { url: `http://localhost/${evil}`, controller: evil }
  t.notMatch(await show('router', createProfile({ router }, summary)), /<img/)
})

t.test('at most a hundred routes are shown', async t => {
  const { client, profileOf, show } = await createProfiledKernel(t, {
    handlers: Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`/page-${index}`, () => undefined])),
  })
  const html = await show('router', await profileOf(await client.get('/text')))
  t.equal(html.match(/<tr class="route/g)?.length, 100)
})
