import { t } from 'tap'
import { beginHttpCall, type CallStart, type CallWork, observeHttpCalls } from '#kernel/contracts/calls.ts'

const start: CallStart = { client: 'fetch', method: 'GET', url: 'http://127.0.0.1/' }

const begin = () => beginHttpCall(start, begin)

/** A receiver that notes what it gets. */
function receive(name: string, noted: unknown[], more: Partial<CallWork> = {}): CallWork {
  const note =
    (event: string) =>
    (...values: unknown[]) =>
      void noted.push([name, event, ...values])
  return { noteReceived: note('head'), finish: note('end'), fail: note('failure'), ...more }
}

t.test('each observer of calls gets what it receives, until it has stopped', async t => {
  const noted: unknown[] = []
  t.equal(begin(), undefined, 'without an observer')
  const stops = [
    observeHttpCalls({ begin: () => receive('one', noted, { takeSent: chunk => void noted.push(chunk) }) }),
    observeHttpCalls({ begin: () => receive('two', noted) }),
    observeHttpCalls({ begin: () => undefined }),
  ]
  const call = begin()
  call?.takeSent?.('chunk')
  call?.noteReceived(200, ['a', 'b'])
  call?.finish()
  const [stop, stopOther] = stops
  stop?.()
  const other = begin()
  t.equal(other?.takeSent, undefined, 'nothing takes the body')
  other?.fail('reason', true)
  stopOther?.()
  t.equal(begin(), undefined)
  t.strictSame(noted, [
    'chunk',
    ['one', 'head', 200, ['a', 'b']],
    ['two', 'head', 200, ['a', 'b']],
    ['one', 'end'],
    ['two', 'end'],
    ['two', 'failure', 'reason', true],
  ])
  stops[2]?.()
})

t.test('an observer that throws is no error of the call', async t => {
  const fail = () => {
    throw new Error('recorder')
  }
  const stops = [
    observeHttpCalls({ begin: fail }),
    observeHttpCalls({ begin: () => receive('two', [], { upload: fail }) }),
  ]
  t.teardown(() => stops.map(stop => stop()))
  t.teardown(observeHttpCalls({ begin: () => receive('three', []) }))
  t.doesNotThrow(() => begin()?.upload?.())
})
