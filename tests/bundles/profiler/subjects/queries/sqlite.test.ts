import { channel } from 'node:diagnostics_channel'
import type { Application } from 'sinfonietta'
import { measureSqlite } from 'sinfonietta'
import { type Test, t } from 'tap'
import { betterSqlite3, openNodeSqlite } from '#bundles/libraries/sqlite.ts'
import { readQueries } from '#bundles/profiler/subjects/queries/read.ts'
import { Response } from '#lib/http/response.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

// Of the libraries themselves, `profile-queries.test.ts` and `profile-sqlite.proof.test.ts` have tests.

/** A statement with the interface of better-sqlite3, which has two rows. */
class FakeStatement {
  readonly source: string
  readonly database: object
  constructor(source: string, database: object) {
    this.source = source
    this.database = database
  }
  run(..._values: unknown[]): { changes: number } {
    return { changes: 3 }
  }
  get(id?: unknown): object | undefined {
    return id === 'miss' ? undefined : { id }
  }
  all(): object[] {
    return [{ id: 1 }, { id: 2 }]
  }
  iterate(): IterableIterator<object> {
    const rows = [{ id: 1 }, { id: 2 }]
    return {
      next: () => {
        const value = rows.shift()
        if (this.source.includes('broken') && rows.length === 0) throw new Error('broken')
        return value === undefined ? { done: true, value } : { done: false, value }
      },
      return: () => ({ done: true, value: undefined }),
      [Symbol.iterator]() {
        return this
      },
    }
  }
}

/** The functions of the class of better-sqlite3. */
const wrappers = {
  prepare(this: object, text: string): FakeStatement {
    if (text.includes('nowhere')) throw new Error('no such table: nowhere')
    return new FakeStatement(text, this)
  },
  exec(this: { inTransaction: boolean }, text: string) {
    if (text === 'BROKEN') throw new Error('It is broken.')
    if (text === 'BEGIN') this.inTransaction = true
    if (text === 'COMMIT') this.inTransaction = false
    return this
  },
}
const change = betterSqlite3.changes?.['better-sqlite3/lib/index.js'] as (exports: object) => void
change({ prototype: wrappers })

const openDatabase = () => ({ name: 'var/shop.db', inTransaction: false, ...wrappers })

async function queriesOf(t: Test, work: (app: Application) => void) {
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/work': () => {
        work(kernel.app)
        return Response.html('done')
      },
    },
  })
  return readQueries(await kernel.profileOf(await kernel.client.get('/work'))).queries
}

t.test('statements of changed classes are recorded with values, rows, errors and transactions', async t => {
  const database = openDatabase()
  t.equal(database.prepare('SELECT 1').all().length, 2, 'without a request, too')
  const queries = await queriesOf(t, () => {
    const find = database.prepare('SELECT * FROM users WHERE id = ?')
    database.exec('BEGIN')
    find.run(1)
    database.exec('COMMIT')
    find.get('miss')
    database.prepare('SELECT * FROM users WHERE name = ? AND password = :password').run('Ada', { password: 'x-y-z' })
    t.strictSame([...find.iterate()], [{ id: 1 }, { id: 2 }])
    for (const _ of find.iterate()) break
    t.throws(() => database.exec('BROKEN'), /broken/)
    t.throws(() => [...database.prepare('SELECT broken').iterate()], /broken/)
  })
  const [begin, inside, commit, missing, named, ...others] = queries
  t.match(begin, { text: 'BEGIN', transaction: 1, server: 'var/shop.db', system: 'sqlite', source: 'channel' })
  t.match(inside, { transaction: 1, rows: 3, parameters: [['id', 1]], caller: { file: /sqlite\.test\.[jt]s$/ } })
  t.match([commit, missing], [{ transaction: 1 }, { transaction: undefined, rows: 0 }])
  t.strictSame(named?.parameters, [
    ['name', 'Ada'],
    ['password', '******'],
  ])
  t.match(others, [{ rows: 2 }, { rows: 1 }, { error: 'It is broken.' }, { error: 'broken' }])
  t.equal(queries.length, 9)
})

t.test('a statement that cannot be prepared is a query that has failed, with its line', async t => {
  const measured = openDatabase()
  const queries = await queriesOf(t, app => {
    measureSqlite(measured, app.queries)
    for (const database of [openDatabase(), measured]) {
      t.throws(() => database.prepare('SELECT * FROM nowhere'), { message: 'no such table: nowhere' })
      // It is no query.
      t.throws(() => database.prepare(5 as never), TypeError)
    }
  })
  const failed = { text: 'SELECT * FROM nowhere', error: 'no such table: nowhere', server: 'var/shop.db' }
  const caller = { file: /sqlite\.test\.[jt]s$/ }
  t.match(queries, [
    { ...failed, source: 'channel', caller },
    { ...failed, source: 'measure', caller },
  ])
  t.equal(queries.length, 2)
})

t.test('a query is recorded once: one that is measured, and one that Node publishes, too', async t => {
  const native = channel('sqlite.db.query')
  const publishing = { ...wrappers, exec: (sql: string) => native.publish({ sql, database: publishing, duration: 0 }) }
  change(publishing)
  const queries = await queriesOf(t, ({ queries }) => {
    measureSqlite(openDatabase(), queries).prepare('SELECT 1').all()
    publishing.exec('SELECT 2')
    native.publish({ sql: 'SELECT 3 FROM template', database: publishing, duration: 0 })
  })
  t.match(queries, [
    { source: 'measure' },
    { text: 'SELECT ?', source: 'channel' },
    { text: 'SELECT ? FROM template', source: 'channel' },
  ])
  t.equal(queries.length, 3)
})

t.test('node:sqlite is not loaded by the watch, and a database that is closed has no place', async t => {
  openNodeSqlite()
  channel('http.server.request.start').publish({})
  channel('http.server.request.start').publish({})
  const { moduleLoadList } = process as unknown as { readonly moduleLoadList: readonly string[] }
  t.notOk(moduleLoadList.includes('NativeModule sqlite'))
  const closed = {
    ...openDatabase(),
    location() {
      throw new Error('database is not open')
    },
  }
  const [query] = await queriesOf(t, () => void closed.prepare('SELECT 1').all())
  t.match(query, { text: 'SELECT ?', server: undefined })
})
