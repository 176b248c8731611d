import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { LoopWatch } from '../../../../bundles/profiler/recording/loop-watch.ts'
import { Pass } from '../../../../bundles/profiler/recording/pass.ts'
import { startUsage, type UsageTrace } from '../../../../bundles/profiler/recording/usage-trace.ts'
import { RequestType } from '../../../../kernel/request-type.ts'
import { createRequest } from '../../../../kernel/testing/event-factories.ts'
import { toil } from '../../../support/flawed-bundle.ts'

/** A pass of a main request that has begun to do something. */
function begin(token: string): Pass {
  const pass = new Pass(token, createRequest(), RequestType.Main, undefined)
  pass.usage = startUsage([])
  pass.events.now()
  return pass
}

function blocksOf({ usage }: Pass): UsageTrace['blocks'] {
  return usage?.blocks ?? []
}

t.test('who is active first after the event loop was blocked was at work', async t => {
  const open = [begin('aaaaaa'), begin('bbbbbb')]
  const [culprit, victim] = open as [Pass, Pass]
  const sub = new Pass('cccccc', createRequest(), RequestType.Sub, culprit)
  const over = begin('dddddd')
  open.push(sub, over)
  if (over.usage !== undefined) over.usage.end = performance.now()
  const watch = new LoopWatch(() => open)
  t.teardown(watch.stop)
  watch.start()
  watch.start()
  await sleep(30)
  toil(150)
  // Of a sub-request too it is the main request that is named.
  sub.events.now()
  victim.events.now()
  const late = begin('eeeeee')
  open.push(late)
  await sleep(60)
  t.match(blocksOf(victim), [{ by: 'aaaaaa', start: Number, duration: Number, cpu: Number }])
  t.equal(blocksOf(culprit).length, 1)
  const [block] = blocksOf(victim)
  t.ok(block && block.cpu >= 90 && block.cpu <= block.duration && block.start >= 0)
  for (const { token, usage } of [over, late]) t.strictSame(usage?.blocks, [], token)
})

t.test('nobody is named when the first to be active has just begun, or nobody is', async t => {
  const open = [begin('aaaaaa')]
  const [waiting] = open as [Pass]
  const watch = new LoopWatch(() => open)
  t.teardown(watch.stop)
  watch.start()
  toil(150)
  begin('bbbbbb')
  await sleep(60)
  toil(150)
  await sleep(60)
  const names = blocksOf(waiting).map(({ by }) => by)
  // A busy machine may block it once more.
  t.ok(names.length >= 2 && names.every(name => name === ''), names.join())
})

t.test('a time in which requests only wait is none, and a machine that sleeps burns no CPU time', async t => {
  const open = [begin('aaaaaa')]
  const [waiting] = open as [Pass]
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
  t.equal(asleep.length, 1)
  t.ok(asleep.every(({ cpu, duration }) => cpu < duration / 2))
})

t.test('it ends when no request is in flight, and begins again with the next', async t => {
  const open = [begin('aaaaaa')]
  let looks = 0
  const watch = new LoopWatch(() => {
    looks++
    return open
  })
  t.teardown(watch.stop)
  watch.start()
  await sleep(60)
  open.length = 0
  await sleep(60)
  const before = looks
  t.ok(before > 1)
  await sleep(60)
  t.equal(looks, before)
  watch.start()
  await sleep(60)
  t.ok(looks > before)
})

t.test('after twenty blocks no more are noted', async t => {
  const { usage } = begin('aaaaaa')
  for (let count = 0; count < 25; count++) usage?.addBlock(0, 100, 100, '')
  t.equal(usage?.blocks.length, 20)
})
