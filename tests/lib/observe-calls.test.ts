import { t } from 'tap'
import { type AnyFunction, createTrap, observeCalls, observeMethod } from '#lib/observe-calls.ts'

/** A function with everything that an application may read of it. */
function take(this: unknown, one: unknown, ...others: unknown[]): unknown {
  return [this, one, ...others]
}
const named = Object.assign(take, { own: { value: 1 } }) as AnyFunction

t.test('an observed function cannot be distinguished, and passes each call on', async t => {
  const seen: unknown[] = []
  const observed = observeCalls(named, (self, args) => {
    seen.push(self, [...args])
    return undefined
  })
  const self = {}
  t.strictSame(observed.call(self, 1, 2), [self, 1, 2])
  t.strictSame(seen, [self, [1, 2]])
  t.strictSame(Object.getOwnPropertyDescriptors(observed), Object.getOwnPropertyDescriptors(named))
  class Base {
    readonly value: unknown
    constructor(value: unknown) {
      this.value = value
    }
  }
  const Observed = observeCalls(Base as unknown as AnyFunction, () => undefined) as unknown as typeof Base
  class Derived extends Observed {}
  t.ok(new Derived(3) instanceof Base)
  t.equal(new Observed(3).value, 3)
  t.throws(() => (Observed as unknown as AnyFunction)(), TypeError)
})

t.test('a call may get other arguments, result, or function; a failure of the observer changes nothing', async t => {
  const other = observeCalls(named, (_, args) => void args.splice(0, 2, 'other'))
  t.strictSame(other.call(1, 2, 3), [1, 'other'])
  const instead = observeCalls(named, () => (...args) => ['instead', ...args])
  t.strictSame(instead(1), ['instead', 1])
  const after = observeCalls(named, () => ({ after: result => [result, 'after'] }))
  t.strictSame(after.call(0, 1), [[0, 1], 'after'])
  t.strictSame(observeCalls(named, () => ({ after: () => undefined })).call(0, 1), [0, 1])
  const fail = () => {
    throw new Error('of the observer')
  }
  t.strictSame(observeCalls(named, fail).call(0, 1), [0, 1])
  t.strictSame(observeCalls(named, () => ({ after: fail })).call(0, 1), [0, 1])
  t.strictSame(observeCalls(named, () => ({ after: fail, failed: fail })).call(0, 1), [0, 1])
  const error = new RangeError('of the function')
  const thrower = () => {
    throw error
  }
  const failures: unknown[] = []
  for (const following of [
    { after: fail },
    { after: fail, failed: fail },
    { after: fail, failed: (given: unknown) => failures.push(given) },
  ]) {
    t.throws(() => observeCalls(thrower, () => following)(), error)
  }
  t.strictSame(failures, [error])
  const recursive: AnyFunction = observeCalls(
    depth => (depth === 0 ? [] : [depth, recursive(Number(depth) - 1)]),
    () => ({ after: result => result }),
  )
  t.strictSame(recursive(2), [2, [1, []]])
})

t.test('no call has a frame, whatever the limit; the stack of a failed call has none', async t => {
  const { prepareStackTrace, stackTraceLimit } = Error
  t.teardown(() => Object.assign(Error, { prepareStackTrace, stackTraceLimit }))
  const makers: readonly AnyFunction[] = [
    function make() {
      return new Error('made').stack
    },
    function fail() {
      throw new Error('thrown')
    },
  ]
  const read = (code: AnyFunction): unknown => {
    try {
      return code()
    } catch (error) {
      return (error as Error).stack
    }
  }
  const ways = [
    (code: AnyFunction) => observeCalls(code, () => undefined),
    (code: AnyFunction) => observeCalls(code, () => ({ after: result => result })),
    (code: AnyFunction) =>
      observeCalls(
        observeCalls(code, () => undefined),
        () => ({ after: result => result }),
      ),
    (code: AnyFunction) =>
      observeCalls(
        () => read(observeCalls(code, () => undefined)),
        () => undefined,
      ),
  ]
  for (const limit of [10, 3, 1, 0, Number.POSITIVE_INFINITY]) {
    Error.stackTraceLimit = limit
    for (const code of makers) {
      const [wanted, ...found] = [code, ...ways.slice(0, 3).map(way => way(code))].map(read)
      t.strictSame(new Set(found), new Set([wanted]), `${code.name} with ${limit}`)
    }
    const guarded = observeCalls(makers[1] as AnyFunction, () => ({ after: Boolean, failed: () => undefined }))
    t.equal(new Set([guarded, makers[1] as AnyFunction].map(read)).size, 1, `a failed call with ${limit}`)
    t.equal(Error.stackTraceLimit, limit)
  }
  Reflect.deleteProperty(Error, 'stackTraceLimit')
  observeCalls(named, () => ({ after: Boolean, failed: () => undefined }))()
  t.notOk('stackTraceLimit' in Error, 'a deleted limit stays deleted')
})

t.test('the stack of a failed call has the message of the time when it is read first, and no frame more', t => {
  class Captured extends Error {
    constructor(message: string) {
      super(message)
      Error.captureStackTrace(this, Captured)
    }
  }
  const fail = (depth: number, error: () => Error): never => {
    if (depth > 0) fail(depth - 1, error)
    throw error()
  }
  const observe = (code: AnyFunction) => observeCalls(code, () => ({ failed: () => undefined }))
  const ways: readonly AnyFunction[] = [
    fail as AnyFunction,
    observe(fail as AnyFunction),
    observe(observe(fail as AnyFunction)),
  ]
  const reads: Readonly<Record<string, (error: Error) => unknown>> = {
    unchanged: ({ stack }) => stack,
    changed: error => Object.assign(error, { message: 'later' }).stack,
    'read before': error => [error.stack, Object.assign(error, { message: 'later' }).stack],
    replaced: error => [Object.assign(error, { stack: 'own' }).stack, Object.keys(error)],
    inherited: error => [Object.assign(Object.create(error), { stack: 'own' }).stack, error.stack],
  }
  const errors = [() => new Error('early'), () => new Captured('early')]
  const different = [0, 3, 30].flatMap(depth =>
    errors.flatMap(error =>
      Object.entries(reads).filter(([, read]) => {
        const found = ways.map(way => {
          try {
            return way(depth, error)
          } catch (thrown) {
            return JSON.stringify(read(thrown as Error))
          }
        })
        return new Set(found).size > 1
      }),
    ),
  )
  t.strictSame(different, [])
  const same = new Error('thrown again')
  const again = observe(() => {
    throw same
  })
  for (let count = 0; count < 50_000; count++) {
    try {
      again()
    } catch {}
  }
  t.match(same.stack, /^Error: thrown again\n/, 'an error that is thrown often has one such property')
  t.end()
})

t.test('without WebAssembly, calls are observed, too', async t => {
  const trap = createTrap(undefined)
  // The handler of a call notes its observer before the trap is called.
  observeCalls(named, (_, args) => void args.push('before'))()
  t.strictSame(trap(named, 1, [2]), [1, 2, 'before'])
})

t.test('a method keeps the attributes of its property, and is put back', async t => {
  const parent = { inherited: named }
  const target = Object.create(parent, {
    data: { value: named, writable: false, enumerable: false, configurable: true },
    alias: { value: named, writable: true, enumerable: true, configurable: true },
    getter: { get: () => named, enumerable: true, configurable: true },
    fixed: { value: take, writable: false, enumerable: true, configurable: false },
    number: { value: 1, configurable: true },
  })
  const before = Object.getOwnPropertyDescriptors(target)
  let calls = 0
  const count = () => void calls++
  const restores = ['data', 'getter', 'inherited', 'fixed', 'number', 'missing'].map(name =>
    observeMethod(target, name, count),
  )
  t.strictSame(observeMethod(undefined, 'any', count)(), undefined)
  for (const name of ['data', 'alias', 'getter', 'inherited', 'fixed']) target[name](1)
  t.ok(calls >= 4)
  for (const [name, { configurable, enumerable, writable }] of Object.entries(before)) {
    t.match(Object.getOwnPropertyDescriptor(target, name), { configurable, enumerable, writable }, name)
  }
  for (const restore of restores.toReversed()) restore()
  t.strictSame(Object.getOwnPropertyDescriptors(target), before)
  const late = observeMethod(target, 'alias', count)
  target.alias = count
  late()
  t.equal(target.alias, count, 'the method of another tool stays')
})

t.test('an async function has no frame, because it throws nothing where it is called', async t => {
  const stacks: (string | undefined)[] = []
  const reject = async () => {
    stacks.push(new Error('made').stack)
    throw new Error('thrown')
  }
  const failures: unknown[] = []
  const failed = (error: unknown) => failures.push(error)
  for (const following of [{ failed }, { after: (result: unknown) => result, failed }]) {
    const error = await (observeCalls(reject, () => following)() as Promise<unknown>).catch((error: Error) => error)
    stacks.push((error as Error).stack)
  }
  t.equal(stacks.length, 4)
  t.strictSame(
    stacks.filter(stack => stack?.includes('guardedCall')),
    [],
  )
  t.strictSame(failures, [])
})
