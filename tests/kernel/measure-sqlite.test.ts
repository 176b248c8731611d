import { measureSqlite, type SqliteDatabase, type SqliteStatement } from 'sinfonietta'
import { t } from 'tap'
import { Queries, type QueryParameters } from '#kernel/contracts/queries.ts'

interface Note {
  readonly text: string
  readonly parameters: QueryParameters | undefined
  readonly server: string | undefined
  readonly transaction: object | undefined
  rows?: number | undefined
  error?: unknown
}

/** Queries with the notes of what is reported. */
function createQueries(): { queries: Queries; notes: Note[] } {
  const queries = new Queries()
  const notes: Note[] = []
  queries.observe({
    begin({ parameters, server, text, transaction }) {
      const note: Note = { text, parameters, server, transaction }
      notes.push(note)
      // The first end counts.
      return ({ error, rows }) => {
        if (!('rows' in note)) Object.assign(note, { rows, ...(error !== undefined && { error }) })
      }
    },
  })
  return { queries, notes }
}

/** A database with the interface of better-sqlite3, whose statements have one row. */
class FakeDatabase {
  readonly name = 'var/shop.db'
  inTransaction = false
  exec(text: string): this {
    if (text === 'BEGIN') this.inTransaction = true
    if (text === 'COMMIT') this.inTransaction = false
    return this
  }
  prepare(_text: string) {
    const fail = (value: unknown) => {
      if (value === 'fail') throw new Error('it fails')
    }
    return {
      run: (...values: unknown[]) => {
        fail(values[0])
        return { changes: 3 }
      },
      get: (id?: unknown) => (id === 'miss' ? undefined : { id }),
      all: (..._values: unknown[]) => [{ id: 1 }, { id: 2 }],
      *iterate(...values: unknown[]) {
        yield { id: 1 }
        fail(values[0])
        yield { id: 2 }
      },
    }
  }
  transaction<Values extends unknown[], Result>(work: (...values: Values) => Result): (...values: Values) => Result {
    return (...values) => {
      const isOuter = !this.inTransaction
      this.inTransaction = true
      const result = work(...values)
      if (isOuter) this.inTransaction = false
      return result
    }
  }
}

t.test('statements are reported with their values and rows', async t => {
  const { notes, queries } = createQueries()
  const database = new FakeDatabase()
  t.equal(measureSqlite(database, queries), database)
  t.equal(measureSqlite(database, queries), database, 'a second call changes nothing')
  t.equal(database.exec('CREATE TABLE a (b)'), database)
  const statement = database.prepare('SELECT 1')
  t.strictSame(statement.run(1, 'a'), { changes: 3 })
  t.strictSame(statement.get({ id: 7 }), { id: { id: 7 } })
  t.strictSame(statement.get('miss'), undefined)
  t.equal(statement.all([1, 2]).length, 2)
  t.strictSame([...statement.iterate()], [{ id: 1 }, { id: 2 }])
  for (const row of statement.iterate(Buffer.from('a'))) {
    t.ok(row)
    break
  }
  const found = notes.map(({ parameters, rows, text }) => [text, parameters, rows])
  t.strictSame(found, [
    ['CREATE TABLE a (b)', undefined, undefined],
    ['SELECT 1', [1, 'a'], 3],
    ['SELECT 1', { id: 7 }, 1],
    ['SELECT 1', ['miss'], 0],
    ['SELECT 1', [1, 2], 2],
    ['SELECT 1', [], 2],
    ['SELECT 1', [Buffer.from('a')], 1],
  ])
  t.equal(notes[0]?.server, 'var/shop.db')
})

t.test('errors are reported and thrown', async t => {
  const { notes, queries } = createQueries()
  const statement = measureSqlite(new FakeDatabase(), queries).prepare('SELECT 1')
  t.throws(() => statement.run('fail'), { message: 'it fails' })
  t.throws(() => [...statement.iterate('fail')], { message: 'it fails' })
  t.match(notes, [{ error: { message: 'it fails' } }, { error: { message: 'it fails' } }])
})

t.test('the queries of a transaction share an object', async t => {
  const { notes, queries } = createQueries()
  const database = measureSqlite(new FakeDatabase(), queries)
  const statement = database.prepare('SELECT 1')
  const write = database.transaction((id: number) => statement.get(id))
  const writeTwice = database.transaction(() => [write(1), statement.get(2)])
  statement.get()
  for (const text of ['BEGIN', 'INSERT', 'COMMIT', 'BEGIN', 'COMMIT']) database.exec(text)
  write(1)
  writeTwice()
  statement.get()
  const known = [...new Set(notes.flatMap(({ transaction }) => transaction ?? []))]
  t.strictSame(
    notes.map(({ transaction }) => known.indexOf(Object(transaction))),
    [-1, 0, 0, 0, 1, 1, 2, 3, 3, -1],
  )
})

t.test('a database says where it is, or in memory does not', async t => {
  const { notes, queries } = createQueries()
  const exec = (_text: string) => undefined
  const prepare = (_text: string) => new FakeDatabase().prepare('')
  for (const more of [{ location: () => '/var/shop.db', isTransaction: true }, { location: () => null }, {}]) {
    measureSqlite({ exec, prepare, ...more }, queries).exec('SELECT 1')
  }
  t.strictSame(
    notes.map(({ server, transaction }) => [server, transaction !== undefined]),
    [
      ['/var/shop.db', true],
      [undefined, false],
      [undefined, false],
    ],
  )
})

t.test('without an observer statements run as before', async t => {
  const statement = measureSqlite(new FakeDatabase(), new Queries()).prepare('SELECT 1')
  t.strictSame([statement.get(1), [...statement.iterate()].length], [{ id: 1 }, 2])
})

const lacksSqlite = Number(process.versions.node.split('.')[0]) < 22 && 'needs node:sqlite of Node 22'

/** The used part of node:sqlite, which the types of Node 20 do not have. */
interface Sqlite {
  readonly DatabaseSync: new (path: string) => Database
}

interface Database extends SqliteDatabase {
  prepare(text: string): Statement
  close(): void
}

interface Statement extends SqliteStatement {
  run(...values: unknown[]): { readonly changes: number }
  get(...values: unknown[]): unknown
  all(...values: unknown[]): unknown
  iterate(...values: unknown[]): Iterable<unknown>
}

t.test('node:sqlite', { skip: lacksSqlite }, async t => {
  const name = 'node:sqlite'
  const { DatabaseSync }: Sqlite = await import(name)
  const { notes, queries } = createQueries()
  const database = measureSqlite(new DatabaseSync(':memory:'), queries)
  t.teardown(() => database.close())
  database.exec('CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT UNIQUE)')
  const insert = database.prepare('INSERT INTO products (name) VALUES (:name)')
  database.exec('BEGIN')
  t.equal(insert.run({ name: 'tea' }).changes, 1)
  insert.run({ name: 'cup' })
  t.throws(() => insert.run({ name: 'cup' }), { message: 'UNIQUE constraint failed: products.name' })
  database.exec('COMMIT')
  const select = database.prepare('SELECT name FROM products WHERE id > ? ORDER BY id')
  t.match(select.all(0), [{ name: 'tea' }, { name: 'cup' }])
  t.match(select.get(1), { name: 'cup' })
  t.equal([...select.iterate(0)].length, 2)
  const transaction = notes[1]?.transaction
  t.ok(transaction)
  t.strictSame(
    notes.map(({ parameters, rows, transaction: of }) => [parameters, rows, of === transaction]),
    [
      [undefined, undefined, false],
      [undefined, undefined, true],
      [{ name: 'tea' }, 1, true],
      [{ name: 'cup' }, 1, true],
      [{ name: 'cup' }, undefined, true],
      [undefined, undefined, true],
      [[0], 2, false],
      [[1], 1, false],
      [[0], 2, false],
    ],
  )
  t.match(notes[4]?.error, { code: 'ERR_SQLITE_ERROR' })
})

t.test('an iterator that cannot be closed, as of an earlier node:sqlite, is reported when its loop ends early', t => {
  const { queries, notes } = createQueries()
  const database = new FakeDatabase()
  const { prepare } = database
  database.prepare = text => ({
    ...prepare(text),
    iterate: () =>
      ({
        next: () => ({ done: false, value: { id: 1 } }),
        [Symbol.iterator]() {
          return this
        },
      }) as never,
  })
  let read = 0
  for (const _row of measureSqlite(database, queries).prepare('SELECT id FROM books').iterate()) if (++read === 3) break
  t.strictSame([read, notes.map(({ rows, text }) => [rows, text])], [3, [[3, 'SELECT id FROM books']]])
  t.end()
})
