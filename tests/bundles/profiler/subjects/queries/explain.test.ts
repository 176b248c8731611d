import fc from 'fast-check'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import pg from 'pg'
import { createFrameworkBundle, type Explainer } from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { type Test, t } from 'tap'
import { explainDialects, findObstacle } from '#bundles/profiler/subjects/queries/explain.ts'
import { operationOf } from '#bundles/profiler/subjects/queries/read.ts'
import { siteBundle } from '#bundles/site/site-bundle.ts'
import { createQuery, createStorage, type QueryData } from '#tests/support/create-profile.ts'
import { runInTerminal } from '#tests/support/fake-terminal.ts'
import { lacksMariadb, startMariadb } from '#tests/support/start-mariadb.ts'
import { lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'

/** Runs the command with a profile that has some queries. */
function explain(queries: readonly QueryData[], line: string, explainers: readonly Explainer[] = []) {
  const storage = createStorage({ token: 'abc123', data: { queries: { queries, omitted: 0 } } })
  const application = {
    name: 'application',
    register: (app: { readonly explainers: Explainer[] }) => void app.explainers.push(...explainers),
  }
  const load = async () => [createFrameworkBundle(), siteBundle, createProfilerBundle({ storage }), application]
  return runInTerminal(`profiler:explain ${line}`, { load })
}

/** A connection that notes what it runs. */
function createRecordingExplainer(system: string, answer: (statement: string) => readonly object[] = () => []) {
  const ran: [statement: string, values: readonly unknown[]][] = []
  const explainer: Explainer = {
    system,
    connect: async () => ({
      async run(statement, values) {
        ran.push([statement, values])
        return answer(statement)
      },
      async close() {
        ran.push(['closed', []])
      },
    }),
  }
  return { explainer, ran }
}

async function openPostgres(t: Test): Promise<{ readonly client: pg.Client; readonly explainer: Explainer }> {
  const options = await startPostgres(t)
  const client = new pg.Client(options)
  await client.connect()
  t.teardown(() => client.end())
  return {
    client,
    explainer: {
      system: 'postgresql',
      async connect() {
        const own = new pg.Client(options)
        await own.connect()
        return { run: async (text, values) => (await own.query(text, [...values])).rows, close: () => own.end() }
      },
    },
  }
}

t.test('PostgreSQL explains a read for its values, or for all values', { skip: lacksPostgres }, async t => {
  const { client, explainer } = await openPostgres(t)
  await client.query('CREATE TABLE posts (id int PRIMARY KEY, title text, author int)')
  await client.query('CREATE INDEX posts_author ON posts (author)')
  await client.query(`INSERT INTO posts SELECT n, 'title ' || n, n % 1000 FROM generate_series(1, 20000) n`)
  await client.query('ANALYZE posts')
  const queries = [
    createQuery({
      text: 'SELECT * FROM posts WHERE author = $1 LIMIT ?',
      parameters: [
        ['author', 7],
        ['limit', 5],
      ],
    }),
    createQuery({
      text: 'SELECT * FROM posts WHERE title = $1 AND author = $2',
      parameters: [
        ['title', '******'],
        ['author', 7],
      ],
    }),
    createQuery({ text: 'SELECT * FROM posts WHERE id = $1 OR author = $1', parameters: undefined }),
    createQuery({ text: 'SELECT * FROM posts WHERE id = $1::nonsense', parameters: undefined }),
    createQuery({ text: 'SELECT count(*) FROM posts;', parameters: undefined }),
  ]
  const run = (line: string) => explain(queries, line, [explainer])

  const known = await run('abc123 1')
  t.equal(known.code, 0)
  t.match(
    known.stdout,
    /^SELECT \* FROM posts WHERE author = \$1 LIMIT \?\n\nLimit .*\n[\s\S]*posts_author[\s\S]*author = 7\)/,
  )
  t.notMatch(known.stdout, 'not known')

  const generic = await run('abc123 2')
  t.match(generic.stdout, /Index Cond: \(author = \$2\)[\s\S]*not known: title\. --values gives them\./)
  const given = await run('abc123 2 --values title=O%27Hara')
  t.match(given.stdout, /title = 'O''Hara'::text/)
  const foreign = await run('abc123 2 --values titel=x')
  t.match(foreign, { code: 64, stderr: 'The query has no value "titel": write --values "' })
  t.notMatch(given.stdout, 'not known')

  const { stdout } = await run('abc123 3 --json')
  t.match(JSON.parse(stdout), { token: 'abc123', query: 3, isGeneric: true, plan: [{ 'QUERY PLAN': /on posts/ }] })
  t.match((await run('abc123 3 --values 1=12')).stdout, /id = 12\) OR \(author = 12/)
  t.match((await run('latest 5')).stdout, 'Aggregate')
  t.match(await run('abc123 4'), { code: 1, stderr: 'The database has refused it: type "nonsense" does not exist' })
  t.strictSame((await client.query('SELECT count(*)::int AS n FROM pg_prepared_statements')).rows, [{ n: 0 }])
})

t.test('the transaction of PostgreSQL cannot write', { skip: lacksPostgres }, async t => {
  const { client, explainer } = await openPostgres(t)
  await client.query('CREATE TABLE a (id int)')
  const attacking: Explainer = {
    system: 'postgresql',
    async connect() {
      const { close, run } = await explainer.connect()
      // As a statement would do that the rule has not recognized.
      const attack = (text: string) => (text.startsWith('EXPLAIN') ? 'INSERT INTO a VALUES (1)' : text)
      return { run: (text, values) => run(attack(text), values), close }
    },
  }
  const { stderr } = await explain([createQuery({ text: 'SELECT 1', parameters: [] })], 'abc123 1', [attacking])
  t.match(stderr, 'cannot execute INSERT in a read-only transaction')
  t.strictSame((await client.query('SELECT * FROM a')).rows, [])
})

t.test('MariaDB explains a read for its values, and needs them all', { skip: lacksMariadb }, async t => {
  const options = await startMariadb(t)
  const client = await createConnection(options)
  t.teardown(() => client.end())
  await client.query('CREATE TABLE posts (id int PRIMARY KEY, title varchar(20))')
  const explainer: Explainer = {
    system: 'mariadb',
    async connect() {
      const own = await createConnection(options)
      return {
        run: async (text, values) => [(await own.query<RowDataPacket[]>(text, [...values]))[0]].flat(),
        close: () => own.end(),
      }
    },
  }
  const text = 'SELECT * FROM posts WHERE title = ? LIMIT ?'
  const queries = [
    createQuery({
      system: 'mariadb',
      text,
      parameters: [
        ['title', 'text, 60 characters'],
        ['limit', 5],
      ],
    }),
  ]
  t.match(await explain(queries, 'abc123 1', [explainer]), { code: 1, stderr: '--values "title=…"' })
  const { code, stdout } = await explain(queries, 'abc123 1 --values title=a&2=10', [explainer])
  t.equal(code, 0)
  t.match(stdout, /id +select_type +table[\s\S]*SIMPLE +posts/)
  const { begin = [] } = explainDialects.get('mariadb') ?? {}
  for (const statement of begin) await client.query(statement)
  t.strictSame((await client.query<RowDataPacket[]>('SELECT @@max_statement_time AS a'))[0], [{ a: 10 }])
})

t.test('what is run: a transaction that cannot write, the explanation, and its end', async t => {
  const { explainer, ran } = createRecordingExplainer('mysql', () => [{ id: 1, type: 'ALL' }])
  const text = 'SELECT * FROM a WHERE b = ? AND c = ?'
  const query = createQuery({
    system: 'mysql',
    text,
    parameters: [
      ['b', null],
      ['c', true],
    ],
  })
  t.equal((await explain([query], 'abc123 1', [explainer])).code, 0)
  t.strictSame(ran, [
    ['START TRANSACTION READ ONLY', []],
    // MySQL reads the first comment, MariaDB the second one.
    ['SET SESSION /*!50708 max_execution_time = 10000 */ /*M! max_statement_time = 10 */', []],
    [`EXPLAIN ${text}`, [null, true]],
    ['ROLLBACK', []],
    ['closed', []],
  ])
  t.match((await explain([query], 'abc123 1 --values b=1.5&c=x', [explainer])).code, 0)
  t.strictSame(ran[7], [`EXPLAIN ${text}`, [1.5, 'x']])

  const generic = createRecordingExplainer('postgresql', () => [{ plan: 'Result' }])
  const nameless = createQuery({ text: 'SELECT f($2, ?, $2)', parameters: undefined })
  t.match((await explain([nameless], 'abc123 1', [generic.explainer])).stdout, 'not known: $2, 2.')
  t.match(generic.ran[3], ['PREPARE sinfonietta_explain AS SELECT f($1, $2, $1)'])

  const failing = createRecordingExplainer('postgresql', statement => {
    if (statement.startsWith('EXPLAIN')) throw new Error('no such table')
    return []
  })
  const read = createQuery({ text: 'SELECT 1 FROM a WHERE b = ?', parameters: [] })
  t.match(await explain([read], 'abc123 1', [failing.explainer]), { code: 1, stderr: 'refused it: no such table' })
  t.match(
    failing.ran.map(([statement]) => statement),
    [
      'BEGIN READ ONLY',
      `SET LOCAL statement_timeout = '10s'`,
      'SET LOCAL plan_cache_mode = force_generic_plan',
      'PREPARE sinfonietta_explain AS SELECT 1 FROM a WHERE b = $1',
      'EXPLAIN EXECUTE sinfonietta_explain(NULL)',
      'ROLLBACK',
      'closed',
    ],
  )
})

t.test('MariaDB needs all values: numbers are passed as numbers, other values as texts', async t => {
  const { explainer, ran } = createRecordingExplainer('mariadb')
  const text = 'SELECT * FROM posts WHERE title = ? LIMIT ?'
  const queries = [createQuery({ system: 'mariadb', text, parameters: [['title', 'text, 60 characters']] })]
  t.match(await explain(queries, 'abc123 1', [explainer]), { code: 1, stderr: '--values "title=…&limit=…"' })
  t.strictSame(ran, [])
  t.equal((await explain(queries, 'abc123 1 --values title=a&2=10', [explainer])).code, 0)
  t.strictSame(ran[ran.length - 3], [`EXPLAIN ${text}`, ['a', 10]])
})

t.test('a query that cannot be explained is refused with the reason', async t => {
  const { explainer, ran } = createRecordingExplainer('postgresql')
  const queries = [
    createQuery({ text: 'DELETE FROM a' }),
    createQuery({ system: 'redis', text: 'GET a' }),
    createQuery({ system: 'sqlite', text: 'SELECT 1' }),
    createQuery({ system: 'mysql', text: 'SELECT 1' }),
  ]
  const reasonOf = async (line: string) => (await explain(queries, line, [explainer])).stderr.trim()
  t.equal(
    await reasonOf('abc123 1'),
    'The query cannot be explained: it does not begin with SELECT, WITH, TABLE or VALUES.',
  )
  t.equal(await reasonOf('abc123 2'), 'The query cannot be explained: it is a command of a cache.')
  t.equal(
    await reasonOf('abc123 3'),
    'Queries of sqlite cannot be explained, only those of postgresql, mysql, mariadb.',
  )
  t.match(
    await reasonOf('abc123 4'),
    "No connection: a bundle has to add one with app.explainers.push({ system: 'mysql'",
  )
  t.equal(await reasonOf('abc123 5'), 'The profile has no query 5: it has 4.')
  t.match(await reasonOf('ffffff 1'), 'There is no profile "ffffff"')
  t.equal((await explain(queries, 'abc123 first')).code, 64)
  t.strictSame(ran, [])
})

t.test('only one statement that reads can be explained', async t => {
  const obstacle = (text: string, system = 'postgresql') => findObstacle({ kind: 'database', system, text })
  const reads = [
    'SELECT a FROM b',
    ' ( SELECT 1 ) UNION (SELECT 2);',
    'with x as (select 1) select * from x',
    'TABLE a',
    'VALUES (1)',
    'SELECT "update", replace(a, ?, ?) FROM b -- delete',
    'SELECT a FROM b WHERE c = ? /* insert */',
  ]
  for (const text of reads) t.equal(obstacle(text), undefined, text)
  const others: readonly (readonly [text: string, reason: string, system?: string])[] = [
    ['SELECT 1; DROP TABLE a', 'more than one statement'],
    ['SELECT 1;;', 'more than one statement'],
    ['UPDATE a SET b = ?', 'does not begin'],
    ['EXPLAIN ANALYZE DELETE FROM a', 'does not begin'],
    ['', 'does not begin'],
    ['WITH x AS (DELETE FROM a RETURNING *) SELECT * FROM x', 'contains DELETE'],
    ['WITH x AS (SELECT 1) INSERT INTO a SELECT * FROM x', 'contains INSERT'],
    ['SELECT * INTO b FROM a', 'contains INTO'],
    ['SELECT * FROM a FOR UPDATE', 'contains UPDATE'],
    ['SELECT 1 /*!50000 INTO OUTFILE x */', 'a comment that is executed', 'mysql'],
    [`SELECT ${'a, '.repeat(10)}…`, 'was cut'],
  ]
  for (const [text, reason, system] of others) t.match(obstacle(text, system), reason, text)

  const word = fc.constantFrom(...'SELECT WITH INSERT DELETE INTO a b ( ) ; , "x" $1 ? AS FROM'.split(' '))
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), words => {
      const text = words.join(' ')
      if (obstacle(text) === undefined) return !/^(?:INSERT|DELETE)$/.test(operationOf(text))
      return true
    }),
  )
})
