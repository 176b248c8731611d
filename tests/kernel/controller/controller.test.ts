import { asInteger, asListOf, asOneOf, asText, type Controller, type Request, type Routes } from 'sinfonietta'
import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import { cookieValue, headerValue, queryValue, routeParameter, uploadedFile } from '#kernel/argument-sources.ts'
import { ControllerResolver, defineController, resolveArguments, toController } from '#kernel/controller.ts'
import { RouteCollection } from '#lib/routing/route-collection.ts'

function requestWith(attributes: Record<string, unknown>, target = '/'): Request {
  const request = createRequest(target)
  for (const [name, value] of Object.entries(attributes)) request.attributes.set(name, value)
  return request
}

t.test('a controller is found itself, as a function, or by its registered name', async t => {
  const resolver = new ControllerResolver()
  const controller = defineController('home', () => 'home')
  resolver.register('named', controller)
  t.equal(resolver.resolve(requestWith({ _controller: controller })), controller)
  t.equal(resolver.resolve(requestWith({ _controller: 'named' })), controller)
  function index() {}
  const ofFunction = resolver.resolve(requestWith({ _controller: index }))
  t.equal(ofFunction.name, 'index')
  t.equal(resolver.resolve(requestWith({ _controller: index })), ofFunction, 'made once')
  t.equal(toController(() => undefined).name, 'anonymous')
  const { controller: inline } = { controller: () => undefined }
  t.equal(
    resolver.resolve(requestWith({ _controller: inline, _route: 'home' })).name,
    'home',
    'JavaScript names it "controller"',
  )
})

t.test('a request without a controller, or with one that is none, is an error that says so', async t => {
  const resolver = new ControllerResolver()
  t.throws(() => resolver.resolve(requestWith({}, '/here')), {
    code: 'KERNEL_CONTROLLER_MISSING',
    message: /path "\/here"\. .* is createFrameworkBundle\(\) in the list of bundles\?$/,
  })
  for (const wanted of ['unknown', 5, null, {}, []]) {
    t.throws(() => resolver.resolve(requestWith({ _controller: wanted })), { code: 'KERNEL_CONTROLLER_INVALID' })
  }
})

t.test('arguments come from the request, the route and the query, in the types of their declaration', async t => {
  const controller = defineController(
    'item',
    { id: routeParameter(asInteger), slug: routeParameter(), page: queryValue(asInteger, 1), q: queryValue() },
    ({ id, slug, page, q }, request) => [id, slug, page, q, request],
  )
  const request = requestWith({ id: '7', slug: 'a' }, '/?q=x')
  t.strictSame(resolveArguments(controller, request), [{ id: 7, slug: 'a', page: 1, q: 'x' }, request])
})

t.test('a custom argument may have to be waited for', async t => {
  const sources = { user: async () => 'user', two: () => 2 }
  const controller = defineController('mixed', sources, ({ user, two }) => [user, two])
  const request = createRequest()
  t.strictSame(await resolveArguments(controller, request), [{ user: 'user', two: 2 }, request])
})

t.test('a bad route value means no such page, a bad query value a bad request', async t => {
  const request = requestWith({ id: 'x', _route: 'item' }, '/?page=x')
  t.throws(() => routeParameter('id', asInteger)(request), {
    code: 'KERNEL_ROUTE_VALUE_INVALID',
    status: 404,
    message: 'The route parameter "id" must be an integer of 32 bits, not "x".',
  })
  // PostgreSQL and MySQL refuse such ids of a column of the type integer.
  for (const id of ['2147483648', '-2147483649', '9007199254740991']) {
    const error = { code: 'KERNEL_ROUTE_VALUE_INVALID', status: 404 }
    t.throws(() => routeParameter('id', asInteger)(requestWith({ id, _route: 'item' })), error, id)
  }
  t.throws(() => queryValue('page', asInteger)(request), {
    code: 'KERNEL_QUERY_VALUE_INVALID',
    status: 400,
    message: 'The query parameter "page" must be an integer of 32 bits, not "x".',
  })
  t.throws(() => queryValue('q')(request), { code: 'KERNEL_QUERY_VALUE_MISSING', status: 400 })
  t.throws(() => routeParameter('name')(request), {
    code: 'KERNEL_ARGUMENT_MISSING',
    status: 500,
    message: /"name".*"item"/,
  })
})

t.test('a missing value has the nearest name that the client has sent', async t => {
  const request = createRequest('/?categroy=ink&a=1', {
    headers: { 'user-agent': 'x', cookie: 'thene=dark; b=1' },
  })
  const messages = [
    queryValue('category'),
    queryValue('b'),
    headerValue('userAgent'),
    headerValue('user'),
    cookieValue('theme'),
  ].map(source => {
    try {
      return source(request)
    } catch (error) {
      return String(error).replace(/^\w+: /, '')
    }
  })
  t.strictSame(messages, [
    'The query parameter "category" is missing; the nearest is "categroy".',
    'The query parameter "b" is missing.',
    'The header "userAgent" is missing; the nearest is "user-agent".',
    'The header "user" is missing.',
    'The cookie "theme" is missing; the nearest is "thene".',
  ])
})

t.test('headers and cookies are converted; their values are in no message, because they may be secret', async t => {
  const request = createRequest('/', {
    headers: { 'x-depth': '3', 'x-key': 'hunter2', cookie: 'theme=dark; sid=hunter2' },
  })
  t.equal(headerValue('X-Depth', asInteger)(request), 3)
  t.equal(headerValue('x-key')(request), 'hunter2')
  t.equal(headerValue('x-none', asInteger, 7)(request), 7)
  t.throws(() => headerValue('x-none')(request), {
    code: 'KERNEL_HEADER_MISSING',
    status: 400,
    message: 'The header "x-none" is missing.',
  })
  t.throws(() => headerValue('x-key', asInteger)(request), {
    code: 'KERNEL_HEADER_INVALID',
    status: 400,
    message: 'The header "x-key" must be an integer of 32 bits.',
  })
  t.equal(cookieValue('theme', asOneOf('dark', 'light'))(request), 'dark')
  t.equal(cookieValue('sid')(request), 'hunter2')
  t.equal(cookieValue('none', asText, 'new')(request), 'new')
  t.throws(() => cookieValue('none')(request), {
    code: 'KERNEL_COOKIE_MISSING',
    status: 400,
    message: 'The cookie "none" is missing.',
  })
  t.throws(() => cookieValue('sid', asInteger)(request), {
    code: 'KERNEL_COOKIE_INVALID',
    status: 400,
    message: 'The cookie "sid" must be an integer of 32 bits.',
  })
})

t.test('a list of the query has commas, repeated names, or both', async t => {
  const ids = queryValue('id', asListOf(asInteger), [])
  t.strictSame(ids(createRequest('/?id=1,2&id=3')), [1, 2, 3])
  t.strictSame(ids(createRequest('/?id=')), [])
  t.strictSame(ids(createRequest('/')), [])
  t.throws(() => ids(createRequest('/?id=1&id=x')), {
    code: 'KERNEL_QUERY_VALUE_INVALID',
    message: 'The query parameter "id" must be a list with commas, each entry an integer of 32 bits, not "1,x".',
  })
  t.throws(() => queryValue('id', asListOf(asInteger))(createRequest('/')), { code: 'KERNEL_QUERY_VALUE_MISSING' })
  t.equal(queryValue('id')(createRequest('/?id=1&id=2')), '1', 'else the first value counts')
})

t.test('a source without a name has the name of its key', async t => {
  const controller = defineController(
    'item',
    {
      id: routeParameter(asInteger),
      slug: routeParameter(),
      page: queryValue(asInteger, 1),
      sort: queryValue('order', asText, 'name'),
      'x-depth': headerValue(asInteger),
      theme: cookieValue(asOneOf('dark', 'light')),
      constructor: queryValue(asText, 'none'),
    },
    values => values,
  )
  const headers = { 'x-depth': '3', cookie: 'theme=dark' }
  const request = createRequest('/?order=age', { headers, attributes: { id: '7', slug: 'a' } })
  const [values] = await resolveArguments(controller, request)
  const expected = { id: 7, slug: 'a', page: 1, sort: 'age', 'x-depth': 3, theme: 'dark', constructor: 'none' }
  t.strictSame(values, expected)
  t.throws(() => routeParameter(asInteger)(request), {
    code: 'KERNEL_CONTROLLER_INVALID',
    message: /the name of its key/,
  })
})

t.test('a file is an argument if one was chosen', async t => {
  const send = (part: string) => {
    const boundary = 'edge'
    const body = `--${boundary}\r\ncontent-disposition: form-data; ${part}\r\n--${boundary}--\r\n`
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
    return uploadedFile('cover')(createRequest('/', { method: 'POST', headers, body }))
  }
  const file = await send('name="cover"; filename="a.png"\r\ncontent-type: image/png\r\n\r\nabc')
  t.match(file, { name: 'a.png', type: 'image/png', size: 3 })
  t.equal((await send('name="cover"; filename="empty.txt"\r\n\r\n')).size, 0, 'an empty file is a file')
  const text = ': it has a text of this name. A form with files has enctype="multipart/form-data"'
  for (const [part, explanation] of [
    ['name="cover"; filename=""\r\n\r\n', ''],
    ['name="cover"\r\n\r\ntext', text],
    ['name="other"; filename="a.png"\r\n\r\nabc', ': it has "other"'],
  ] as const) {
    const missing = { code: 'KERNEL_FILE_MISSING', status: 422, message: `The form has no file "cover"${explanation}.` }
    await t.rejects(Promise.resolve(send(part)), missing)
  }
})

t.test('a registered controller can be put in the place of another, which must be there', async t => {
  const resolver = new ControllerResolver()
  resolver.register(
    'page',
    toController(() => 'inner'),
  )
  resolver.decorate('page', inner => ({ ...inner, call: () => `outer ${String(inner.call())}` }))
  const request = createRequest()
  request.attributes.set('_controller', 'page')
  t.equal(resolver.resolve(request).call(), 'outer inner')
  t.throws(() => resolver.decorate('pagee', inner => inner), {
    code: 'KERNEL_CONTROLLER_INVALID',
    message: /registered controller; the nearest is "page"\.$/,
  })
})

t.test('the types of the values come from the sources, for every way to write the function', async t => {
  const sources = { id: routeParameter(asInteger), q: queryValue() }
  async function declared({ id }: { readonly id: number }, { path }: Request): Promise<string> {
    return id.toFixed(2) + path
  }
  const named = ({ q }: { readonly q: string }) => q.trim()
  const controllers = [
    defineController('none', () => 1),
    defineController('request', ({ path }, { id }) => path + String(id)),
    defineController('fewer', sources, () => 1),
    defineController('first', sources, ({ id }) => id.toFixed(1)),
    defineController('async', { text: async () => 'text' }, async ({ text }, { path }) => text.trim() + path),
    defineController('declared', { id: routeParameter(asInteger) }, declared),
    defineController('named', { q: queryValue() }, named),
  ]
  const request = requestWith({ id: '7', _route_params: { id: '7' } }, '/?q=%20x')
  const results = controllers.map(async each => each.call(...(await resolveArguments(each, request))))
  t.strictSame(await Promise.all(results), [1, '/7', 1, '7.0', 'text/', '7.00/', 'x'])
})

t.test('a promise among the values is awaited, and so is any other object with a `then`', async t => {
  // biome-ignore lint/suspicious/noThenProperty: such as a query of a database library
  const query = { then: (fulfil: (rows: string[]) => void) => fulfil(['row']) } as unknown as PromiseLike<string[]>
  const rows = () => query
  const request = createRequest()
  for (const other of [() => 1, async () => 1]) {
    const controller = defineController('query', { rows, other }, () => 1)
    t.strictSame(await resolveArguments(controller, request), [{ rows: ['row'], other: 1 }, request])
  }
  const plain = defineController('plain', { one: () => 1 }, () => 1)
  t.strictSame(resolveArguments(plain, request), [{ one: 1 }, request], 'without a promise the values come at once')
})

t.test('an argument that throws is the error, and earlier arguments that reject do not end the process', async t => {
  const unhandled: unknown[] = []
  const note = (error: unknown) => unhandled.push(error)
  process.on('unhandledRejection', note)
  t.teardown(() => process.off('unhandledRejection', note))
  const invalid = async () => {
    throw new Error('The body is not valid.')
  }
  const controller = defineController('item', { input: invalid, id: routeParameter(asInteger) }, () => 1)
  t.throws(() => resolveArguments(controller, requestWith({ id: 'x' })), { code: 'KERNEL_ROUTE_VALUE_INVALID' })
  await t.rejects(resolveArguments(controller, requestWith({ id: '7' })) as Promise<unknown[]>, {
    message: 'The body is not valid.',
  })
  // Node reports unhandled rejections before the next turn of the event loop.
  await new Promise(setImmediate)
  t.strictSame(unhandled, [])
})

t.test('the compiler refuses a function with other types', async t => {
  const sources = { id: routeParameter(asInteger), at: async () => new Date() }
  const controllers = [
    defineController('a', sources, ({ at, id }) => at.getTime() + id),
    // @ts-expect-error a number
    defineController('b', sources, ({ id }: { readonly id: string }) => id),
    // @ts-expect-error no such source
    defineController('d', sources, ({ slug }) => slug),
    // @ts-expect-error a number is no source
    () => defineController('e', { page: 5 }, () => 1),
  ]
  t.equal(controllers.length, 4)
})

t.test('a function of Routes declares the routes of an application, and of each group', async t => {
  const addPages = (routes: Routes) => {
    routes.get('page', '/pages/:id', (_request, { id }) => id.trim())
    // @ts-expect-error the path has no such variable
    routes.get('slug', '/slugs/:slug', (_request, { id }) => id)
  }
  const routes = new RouteCollection<Controller>()
  addPages(routes)
  routes.group(
    { prefix: '/:_locale', name: 'local_', host: ':tenant.a.test', defaults: { _format: 'json' } },
    group => {
      addPages(group)
      group.group({ prefix: '/:year', name: 'year_', guard: 'admin' }, addPages)
    },
  )
  t.strictSame([...routes.names], ['page', 'slug', 'local_page', 'local_slug', 'local_year_page', 'local_year_slug'])
})

t.test('the compiler refuses defaults that nothing reads, also in a policy', async t => {
  const routes = new RouteCollection<Controller>()
  const controller = () => 1
  // @ts-expect-error "_rol" is not in KnownAttributes
  routes.add({ name: 'a', path: '/a', controller, defaults: { _rol: 'admin' } })
  // @ts-expect-error "_stateles" is not in KnownAttributes
  routes.add({ name: 'b', path: '/b', controller, defaults: { _stateles: true } })
  // @ts-expect-error maxAges is no option
  routes.add({ name: 'c', path: '/c', controller, defaults: { _cache: { public: true, maxAges: 60 } } })
  // @ts-expect-error origin is no option
  routes.group({ name: 'd_', defaults: { _cors: { origins: [], origin: '*' } } }, () => {})
  routes.add({ name: 'e', path: '/e', controller, defaults: { _cache: { maxAge: 1 }, _cors: false, page: 1 } })
  t.equal(routes.size, 4)
})
