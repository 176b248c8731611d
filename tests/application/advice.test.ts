import {
  type Application,
  asInteger,
  checkedForm,
  createFrameworkBundle,
  createPageCache,
  EventStream,
  ExceptionEvent,
  formBody,
  queryValue,
  queryValues,
  type Request,
  RequestEvent,
  Response,
  routeParameter,
  setCookie,
} from 'sinfonietta'
import { createTestKernel, type TestClient } from 'sinfonietta/testing'
import { t } from 'tap'
import { until } from '#tests/support/until.ts'

// What may be right in another application is not refused: development logs what is probably meant. Below each
// mistake are uses that are right, and of which nothing is logged.

const ok = () => Response.text('ok')

/** A schema that gives numbers for numbers only, with the messages of valibot. */
const age = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value: unknown) => {
      const { age } = value as { age?: unknown }
      if (typeof age === 'number') return { value: { age } }
      const message = `Invalid type: Expected number but received "${String(age)}"`
      return { issues: [{ message, path: ['age'] }] }
    },
  },
} as const

/** A schema that lists its fields. Only the name is required. */
const named = {
  entries: { name: {}, email: {} },
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value: unknown) =>
      (value as { name?: unknown }).name ? { value } : { issues: [{ message: 'Missing.', path: ['name'] }] },
  },
} as const

/** A response as Express has it. */
interface Chained {
  status(code: number): unknown
}

interface Mailing {
  then(next: () => unknown): Mailing
  catch(next: () => unknown): unknown
}

/** Sends nothing. */
const mailer = { sendMail: (_mail: object, _done?: () => void): Mailing => Promise.resolve() as unknown as Mailing }

const pages = createPageCache()
const cached = { _cache: { sMaxAge: 60 } }

const withCookie = (maxAge: number) => () => {
  const response = ok()
  setCookie(response.headers, 'theme', 'dark', { maxAge })
  return response
}

/** What a bundle registers, the request, and a part of the warning; without one, nothing is logged. */
type Case = readonly [
  register: (app: Application) => unknown,
  send: (client: TestClient) => Promise<unknown>,
  warning?: string,
]

const own = 'https://localhost'

const form = (client: TestClient) => client.post('/a', { form: { age: '3' } })
const get = (client: TestClient) => client.get('/a')
const dropped = 'makes a response by request.redirectTo(), which is not sent'
type Values = Readonly<Record<'userName' | 'user-name' | 'file-path' | 'user.id', string>>

/** A controller that takes a parameter by a name. */
const read = (name: string) =>
  // The source of the function has the name.
  new Function(
    'Response',
    `return (request, { ${/\W/.test(name) ? `'${name}': value` : name} }) => Response.text('ok')`,
  )(Response)

const promise = (call: string) => `uses the promise of ${call}() as its value: write await ${call}(…)`

const cases: Readonly<Record<string, readonly Case[]>> = {
  'a cookie whose time is in milliseconds': [
    [
      ({ routes }) => routes.get('a', '/a', withCookie(30 * 86_400_000)),
      client => client.get('/a'),
      'The cookie "theme" is for 2592000000 seconds',
    ],
    [({ routes }) => routes.get('a', '/a', withCookie(400 * 86_400)), client => client.get('/a')],
    [({ routes }) => routes.get('a', '/a', withCookie(0)), client => client.get('/a')],
  ],
  'a listener for errors after the error page': [
    [
      ({ dispatcher }) => dispatcher.on(ExceptionEvent, () => undefined, -200),
      client => client.get('/none'),
      'is never called at the priority -200: the error page answers at -128',
    ],
  ],
  'the body of a GET request': [
    [
      ({ routes }) => routes.get('a', '/a', async request => Response.text(typeof (await request.formData()))),
      client => client.get('/a?q=1'),
      'calls request.formData(), but clients send no body with GET: use request.query',
    ],
    [
      ({ routes }) =>
        routes.add({
          name: 'a',
          path: '/a',
          controller: async request => Response.text(typeof (await request.formData())),
        }),
      client => client.get('/a?q=1'),
    ],
    [
      ({ routes }) => {
        const both = async (request: { formData(): Promise<unknown> }) =>
          Response.text(typeof (await request.formData()))
        routes.get('a', '/a', both)
        routes.post('b', '/a', both)
      },
      client => client.get('/a?q=1'),
    ],
    [
      ({ routes }) =>
        routes.get('a', '/a', async () => {
          const request = new globalThis.Response('{}')
          return Response.json(await request.json())
        }),
      client => client.get('/a'),
    ],
  ],
  'a response that is not sent': [
    [
      ({ routes }) =>
        routes.get('a', '/a', request => {
          if (request.path === '/b') request.redirectTo('a')
          return ok()
        }),
      get,
      `advice.test.ts:`,
    ],
    [
      ({ routes }) =>
        routes.get('a', '/a', { page: queryValue(asInteger, 1) }, ({ page }, request) => {
          if (page === 2) {
            request.redirectTo('a')
          }
          return ok()
        }),
      get,
      `${dropped}: write return`,
    ],
    [
      ({ guards, routes }) => {
        guards.push({
          name: 'member',
          check(request) {
            if (request.path === '/b') request.redirectTo('a')
            return true
          },
        })
        routes.add({ name: 'a', path: '/a', guard: 'member', controller: ok })
      },
      get,
      `${dropped}: write return`,
    ],
    [
      ({ dispatcher, routes }) => {
        routes.get('a', '/a', ok)
        dispatcher.on(RequestEvent, ({ request }) => {
          if (request.path === '/b') Response.redirect('/a')
        })
      },
      get,
      'makes a response by Response.redirect(), which is not sent: use event.respond()',
    ],
    [
      ({ dispatcher, guards, routes }) => {
        guards.push({ name: 'member', check: request => request.path === '/a' || request.redirectTo('a') })
        routes.add({
          name: 'a',
          path: '/a',
          guard: 'member',
          controller: request => {
            const pages = { ok: () => Response.text('ok') }
            if (request.path === '/b') return request.redirectTo('a')
            if (request.path === '/c')
              // The page before.
              return request.redirectBack('a')
            const response =
              // Not awaited.
              request.path === '/d' ? request.redirectTo('a') : Response.json({ text: `} request.redirectTo('a')` })
            return request.path === '/e' ? response : pages.ok()
          },
        })
        dispatcher.on(RequestEvent, event => {
          if (event.request.path === '/b') event.respond(event.request.redirectTo('a'))
        })
      },
      get,
    ],
  ],
  'a promise that is used as its value': [
    [
      ({ routes }) =>
        routes.get('a', '/a', request => {
          const user = request.session.get('user')
          return Response.text(typeof user)
        }),
      get,
      promise('request.session.get'),
    ],
    [
      ({ routes }) =>
        routes.get('a', '/a', ({ session }) => {
          if (!session.has('user')) return Response.empty()
          return ok()
        }),
      get,
      promise('session.has'),
    ],
    [
      ({ routes }) =>
        routes.post('a', '/a', request => {
          const form = request.formData()
          return Response.text(typeof form)
        }),
      form,
      promise('request.formData'),
    ],
    [
      ({ routes }) =>
        routes.post('a', '/a', async request => {
          const { session } = request
          const user = session.get('user')
          const [form, name] = await Promise.all([request.formData(), user])
          const cart = session.get('cart')
          const all = session.all()
          if (!(await session.has('user'))) await session.get('user')
          return Response.text([typeof form, typeof name, typeof (await cart), typeof (await all)].join())
        }),
      form,
    ],
    [
      ({ routes }) => routes.get('a', '/a', ({ session }) => session.get('user').then(user => Response.json({ user }))),
      get,
    ],
  ],
  'a name with a dash in a path': [
    ...(
      [
        ['/users/:user-id', () => ok(), 'does not read the variable "user" of its path /users/:user-id: ":user-id" is'],
        ['/orders/:order-line-id/edit', read('order-line-id'), 'write :orderLineId or :"order-line-id"'],
        [
          '/a/:post-slug',
          (request: Request) => Response.text(request.path),
          'the variable "post" with the text "-slug"',
        ],
        ['/users/:user-id', read('user-id'), 'reads a variable that its path /users/:user-id does not have'],
        ['/users/:user-id', read('userId'), 'takes the parameter "userId"'],
        ['/users/:user-name', (_: Request, values: Values) => Response.text(values.userName), 'write :userName or'],
        ['/users/:user-name', (_: Request, values: Values) => Response.text(values['user-name']), 'write :userName or'],
        [
          '/users{/:user-name}',
          ({ attributes }: Request) => Response.json(attributes.get('user-name' as never)),
          'reads a var',
        ],
        ['/files/*file-path', (_: Request, values: Values) => Response.text(values['file-path']), ':"file-path"'],
        ['/users/:user.id', (_: Request, values: Values) => Response.text(values['user.id']), 'with the text ".id"'],
      ] as const
    ).map(
      ([path, controller, warning]): Case => [({ routes }) => routes.get('a', path, controller as never), get, warning],
    ),
    [({ routes }) => routes.get('a', '/:user-id', { page: queryValue(asInteger, 1) }, ok), get, 'does not read'],
    ...(
      [
        ['/:from-:to', read('from')],
        ['/:year-:month', () => ok()],
        ['/:year-report', () => ok()],
        ['/:name.json', () => ok()],
        ['/users/:user-id', read('user')],
        ['/users/:"user-id"', read('user-id')],
        ['/users/:userId', read('userId')],
        ['/:lang-page/:id', read('lang')],
        ['/a-:id', read('id')],
        ['/:user-id-:part', () => ok()],
        ['/:user-avatar', () => Response.html('<img id="user-avatar">')],
      ] as const
    ).map(([path, controller]): Case => [({ routes }) => routes.get('a', path, controller as never), get]),
    [({ routes }) => routes.get('a', '/:user-id', { id: routeParameter('user') }, ({ id }) => Response.text(id)), get],
  ],
  'a promise that is shown': [
    [
      ({ routes }) =>
        routes.get('a', '/a', ({ session }) => {
          const user = session.get('user')
          return Response.text(`Hello ${user}`)
        }),
      get,
      promise('session.get'),
    ],
    [
      ({ routes }) =>
        routes.get('a', '/a', request => {
          const { session } = request
          const user = session.get('user')
          return Response.json({ user, path: request.path })
        }),
      get,
      promise('session.get'),
    ],
    [
      ({ dispatcher }) =>
        dispatcher.on(RequestEvent, ({ request }) => {
          const user = request.session.get('user')
          if (!user) Object.assign(request, { user })
        }),
      get,
    ],
  ],
  'a checked form whose issues are not answered': [
    [
      ({ routes }) =>
        routes.post('a', '/a', { form: checkedForm(age) }, ({ form }) =>
          // @ts-expect-error
          Response.text(String(Reflect.get(Object(form.value.valueOf()), 'age'))),
        ),
      form,
      'uses form.value, which is undefined for a form with issues: answer form.issues first',
    ],
    [
      ({ routes }) =>
        routes.post('a', '/a', { form: checkedForm(age) }, ({ form }) =>
          form.issues ? ok() : Response.text(String(form.value.age)),
        ),
      form,
    ],
    [
      ({ routes }) => {
        const isRight = (checked: { readonly issues?: unknown }) => checked.issues === undefined
        routes.post('a', '/a', { form: checkedForm(age) }, ({ form }) => {
          if (!isRight(form)) return ok()
          // @ts-expect-error
          return Response.text(String(Reflect.get(Object(form.value.valueOf()), 'age')))
        })
      },
      form,
    ],
  ],
  'values behind the request': [
    [
      ({ routes }) =>
        routes.get('a', '/a', { page: queryValue(asInteger, 1) }, ((request: unknown, { page }: never) =>
          Response.text(typeof request + typeof page)) as never),
      get,
      'gets its values before the request: write ({ page }, request)',
    ],
    [
      ({ routes }) =>
        routes.get('a', '/a', { page: queryValue(asInteger, 1) }, (values, { path }) =>
          Response.text(path + values.page),
        ),
      get,
    ],
  ],
  'a guard that redirects a page to itself': [
    [
      ({ guards, routes }) => {
        guards.push({ name: 'member', check: request => request.redirectTo('a') })
        routes.add({ name: 'a', path: '/a', guard: 'member', controller: ok })
      },
      get,
      'The guard "member" redirects the route "a" to itself',
    ],
    [
      ({ guards, routes }) => {
        guards.push({ name: 'member', check: request => request.redirectTo('login') })
        routes.add({ name: 'a', path: '/a', guard: 'member', controller: ok })
        routes.get('login', '/login', ok)
      },
      get,
    ],
  ],
  'a redirect to a host without a scheme': [
    [
      ({ routes }) => routes.get('a', '/a', () => Response.redirect('example.org/books')),
      get,
      'redirects to "example.org/books", which is a path beside its own: a host begins with https://',
    ],
    [
      ({ routes }) => {
        for (const target of ['index.html', 'v1.2/notes', '../net/', '?host=a.org', '//example.org/a', 'a.org.html'])
          routes.get(`to ${target}`, `/${encodeURIComponent(target)}`, () => Response.redirect(target))
      },
      async client => {
        for (const target of ['index.html', 'v1.2/notes', '../net/', '?host=a.org', '//example.org/a', 'a.org.html'])
          await client.get(`/${encodeURIComponent(target)}`)
      },
    ],
  ],
  'a field whose name differs from that of the schema': [
    [
      ({ routes }) => routes.post('a', '/a', { form: checkedForm(named) }, ok),
      client => client.post('/a', { form: { nmae: 'Ada' } }),
      'sends "nmae", which its schema does not have: it has "name", which is not sent.',
    ],
    [
      ({ routes }) => routes.post('a', '/a', { form: formBody(named) }, ok),
      client => client.post('/a', { form: { emial: 'a@example.org', name: 'Ada' } }),
      'sends "emial", which its schema does not have: it has "email", which is not sent.',
    ],
    [
      ({ routes }) => routes.post('a', '/a', { form: checkedForm(named) }, ok),
      async client => {
        for (const form of [{}, { name: '' }, { name: 'Ada', submit: '1' }, { name: 'Ada', names: '1', email: '' }])
          await client.post('/a', { form })
      },
    ],
  ],
  'a value or a body that its route does not accept': [
    [
      ({ routes }) => routes.get('a', '/a', { page: queryValue(asInteger) }, ok),
      get,
      'a value that may be missing has a fallback, as in queryValue(asInteger, 1)',
    ],
    [
      ({ routes }) => routes.post('a', '/a', ok),
      client => client.post('/a', { body: Buffer.alloc(2_000_000), headers: { 'content-type': 'text/plain' } }),
      'a larger body needs "_body_limit" in the defaults of the route',
    ],
    [({ routes }) => routes.get('a', '/a', { page: queryValue(asInteger) }, ok), client => client.get('/a?page=x')],
  ],
  'a mail that is not awaited': [
    [
      ({ routes }) =>
        routes.post('a', '/a', async () => {
          mailer.sendMail({ to: 'ada@example.org', subject: 'Hello' })
          return ok()
        }),
      client => client.post('/a'),
      'does not await mailer.sendMail(), and a mail that fails may end the process',
    ],
    ...[
      async () => {
        await mailer.sendMail({ to: 'ada@example.org' })
        return ok()
      },
      async () => {
        const sending = mailer.sendMail({ to: 'ada@example.org' })
        await Promise.all([sending, mailer.sendMail({ to: 'bob@example.org' })])
        return ok()
      },
      () => {
        mailer.sendMail({ to: 'ada@example.org' }).catch(() => undefined)
        mailer
          .sendMail({ to: 'ada@example.org' })
          .then(ok)
          .catch(() => undefined)
        return ok()
      },
      () => {
        void mailer.sendMail({ to: 'ada@example.org' })
        return ok()
      },
      () => {
        mailer.sendMail({ to: 'ada@example.org' }, () => undefined)
        return ok()
      },
      () => mailer.sendMail({ to: 'ada@example.org' }).then(ok),
    ].map((controller): Case => [({ routes }) => routes.post('a', '/a', controller), client => client.post('/a')]),
  ],
  'a name of CommonJS': [
    [
      ({ routes }) => routes.get('a', '/a', () => Response.text(new Function('return __dirname')())),
      get,
      'Sources are ES modules: write path.join(app.directory, …)',
    ],
  ],
  'a property of a response that is called': [
    [
      // The compiler refuses it.
      ({ routes }) => routes.get('a', '/a', () => (Response.json({}) as unknown as Chained).status(404)),
      get,
      'A response has "status" as a property: use the options of its function',
    ],
    [({ routes }) => routes.get('a', '/a', () => Object({ results: 1 }).results()), get],
  ],
  'a redirect to the name of a route': [
    [
      ({ routes }) => {
        routes.get('books', '/books/all', ok)
        routes.get('a', '/a', () => Response.redirect('books'))
      },
      get,
      'The route "a" redirects to "books", which is a URL beside its own',
    ],
    [
      ({ routes }) => {
        routes.get('books', '/books', ok)
        routes.get('a', '/a', () => Response.redirect('/books'))
        routes.get('b', '/b', () => Response.redirect('page-2'))
      },
      async client => {
        await client.get('/a')
        await client.get('/b')
      },
    ],
  ],
  'an etag without quotes': [
    [
      ({ routes }) => routes.get('a', '/a', () => Response.text('a', { headers: { etag: 'v7' } })),
      get,
      'The etag v7 of the route "a" is not in double quotes',
    ],
    [({ routes }) => routes.get('a', '/a', () => Response.text('a', { headers: { etag: '"v7"' } })), get],
    [({ routes }) => routes.get('a', '/a', () => Response.text('a', { headers: { etag: 'W/"7 a"' } })), get],
    [({ routes }) => routes.get('a', '/a', () => Response.text('a').withEtag()), get],
  ],
  'a route for the path of the health checks': [
    [
      ({ routes, signals }) => {
        routes.get('health', '/_health', ok)
        signals.on('kernel.booted', () =>
          signals.emit('server.listening', { url: own, environment: 'dev', worker: 1 } as never),
        )
      },
      client => client.get('/_health'),
      'The route "health" (/_health) is never reached by GET',
    ],
    [
      ({ routes, signals }) => {
        routes.post('health', '/_health', ok)
        routes.get('healthy', '/_healthy', ok)
        signals.on('kernel.booted', () =>
          signals.emit('server.listening', { url: own, environment: 'dev', worker: 1 } as never),
        )
      },
      client => client.get('/_healthy'),
    ],
  ],
  'a method that forms do not send': [
    [({ routes }) => routes.delete('a', '/a', ok), client => client.get('/a'), '?_method=DELETE has that method'],
    [({ routes }) => routes.put('a', '/a', ok), client => client.post('/a', { form: {} }), '?_method=PUT'],
    [({ routes }) => routes.post('a', '/a', ok), client => client.get('/a')],
    [({ routes }) => routes.get('a', '/a', ok), client => client.delete('/a')],
  ],
  'a preflight request without CORS': [
    [
      ({ routes }) => routes.put('a', '/a', ok),
      client =>
        client.request('OPTIONS', '/a', {
          headers: { origin: 'https://b.test', 'access-control-request-method': 'PUT' },
        }),
      'allow it by the option "cors" of createFrameworkBundle()',
    ],
    [({ routes }) => routes.put('a', '/a', ok), client => client.request('OPTIONS', '/a')],
  ],
  'a file by its place in the application': [
    [
      ({ files }) => files.add('shop', `${process.cwd()}/docs/images`),
      client => client.get('/docs/images/timeline.webp'),
      'The URL of the file docs/images/timeline.webp is /assets/shop/timeline.webp.',
    ],
    [
      ({ files }) => files.add('shop', `${process.cwd()}/docs/images`),
      client => client.get('/timeline.webp'),
      'The URL of the file docs/images/timeline.webp is /assets/shop/timeline.webp.',
    ],
    [({ files }) => files.add('shop', `${process.cwd()}/docs/images`), client => client.get('/docs/images/none.webp')],
  ],
  'a number of a form that the schema does not convert': [
    [
      ({ routes }) => routes.post('a', '/a', { form: formBody(age) }, ok),
      client => client.post('/a', { form: { age: '3' } }),
      'its schema wants a number for "age", but fields of forms and queries are texts',
    ],
    [
      ({ routes }) => routes.get('a', '/a', { query: queryValues(age) }, ok),
      client => client.get('/a?age=3'),
      'wants a number for "age"',
    ],
    [
      ({ routes }) => routes.post('a', '/a', { form: formBody(age) }, ok),
      client => client.post('/a', { form: { age: 'three' } }),
    ],
  ],
  'a path for a tag of the page cache': [
    [
      ({ routes }) => {
        routes.add({ name: 'a', path: '/a', methods: ['GET'], defaults: cached, controller: ok })
        routes.post('b', '/b', async () => {
          await pages.purge('/a')
          return ok()
        })
      },
      async client => {
        await client.get('/a')
        await client.post('/b')
      },
      'pages.purge("/a") takes tags',
    ],
    [
      ({ routes }) => {
        const tagged = () => Response.text('a', { headers: { 'cache-tag': '/a, news' } })
        routes.add({ name: 'a', path: '/a', methods: ['GET'], defaults: cached, controller: tagged })
        routes.post('b', '/b', async () => {
          await pages.purge('/a', 'news')
          return ok()
        })
      },
      async client => {
        await client.get('/a')
        await client.post('/b')
      },
    ],
  ],
}

t.test('a purge of a tag that no page has had is in the log, with the nearest tag', async t => {
  const pages = createPageCache()
  const purge = ({ routes }: Application) => {
    const tagged = () => Response.text('a', { headers: { 'cache-tag': 'notes, front' } })
    routes.add({ name: 'a', path: '/a', methods: ['GET'], defaults: cached, controller: tagged })
    routes.post('b', '/b', async request => {
      await pages.purge(await request.text())
      return ok()
    })
  }
  const bundles = [createFrameworkBundle(), pages, { name: 'shop', register: purge }]
  const { client, close, records } = await createTestKernel({ bundles })
  t.teardown(close)
  await client.get('/a')
  for (const body of ['note', 'notes', 'front']) await client.post('/b', { body })
  const said = records.map(({ message }) => message).filter(message => message.startsWith('pages.purge'))
  t.match(said, [/^pages\.purge\("note"\) .* as Cache-Tag; the nearest is "notes"\.$/])
})

for (const [name, rows] of Object.entries(cases)) {
  t.test(`${name} is explained in the log, right uses are not`, async t => {
    const offences: string[] = []
    for (const [index, [register, send, warning]] of rows.entries()) {
      const bundles = [
        createFrameworkBundle(),
        pages,
        { name: 'shop', register: (app: Application) => void register(app) },
      ]
      const { client, close, records } = await createTestKernel({ bundles })
      await send(client)
      await close()
      const said = records
        .filter(({ level, message }) => level === 'warning' && !message.startsWith('The page cache stores nothing'))
        .map(({ message }) => message)
      const isRight = warning === undefined ? said.length === 0 : said.some(message => message.includes(warning))
      if (!isRight) offences.push(`${index}: ${JSON.stringify(said)}`)
    }
    t.strictSame(offences, [])
  })
}

t.test('in production a proxy that is not trusted is named once, if its address is a private one', async t => {
  const variables = { APP_ENV: 'prod', APP_HOSTS: 'localhost' }
  const forwarded = { headers: { 'x-forwarded-for': '203.0.113.9' } }
  const warningsOf = async (remoteAddress: string, more: Record<string, string> = {}) => {
    const bundles = [createFrameworkBundle()]
    const { close, createClient, records } = await createTestKernel({ bundles, variables: { ...variables, ...more } })
    const client = createClient({ remoteAddress })
    for (const init of [{}, forwarded, forwarded]) await client.get('/', init)
    await close()
    return records.filter(({ level }) => level === 'warning').map(({ message }) => message)
  }
  const [message, ...others] = await warningsOf('10.0.0.2')
  t.match(message, /^A request from 10\.0\.0\.2 has X-Forwarded-For, .* set TRUSTED_PROXIES=10\.0\.0\.2\.$/)
  t.strictSame(others, [])
  t.strictSame(await warningsOf('203.0.113.7'), [], 'a client of the internet')
  t.strictSame(await warningsOf('10.0.0.2', { TRUSTED_PROXIES: '10.0.0.0/8' }), [])
})

t.test('work that goes on for a stream that is over is warned of, and the right end of it is not', async t => {
  const warned: string[] = []
  // Kernels of other tests may be named, too.
  const onWarning = ({ message }: Error) => void (/EventStream/.test(message) && warned.push(message))
  process.on('warning', onWarning)
  t.teardown(() => process.off('warning', onWarning))
  const timers: NodeJS.Timeout[] = []
  let sent = 0
  const tick = (stream: EventStream) =>
    setInterval(() => {
      sent++
      stream.send({ data: 'tick' })
    }, 1)
  const { client, close } = await createTestKernel({
    bundles: [
      createFrameworkBundle(),
      {
        name: 'shop',
        register({ routes }) {
          routes.get('wrong', '/wrong', request => new EventStream(request, stream => void timers.push(tick(stream))))
          routes.get('right', '/right', request => {
            return new EventStream(request, stream => {
              const timer = tick(stream)
              return () => clearInterval(timer)
            })
          })
        },
      },
    ],
  })
  for (const path of ['/right', '/wrong']) {
    const stream = await client.open(path)
    await stream.readUntil('tick')
    await stream.close()
  }
  await until(() => warned.length > 0)
  for (const timer of timers) clearInterval(timer)
  await close()
  t.match(warned, [/^20 events were sent to an EventStream that is over: .* \(\) => clearInterval\(timer\)\.$/])
  t.ok(sent > 20)
})

t.test('an interval that outlives its kernel for tests is named, one that is cleared is not', async t => {
  const warned: string[] = []
  const onWarning = ({ message }: Error) => void warned.push(message)
  process.on('warning', onWarning)
  t.teardown(() => process.off('warning', onWarning))
  const timers: NodeJS.Timeout[] = []
  for (const isCleared of [true, false]) {
    const { close } = await createTestKernel({
      bundles: [
        {
          name: 'shop',
          register() {
            timers.push(setInterval(() => undefined, 1000))
            timers.push(setInterval(() => undefined, 1000).unref())
            timers.push(setTimeout(() => undefined, 50))
          },
          close() {
            if (isCleared) timers.splice(0).forEach(clearInterval)
          },
        },
      ],
    })
    await close()
  }
  await until(() => warned.length > 0)
  timers.forEach(clearInterval)
  t.match(warned, [/^The interval of tests\/application\/advice\.test\.ts:\d+ still runs after close\(\): clear it/])
})

t.test('tags of Twig and EJS are refused in a page, and shown in an element for code', async t => {
  const boot = (page: string) => {
    const directory = t.testdir({ templates: { shop: { 'page.hbs': page } } })
    return createTestKernel({ bundles: [createFrameworkBundle(), { name: 'shop', register() {} }], directory })
  }
  const foreign = {
    '<ul>\n{% for item in items %}<li></li>{% endfor %}': 'line 2: {% for item in items %} is of another language',
    '{{#if a}}1{{elseif b}}2{{/if}}': 'line 1: there is no helper "elseif": write {{else if value}}',
    "{{extends 'layout'}}": 'line 1: there is no helper "extends": a layout is a partial with a block',
    '{{#each items as item}}{{/each}}': 'a name for each item is "as |item|"',
    '{% extends "base.html" %}': 'line 1: {% extends "base.html" %} is of another language, templates are Handlebars',
    '<p><%= title %></p>': 'line 1: <%= title %> is of another language',
  }
  for (const [page, message] of Object.entries(foreign)) {
    await t.rejects(boot(page), { code: 'VIEW_TEMPLATE_INVALID', message })
  }
  const right = [
    '<code>{% for item in items %}</code>',
    '<pre>\n{% if a %}\n</pre>',
    '<script type="text/template"><%= title %></script>',
    '<textarea>{% block a %}</textarea>',
    '<!-- {% for a in b %} -->',
    '{{!-- {% for a in b %} --}}',
    '<p>100 {%} and 5 <% 6</p>',
    '<style>a { width: 10% }</style>',
    '{{#if a}}{{a}}%{{/if}}',
    '<a href="?q={%22a%22}">a</a>',
  ]
  for (const page of right) await boot(page).then(({ close }) => close())
})
