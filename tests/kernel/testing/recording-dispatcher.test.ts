import { AssertionError } from 'node:assert'
import { ExceptionEvent, RequestEvent, ResponseEvent } from 'sinfonietta'
import { createRequest, createRequestEvent, createResponseEvent, RecordingDispatcher } from 'sinfonietta/testing'
import { t } from 'tap'
import { Event } from '#lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '#lib/http/response.ts'

class OrderPlaced extends Event {
  static readonly eventName = 'order.placed'
}

t.test('it records events, listeners and their order', async t => {
  const dispatcher = new RecordingDispatcher()
  dispatcher.on(RequestEvent, () => dispatcher.dispatch(new OrderPlaced()), 0, 'order')
  dispatcher.on(RequestEvent, () => undefined, 5, 'first')
  dispatcher.on(OrderPlaced, () => new Promise(setImmediate), 0, 'mail')
  const event = createRequestEvent({ request: createRequest().duplicate() })
  await dispatcher.dispatch(event)
  t.strictSame(dispatcher.sequence, ['kernel.request (sub)', 'order.placed'])
  t.strictSame(dispatcher.calls, ['kernel.request (sub) first', 'kernel.request (sub) order', 'order.placed mail'])
  t.strictSame(dispatcher.dispatches[0], {
    event,
    name: 'kernel.request (sub)',
    listeners: ['first', 'order'],
    skipped: [],
    stoppedBy: undefined,
    failedBy: undefined,
    error: undefined,
  })
})

t.test('it records the listener that stopped an event, and the skipped ones', async t => {
  const dispatcher = new RecordingDispatcher()
  dispatcher.on(RequestEvent, event => event.respond(new Response('at once')), 1, 'answer')
  dispatcher.on(RequestEvent, () => t.fail('must not run'), 0, 'late')
  await dispatcher.dispatch(createRequestEvent())
  const { event, listeners, skipped, stoppedBy } = dispatcher.last(RequestEvent)
  t.equal(event.response?.body, 'at once')
  t.strictSame({ listeners, skipped, stoppedBy }, { listeners: ['answer'], skipped: ['late'], stoppedBy: 'answer' })

  const stopped = createRequestEvent()
  stopped.stopPropagation()
  await dispatcher.dispatch(stopped)
  t.hasStrict(dispatcher.last(RequestEvent), { listeners: [], skipped: ['answer', 'late'], stoppedBy: undefined })
  t.equal(dispatcher.of(RequestEvent).length, 2)
})

t.test('it records the listener that failed, at once or later', async t => {
  const dispatcher = new RecordingDispatcher()
  const error = new Error('no')
  const remove = dispatcher.on(ResponseEvent, () => Promise.reject(error), 0, 'fails')
  dispatcher.on(ResponseEvent, () => undefined, -1, 'late')
  await t.rejects(Promise.resolve(dispatcher.dispatch(createResponseEvent())), error)
  t.hasStrict(dispatcher.last(ResponseEvent), { failedBy: 'fails', error, skipped: ['late'] })
  remove()
  await dispatcher.dispatch(createResponseEvent())
  t.hasStrict(dispatcher.last(ResponseEvent), { failedBy: undefined, listeners: ['late'] })
})

t.test('the error about a missing event names the dispatched ones', async t => {
  const dispatcher = new RecordingDispatcher()
  t.throws(() => dispatcher.last(ExceptionEvent), {
    message: 'The event kernel.exception was not dispatched; nothing was.',
    expected: 'kernel.exception',
    actual: [],
  })
  await dispatcher.dispatch(createResponseEvent())
  t.throws(() => dispatcher.last(ExceptionEvent), AssertionError)
  t.throws(() => dispatcher.last(ExceptionEvent), /dispatched were kernel\.response\./)
})

t.test('what was recorded can be forgotten; a listener that is called by hand is not recorded', async t => {
  const dispatcher = new RecordingDispatcher()
  const { sequence } = dispatcher
  dispatcher.on(RequestEvent, () => undefined)
  await dispatcher.dispatch(createRequestEvent())
  dispatcher.forget()
  t.strictSame([...dispatcher.dispatches, ...sequence, ...dispatcher.calls], [])
  dispatcher.listeners(RequestEvent)[0]?.listener(createRequestEvent())
  t.strictSame(dispatcher.calls, [])
})
