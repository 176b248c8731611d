import { t } from 'tap'
import { RequestType } from '../../../kernel/request-type.ts'
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
} from '../../../kernel/testing/event-factories.ts'
import { Response } from '../../../lib/http/response.ts'

const handler = () => new Response('done')

t.test('each event is made with what a test says, and the plainest of everything else', async t => {
  const request = createRequest('/here', { method: 'POST', headers: { host: 'a.test', 'x-a': '1' } })
  const kernel = createBareKernel()
  const type = RequestType.Sub
  const response = new Response('given')
  const events = [
    createRequestEvent({ request, kernel, type }),
    createControllerEvent(handler, { request, kernel, type }),
    createControllerArgumentsEvent(handler, [1], { request, kernel, type }),
    createViewEvent('result', { request, kernel, type }),
    createResponseEvent({ request, kernel, type, response }),
    createFinishRequestEvent({ request, kernel, type }),
    createExceptionEvent(new Error('lost'), { request, kernel, type }),
  ]
  for (const event of events) {
    t.equal(event.request, request)
    t.equal(event.kernel, kernel)
    t.notOk(event.isMainRequest)
  }
  t.equal(request.url, 'http://a.test/here')
  t.equal(createControllerEvent(handler).controller.name, 'handler')
  t.strictSame(createControllerArgumentsEvent(handler, [1]).arguments, [1])
  t.equal(createTerminateEvent({ response }).response, response)
  t.equal(createTerminateEvent().response.status, 200)
  t.equal(createRequestEvent().request.url, 'http://localhost/')
  t.equal(createRequestEvent().request.clientIp, '127.0.0.1')
})

t.test('a listener that wants a logger can be given a silent one', async t => {
  t.equal(silentLogger.channel('any'), silentLogger)
  t.equal(silentLogger.info('anything'), undefined)
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
