import { setTimeout as sleep } from 'node:timers/promises'
import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import { Trace } from '#bundles/profiler/record/trace.ts'
import { LoopWatch, type UsageTrace, usagePart } from '#bundles/profiler/subjects/memory/record.ts'
import { toil } from '#tests/bundles/profiler/insight/findings/planted/work-pages.ts'
import { until } from '#tests/support/until.ts'

/** A trace of a main request that has begun work. */
function begin(token: string): Trace {
  const trace = new Trace(token, createRequest(), undefined)
  usagePart.of(trace)
  trace.events.now()
  return trace
}

function blocksOf(trace: Trace): UsageTrace['blocks'] {
  return usagePart.find(trace)?.blocks ?? []
}

/** The blocks that are not caused by other work of the machine. */
function ownBlocksOf(trace: Trace): UsageTrace['blocks'] {
  return blocksOf(trace).filter(({ cpu }) => cpu >= 90)
}

t.test('the request that is active before and after a block of the event loop was at work', async t => {
  const open = [begin('aaaaaa'), begin('bbbbbb')]
  const [culprit, victim] = open as [Trace, Trace]
  const sub = new Trace('cccccc', createRequest(), culprit)
  const over = begin('dddddd')
  open.push(sub, over)
  usagePart.of(over).end = performance.now()
  const watch = new LoopWatch(() => open)
  t.teardown(watch.stop)
  watch.start()
  watch.start()
  await sleep(30)
  culprit.events.now()
  toil(150)
  // For a sub-request the main request is named.
  sub.events.now()
  victim.events.now()
  const late = begin('eeeeee')
  open.push(late)
  await sleep(60)
  const blocks = ownBlocksOf(victim)
  t.match(blocks, [{ by: 'aaaaaa', isAlone: false, start: Number, duration: Number, cpu: Number }])
  t.equal(blocks.length, 1)
  t.equal(ownBlocksOf(culprit).length, 1)
  t.ok(blocks.every(({ cpu, duration, start }) => cpu <= duration && start >= 0))
  for (const trace of [over, late]) t.strictSame(ownBlocksOf(trace), [], trace.token)
})

t.test('no request is named if the first active request has just begun, or if none is active', async t => {
  const open = [begin('aaaaaa')]
  const [waiting] = open as [Trace]
  const watch = new LoopWatch(() => open)
  t.teardown(watch.stop)
  watch.start()
  toil(150)
  begin('bbbbbb')
  await sleep(60)
  toil(150)
  await sleep(60)
  const blocks = ownBlocksOf(waiting).map(({ by, isAlone, isOwn }) => ({ by, isAlone, isOwn }))
  const unknown = { by: '', isAlone: true, isOwn: false }
  t.strictSame(blocks, [unknown, unknown], 'a job may have worked, which is not recorded')
})

t.test('waiting is not a block; the block of a suspended machine has little CPU time', async t => {
  const open = [begin('aaaaaa')]
  const [waiting] = open as [Trace]
  const watch = new LoopWatch(() => open)
  t.teardown(watch.stop)
  watch.start()
  await sleep(150)
  waiting.events.now()
  t.strictSame(
    blocksOf(waiting).filter(({ cpu }) => cpu > 50),
    [],
  )
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  waiting.events.now()
  await sleep(60)
  const asleep = blocksOf(waiting).filter(({ duration }) => duration > 150)
  // A busy machine may suspend the process again.
  t.ok(asleep.length >= 1)
  t.ok(asleep.every(({ cpu, duration }) => cpu < duration / 2))
})

t.test('the watch ends when no request is in flight, and begins again with the next request', async t => {
  const open = [begin('aaaaaa')]
  let looks = 0
  const watch = new LoopWatch(() => {
    looks++
    return open
  })
  t.teardown(watch.stop)
  watch.start()
  await until(() => looks >= 2)
  open.length = 0
  await sleep(60)
  const before = looks
  await sleep(60)
  t.equal(looks, before)
  watch.start()
  await until(() => looks !== before)
  t.ok(looks > before)
})

t.test('200 blocks are recorded: without one of them, what waited meanwhile would be slow', async t => {
  const usage = usagePart.of(begin('aaaaaa'))
  for (let count = 0; count < 250; count++) usage.addBlock(0, 100, 100, { by: '', isOwn: false, isAlone: true })
  t.equal(usage.blocks.length, 200)
})
