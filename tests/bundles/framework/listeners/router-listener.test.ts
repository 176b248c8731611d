import { type Bundle, createFrameworkBundle, type Request } from 'sinfonietta'
import { createRequest, createRequestEvent, createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { RouterListener } from '#bundles/framework/listeners/router-listener.ts'
import { redirectController } from '#kernel/controller.ts'
import { Response } from '#lib/http/response.ts'
import { StaticFiles } from '#lib/http/static-files.ts'
import { RouteCollection } from '#lib/routing/route-collection.ts'
import { UrlGenerator } from '#lib/routing/url-generator.ts'
import { createRecorder } from '#tests/support/recording-logger.ts'

const controller = () => new Response()

const noRoutes = new RouteCollection()

const services = { directory: '/app', files: new StaticFiles(), routes: noRoutes, urls: new UrlGenerator(noRoutes) }

function createListener() {
  const routes = new RouteCollection()
  routes.add({ name: 'item', path: '/item/:id', methods: ['GET', 'PUT'], defaults: { _format: 'json' }, controller })
  routes.add({ name: 'slash', path: '/slash/', controller })
  const { logger, records } = createRecorder()
  return {
    listener: new RouterListener({ ...services, debugGate: { isDebug: true }, logger, routes }),
    records,
    routes,
  }
}

function route(request: Request): Request {
  createListener().listener.onRequest(createRequestEvent({ request }))
  return request
}

/** The error with which the listener fails a request. */
function errorOf(request: Request, { listener } = createListener()): Error {
  const event = createRequestEvent({ request })
  listener.onRequest(event)
  return event.failure?.error as Error
}

t.test('route, parameters, defaults and controller become attributes', async t => {
  const { attributes } = route(createRequest('/item/7'))
  t.equal(attributes.get('_route_params')?.id, '7')
  t.equal(attributes.get('_format'), 'json')
  t.equal(attributes.get('_route'), 'item')
  t.hasStrict(attributes.get('_route_params'), { id: '7', _format: 'json' })
  t.equal(attributes.get('_controller'), controller)
})

t.test('the match is logged', async t => {
  const { listener, records } = createListener()
  listener.onRequest(createRequestEvent({ request: createRequest('/item/7') }))
  t.hasStrict(records, [
    {
      level: 'debug',
      channel: 'request',
      message: 'Matched route "item".',
      context: { route: 'item', request_uri: 'http://localhost/item/7', method: 'GET' },
    },
  ])
})

t.test('the match is not logged where the route says so', async t => {
  const { listener, records, routes } = createListener()
  routes.add({ name: 'quiet', path: '/quiet', controller, defaults: { _log: false } })
  const request = createRequest('/quiet')
  listener.onRequest(createRequestEvent({ request }))
  t.equal(request.attributes.get('_route'), 'quiet')
  t.strictSame(records, [])
})

t.test('a request that has a controller keeps it', async t => {
  const request = createRequest('/nowhere')
  request.attributes.set('_controller', 'error_controller')
  t.equal(route(request).attributes.get('_controller'), 'error_controller')
  t.notOk(request.attributes.has('_route'))
})

t.test('no route: 404 with the full URL but its query, and the path as its cause', async t => {
  const error = errorOf(createRequest('/open/?a=1'))
  t.match(error, { code: 'KERNEL_NO_ROUTE', status: 404, message: 'No route found for "GET http://localhost/open/"' })
  t.match(error.cause, { code: 'ROUTE_NOT_FOUND', message: 'No routes found for "/open".' })
})

t.test('the cause of a 404 names the path as it was sent', async t => {
  const { cause } = errorOf(createRequest('/caf%C3%A9%0d%0a/'))
  t.equal((cause as Error).message, 'No routes found for "/caf%C3%A9%0d%0a".')
})

t.test('the message of a 404 names the referer, unless it is empty', async t => {
  const referred = errorOf(createRequest('/a', { headers: { referer: 'https://example.org/x?b=1' } }))
  t.equal(referred.message, 'No route found for "GET http://localhost/a" (from "https://example.org/x?b=1")')
  const empty = errorOf(createRequest('/a', { headers: { referer: '' } }))
  t.equal(empty.message, 'No route found for "GET http://localhost/a"')
})

t.test('another method: 405 that says which are allowed, without the referer', async t => {
  const error = errorOf(createRequest('/item/7', { method: 'POST', headers: { referer: 'https://example.org/' } }))
  t.match(error, {
    code: 'KERNEL_METHOD_NOT_ALLOWED',
    status: 405,
    headers: { allow: 'GET, PUT' },
    message: 'No route found for "POST http://localhost/item/7": Method Not Allowed (Allow: GET, PUT)',
    cause: { code: 'ROUTE_METHOD_NOT_ALLOWED', message: '' },
  })
})

t.test('a missing slash is answered by the redirect controller, under the name of the route', async t => {
  const request = createRequest('/slash?a=%20b')
  const { attributes } = route(request)
  t.equal(attributes.get('_route'), 'slash')
  t.equal(attributes.get('_controller'), redirectController)
  const response = redirectController.call(request) as Response
  t.equal(response.status, 301)
  t.equal(response.headers.get('location'), 'http://localhost/slash/?a=%20b')
})

t.test('outside of debug mode a miss has no cause and no stack', async t => {
  const { logger } = createRecorder()
  const { stackTraceLimit } = Error
  const listener = new RouterListener({ ...services, debugGate: { isDebug: false }, logger })
  const error = errorOf(createRequest('/x'), { ...createListener(), listener })
  t.equal(error.message, 'No route found for "GET http://localhost/x"')
  t.equal(error.cause, undefined)
  t.notMatch(error.stack, /\n +at /)
  t.match(errorOf(createRequest('/x')).stack, /\n +at /)
  t.equal(Error.stackTraceLimit, stackTraceLimit)
})

t.test('prepared routes are not read again, until there is another one', async t => {
  const { listener, routes } = createListener()
  listener.prepare()
  let reads = 0
  const read = routes[Symbol.iterator].bind(routes)
  Object.defineProperty(routes, Symbol.iterator, { value: () => [++reads, read()][1] })
  const find = (path: string) => {
    const request = createRequest(path)
    listener.onRequest(createRequestEvent({ request }))
    return [request.attributes.get('_route'), reads]
  }
  t.strictSame(find('/item/7'), ['item', 0])
  routes.get('later', '/later', controller)
  t.strictSame(find('/later'), ['later', 1])
  t.strictSame(find('/item/7'), ['item', 1])
})

t.test('an application prepares its routes when it boots', async t => {
  const pages: Bundle = { name: 'pages', register: ({ routes }) => void routes.get('page', '/page', controller) }
  const { app, client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), pages] })
  t.teardown(close)
  Object.defineProperty(app.routes, Symbol.iterator, { value: () => t.fail('the routes are read') })
  t.equal((await client.get('/page')).status, 200)
})
