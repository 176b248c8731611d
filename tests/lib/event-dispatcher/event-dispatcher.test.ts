import fc from 'fast-check'
import { t } from 'tap'
import {
  createEventDispatcher,
  describeListener,
  Event,
  type RegisteredListener,
} from '#lib/event-dispatcher/event-dispatcher.ts'
import { TraceableEventDispatcher } from '#lib/event-dispatcher/traceable-event-dispatcher.ts'

class Happening extends Event {
  static readonly eventName = 'happening'
  readonly heard: string[] = []
}

class Other extends Event {
  static readonly eventName = 'other'
}

t.test('higher priorities are called first, ties in registration order', async t => {
  const dispatcher = createEventDispatcher()
  dispatcher.on(Happening, event => event.heard.push('second'))
  dispatcher.on(Happening, event => event.heard.push('last'), -5)
  dispatcher.on(Happening, event => event.heard.push('first'), 10)
  dispatcher.on(Happening, event => event.heard.push('third'))
  const event = new Happening()

  await dispatcher.dispatch(event)

  t.strictSame(event.heard, ['first', 'second', 'third', 'last'])
})

t.test('stopPropagation keeps the rest from running', async t => {
  const dispatcher = createEventDispatcher()
  dispatcher.on(Happening, event => event.stopPropagation(), 1)
  dispatcher.on(Happening, () => t.fail('must not run'), 0)
  const event = new Happening()

  await dispatcher.dispatch(event)

  t.ok(event.isPropagationStopped)
})

t.test('nothing is returned while every listener is synchronous', t => {
  const dispatcher = createEventDispatcher()
  dispatcher.on(Happening, event => event.heard.push('a'))
  t.equal(dispatcher.dispatch(new Happening()), undefined)
  t.equal(dispatcher.dispatch(new Other()), undefined, 'nor without a listener')
  t.end()
})

t.test('a listener that returns a promise is waited for before the next', async t => {
  const dispatcher = createEventDispatcher()
  dispatcher.on(Happening, async event => {
    await new Promise(setImmediate)
    event.heard.push('slow')
  })
  dispatcher.on(Happening, event => event.heard.push('quick'))
  const event = new Happening()

  await dispatcher.dispatch(event)

  t.strictSame(event.heard, ['slow', 'quick'])
})

t.test('an asynchronous listener can stop the event too', async t => {
  const dispatcher = createEventDispatcher()
  dispatcher.on(Happening, async event => event.stopPropagation())
  dispatcher.on(Happening, () => t.fail('must not run'))
  await dispatcher.dispatch(new Happening())
})

t.test('an error ends the dispatch: thrown where listeners are synchronous, rejected behind a promise', async t => {
  const dispatcher = createEventDispatcher()
  const remove = dispatcher.on(Happening, () => {
    throw new Error('at once')
  })
  dispatcher.on(Happening, () => t.fail('must not run'), -1)
  t.throws(() => dispatcher.dispatch(new Happening()), { message: 'at once' })
  remove()
  dispatcher.on(Happening, () => Promise.reject(new Error('later')))
  await t.rejects(Promise.resolve(dispatcher.dispatch(new Happening())), { message: 'later' })
})

t.test('the function that on() returns removes this listener only', async t => {
  const dispatcher = createEventDispatcher()
  const remove = dispatcher.on(Happening, event => event.heard.push('removed'))
  dispatcher.on(Happening, event => event.heard.push('kept'))
  remove()
  remove()
  const event = new Happening()
  await dispatcher.dispatch(event)
  t.strictSame(event.heard, ['kept'])
})

t.test('a running dispatch keeps its list of listeners', async t => {
  const dispatcher = createEventDispatcher()
  const removeLate = dispatcher.on(Happening, event => event.heard.push('late'), -1)
  dispatcher.on(Happening, event => {
    event.heard.push('first')
    removeLate()
    dispatcher.on(Happening, event => event.heard.push('added'), -2)
  })
  const first = new Happening()
  const second = new Happening()
  await dispatcher.dispatch(first)
  await dispatcher.dispatch(second)
  t.strictSame(first.heard, ['first', 'late'])
  t.strictSame(second.heard, ['first', 'added'])
})

t.test('listeners have names: of their method, of their function, or none', t => {
  const dispatcher = createEventDispatcher()
  class Watcher {
    readonly #word = 'bound'
    onHappening(event: Happening): void {
      event.heard.push(this.#word)
    }
  }
  function named(): void {}
  dispatcher.subscribe(Happening, new Watcher(), 'onHappening', 3)
  dispatcher.on(Happening, named, 2)
  dispatcher.on(Happening, () => undefined, 1)
  dispatcher.on(Happening, () => undefined, 0, 'given')
  t.strictSame(
    dispatcher.listeners(Happening).map(({ name, priority }) => [name, priority]),
    [
      ['Watcher.onHappening', 3],
      ['named', 2],
      ['anonymous', 1],
      ['given', 0],
    ],
  )
  t.strictSame([...dispatcher.types()], [Happening])
  const event = new Happening()
  t.equal(dispatcher.dispatch(event), undefined)
  t.strictSame(event.heard, ['bound'])
  t.end()
})

t.test('any order of registration gives the order of a stable sort by priority', t => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -3, max: 3 })), priorities => {
      const dispatcher = createEventDispatcher()
      for (const [index, priority] of priorities.entries()) {
        dispatcher.on(Happening, event => event.heard.push(`${priority}:${index}`), priority)
      }
      const event = new Happening()
      t.equal(dispatcher.dispatch(event), undefined)
      const sorted = priorities.map((priority, index) => ({ priority, index })).sort((a, b) => b.priority - a.priority)
      t.strictSame(
        event.heard,
        sorted.map(({ priority, index }) => `${priority}:${index}`),
      )
    }),
  )
  t.end()
})

t.test('a dispatch may skip listeners, and continue after failing ones', async t => {
  const dispatcher = createEventDispatcher()
  const heard: string[] = []
  const add = (name: string, listener: () => unknown) => {
    const hear = () => {
      heard.push(name)
      return listener()
    }
    dispatcher.on(Happening, hear, 0, name)
  }
  const fail = () => {
    throw new Error('failed')
  }
  add('first', () => undefined)
  add('later', async () => undefined)
  add('fails', fail)
  add('rejects', async () => fail())
  add('last', () => undefined)

  const failed: unknown[] = []
  const onFailure = (error: unknown, { name }: RegisteredListener) => failed.push([name, (error as Error).message])
  await dispatcher.dispatch(new Happening(), { onFailure })
  t.strictSame(heard.splice(0), ['first', 'later', 'fails', 'rejects', 'last'])
  t.strictSame(failed.splice(0), [
    ['fails', 'failed'],
    ['rejects', 'failed'],
  ])

  const without = (...names: string[]) => ({ only: ({ name }: RegisteredListener) => !names.includes(name) })
  await dispatcher.dispatch(new Happening(), without('fails', 'rejects'))
  t.strictSame(heard.splice(0), ['first', 'later', 'last'])
  t.equal(dispatcher.dispatch(new Happening(), without('later', 'fails', 'rejects')), undefined, 'it stays synchronous')
  await t.rejects(Promise.resolve(dispatcher.dispatch(new Happening(), without('fails'))), { message: 'failed' })
  t.throws(() => dispatcher.dispatch(new Happening(), without('later')), { message: 'failed' })
})

t.test('a log names a listener, and the place of one without a name', async t => {
  const dispatcher = createEventDispatcher()
  const named = () => undefined
  dispatcher.on(Happening, named)
  dispatcher.on(Happening, () => undefined, 0, 'given', 'shop')
  dispatcher.on(Happening, () => undefined, 0, undefined, 'shop')
  const span = { end: () => undefined }
  const tracer = { beginCall: () => span, beginDispatch: () => span }
  new TraceableEventDispatcher(dispatcher, tracer).on(Happening, () => undefined)
  t.match(dispatcher.listeners(Happening).map(describeListener), [
    /^named$/,
    /^given$/,
    /^anonymous \(bundle "shop", event-dispatcher\.test\.[jt]s:\d+\)$/,
    /^anonymous \(event-dispatcher\.test\.[jt]s:\d+\)$/,
  ])
})
