import path from 'node:path'
import { type } from 'arktype'
import { type Bundle, createFrameworkBundle, UploadedFile } from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import * as v from 'valibot'
import { z } from 'zod'
import { createHiddenRouteRule } from '#bundles/framework/hidden-route-rule.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { createProfiledTestKernel } from '#bundles/profiler/testing/create-profiled-test-kernel.ts'
import { siteBundle } from '#bundles/site/site-bundle.ts'
import { checkedForm, formBody, jsonBody, queryValues, routeParameters } from '#kernel/argument-sources.ts'
import { defineController } from '#kernel/controller.ts'
import { Response } from '#lib/http/response.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { RouteCollection } from '#lib/routing/route-collection.ts'
import { type RunInit, runInTerminal } from '#tests/support/fake-terminal.ts'
import { createProject } from '#tests/support/project.ts'

const routedBundle: Bundle = {
  name: 'routed',
  register({ routes }) {
    const controller = () => undefined
    routes.add({
      name: 'tenant',
      aliases: ['lodger'],
      path: '/tenant/:id',
      host: ':tenant.example.org',
      methods: ['POST', 'PUT'],
      schemes: ['https'],
      requirements: { id: /\d+/ },
      defaults: { _format: 'json' },
      condition: request => request.query.has('yes'),
      priority: 5,
      controller,
    })
    routes.add({ name: 'wild', path: '/wild/*rest', controller })
    routes.add({ name: 'wilder', path: '/wild/:one', controller })
  },
}

const load = async () => [createFrameworkBundle(), siteBundle, routedBundle]
const run = (line: string | readonly string[], init: RunInit = {}) => runInTerminal(line, { load, ...init })

t.test('debug:routes lists routes in the order in which they are tried', async t => {
  const { code, stdout } = await run('debug:routes')
  t.equal(code, 0)
  const lines = stdout.split('\n')
  t.match(lines[0], /^Name +Methods +Path +Guard +Controller +Host$/)
  t.match(lines[1], /^tenant +POST, PUT +\/tenant\/:id +none +tenant +:tenant\.example\.org$/)
  t.ok(lines.some(line => /^partnership +GET +\/partnership +none +partnership +any$/.test(line)))
  t.strictSame(JSON.parse((await run('debug:routes tenant. --json')).stdout), [
    {
      name: 'tenant',
      aliases: ['lodger'],
      path: '/tenant/:id',
      methods: ['POST', 'PUT'],
      host: ':tenant.example.org',
      schemes: ['https'],
      requirements: { id: '\\d+', tenant: '[^.]+' },
      defaults: { _format: 'json' },
      hasCondition: true,
      guards: [],
      controller: 'tenant',
      inputs: [],
      priority: 5,
    },
  ])
  const none = await run('debug:routes nowhere')
  t.equal(none.code, 1)
  t.equal(none.stderr, 'No route has "nowhere" in its name, path, host or controller.\n')
  t.match(
    (await run(['debug:routes', ' '])).stderr,
    "argument value ' ' is invalid for argument 'filter'. It is empty.",
  )
  t.match(await run('debug:route-match /x GET'), {
    code: 64,
    stderr: 'The method is a name such as GET, before the URL',
  })
  t.match((await run('debug:routes tenat')).stderr, 'host or controller; the nearest is "tenant".\n')
  t.equal((await runInTerminal('__complete debug:routes ten', { load })).stdout, 'tenant\t/tenant/:id\n')
})

t.test('debug:routes lists the cache policies of routes, if there are any', async t => {
  const shop: Bundle = {
    name: 'shop',
    register({ routes }) {
      const controller = () => Response.html('')
      const defaults = { _cache: { sMaxAge: 60, vary: ['Accept-Language'], etag: true } } as const
      routes.group({ defaults }, group => void group.get('list', '/list', controller))
      routes.get('cart', '/cart', controller)
    },
  }
  const load = async () => [createFrameworkBundle(), shop]
  const { stdout } = await run('debug:routes', { load })
  t.match(stdout, /^Name +Methods +Path +Guard +Cache +Controller +Host$/m)
  t.match(stdout, /^list +GET +\/list +none +public, s-maxage=60; Vary: Accept-Language; etag +list +any$/m)
  t.match(stdout, /^cart +GET +\/cart +none +none +cart +any$/m)
  t.match(
    (await run('debug:routes list', { load })).stdout,
    /^Cache +public, s-maxage=60; Vary: Accept-Language; etag$/m,
  )
})

t.test('debug:routes describes the inputs of routes by their schemas', async t => {
  const answer = () => Response.json({})
  const broken = { '~standard': { version: 1, vendor: 'own', validate: (value: unknown) => ({ value }) } } as const
  const shop: Bundle = {
    name: 'shop',
    register({ routes }) {
      routes.post('order', '/order', { order: jsonBody(z.object({ item: z.string(), count: z.int().min(1) })) }, answer)
      routes.post(
        'form',
        '/form',
        { form: checkedForm(v.object({ name: v.string(), photo: v.instance(UploadedFile) })) },
        answer,
      )
      routes.post('file', '/file', { form: formBody(z.object({ photo: z.instanceof(UploadedFile) })) }, answer)
      routes.get('list', '/list', { query: queryValues(type({ 'page?': 'string' })) }, answer)
      routes.get('item', '/item/:id', { route: routeParameters(broken) }, answer)
    },
  }
  const load = async () => [createFrameworkBundle(), shop]
  const { stdout } = await run('debug:routes --json', { load })
  const routes: { name: string; inputs: unknown[] }[] = JSON.parse(stdout)
  const inputsOf = (wanted: string) => routes.find(({ name }) => name === wanted)?.inputs
  t.match(inputsOf('order'), [
    {
      source: 'json',
      vendor: 'zod',
      schema: { type: 'object', properties: { item: { type: 'string' }, count: { type: 'integer', minimum: 1 } } },
      fields: ['item', 'count'],
    },
  ])
  t.strictSame(inputsOf('form'), [{ source: 'form', vendor: 'valibot', fields: ['name', 'photo'] }])
  t.strictSame(inputsOf('file'), [{ source: 'form', vendor: 'zod', fields: ['photo'] }], 'JSON has no files')
  t.match(inputsOf('list'), [{ source: 'query', vendor: 'arktype', schema: { type: 'object' }, fields: ['page'] }])
  t.strictSame(inputsOf('item'), [{ source: 'route', vendor: 'own' }])
  t.match((await run('debug:routes form', { load })).stdout, /^Inputs +form by valibot: name, photo$/m)
  t.match((await run('debug:routes item', { load })).stdout, /^Inputs +route by own$/m)
})

t.test('debug:routes shows the details of a named route', async t => {
  const { stdout } = await run('debug:routes tenant')
  t.equal((await run('debug:routes lodger')).stdout, stdout, 'also by an alias')
  t.match(stdout, /^Aliases +lodger$/m)
  t.match(stdout, /^Schemes +https$/m)
  t.match(stdout, /^Requirements +id: \\d\+, tenant: \[\^\.\]\+$/m)
  t.match(stdout, /^Defaults +\{"_format":"json"\}$/m)
  t.match(stdout, /^Condition +request => request\.query\.has\('yes'\)$/m)
  t.match(stdout, /^Position +1$/m)
  t.match(stdout, /^Inputs +without a schema$/m)
  t.match((await run('debug:routes wild')).stdout, /^Aliases +none$\n(?:.*\n)*Methods +any$/m)
})

t.test('routes that are never reached are named when the server listens, by debug:routes, in a finding', async t => {
  const double: Bundle = {
    name: 'double',
    register({ routes }) {
      for (const name of ['first', 'second']) {
        routes.get(name, '/double', () => Response.text(name))
      }
      routes.get('single', '/single', () => Response.text('single'))
    },
  }
  const problem =
    'The route "second" (/double) is never reached by any request: "first" (/double) matches the same paths, and comes first.'
  const { app, client, close, expectProfile, profileOf, records } = await createProfiledTestKernel({
    bundles: [createFrameworkBundle(), siteBundle, double],
  })
  t.teardown(close)
  const warnings = () => records.filter(({ level }) => level === 'warning').map(({ message }) => message)
  t.strictSame(warnings(), [])
  app.signals.emit('server.listening', { url: 'http://127.0.0.1:8000', worker: 1 })
  t.strictSame(warnings(), [problem])
  const load = async () => [createFrameworkBundle(), siteBundle, double]
  t.match((await run('debug:routes', { load })).stderr, problem)
  t.match((await run('debug:routes second', { load })).stderr, problem)
  t.notMatch((await run('debug:routes partner', { load })).stderr, problem)

  const expectation = await expectProfile(await client.get('/double'))
  expectation.hadFindings('hidden-route', 1)
  const [rule] = app.findingRules
  t.match(rule?.find(await profileOf(await client.get('/double'))), [{ severity: 'warning', problem }])
  ;(await expectProfile(await client.get('/single'))).not.hadFindings()
})

t.test('a route that only answers GET and reads a body is named at the start', async t => {
  const schema = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const
  const shop: Bundle = {
    name: 'shop',
    register({ routes }) {
      const search = defineController('search', { input: jsonBody(schema) }, () => new Response())
      routes.get('search', '/search', search)
      routes.post('post', '/search', search)
      routes.add({ name: 'both', path: '/both', methods: ['GET', 'POST'], controller: search })
      routes.add({ name: 'any', path: '/any', controller: search })
    },
  }
  const { close, records } = await createTestKernel({ bundles: [createFrameworkBundle(), shop] })
  t.teardown(close)
  const warnings = records.filter(({ level }) => level === 'warning').map(({ message }) => message)
  t.equal(warnings.length, 1)
  const reads = 'its controller reads a body, but clients send none with GET: use routes.post().'
  t.match(warnings[0], /^The route "search" \(tests\/bundles\/framework\/commands\.test\.ts:\d+\): /)
  t.ok(warnings[0]?.endsWith(reads))
})

t.test('a route that is hidden for some methods is a finding of requests with these methods', async t => {
  const routes = new RouteCollection()
  const rule = createHiddenRouteRule(routes)
  const find = (method: string, route: string | null = 'first') =>
    rule
      .find({ summary: { method, route, url: '/', status: 200, duration: 1, exception: null }, data: {} })
      .map(({ problem }) => problem)
  routes.get('first', '/double', () => undefined)
  t.strictSame(find('GET'), [])
  routes.add({ name: 'second', path: '/double', methods: ['GET', 'POST'], controller: () => undefined })
  const problem =
    'The route "second" (/double) is never reached by GET: "first" (/double) matches the same paths, and comes first.'
  t.strictSame(find('GET'), [problem], 'also of a route that is added later')
  t.strictSame(find('POST'), [])
  t.strictSame(find('GET', 'second'), [])
  for (const more of ['one more route', '2 more routes']) {
    routes.get(more, '/double', () => undefined)
    t.strictSame(find('GET'), [problem.replace(/\.$/, `; so it is with ${more}.`)], 'one finding for a profile')
  }
  t.strictSame(find('GET', null), [])
})

t.test('debug:route-match finds the route of a request, and explains the others', async t => {
  const found = await run('debug:route-match get /wild/a?b=1')
  t.equal(found.code, 0)
  t.match(found.stdout, /^GET http:\/\/localhost\/wild\/a\?b=1 is for the route "wild"\.$/m)
  t.match(found.stdout, /^Parameters +rest: "a"$/m)
  t.match(found.stdout, /^wilder +\/wild\/:one +Another one that matches is tried before it$/m)
  const plain = await run('debug:route-match GET partnership')
  t.match(plain.stdout, /^Parameters +_stateless: true$/m)
  t.notMatch(plain.stdout, /^partnership /m)

  const other = await run('debug:route-match GET https://acme.example.org/tenant/5?yes#part')
  t.equal(other.code, 1)
  t.match(other.stdout, 'is answered with 405: allowed are POST, PUT.')
  t.match(other.stdout, /^tenant .* Path almost matches, but Method "GET" does not match/m)
  const matched = await run('debug:route-match POST https://acme.example.org/tenant/5?yes --json')
  const { controller, outcome, parameters, route } = JSON.parse(matched.stdout)
  t.strictSame(
    { controller, outcome, parameters, route },
    {
      controller: 'tenant',
      outcome: 'match',
      parameters: { _format: 'json', id: '5', tenant: 'acme' },
      route: 'tenant',
    },
  )
  t.match(
    (await run('debug:route-match POST http://acme.example.org/tenant/x')).stdout,
    /^tenant .* Requirement for "id"/m,
  )
  const moved = await run('debug:route-match GET /partnership/')
  t.equal(moved.code, 0)
  t.match(moved.stdout, 'is sent to http://localhost/partnership, for the route "partnership".')
  const missing = await run('debug:route-match GET /nowhere')
  t.equal(missing.code, 1)
  t.match(missing.stdout, 'is answered with 404: no route takes it.')
  const wrong = await run('debug:route-match GET http://a..b:x/')
  t.equal(wrong.code, 1)
  t.match(wrong.stderr, /host/i)
})

t.test('debug:route-match lists the nearest routes, or all', async t => {
  const many: Bundle = {
    name: 'many',
    register({ routes }) {
      for (let index = 0; index < 20; index++)
        routes.add({ name: `r${index}`, path: `/r/${index}`, controller: () => 1 })
    },
  }
  const load = async () => [createFrameworkBundle(), many]
  const some = await run('debug:route-match GET /r/x', { load })
  t.match(some.stderr, '11 more routes: add --all.')
  const all = await run('debug:route-match GET /r/x --all', { load })
  t.equal(all.stderr, '')
  t.equal(all.stdout.split('\n').length, some.stdout.split('\n').length + 11)
  t.notMatch((await run('debug:route-match GET /r/1', { load: async () => [createFrameworkBundle()] })).stderr, 'more')
  const one: Bundle = {
    name: 'one',
    register: ({ routes }) => void routes.add({ name: 'one', path: '/one', controller: () => 1 }),
  }
  const alone = await run('debug:route-match GET /one --env test', { load: async () => [createFrameworkBundle(), one] })
  t.notMatch(alone.stdout, 'Why not', 'there are no others')
})

t.test('debug:events lists listeners as they are called, and where they were registered', async t => {
  const all = await run('debug:events')
  t.equal(all.code, 0)
  t.match(all.stdout, /^kernel\.request \(RequestEvent; a response ends it\)$/m)
  t.match(all.stdout, /^kernel\.response \(ResponseEvent\)$/m)
  t.notMatch(all.stdout, 'Registered in', 'it is not recorded')
  const one = await run('debug:events kernel.request --json')
  const [{ listeners, ...event }] = JSON.parse(one.stdout)
  t.strictSame(event, { event: 'kernel.request', class: 'RequestEvent', isStoppedByResponse: true })
  const priorities: number[] = listeners.map(({ priority }: { priority: number }) => priority)
  t.strictSame(
    priorities,
    priorities.toSorted((a, b) => b - a),
  )
  t.match((await run('debug:events ExceptionEv')).stdout, 'ErrorListener.')
  const none = await run('debug:events nothing')
  t.equal(none.code, 1)
  t.equal(none.stderr, 'No event with listeners matches "nothing".\n')
  t.match((await run('debug:events kernel.respnse')).stderr, 'the nearest are "kernel.response"')
  t.match(
    (await runInTerminal('__complete debug:events kernel.resp', { load })).stdout,
    /^kernel\.response\t\d+ listeners\n$/,
  )

  const profiler = createProfilerBundle({ storage: new MemoryProfileStorage() })
  const located = await run('debug:events kernel.response', { load: async () => [createFrameworkBundle(), profiler] })
  t.match(located.stdout, /ResponseListener\.onResponse +bundles\/framework\/listeners\/response-listeners\.ts:\d+$/m)
})

t.test('debug:config lists settings and their origin, and no secret', async t => {
  const env = { APP_HOSTS: 'a.test,b.test', DATABASE_URL: 'postgres://me:hunter2@localhost/db', NODE_ENV: 'test' }
  const profiler = createProfilerBundle({ storage: new MemoryProfileStorage() })
  const withProfiler = async () => [createFrameworkBundle(), siteBundle, routedBundle, profiler]
  const { code, stdout } = await run('debug:config', {
    env: { ...env, EDITOR_PATHS: '/srv=/home' },
    load: withProfiler,
  })
  t.equal(code, 0)
  t.match(stdout, 'dev, debug on, bundles: framework, site, routed, profiler\n')
  t.match(stdout, /^APP_HOSTS +a\.test, b\.test +environment +kernel +the host names of the application/m)
  t.match(stdout, /^NODE_ENV +test +environment +kernel /m)
  t.match(stdout, /^DATABASE_URL +\*{6} +environment +site +unused: a database/m)
  t.match(stdout, /^APP_SECRET +\*{6} +\.env +kernel /m)
  t.match(stdout, /^ADMIN_STATUS_TOKEN +default +site /m)
  t.match(stdout, /^EDITOR_PATHS +\/srv=\/home +environment +profiler /m)
  t.notMatch(stdout, /hunter2|shipped-for/)
  const ofSite = JSON.parse((await run('debug:config SITE --json')).stdout)
  t.strictSame(
    ofSite.settings.map(({ bundle, name }: Record<string, string>) => [bundle, name]),
    ['DATABASE_URL', 'MAILER_DSN', 'RECAPTCHA3_KEY', 'RECAPTCHA3_SECRET', 'ADMIN_STATUS_TOKEN'].map(name => [
      'site',
      name,
    ]),
  )
  t.strictSame(
    ofSite.settings.filter(({ help }: Record<string, string>) => !help?.startsWith('unused: ')),
    [],
    'the site has no feature that reads them',
  )
  const some = JSON.parse((await run('debug:config log_ --json', { env: { APP_DEBUG: '0' } })).stdout)
  const help = 'the lowest level that is logged'
  t.strictSame(some.settings, [{ name: 'LOG_LEVEL', value: 'info', from: 'default', bundle: 'kernel', help }])
  t.equal(some.isDebug, false)
  const flags = { APP_DEBUG: '0', PROFILER_MCP: '1', PROFILER_MCP_REPLAY: '1' }
  t.match(
    (await run('debug:config', { env: flags, load: withProfiler })).stdout,
    /^dev, debug off[\s\S]*\nPROFILER_MCP +on [\s\S]*\nPROFILER_MCP_REPLAY +on /,
  )
  const none = await run('debug:config NOPE')
  t.equal(none.code, 1)
  t.equal(none.stderr, 'There is no setting "NOPE": without a name, all are listed.\n')
  t.match((await run('debug:config log_levl')).stderr, 'no setting "log_levl"; the nearest is "LOG_LEVEL".\n')
  const noSettings = await run('debug:config ROUTED')
  t.equal(noSettings.code, 1)
  t.equal(noSettings.stderr, 'The bundle "routed" has no settings.\n')
  t.equal((await runInTerminal('__complete debug:config LOG', { load })).stdout, `LOG_LEVEL\t${help}\n`)
})

t.test('debug:config lists names in .env files that are not settings', async t => {
  const directory = createProject(t.testdir(), {
    '.env': 'APP_SECRET=a-secret-of-more-than-32-characters\nEDITOR_URL=vscode\nEMPTY=',
    '.env.local': 'APP_HOST=example.org\nSHOE_SIZE=9',
  })
  const { stdout } = await run('debug:config LOG_', { directory })
  const remark = '.env.local sets APP_HOST, which is not a setting; the nearest is "APP_HOSTS".'
  t.match(stdout, `\n${remark}\n`)
  t.match(stdout, '.env.local sets SHOE_SIZE, which is not a setting: declare it by defineSettings() in a bundle')
  t.notMatch(stdout, /EDITOR_URL|EMPTY/, 'settings of the profiler are known, also without the profiler')
  t.strictSame(JSON.parse((await run('debug:config LOG_ --json', { directory })).stdout).unknown, [
    { name: 'APP_HOST', file: '.env.local' },
    { name: 'SHOE_SIZE', file: '.env.local' },
  ])
})

t.test('debug:config lists wrong settings, too, and their mistakes', async t => {
  const env = { LOG_LEVEL: 'loud', APP_SECRET: 'hunter2', DATABASE_URL: 'hunter2', ADMIN_STATUS_TOKEN: 'hunter2' }
  const { code, stderr, stdout } = await run('debug:config', { env })
  t.equal(code, 1)
  t.match(stdout, /^dev, debug on\n/)
  t.match(stdout, /^LOG_LEVEL +loud +environment +kernel /m)
  t.match(stdout, /^DATABASE_URL +\*{6} +environment +site /m)
  const mistakes = [
    'The configuration has mistakes:',
    '  APP_SECRET is not a text of at least 32 random characters.',
    '  LOG_LEVEL "loud" is not one of debug, info, warning, error, critical.',
    '  DATABASE_URL is not a URL such as https://example.org.',
    '  ADMIN_STATUS_TOKEN is not a text of at least 16 characters.',
  ]
  t.equal(stderr, `${mistakes.join('\n')}\n`)
  t.match((await run('--env=dev debug:config', { env })).stdout, /^LOG_LEVEL +loud /m, 'an option may come first')
  const other = await run('debug:routes', { env })
  t.strictSame([other.code, other.stdout, other.stderr], [1, '', stderr])
  const pair = await run('debug:routes', { env: { RECAPTCHA3_SECRET: 'hunter2' } })
  t.match(
    pair.stderr,
    /^ {2}RECAPTCHA3_KEY is set without RECAPTCHA3_SECRET, or the other way round; set both or none\.$/m,
  )
  const broken = await run('debug:routes', { env, load: () => Promise.reject(new Error('no production database')) })
  t.equal(broken.stderr, `${mistakes.slice(0, 3).join('\n')}\n`, 'the settings may be the reason for the failure')
  t.match(await run('debug:routes', { load: () => Promise.reject(new Error('no database')) }), {
    stderr: /no database/,
  })
})

/** All others are public. */
const secretSettings = [
  'ADMIN_STATUS_TOKEN',
  'APP_SECRET',
  'APP_SECRET_OLD',
  'DATABASE_URL',
  'DEBUG_KEY',
  'MAILER_DSN',
  'PROFILER_URL',
  'RECAPTCHA3_KEY',
  'RECAPTCHA3_SECRET',
  'SESSION_URL',
]

t.test('what debug:config shows of a setting, pages show of its variable', async t => {
  const profiler = createProfilerBundle({ storage: new MemoryProfileStorage() })
  const { app, close } = await createTestKernel({ bundles: [createFrameworkBundle(), siteBundle, profiler] })
  t.teardown(close)
  const settings = app.settings.list()
  const names = settings.map(({ name }) => name)
  t.equal(names.length, 32)
  const redactor = new Redactor(Object.fromEntries(names.map(name => [name, 'a-value'])))
  redactor.declare(settings)
  const secrets = names.filter(name => redactor.environment()[name] === '******')
  t.strictSame(
    secrets.sort(),
    secretSettings.filter(name => names.includes(name)),
  )
})

t.test('debug:templates lists templates, and reports their mistakes', async t => {
  const { code, stderr, stdout } = await run('debug:templates site/head')
  t.equal(code, 0)
  t.match(stdout, /^site\/header +templates\/site\/header\.hbs +\d+$/m)
  t.match(stderr, /^\d+ templates have no mistakes\.$/m)
  const none = await run('debug:templates site/haed')
  t.match(none, { code: 1, stderr: /^No template has "site\/haed" in its name; the nearest are "site\/header"/ })
  const all = await run('debug:templates')
  t.match(all.stdout, /^site\/footer /m)
  t.notMatch(all.stdout, 'Replaces', 'the application is the package: nothing is replaced')
  const own = createProject(t.testdir(), {
    'templates/framework/error.hbs': '<h1>{{title}}</h1>',
    '.env': 'APP_SECRET=a-secret-of-more-than-32-characters',
  })
  const replaced = await run('debug:templates', { directory: own })
  const ours = path.resolve('templates/framework/error.hbs')
  t.match(replaced.stdout, /^Template +File +Replaces +Bytes$/m)
  t.match(replaced.stdout, `framework/error  templates/framework/error.hbs  ${ours}     18\n`)
  const json = JSON.parse((await run('debug:templates --json', { directory: own })).stdout)
  t.strictSame(json, [{ name: 'framework/error', file: 'templates/framework/error.hbs', replaces: ours, bytes: 18 }])
  const packaged = createProject(t.testdir(), {
    'templates/home/home.hbs': '<h1>{{title}}</h1>',
    'node_modules/theme/templates/page.hbs': 'Blue',
    '.env': 'APP_SECRET=a-secret-of-more-than-32-characters',
  })
  const theme = { name: 'blue', templates: path.join(packaged, 'node_modules/theme/templates'), register() {} }
  const homes: Bundle = { name: 'home', register: ({ view }) => view.addGlobal('site', 'Blue') }
  const withGlobal = async () => [createFrameworkBundle(), homes]
  const globals = await run('debug:templates', { directory: packaged, load: withGlobal })
  t.match(globals.stderr, 'Globals of all templates: @site.')
  const sorted = await run('debug:templates --json', {
    directory: packaged,
    load: async () => [theme, createFrameworkBundle(), homes],
  })
  t.strictSame(
    JSON.parse(sorted.stdout).map(({ name }: { name: string }) => name),
    ['home/home', 'blue/page', 'framework/error'],
    'those of the application are first',
  )
  const directory = createProject(t.testdir(), {
    'templates/site/wrong.hbs': '{{#if}}',
    '.env': 'APP_SECRET=a-secret-of-more-than-32-characters',
  })
  const wrong = await run('debug:templates', { directory })
  t.equal(wrong.code, 1)
  t.match(wrong.stderr, 'templates/site/wrong.hbs: ')
})
