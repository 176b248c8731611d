import fc from 'fast-check'
import { t } from 'tap'
import { Stopwatch } from '#lib/stopwatch/stopwatch.ts'

/** A clock that stands still until it is told to go on. */
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

t.test('the category is default, and the clock that of the process, unless told otherwise', async t => {
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
  t.ok(stopwatch.isStarted('render'))
  clock.pass(8)
  const event = stopwatch.stop('render')
  t.strictSame(event.periods, [
    { start: 0, end: 10 },
    { start: 1, end: 2 },
  ])
  t.hasStrict(event, { start: 0, end: 10, duration: 11 })
  t.notOk(stopwatch.isStarted('render'))
})

t.test('what start returns ends that start and no other, however often it is called', async t => {
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

t.test('lap ends a period and begins the next', async t => {
  const clock = createClock(0)
  const stopwatch = new Stopwatch(clock.now)
  stopwatch.start('import', 'batch')
  clock.pass(4)
  t.strictSame(stopwatch.lap('import').periods, [{ start: 0, end: 4 }])
  clock.pass(6)
  t.match(stopwatch.stop('import'), { category: 'batch', duration: 10, periods: { length: 2 } })
})

t.test('what still runs is shown up to now, and says so', async t => {
  const clock = createClock(0)
  const stopwatch = new Stopwatch(clock.now)
  stopwatch.start('terminate')
  clock.pass(7)
  t.hasStrict(stopwatch.events(), [{ name: 'terminate', isRunning: true, duration: 7, end: 7 }])
  clock.pass(1)
  t.hasStrict(stopwatch.stop('terminate'), { isRunning: false, duration: 8 })
})

t.test('stopping what was not started names it and lists what runs', async t => {
  const stopwatch = new Stopwatch()
  t.throws(() => stopwatch.stop('render'), {
    code: 'STOPWATCH_NOT_STARTED',
    status: 500,
    message: 'The stopwatch event "render" cannot be stopped: it is not running. Running: nothing.',
  })
  stopwatch.start('query')
  stopwatch.start('done')
  stopwatch.stop('done')
  stopwatch.start('mail')
  t.throws(() => stopwatch.stop('done'), { message: /"done".*Running: "query", "mail"\.$/ })
  t.throws(() => stopwatch.lap('render'), { code: 'STOPWATCH_NOT_STARTED' })
  t.notOk(stopwatch.isStarted('render'))
})

t.test('measure gives what the function gives, and ends with it', async t => {
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
  t.ok(stopwatch.isStarted('fetch'))
  t.equal(await pending, 'body')
  const failing = stopwatch.measure('fetch', 'http', async () => {
    clock.pass(3)
    throw new Error('no answer')
  })
  await t.rejects(failing, { message: 'no answer' })
  t.hasStrict(stopwatch.events(), [{ isRunning: false, duration: 5 }])
})

t.test('a section is a stopwatch with an origin and events of its own', async t => {
  const clock = createClock(0)
  const stopwatch = new Stopwatch(clock.now)
  clock.pass(10)
  const section = stopwatch.openSection('abc123')
  clock.pass(1)
  section.start('render', 'template')
  clock.pass(2)
  section.stop('render')
  stopwatch.stopSection('abc123')

  t.hasStrict(stopwatch.events(), [
    { name: '__section__.child', category: 'section', origin: 0, periods: [{ start: 10, end: 13 }] },
  ])
  t.hasStrict(stopwatch.events('abc123'), [
    { name: '__section__', category: 'section', origin: 10, periods: [{ start: 0, end: 3 }] },
    { name: 'render', category: 'template', origin: 10, periods: [{ start: 1, end: 3 }] },
  ])
  t.strictSame(stopwatch.events('unknown'), [])
})

t.test('a section can be closed by whoever has it; what is no section, or closed already, stays as it is', async t => {
  const clock = createClock(0)
  const stopwatch = new Stopwatch(clock.now)
  const section = stopwatch.openSection('inner')
  clock.pass(5)
  section.close()
  clock.pass(5)
  section.close()
  stopwatch.close()
  t.hasStrict(stopwatch.events(), [{ name: '__section__.child', duration: 5, isRunning: false }])
  t.hasStrict(section.events(), [{ name: '__section__', duration: 5, isRunning: false }])
  t.throws(() => stopwatch.stopSection('inner'), { code: 'STOPWATCH_SECTION_NOT_OPEN' })
  t.equal(stopwatch.openSection('inner'), section, 'it may be opened again')
})

t.test('a stopped section can be opened again and goes on where it was', async t => {
  const clock = createClock(0)
  const stopwatch = new Stopwatch(clock.now)
  const section = stopwatch.openSection('abc123')
  clock.pass(1)
  stopwatch.stopSection('abc123')
  clock.pass(5)
  t.equal(stopwatch.openSection('abc123'), section)
  clock.pass(2)
  stopwatch.stopSection('abc123')
  t.match(stopwatch.events('abc123'), [{ origin: 0, duration: 3, periods: { length: 2 } }])
})

t.test('sections of one stopwatch overlap and nest without mixing their events', async t => {
  const clock = createClock(0)
  const stopwatch = new Stopwatch(clock.now)
  const first = stopwatch.openSection('first')
  clock.pass(1)
  const second = stopwatch.openSection('second')
  const inner = second.openSection()
  first.start('work')
  inner.start('work')
  clock.pass(1)
  stopwatch.stopSection('first')
  clock.pass(1)
  inner.stopSection('section 3')
  stopwatch.stopSection('second')

  t.strictSame(stopwatch.events()[0]?.periods, [
    { start: 0, end: 2 },
    { start: 1, end: 3 },
  ])
  t.hasStrict(stopwatch.events('section 3'), [{ name: '__section__', duration: 2 }, { name: 'work' }])
  t.hasStrict(stopwatch.events('second'), [{ name: '__section__' }, { name: '__section__.child', duration: 2 }])
})

t.test('opening a section twice, or stopping one that is not open, is an error that names it', async t => {
  const stopwatch = new Stopwatch()
  t.throws(() => stopwatch.stopSection('abc123'), { code: 'STOPWATCH_SECTION_NOT_OPEN', message: /Open: nothing\.$/ })
  stopwatch.openSection('abc123')
  stopwatch.openSection('def456')
  t.throws(() => stopwatch.openSection('abc123'), { code: 'STOPWATCH_SECTION_OPEN', message: /"abc123"/ })
  stopwatch.stopSection('def456')
  t.throws(() => stopwatch.stopSection('def456'), { message: /"def456".*Open: "abc123"\.$/ })
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
      while (stopwatch.isStarted('work')) {
        duration += clock.now() - (stack.pop() ?? Number.NaN)
        stopwatch.stop('work')
      }
      return (stopwatch.events()[0]?.duration ?? 0) === duration && stack.length === 0
    }),
  )
})
