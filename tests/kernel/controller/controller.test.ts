import { asInteger, asListOf, asOneOf, asText, type Request } from 'sinfonietta'
import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import {
  cookieValue,
  currentRequest,
  currentSession,
  headerValue,
  queryValue,
  routeParameter,
  uploadedFile,
} from '#kernel/argument-sources.ts'
import {
  type Controller,
  ControllerResolver,
  defineController,
  resolveArguments,
  toController,
} from '#kernel/controller.ts'

function requestWith(attributes: Record<string, unknown>, target = '/'): Request {
  const request = createRequest(target)
  for (const [name, value] of Object.entries(attributes)) request.attributes.set(name, value)
  return request
}

t.test('a controller is found itself, as a function, or by its registered name', async t => {
  const resolver = new ControllerResolver()
  const controller = defineController('home', [], () => 'home')
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
    [
      routeParameter('id', asInteger),
      routeParameter('slug'),
      queryValue('page', asInteger, 1),
      queryValue('q'),
      currentRequest,
    ],
    (id: number, slug: string, page: number, q: string, request) => [id, slug, page, q, request],
  )
  const request = requestWith({ id: '7', slug: 'a' }, '/?q=x')
  t.strictSame(resolveArguments(controller, request), [7, 'a', 1, 'x', request])
})

t.test('a custom argument may have to be waited for', async t => {
  const controller = defineController('mixed', [async () => 'user', () => 2], (user: string, two: number) => [
    user,
    two,
  ])
  t.strictSame(await resolveArguments(controller, createRequest()), ['user', 2])
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
    message: 'The query parameter "id" must be a list, each entry an integer of 32 bits, not "1,x".',
  })
  t.throws(() => queryValue('id', asListOf(asInteger))(createRequest('/')), { code: 'KERNEL_QUERY_VALUE_MISSING' })
  t.equal(queryValue('id')(createRequest('/?id=1&id=2')), '1', 'else the first value counts')
})

t.test('the session is an argument, and is not used by that', async t => {
  const request = createRequest('/', { session: { user: 7 } })
  const session = currentSession(request)
  t.equal(await (await session).get('user'), 7)
  t.throws(() => currentSession(createRequest('/')), { name: 'TypeError' })
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
  const missing = { code: 'KERNEL_FILE_MISSING', status: 422, message: 'The form has no file "cover".' }
  await t.rejects(Promise.resolve(send('name="cover"; filename=""\r\n\r\n')), missing)
  await t.rejects(Promise.resolve(send('name="cover"\r\n\r\ntext')), missing)
  await t.rejects(Promise.resolve(send('name="other"; filename="a.png"\r\n\r\nabc')), missing)
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
  const sources = [routeParameter('id', asInteger), queryValue('q'), currentRequest] as const
  async function declared(id: number, { path }: Request): Promise<string> {
    return id.toFixed(2) + path
  }
  const named = (q: string) => q.trim()
  const controllers = [
    defineController('none', [], () => 1),
    defineController('fewer', [routeParameter('id', asInteger), queryValue('q')], () => 1),
    defineController('first', [routeParameter('id', asInteger), queryValue('q')], id => id.toFixed(1)),
    defineController('async', [async () => 'text', currentRequest], async (text, { path }) => text.trim() + path),
    defineController('listed', sources, (id, q, { path }) => [id + 1, q.trim(), path]),
    defineController('declared', [routeParameter('id', asInteger), currentRequest], declared),
    defineController('named', [queryValue('q')], named),
  ]
  t.strictSame(
    controllers.map(({ arguments: { length } }) => length),
    [0, 2, 2, 2, 3, 2, 1],
  )
  const request = requestWith({ id: '7' }, '/?q=%20x')
  t.equal(controllers[2]?.call(...(await resolveArguments(controllers[2], request))), '7.0')
})

t.test('a promise among the arguments is awaited, and so is any other object with a `then`', async t => {
  // biome-ignore lint/suspicious/noThenProperty: such as a query of a database library
  const query = { then: (fulfil: (rows: string[]) => void) => fulfil(['row']) } as unknown as PromiseLike<string[]>
  const rows = () => query
  for (const sources of [[rows], [rows, () => 1], [rows, async () => 1]]) {
    const controller = defineController('query', sources, () => 1)
    t.strictSame(await resolveArguments(controller, createRequest()), [['row'], 1].slice(0, sources.length))
  }
  const plain = defineController('plain', [() => 1, currentRequest], () => 1)
  const request = createRequest()
  t.strictSame(resolveArguments(plain, request), [1, request], 'without a promise the values come at once')
})

t.test('an argument that throws is the error, and earlier arguments that reject do not end the process', async t => {
  const unhandled: unknown[] = []
  const note = (error: unknown) => unhandled.push(error)
  process.on('unhandledRejection', note)
  t.teardown(() => process.off('unhandledRejection', note))
  const invalid = async () => {
    throw new Error('The body is not valid.')
  }
  const controller = defineController('item', [invalid, routeParameter('id', asInteger), currentRequest], () => 1)
  t.throws(() => resolveArguments(controller, requestWith({ id: 'x' })), { code: 'KERNEL_ROUTE_VALUE_INVALID' })
  await t.rejects(resolveArguments(controller, requestWith({ id: '7' })) as Promise<unknown[]>, {
    message: 'The body is not valid.',
  })
  // Node reports unhandled rejections before the next turn of the event loop.
  await new Promise(setImmediate)
  t.strictSame(unhandled, [])
})

type Declare<call> = (name: string, sources: typeof typedSources, call: call) => Controller
type Accepts<call> = typeof defineController extends Declare<call> ? true : false
const typedSources = [routeParameter('id', asInteger), async () => new Date(), currentRequest] as const

// The compiler refuses an answer that is not the right one.
const accepted: readonly [
  Accepts<() => void>,
  Accepts<(id: number) => void>,
  Accepts<(id: number, at: Date, request: Request) => void>,
  Accepts<(id: string) => void>,
  Accepts<(id: number, at: Promise<Date>) => void>,
  Accepts<(id: number, at: Date, request: Request, more: string) => void>,
] = [true, true, true, false, false, false]

t.test('wrong types of parameters are refused, and too many', async t => {
  t.strictSame(accepted, [true, true, true, false, false, false])
})
