import { t } from 'tap'
import { toController } from '../../kernel/controller/controller.ts'
import type { ControllerArgumentsEvent } from '../../kernel/events/controller-arguments-event.ts'
import type { ControllerEvent } from '../../kernel/events/controller-event.ts'
import type { ExceptionEvent } from '../../kernel/events/exception-event.ts'
import type { FinishRequestEvent } from '../../kernel/events/finish-request-event.ts'
import { RequestEvent } from '../../kernel/events/request-event.ts'
import type { ResponseEvent } from '../../kernel/events/response-event.ts'
import type { TerminateEvent } from '../../kernel/events/terminate-event.ts'
import type { ViewEvent } from '../../kernel/events/view-event.ts'
import { RequestType } from '../../kernel/request-type.ts'
import {
  createControllerArgumentsEvent,
  createControllerEvent,
  createExceptionEvent,
  createFinishRequestEvent,
  createRequest,
  createRequestEvent,
  createResponseEvent,
  createTerminateEvent,
  createViewEvent,
} from '../../kernel/testing/event-factories.ts'
import { RecordingDispatcher } from '../../kernel/testing/recording-dispatcher.ts'
import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '../../lib/http/response.ts'

/** Before routing, whose priority is 32. */
const maintenancePriority = 64

class MaintenanceListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', maintenancePriority)
  }

  onRequest(event: RequestEvent): void {
    if (event.request.path === '/status') return
    event.respond(Response.text('Back soon.', { status: 503, headers: { 'retry-after': '600' } }))
  }
}

t.test('kernel.request: while we work on it, only the status page is open', async t => {
  const listener = new MaintenanceListener()

  const cart = createRequestEvent({ request: createRequest('/cart') })
  listener.onRequest(cart)
  t.equal(cart.response?.status, 503)
  t.equal(cart.response?.headers.get('retry-after'), '600')
  t.ok(cart.isPropagationStopped, 'nobody after it hears of the request')

  const status = createRequestEvent({ request: createRequest('/status') })
  listener.onRequest(status)
  t.equal(status.response, undefined)
})

const betaCart = toController(() => Response.text('the new cart'))

class BetaListener {
  onController(event: ControllerEvent): void {
    const { controller, request } = event
    if (controller.name === 'cart' && request.cookies.get('beta') === 'yes') event.controller = betaCart
  }
}

t.test('kernel.controller: who takes part in the beta gets the new cart', async t => {
  const cart = () => Response.text('the old cart')
  const request = createRequest('/cart', { headers: { cookie: 'beta=yes' } })

  const beta = createControllerEvent(cart, { request })
  new BetaListener().onController(beta)
  t.equal(beta.controller, betaCart)

  const usual = createControllerEvent(cart)
  new BetaListener().onController(usual)
  t.equal(usual.controller.name, 'cart')
})

class TrimListener {
  onArguments(event: ControllerArgumentsEvent): void {
    event.arguments = event.arguments.map(value => (typeof value === 'string' ? value.trim() : value))
  }
}

t.test('kernel.controller_arguments: texts reach the controller without spaces around them', async t => {
  const event = createControllerArgumentsEvent(undefined, [' Ada ', 7])
  new TrimListener().onArguments(event)
  t.strictSame(event.arguments, ['Ada', 7])
})

class JsonListener {
  onView(event: ViewEvent): void {
    if (event.request.path.startsWith('/api/')) event.respond(Response.json(event.result))
  }
}

t.test('kernel.view: what a controller of the API returns becomes JSON', async t => {
  const event = createViewEvent({ items: 2 }, { request: createRequest('/api/cart') })
  new JsonListener().onView(event)
  t.equal(event.response?.body, '{"items":2}')
})

class NewsListener {
  async onResponse({ isMainRequest, request, response }: ResponseEvent): Promise<void> {
    if (!isMainRequest) return
    const unread = await request.session.get('unread')
    response.headers.set('x-unread', String(unread ?? 0))
  }
}

t.test('kernel.response: the number of unread messages is told, once', async t => {
  const request = createRequest('/', { session: { unread: 3 } })
  const page = createResponseEvent({ request })
  await new NewsListener().onResponse(page)
  t.equal(page.response.headers.get('x-unread'), '3')

  const fragment = createResponseEvent({ request, type: RequestType.Sub })
  await new NewsListener().onResponse(fragment)
  t.notOk(fragment.response.headers.has('x-unread'))
})

class LoadListener {
  current = 0

  onRequest(_event: RequestEvent): void {
    this.current++
  }

  onFinishRequest(_event: FinishRequestEvent): void {
    this.current--
  }
}

t.test('kernel.finish_request: a request that is over is no longer counted', async t => {
  const listener = new LoadListener()
  listener.onRequest(createRequestEvent())
  t.equal(listener.current, 1)
  listener.onFinishRequest(createFinishRequestEvent())
  t.equal(listener.current, 0)
})

class SoldOutError extends Error {}

class SoldOutListener {
  onException(event: ExceptionEvent): void {
    if (event.error instanceof SoldOutError) event.respond(Response.text('Sold out.', { status: 409 }))
  }
}

t.test('kernel.exception: sold out is an answer, and no failure', async t => {
  const soldOut = createExceptionEvent(new SoldOutError())
  new SoldOutListener().onException(soldOut)
  t.equal(soldOut.response?.status, 409)

  const other = createExceptionEvent(new Error('The database is gone.'))
  new SoldOutListener().onException(other)
  t.equal(other.response, undefined, 'the error page answers')
})

class ReceiptListener {
  readonly #send: (order: unknown) => void

  constructor(send: (order: unknown) => void) {
    this.#send = send
  }

  onTerminate({ isSent, request }: TerminateEvent): void {
    if (isSent && request.attributes.has('order')) this.#send(request.attributes.get('order'))
  }
}

t.test('kernel.terminate: the receipt goes out when the page has arrived', async t => {
  const sent: unknown[] = []
  const listener = new ReceiptListener(order => sent.push(order))
  const request = createRequest('/order', { method: 'POST', attributes: { order: 7 } })

  listener.onTerminate(createTerminateEvent({ request, isSent: false }))
  t.strictSame(sent, [])
  listener.onTerminate(createTerminateEvent({ request }))
  t.strictSame(sent, [7])
})

t.test('maintenance comes before everybody else', async t => {
  const dispatcher = new RecordingDispatcher()
  dispatcher.on(RequestEvent, () => t.fail('must not run'), 32, 'router')
  new MaintenanceListener().subscribe(dispatcher)

  await dispatcher.dispatch(createRequestEvent({ request: createRequest('/cart') }))
  t.strictSame(dispatcher.calls, ['kernel.request MaintenanceListener.onRequest'])

  const { skipped, stoppedBy } = dispatcher.last(RequestEvent)
  t.equal(stoppedBy, 'MaintenanceListener.onRequest')
  t.strictSame(skipped, ['router'])
})
