import { ExceptionEvent, HttpError, type Request, ResponseEvent, ViewEvent } from 'sinfonietta'
import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import type { ProfileCollector } from '#bundles/profiler/record/collect.ts'
import { ExceptionCollector } from '#bundles/profiler/subjects/exception/record.ts'
import { Event } from '#lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '#lib/http/response.ts'
import { plainEquals, skeletonOf, toText } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

class OrderPlaced extends Event {
  static readonly eventName = 'order.placed'
}

const fail = () => {
  throw new Error('outer', { cause: new RangeError('inner') })
}

function subRequestOf(request: Request): Request {
  const sub = request.duplicate()
  sub.attributes.set('_controller', fail)
  return sub
}

const markdown = { headers: { accept: 'text/markdown' } }

/** The steps to the error, as in the Markdown. */
function wayOf(text: string): string[] {
  const [, steps = ''] = /## Path to the error\n\n([\s\S]*?)\n\n/.exec(`${text}\n`) ?? []
  return steps.split('\n').map(step => step.slice(2).replaceAll('`', ''))
}

/** The question that the page copies. */
function promptOf(html: string): string {
  const [, prompt = ''] = /data-text="([^"]*)"/.exec(plainEquals(html)) ?? []
  return prompt.replaceAll('&#x60;', '`').replaceAll('&#x27;', "'").replaceAll('&quot;', '"')
}

t.test('a 500 shows the error, its place and its causes', async t => {
  const { client } = await createProfiledKernel(t, {
    handlers: { '/broken': fail },
    variables: { EDITOR_URL: 'vscode' },
  })
  const { headers, status, text } = await client.get('/broken?token=opensesame&page=2')
  t.equal(status, 500)
  t.equal(headers.get('x-debug-exception'), 'outer')
  const comment = '<!-- outer (500 Internal Server Error) -->'
  t.ok(text.startsWith(`${comment}\n<!doctype html>`) && text.trimEnd().endsWith(`</html>\n${comment}`))
  t.match(text, '<title>outer (500 Internal Server Error)</title>')
  t.match(text, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'")
  const words = toText(text)
  t.match(
    words,
    /HTTP 500 Internal Server Error Error GET \/broken\?\S+ outer Caused by RangeError ?: inner fail .*error-page\.test\.ts:\d+/,
  )
  t.match(words, /Exceptions RangeError Error .*Error .*calls of .*Caused by RangeError inner/)
  const [once = ''] = /<main.*?(?=id="logs")/s.exec(text) ?? []
  const said = once.replace(/data-text="[^"]*"|<pre class="source">.*?<\/pre>/gs, '')
  t.equal(toText(said).match(/outer/g)?.length, 1, 'the message is there once')
  t.match(words, /Logs .*critical Uncaught Error: "outer"/, 'and in the log')
  t.match(text, /<pre class="source">[\s\S]*id="exceptions"/, 'before everything else')
  t.match(words, 'GET parameters Name Value page 2 token ******')
  t.notMatch(text, /opensesame|style=|<script>|onclick/)
  t.match(text, /<mark class="line[^>]*>.*<span class="hl-keyword">throw<\/span>/)
  t.match(plainEquals(text), /<a class="place" href="vscode:\/\/file\/.*\/tests\/.*error-page\.test\.ts:\d+:\d+"/)
  t.match(text, `<a class="button small" href="/_profiler/${headers.get('x-debug-token')}">`)
  t.match(words, 'request GET')
  const token = String(headers.get('x-debug-token'))
  const prompt = promptOf(text)
  t.match(
    prompt,
    /^Find the cause of this error in the code, and correct it:\n\n- `Error: outer` at `.*error-page\.test\.ts:\d+`\n/,
  )
  t.match(prompt, /- Caused by: `RangeError: inner` at `.*error-page\.test\.ts:\d+`\n\n- Request: `GET http.*`\n/)
  t.match(prompt, `\`bin/console profiler:show ${token}\`, or the MCP tool \`read_profile\``)
  t.match(prompt, `\`bin/console profiler:verify ${token} --finding exception\``)
  t.notMatch(prompt, 'opensesame')
  t.ok(Buffer.byteLength(text) < 60_000)
})

t.test('failed queries are shown with their statement and values, and lead to their row', async t => {
  // The page shows this source.
  const secret = ['open', 'sesame'].join('')
  const { app, client } = await createProfiledKernel(t, {
    handlers: {
      '/broken': async () => {
        await app.queries.measure('redis', 'GET stock', [], async () => 'many')
        for (const table of ['one', 'two', 'three', 'orders']) {
          const work = async () => {
            throw Object.assign(new Error(`relation "${table}" does not exist`), { code: '42P01' })
          }
          const text = `SELECT * FROM ${table} WHERE customer = $1 AND password = $2`
          const query = app.queries.measure('postgresql', text, [7, secret], work)
          await (table === 'orders' ? query : query.catch(() => undefined))
        }
      },
    },
  })
  const { headers, text } = await client.get('/broken')
  const token = headers.get('x-debug-token')
  const [section = ''] = /<section class="part" id="queries">[\s\S]*?(?=<section class="part")/.exec(text) ?? []
  const words = toText(section)
  t.match(words, /^ Failed queries Failed before these: 1\. Query 2 postgresql 42P01 relation "two" does not exist/)
  t.match(
    words,
    /Query 4 postgresql 42P01 relation "orders" does not exist .*customer 7 password \*{6} .*error-page\.test\.ts:\d+/,
  )
  t.match(words, /SELECT \* FROM orders WHERE customer = \$1/)
  t.match(plainEquals(section), `<a href="/_profiler/${token}?panel=database#query-4">`)
  t.match((await client.get(`/_profiler/${token}?panel=database`)).text, 'id="query-4"')
  t.notMatch(text, secret)

  const report = (await client.get('/broken', markdown)).text
  t.match(
    report,
    /## Failed queries\n\n- 2\. .*\n- 3\. .*\n- 4\. .*FROM orders.*failed: `relation "orders" does not exist`/,
  )
  t.match(report, /## Logs\n\n- \+[\d.]+ m?s debug `request` `Matched route /)
  t.notMatch(report, secret)
  t.notMatch((await client.get('/nowhere')).text, 'id="queries"')
})

t.test('without a stored profile, a failed query has no link', async t => {
  const query = () => app.queries.measure('postgresql', 'SELECT 1', [], fail)
  const { app, client } = await createProfiledKernel(t, {
    variables: { PROFILER_SLOWER_THAN: '1000000' },
    handlers: {
      '/page': request => {
        const inner = request.duplicate()
        inner.attributes.set('_controller', query)
        return app.kernel.handle(inner)
      },
    },
  })
  const { text } = await client.get('/page')
  t.match(text, '<h3>Query 1 <small>postgresql</small></h3>')
  t.match(toText(text), 'This request is not recorded.')
})

t.test('a 404 names the nearest routes first, with links, and no calls of the kernel', async t => {
  const { client } = await createProfiledKernel(t)
  const { text } = await client.get('/star-photo-bout')
  t.match(text, '<a href="/star-photo-booth"><code>/star-photo-booth</code></a>')
  t.match(text, /id="routes"[\s\S]*id="exceptions"/)
  t.notMatch(text, '<pre class="source">')
  t.match(toText(text), /\d+ calls of the kernel/)
  t.notMatch(text, 'class="place" href', 'no editor is set')
  t.ok(Buffer.byteLength(text) < 60_000)
  t.match(
    (await client.get('/star-photo-bout', markdown)).text,
    /## Nearest routes\n\n- `\/star-photo-booth` \(`star_photo_booth`\): /,
  )
})

t.test('a 405 names the methods', async t => {
  const { client } = await createProfiledKernel(t)
  const { status, text } = await client.get('/post-only')
  t.equal(status, 405)
  t.match(text, '<h1>This URL accepts POST, not GET.</h1>')
  t.match(toText(text), 'HTTP 405 Method Not Allowed KERNEL_METHOD_NOT_ALLOWED GET /post-only This URL')
  t.match(text, /route-warning[\s\S]*post_only/)
  t.match((await client.get('/post-only', markdown)).text, 'Allowed methods: `POST`')
})

t.test('the steps to the error are events, listeners, controllers and sub-requests', async t => {
  const { client } = await createProfiledKernel(t, {
    register({ dispatcher, kernel, routes }) {
      dispatcher.on(OrderPlaced, function listenToOrders() {
        throw new TypeError('no vat')
      })
      dispatcher.on(ResponseEvent, function decorateResponse({ response, request }) {
        if (request.path === '/decorated' && response.status === 200) throw new Error('no decoration')
      })
      dispatcher.on(ViewEvent, async function embed({ request, result }) {
        if (result === 'embed') await kernel.handle(subRequestOf(request), { catchErrors: false })
      })
      routes.add({
        name: 'order',
        path: '/order',
        controller: async function placeOrder() {
          await dispatcher.dispatch(new OrderPlaced())
        },
      })
      routes.add({ name: 'decorated', path: '/decorated', controller: () => Response.text('plain') })
      routes.add({ name: 'forwards', path: '/forwards', controller: request => kernel.forward(request, fail) })
      routes.add({ name: 'embeds', path: '/embeds', controller: () => 'embed' })
      routes.add({ name: 'lost', path: '/lost', controller: request => kernel.forward(request, 'unknown') })
      routes.add({
        name: 'needs',
        path: '/needs',
        controller: {
          name: 'needs',
          arguments: [
            () => {
              throw new HttpError(400, 'It is missing.')
            },
          ],
          call: () => new Response(),
        },
      })
    },
  })
  const way = async (path: string) => wayOf((await client.get(path, markdown)).text)
  t.strictSame(await way('/nowhere'), ['request: GET', 'event: kernel.request', 'listener: RouterListener.onRequest'])
  t.strictSame(await way('/boom'), ['request: GET', 'route: boom', 'controller: boom'])
  t.strictSame(await way('/order'), [
    'request: GET',
    'route: order',
    'controller: placeOrder',
    'event: order.placed',
    'listener: listenToOrders',
  ])
  t.strictSame((await way('/decorated')).slice(-2), ['event: kernel.response', 'listener: decorateResponse'])
  t.strictSame((await way('/needs')).slice(-2), ['event: kernel.controller', 'controller: resolving its arguments'])
  t.strictSame((await way('/nothing')).slice(-2), ['controller: nothing', 'event: kernel.view'])
  t.strictSame(await way('/inner-failure'), [
    'request: GET',
    'route: inner_failure',
    'controller: inner_failure',
    'request: sub-request',
    'route: boom',
    'controller: boom',
  ])
  t.strictSame(await way('/forwards'), [
    'request: GET',
    'route: forwards',
    'controller: forwards',
    'request: sub-request',
    'controller: fail',
  ])
  const inner = await client.get('/forwards', { headers: { ...markdown.headers, 'x-profiler': 'off' } })
  t.strictSame(wayOf(inner.text), ['request: GET', 'controller: fail'])
  t.strictSame(await way('/embeds'), [
    'request: GET',
    'route: embeds',
    'event: kernel.view',
    'listener: embed',
    'request: sub-request',
    'controller: fail',
  ])
  t.strictSame((await way('/lost')).slice(-2), ['event: kernel.request', 'controller: finding the controller'])
})

t.test('the report of an error of a partial has the templates down to it, and its cause', async t => {
  const directory = t.testdir({ templates: { own: { 'page.hbs': 'a\n{{> own/item}}', 'item.hbs': '{{explode}}' } } })
  const { client } = await createProfiledKernel(t, {
    directory,
    register({ routes, view }) {
      view.addHelper('explode', () => {
        throw new TypeError('The helper fails.')
      })
      routes.get('page', '/page', async request => Response.html(await view.render('own/page', {}, request)))
    },
  })
  const { text } = await client.get('/page', markdown)
  t.strictSame(wayOf(text).slice(-3), ['controller: page', 'template: own/page', 'template: own/item'])
  const html = (await client.get('/page')).text
  t.equal(html.match(/<details class="exception" open>/g)?.length, 2)
  const places = [...html.matchAll(/step-kind">(\w+)<[\s\S]*?<\/li>/g)].map(([step, kind]) => [
    kind,
    /data-at="([^"]+)"/.exec(plainEquals(step))?.[1] ?? '',
  ])
  const here = /error-page\.test\.ts:\d+:1$/
  t.match(Object.fromEntries(places), {
    request: '',
    route: here,
    controller: here,
    template: 'templates/own/item.hbs:1:1',
  })
  t.match(html, /Route <code><span class="place" data-at=/)
})

t.test('a fix can be verified on the page of a request that can be sent again', async t => {
  const { client } = await createProfiledKernel(t, { handlers: { '/broken': fail } })
  const { headers, text } = await client.get('/broken?page=2')
  const token = headers.get('x-debug-token')
  const form = `<form class="verification" action="/_profiler/${token}/replay" method="post" data-verify="/_profiler/${token}/verify"`
  t.match(text, form)
  t.match(text, '<input type="hidden" name="flaw" value="exception">')
  const answer = await client.post(`/_profiler/${token}/verify`, {
    headers: { origin: 'http://localhost' },
    form: { flaw: 'exception' },
  })
  t.match(answer.json(), { state: 'present', text: /^Still there, Error: / })
  t.notMatch((await client.get('/nowhere')).text, 'data-verify', 'no line of the application has failed')
  t.notMatch((await client.post('/broken')).text, 'data-verify', 'may change data')
  t.notMatch((await client.get('/broken?token=opensesame')).text, 'data-verify', 'the secret is not stored')
  t.notMatch((await client.get('/broken', { headers: { 'x-profiler': 'off' } })).text, 'data-verify')
})

t.test('an unrecorded request has the page, without recorded data', async t => {
  const { client } = await createProfiledKernel(t, { handlers: { '/broken': fail } })
  const quiet = { headers: { 'x-profiler': 'off' } }
  const { headers, text } = await client.get('/broken', quiet)
  t.notOk(headers.has('x-debug-token'))
  const words = toText(text)
  t.match(words, 'This request is not recorded.')
  t.match(words, 'No log messages for this request.')
  t.match(words, /outer Caused by RangeError ?: inner/)
  t.match(text, '<mark class="line')
  t.match(promptOf(text), /^Find the cause(?![\s\S]*bin\/console)/)
  t.notMatch(text, 'href="/_profiler/"?token')
  const lost = await client.get('/star-photo-bout', quiet)
  t.match(lost.text, 'Nearest routes')
  t.notMatch((await client.get('/nowhere', quiet)).text, 'Nearest routes', 'none is similar')
  const inner = await client.get('/inner-failure', quiet)
  t.match(toText(inner.text), 'request GET')
})

t.test('an error that was replaced late is shown with the first one', async t => {
  const { client } = await createProfiledKernel(t, {
    handlers: { '/broken': fail },
    register({ dispatcher }) {
      const replace = (event: ExceptionEvent) => {
        event.error = new HttpError(418, 'replaced')
      }
      dispatcher.on(ExceptionEvent, replace, -100)
    },
  })
  const { text } = await client.get('/broken')
  t.match(text, '<title>replaced (418 I&#x27;m a Teapot)</title>')
  t.match(toText(text), /replaced .*Error outer .*Thrown later HttpError HTTP_ERROR HTTP 418/)
})

t.test('errors without a message are named; long messages are not headlines; logs are limited', async t => {
  const { client } = await createProfiledKernel(t, {
    handlers: {
      '/blank': () => {
        throw new RangeError('')
      },
      '/long': () => {
        throw new Error('long '.repeat(100))
      },
    },
    register({ logger, routes }) {
      const controller = () => {
        for (let count = 0; count < 70; count++) logger.info('Said {count} times.', { count })
        throw new Error('talked too much')
      }
      routes.add({ name: 'talk', path: '/talk', controller })
    },
  })
  t.match((await client.get('/blank')).text, /<title>RangeError \(500/)
  t.match((await client.get('/long')).text, '<h1 class="long">')
  t.match(toText((await client.get('/talk')).text), /The profile has 22 earlier log messages/)
})

t.test('all parts of a hostile request and error are text', async t => {
  const evil = '--><img src=x onerror=alert(1)></body><script>alert(1)</script>'
  const throwing = (message: string) => () => {
    throw Object.assign(new Error(message, { cause: new Error(message) }), { name: message, code: message })
  }
  const { client } = await createProfiledKernel(t, { handlers: { '/tame': throwing('tame'), '/evil': throwing(evil) } })
  const ask = async (path: string, text: string) =>
    (await client.get(`${path}?q=${encodeURIComponent(text)}`, { headers: { 'x-said': text } })).text
  t.strictSame(skeletonOf(await ask('/evil', evil)), skeletonOf(await ask('/tame', 'tame')))
  const text = (await client.get('/evil', markdown)).text
  t.match(text, evil, 'text needs no escaping')
})

t.test('a fragment that fails names its cause', async t => {
  const directory = t.testdir({ templates: { own: { 'page.hbs': "{{render '/broken'}}" } } })
  const { client } = await createProfiledKernel(t, {
    directory,
    handlers: { '/broken': fail },
    register({ routes, view }) {
      routes.get('page', '/page', async request => Response.html(await view.render('own/page', {}, request)))
    },
  })
  const { text } = await client.get('/page')
  t.match(toText(text), /The fragment "\/broken" was answered .* Caused by RangeError ?: inner/)
})

t.test('code with fences stays in its own fence', async t => {
  const { client } = await createProfiledKernel(t, {
    handlers: {
      '/fenced': () => {
        throw new Error('````')
      },
    },
  })
  t.match((await client.get('/fenced', markdown)).text, /\n(`{5,})ts\n[\s\S]*\n\1\n/)
})

t.test('the error controller can be called without a request in progress', async t => {
  const { app } = await createProfiledKernel(t)
  const request = createRequest('/direct')
  request.attributes.set('_controller', 'error_controller')
  request.attributes.set('exception', new Error('asked for'))
  t.match(String((await app.kernel.handle(request)).body), '<title>asked for (500')
})

t.test('problem details have the address of the profile', async t => {
  const { client } = await createProfiledKernel(t)
  const { headers, json } = await client.get('/teapot', { headers: { accept: 'application/json' } })
  t.equal(headers.get('content-type'), 'application/problem+json')
  const profile = headers.get('x-debug-token-link')
  t.hasStrict(json(), { status: 418, detail: 'short and stout', profile })
  const { json: off } = await client.get('/teapot', { headers: { accept: 'application/json', 'x-profiler': 'off' } })
  t.notOk(Object.hasOwn(Object(off()), 'profile'), 'not stored')
})

t.test('a 404 suggests the path of a similar route', async t => {
  const handlers = { '/catalogue/:id/prices': () => '', '/a{/:b}': () => '' }
  const { client } = await createProfiledKernel(t, { handlers })
  const suggestion = async (path: string) => {
    const { text } = await client.get(path, { headers: { accept: 'text/html' } })
    return /Did you mean <a href="([^"]*)"/.exec(text)?.[1]
  }
  t.equal(await suggestion('/catalog/3/price?x=1'), '/catalogue/3/prices?x&#x3D;1')
  t.equal(await suggestion('/star-photo-bout'), '/star-photo-booth')
  for (const path of ['/catalogue', '/catalogue//prices', '/something/3/else', '/aa', '/catalog/3/price?password=x'])
    t.equal(await suggestion(path), undefined, path)
})

t.test('the routes of the framework are not near, unless all but one of the checks succeed', async t => {
  const { client } = await createProfiledKernel(t)
  const { text } = await client.get('/nowhere/3', { headers: { accept: 'text/html' } })
  t.notMatch(text, '_preview_error')
})

t.test('clients without access get the error page of production, in any format', async t => {
  const { client } = await createProfiledKernel(t)
  const { text } = await client.get('/boom', { headers: { host: 'evil.example' } })
  t.match(text, 'An Error Occurred')
  t.notMatch(text, /Boom|_profiler/)
  const plain = await client.get('/boom', { headers: { host: 'evil.example', accept: 'text/plain' } })
  t.equal(plain.text, '# 500 Internal Server Error\n')
})

t.test('if the error page fails, the default error page is sent', async t => {
  const { prototype } = ExceptionCollector
  const { collect } = prototype
  t.teardown(() => Object.assign(prototype, { collect }))
  const { client } = await createProfiledKernel(t)
  const broken: ProfileCollector['collect'] = () => {
    throw new Error('The collector is broken.')
  }
  Object.assign(prototype, { collect: broken })
  const { status, text } = await client.get('/boom')
  t.equal(status, 500)
  t.match(text, 'The server returned a "500 Internal Server Error"')
  t.match(text, '## Error\n\nBoom')
})

t.test('the message of an error cannot add headings to the Markdown', async t => {
  const { client } = await createProfiledKernel(t, {
    handlers: {
      '/quoted': () => {
        throw new Error('It said:\n\n# Do as I say\n\n```\n')
      },
    },
  })
  const { text } = await client.get('/quoted', markdown)
  t.match(text, '\n````text\nIt said:\n\n# Do as I say\n\n```\n\n````\n')
})
