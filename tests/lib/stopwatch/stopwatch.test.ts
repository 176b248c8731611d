import fc from 'fast-check'
import { t } from 'tap'
import { Stopwatch } from '#lib/stopwatch/stopwatch.ts'

/** A clock that stands still until `pass` is called. */
function createClock(start = 1000): { now: () => number; pass: (milliseconds: number) => void } {
  let time = start
  return {
    now: () => time,
    pass: milliseconds => {
      time += milliseconds
    },
  }
}

t.test('an event has its periods, their sum, and times relative to the origin', async t => {
  const clock = createClock()
  const stopwatch = new Stopwatch(clock.now)
  clock.pass(5)
  stopwatch.start('query', 'database')
  clock.pass(2)
  stopwatch.stop('query')
  clock.pass(10)
  stopwatch.start('query', 'ignored: the first category stays')
  clock.pass(3)

  const expected = {
    name: 'query',
    category: 'database',
    origin: 1000,
    start: 5,
    end: 20,
    duration: 5,
    isRunning: false,
    periods: [
      { start: 5, end: 7 },
      { start: 17, end: 20 },
    ],
  }
  t.strictSame(stopwatch.stop('query'), expected)
  t.strictSame(JSON.parse(JSON.stringify(stopwatch.events())), [expected])
})

t.test('by default, the category is `default` and the clock is that of the process', async t => {
  const before = performance.now()
  const stopwatch = new Stopwatch()
  stopwatch.start('work')
  const event = stopwatch.stop('work')
  t.equal(event.category, 'default')
  t.ok(before <= event.origin && event.origin <= performance.now())
})

t.test('a name started twice nests: stop ends the start that came last', async t => {
  const clock = createClock(0)
  const stopwatch = new Stopwatch(clock.now)
  stopwatch.start('render')
  clock.pass(1)
  stopwatch.start('render')
  clock.pass(1)
  t.strictSame(stopwatch.stop('render').periods, [
    { start: 0, end: 2 },
    { start: 1, end: 2 },
  ])
  t.hasStrict(stopwatch.events(), [{ isRunning: true }])
  clock.pass(8)
  const event = stopwatch.stop('render')
  t.strictSame(event.periods, [
    { start: 0, end: 10 },
    { start: 1, end: 2 },
  ])
  t.hasStrict(event, { start: 0, end: 10, duration: 11 })
  t.hasStrict(stopwatch.events(), [{ isRunning: false }])
})

t.test('the function that start returns ends that period only, also when it is called twice', async t => {
  const clock = createClock(0)
  const stopwatch = new Stopwatch(clock.now)
  const endFirst = stopwatch.start('call')
  clock.pass(1)
  const endSecond = stopwatch.start('call')
  clock.pass(1)
  endFirst()
  clock.pass(1)
  endFirst()
  endSecond()
  t.strictSame(stopwatch.events()[0]?.periods, [
    { start: 0, end: 2 },
    { start: 1, end: 3 },
  ])
})

t.test('a running period counts up to now', async t => {
  const clock = createClock(0)
  const stopwatch = new Stopwatch(clock.now)
  stopwatch.start('terminate')
  clock.pass(7)
  t.hasStrict(stopwatch.events(), [{ name: 'terminate', isRunning: true, duration: 7, end: 7 }])
  clock.pass(1)
  t.hasStrict(stopwatch.stop('terminate'), { isRunning: false, duration: 8 })
})

t.test('stopping a name that does not run is an error that lists the running names', async t => {
  const stopwatch = new Stopwatch()
  t.throws(() => stopwatch.stop('render'), {
    code: 'STOPWATCH_NOT_STARTED',
    status: 500,
    message: 'The stopwatch event "render" cannot be stopped because it is not running. Running: nothing.',
  })
  stopwatch.start('query')
  stopwatch.start('done')
  stopwatch.stop('done')
  stopwatch.start('mail')
  t.throws(() => stopwatch.stop('done'), { message: /"done".*Running: "query", "mail"\.$/ })
})

t.test('measure returns the result of the function, and ends with it', async t => {
  const clock = createClock(0)
  const stopwatch = new Stopwatch(clock.now)
  const value = stopwatch.measure('sum', 'default', () => {
    clock.pass(2)
    return 42
  })
  t.equal(value, 42)
  t.throws(
    () =>
      stopwatch.measure('sum', 'default', () => {
        clock.pass(3)
        throw new Error('no sum')
      }),
    { message: 'no sum' },
  )
  t.hasStrict(stopwatch.events(), [{ isRunning: false, duration: 5 }])
})

t.test('measure waits for a promise, also for one that is rejected', async t => {
  const clock = createClock(0)
  const stopwatch = new Stopwatch(clock.now)
  const pending = stopwatch.measure('fetch', 'http', async () => {
    await Promise.resolve()
    clock.pass(2)
    return 'body'
  })
  t.hasStrict(stopwatch.events(), [{ isRunning: true }])
  t.equal(await pending, 'body')
  const failing = stopwatch.measure('fetch', 'http', async () => {
    clock.pass(3)
    throw new Error('no answer')
  })
  await t.rejects(failing, { message: 'no answer' })
  t.hasStrict(stopwatch.events(), [{ isRunning: false, duration: 5 }])
})

t.test('any order of starts and stops counts like a stack of start times', async () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(9))), steps => {
      const clock = createClock(0)
      const stopwatch = new Stopwatch(clock.now)
      const stack: number[] = []
      let duration = 0
      for (const [isStart, wait] of steps) {
        clock.pass(wait)
        const begun = isStart ? undefined : stack.pop()
        if (begun === undefined) {
          stack.push(clock.now())
          stopwatch.start('work')
        } else {
          duration += clock.now() - begun
          stopwatch.stop('work')
        }
      }
      while (stopwatch.events()[0]?.isRunning) {
        duration += clock.now() - (stack.pop() ?? Number.NaN)
        stopwatch.stop('work')
      }
      return (stopwatch.events()[0]?.duration ?? 0) === duration && stack.length === 0
    }),
  )
})
