import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { Trace } from '#bundles/profiler/record/trace.ts'
import {
  GcWatch,
  readProcessUsage,
  sharedLifetime,
  UsageTrace,
  usagePart,
} from '#bundles/profiler/subjects/memory/record.ts'
import { Response } from '#lib/http/response.ts'
import { createProfile } from '#tests/support/create-profile.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Waits until the runs of the garbage collector are reported. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
}

/** The parts of the data that tests check. */
interface Usage {
  readonly wall: number
  readonly cpu: { readonly user: number; readonly system: number }
  readonly loop: { readonly active: number; readonly idle: number }
  readonly heap: { readonly before: number; readonly after: number; readonly limit: number }
  readonly requests: { readonly others: number; readonly most: number }
  readonly pauses: {
    readonly count: number
    readonly total: number
    readonly longest: { start: number; kind: string }[]
  }
}

function usageOf({ data }: Profile): Usage {
  return data.memory as Usage
}

t.test('a main request is recorded with the resources that the process has used during it', async t => {
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/work': () => {
        const end = performance.now() + 20
        while (performance.now() < end);
        return Response.html('done')
      },
      '/wait': async () => {
        const before = performance.eventLoopUtilization()
        do await new Promise(resolve => setTimeout(resolve, 5))
        while (performance.eventLoopUtilization(before).idle < 10)
        return Response.html('done')
      },
    },
  })
  const busy = usageOf(await kernel.profileOf(await kernel.client.get('/work')))
  t.ok(busy.wall >= 20)
  t.ok(busy.cpu.user + busy.cpu.system > 0)
  t.ok(busy.loop.active >= 19)
  t.ok(busy.heap.before > 0 && busy.heap.after > 0 && busy.heap.limit > busy.heap.after)
  const waiting = usageOf(await kernel.profileOf(await kernel.client.get('/wait')))
  t.ok(waiting.loop.idle >= 10)
})

t.test('concurrent requests are counted: at the start, and the maximum', async t => {
  let open: () => void = () => undefined
  const gate = new Promise<void>(resolve => {
    open = resolve
  })
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/gate': async () => {
        await gate
        return Response.html('open')
      },
    },
  })
  const first = kernel.client.get('/gate')
  const second = kernel.client.get('/gate')
  await kernel.client.get('/partnership')
  open()
  const responses = [await first, await second, await kernel.client.get('/partnership')]
  const usages = []
  for (const response of responses) usages.push(usageOf(await kernel.profileOf(response)).requests)
  t.same(usages, [
    { others: 0, most: 2 },
    { others: 1, most: 2 },
    { others: 0, most: 0 },
  ])
})

t.test('a run of the garbage collector is recorded with the interrupted request, even if that has ended', async t => {
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/garbage': () => {
        collectGarbage()
        return Response.html('clean')
      },
      '/slow': async () => {
        collectGarbage()
        await turns()
        return Response.html('clean')
      },
    },
  })
  for (const path of ['/garbage', '/slow']) {
    const response = await kernel.client.get(path)
    await turns()
    const { pauses, wall } = usageOf(await kernel.profileOf(response))
    t.ok(pauses.count >= 1, path)
    t.ok(pauses.total > 0)
    t.ok(pauses.longest.some(({ kind }) => kind === 'major'))
    for (const { start } of pauses.longest) t.ok(start <= wall)
  }
  // Each ends before the one before is stored.
  const asked: ReturnType<typeof kernel.client.get>[] = []
  for (let count = 0; count < 6; count++) {
    asked.push(kernel.client.get('/garbage'))
    await new Promise(setImmediate)
  }
  const counts: number[] = []
  for (const response of await Promise.all(asked))
    counts.push(usageOf(await kernel.profileOf(response)).pauses.longest.filter(({ kind }) => kind === 'major').length)
  t.notOk(counts.includes(0), `runs of requests in consecutive turns: ${counts.join()}`)
  t.equal((await kernel.storage.search({ limit: 10 })).total, 8)
})

t.test('a request that ended before the run, or began after it, is not interrupted', async t => {
  const open: Trace[] = []
  t.teardown(new GcWatch(() => open).start())
  const begin = () => {
    const trace = new Trace('abc123', createRequest(), undefined)
    usagePart.of(trace)
    open.push(trace)
    return trace
  }
  const end = (trace: Trace) => {
    const usage = usagePart.find(trace)
    if (usage !== undefined) usage.end = performance.now()
  }
  const before = begin()
  end(before)
  const over = begin()
  const running = begin()
  const sub = new Trace('abc124', createRequest(), running)
  open.push(sub)
  collectGarbage()
  end(over)
  const later = begin()
  await turns()
  // Minor runs are possible at any time.
  const majorOf = (trace: Trace) => usagePart.find(trace)?.pauses.longest.filter(({ kind }) => kind === 'major').length
  t.equal(majorOf(before), 0)
  t.ok(majorOf(over))
  t.ok(majorOf(running))
  t.equal(majorOf(later), 0)
  t.equal(usagePart.find(sub), undefined)
})

t.test('the longest of many runs are kept', async t => {
  const usage = new UsageTrace({ others: 0 })
  for (let run = 0; run < 200; run++) usage.addPause(run, run % 2, 'minor')
  t.hasStrict(usage.pauses, { count: 200, total: 100 })
  const kept = usage.pauses.longest.map(({ start }) => start)
  t.strictSame(
    kept,
    Array.from({ length: 100 }, (_, at) => 2 * at + 1),
  )
})

t.test('the panel shows times, memory and pauses, and their request', async t => {
  const kernel = await createProfiledKernel(t)
  const panel = kernel.panel('memory')
  const profile = createProfile({
    memory: {
      wall: 40,
      cpu: { user: 8, system: 2 },
      loop: { active: 12, idle: 28 },
      heap: { before: 3 * 1024 ** 2, after: 2 * 1024 ** 2, limit: 4096 * 1024 ** 2 },
      requests: { others: 1, most: 3 },
      pauses: {
        count: 3,
        total: 1.5,
        longest: [
          { start: 4, duration: 1, kind: 'minor' },
          { start: 9, duration: 0.5 },
        ],
      },
    },
  })
  t.ok(panel.hasContent(profile))
  const page = await kernel.show('memory', profile)
  for (const text of [
    'Of 40 ms',
    '10 ms <small>25 %</small>',
    '12 ms <small>30 %</small>',
    '<dd>2.0 MiB <small>-1.0 MiB</small></dd>',
    '<dd>3 <small>1.5 ms</small></dd>',
    'Most of the time was waiting',
    'The heap is smaller than before: the garbage collector has run.',
    '<rect x="0" width="300" height="8"/>',
    '<rect x="100" width="25" height="8"><title>minor: 1.0 ms at 4.0 ms</title></rect>',
    'All values are measured for the whole process.',
    'concurrent requests: 1 at the start of this one, at most 3 until its end',
    'No JavaScript runs during a pause: 1 minor in 1.0 ms, 1 other in 0.50 ms, + 1 more.',
    '1.5 ms <small>3.8 %</small>',
  ]) {
    t.match(page, text)
  }
})

t.test('the panel notes a busy process, and more than one thread', async t => {
  const kernel = await createProfiledKernel(t)
  const memory = { wall: 100, cpu: { user: 180, system: 20 }, loop: { active: 90, idle: 10 } }
  const page = await kernel.show('memory', createProfile({ memory }))
  t.match(page, 'look for long listeners')
  t.match(page, 'other threads ran too')
})

t.test('the panel notes that there was no concurrent request', async t => {
  const kernel = await createProfiledKernel(t)
  const page = await kernel.show('memory', await kernel.profileOf(await kernel.client.get('/partnership')))
  t.match(page, 'No concurrent request was recorded.')
})

t.test('the usage of a sub-request is shown with its main request', async t => {
  const kernel = await createProfiledKernel(t)
  const main = await kernel.profileOf(await kernel.client.get('/nowhere'))
  const sub = await kernel.storage.find(main.children[0] ?? '')
  if (sub === undefined) throw new Error('There is no sub-request.')
  t.notOk(kernel.panel('memory').hasContent(sub.profile))
  t.match(await kernel.show('memory', sub.profile), 'see the main request')
  t.match(await kernel.show('memory', createProfile({})), 'No usage recorded.')
})

t.test('damaged data costs the damaged part only', async t => {
  const kernel = await createProfiledKernel(t)
  for (const memory of [1, null, 'text'])
    t.match(await kernel.show('memory', createProfile({ memory })), 'No usage recorded.')
  for (const memory of [
    { heap: 1, pauses: { longest: [1] } },
    { wall: 'x', pauses: { longest: 2 } },
  ]) {
    t.match(await kernel.show('memory', createProfile({ memory })), 'Event loop busy')
  }
})

t.test('a rare caller gets a current reading; under load, callers share a reading', async t => {
  let now = performance.now()
  /** Returns readings, at the given number of milliseconds from one another. */
  const want = (pause: number, count: number) =>
    Array.from({ length: count }, () => {
      now += pause
      return readProcessUsage(0, now)
    })

  want(20, 10)
  const seldom = want(20, 10)
  t.equal(new Set(seldom).size, 10)

  want(0.2, 1000)
  const often = want(0.2, 1000)
  t.ok(new Set(often).size <= 200 / sharedLifetime + 1, `${new Set(often).size} readings in 200 ms`)

  want(20, 10)
  const again = want(20, 10)
  t.equal(new Set(again).size, 10)
})
