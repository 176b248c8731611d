import { t } from 'tap'
import { LogTrace } from '#bundles/profiler/subjects/logs/record.ts'
import type { LogRecord } from '#tests/support/recording-logger.ts'

const nowhere = () => undefined

function createRecord(record: Partial<LogRecord> = {}): LogRecord {
  return { time: '', level: 'info', channel: 'app', message: 'a message', context: {}, ...record }
}

t.test('log messages are kept with the time since the trace began, without empty fields', async t => {
  const logs = new LogTrace(performance.now() - 5)
  logs.add(createRecord(), nowhere)
  logs.add(createRecord({ message: 'a 1', template: 'a {b}', context: { b: 1 } }), nowhere)
  const [plain, filled] = logs.toArray()
  t.ok(Number.isInteger(plain?.at) && Number(plain?.at) >= 5000)
  t.strictSame(plain, { at: plain?.at, level: 'info', channel: 'app', message: 'a message' })
  t.hasStrict(filled, { message: 'a 1', template: 'a {b}', context: { b: 1 } })
  t.equal(logs.dropped, 0)
})

t.test('of many log messages of a severity the first and the last are kept; the counts are exact', async t => {
  const logs = new LogTrace(performance.now())
  for (let logged = 0; logged < 2345; logged++) logs.add(createRecord({ message: String(logged) }), nowhere)
  for (let logged = 2345; logged < 4345; logged++) {
    const level = logged % 3 === 0 ? 'warning' : logged % 3 === 1 ? 'error' : 'critical'
    logs.add(createRecord({ level, message: String(logged) }), nowhere)
  }
  const messages = logs.toArray().map(({ message }) => Number(message))
  t.strictSame(messages.slice(498, 502), [498, 499, 1845, 1846])
  t.equal(messages.length, 1800)
  t.strictSame(
    messages,
    messages.toSorted((one, other) => one - other),
  )
  t.strictSame([logs.dropped, logs.warnings, logs.errors], [2545, 667, 1333])
})

t.test('a flood of one severity drops no message of another, and what it drops is counted', async t => {
  const cases = [
    { flood: 'info', one: 'error' },
    { flood: 'debug', one: 'warning' },
    { flood: 'info', one: 'critical' },
    { flood: 'warning', one: 'error' },
    { flood: 'error', one: 'info' },
    { flood: 'critical', one: 'warning' },
  ] as const
  for (const { flood, one } of cases) {
    const logs = new LogTrace(performance.now())
    for (let logged = 0; logged < 2000; logged++) {
      if (logged === 1000) logs.add(createRecord({ level: one, message: 'the one' }), () => ({ file: 'a.ts', line: 1 }))
      else logs.add(createRecord({ level: flood, message: `row ${logged}`, template: 'row {row}' }), nowhere)
    }
    const [found] = logs.toArray().filter(({ message }) => message === 'the one')
    t.equal(found?.level, one, `${one} in ${flood}`)
    t.equal(found?.site?.file, one === 'info' ? undefined : 'a.ts')
    t.strictSame(logs.left, [{ level: flood, channel: 'app', message: 'row {row}', times: logs.dropped }])
    t.equal(logs.toArray().length + logs.dropped, 2000)
  }
})

t.test('dropped messages that all differ are counted by level', async t => {
  const logs = new LogTrace(performance.now())
  for (let logged = 0; logged < 3000; logged++) logs.add(createRecord({ message: `row ${logged}` }), nowhere)
  t.equal(logs.left.length, 101)
  t.strictSame(logs.left.at(-1), { level: 'info', channel: '', message: '', times: 1900 })
})

t.test('long contexts are kept up to a limit, at both ends', async t => {
  const logs = new LogTrace(performance.now())
  const context = { list: ['x'.repeat(40_000), 'y'.repeat(40_000), null, 1], text: 'z'.repeat(20_000) }
  for (let logged = 0; logged < 1600; logged++) {
    logs.add(createRecord({ message: 'm'.repeat(400), context, level: 'warning' }), () => ({ file: 'a.ts', line: 1 }))
  }
  const kept = logs.toArray()
  const whole = kept.flatMap(({ isCut }, index) => (isCut ? [] : [index]))
  t.strictSame(whole, [0, 399])
  t.hasStrict(kept[2], { isCut: true, message: `${'m'.repeat(200)}…`, site: { file: 'a.ts' } })
  t.notHas(kept[2], 'context')
  t.notHas(kept[300], 'site')
  t.ok(JSON.stringify(kept).length < 800_000)
  logs.add(createRecord({ message: 'short' }), nowhere)
  t.equal(logs.toArray().at(-1)?.message, 'short')
})

t.test('a call site is computed for warnings and above only, and not for errors that have one', async t => {
  const logs = new LogTrace(performance.now())
  let asked = 0
  const locate = () => {
    asked++
    return { file: 'a.ts', line: asked }
  }
  logs.add(createRecord({ level: 'debug' }), locate)
  logs.add(createRecord({ level: 'info' }), locate)
  t.equal(asked, 0)
  for (const level of ['warning', 'error', 'critical'] as const) logs.add(createRecord({ level }), locate)
  t.equal(asked, 3)
  t.strictSame(logs.toArray().at(-1)?.site, { file: 'a.ts', line: 3 })
  const exception = { name: 'Error', message: 'failed', stack: '' }
  logs.add(createRecord({ level: 'error', context: { exception } }), locate)
  t.equal(asked, 3)
  for (let logged = 0; logged < 100; logged++) logs.add(createRecord({ level: 'warning' }), locate)
  t.equal(asked, 53, 'a flood has few origins, and that of the message that is one too many')
  for (let logged = 0; logged < 100; logged++) logs.add(createRecord({ level: 'info' }), locate)
  t.equal(asked, 53)
})

t.test('a single log message that is too long is cut, in any position', async t => {
  const logs = new LogTrace(performance.now())
  const context = { text: 'x'.repeat(300_000) }
  logs.add(createRecord({ context }), nowhere)
  for (let logged = 0; logged < 500; logged++) logs.add(createRecord(), nowhere)
  logs.add(createRecord({ context }), nowhere)
  const kept = logs.toArray()
  t.strictSame(
    [kept[0], kept.at(-1)].map(log => log?.isCut),
    [true, true],
  )
  t.notOk(kept[1]?.isCut)
})
