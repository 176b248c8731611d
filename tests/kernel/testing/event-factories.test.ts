import {
  createBareKernel,
  createControllerArgumentsEvent,
  createControllerEvent,
  createExceptionEvent,
  createFinishRequestEvent,
  createRequest,
  createRequestEvent,
  createResponseEvent,
  createTerminateEvent,
  createViewEvent,
  silentLogger,
} from 'sinfonietta/testing'
import { t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { TrustedProxies } from '#lib/http/trusted-proxies.ts'

const handler = () => new Response('done')

t.test('each event is made with what a test says, and the plainest of everything else', async t => {
  const main = createRequest('/here', { method: 'POST', headers: { host: 'a.test', 'x-a': '1' } })
  const request = main.duplicate()
  const { kernel } = createBareKernel()
  const response = new Response('given')
  const events = [
    createRequestEvent({ request, kernel }),
    createControllerEvent(handler, { request, kernel }),
    createControllerArgumentsEvent(handler, [1], { request, kernel }),
    createViewEvent('result', { request, kernel }),
    createResponseEvent({ request, kernel, response }),
    createFinishRequestEvent({ request, kernel }),
    createExceptionEvent(new Error('lost'), { request, kernel }),
  ]
  for (const event of events) {
    t.equal(event.request, request)
    t.equal(event.kernel, kernel)
    t.notOk(event.isMainRequest)
  }
  t.equal(request.url, 'http://a.test/here')
  t.equal(createControllerEvent(handler).controller.name, 'handler')
  t.strictSame(createControllerArgumentsEvent(handler, [1]).arguments, [1])
  t.equal(createTerminateEvent().isSent, true)
  t.equal(createTerminateEvent({ isSent: false }).isSent, false)
  t.equal(createTerminateEvent({ response }).response, response)
  t.equal(createTerminateEvent().response.status, 200)
  t.equal(createRequestEvent().request.url, 'http://localhost/')
  t.equal(createRequestEvent().request.clientIp, '127.0.0.1')
})

t.test('behind trusted proxies, the request of a test has the address that they forward', async t => {
  const headers = { 'x-forwarded-for': '203.0.113.5' }
  const trustedProxies = new TrustedProxies(['127.0.0.1'])
  t.equal(createRequest('/', { headers, trustedProxies }).clientIp, '203.0.113.5')
  t.equal(createRequest('/', { headers }).clientIp, '127.0.0.1')
})

t.test('every event can be made without saying anything', async t => {
  const resolved = createControllerArgumentsEvent()
  t.strictSame(resolved.arguments, [resolved.request, Object.create(null)])
  t.hasStrict(resolved.controller.call(), { status: 200 })
  t.equal(createControllerEvent().controller.name, 'answer')
  t.strictSame(createViewEvent().result, {})
  t.match(createExceptionEvent().error, { message: 'Something failed.' })
  for (const event of [
    createRequestEvent(),
    createResponseEvent(),
    createFinishRequestEvent(),
    createTerminateEvent(),
  ]) {
    t.ok(event.isMainRequest)
  }
})

t.test('a request has what a test says', async t => {
  const request = createRequest('https://shop.test/cart?page=2', {
    method: 'PUT',
    json: { a: 1 },
    attributes: { _route: 'cart' },
    session: { user: 'ada' },
    remoteAddress: '203.0.113.9',
  })
  t.hasStrict(request, { url: 'https://shop.test/cart?page=2', method: 'PUT', clientIp: '203.0.113.9' })
  t.strictSame(await request.json(), { a: 1 })
  t.equal(request.attributes.get('_route'), 'cart')
  t.equal(await request.session.get('user'), 'ada')
  await request.session.set('user', 'grace')
  t.equal(await request.session.get('user'), 'grace')
  t.equal(createRequest('http://shop.test').path, '/')
  t.equal(createRequest('http://shop.test?a').url, 'http://shop.test/?a')
  t.equal(createRequest('/', { headers: { Host: 'a.test' } }).hostname, 'a.test')
  t.throws(() => createRequest().session, /In a test, use createRequest\(path, \{ session: \{\} \}\)\.$/)
  t.ok(createRequest('no slash').problem, 'what is wrong stays wrong')
})

t.test('a listener that wants a logger can be given a silent one', async t => {
  t.equal(silentLogger.channel('any'), silentLogger)
  t.equal(silentLogger.info('anything'), undefined)
  t.equal(silentLogger.isLevelEnabled('critical'), false)
  const stop = silentLogger.observe(record => t.fail(record.message))
  silentLogger.error('anything')
  stop()
})

t.test('the kernel of an event works, and says nothing', async t => {
  const { kernel, request } = createRequestEvent()
  request.attributes.set('_controller', handler)
  t.equal((await kernel.handle(request)).body, 'done')
  t.equal((await kernel.handle(createRequest())).status, 500)
})
