import { t } from 'tap'
import { Event } from '../../../lib/event-dispatcher/event.ts'
import { createEventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import {
  type DispatchTracer,
  TraceableEventDispatcher,
} from '../../../lib/event-dispatcher/traceable-event-dispatcher.ts'

class Happening extends Event {
  static readonly eventName = 'happening'
}

function createTraced(): { dispatcher: TraceableEventDispatcher; trace: string[] } {
  const trace: string[] = []
  const end = (what: string) => (error?: unknown) => {
    trace.push(error === undefined ? `/${what}` : `/${what} ${(error as Error).message}`)
  }
  const tracer: DispatchTracer = {
    beginDispatch(event, listeners) {
      trace.push(`${event.constructor.name} for ${listeners.map(({ name }) => name).join(' ')}`)
      return end('dispatch')
    },
    beginCall(_event, { name, priority }) {
      trace.push(`${name} ${priority}`)
      return end(name)
    },
  }
  return { dispatcher: new TraceableEventDispatcher(createEventDispatcher(), tracer), trace }
}

t.test('a dispatch and its calls are told with begin and end, nested as they happen', async t => {
  const { dispatcher, trace } = createTraced()
  class Watcher {
    async onHappening(): Promise<void> {
      await new Promise(setImmediate)
    }
  }
  dispatcher.subscribe(Happening, new Watcher(), 'onHappening', 5)
  dispatcher.on(Happening, function second() {})
  dispatcher.on(Happening, () => undefined, -1)

  await dispatcher.dispatch(new Happening())

  t.strictSame(trace, [
    'Happening for Watcher.onHappening second anonymous',
    'Watcher.onHappening 5',
    '/Watcher.onHappening',
    'second 0',
    '/second',
    'anonymous -1',
    '/anonymous',
    '/dispatch',
  ])
  t.strictSame([...dispatcher.types()], [Happening])
})

t.test('a stopped event ends early, and the trace shows who was not called', t => {
  const { dispatcher, trace } = createTraced()
  dispatcher.on(Happening, event => event.stopPropagation(), 1, 'stopper')
  dispatcher.on(Happening, () => t.fail('must not run'), 0, 'skipped')
  t.equal(dispatcher.dispatch(new Happening()), undefined, 'it stays synchronous')
  t.strictSame(trace, ['Happening for stopper skipped', 'stopper 1', '/stopper', '/dispatch'])
  t.end()
})

t.test('errors are told to the tracer and reach whoever dispatched', async t => {
  const { dispatcher, trace } = createTraced()
  const thrower = () => {
    throw new Error('at once')
  }
  const remove = dispatcher.on(Happening, thrower)
  t.throws(() => dispatcher.dispatch(new Happening()), { message: 'at once' })
  remove()
  dispatcher.on(Happening, () => Promise.reject(new Error('later')), 0, 'rejecter')
  await t.rejects(Promise.resolve(dispatcher.dispatch(new Happening())), { message: 'later' })
  t.strictSame(trace, [
    'Happening for thrower',
    'thrower 0',
    '/thrower at once',
    '/dispatch at once',
    'Happening for rejecter',
    'rejecter 0',
    '/rejecter later',
    '/dispatch later',
  ])
})
