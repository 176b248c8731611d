import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import { Trace } from '#bundles/profiler/record/trace.ts'
import { createTimeCollector } from '#bundles/profiler/subjects/time/record.ts'
import { Redactor } from '#lib/redact/redactor.ts'

const collector = createTimeCollector(new Redactor({ API_KEY: 'a-long-api-key' }))

function createTrace(): Trace {
  return new Trace('0a1b2c', createRequest(), undefined)
}

t.test('an unused stopwatch is not created, and records nothing', async t => {
  const trace = createTrace()
  t.equal(collector.collect(trace), undefined)
  t.equal(trace.request.requestedStopwatch, undefined)
})

t.test('times are whole microseconds since the trace began', async t => {
  const trace = createTrace()
  const { stopwatch } = trace.request
  const before = performance.now()
  stopwatch.start('work', 'batch')
  await new Promise(resolve => setTimeout(resolve, 5))
  stopwatch.stop('work')
  const { measured = [] } = collector.collect(trace) ?? {}
  t.match(measured, [{ name: 'work', category: 'batch', periods: [[Number, Number]], dropped: 0, isRunning: false }])
  const [start, duration] = measured[0]?.periods[0] ?? [0, 0]
  t.ok(Number.isInteger(start) && start >= Math.floor((before - trace.start) * 1000))
  t.ok(duration > 3000)
  t.equal(measured[0]?.duration, duration)
})

t.test('names and periods beyond the limits are counted; long names and secrets are not kept', async t => {
  const trace = createTrace()
  const { stopwatch } = trace.request
  for (let started = 0; started < 60; started++) stopwatch.start('a-long-api-key')()
  for (let named = 0; named < 210; named++) stopwatch.start(`${named} ${'x'.repeat(500)}`)
  const data = collector.collect(trace)
  t.hasStrict(data, { dropped: 11, measured: [{ name: '******', dropped: 10 }, { isRunning: true }] })
  t.equal(data?.measured.length, 200)
  t.equal(data?.measured[0]?.periods.length, 50)
  t.equal(data?.measured[1]?.name.length, 200)
})
