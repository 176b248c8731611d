import fc from 'fast-check'
import { t } from 'tap'
import { compareProfiles } from '#bundles/profiler/insight/compare/comparison.ts'
import { summarizeProfile } from '#bundles/profiler/insight/overview/overview.ts'
import { toPlainText } from '#bundles/profiler/insight/overview/sentence.ts'
import { joinPeriods, totalOf } from '#bundles/profiler/profile/work.ts'
import { MoreWorkCounter } from '#bundles/profiler/record/more-work.ts'
import { CallTrace } from '#bundles/profiler/subjects/http/traced-calls.ts'
import { readQueries } from '#bundles/profiler/subjects/queries/read.ts'
import { QueryTrace } from '#bundles/profiler/subjects/queries/record.ts'
import { Response } from '#lib/http/response.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { createProfile } from '#tests/support/create-profile.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

t.test('the time of queries and calls is that of all of them, however many there are', t => {
  let now = 0
  const redactor = new Redactor()
  const owner = { elapsed: () => now, touch: () => {} }
  for (const count of [450, 500, 501, 5000, 20_000]) {
    now = 0
    const queries = new QueryTrace()
    const start = { system: 'sqlite', text: 'x', source: 'measure' } as const
    for (let query = 0; query < count; query++) {
      const recorded = queries.count('sqlite') ? queries.begin(start, undefined, owner) : undefined
      const end = recorded === undefined ? queries.beginMore(start, owner, redactor) : undefined
      now += 1
      recorded?.finish({}, String)
      end?.({})
      end?.({})
      now += 0.5
    }
    t.strictSame([queries.time('database'), queries.databaseCount], [count, count], `${count} queries`)
    const calls = new CallTrace()
    for (let index = 0; index < count; index++) {
      const call = calls.begin({ client: 'fetch', method: 'GET', url: '/' }, () => undefined, owner)
      call.noteSent(['accept', '*/*'])
      now += 1
      if (index % 2 === 0) call.finish()
      else call.fail(new Error('cut off'))
    }
    const data = calls.more.toData()
    const more = count - 250
    t.strictSame(
      [data?.ended ?? 0, data?.total ?? 0, data?.failed ?? 0],
      [more, more, Math.floor((count - 200) / 2) - 50],
    )
    t.equal(calls.calls.length, 250, 'the first 200, and the next 50 that failed')
    t.ok(calls.calls.every(({ start }, index) => start >= (calls.calls[index - 1]?.start ?? 0)))
    t.ok(JSON.stringify(queries.more.database.toData() ?? '').length < 150_000)
  }
  t.end()
})

t.test('in any order of their ends, more work takes the time of its joined periods', async () => {
  const period = fc.record({ start: fc.integer({ min: 0, max: 50 }), duration: fc.integer({ min: 0, max: 20 }) })
  fc.assert(
    fc.property(fc.array(period), periods => {
      const counter = new MoreWorkCounter()
      for (const { duration, start } of periods) counter.add(start, start + duration, false)
      return totalOf(joinPeriods(counter.periods)) === totalOf(joinPeriods(periods))
    }),
  )
})

t.test('the overview, Compare and the panel count and time the queries that have no details', async t => {
  const queries = Array.from({ length: 500 }, (_, index) => ({
    ...{ system: 'mysql', text: 'SELECT ?', source: 'channel', start: index / 10, end: index / 10 + 0.1 },
    caller: { file: 'a.ts', line: 7 },
  }))
  const periods = [[50, 450]] as const
  const more = { database: { ended: 4500, failed: 2, longest: 9, total: 450, periods } }
  const profile = createProfile({ queries: { queries, omitted: 4500, more } }, { duration: 510, queries: 5000 })
  t.equal(Math.round(readQueries(profile).database.covered), 500)
  const { parts, sentence } = summarizeProfile({ profile, earlier: [], findings: [] })
  t.strictSame(
    parts.filter(({ kind }) => kind === 'database').map(({ time }) => time),
    [500_000],
  )
  t.match(toPlainText(sentence), '5,000 queries took 500 ms, at least 500 of them at a.ts:7')
  const { timings } = compareProfiles(createProfile({}), profile)
  const timing = timings.find(({ second }) => second?.name === 'Database queries')?.second
  t.match(timing, { duration: 500_000, times: 5000 })
})

t.test('queries over the limit are timed until they end, and those that fail have details, up to 50', async t => {
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/many': async () => {
        for (let query = 0; query < 600; query++) {
          const run = async () => {
            if (query >= 540) throw new Error(`failed ${query}`)
            return []
          }
          await kernel.app.queries.measure('mysql', 'SELECT 1', undefined, run).catch(() => [])
        }
        return Response.text('ok')
      },
    },
  })
  const profile = await kernel.profileOf(await kernel.client.get('/many'))
  const { database } = readQueries(profile)
  t.strictSame([database.queries.length, database.more.ended, database.more.failed], [550, 50, 10])
  t.strictSame([database.queries[500]?.error, database.queries.at(-1)?.error], ['failed 540', 'failed 589'])
  t.ok(Math.abs(database.covered - profile.summary.queryTime) < 0.1, 'the list and the panel have one time')
})
