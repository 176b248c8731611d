import { t } from 'tap'
import { CallTraces } from '#lib/stack/stack-frames.ts'

function createCapture(): { capture: () => Error; count: () => number } {
  let count = 0
  const capture = () => {
    count++
    return new Error('here\n    at forged (/x.ts:1:1)')
  }
  return { capture, count: () => count }
}

t.test('the stack of a new place is formatted, that of a known place is cached', async t => {
  const traces = new CallTraces()
  const { capture, count } = createCapture()
  const seen = Array.from({ length: 3 }, () => traces.framesOf(capture))
  t.equal(count(), 4)
  t.match(seen[0]?.[0], { function: /capture/, file: /call-traces\.test\.(ts|js)$/ })
  t.equal(seen[0]?.length, 5)
  t.equal(seen[1], seen[0])
  t.equal(seen[2], seen[0])
  const elsewhere = traces.framesOf(capture)
  t.not(elsewhere, seen[0])
  t.not(elsewhere[2]?.line, seen[0]?.[2]?.line)
})

t.test('memory is bounded', async t => {
  const traces = new CallTraces()
  const { capture, count } = createCapture()
  const run = (line: number) => new Function('run', `${'\n'.repeat(line)}return run()`)(() => traces.framesOf(capture))
  for (let line = 0; line <= 500; line++) run(line)
  t.equal(count(), 1002)
  run(500)
  t.equal(count(), 1003, 'the newest is known')
  run(0)
  t.equal(count(), 1005, 'the oldest is not')
})

t.test('the settings of Error are restored, also if a capture fails', async t => {
  const { stackTraceLimit } = Error
  const prepare = () => 'prepared'
  Error.prepareStackTrace = prepare
  t.throws(() =>
    new CallTraces().framesOf(() => {
      throw new TypeError('failed')
    }),
  )
  t.equal(Error.prepareStackTrace, prepare)
  Reflect.deleteProperty(Error, 'prepareStackTrace')
  t.equal(Error.stackTraceLimit, stackTraceLimit)
})
