import { t } from 'tap'
import {
  createEventDispatcher,
  Event,
  Failure,
  type RegisteredListener,
} from '#lib/event-dispatcher/event-dispatcher.ts'
import { type DispatchTracer, TraceableEventDispatcher } from '#lib/event-dispatcher/traceable-event-dispatcher.ts'

class Happening extends Event {
  static readonly eventName = 'happening'
}

function createTraced(): { dispatcher: TraceableEventDispatcher; trace: string[] } {
  const trace: string[] = []
  const begin = (what: string) => ({
    end: (hasFailed: boolean) => {
      trace.push(hasFailed ? `/${what} failed` : `/${what}`)
    },
  })
  const tracer: DispatchTracer = {
    beginDispatch(event, listeners) {
      trace.push(`${event.constructor.name} for ${listeners.map(({ name }) => name).join(' ')}`)
      return begin('dispatch')
    },
    beginCall(_event, { name, priority }) {
      trace.push(`${name} ${priority}`)
      return begin(name)
    },
  }
  return { dispatcher: new TraceableEventDispatcher(createEventDispatcher(), tracer), trace }
}

t.test('the begin and end of a dispatch and its calls are traced, nested as they happen', async t => {
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

t.test('a stopped event ends early, and the trace shows the listeners that were not called', t => {
  const { dispatcher, trace } = createTraced()
  dispatcher.on(Happening, event => event.stopPropagation(), 1, 'stopper')
  dispatcher.on(Happening, () => t.fail('must not run'), 0, 'skipped')
  t.equal(dispatcher.dispatch(new Happening()), undefined, 'it stays synchronous')
  t.strictSame(trace, ['Happening for stopper skipped', 'stopper 1', '/stopper', '/dispatch'])
  t.end()
})

t.test('a listener that fails an event without a throw is traced as one that throws', async t => {
  const { dispatcher, trace } = createTraced()
  const error = new Error('missing')
  const fail = (event: Event) => void Object.assign(event, { failure: new Failure(error) })
  dispatcher.on(Happening, fail, 1, 'failing')
  dispatcher.on(Happening, () => t.fail('must not run'), 0, 'skipped')
  const event = new Happening()
  void dispatcher.dispatch(event)
  t.equal(event.failure?.error, error)
  const lines = ['Happening for failing skipped', 'failing 1', '/failing failed', '/dispatch failed']
  t.strictSame(trace.splice(0), lines)

  const { dispatcher: other, trace: later } = createTraced()
  other.on(
    Happening,
    async event => {
      await new Promise(setImmediate)
      fail(event)
    },
    1,
    'failing',
  )
  other.on(Happening, () => t.fail('must not run'), 0, 'skipped')
  await other.dispatch(new Happening())
  t.strictSame(later, lines)
})

t.test('a failure is traced, and its error reaches the caller of dispatch', async t => {
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
    '/thrower failed',
    '/dispatch failed',
    'Happening for rejecter',
    'rejecter 0',
    '/rejecter failed',
    '/dispatch failed',
  ])
})

t.test('throwing undefined is a failure, too', async t => {
  const { dispatcher, trace } = createTraced()
  dispatcher.on(Happening, () => Promise.reject(undefined), 0, 'rejecter')
  await t.rejects(Promise.resolve(dispatcher.dispatch(new Happening())))
  t.strictSame(trace.slice(-2), ['/rejecter failed', '/dispatch failed'])
})

t.test('the `then` of a thenable is called once', async t => {
  const { dispatcher, trace } = createTraced()
  let asked = 0
  const query = {
    // biome-ignore lint/suspicious/noThenProperty: query builders are like this
    then(done: () => void) {
      asked++
      done()
    },
  }
  dispatcher.on(Happening, () => query, 0, 'asker')
  await dispatcher.dispatch(new Happening())
  t.equal(asked, 1)
  t.strictSame(trace, ['Happening for asker', 'asker 0', '/asker', '/dispatch'])
})

t.test('the listener of a traced call is in the list of its dispatch', async t => {
  let listeners: readonly RegisteredListener[] = []
  const indexes: number[] = []
  const span = { end: () => undefined }
  const dispatcher = new TraceableEventDispatcher(createEventDispatcher(), {
    beginDispatch(_event, all) {
      listeners = all
      return span
    },
    beginCall(_event, { listener }) {
      indexes.push(listeners.findIndex(other => other.listener === listener))
      return span
    },
  })
  for (let registered = 0; registered < 3; registered++) dispatcher.on(Happening, () => undefined)
  await dispatcher.dispatch(new Happening())
  t.strictSame(indexes, [0, 1, 2])
})
