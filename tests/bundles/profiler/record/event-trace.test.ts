import { ExceptionEvent, type Request, ResponseEvent } from 'sinfonietta'
import { createExceptionEvent, createRequest, createResponseEvent } from 'sinfonietta/testing'
import { t } from 'tap'
import { summarizeProfile } from '#bundles/profiler/insight/overview/overview.ts'
import { toPlainText } from '#bundles/profiler/insight/overview/sentence.ts'
import { readEventTree } from '#bundles/profiler/profile/event-tree.ts'
import { EventTrace } from '#bundles/profiler/record/event-trace.ts'
import { summarizeListeners } from '#bundles/profiler/subjects/events/read.ts'
import { createEventDispatcher, Event } from '#lib/event-dispatcher/event-dispatcher.ts'
import { TraceableEventDispatcher } from '#lib/event-dispatcher/traceable-event-dispatcher.ts'
import { Response } from '#lib/http/response.ts'
import { toil } from '#tests/bundles/profiler/insight/findings/planted/work-pages.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { until } from '#tests/support/until.ts'

/** The bits of an event or a listener. */
const SpanFlag = { Stopped: 1, Threw: 2 } as const

class Outer extends Event {
  static readonly eventName = 'outer'
}

class Inner extends Event {
  static readonly eventName = 'inner'
}

/** A dispatcher whose events all belong to one trace. */
function createTraced(token = 'abc123'): { dispatcher: TraceableEventDispatcher; trace: EventTrace; request: Request } {
  const request = createRequest()
  const trace = new EventTrace({ token, start: performance.now() }, request.attributes)
  return { dispatcher: new TraceableEventDispatcher(createEventDispatcher(), trace), trace, request }
}

/** Rows without their times. */
function namesOf({ rows }: EventTrace): unknown[] {
  return rows.map(([mark, name, _start, _duration, ...rest]) => [mark, name, ...rest])
}

t.test('dispatches and calls are rows in the order in which they begin, with priorities', async t => {
  const { dispatcher, trace } = createTraced()
  dispatcher.on(Outer, () => undefined, 5, 'first')
  dispatcher.on(Outer, async () => undefined, -5, 'second')
  await dispatcher.dispatch(new Outer())
  await dispatcher.dispatch(new Inner())
  t.strictSame(namesOf(trace), [
    [null, 'outer'],
    [5, 'first'],
    [-5, 'second'],
    [null, 'inner'],
  ])
})

t.test('a dispatch by a listener is in its call; the next listener is in the outer dispatch', async t => {
  const { dispatcher, trace } = createTraced()
  dispatcher.on(Outer, () => dispatcher.dispatch(new Inner()), 1, 'dispatching')
  dispatcher.on(Outer, () => undefined, 0, 'after')
  dispatcher.on(Inner, () => undefined, 0, 'nested')
  await dispatcher.dispatch(new Outer())
  t.strictSame(namesOf(trace), [
    [null, 'outer'],
    [1, 'dispatching'],
    [null, 'inner', 1],
    [0, 'nested'],
    [0, 'after', 0],
  ])
})

t.test('times are whole microseconds: a span is within its parent, and lasts until it is settled', async t => {
  const { dispatcher, trace } = createTraced()
  dispatcher.on(Outer, () => new Promise(resolve => setTimeout(resolve, 20)), 0, 'slow')
  dispatcher.on(Outer, () => undefined, -1, 'fast')
  await dispatcher.dispatch(new Outer())
  const [outer, slow, fast] = trace.rows.map(([, , start, duration]) => ({ start, end: start + Number(duration) }))
  t.ok(trace.rows.flatMap(([, , ...times]) => times.slice(0, 2)).every(time => Number.isInteger(time)))
  t.ok(outer && slow && fast && outer.start <= slow.start && slow.end <= fast.start && fast.end <= outer.end)
  t.ok(slow && slow.end - slow.start > 15_000)
})

t.test('a stopped event names the listeners that were not called', async t => {
  const { dispatcher, trace } = createTraced()
  dispatcher.on(Outer, () => undefined, 3, 'same')
  dispatcher.on(Outer, event => event.stopPropagation(), 2, 'same')
  dispatcher.on(Outer, () => undefined, 1, 'same')
  dispatcher.on(Outer, () => undefined, 0, 'last')
  await dispatcher.dispatch(new Outer())
  t.strictSame(namesOf(trace), [
    [null, 'outer', -1, SpanFlag.Stopped, ['same', 'last']],
    [3, 'same'],
    [2, 'same', 0, SpanFlag.Stopped],
  ])
})

t.test('an event can be stopped by the last listener, or before its dispatch', async t => {
  const { dispatcher, trace } = createTraced()
  dispatcher.on(Outer, event => event.stopPropagation(), 0, 'last')
  const event = new Outer()
  await dispatcher.dispatch(event)
  await dispatcher.dispatch(event)
  t.strictSame(namesOf(trace), [
    [null, 'outer', -1, SpanFlag.Stopped],
    [0, 'last', 0, SpanFlag.Stopped],
    [null, 'outer', -1, SpanFlag.Stopped, ['last']],
  ])
})

t.test('a listener that throws is marked and ended, synchronous or not', async t => {
  const { dispatcher, trace } = createTraced()
  const remove = dispatcher.on(Outer, () => fail(), 0, 'thrower')
  t.throws(() => dispatcher.dispatch(new Outer()))
  remove()
  dispatcher.on(Outer, async () => fail(), 0, 'rejecter')
  dispatcher.on(Outer, () => undefined, -1, 'skipped')
  await t.rejects(Promise.resolve(dispatcher.dispatch(new Outer())))
  await dispatcher.dispatch(new Inner())
  t.strictSame(namesOf(trace), [
    [null, 'outer', -1, SpanFlag.Threw],
    [0, 'thrower', 0, SpanFlag.Threw],
    [null, 'outer', -1, SpanFlag.Threw, ['skipped']],
    [0, 'rejecter', 2, SpanFlag.Threw],
    [null, 'inner'],
  ])
  t.ok(trace.rows.every(([, , , duration]) => duration !== null))
})

t.test('overlapping dispatches have their own calls and durations', async t => {
  const { dispatcher, trace } = createTraced()
  const sleep = (milliseconds: number) => new Promise(resolve => setTimeout(resolve, milliseconds))
  let inner: unknown
  const waitLonger = async () => {
    await sleep(5)
    await inner
    await sleep(25)
  }
  dispatcher.on(Outer, waitLonger, 1, 'outer 1')
  dispatcher.on(Outer, () => undefined, 0, 'outer 2')
  dispatcher.on(Inner, () => sleep(5), 1, 'inner 1')
  dispatcher.on(Inner, () => undefined, 0, 'inner 2')
  const outer = dispatcher.dispatch(new Outer())
  inner = dispatcher.dispatch(new Inner())
  await Promise.all([outer, inner])

  const find = (wanted: string) => trace.rows.find(([, name]) => name === wanted)
  const durationOf = (name: string) => Number(find(name)?.[3])
  t.equal(
    find('outer 2')?.[4],
    trace.rows.findIndex(([, name]) => name === 'outer'),
  )
  t.ok(durationOf('inner') > 4_000)
  t.ok(durationOf('inner') < durationOf('outer') - 20_000, 'though it began while the other was not over')
  t.equal(trace.rows.length, 6)
  await dispatcher.dispatch(new Outer())
  t.equal(trace.rows.at(-2)?.[4], undefined, 'nothing is open any more')
})

t.test('the first of overlapping dispatches may end first', async t => {
  const { dispatcher, trace } = createTraced()
  const sleep = (milliseconds: number) => new Promise(resolve => setTimeout(resolve, milliseconds))
  let outer: unknown
  const waitLonger = async () => {
    await sleep(1)
    await outer
    await sleep(20)
  }
  dispatcher.on(Outer, () => sleep(1), 0, 'short')
  dispatcher.on(Inner, waitLonger, 1, 'long')
  dispatcher.on(Inner, () => undefined, 0, 'last')
  outer = dispatcher.dispatch(new Outer())
  await Promise.all([outer, dispatcher.dispatch(new Inner())])
  await dispatcher.dispatch(new Outer())
  t.strictSame(namesOf(trace), [
    [null, 'outer'],
    [0, 'short'],
    [null, 'inner', 1],
    [1, 'long'],
    [0, 'last'],
    [null, 'outer'],
    [0, 'short'],
  ])
  t.ok(Number(trace.rows[0]?.[3]) < Number(trace.rows[2]?.[3]))
})

t.test('a sub-request is marked in the call that made it, until it is handled', async t => {
  const { dispatcher, trace, request } = createTraced()
  let inner: EventTrace | undefined
  dispatcher.on(Outer, () => {
    inner = new EventTrace(
      { token: 'abc123', start: performance.now() },
      request.attributes,
      trace.beginSubRequest('abcdef'),
    )
  })
  await dispatcher.dispatch(new Outer())
  t.strictSame(namesOf(trace)[2], ['request', 'abcdef', 1])
  t.equal(trace.rows[2]?.[3], null)
  inner?.finish()
  const [, , start = 0, duration] = trace.rows[2] ?? []
  t.ok(Number(duration) > 0 && start + Number(duration) <= trace.now(), `it lasted from ${start}, for ${duration} µs`)
  trace.beginSubRequest('fedcba')
  t.strictSame(namesOf(trace)[3], ['request', 'fedcba'], 'made by the controller')
  trace.finish()
})

t.test('changes are reported for the call that made them, even if it dispatches in between', async t => {
  const { dispatcher, trace, request } = createTraced()
  const response = new Response()
  dispatcher.on(ResponseEvent, async ({ response }) => {
    request.attributes.set('before', 1)
    await dispatcher.dispatch(new Inner())
    response.headers.set('x-after', '1')
  })
  dispatcher.on(Inner, () => response.headers.set('x-nested', '1'), 0, 'nested')
  request.attributes.set('by the controller', 1)
  await dispatcher.dispatch(createResponseEvent({ request, response }))
  t.strictSame(namesOf(trace), [
    [null, 'kernel.response'],
    [0, 'anonymous', 0, 0, ['set attribute before', 'set header x-after']],
    [null, 'inner', 1],
    [0, 'nested', 2, 0, ['set header x-nested']],
  ])
})

t.test('changes outside of calls are reported with the next dispatch, except the initial state', async t => {
  const { dispatcher, trace, request } = createTraced()
  const event = createExceptionEvent(new Error('a'), { request })
  dispatcher.on(ExceptionEvent, event => event.respond(new Response()))
  request.attributes.set('from the start', 1)
  await dispatcher.dispatch(event)
  event.response?.headers.set('allow', 'GET')
  await dispatcher.dispatch(createResponseEvent({ request }))
  request.attributes.set('by the controller', 1)
  dispatcher.on(Inner, event => event.stopPropagation(), 0, 'stopper')
  dispatcher.on(Inner, () => undefined, -1, 'skipped')
  await dispatcher.dispatch(new Inner())
  t.strictSame(namesOf(trace), [
    [null, 'kernel.exception', -1, SpanFlag.Stopped],
    [0, 'anonymous', 0, SpanFlag.Stopped, ['set the response']],
    [null, 'kernel.response', -1, 0, [], ['set header allow']],
    [null, 'inner', -1, SpanFlag.Stopped, ['skipped'], ['set attribute by the controller']],
    [0, 'stopper', 3, SpanFlag.Stopped],
  ])
})

t.test('a nested kernel event does not hide changes by the outer listener', async t => {
  const { dispatcher, trace, request } = createTraced()
  let isNested = false
  dispatcher.on(ResponseEvent, async ({ response }) => {
    if (isNested) return
    isNested = true
    await dispatcher.dispatch(createResponseEvent({ request }))
    response.status = 404
  })
  await dispatcher.dispatch(createResponseEvent({ request }))
  t.strictSame(trace.rows[1]?.[6], ['changed the status'])
})

t.test('many dispatches are cut and counted, but kernel events are kept', async t => {
  const { dispatcher, trace, request } = createTraced()
  dispatcher.on(Outer, () => undefined, 0, 'listener')
  for (let dispatched = 0; dispatched < 600; dispatched++) await dispatcher.dispatch(new Outer())
  t.equal(trace.rows.length, 1000)
  t.equal(trace.dropped, 100)
  for (let made = 0; made < 1000; made++) await dispatcher.dispatch(createResponseEvent({ request }))
  t.equal(trace.rows.length, 2000)
  t.equal(trace.rows.at(-1)?.[1], 'kernel.response')
  trace.beginSubRequest('abcdef').end(false)
  await dispatcher.dispatch(createResponseEvent({ request }))
  t.equal(trace.rows.length, 2000)
  t.equal(trace.dropped, 102)
})

t.test('counters of events never stop, also of 2,500 listeners of one event', async t => {
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/many': async () => {
        for (let time = 0; time < 1500; time++) await kernel.app.dispatcher.dispatch(new Outer())
        await kernel.app.dispatcher.dispatch(new Inner())
        return Response.html('done')
      },
    },
  })
  kernel.app.dispatcher.on(Outer, () => toil(0.1), 0, 'outer')
  kernel.app.dispatcher.on(Outer, () => undefined, -1, 'silent')
  for (let listener = 0; listener < 2500; listener++)
    kernel.app.dispatcher.on(Inner, () => undefined, 0, `l${listener % 10}`)
  const profile = await kernel.profileOf(await kernel.client.get('/many'))
  const { called, notCalled } = summarizeListeners(readEventTree(profile), profile)
  const callsOf = (event: string) => called.flatMap(each => (each.event === event ? [Number(each.calls)] : []))
  t.strictSame(callsOf('outer'), [1500, 1500])
  t.equal(
    callsOf('inner').reduce((sum, calls) => sum + calls, 0) + (profile.collectors.events?.more?.calls.at(-1)?.[3] ?? 0),
    2500,
  )
  t.strictSame(
    notCalled.filter(({ event }) => event === 'outer'),
    [],
  )
  const { parts, sentence } = summarizeProfile({ profile, earlier: [], findings: [] })
  t.match(toPlainText(sentence), /functions without details took \d/)
  const timeOf = (label: string) => parts.find(part => part.label === label)?.time ?? 0
  t.ok(timeOf('Functions without details') > 100_000, 'their time is not that of the controller')
})

t.test('an event class without an event name is recorded by its class name', async t => {
  class Nameless extends Event {}
  const { trace } = createTraced()
  trace.beginDispatch(new Nameless(), []).end(false)
  trace.beginCall(new Nameless(), { listener: () => undefined, name: 'of another trace', priority: 0 }).end(false)
  t.strictSame(namesOf(trace), [[null, 'Nameless']])
})

t.test('a time between two activities is a wait if another request was active, also in one turn', async t => {
  const { trace } = createTraced()
  const other = createTraced('abc124').trace
  const start = performance.now()
  for (const [time, each] of [
    [1, trace],
    [2, trace],
    [4, other],
    [8, trace],
    [9, trace],
  ] as const)
    each.note(start + time)
  t.strictSame(
    trace.waits.map(([, duration, idle]) => [duration, idle]).filter(([duration]) => Number(duration) > 2000),
    [[6000, 0]],
  )
})

t.test('a time without a pause for an answer is busy, if other requests were active in it', async t => {
  const { trace } = createTraced()
  const other = createTraced('abc124').trace
  const start = performance.now()
  const notes: readonly (readonly [time: number, trace: EventTrace])[] = [
    [1, trace],
    [30, other],
    [71, trace],
    [171, trace],
    [181, other],
    [191, trace],
  ]
  for (const [time, each] of notes) each.note(start + time)
  t.match(
    trace.busy.map(({ duration }) => Math.round(duration)),
    [70],
  )
  const spent = performance.eventLoopUtilization()
  await until(() => performance.eventLoopUtilization(spent).idle > 20)
  other.note(performance.now())
  trace.note(performance.now())
  t.equal(trace.busy.length, 1, 'the loop has waited')
})

t.test('a row can be written as JSON', async t => {
  const { dispatcher, trace } = createTraced()
  dispatcher.on(Outer, event => event.stopPropagation())
  await dispatcher.dispatch(new Outer())
  const rows: unknown = JSON.parse(JSON.stringify(trace.rows))
  t.strictSame(rows, trace.rows)
})

function fail(): never {
  throw new Error('failed')
}
