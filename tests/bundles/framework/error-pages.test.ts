import assert from 'node:assert'
import { inspect } from 'node:util'
import {
  type Bundle,
  createFrameworkBundle,
  defineController,
  failedRequest,
  HttpError,
  type Request,
  type Response,
  ResponseEvent,
} from 'sinfonietta'
import { createTestKernel, type TestKernel, type TestResponse } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { siteBundle } from '#bundles/site/site-bundle.ts'
import { createLogger } from '#lib/log/create-logger.ts'
import { createTraceableView } from '#lib/view/traceable-view.ts'
import { probeBundle } from '#tests/support/probe-bundle.ts'

async function boot(t: Test, variables: Record<string, string> = {}): Promise<TestKernel> {
  const kernel = await createTestKernel({ bundles: [createFrameworkBundle(), siteBundle, probeBundle], variables })
  t.teardown(() => kernel.close())
  return kernel
}

const foreign = { headers: { host: 'evil.example' } }

t.test('a developer sees message, causes and frames', async t => {
  const { client } = await boot(t)
  const { headers, status, text } = await client.get('/gone')
  t.equal(status, 404)
  t.match(text, '<title>nothing here (404 Not Found)</title>')
  t.match(text, 'The server returned a "404 Not Found"')
  t.match(text, '## Caused by Error\n\nthe previous one')
  t.match(text, /tests\/support\/probe-bundle\.ts:\d+/)
  t.equal(headers.get('x-debug-exception'), 'nothing%20here')
  t.match(decodeURIComponent(headers.get('x-debug-exception-file') ?? ''), /\/tests\/support\/probe-bundle\.ts:\d+$/)
  t.equal(headers.get('x-robots-tag'), 'noindex')
  t.equal(headers.get('vary'), 'Accept, Accept-Encoding')
})

t.test('all other clients get the page of production, without debug headers', async t => {
  const { client } = await boot(t)
  const debugOff = await boot(t, { APP_DEBUG: '0' })
  const production = await boot(t, { APP_ENV: 'prod' })
  for (const response of [
    await client.get('/boom', foreign),
    await debugOff.client.get('/boom'),
    await production.client.get('/boom'),
  ]) {
    t.equal(response.status, 500)
    t.match(response.text, '<title>An Error Occurred: Internal Server Error</title>')
    t.match(response.text, '<h1>Something went wrong</h1>')
    t.notMatch(response.text, /Boom|probe-bundle/)
    t.notOk([...response.headers].some(([name]) => name.startsWith('x-debug')))
  }
  const namesOf = (response: TestResponse) => [...response.headers].map(([name]) => name)
  const shown = namesOf(await production.client.get('/boom'))
  const refused = namesOf(await client.get('/boom', foreign))
  t.ok(refused.includes('x-robots-tag'), 'search engines come through tunnels')
  t.strictSame(
    refused.filter(name => name !== 'x-robots-tag'),
    shown,
    'it is the same as in production',
  )
  t.ok(shown.includes('x-content-type-options'))
})

t.test('the page of production has a sentence for each status, and a link home', async t => {
  const { client } = await boot(t, { APP_ENV: 'prod' })
  const missing = await client.get('/nowhere')
  t.match(missing.text, 'There is no page at this address. Please check it for typing mistakes.</p>\n<p><a href="/">')
  t.match(
    (await client.get('/boom')).text,
    /The mistake is on the server\..* Reference: <code title="([\da-f]{8})[^"]+">\1<\/code>/s,
  )
  t.match((await client.get('/teapot')).text, 'Please go back and check what you have sent.')
})

t.test('production renders the page of a status and language once, unless the page depends on its request', async t => {
  const count = async (variables: Record<string, string>, directory?: string, bundles: readonly Bundle[] = []) => {
    const all = [createFrameworkBundle(), languages, ...bundles]
    const kernel = await createTestKernel({ bundles: all, variables, ...(directory && { directory }) })
    t.teardown(() => kernel.close())
    const { app, client } = kernel
    const names: string[] = []
    const { view } = app
    const render = view.render.bind(view)
    view.render = (name, model, request) => {
      names.push(name)
      return render(name, model, request)
    }
    const texts: string[] = []
    for (const path of ['/nowhere', '/nowhere', '/de', '/de', '/de/nowhere', '/broken', '/broken']) {
      texts.push((await client.get(path)).text)
    }
    const prefixed = await client.get('/nowhere', { headers: { 'x-forwarded-prefix': '/shop' } })
    return { app, texts, prefixed: prefixed.text, renders: names.length }
  }
  const languages: Bundle = {
    name: 'languages',
    register({ routes }) {
      routes.add({
        name: 'gone',
        path: '/:_locale',
        requirements: { _locale: /de/ },
        controller: () => {
          throw new HttpError(404, 'gone')
        },
      })
      routes.get('broken', '/broken', () => {
        throw new Error('broken')
      })
    },
  }
  const variables = { APP_ENV: 'prod', ACCESS_LOG: '0', APP_SECRET: 'a secret of the test, and of nothing else' }
  const kept = await count({ ...variables, TRUSTED_PROXIES: '127.0.0.1', TRUSTED_HEADERS: 'x-forwarded-prefix' })
  // Two languages, two pages with the id of their request, and one with the prefix of its proxy.
  t.equal(kept.renders, 5)
  t.equal(kept.texts[0], kept.texts[1])
  t.match(kept.prefixed, 'href="/shop/assets/')
  t.notMatch(kept.texts[0], '/shop/')
  t.not(kept.texts.at(-1), kept.texts.at(-2), 'another id')

  kept.app.view.load()
  const own = t.testdir({ templates: { framework: { 'error.hbs': '{{status}} {{advice}}' } } })
  t.equal((await count(variables, own)).renders, 8, 'the application has its own template')
  const theme: Bundle = {
    name: 'theme',
    decorate: app => ({
      ...app,
      view: createTraceableView(app.view, { begin: () => undefined, beginWait: () => () => {} }),
    }),
    register() {},
  }
  t.equal((await count(variables, undefined, [theme])).renders, 8, 'a bundle has decorated the view')
})

t.test('everything an error says is escaped', async t => {
  const { client } = await boot(t)
  const { text } = await client.get('/boom')
  t.match(text, 'Boom &quot;quoted&quot; &lt;b&gt;é&lt;/b&gt; &amp; 100%')
  t.notMatch(text, '<b>é</b>')
})

t.test('a message of 3,000 characters is cut to 2,000 bytes in the header, between two characters', async t => {
  const { app, client } = await boot(t)
  app.routes.add({
    name: 'long',
    path: '/long',
    controller: () => {
      throw new Error(`x${'é'.repeat(3000)}\ud800`)
    },
  })
  const header = (await client.get('/long')).headers.get('x-debug-exception') ?? ''
  t.equal(decodeURIComponent(header), `x${'é'.repeat(999)}`)
})

t.test('an error without a message, or that is none, has a page too', async t => {
  const { client } = await boot(t)
  const empty = await client.get('/boom-empty')
  t.equal(empty.headers.get('x-debug-exception'), '')
  t.match(empty.text, 'Error')
  const text = await client.get('/boom-text')
  t.equal(text.status, 500)
  t.match(text.text, 'just text')
  t.match(text.headers.get('x-debug-exception-file'), /probe-bundle\.[jt]s:\d+$/, 'the controller')
})

t.test('errors that gather others show them all', async t => {
  const { app, client } = await boot(t)
  app.routes.add({
    name: 'several',
    path: '/several',
    controller: () => {
      throw new AggregateError([new Error('first of all'), new HttpError(409, 'second to that')], 'several')
    },
  })
  const { text } = await client.get('/several')
  t.match(text, 'first of all')
  t.match(text, 'second to that')
})

t.test('the properties of an error are in problem details and in text, masked', async t => {
  const { app, client } = await boot(t)
  const properties = { detail: 'Key (token)=(x) already exists.', issues: [{ path: ['a'], message: 'b' }] }
  app.routes.add({
    name: 'taken',
    path: '/taken',
    controller: () => {
      throw Object.assign(new Error('taken'), properties)
    },
  })
  const problem = await client.get('/taken', { headers: { accept: 'application/json' } })
  const masked = { ...properties, detail: 'Key (token)=(******) already exists.' }
  t.hasStrict(problem.json(), { exceptions: [{ properties: masked }] })
  const { text } = await client.get('/taken', { headers: { accept: 'text/plain' } })
  t.match(text, `taken\n\n- detail: ${masked.detail}\n- issues: [{"path":["a"],"message":"b"}]\n\n- `)
})

t.test('a client that prefers JSON gets problem details', async t => {
  const { client } = await boot(t)
  for (const accept of [
    'application/json',
    'application/json; charset=utf-8',
    'application/vnd.api+json',
    'application/*+json',
    'application/problem+json',
    'text/html;q=0.1, application/json',
  ]) {
    const response = await client.get('/teapot', { headers: { accept } })
    t.equal(response.headers.get('content-type'), 'application/problem+json')
    // Long stacks are long enough to be compressed.
    t.match(response.headers.get('vary'), /^Accept(, Accept-Encoding)?$/)
    t.hasStrict(response.json(), {
      type: 'about:blank',
      title: "I'm a Teapot",
      status: 418,
      detail: 'short and stout',
      exceptions: [{ name: 'HttpError', frames: [{ isApplication: true }] }],
    })
  }
  const production = await boot(t, { APP_ENV: 'prod' })
  const accept = { headers: { accept: 'application/json' } }
  t.strictSame((await production.client.get('/teapot', accept)).json(), {
    type: 'about:blank',
    title: "I'm a Teapot",
    status: 418,
    detail: 'short and stout',
  })
  t.hasStrict((await production.client.get('/boom', accept)).json(), { detail: 'Internal Server Error' })
})

t.test('a client that prefers text gets text', async t => {
  const { client } = await boot(t)
  const accept = { headers: { accept: 'text/plain' } }
  const { headers, text } = await client.get('/gone', accept)
  t.equal(headers.get('content-type'), 'text/plain; charset=UTF-8')
  t.match(text, /^# 404 Not Found\n\nGET http:\/\/localhost\/gone\n\n## HttpError\n\nnothing here\n\n- .* \(tests\//)
  t.match(text, '## Caused by Error\n\nthe previous one\n')
  const markdown = await client.get('/gone', { headers: { accept: 'text/markdown' } })
  t.equal(markdown.headers.get('content-type'), 'text/markdown; charset=UTF-8')
  t.match(markdown.text, /^# 404 Not Found\n/)
  const production = await boot(t, { APP_ENV: 'prod' })
  t.equal((await production.client.get('/gone', accept)).text, '# 404 Not Found\n\nnothing here\n')
  t.equal((await production.client.get('/boom', accept)).text, '# 500 Internal Server Error\n')
})

t.test('an error page describes the request that has failed, not its own sub-request, which is a GET', async t => {
  const accept = 'text/plain'
  const failing: Bundle = {
    name: 'failing',
    register({ controllers, kernel, routes }) {
      const fail = () => {
        throw new Error('broken')
      }
      routes.add({ name: 'fails', path: '/fails', controller: fail })
      // A sub-request that answers its own error: that one has failed.
      const within = (request: Request) =>
        kernel.handle(request.duplicate({ method: 'PATCH', target: '/fails?within' }))
      routes.post('within', '/within', within)
      controllers.decorate('error_controller', usual =>
        defineController('error_controller', async request => {
          const { attributes, method, url, headers } = failedRequest(request)
          const facts = { method, url, route: attributes.get('_route'), agent: headers.get('user-agent') }
          // What the error controller of the framework returns.
          const response = (await usual.call(request)) as Response
          response.headers.set('x-facts', JSON.stringify(facts))
          return response
        }),
      )
    },
  }
  const { client, close } = await createTestKernel({
    bundles: [createFrameworkBundle({ methodOverride: true }), failing],
  })
  t.teardown(close)
  const describe = async (method: string, target: string) => {
    const { headers, text } = await client.request(method, target, { headers: { accept, 'user-agent': 'test' } })
    const facts = JSON.parse(headers.get('x-facts') ?? '{}')
    t.equal(text.split('\n')[2], `${facts.method} ${facts.url}`, 'the text says the same')
    return [facts.method, facts.url, facts.route, facts.agent]
  }
  const url = 'http://localhost/fails'
  for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    t.strictSame(await describe(method, '/fails?a=1'), [method, `${url}?a=1`, 'fails', 'test'])
  }
  t.strictSame(await describe('POST', '/nowhere'), ['POST', 'http://localhost/nowhere', undefined, 'test'])
  t.strictSame(await describe('POST', '/fails?_method=PUT'), ['PUT', `${url}?_method=PUT`, 'fails', 'test'])
  t.strictSame(await describe('POST', '/within'), ['PATCH', `${url}?within`, 'fails', 'test'])
})

t.test('problem details have the members of the error, if the client gets its message', async t => {
  const members = { balance: 30, token: 'abc', errors: [{ pointer: '#/a', detail: 'see postgres://u:pw@db/' }] }
  const shown = { ...members, errors: [{ pointer: '#/a', detail: 'see postgres://******@db/' }] }
  for (const variables of [{}, { APP_ENV: 'prod' }]) {
    const { app, client } = await boot(t, variables)
    const isDebug = !('APP_ENV' in variables)
    app.routes.add({
      name: 'refused',
      path: '/refused/:status',
      defaults: { _format: 'json' },
      controller: ({ attributes }) => {
        throw new HttpError(Number(attributes.get('_route_params')?.status), 'no', { members })
      },
    })
    const refused = (await client.get('/refused/422')).json() as Record<string, unknown>
    const expected = { type: 'about:blank', title: 'Unprocessable Entity', status: 422, detail: 'no', ...shown }
    t.strictSame(Object.keys(refused), [...Object.keys(expected), ...(isDebug ? ['exceptions'] : [])])
    t.match(refused, expected)
    const failed = (await client.get('/refused/500')).json() as Record<string, unknown>
    t.equal(failed.balance, isDebug ? 30 : undefined)
  }
  const { app, client } = await boot(t)
  app.routes.add({
    name: 'refused_page',
    path: '/refused',
    controller: () => {
      throw new HttpError(422, 'no', { members })
    },
  })
  t.match((await client.get('/refused')).text, '- members: {&quot;balance&quot;:30')
})

t.test('the format of the route decides, whatever the client accepts', async t => {
  const { app, client } = await boot(t)
  app.routes.add({
    name: 'formed',
    path: '/formed/:_format',
    controller: () => {
      throw new HttpError(409, 'not now')
    },
  })
  app.routes.add({
    name: 'forwards',
    path: '/forwards',
    defaults: { _format: 'json' },
    controller: request =>
      app.kernel.forward(request, () => {
        throw new HttpError(409, 'not there')
      }),
  })
  const formed = async (path: string, accept?: string) => {
    const { headers } = await client.get(path, accept === undefined ? {} : { headers: { accept } })
    return [headers.get('content-type'), /\bAccept\b(?!-)/.test(headers.get('vary') ?? '')]
  }
  for (const accept of ['*/*', 'text/html', 'application/json', 'text/plain', undefined]) {
    t.strictSame(await formed('/formed/json', accept), ['application/problem+json', false])
    t.strictSame(await formed('/formed/html', accept), ['text/html; charset=UTF-8', false])
    t.strictSame(await formed('/formed/txt', accept), ['text/plain; charset=UTF-8', false])
    t.strictSame(await formed('/formed/md', accept), ['text/markdown; charset=UTF-8', false])
    t.strictSame(await formed('/forwards', accept), ['application/problem+json', false], 'also in a sub-request')
  }
  for (const format of ['rss', 'toString', 'text/html']) {
    t.strictSame(await formed(`/formed/${encodeURIComponent(format)}`), ['text/html; charset=UTF-8', true])
    t.strictSame(await formed(`/formed/${encodeURIComponent(format)}`, 'text/plain'), [
      'text/plain; charset=UTF-8',
      true,
    ])
  }
})

t.test('an unacceptable Accept still gets a page', async t => {
  const { client } = await boot(t)
  t.equal(
    (await client.get('/gone', { headers: { accept: 'image/png' } })).headers.get('content-type'),
    'text/html; charset=UTF-8',
  )
})

t.test('secrets of the environment and of URLs are masked in what a developer sees', async t => {
  const { app, client } = await boot(t, { ADMIN_STATUS_TOKEN: 'canary-canary-canary' })
  app.routes.add({
    name: 'leak',
    path: '/leak',
    controller: () => {
      throw new Error('token canary-canary-canary of https://ada:hunter2@db.example/?password=swordfish')
    },
  })
  const { headers, text } = await client.get('/leak?api_key=opensesame')
  const all = text + [...headers].join()
  for (const secret of ['canary-canary-canary', 'hunter2', 'swordfish', 'opensesame']) t.notMatch(all, secret)
})

t.test('names and codes of errors are masked as their messages are, in every form', async t => {
  const { app, client } = await boot(t)
  app.routes.add({
    name: 'named',
    path: '/named',
    controller: () => {
      throw Object.assign(new Error('x'), { name: 'Bearer hunter2-name', code: 'token=hunter2-code' })
    },
  })
  for (const accept of ['application/json', 'text/html', 'text/plain', 'text/markdown']) {
    const { headers, text } = await client.get('/named', { headers: { accept } })
    t.notMatch(text + [...headers].join(), /hunter2/, accept)
  }
  const { exceptions } = (await client.get('/named', { headers: { accept: 'application/json' } })).json() as {
    exceptions: unknown[]
  }
  t.match(exceptions[0], { name: 'Bearer ******', code: 'token=******' })
})

t.test('what a controller has returned by mistake is named by its keys, in answers and in both logs', async t => {
  const wrong = { user: 'ada', password: 'hunter2-x', apiKey: 'hunter2-y' }
  const returned = 'an object with the keys "user", "password", "apiKey"'
  for (const [environment, format] of [
    ['dev', 'readable'],
    ['prod', 'json'],
  ] as const) {
    const log: string[] = []
    const { app, client, records } = await boot(t, { APP_ENV: environment })
    const stream = { write: (text: string) => log.push(text) > 0 }
    const logger = createLogger({ level: 'debug', format, stream, redactor: app.redactor })
    app.routes.add({ name: 'wrong', path: '/wrong', controller: () => wrong })
    app.routes.add({ name: 'inspected', path: '/inspected', controller: () => assert.fail(inspect(wrong)) })
    for (const path of ['/wrong', '/inspected']) {
      for (const accept of ['text/html', 'application/json', 'text/plain']) {
        const { headers, text } = await client.get(path, { headers: { accept } })
        t.notMatch(decodeURIComponent(text.replaceAll('%', '%25') + [...headers].join()), /hunter2/, accept)
        t.notMatch(decodeURIComponent(headers.get('x-debug-exception') ?? ''), /hunter2/)
      }
    }
    logger.error('Failed: {exception}', { exception: new Error(inspect(wrong)), shown: inspect(wrong) })
    t.match(JSON.stringify(records.map(({ message }) => message)), JSON.stringify(returned).slice(1, -1))
    t.notMatch(JSON.stringify(records) + log.join(''), /hunter2/)
  }
})

t.test('the error page of production can be looked at in development', async t => {
  const { client } = await boot(t)
  for (const code of [404, 503]) {
    const { status, text } = await client.get(`/_error/${code}`)
    t.equal(status, code)
    t.match(text, `The server returned a "${code}`)
  }
  t.equal((await client.get('/_error/404.html')).status, 404)
  t.match((await client.get('/_error/200')).text, 'There is no error page for the status 200')
  t.match((await client.get('/_error/x')).text, 'No routes found')
  t.notMatch((await client.get('/_error/503', foreign)).status, 503)
  const production = await boot(t, { APP_ENV: 'prod' })
  t.equal((await production.client.get('/_error/503')).status, 404)
})

t.test('a policy that the application sets for its pages is not that of a debug error page', async t => {
  const { app, client } = await boot(t)
  app.dispatcher.on(ResponseEvent, ({ response }) =>
    response.headers.set('content-security-policy', "default-src 'self'"),
  )
  t.ok((await client.get('/noslash')).headers.has('content-security-policy'))
  const { headers } = await client.get('/boom')
  t.notOk(headers.has('content-security-policy'))
  t.equal(headers.get('x-frame-options'), 'DENY')
})

t.test('an error page of the application knows the language of the page', async t => {
  const directory = t.testdir({ templates: { framework: { 'error.hbs': '<html lang="{{locale}}">{{status}}' } } })
  const german: Bundle = {
    name: 'german',
    register({ routes }) {
      routes.group({ prefix: '/:_locale', requirements: { _locale: 'en|de' } }, group =>
        group.get('fails', '/fails', () => {
          throw new HttpError(409, 'taken')
        }),
      )
    },
  }
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), german], directory })
  t.teardown(close)
  t.equal((await client.get('/de/fails')).text, '<html lang="de">409')
  t.equal((await client.get('/nowhere')).text, '<html lang="">404')
  t.equal((await client.get('/_error/500')).text, '<html lang="">500')
})

t.test('a page that has to be waited for is completed when it is there', async t => {
  const slow: Bundle = {
    name: 'slow',
    decorate: foundation => ({
      ...foundation,
      view: new Proxy(foundation.view, {
        get(view, name) {
          const member: unknown = name === 'render' ? async () => 'late' : Reflect.get(view, name, view)
          return typeof member === 'function' ? member.bind(view) : member
        },
      }),
    }),
    register() {},
  }
  const { client, close } = await createTestKernel({ bundles: [slow, createFrameworkBundle(), probeBundle] })
  t.teardown(close)
  const { headers, status, text } = await client.get('/gone')
  t.strictSame([status, text, headers.get('content-type')], [404, 'late', 'text/html; charset=UTF-8'])
  t.equal(headers.get('x-debug-exception'), 'nothing%20here')
})
