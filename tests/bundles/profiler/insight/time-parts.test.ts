import assert from 'node:assert'
import { execSync } from 'node:child_process'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { type Test, t } from 'tap'
import { divideTime, type TimePart } from '#bundles/profiler/insight/overview/time-parts.ts'
import type { Request } from '#lib/http/request.ts'
import { Response } from '#lib/http/response.ts'
import { startUpstream } from '#tests/bundles/profiler/insight/findings/planted/planted-bundle.ts'
import { toil } from '#tests/bundles/profiler/insight/findings/planted/work-pages.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

/** Something that a controller does: a leaf with milliseconds, or several at once. */
type Task = readonly ['timer' | 'busy' | 'query' | 'call' | 'sub', number] | readonly ['all', readonly Task[]]

const plan = (tasks: readonly Task[]) => encodeURIComponent(JSON.stringify(tasks))

/** Serves requests that do the tasks of their query; with `stream`, once more in the body of the response. */
async function serveTasks(t: Test) {
  const upstream = await startUpstream(t)
  const run = async (task: Task, request: Request): Promise<unknown> => {
    if (task[0] === 'all') return Promise.all(task[1].map(each => run(each, request)))
    const [name, time] = task
    if (name === 'busy') return toil(time)
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
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/tasks': async request => {
        const tasks: Task[] = JSON.parse(String(request.query.get('plan')))
        for (const task of tasks) await run(task, request)
        if (!request.query.has('stream')) return Response.text('done')
        const body = async function* () {
          for (const task of tasks) {
            await run(task, request)
            yield 'done'
          }
        }
        return new Response(Readable.from(body()))
      },
      '/exec': () => {
        execSync('sleep 0.2')
        return Response.text('done')
      },
      '/turns': async () => {
        for (let count = 0; count < 15; count++) {
          toil(10)
          await nextTurn()
        }
        return Response.text('done')
      },
    },
  })
  const { url } = await serveKernel(t, kernel)
  const ask = async (path: string) => {
    const response = await fetch(url + path)
    await response.text()
    const profile = await kernel.profileOf(response)
    return { parts: divideTime(profile), whole: Math.round(profile.summary.duration * 1000) }
  }
  return { ask, askFor: (...tasks: Task[]) => ask(`/tasks?plan=${plan(tasks)}`) }
}

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

/** Milliseconds of some parts of the controller, with its waiting. */
function timeOf({ parts }: { readonly parts: readonly TimePart[] }, isMeant: (part: TimePart) => boolean): number {
  const meant = parts.filter(part => part.of === 'controller' && isMeant(part))
  return meant.reduce((sum, { time }) => sum + time, 0) / 1000
}

/** The same as a share of the controller. */
function shareOf(asked: { readonly parts: readonly TimePart[] }, isMeant: (part: TimePart) => boolean): number {
  return timeOf(asked, isMeant) / timeOf(asked, () => true)
}

const isWaiting = ({ kind }: TimePart) => kind === 'waiting'
const isWork = ({ kind, isShared }: TimePart) => kind === 'controller' && !isShared

/** The best share of some requests: a busy machine makes it worse, and never better. */
async function best(measure: () => Promise<number>, enough: (share: number) => boolean): Promise<number> {
  let share = await measure()
  for (let attempt = 1; attempt < 20 && !enough(share); attempt++) share = await measure()
  return share
}

const isMost = (share: number) => share >= 0.9
const isLeast = (share: number) => share <= 0.1

t.test('a timer is waiting; a busy loop and a synchronous call are work; a mixture is divided', async t => {
  const { ask, askFor } = await serveTasks(t)
  const timer = await best(async () => shareOf(await askFor(['timer', 140]), isWaiting), isMost)
  t.ok(isMost(timer), `a timer waits: ${timer}`)
  const busy = await best(async () => shareOf(await askFor(['busy', 100]), isWork), isMost)
  t.ok(isMost(busy), `a busy loop works: ${busy}`)
  const exec = await best(async () => shareOf(await ask('/exec'), isWork), isMost)
  t.ok(isMost(exec), `a synchronous call works: ${exec}`)
  // The timer is not later than its time by much, and the loop takes at least its CPU time.
  const isDivided = (waited: number) => waited > 45 && waited < 75
  const mixture = () => askFor(['timer', 50], ['busy', 50])
  const waited = await best(async () => timeOf(await mixture(), isWaiting), isDivided)
  t.ok(isDivided(waited), `the timer of a mixture waits: ${waited} ms`)
  t.ok(timeOf(await mixture(), isWork) > 45, 'the loop of a mixture works')
})

t.test('the work of another request is never work of one that waits', async t => {
  const { ask, askFor } = await serveTasks(t)
  const besides = async () => {
    const other = ask('/turns')
    const { parts, whole } = await askFor(['timer', 60])
    await other
    return { parts, whole }
  }
  const work = await best(async () => shareOf(await besides(), isWork), isLeast)
  t.ok(isLeast(work), `the other one works: ${work}`)
  const both = () => Promise.all([askFor(['timer', 80]), askFor(['timer', 80])])
  const waited = await best(async () => Math.min(...(await both()).map(each => shareOf(each, isWaiting))), isMost)
  t.ok(isMost(waited), `two timers wait at the same time: ${waited}`)
})
