import { t } from 'tap'
import { createSignals } from '#lib/signals.ts'

declare module '../../lib/signals.ts' {
  interface SignalMap {
    'test.happened': { readonly count: number }
  }
}

t.test('a handler is called until it is removed', t => {
  const signals = createSignals(error => t.fail(String(error)))
  const heard: number[] = []
  t.equal(signals.has('test.happened'), false)
  const remove = signals.on('test.happened', ({ count }) => heard.push(count))
  signals.emit('test.happened', { count: 1 })
  t.equal(signals.has('test.happened'), true)
  remove()
  t.equal(signals.has('test.happened'), false)
  signals.emit('test.happened', { count: 2 })
  t.strictSame(heard, [1])
  t.end()
})

t.test('a handler that throws affects no other: its error is reported', t => {
  const errors: unknown[] = []
  const signals = createSignals(error => errors.push(error))
  const failure = new Error('handler')
  const heard: number[] = []
  signals.on('test.happened', () => {
    throw failure
  })
  signals.on('test.happened', ({ count }) => heard.push(count))
  signals.emit('test.happened', { count: 3 })
  t.strictSame(heard, [3])
  t.strictSame(errors, [failure])
  t.end()
})
