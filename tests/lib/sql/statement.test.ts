import assert from 'node:assert'
import fc from 'fast-check'
import { t } from 'tap'
import { formatSql } from '#lib/sql/format.ts'
import { emptyLiterals, readStatement } from '#lib/sql/statement.ts'

/** The shape of a statement and its values, each with its name: `id=7`, `=x` without one, `id=$1` of a placeholder. */
function read(text: string, system = 'postgresql'): [shape: string, values: string] {
  const { shape, slots } = readStatement(text, system)
  const values = slots.map(({ key, literal, name = '' }) => `${name}=${literal?.text ?? `$${key}`}`)
  return [shape, values.join(' ')]
}

const statements: readonly (readonly [system: string, text: string, shape: string, values: string])[] = [
  // Strings.
  ['postgresql', `SELECT 'it''s', E'a\\'b', N'x'`, 'SELECT ?, ?, ?', `=it's =a\\'b =x`],
  ['postgresql', `SELECT 'a\\', U&'b', X'1F'`, 'SELECT ?, ?, ?', '=a\\ =b =1F'],
  ['postgresql', `SELECT $$a 'b'$$, $t$c $$ d$t$ WHERE`, 'SELECT ?, ? WHERE', `=a 'b' =c $$ d`],
  ['postgresql', `SELECT $t$open`, 'SELECT ?', '=open'],
  ['mysql', `SELECT "it's", 'a\\'b', "x""y"`, 'SELECT ?, ?, ?', `=it's =a\\'b =x"y`],
  ['mysql', `SELECT _utf8'a', 0x1F, b'01'`, 'SELECT _utf8?, ?, ?', '=a =0x1F =01'],
  ['sqlite', `SELECT 'a\\', 'b'`, 'SELECT ?, ?', '=a\\ =b'],
  ['sqlite', `SELECT 'open, x`, 'SELECT ?', '=open, x'],
  ['cockroachdb', `SELECT E'\\''`, 'SELECT ?', `=\\'`],
  ['redshift', `SELECT E'\\''`, 'SELECT ?', `=\\'`],
  // An unknown system may escape with a backslash, and may write strings in double quotes.
  ['other', `SELECT 'a\\' , 'secret`, 'SELECT ?', `=a\\' , 'secret`],
  ['other', `SELECT "a", 'b\\n', $$c$$`, 'SELECT ?, ?, ?', '=a =b\\n =c'],
  ['oracle.db', `SELECT q'[it's a]', nQ'!b'!' FROM t`, 'SELECT ?, ? FROM t', `=[it's a] =!b'!`],
  ['oracle.db', 'ALTER USER a IDENTIFIED BY hunter2', 'ALTER USER a IDENTIFIED BY ?', '=hunter2'],
  ['oracle.db', 'CREATE USER a IDENTIFIED BY "hunter2"', 'CREATE USER a IDENTIFIED BY ?', '=hunter2'],
  // These systems read a name in double quotes as a text if there is no such column.
  ['sqlite', 'PRAGMA key = "a"', 'PRAGMA key = ?', 'key=a'],
  ['sqlite', 'PRAGMA key("a")', 'PRAGMA key(?)', '=a'],
  ['sqlite', 'SELECT "a" FROM t WHERE pin = "b"', 'SELECT "a" FROM t WHERE pin = ?', 'pin=b'],
  ['sqlite', 'SELECT 1 FROM t WHERE "t"."a" = "u"."b"', 'SELECT ? FROM t WHERE "t"."a" = "u"."b"', '=1'],
  ['sqlite', 'SELECT 1 FROM t WHERE a IN ("b", "c")', 'SELECT ? FROM t WHERE a IN (?, ?)', '=1 a=b a=c'],
  ['SQLite', 'INSERT INTO t ("a") VALUES ("b")', 'INSERT INTO t ("a") VALUES (?)', 'a=b'],
  // Numbers.
  [
    'postgresql',
    'SELECT 1, 2.5, .5, 1e-3, -4, t1, arr[2]',
    'SELECT ?, ?, ?, ?, -?, t1, arr[?]',
    '=1 =2.5 =.5 =1e-3 =4 =2',
  ],
  // Names.
  ['postgresql', 'SELECT "a ""b"".c" FROM "T"', 'SELECT "a ""b"".c" FROM "T"', ''],
  ['mysql', 'SELECT `a``b` FROM `T`', 'SELECT `a``b` FROM `T`', ''],
  ['microsoft.sql_server', `SELECT [a'b] FROM t WHERE x = @p`, `SELECT [a'b] FROM t WHERE x = @p`, 'x=$p'],
  ['oracle.db', 'SELECT "a" FROM t WHERE x = :p', 'SELECT "a" FROM t WHERE x = :p', 'x=$p'],
  // Comments.
  ['other', `SELECT a # it's\n, b #> c`, 'SELECT a , b #> c', ''],
  ['postgresql', `/* a /* b */ 'c' */ SELECT 1 -- it's\n, 2`, 'SELECT ? , ?', '=1 =2'],
  ['postgresql', 'SELECT 1 /* open', 'SELECT ?', '=1'],
  ['mysql', `SELECT 5--4 # it's\n, 3 -- it's`, 'SELECT ?--? , ?', '=5 =4 =3'],
  [
    'mysql',
    `SELECT /*+ MAX_EXECUTION_TIME(10) */ 1 /*!40101 , 'x' */`,
    'SELECT /*+ MAX_EXECUTION_TIME(?) */ ? /*!40101 , ? */',
    '=10 =1 =x',
  ],
  // Placeholders.
  [
    'postgresql',
    'SELECT $2::int, now()::date, :name, x := $1',
    'SELECT $2::int, now()::date, :name, x := $1',
    '=$2 =$name x=$1',
  ],
  ['sqlite', 'SELECT ?, ?3, :a, @b, $c', 'SELECT ?, ?3, :a, @b, $c', '=$1 =$3 =$a =$b =$c'],
  ['mysql', 'SELECT @a, @@b, ?', 'SELECT @a, @@b, ?', '=$1'],
  // The columns of values.
  [
    'postgresql',
    `SELECT * FROM u WHERE u.id = 7 AND "Name" <> 'x'`,
    'SELECT * FROM u WHERE u.id = ? AND "Name" <> ?',
    'id=7 Name=x',
  ],
  [
    'mysql',
    'SELECT 1 FROM u WHERE a IN (1, -2) AND b NOT IN (?, ?)',
    'SELECT ? FROM u WHERE a IN (?, -?) AND b NOT IN (?, ?)',
    '=1 a=1 a=2 b=$1 b=$2',
  ],
  [
    'postgresql',
    'WHERE a BETWEEN $1 AND $2 AND b NOT LIKE $3',
    'WHERE a BETWEEN $1 AND $2 AND b NOT LIKE $3',
    'a=$1 a=$2 b=$3',
  ],
  [
    'postgresql',
    `WHERE lower(u.mail) = lower($1) AND a::varchar(9)::text = 'x' AND b = ANY($2)`,
    'WHERE lower(u.mail) = lower($1) AND a::varchar(?)::text = ? AND b = ANY($2)',
    'mail=$1 =9 =x b=$2',
  ],
  [
    'postgresql',
    `WHERE b::text = 'x' AND d > DATE '2026-01-01'`,
    'WHERE b::text = ? AND d > DATE ?',
    'b=x d=2026-01-01',
  ],
  ['postgresql', `WHERE $1 = u.a AND 'x' = b AND 3 < c`, 'WHERE $1 = u.a AND ? = b AND ? < c', 'a=$1 b=x c=3'],
  ['postgresql', 'SELECT 1 LIMIT 10 OFFSET $1', 'SELECT ? LIMIT ? OFFSET $1', '=1 limit=10 offset=$1'],
  ['postgresql', `UPDATE s.t SET a = 'x', b = ($1)`, 'UPDATE s.t SET a = ?, b = ($1)', 'a=x b=$1'],
  [
    'postgresql',
    `INSERT INTO s.t (a, "B") VALUES ('x', lower($1)), (2, $2)`,
    'INSERT INTO s.t (a, "B") VALUES (?, lower($1)), (?, $2)',
    'a=x B=$1 a=2 B=$2',
  ],
  ['postgresql', 'CALL p(a => $1, $2)', 'CALL p(a => $1, $2)', 'a=$1 =$2'],
  ['sqlite', `PRAGMA key = 'x'`, 'PRAGMA key = ?', 'key=x'],
  // In doubt a value has no name.
  [
    'postgresql',
    `WHERE a = crypt('x', b) AND c || d = 'y' AND a COLLATE e = 'z'`,
    'WHERE a = crypt(?, b) AND c || d = ? AND a COLLATE e = ?',
    '=x =y =z',
  ],
  [
    'postgresql',
    `WHERE 'x' = a || b AND c || 'y' = d AND 'z' = f(g)`,
    'WHERE ? = a || b AND c || ? = d AND ? = f(g)',
    '=x =y =z',
  ],
  [
    'postgresql',
    `SET a = CASE WHEN b = 'x' THEN 'y' END, c = (SELECT 'z')`,
    'SET a = CASE WHEN b = ? THEN ? END, c = (SELECT ?)',
    'b=x =y =z',
  ],
  ['postgresql', `INSERT INTO t VALUES ('x')`, 'INSERT INTO t VALUES (?)', '=x'],
  [
    'postgresql',
    `INSERT INTO t (a, b) SELECT 'x', 'y' FROM (VALUES ('z')) v`,
    'INSERT INTO t (a, b) SELECT ?, ? FROM (VALUES (?)) v',
    '=x =y =z',
  ],
  [
    'postgresql',
    `INSERT INTO t (a) VALUES (crypt('x', 'y'), 'z', 1)`,
    'INSERT INTO t (a) VALUES (crypt(?, ?), ?, ?)',
    '=x =y =z =1',
  ],
  [
    'postgresql',
    `WHERE (a, b) = ('x', 'y') AND substr(a, 1) = 'z' AND lower(a || b) = 'q'`,
    'WHERE (a, b) = (?, ?) AND substr(a, ?) = ? AND lower(a || b) = ?',
    '=x =y =1 =z =q',
  ],
  ['postgresql', `ALTER ROLE a PASSWORD 'x'`, 'ALTER ROLE a PASSWORD ?', '=x'],
  ['postgresql', `data->>'a' = 'x' AND b.c(1) ) , 'y'`, 'data->>? = ? AND b.c(?) ) , ?', '=a =x =1 =y'],
  ['postgresql', 'INSERT INTO t (a, 1) VALUES ($1, $2)', 'INSERT INTO t (a, ?) VALUES ($1, $2)', '=1 a=$1 =$2'],
  ['postgresql', '', '', ''],
]

t.test('a statement is separated from its values, which have the names of their columns', async t => {
  for (const [system, text, shape, values] of statements) t.strictSame(read(text, system), [shape, values], text)
})

t.test('tables are named', async t => {
  const text =
    'WITH x AS (SELECT 1 FROM a.b, c) UPDATE "d" SET e = 1 FROM f JOIN g ON g.h = f.h; INSERT INTO i (j) VALUES (1)'
  t.strictSame(readStatement(text, 'postgresql').tables, ['b', 'd', 'f', 'g', 'i'])
})

const systems = fc.constantFrom('postgresql', 'mysql', 'sqlite', 'microsoft.sql_server', 'other')

t.test('no content of a string is part of the shape', async t => {
  const quote = (system: string, text: string) =>
    `'${(system === 'mysql' || system === 'other' ? text.replaceAll('\\', '\\\\') : text).replaceAll("'", "''")}'`
  const pieces = fc.constantFrom(
    'SELECT ',
    'WHERE a = ',
    ' , ',
    '(',
    ')',
    ' IN (',
    ' -- x\n',
    '/* x */',
    '"n" ',
    '1 ',
    '$1 ',
  )
  fc.assert(
    fc.property(systems, fc.array(pieces), fc.array(pieces), fc.string(), (system, before, after, text) => {
      const secret = `zq${text}qz`
      const { shape } = readStatement(`${before.join('')} ${quote(system, secret)} ${after.join('')}`, system)
      return !/zq|qz/.test(shape)
    }),
    { numRuns: 2000 },
  )
  t.pass('2,000 statements')
})

t.test('any text has a shape, whose shape is the same', async t => {
  const marks = fc.constantFrom(
    "'",
    '"',
    '`',
    '$',
    '$$',
    '\\',
    '--',
    '/*',
    '*/',
    '(',
    ')',
    ',',
    '=',
    '?',
    ':',
    '@',
    '[',
    ']',
    'a',
    '1',
    ' ',
    '\n',
    'IN',
    '#',
  )
  fc.assert(
    fc.property(systems, fc.array(marks, { maxLength: 60 }), (system, parts) => {
      const { shape } = readStatement(parts.join(''), system)
      return readStatement(shape, system).shape.length <= shape.length
    }),
    { numRuns: 2000 },
  )
  t.pass('2,000 texts')
})

t.test('long statements are read in linear time', async t => {
  const long = ['(', "'x', ", 'a.', '- ', 'NOT ', '1, ', '/*', '$$', 'VALUES (1), ', '::a'].map(part =>
    part.repeat(5000),
  )
  for (const text of long)
    t.type(readStatement(`SELECT a IN (${text}`, 'postgresql').shape, 'string', text.slice(0, 10))
})

t.test('of a long statement the first 10,000 characters are read', async t => {
  t.equal(readStatement('a'.repeat(10_000), '').shape, 'a'.repeat(10_000))
  t.equal(readStatement(`SELECT '${'a'.repeat(1e6)}`, '').shape, 'SELECT ?…')
})

t.test('a statement is laid out with a line per clause, and long clauses are broken', async t => {
  const layOut = (text: string) => formatSql(text, 'postgresql').split('\n')
  t.strictSame(layOut('SELECT a, b FROM c WHERE d = $1 AND e IS DISTINCT FROM f ORDER BY a LIMIT ? FOR UPDATE'), [
    'SELECT a, b',
    'FROM c',
    'WHERE d = $1 AND e IS DISTINCT FROM f',
    'ORDER BY a',
    'LIMIT ?',
    'FOR UPDATE',
  ])
  const [first, second, third] = ['a', 'b', 'c'].map(name => `t.${name.repeat(30)}`)
  t.strictSame(
    layOut(
      `SELECT ${first}, left(${second}, ?), ${third} FROM t LEFT OUTER JOIN u ON u.id = t.u JOIN v USING (w) WHERE ${first} BETWEEN ? AND ? OR ${second} = ? AND (${third} = ? OR a)`,
    ),
    [
      `SELECT ${first},`,
      `  left(${second}, ?),`,
      `  ${third}`,
      'FROM t',
      '  LEFT OUTER JOIN u ON u.id = t.u',
      '  JOIN v USING (w)',
      `WHERE ${first} BETWEEN ? AND ?`,
      `  OR ${second} = ?`,
      `  AND (${third} = ? OR a)`,
    ],
  )
  t.strictSame(
    layOut(
      'WITH x AS (SELECT 1), y AS (SELECT 2) SELECT * FROM x WHERE a IN (SELECT b FROM y) AND extract(day FROM z) = ?',
    ),
    [
      'WITH x AS (',
      '  SELECT 1',
      '), y AS (',
      '  SELECT 2',
      ')',
      'SELECT *',
      'FROM x',
      'WHERE a IN (',
      '  SELECT b',
      '  FROM y',
      ') AND extract(day FROM z) = ?',
    ],
  )
  t.strictSame(
    layOut('INSERT INTO a (b) VALUES (?), (?) ON CONFLICT (b) DO UPDATE SET c = ? RETURNING d; DELETE FROM e'),
    ['INSERT INTO a (b)', 'VALUES (?), (?)', 'ON CONFLICT (b) DO UPDATE', 'SET c = ?', 'RETURNING d;', 'DELETE FROM e'],
  )
})

t.test('the layout changes nothing but whitespace, and is not much longer', async t => {
  for (const text of ['', 'BEGIN', 'SELECT 1 -- a comment', "SELECT 'never ended", 'SELECT a ))) FROM']) {
    t.equal(formatSql(text, 'postgresql').replace(/\nFROM/, ' FROM'), text)
  }
  const piece = fc.constantFrom(
    ...`( ) , ; SELECT FROM WHERE AND OR BETWEEN LEFT JOIN ON CONFLICT a "b c" 'd  e' $1 ? -- /* */ .`.split(' '),
  )
  fc.assert(
    fc.property(fc.array(piece), pieces => {
      const text = pieces.join(' ')
      return formatSql(text, 'mysql').replace(/\s+/g, '') === text.replace(/\s+/g, '')
    }),
  )
  t.ok(formatSql('(SELECT '.repeat(1000), 'sqlite').length < 40_000, 'deep subqueries are not indented further')
})

t.test('a statement with emptied literals has the same tokens in each dialect, and no values', async t => {
  t.strictSame(emptyLiterals(`SELECT a1 FROM t WHERE b = 'it''s' AND c IN (1, 2.5) AND d = ?`), {
    text: `SELECT a1 FROM t WHERE b = '' AND c IN (0, 0) AND d = ?`,
    literals: [
      { kind: 'string', text: `it's` },
      { kind: 'number', text: '1' },
      { kind: 'number', text: '2.5' },
    ],
  })
  const others = [
    `a = "b"`,
    `a = N'b'`,
    `a = N''`,
    `a = '\\'`,
    'a = 1e5',
    'a = 0x1F',
    'a = .5',
    'a = 1.',
    'a -- 1',
    '/* 1 */',
    '$1',
    '$$b$$',
  ]
  t.strictSame(
    others.filter(text => emptyLiterals(text) !== undefined),
    [],
  )
  t.equal(emptyLiterals(`SELECT '${'x'.repeat(2000)}'`), undefined)
  const piece = fc.constantFrom(
    ...`' '' 'a' 'b''c' '\\' 0 1 2.5 7. .5 1e5 0x1F a a1 N E _ . , = < ( ) - -- # /* */ " \` $ ? ?1 :b :1 @ [ ] / \n é`.split(
      ' ',
    ),
    ' ',
  )
  const system = fc.constantFrom('mysql', 'postgresql', 'sqlite', 'oracle.db', 'microsoft.sql_server', 'other')
  let compared = 0
  const property = fc.property(fc.array(piece, { maxLength: 12 }), system, (pieces, system) => {
    const text = pieces.join('')
    const emptied = emptyLiterals(text)
    if (emptied === undefined) return
    compared++
    const [whole, empty] = [readStatement(text, system), readStatement(emptied.text, system)]
    const withoutText = (slots: typeof whole.slots) => slots.map(({ key, literal, name }) => [key, literal?.kind, name])
    assert.strictEqual(empty.shape, whole.shape)
    assert.deepStrictEqual(withoutText(empty.slots), withoutText(whole.slots))
    assert.deepStrictEqual(
      whole.slots.flatMap(({ literal = [] }) => literal),
      emptied.literals,
    )
    assert.doesNotMatch(empty.slots.map(({ literal }) => literal?.text ?? '').join(''), /[^0]/)
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 2000 }))
  t.ok(compared > 200, 'many statements are emptied')
})
