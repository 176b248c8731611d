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

t.test('a promise of a handler that rejects is reported', async t => {
  const failure = new Error('later')
  const reported = new Promise(resolve => {
    const signals = createSignals(resolve)
    signals.on('test.happened', (() => Promise.reject(failure)) as () => void)
    signals.emit('test.happened', { count: 1 })
  })
  t.equal(await reported, failure)
})

t.test('a name without a handler is reported once, if a similar name has one', t => {
  const reports: string[][] = []
  const signals = createSignals(
    error => t.fail(String(error)),
    [],
    (...names) => reports.push(names),
  )
  const emit = (name: string) => signals.emit(name as 'test.happened', { count: 1 })
  emit('test.happend')
  const remove = signals.on('test.happened', () => undefined)
  emit('test.happened')
  emit('test.happned')
  emit('test.happned')
  emit('test.removed')
  remove()
  emit('test.hapened')
  t.strictSame(reports, [['test.happned', 'test.happened']])
  t.end()
})
