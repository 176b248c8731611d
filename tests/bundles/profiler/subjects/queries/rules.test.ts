import { t } from 'tap'
import { writeAdvice, writeProblem } from '#bundles/profiler/insight/findings/finding.ts'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import { describeDump } from '#bundles/profiler/subjects/console/record.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { createProfile, createQuery, type ProfileInit, type QueryData } from '#tests/support/create-profile.ts'

const find = (queries: readonly QueryData[], init: ProfileInit = {}, data: object = {}) =>
  findFindings(
    createProfile(
      { queries: { queries, omitted: 0 }, ...data },
      { duration: 1000, queries: queries.length, queryTime: 40, ...init },
    ),
  )
const rulesOf = (...values: Parameters<typeof find>) => find(...values).map(({ rule }) => rule)

/** Queries of one shape, one after another, with other values each time. */
const items = (count: number, time = 1, changes: Partial<QueryData> = {}): QueryData[] =>
  Array.from({ length: count }, (_, index) =>
    createQuery({ parameters: [['id', index]], start: index * time, end: (index + 1) * time, ...changes }),
  )

const inProduction = { processData: { config: { environment: 'prod' } } }

t.test('queries of one shape with other values are N+1, with the line of the application', async t => {
  const [finding, ...others] = find([createQuery({ text: 'SELECT * FROM posts' }), ...items(51)])
  t.strictSame(others, [], 'one cause has one finding')
  t.ok(finding)
  if (finding === undefined) return
  t.hasStrict(finding, {
    rule: 'repeated-queries',
    severity: 'warning',
    place: { panel: 'database', anchor: 'query-2' },
    code: { file: 'bundles/shop/products.ts', line: 12 },
    evidence: { count: 51, time: 51 },
  })
  t.equal(writeProblem(finding), 'N+1: SELECT * FROM products WHERE id = ? ran 51 times, 51 ms in total.')
  t.equal(
    writeAdvice(finding),
    'Load the rows of all items with one query (a join, or WHERE … IN (…)) instead of one per item: bundles/shop/products.ts:12.',
  )
})

t.test('the advice on N+1 has the words of the database', t => {
  const [finding] = find(items(12, 5, { system: 'mongodb', text: 'find users { filter: { _id: ? } }' }))
  t.match(finding && writeAdvice(finding), '($in, or $lookup)')
  t.end()
})

t.test('N+1 names the field of GraphQL that all queries have', t => {
  const [finding] = find(items(12, 5, { field: 'Book.author' }))
  t.match(finding && writeProblem(finding), 'ran 12 times in Book.author, 60 ms in total.')
  const [mixed] = find(['Book.author', 'Book.editor'].flatMap(field => items(12, 5, { field })))
  t.match(mixed && writeProblem(mixed), / ran 24 times, /)
  t.end()
})

t.test('N+1 has a least number and a least time; in development the number is enough', async t => {
  t.strictSame(rulesOf(items(5, 10)), ['repeated-queries'])
  t.strictSame(rulesOf(items(5, 9)), [], 'too fast')
  t.strictSame(rulesOf(items(4, 20)), [], 'too few')
  t.strictSame(rulesOf(items(10, 0.1)), ['repeated-queries'])
  t.strictSame(rulesOf(items(10, 0.1), inProduction), [])
  t.strictSame(rulesOf(items(5, 10), inProduction), ['repeated-queries'])
  const others = (count: number) => items(count, 1, { text: 'SELECT * FROM prices WHERE id = ?' })
  const mixed = items(10).flatMap((query, index) => [query, ...others(10).slice(index, index + 1)])
  t.strictSame(rulesOf(mixed), ['repeated-queries', 'repeated-queries'], 'a loop of two statements')
  const between = items(6, 15).flatMap((query, index) =>
    index === 3 ? [createQuery({ text: 'SELECT 1' }), query] : query,
  )
  t.strictSame(rulesOf(between), [], 'another query ends the run')
  t.strictSame(rulesOf(items(20, 1, { text: 'COMMIT' })), [])
  t.strictSame(rulesOf(items(20, 1, { error: 'deadlock' })), ['failed-query'])
  t.strictSame(rulesOf(items(20, 1, { system: 'redis', text: 'GET a' })), [])
  const [writes] = find(items(10, 1, { text: 'INSERT INTO hits VALUES (?)', caller: undefined }))
  t.equal(writes && writeAdvice(writes), 'Write all rows with one statement instead of one per item.')
  t.equal(writes?.code, undefined)
  t.equal(writes?.title, 'Rows written one by one')
  t.match(writes?.problem, /^\{statement\} ran 10 times/)
  const several = [
    'INSERT INTO hits (page, at) VALUES ($1, now()), ($2, now())',
    'INSERT INTO hits SELECT * FROM unnest($1::int[])',
    'insert into hits values (?, ?),\n(?, ?)',
  ]
  t.strictSame(
    several.filter(text => rulesOf(items(12, 5, { text })).length > 0),
    [],
    'a statement that writes several rows is not run once for each',
  )
})

t.test('reading queries with the same values are duplicates, also those of a cache', async t => {
  const same = (count: number, changes: Partial<QueryData> = {}) =>
    Array.from({ length: count }, (_, index) =>
      createQuery({ start: index, end: index + 1, ...(index > 0 && { twin: 0 }), ...changes }),
    )
  t.hasStrict(find(same(20)), [{ rule: 'duplicate-queries', place: { anchor: 'query-1' }, evidence: { count: 20 } }])
  for (const text of ['SELECT nextval(?)', 'SELECT pg_advisory_lock(?)'])
    t.notOk(rulesOf(same(5, { text })).includes('duplicate-queries'), text)
  t.strictSame(rulesOf(same(2)), [])
  t.strictSame(rulesOf(same(3, { text: 'UPDATE a SET b = 1' })), [], 'a repeated write')
  const places = same(5).map((query, index) => ({ ...query, caller: { file: `shop/${index}.ts`, line: index } }))
  const [finding] = find(places)
  t.equal(
    finding && writeAdvice(finding),
    'Run it once and pass on the result, or cache it: shop/0.ts:0, shop/1.ts:1, shop/2.ts:2.',
  )
  t.hasStrict(find(same(3, { system: 'redis', text: 'GET user:1' })), [{ place: { panel: 'cache' } }])
  const twins = items(12).map((query, index) => (index < 6 ? query : { ...query, twin: index - 6 }))
  t.strictSame(rulesOf(twins), ['repeated-queries'], 'N+1 wins')
})

t.test('a slow query is a warning, a very slow one an error; each shape is reported once', async t => {
  const took = (time: number, changes: Partial<QueryData> = {}) => createQuery({ start: 0, end: time, ...changes })
  t.strictSame(find([took(99)]), [])
  t.hasStrict(find([took(100)]), [{ rule: 'slow-query', severity: 'warning', evidence: { count: 1, time: 100 } }])
  const [worst, ...others] = find([took(120), took(501), took(150, { text: 'SELECT 2' })])
  t.hasStrict(worst, { severity: 'error', place: { anchor: 'query-1' }, evidence: { count: 2, time: 501 } })
  t.equal(
    worst && writeProblem(worst),
    'SELECT * FROM products WHERE id = ? took 501 ms, and 1 other query of the same shape 100 ms or more.',
  )
  t.equal(others.length, 1)
  t.equal(
    worst && writeAdvice(worst),
    'Look at its plan with bin/console profiler:explain abc123 2 (an index may be missing), or read less: bundles/shop/products.ts:12.',
  )
  const [ofProgram] = find([took(100)], { processData: { config: { isOneProgram: true } } })
  t.match(ofProgram && writeAdvice(ofProgram), 'Look at its plan with EXPLAIN (', 'it has no console')
  const [write] = find([took(100, { text: 'UPDATE stock' })])
  t.match(write && writeAdvice(write), 'Look at its plan with EXPLAIN (')
  const adviceOn = (text: string) =>
    find([took(100, { text })])
      .map(writeAdvice)
      .join()
  for (const text of ['UPDATE stock SET a = ?', 'SELECT * FROM a FOR UPDATE', 'select pg_advisory_xact_lock(?)'])
    t.match(adviceOn(text), 'a transaction that held its locks', text)
  for (const text of ['COMMIT', 'LOCK TABLE a', 'create index on a (b)', 'CALL refresh()', 'ALTER TABLE a ADD b int'])
    t.match(adviceOn(text), /^It has no plan/, text)
  for (const text of ['SELECT * FROM updates', 'WITH a AS (SELECT 1) SELECT * FROM a'])
    t.match(adviceOn(text), 'or read less', text)
  t.strictSame(rulesOf(items(5, 100)), ['repeated-queries'], 'many at once wait for one another')
  t.strictSame(rulesOf([took(900, { system: 'redis' })]), [])
})

t.test('many rows and many queries are reported, but not for a second time', async t => {
  t.hasStrict(find([createQuery({ rows: 12_000 }), createQuery({ rows: 999, text: 'SELECT 2' })]), [
    { rule: 'many-rows', problem: '{statement} returned 12,000 rows.', evidence: { rows: 12_000 } },
  ])
  t.strictSame(rulesOf([createQuery({ rows: 5000, text: 'DELETE FROM old' })]), [])
  const different = Array.from({ length: 50 }, (_, index) => createQuery({ text: `SELECT ${'a'.repeat(index + 1)}` }))
  t.match(find(different, { queryTime: 38 }), [
    {
      rule: 'many-queries',
      problem: 'The request ran 50 queries, which took 38 ms of its time.',
      place: { panel: 'database', anchor: undefined },
    },
  ])
  t.strictSame(rulesOf(different.slice(1)), [])
  t.strictSame(rulesOf(items(60)), ['repeated-queries'])
})

t.test('queries are in sequence if none of them can need the result of another', async t => {
  const at = (start: number, text: string, changes: Partial<QueryData> = {}) =>
    createQuery({ start, end: start + 80, text, parameters: [], ...changes })
  const first = at(0, 'SELECT 1', { parameters: [['user_id', 7]] })
  const sequence = (changes: Partial<QueryData>, data: object = {}) =>
    find([first, at(80, 'SELECT 2', changes), at(160, 'SELECT 3', changes)], {}, data)
  t.hasStrict(sequence({}), [
    { rule: 'sequential-queries', place: { anchor: 'query-1' }, evidence: { count: 3, time: 240, saving: 160 } },
  ])
  t.equal(sequence({ parameters: [['author_id', 7]] }).length, 1, 'a value of the first query')
  t.equal(find([at(0, 'SELECT 1', { parameters: undefined }), at(80, 'SELECT 2'), at(160, 'SELECT 3')]).length, 1)
  t.equal(
    sequence({
      parameters: [
        ['state', 'open'],
        ['limit', 10],
      ],
    }).length,
    1,
    'constants',
  )
  for (const name of ['id', 'post_id', 'postId', 'slug', '$1', '1'])
    t.strictSame(sequence({ parameters: [[name, 8]] }), [], name)
  const parameters = [['slug', 'news']] as const
  t.strictSame(sequence({ parameters }), [])
  t.equal(sequence({ parameters }, { request: { query: [['page', 'news']] } }).length, 1, 'a value of the request')
  const router = { outcome: 'match', route: 'post', parameters: { slug: 'news' } }
  t.equal(sequence({ parameters }, { router }).length, 1)
  t.strictSame(sequence({ parameters }, { router: { outcome: 'not-found', nearest: [], total: 1 } }), [])
  const described = [['1', 'text, 4 characters']] as const
  t.strictSame(
    sequence({ parameters: described }, { request: { query: described } }),
    [],
    'of a text only the length is known',
  )
  const masked = [['key', '******']] as const
  t.strictSame(sequence({ parameters: masked }, { request: { query: [['key', '******']] } }), [], 'it proves nothing')
  t.strictSame(sequence({ transaction: 1 }), [])
  t.strictSame(sequence({ end: undefined }), [])
  t.strictSame(find([first, at(40, 'SELECT 2'), at(50, 'SELECT 3')]), [], 'at the same time')
  t.strictSame(find([at(0, 'SELECT 1'), at(80, 'SELECT 2')]), [], 'there is little to save')
  t.strictSame(find([at(1000, 'SELECT 1'), at(1080, 'SELECT 2'), at(1160, 'SELECT 3')]), [], 'late')
})

t.test('queries that a template started are named with the innermost template', async t => {
  const templates = {
    renders: [
      { name: 'page', parent: -1, start: 10, duration: 20 },
      { name: 'part', parent: 0, start: 15, duration: 5 },
    ],
  }
  const at = (start: number) => createQuery({ start, text: `SELECT ${'a'.repeat(start)}` })
  t.match(find([at(9), at(16), at(21), at(22), at(30)], {}, { templates }), [
    { rule: 'template-queries', severity: 'info', values: { template: 'page' }, evidence: { count: 2, time: 2 } },
    { values: { template: 'part' }, evidence: { count: 1 }, place: { anchor: 'query-1' } },
  ])
  t.strictSame(rulesOf(items(20), {}, { templates }), ['repeated-queries'])
})

t.test('of equally severe findings, the one that took longest is first', async t => {
  const slow = createQuery({ text: 'SELECT 1', start: 60, end: 300 })
  t.strictSame(rulesOf([...items(51), slow]), ['slow-query', 'repeated-queries'])
})

t.test('a query that fails as expected is no finding', async t => {
  const failed = (error: string, changes: Partial<QueryData> = {}) =>
    rulesOf([createQuery({ error, text: 'INSERT INTO users VALUES (?)', ...changes })])
  t.strictSame(failed('no such table: users'), ['failed-query'])
  t.strictSame(failed('no such table: users', { code: '42P01' }), ['failed-query'])
  t.strictSame(failed('it exists', { code: '23505' }), [])
  t.strictSame(failed('UNIQUE constraint failed: users.name'), [])
  t.strictSame(failed("Duplicate entry 'Ada' for key 'name'", { code: 'ER_DUP_ENTRY' }), [])
  t.strictSame(failed('could not obtain lock', { code: '55P03' }), [])
  t.strictSame(failed('NOSCRIPT No matching script.', { system: 'redis', text: 'EVALSHA a' }), [])
  for (const text of ['CLIENT ? ? ?', 'client setinfo', 'HELLO ?'])
    for (const error of ["ERR unknown subcommand '******'. Try CLIENT HELP.", "ERR unknown command 'HELLO'"])
      t.strictSame(failed(error, { system: 'redis', text }), [], `${text}: ${error}`)
  t.strictSame(failed('NOPROTO unsupported protocol version', { system: 'redis', text: 'HELLO ?' }), [])
  t.strictSame(failed("ERR unknown command 'GETT'", { system: 'redis', text: 'GETT a' }), ['failed-query'])
  t.strictSame(failed('ERR syntax error', { system: 'redis', text: 'CLIENT KILL' }), ['failed-query'])
})

t.test('a warning of the application reports a failure before it, one of the profiler does not', async t => {
  const rulesWith = (channel: string) => {
    const records = [{ at: 50_000, level: 'warning', channel, message: 'It has not ended after 5 s.' }]
    return rulesOf([createQuery({ error: 'no such table: users' })], {}, { logger: { records, dropped: 0 } })
  }
  t.strictSame(rulesWith('app'), [])
  t.strictSame(rulesWith('profiler'), ['failed-query'])
})

t.test('a query that succeeds later is a repetition only if it began after the failure', async t => {
  const failed = createQuery({ error: 'deadlock detected', code: '40P01', text: 'UPDATE a', start: 0, end: 20 })
  for (const [start, rules] of [
    [25, []],
    [20, []],
    [10, ['failed-query']],
  ] as const)
    t.strictSame(rulesOf([failed, createQuery({ text: 'UPDATE a', start, end: 30 })]), rules, `${start}`)
})

t.test('a failure whose error was printed after it is no finding', async t => {
  const message = 'relation "nothing" does not exist'
  const query = createQuery({ error: message, code: '42P01', start: 1, end: 2 })
  const call = { method: 'GET', url: 'http://a.test/', error: 'connect ECONNREFUSED 127.0.0.1:1', start: 1, end: 2 }
  const masker = new Redactor()
  const rulesWith = (values: readonly unknown[], at = 2000, omitted = 0, failed: object = query) =>
    findFindings(
      createProfile(
        {
          ...(failed === query
            ? { queries: { queries: [query], omitted: 0 } }
            : { http: { calls: [failed], omitted: 0 } }),
          console: {
            omitted,
            entries: [{ at, method: 'error', values: values.map(value => describeDump(value, masker, '/')) }],
          },
        },
        { duration: 10, dumps: 1 },
      ),
    ).map(({ rule }) => rule)
  const error = Object.assign(new Error(message), { code: '42P01' })
  const printed: readonly (readonly unknown[])[] = [
    [error],
    ['failed', error],
    [message],
    [`failed: ${error}`],
    [error.stack],
    [{ error }],
    [new Error('no page', { cause: error })],
    [new AggregateError([error])],
    ['code', '42P01'],
  ]
  for (const [index, values] of printed.entries()) t.strictSame(rulesWith(values), [], `form ${index}`)
  t.strictSame(rulesWith(['later'], 2000, 1), [], 'one of the calls that were not kept may have been it')
  for (const values of [['another'], [new Error('another')], []]) t.strictSame(rulesWith(values), ['failed-query'])
  t.strictSame(rulesWith([error], 1500), ['failed-query'], 'printed before')
  const ofFetch = new TypeError('fetch failed', { cause: new Error(call.error) })
  for (const value of [ofFetch, ofFetch.message, call.error]) t.strictSame(rulesWith([value], 2000, 0, call), [])
  t.strictSame(rulesWith(['another'], 2000, 0, call), ['failed-call'])
})

t.test('a transaction is open if it has begun and no query ends it', async t => {
  const inOrder = (...texts: string[]) => texts.map((text, start) => createQuery({ text, start, end: start + 1 }))
  t.hasStrict(find(inOrder('SELECT 1', 'BEGIN', 'UPDATE a SET b = ?')), [
    { rule: 'open-transaction', severity: 'error', place: { anchor: 'query-1' }, evidence: { count: 2 } },
  ])
  t.strictSame(rulesOf(inOrder('BEGIN', 'SAVEPOINT a', 'ROLLBACK TO a')), ['open-transaction'])
  for (const end of ['COMMIT', 'ROLLBACK', 'END']) t.strictSame(rulesOf(inOrder('BEGIN', 'UPDATE a', end)), [], end)
  t.strictSame(rulesOf(inOrder('BEGIN', 'UPDATE a', 'BEGIN')), [], 'two at the same time')
  const chains: readonly (readonly [open: boolean, ...texts: string[]])[] = [
    [true, 'BEGIN', 'UPDATE a', 'COMMIT AND CHAIN', 'UPDATE b'],
    [true, 'BEGIN', 'ROLLBACK AND CHAIN'],
    [false, 'BEGIN', 'COMMIT AND CHAIN', 'UPDATE b', 'COMMIT'],
    [false, 'BEGIN', 'UPDATE a', 'COMMIT AND NO CHAIN'],
    [false, 'BEGIN', 'UPDATE a', 'PREPARE TRANSACTION ?', 'COMMIT PREPARED ?'],
    [true, 'BEGIN', 'UPDATE a', 'ROLLBACK PREPARED ?'],
    [true, 'XA START ?', 'UPDATE a', 'XA END ?'],
    [false, 'XA START ?', 'UPDATE a', 'XA END ?', 'XA PREPARE ?', 'XA COMMIT ?'],
    [true, 'BEGIN', 'SAVEPOINT a', 'RELEASE SAVEPOINT a'],
    [false, 'BEGIN', 'SAVEPOINT a', 'ROLLBACK WORK TO SAVEPOINT a', 'COMMIT'],
  ]
  t.strictSame(
    chains.filter(([isOpen, ...texts]) => rulesOf(inOrder(...texts)).includes('open-transaction') !== isOpen),
    [],
    'chains, two phases and savepoints',
  )
  const several = ['BEGIN; UPDATE a; COMMIT', 'begin;update a;rollback;']
  t.strictSame(
    several.flatMap(text => rulesOf(inOrder(text, 'UPDATE b'))),
    [],
    'one text ends it',
  )
  t.strictSame(rulesOf(inOrder('BEGIN', 'UPDATE a; COMMIT')), [], 'the last statement of a text ends it')
  t.strictSame(rulesOf(inOrder('BEGIN; UPDATE a')), ['open-transaction'])
  const ofSystem = (system: string, text: string) =>
    rulesOf(inOrder('BEGIN', text).map(query => ({ ...query, system })))
  t.strictSame(ofSystem('mysql', 'CREATE TABLE a (b int)'), [], 'MySQL commits')
  t.strictSame(ofSystem('mysql', 'CREATE TEMPORARY TABLE a (b int)'), ['open-transaction'])
  t.strictSame(ofSystem('postgresql', 'CREATE TABLE a (b int)'), ['open-transaction'])
  t.strictSame(rulesOf([createQuery({ text: 'BEGIN', end: undefined })]), [], 'it was not begun')
  t.strictSame(rulesOf(inOrder('BEGIN'), { outcome: 'aborted' }), [])
  const failed = (code: string) => [
    ...inOrder('BEGIN'),
    createQuery({ text: 'UPDATE a', start: 2, end: 3, error: 'on purpose', code }),
  ]
  const opened = (code: string) => rulesOf(failed(code)).includes('open-transaction')
  t.strictSame(['ECONNRESET', 'EPIPE', '08006', '57P01', 'ER_LOCK_DEADLOCK', ''].filter(opened), [], 'rolled back')
  const answers = ['23505', '40001', 'P0001', 'ER_DUP_ENTRY', 'SQLITE_BUSY']
  t.strictSame(answers.filter(opened), answers, 'the connection is still in the transaction')
  const late = find([...inOrder('BEGIN'), createQuery({ start: 2, end: 30 })], {}, { late: { since: 10 } })
  t.strictSame(
    late.map(({ rule }) => rule),
    ['late-work'],
    'a COMMIT may follow',
  )
  const reported = inOrder('UPDATE a', 'UPDATE b').map(query => ({ ...query, transaction: 1 }))
  t.strictSame(rulesOf(reported), [], 'of a function that ends it itself')
})

t.test('queries after the response are late', async t => {
  const late = find(
    [createQuery({ start: 1, end: 9 }), createQuery({ start: 9, end: 30 })],
    {},
    { late: { since: 10 } },
  )
  t.match(late, [
    {
      rule: 'late-work',
      problem: 'Work continued after the response was sent, for 20 ms: 1 query.',
      place: { panel: 'database', anchor: 'query-1' },
    },
  ])
})

t.test('of a response that was broken off, only work that began afterwards is late', async t => {
  const queries = [createQuery({ start: 9, end: 30 }), createQuery({ start: 12, end: 30 })]
  for (const outcome of ['aborted', 'stream-failed'] as const) {
    t.match(find(queries, { outcome }, { late: { since: 10 } }), [
      {
        rule: 'late-work',
        problem: `Work ${outcome === 'aborted' ? 'began after the client had left' : 'continued after the response was broken off'}, for 20 ms: 1 query.`,
        place: { panel: 'database', anchor: 'query-1' },
      },
    ])
    t.strictSame(find(queries.slice(0, 1), { outcome }, { late: { since: 10 } }), [], 'it was under way')
  }
})
