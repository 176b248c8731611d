import fc from 'fast-check'
import { t } from 'tap'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import { joinPeriods, totalOf } from '#bundles/profiler/profile/work.ts'
import { readQueries } from '#bundles/profiler/subjects/queries/read.ts'
import { QueryTrace } from '#bundles/profiler/subjects/queries/record.ts'
import { Response } from '#lib/http/response.ts'
import { createProfile, createQuery, type QueryData } from '#tests/support/create-profile.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { until } from '#tests/support/until.ts'

t.test('queries of an application are recorded with their times, rows and callers', async t => {
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/shop': async () => {
        const { queries } = kernel.app
        await queries.measure('postgresql', 'SELECT * FROM products', [], async () => ['a', 'b'])
        await queries.measure('redis', 'GET cart:7', undefined, async () => 'x')
        const refused = () => Promise.reject(Object.assign(new Error('no such table: gone'), { code: '42P01' }))
        await queries.measure('postgresql', 'SELECT * FROM gone', [], refused).catch(() => {})
        return Response.html('done')
      },
    },
  })
  const profile = await kernel.profileOf(await kernel.client.get('/shop'))
  const { queries, omitted } = readQueries(profile)
  t.equal(omitted, 0)
  t.hasStrict(queries, [
    { system: 'postgresql', kind: 'database', text: 'SELECT * FROM products', rows: 2, source: 'measure', error: '' },
    { system: 'redis', kind: 'cache', text: 'GET cart:7', operation: 'GET' },
    { text: 'SELECT * FROM gone', error: 'no such table: gone', code: '42P01' },
  ])
  t.match(queries[0]?.caller, { file: /queries\.test\.[jt]s$/, line: Number })
  t.hasStrict(profile.summary, { queries: 2, cacheCalls: 1 })
  t.ok(profile.summary.queryTime <= profile.summary.duration)
})

t.test('queries from BEGIN to COMMIT are a transaction if one connection may have run them', t => {
  const numbersOf = (queries: readonly QueryData[]) =>
    readQueries(createProfile({ queries: { queries, omitted: 0 } })).queries.map(({ transaction }) => transaction)
  const inOrder = (...texts: string[]) => texts.map((text, start) => createQuery({ text, start, end: start + 1 }))
  const none = undefined
  const whole = ['SELECT 1', 'BEGIN', 'SAVEPOINT a', 'UPDATE a SET b = ?', 'ROLLBACK TO a', 'COMMIT', 'SELECT 2']
  t.strictSame(numbersOf(inOrder(...whole)), [none, 1, 1, 1, 1, 1, none])
  t.strictSame(
    numbersOf(inOrder('BEGIN', 'ROLLBACK', 'START TRANSACTION', 'SELECT 1')),
    [1, 1, 2, 2],
    'one is not ended',
  )
  t.strictSame(numbersOf(inOrder('COMMIT', 'BEGIN', 'SELECT 1', 'END')), [none, 1, 1, 1])
  const overlapping = [...inOrder('BEGIN', 'SELECT 1'), createQuery({ text: 'SELECT 2', start: 1.5, end: 2 })]
  t.strictSame(numbersOf([...overlapping, createQuery({ text: 'COMMIT', start: 3 })]), [none, none, none, none])
  const unfinished = [createQuery({ text: 'BEGIN', end: undefined }), createQuery({ text: 'COMMIT', start: 9 })]
  t.strictSame(numbersOf(unfinished), [none, none])
  const two = inOrder('BEGIN', 'BEGIN', 'COMMIT', 'SELECT 1', 'COMMIT', 'BEGIN', 'COMMIT')
  t.strictSame(numbersOf(two), [none, none, none, none, none, 1, 1], 'two are open at the same time')
  t.strictSame(numbersOf(inOrder('BEGIN', 'BEGIN', 'COMMIT')), [none, none, none])
  const other = createQuery({ text: 'SELECT 1', start: 0.5, end: 5, server: 'another:5432' })
  t.strictSame(numbersOf([...inOrder('BEGIN'), other, createQuery({ text: 'COMMIT', start: 2 })]), [1, none, 1])
  const known = inOrder('BEGIN', 'COMMIT').map(query => ({ ...query, transaction: 4 }))
  t.strictSame(numbersOf([...known, ...inOrder('BEGIN', 'COMMIT')]), [4, 4, 5, 5])
  t.end()
})

t.test('a query that ends after its response updates the profile', async t => {
  let answer = (_rows: readonly string[]) => {}
  const rows = new Promise<readonly string[]>(resolve => {
    answer = resolve
  })
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/late': () => {
        void kernel.app.queries.measure('sqlite', 'SELECT 1', undefined, () => rows)
        return Response.html('done')
      },
    },
  })
  const response = await kernel.client.get('/late')
  const [query] = readQueries(await kernel.profileOf(response)).queries
  t.equal(query?.end, undefined)
  answer(['a'])
  await until(async () => readQueries(await kernel.profileOf(response)).queries[0]?.end !== undefined)
  const profile = await kernel.profileOf(response)
  t.hasStrict(readQueries(profile).queries, [{ text: 'SELECT ?', rows: 1 }])
  t.ok(profile.collectors.late, 'it is late work')
})

t.test('queries that late work repeats are those of the response, too', async t => {
  let goOn = () => {}
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/late': async () => {
        const run = () => kernel.app.queries.measure('sqlite', 'SELECT ?', [7], () => [])
        for (let time = 0; time < 3; time++) run()
        void new Promise<void>(resolve => {
          goOn = resolve
        }).then(() => [run(), run(), run()])
        return Response.html('done')
      },
    },
  })
  const response = await kernel.client.get('/late')
  await kernel.profileOf(response)
  goOn()
  await until(async () => readQueries(await kernel.profileOf(response)).queries.length === 6)
  const [finding] = findFindings(await kernel.profileOf(response)).filter(({ rule }) => rule === 'duplicate-queries')
  t.equal(finding?.evidence.count, 6)
})

t.test('after five hundred queries, further queries are only counted', async t => {
  const trace = new QueryTrace()
  const owner = { elapsed: () => 0, touch: () => {} }
  const begin = (system: string) =>
    trace.count(system) ? trace.begin({ system, text: 'x', source: 'measure' }, undefined, owner) : undefined
  for (let query = 0; query < 500; query++) t.ok(begin('sqlite'))
  t.equal(begin('sqlite'), undefined)
  t.equal(begin('redis'), undefined)
  t.strictSame([trace.databaseCount, trace.cacheCount, trace.omitted], [501, 1, 2])
})

t.test('the time with a query counts queries at the same time once', async t => {
  let now = 0
  const owner = { elapsed: () => now, touch: () => {} }
  const trace = new QueryTrace()
  const begin = (system: string) =>
    trace.count(system) ? trace.begin({ system, text: 'x', source: 'measure' }, undefined, owner) : undefined
  const [one, other, cache] = [begin('sqlite'), begin('sqlite'), begin('redis')]
  begin('sqlite')
  now = 3
  one?.finish({}, String)
  now = 5
  other?.finish({}, String)
  now = 9
  other?.finish({ rows: 1 }, String)
  cache?.finish({}, String)
  t.strictSame([trace.time('database'), trace.time('cache')], [5, 9])
  t.strictSame([other?.end, other?.rows], [5, undefined], 'a query ends once')
})

t.test('in any order of their reports, queries take the time of their joined periods', async t => {
  const time = fc.integer({ min: 0, max: 30 })
  const reports = fc.array(fc.record({ start: time, end: fc.option(time), system: fc.constantFrom('sqlite', 'redis') }))
  fc.assert(
    fc.property(reports, reports => {
      let now = 0
      const owner = { elapsed: () => now, touch: () => {} }
      const trace = new QueryTrace()
      for (const { end, start, system } of reports) {
        now = start
        const query = trace.begin({ system, text: 'x', source: 'measure' }, undefined, owner)
        now = start + (end ?? 0)
        if (end !== null) query.finish({}, String)
      }
      for (const [kind, system] of [['database', 'sqlite'] as const, ['cache', 'redis'] as const]) {
        const ended = reports.flatMap(report =>
          report.system === system && report.end !== null ? [{ start: report.start, duration: report.end }] : [],
        )
        t.equal(trace.time(kind), totalOf(joinPeriods(ended)))
      }
    }),
  )
})

t.test('queries are numbered by the transactions of their request', async t => {
  const trace = new QueryTrace()
  const owner = { elapsed: () => 0, touch: () => {} }
  const [first, second] = [{}, {}]
  const begin = (transaction?: object) =>
    trace.begin({ system: 'sqlite', text: 'x', source: 'measure', transaction }, undefined, owner).transaction
  t.strictSame([begin(), begin(first), begin(second), begin(first)], [undefined, 1, 2, 1])
})

t.test('for each type of values, commands of Redis read or write', async t => {
  const read = ['MGET a b', 'TTL a', 'HGETALL a', 'LRANGE a 0 9', 'SISMEMBER a b', 'ZRANGE a 0 9', 'XRANGE a - +']
  const written = ['SETEX a 9 b', 'EXPIRE a 9', 'HSET a b c', 'LPUSH a b', 'SADD a b', 'ZADD a 1 b', 'XADD a * b c']
  const queries = [...read, ...written].map(text => createQuery({ system: 'redis', text }))
  const found = readQueries(createProfile({ queries: { queries, omitted: 0 } })).queries
  t.strictSame(
    found.filter(({ isRead }) => isRead).map(({ text }) => text),
    read,
  )
})

t.test('readQueries derives operations, shapes and duplicates', async t => {
  const select = createQuery({ end: 3 })
  const { database, cache, queries } = readQueries(
    createProfile({
      queries: {
        queries: [
          select,
          { ...select, twin: 0, end: 4 },
          createQuery({ system: 'redis', text: 'GET cart:7', end: undefined }),
          createQuery({ text: 'INSERT INTO orders (id) VALUES ($1)', end: 9, twin: 7 }),
          createQuery({ text: 'select * from products where id = ?', start: 5, end: 4 }),
        ],
        omitted: 2,
      },
    }),
  )
  t.strictSame(
    queries.map(({ isRead, kind, operation }) => [kind, operation, isRead]),
    [
      ['database', 'SELECT', true],
      ['database', 'SELECT', true],
      ['cache', 'GET', true],
      ['database', 'INSERT', false],
      ['database', 'SELECT', true],
    ],
  )
  t.strictSame(
    database.shapes.map(({ queries, total }) => [queries.length, total]),
    [
      [1, 8],
      [2, 5],
      [1, 0],
    ],
  )
  t.strictSame(
    database.duplicates.map(({ index }) => index),
    [0, 1],
  )
  t.equal(database.covered, 8)
  t.strictSame([cache.queries.length, cache.covered], [1, 0])
  t.equal(queries[3]?.twin, undefined, 'a twin comes before its query')
})

t.test('the operation of a statement is that of its main part', async t => {
  const operations: Readonly<Record<string, string>> = {
    '-- by id\n/* shop */ (select 1)': 'SELECT',
    'WITH a AS (SELECT 1), b AS (DELETE FROM x) UPDATE y SET z = 1': 'UPDATE',
    'WITH "select" AS (SELECT 1) INSERT INTO y SELECT 1': 'INSERT',
    'with nothing': 'WITH',
    '': '',
    'hgetall user:1': 'HGETALL',
  }
  for (const [text, operation] of Object.entries(operations)) {
    const profile = createProfile({ queries: { queries: [createQuery({ text })], omitted: 0 } })
    t.equal(readQueries(profile).queries[0]?.operation, operation, text)
  }
})

t.test('a damaged query is replaced, and a profile without queries has none', async t => {
  const queries = [
    7,
    createQuery({ text: 'SELECT 1', twin: 0 }),
    { ...createQuery(), rows: -1, source: 'x', caller: 3 },
  ]
  const stored = readQueries(createProfile({ queries: { queries, omitted: 'many' } }))
  t.hasStrict(stored.queries, [
    { system: '', text: '', start: 0 },
    { text: 'SELECT 1', twin: 0 },
    { rows: undefined, source: 'measure', caller: {} },
  ])
  t.equal(stored.omitted, 0)
  t.strictSame(readQueries(createProfile({})).queries, [])
})

t.test('stored queries refer to their statements; damaged ones are replaced', async t => {
  const statement = { system: 'sqlite', text: 'SELECT 1', source: 'measure', caller: { file: 'a.ts', line: 7 } }
  const stored = [{ statement: 0, start: 1, end: 2 }, { statement: 9, start: 3 }, 'damaged']
  const profile = createProfile({ queries: { statements: [statement], queries: stored, omitted: 2 } })
  const { omitted, queries } = readQueries(profile)
  t.hasStrict(queries[0], { ...statement, index: 0, start: 1, end: 2 })
  t.strictSame(
    queries.map(({ text }) => text),
    ['SELECT 1', '', ''],
  )
  t.equal(omitted, 2)
  t.strictSame(profile.data.queries, {
    queries: [{ ...statement, start: 1, end: 2 }, { start: 3 }, 'damaged'],
    omitted: 2,
  })
})
