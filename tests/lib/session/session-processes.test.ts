import { once } from 'node:events'
import path from 'node:path'
import fc from 'fast-check'
import { type Test, t } from 'tap'
import { Session } from '#lib/session/session.ts'
import {
  openSessionStore,
  runRequests,
  type SessionPlace,
  type SessionRequest,
  times,
} from '#tests/support/session-process.ts'
import { startProcess } from '#tests/support/start-process.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'

t.test('two processes with one folder', async t => {
  await testProcesses(t, (number, folder) => ({ directory: path.join(folder, `${number}`) }))
})

t.test('two processes with one Redis', { skip: lacksRedis }, async t => {
  const { host, port } = await startRedis(t)
  await testProcesses(t, number => ({ url: `redis://${host}:${port}`, prefix: `${number}:` }))
})

/** Runs the claims. `createPlace` returns an empty place for each number; it may be in the folder. */
async function testProcesses(t: Test, createPlace: (number: number, folder: string) => SessionPlace): Promise<void> {
  const program = path.join(import.meta.dirname, '../../support/session-process.js')
  const child = startProcess(t, [process.execPath, program], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const ended = new AbortController()
  child.once('exit', (code, signal) => ended.abort(`The other process has ended: ${signal ?? code}.`))
  const folder = t.testdir()
  let number = 0

  /** Runs requests in this process and in the other one, at once. Returns their results and the stored session. */
  const run = async (mine: readonly SessionRequest[], others: readonly SessionRequest[]) => {
    const place = createPlace(++number, folder)
    const [one, other] = ['one', 'other'].map(name => path.join(folder, `${number}-${name}`)) as [string, string]
    const store = openSessionStore(place)
    const first = new Session({ store, times })
    await first.set('token', 'once')
    const { id } = Object(await first.save())
    child.send({ place, id, requests: others, begun: [other, one] }, () => undefined)
    const [results, [otherResults]] = await Promise.all([
      runRequests({ place, id, requests: mine, begun: [one, other] }),
      once(child, 'message', { signal: ended.signal }),
    ])
    const stored = await store.read(id)
    await store.close?.()
    return { results, otherResults: otherResults as readonly unknown[], stored }
  }

  await t.test('80 overlapping updates count to 80, and one of three requests has a token', async t => {
    const updates = Array.from({ length: 40 }, (): SessionRequest => ({ method: 'update', name: 'count' }))
    const take: SessionRequest = { method: 'take', name: 'token' }
    const { otherResults, results, stored } = await run([...updates, take], [take, ...updates, take])
    t.strictSame(stored?.attributes, { count: 80 })
    const all = [...results, ...otherResults]
    t.strictSame(all.filter(isNumber).sort(byNumber), listTo(80))
    t.strictSame(all.filter(result => !isNumber(result)).sort(), [null, null, 'once'].sort())
  })

  const name = fc.constantFrom('a', 'b', 'c')
  const request: fc.Arbitrary<SessionRequest> = fc.oneof(
    fc.record({ method: fc.constant('update' as const), name: name.map(name => `count ${name}`) }),
    fc.record({ method: fc.constantFrom('set' as const, 'flash' as const), name }),
    fc.record({ method: fc.constantFrom('take' as const, 'flashes' as const), name: fc.constant('token') }),
  )
  const requests = fc.array(request, { minLength: 5, maxLength: 30 })

  await t.test('the outcome of mixed requests is that of a model', async t => {
    await fc.assert(
      fc.asyncProperty(requests, requests, async (mine, others) => {
        const { otherResults, results, stored } = await run(mine, others)
        const all = [...mine, ...others]
        const outcomes = [...results, ...otherResults]
        const namesOf = (method: string) => all.filter(request => request.method === method).map(({ name }) => name)
        const resultsOf = (method: string, name?: string) =>
          outcomes.filter((_, index) => all[index]?.method === method && (name ?? all[index].name) === all[index].name)
        const counts: Record<string, number> = {}
        for (const name of namesOf('update')) counts[name] = (counts[name] ?? 0) + 1
        const takes = namesOf('take').length
        const sets = Object.fromEntries(namesOf('set').map(name => [name, true]))
        t.same(stored?.attributes, { ...(takes === 0 && { token: 'once' }), ...sets, ...counts })
        t.strictSame(
          resultsOf('take').sort(),
          listTo(takes)
            .map(number => (number === 1 ? 'once' : null))
            .sort(),
        )
        for (const [name, count] of Object.entries(counts)) {
          t.strictSame(resultsOf('update', name).sort(byNumber), listTo(count), name)
        }
        const flashes = [...resultsOf('flashes'), stored?.flashes.notice ?? []].flat()
        t.strictSame(flashes.sort(), namesOf('flash').sort())
      }),
      { numRuns: 10 },
    )
  })

  await t.test('a session that one of them ends stays ended', async t => {
    await fc.assert(
      fc.asyncProperty(requests, requests, fc.nat(30), async (mine, others, at) => {
        const { stored } = await run(mine.toSpliced(at, 0, { method: 'invalidate', name: '' }), others)
        t.equal(stored, undefined)
      }),
      { numRuns: 5 },
    )
  })
}

/** The numbers from 1. */
function listTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}

function byNumber(one: unknown, other: unknown): number {
  return Number(one) - Number(other)
}
