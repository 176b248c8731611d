import fc from 'fast-check'
import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import { parseProfile } from '#bundles/profiler/profile/parse-profile.ts'
import { Trace } from '#bundles/profiler/record/trace.ts'
import { createQueriesCollector, QueryRecorder } from '#bundles/profiler/subjects/queries/record.ts'
import type { QueryParameters, QueryResult, QueryStart } from '#kernel/contracts/queries.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { createRecord, type QueryData } from '#tests/support/create-profile.ts'

const redactor = new Redactor({ DATABASE_URL: 'postgres://app:the-database-password@db/shop' })
const collector = createQueriesCollector(redactor)

/** The report of a query. */
interface Report extends Partial<QueryStart> {
  readonly result?: QueryResult
}

/** Records queries that end at once, and collects them. */
function record(...starts: readonly Report[]): readonly QueryData[] {
  const trace = new Trace('abc123', createRequest('/'), undefined)
  const recorder = new QueryRecorder({
    findTrace: () => trace,
    callers: { find: () => undefined },
    findRunning: () => undefined,
    redactor,
  })
  for (const { result = {}, ...start } of starts) {
    recorder.begin({ system: 'postgresql', text: '', source: 'measure', ...start })?.(result)
  }
  const { text } = createRecord({ data: { queries: collector.collect(trace) } })
  return parseProfile(text)?.collectors.queries?.queries ?? []
}

function parametersOf(text: string, parameters?: QueryParameters, system = 'postgresql') {
  const [query] = record({ text, parameters, system })
  return query?.parameters
}

t.test('a value has the name of its column; a secret name masks it', async t => {
  t.strictSame(parametersOf(`SELECT 1 FROM users WHERE name = 'Ada' AND password = $1 AND id IN (7, $2)`, ['x', 8n]), [
    ['1', 1],
    ['name', 'Ada'],
    ['password', '******'],
    ['id', 7],
    ['id', '8'],
  ])
  const secret = parametersOf('SELECT 1 FROM a WHERE id = $1 OR api_token = $1', ['x'])
  t.strictSame(secret?.[1], ['id', '******'], 'one of the names of a value is secret')
  t.strictSame(parametersOf('UPDATE a SET pin = $1, password = $2', [1234, null]), [
    ['pin', '******'],
    ['password', null],
  ])
})

t.test('a text without a name keeps its type and its length', async t => {
  const date = new Date('2026-11-22T12:00:00Z')
  const values = ['hunter2', 7, true, null, date, Buffer.from('key'), ['a'], { a: 1 }, undefined, 8n]
  const places = values.map((_, index) => `f($${index + 1})`).join(', ')
  t.strictSame(parametersOf(`SELECT ${places}`, values), [
    ['$1', 'text, 7 characters'],
    ['$2', 7],
    ['$3', true],
    ['$4', null],
    ['$5', 'date'],
    ['$6', 'binary, 3 bytes'],
    ['$7', 'list, 1 items'],
    ['$8', 'object'],
    ['$9', null],
    ['$10', '8'],
  ])
  t.strictSame(parametersOf(`SELECT f('hunter2', ?)`, ['x'], 'mysql'), [
    ['1', 'text, 7 characters'],
    ['1', 'text, 1 characters'],
  ])
  t.strictSame(parametersOf('SELECT 1.5', ['more']), [
    ['1', 1.5],
    ['1', 'text, 4 characters'],
  ])
})

t.test('a named value is shown with its secrets masked', async t => {
  const date = new Date('2026-11-22T12:00:00Z')
  const values = [
    date,
    [1, 'x'],
    { name: 'Ada', password: 'x' },
    'https://me:pass@host/',
    Buffer.alloc(100),
    'x'.repeat(600),
  ]
  const [, ...pairs] =
    parametersOf(
      'INSERT INTO a (at, tags, data, link, file, note, more) VALUES ($1, $2, $3, $4, $5, $6, 1)',
      values,
    )?.toReversed() ?? []
  t.strictSame(pairs.reverse().slice(0, 5), [
    ['at', '2026-11-22T12:00:00.000Z'],
    ['tags', [1, 'x']],
    ['data', { name: 'Ada', password: '******' }],
    ['link', 'https://******@host/'],
    ['file', 'binary, 100 bytes'],
  ])
  t.match(pairs[5], ['note', /^x{499}…$/])
})

t.test('named parameters have their names', async t => {
  const text = 'SELECT 1 FROM a WHERE b = :one AND f(:password) AND $three AND @four'
  t.strictSame(parametersOf(text, { one: 1, ':password': 'x', $three: 3, unused: 'z' }, 'sqlite')?.slice(1), [
    ['b', 1],
    ['password', '******'],
    ['three', 3],
    ['unused', 'z'],
  ])
})

t.test('values of a table with a secret name, and values that another value names, are hidden', async t => {
  t.strictSame(parametersOf(`SELECT * FROM user_sessions WHERE id = 'x' AND age > 3`), [
    ['id', 'text, 1 characters'],
    ['age', 3],
  ])
  t.strictSame(parametersOf(`INSERT INTO settings (name, value) VALUES ('smtp_password', 'x')`), [
    ['name', 'smtp_password'],
    ['value', '******'],
  ])
})

t.test('long values and many values are cut', async t => {
  t.strictSame(parametersOf('SELECT 2 FROM a WHERE b = $1', ['x'.repeat(10_001)])?.[1], ['b', 'text, 10001 characters'])
  const many = parametersOf(`SELECT ${'1, '.repeat(200)}`)
  t.strictSame([many?.length, many?.at(-1)], [101, ['…', '…']])
  t.equal(
    parametersOf(
      'SELECT',
      Array.from({ length: 200 }, () => 1),
    )?.length,
    100,
  )
  const [query] = record({ text: `SELECT 'x${'y'.repeat(20_000)}` })
  t.strictSame([query?.text, query?.parameters], ['SELECT ?…', [['1', 'text, 9992 characters']]])
})

t.test('a twin has the same statement and the same values', async t => {
  const text = 'SELECT 1 WHERE a = $1'
  const at = (time: number) => ({ text, parameters: [new Date(time)] })
  const of = (value: unknown) => ({ text, parameters: [value] })
  const twinsOf = (...starts: readonly Report[]) => record(...starts).map(({ twin }) => twin)
  t.strictSame(twinsOf(of(7), of('7'), of(7), of(7)), [undefined, undefined, 0, 0])
  t.strictSame(twinsOf(at(1), at(2), at(1)), [undefined, undefined, 0])
  t.strictSame(twinsOf(of(Buffer.from('a')), of(Buffer.from('a')), of(Buffer.from('b'))), [undefined, 0, undefined])
  t.strictSame(twinsOf(of({ a: 1 }), of({ a: 1 })), [undefined, undefined], 'objects are not compared')
  t.strictSame(twinsOf(of('x'.repeat(20_000)), of('x'.repeat(20_000))), [undefined, undefined], 'nor are long texts')
  const unknown = { text: 'SELECT a FROM t WHERE b = $1' }
  t.strictSame(twinsOf(unknown, unknown), [undefined, undefined], 'nor are values that were not reported')
  t.strictSame(twinsOf({ text: 'BEGIN' }, { text: 'BEGIN' }), [undefined, undefined], 'each transaction begins')
  t.strictSame(twinsOf({ text: "SELECT 'a'" }, { text: "SELECT 'b'" }, { text: "SELECT 'a'" }), [
    undefined,
    undefined,
    0,
  ])
})

t.test('further queries than five hundred have no data', async t => {
  t.equal(record(...new Array<Report>(501).fill({ text: 'SELECT 1' })).length, 500)
})

t.test('a value that changes later is described as it was', async t => {
  const trace = new Trace('abc123', createRequest('/'), undefined)
  const recorder = new QueryRecorder({
    findTrace: () => trace,
    callers: { find: () => undefined },
    findRunning: () => undefined,
    redactor,
  })
  const parameters: unknown[] = [{ a: 1 }, 7]
  recorder.begin({ system: 'mysql', text: 'SET a = ?, b = ?', parameters, source: 'measure' })
  Object.assign(parameters[0] as object, { a: 2 })
  parameters[1] = 8
  const [first] = collector.collect(trace)?.queries ?? []
  t.strictSame(first?.parameters, [
    ['a', { a: 1 }],
    ['b', 7],
  ])
  t.strictSame(collector.collect(trace)?.queries[0], first, 'it is described once')
})

t.test('a statement that comes again with other literals is described with them', async t => {
  const describe = (name: string, pin: number) =>
    record({ text: `SELECT 1 FROM users WHERE name = '${name}' AND pin = ${pin} AND id = ${pin}`, system: 'mysql' })[0]
  const shape = 'SELECT ? FROM users WHERE name = ? AND pin = ? AND id = ?'
  for (const [name, pin] of [
    ['Ada', 7],
    [`O''Neill`, 8],
    ['Ada', 7],
  ] as const) {
    const query = describe(name, pin)
    t.strictSame(query?.parameters, [
      ['1', 1],
      ['name', name.replace("''", "'")],
      ['pin', '******'],
      ['id', pin],
    ])
    t.equal(query?.text, shape)
  }
  const passwords = ['one', 'two'].map(word =>
    record({ text: `CREATE USER a IDENTIFIED BY ${word} LIMIT 5`, system: 'mysql' }),
  )
  t.strictSame(
    passwords.map(([query]) => query?.text),
    Array(2).fill('CREATE USER a IDENTIFIED BY ? LIMIT ?'),
  )
})

t.test('a statement is stored once for each of its places', async t => {
  const trace = new Trace('abc123', createRequest('/'), undefined)
  const recorder = new QueryRecorder({
    findTrace: () => trace,
    callers: { find: () => undefined },
    findRunning: () => undefined,
    redactor,
  })
  const [one, other] = [{ file: 'a.ts' }, { file: 'b.ts' }]
  for (const caller of [one, other, one, undefined]) {
    recorder.begin({ system: 'sqlite', text: 'SELECT 1', source: 'channel', findCaller: () => caller })
  }
  const { queries = [], statements = [] } = collector.collect(trace) ?? {}
  t.strictSame(
    statements.map(({ caller, text }) => [caller, text]),
    [
      [one, 'SELECT ?'],
      [other, 'SELECT ?'],
      [undefined, 'SELECT ?'],
    ],
  )
  t.strictSame(
    queries.map(({ statement }) => statement),
    [0, 1, 0, 2],
  )
})

t.test('servers have neither user nor password', async t => {
  const servers = {
    'localhost:5432': 'localhost:5432',
    'postgres://app:p@ss/word@db:5432/shop?sslkey=x': 'db:5432/shop',
    'app:word@db': 'db',
    '/home/me@here/shop.db': '/home/me@here/shop.db',
    'redis://cache:6379': 'cache:6379',
  }
  for (const [server, shown] of Object.entries(servers)) t.equal(record({ server })[0]?.server, shown)
  t.equal(record({ namespace: 'password=x' })[0]?.namespace, 'password=******')
})

t.test('commands of caches keep their keys, except for those of sessions and tokens', async t => {
  const commands: readonly (readonly [text: string, parameters: readonly unknown[] | undefined, shown: string])[] = [
    ['get cart:7', undefined, 'GET cart:7'],
    ['SET', ['cart:7', 'x', 'EX', 60], 'SET cart:7 ? ? ?'],
    ['MGET', ['a', 'sess:abc'], 'MGET a sess:******'],
    ['GET', ['app:session:abc:more'], 'GET app:session:******'],
    ['GET', ['user:7:token'], 'GET user:7:token'],
    ['GET', ['reset_token:abc'], 'GET reset_token:******'],
    ['GET', ['refresh_token_abc'], 'GET refresh_token_******'],
    ['GET', ['user-1-session-abc'], 'GET user-1-session-******'],
    ['GET', ['one_time_code_abc'], 'GET one_time_code_******'],
    ['GET', ['{sess}abc'], 'GET {sess}******'],
    ['GET', ['cache~token~abc'], 'GET cache~token~******'],
    ['GET', ['sess%3Aabc'], 'GET sess%3A******'],
    ['GET', ['пароль:abc'], 'GET пароль:******'],
    ['GET', ['cart_7-page.2'], 'GET cart_7-page.2'],
    ['HGET', ['user:1', 'email'], 'HGET user:1 ?'],
    ['AUTH', ['app', 'x'], 'AUTH ? ?'],
    ['EVAL', ['return 1', '1', 'cart:7', 'x'], 'EVAL ? ? cart:7 ?'],
    ['evalsha', ['1f', 2, 'cart:7', 'sess:abc'], 'EVALSHA ? ? cart:7 sess:******'],
    ['EVAL', ['return 1', '2', 'x'], 'EVAL ? ? ?'],
    ['EVAL', ['return 1'], 'EVAL ?'],
    ['EVAL script 1 x', undefined, 'EVAL ? ? ?'],
    [
      'DEL',
      Array.from({ length: 30 }, (_, key) => `k${key}`),
      `DEL ${Array.from({ length: 20 }, (_, key) => `k${key}`).join(' ')} …`,
    ],
    ['GET', ['x'.repeat(300)], `GET ${'x'.repeat(200)}`],
    ['', undefined, ''],
  ]
  for (const [text, parameters, shown] of commands) {
    const [query] = record({ system: 'redis', text, parameters })
    t.strictSame([query?.text, query?.parameters], [shown, undefined], shown)
  }
})

t.test('messages of errors lose their values', async t => {
  const messages: readonly (readonly [text: string, message: string, shown: string])[] = [
    [
      'INSERT INTO users (mail) VALUES (?)',
      `Duplicate entry 'ada@x.test' for key 'users.mail'`,
      `Duplicate entry '******' for key 'users.mail'`,
    ],
    ['SELECT a', `Duplicate entry 'O'Hara' for key 'b'`, `Duplicate entry '******' for key 'b'`],
    ['SELECT a FROM gone', `relation "gone" does not exist`, `relation "gone" does not exist`],
    ['SELECT a', `invalid input syntax for type integer: "hunter2"`, `invalid input syntax for type integer: "******"`],
    ['SELECT a FRM b', `near "FRM": syntax error`, `near "FRM": syntax error`],
    ['SELECT a', `Unknown column 'x y' in 'field list'`, `Unknown column 'x y' in 'field list'`],
    ['SELECT a', `Key (mail)=(ada@x.test) already exists.`, `Key (mail)=(******) already exists.`],
    ['SELECT a', `value too long: "hunter2`, `value too long: "******"`],
    ['SELECT a', `Key (mail)=(ada@x`, `Key (mail)=(******`],
    ['SELECT a', 'with args beginning with: `hunter2`, ', 'with args beginning with: ******'],
    ['SELECT a', `at postgres://app:the-database-password@db/shop`, `at ******`],
  ]
  for (const [text, message, shown] of messages) {
    t.equal(record({ text, result: { error: new Error(message) } })[0]?.error, shown)
  }
  t.equal(record({ result: { error: new RangeError() } })[0]?.error, 'RangeError')
})

t.test('the message of an error is masked in linear time, and cut', async t => {
  for (const part of ['=(', "'a b' =(", 'x'.repeat(100), '"', "' for key '"]) {
    const message = `'a b'${part.repeat(500_000 / part.length)}`
    t.ok((record({ result: { error: new Error(message) } })[0]?.error ?? '').length <= 4000, part)
  }
})

t.test('systems may be written in capitals', async t => {
  const queries = record({ system: 'Redis', text: 'AUTH hunter2' }, { system: 'MySQL', text: `SELECT 'a\\'hunter2'` })
  t.strictSame(
    queries.map(({ text }) => text),
    ['AUTH ?', 'SELECT ?'],
  )
})

t.test('lists of a span without a name keep their length', async t => {
  const query = { source: 'span', text: 'SELECT unnest($1), f($2)', parameters: [['hunter2'], 8n] } as const
  t.strictSame(record(query)[0]?.parameters, [
    ['$1', 'list, 1 items'],
    ['$2', '8'],
  ])
})

t.test('no secret value survives in a stored query', async t => {
  const secrets = fc.string({ minLength: 1 }).map(text => `zq${text.replaceAll(/[\\\0]/g, '')}qz`)
  const quote = (text: string) => `'${text.replaceAll("'", "''")}'`
  const forms: readonly ((secret: string) => Report)[] = [
    secret => ({ text: `SELECT * FROM users WHERE password = ${quote(secret)}` }),
    secret => ({ text: `SELECT * FROM users WHERE id = 1 AND ${quote(secret)} = crypt(a)` }),
    secret => ({ text: 'UPDATE users SET api_key = $1', parameters: [secret] }),
    secret => ({ text: 'SELECT login($1, $2)', parameters: ['ada', secret] }),
    secret => ({ text: 'SELECT login(:password)', parameters: { password: secret } }),
    secret => ({ text: `INSERT INTO users (name, secret) VALUES ('ada', ${quote(secret)})` }),
    secret => ({ text: `INSERT INTO settings (key, value) VALUES ('api_key', ${quote(secret)})` }),
    secret => ({ text: 'SELECT $1', parameters: [Buffer.from(secret)] }),
    secret => ({ text: 'SELECT $1', parameters: [[secret]] }),
    secret => ({ text: `SELECT /* ${secret.replaceAll(/[*/]/g, '')} */ 1` }),
    secret => ({ system: 'redis', text: 'SET', parameters: ['cart', secret] }),
    secret => ({ system: 'redis', text: 'GET', parameters: [`sess:${secret}`] }),
    secret => ({ text: 'SELECT 1', result: { error: new Error(`invalid: "${secret}"`) } }),
    secret => ({ server: `postgres://app:${encodeURIComponent(secret)}@db/shop` }),
  ]
  const systems = fc.constantFrom('postgresql', 'sqlite', 'cockroachdb')
  fc.assert(
    fc.property(secrets, systems, fc.constantFrom(...forms), (secret, system, form) => {
      const stored = JSON.stringify(record({ system, ...form(secret) }))
      return !/zq|qz/.test(stored)
    }),
    { numRuns: 3000 },
  )
  t.pass('3,000 queries')
})
