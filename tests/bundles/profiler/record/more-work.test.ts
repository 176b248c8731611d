import fc from 'fast-check'
import { t } from 'tap'
import { compareProfiles } from '#bundles/profiler/insight/compare/comparison.ts'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
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

t.test('queries over the limit that are slow have details, up to 25, and leave room for failures', async t => {
  for (const [slow, failed, listed] of [
    [1, 0, 501],
    [0, 0, 500],
    [30, 0, 525],
    [30, 30, 550],
    [0, 70, 550],
  ] as const) {
    let now = 0
    const trace = new QueryTrace()
    const owner = { elapsed: () => now, touch: () => {} }
    const start = { system: 'mysql', text: 'SELECT a FROM b WHERE c = ?', parameters: [1], source: 'measure' } as const
    for (let query = 0; query < 500; query++) trace.begin(start, undefined, owner).finish({}, String)
    for (let query = 0; query < 200; query++) {
      const end = trace.beginMore(start, owner, new Redactor())
      now += query >= 50 && query < 50 + slow ? 100 : 99
      end(query >= 100 && query < 100 + failed ? { error: new Error('x') } : { rows: 7 })
    }
    t.equal(trace.queries.length, listed)
    t.equal((trace.more.database.toData()?.ended ?? 0) + listed, 700)
    if (slow === 1) t.hasStrict(trace.queries[500], { rows: 7, start: 50 * 99, end: 50 * 99 + 100 })
  }
})

t.test('a query whose values are not known is neither another item nor independent', t => {
  const one = { system: 'mysql', source: 'channel', caller: { file: 'a.ts', line: 7 } } as const
  const text = 'SELECT a FROM b WHERE id = ?'
  const same = Array.from({ length: 12 }, (_, index) => ({
    ...{ ...one, text, start: index, end: index + 0.5, parameters: [['id', 3]] as const },
    ...(index > 0 && { twin: 0 }),
  }))
  const unknown = { ...one, text, start: 20, end: 170 }
  const rulesOf = (queries: readonly object[]) =>
    findFindings(createProfile({ queries: { queries, omitted: 9 } }, { duration: 900 })).map(({ rule }) => rule)
  t.strictSame(rulesOf([...same, unknown]), ['slow-query', 'duplicate-queries'])
  const others = [300, 500].map(start => ({
    ...one,
    text: `SELECT ${start} FROM c WHERE id = ?`,
    start,
    end: start + 150,
  }))
  t.notOk(rulesOf([unknown, ...others]).includes('sequential-queries'))
  t.end()
})

t.test('findings about queries say that they have seen a sample, and only then', t => {
  const of = (system: string, text: string, twin?: number) =>
    Array.from({ length: 12 }, (_, index) => ({
      ...{
        system,
        text: text.replace('#', String(index)),
        source: 'channel',
        rows: 1,
        caller: { file: 'a.ts', line: 7 },
      },
      ...{ start: index, end: index + 0.5, ...(index > 0 && { twin }) },
    }))
  const slow = of('mysql', 'SELECT #').map((query, index) => ({ ...query, text: 'SELECT 1', end: index + 150 }))
  for (const [queries, rule, sample, all] of [
    [
      of('mysql', 'SELECT 2'),
      'repeated-queries',
      / at least 12 times \(12 of 5,000 queries are listed\), at least /,
      / 12 times, 6/,
    ],
    [
      of('mysql', 'SELECT 2', 0),
      'duplicate-queries',
      /least 12 times with the same values \(12 of/,
      / 12 times with the same values, 6/,
    ],
    [of('redis', 'GET user:#'), 'repeated-commands', / at least 11 similar commands .* at least /, / and 11 similar /],
    [slow.slice(0, 4), 'slow-query', / at least 3 other queries/, / and 3 other queries/],
  ] as const)
    for (const [omitted, expected] of [
      [5000 - queries.length, sample],
      [0, all],
    ] as const) {
      const profile = createProfile(
        { queries: { queries, omitted } },
        { duration: 900, queries: queries.length + omitted },
      )
      const [finding] = findFindings(profile).filter(found => found.rule === rule)
      t.match(finding?.problem, expected, rule)
    }
  t.end()
})

t.test('waits for connections are counted and timed, however many there are', async t => {
  for (const [count, longest, time] of [
    [100, 120, 12_000],
    [101, 120, 12_120],
    [300, 900, 36_780],
  ] as const) {
    const trace = new QueryTrace()
    for (let wait = 0; wait < count; wait++)
      trace.addWait({ system: 'mysql', start: wait * 1000, duration: wait === 250 ? 900 : 120 })
    const { more, waits } = trace
    t.equal(waits.length, 100)
    const queries = { queries: [], omitted: 0, waits, more: { waits: more.waits.toData() } }
    const [finding] = findFindings(createProfile({ queries })).filter(({ rule }) => rule === 'starved-pool')
    t.match(finding?.problem, `(${count} times, at most ${longest} ms)`)
    t.strictSame(finding?.evidence, { count, time })
  }
})

t.test('further waits are stored with the profile of their request', async t => {
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/wait': () => {
        for (let wait = 0; wait < 101; wait++) kernel.app.queries.noteWait({ system: 'mysql', duration: 10 })
        return Response.text('ok')
      },
    },
  })
  const profile = await kernel.profileOf(await kernel.client.get('/wait'))
  t.equal(profile.collectors.queries?.more?.waits?.ended, 1)
})
