import assert from 'node:assert'
import { execSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import type { Request } from 'sinfonietta'
import { type Test, t } from 'tap'
import { type Overview, summarizeProfile } from '#bundles/profiler/insight/overview/overview.ts'
import { Response } from '#lib/http/response.ts'
import { startUpstream } from '#tests/bundles/profiler/insight/findings/planted/planted-bundle.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

type TimePart = Overview['parts'][number]

/** Something that a controller does: a leaf with milliseconds, or several at once. */
type Task = readonly ['timer' | 'busy' | 'exec' | 'query' | 'call' | 'sub', number] | readonly ['all', readonly Task[]]

const plan = (tasks: readonly Task[]) => encodeURIComponent(JSON.stringify(tasks))

/** What a controller has measured of the event loop while it did its tasks, in milliseconds. */
interface Measured {
  readonly elapsed: number
  /** The time in which the loop has waited. */
  readonly idle: number
}

/** Does some work, and measures the event loop meanwhile. */
async function measure(run: () => Promise<unknown>): Promise<Measured> {
  const [begin, idle] = [performance.now(), performance.nodeTiming.idleTime]
  await run()
  return { elapsed: performance.now() - begin, idle: performance.nodeTiming.idleTime - idle }
}

function work(milliseconds: number): void {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

/** Serves requests that do the tasks of their query; with `stream`, once more in the body of the response. */
async function serveTasks(t: Test) {
  const upstream = await startUpstream(t)
  const run = async (task: Task, request: Request): Promise<unknown> => {
    if (task[0] === 'all') return Promise.all(task[1].map(each => run(each, request)))
    const [name, time] = task
    if (name === 'busy') return work(time)
    if (name === 'exec') return execSync(`sleep ${time / 1000}`)
    if (name === 'call') return (await fetch(`${upstream}/wait/${time}`)).text()
    if (name === 'query') return kernel.app.queries.measure('sqlite', 'SELECT 1', [], () => sleep(time))
    if (name === 'sub') {
      const inner = plan([
        ['timer', time],
        ['busy', 2],
      ])
      return kernel.app.kernel.handle(request.duplicate({ target: `/tasks?plan=${inner}` }))
    }
    return sleep(time)
  }
  const signals = new EventEmitter()
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/tasks': async request => {
        const tasks: Task[] = JSON.parse(String(request.query.get('plan')))
        const measured = await measure(async () => {
          for (const task of tasks) await run(task, request)
        })
        if (!request.query.has('stream')) return Response.json(measured)
        const body = async function* () {
          yield JSON.stringify(measured)
          for (const task of tasks) {
            await run(task, request)
            yield ' '
          }
        }
        return new Response(Readable.from(body()))
      },
      '/waiting': async () => {
        signals.emit('arrived')
        return Response.json(await measure(() => once(signals, 'worked')))
      },
      '/turns': async () => {
        let elapsed = 0
        for (let count = 0; count < 15; count++) {
          elapsed += (await measure(async () => work(10))).elapsed
          await nextTurn()
        }
        signals.emit('worked')
        return Response.json({ elapsed, idle: 0 })
      },
    },
  })
  const { url } = await serveKernel(t, kernel)
  const ask = async (path: string) => {
    const response = await fetch(url + path)
    const measured = (await response.json()) as Measured
    const profile = await kernel.profileOf(response)
    return {
      measured,
      parts: summarizeProfile({ profile, earlier: [], findings: [] }).parts,
      whole: Math.round(profile.summary.duration * 1000),
    }
  }
  return { ask, signals, askFor: (...tasks: Task[]) => ask(`/tasks?plan=${plan(tasks)}`) }
}

type Asked = Awaited<ReturnType<Awaited<ReturnType<typeof serveTasks>>['ask']>>

const time = fc.integer({ min: 1, max: 6 })
const leaf: fc.Arbitrary<Task> = fc.tuple(fc.constantFrom('timer', 'busy', 'query', 'call', 'sub'), time)
const task: fc.Arbitrary<Task> = fc.oneof(
  { weight: 3, arbitrary: leaf },
  { weight: 1, arbitrary: fc.tuple(fc.constant('all'), fc.array(leaf, { minLength: 2, maxLength: 4 })) },
)

t.test('the parts of real requests add up to their durations', async t => {
  const { ask } = await serveTasks(t)
  const request = fc.tuple(fc.array(task, { minLength: 1, maxLength: 4 }), fc.boolean())
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 3 }), async requests => {
      const all = requests.map(([tasks, isStream]) => ask(`/tasks?plan=${plan(tasks)}${isStream ? '&stream' : ''}`))
      for (const { parts, whole } of await Promise.all(all)) {
        const sum = parts.reduce((sum, { time }) => sum + time, 0)
        assert.equal(sum, whole)
        assert.deepEqual(
          parts.filter(({ time }) => time <= 0),
          [],
        )
      }
    }),
    { numRuns: 12 },
  )
  t.pass('all of them')
})

/** Milliseconds of some parts of a request. */
function timeOf({ parts }: Asked, isMeant: (part: TimePart) => boolean): number {
  return parts.filter(isMeant).reduce((sum, { time }) => sum + time, 0) / 1000
}

const isWaiting = ({ kind, of }: TimePart) => kind === 'waiting' && of === 'controller'
const isWork = ({ kind, isShared }: TimePart) => kind === 'controller' && !isShared
const isPause = ({ kind }: TimePart) => ['gc', 'blocked', 'stopped'].includes(kind)

/** Milliseconds between a measurement of the controller and that of the profiler. */
const tolerance = 1

/** Whether the controller waited as long as the loop did, also on a machine that is busy with other programs. */
function hasWaited(asked: Asked): boolean {
  return Math.abs(timeOf(asked, isWaiting) - asked.measured.idle) < tolerance
}

/** Whether the rest of its time is work. */
function hasWorked(asked: Asked): boolean {
  const { elapsed, idle } = asked.measured
  return timeOf(asked, isWork) + timeOf(asked, isPause) > elapsed - idle - tolerance
}

const describe = (asked: Asked) =>
  JSON.stringify({ ...asked.measured, waited: timeOf(asked, isWaiting), worked: timeOf(asked, isWork) })

t.test('a timer is waiting; a busy loop and a synchronous call are work; a mixture is divided', async t => {
  const { askFor } = await serveTasks(t)
  const offenders: string[] = []
  for (const tasks of [
    [['timer', 60]],
    [['busy', 60]],
    [['exec', 60]],
    [
      ['timer', 40],
      ['busy', 40],
    ],
  ] as Task[][]) {
    const asked = await askFor(...tasks)
    if (!hasWaited(asked) || !hasWorked(asked)) offenders.push(`${JSON.stringify(tasks)}: ${describe(asked)}`)
    if (asked.measured.elapsed < 55) offenders.push(`${JSON.stringify(tasks)} was not done`)
  }
  t.strictSame(offenders, [])
})

t.test('two requests wait for their timers at the same time', async t => {
  const { askFor } = await serveTasks(t)
  const both = await Promise.all([askFor(['timer', 60]), askFor(['timer', 60])])
  t.strictSame(both.filter(asked => !hasWaited(asked)).map(describe), [])
})

t.test('the work of another request is never work of one that waits', async t => {
  const { ask, signals } = await serveTasks(t)
  const arrived = once(signals, 'arrived')
  const waiting = ask('/waiting')
  await arrived
  const { measured } = await ask('/turns')
  const asked = await waiting
  // In one thread, nothing else happens while the other one works, or while the loop waits.
  const most = asked.whole / 1000 - asked.measured.idle - measured.elapsed
  t.ok(timeOf(asked, isWork) < most + tolerance, `${describe(asked)}, at most ${most} ms`)
})
