import { setTimeout as sleep } from 'node:timers/promises'
import { createRequest, createRequestEvent } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { findBlocks } from '#bundles/profiler/record/loop-activity.ts'
import { middlewarePart } from '#bundles/profiler/record/middleware-trace.ts'
import { Trace } from '#bundles/profiler/record/trace.ts'
import { HangWatch } from '#bundles/profiler/subjects/memory/record.ts'
import { RequestContext } from '#kernel/request-context.ts'
import type { TraceSpan } from '#lib/event-dispatcher/traceable-event-dispatcher.ts'
import { createRecorder } from '#tests/support/recording-logger.ts'
import { until } from '#tests/support/until.ts'

function begin(target: string, parent?: Trace): Trace {
  return new Trace('aaaaaa', createRequest(target), parent)
}

/** Begins the call of a listener that does not end. */
function callListener(trace: Trace, name: string): TraceSpan {
  const event = createRequestEvent({ request: trace.request })
  const listener = { listener: () => undefined, name, priority: 0 }
  trace.events.beginDispatch(event, [listener])
  return trace.events.beginCall(event, listener)
}

function watch(t: Test, open: Trace[], limit = 25) {
  const context = new RequestContext()
  context.enable()
  const { logger, records } = createRecorder()
  const requests: unknown[] = []
  logger.observe(() => requests.push(context.current))
  const watch = new HangWatch({ unstored: () => open, context, logger, limit })
  t.teardown(watch.stop)
  watch.start()
  watch.start()
  return { watch, records, requests }
}

t.test('the watch is no activity of the request that it looks at', async t => {
  const waiting = begin('/waiting')
  waiting.events.now()
  watch(t, [waiting])
  // The end of this callback may be activity.
  await sleep(0)
  const from = performance.now()
  await sleep(60)
  t.equal(findBlocks(from, performance.now(), 0).at(-1)?.start, from)
})

t.test('a listener that does not end is logged by its name, once for each request', async t => {
  const listening = begin('/listening')
  callListener(listening, 'Guard.onRequest')
  const controlling = begin('/controlling')
  controlling.controller = 'page'
  const waiting = begin('/waiting')
  callListener(waiting, 'Router.onRequest').end(false)
  const foreign = begin('/foreign')
  const handled = begin('/handled')
  middlewarePart.of(handled).begin({ phase: 'handler', name: 'show', code: begin })
  const main = begin('/main')
  callListener(main, 'ErrorListener.onException')
  const over = begin('/sub-over', main)
  over.duration = 1
  const sub = begin('/sub', main)
  sub.controller = 'fragment'
  const answered = begin('/answered')
  answered.duration = 3
  const job = new Trace('bbbbbb', createRequest('/'), undefined, 'job')
  const { records, requests } = watch(t, [job, listening, controlling, waiting, foreign, handled, main, answered])
  await until(() => records.length === 6)
  await sleep(30)
  t.strictSame(
    // A busy machine may look a second later.
    records.map(({ level, message }) => [level, message.replace(/after \d+ s/, 'after 0 s')]),
    [
      [
        'warning',
        'The listener Guard.onRequest of kernel.request has not ended after 0 s: GET http://localhost/listening.',
      ],
      ['warning', 'The controller page has not ended after 0 s: GET http://localhost/controlling.'],
      ['warning', 'An argument of the controller has not ended after 0 s: GET http://localhost/waiting.'],
      ['warning', 'The request has not ended after 0 s: GET http://localhost/foreign.'],
      [
        'warning',
        'The request, whose last function is the handler show, has not ended after 0 s: GET http://localhost/handled.',
      ],
      ['warning', 'The controller fragment has not ended after 0 s: GET http://localhost/sub.'],
    ],
  )
  t.strictSame(requests, [
    ...[listening, controlling, waiting, foreign, handled].map(({ request }) => request),
    sub.request,
  ])
})

t.test('the watch ends when no request is in flight; a request has time before it is logged', async t => {
  const open = [begin('/young')]
  const young = watch(t, open, 60_000)
  const none = watch(t, [], 5)
  await sleep(20)
  t.strictSame([...young.records, ...none.records], [])
  open.push(begin('/other'))
})
