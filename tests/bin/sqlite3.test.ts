import type { Request } from 'sinfonietta'
import { t } from 'tap'
import { sqlite3 } from '#bundles/libraries/sqlite3.ts'
import { Response } from '#lib/http/response.ts'
import type { QueryData } from '#tests/support/create-profile.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

type Callback = (error: Error | null, result?: unknown) => void

/** What answers, outside of any request: in the real package a thread does. */
const answers: (() => void)[] = []

/** The classes of the package in their smallest form: it is compiled for minutes when it is installed. */
class Statement {
  readonly sql: string
  constructor(sql: string) {
    this.sql = sql
  }
  get(...values: unknown[]): this {
    return this.#answer(values.at(-1), this.sql.startsWith('SELECT') ? { id: 1 } : undefined)
  }
  all(...values: unknown[]): this {
    return this.#answer(values.at(-1), [{ id: 1 }, { id: 2 }])
  }
  run(...values: unknown[]): this {
    return this.#answer(values.at(-1), undefined)
  }
  each(...values: unknown[]): this {
    return typeof values.at(-2) === 'function' ? this.#answer(values.at(-1), 5) : this
  }
  #answer(callback: unknown, result: unknown): this {
    if (typeof callback !== 'function') return this
    const error = this.sql === 'BROKEN' ? new Error('near "BROKEN"') : null
    answers.push(() => void callback(error, error === null ? result : undefined))
    return this
  }
}

class Database {
  readonly filename = '/data/shop.db'
  prepare(sql: string): Statement {
    return new Statement(sql)
  }
  exec(sql: string, callback: Callback): this {
    new Statement(sql).run(callback)
    return this
  }
  get(sql: string, ...values: unknown[]): this {
    new Statement(sql).get(...values)
    return this
  }
  all(sql: string, ...values: unknown[]): this {
    new Statement(sql).all(...values)
    return this
  }
  run(sql: string, ...values: unknown[]): this {
    new Statement(sql).run(...values)
    return this
  }
  each(sql: string, ...values: unknown[]): this {
    new Statement(sql).each(...values)
    return this
  }
}

for (const change of Object.values(sqlite3.changes ?? {})) change({ Database, Statement }, '')

t.test('queries of sqlite3 are those of their requests', async t => {
  const database = new Database()
  const kernel = await createProfiledKernel(t, {
    handlers: {
      async '/work'({ query }: Request) {
        const id = Number(query.get('number'))
        database.run('without a callback')
        await new Promise(resolve => {
          database.run('INSERT', [id], () => {
            database.all('SELECT all', id, () => undefined)
            database.prepare('SELECT one').get({ $id: id }, () => {
              database.each('SELECT each', resolve.bind(undefined), () => database.get('BROKEN', resolve))
            })
          })
        })
        return Response.text('')
      },
    },
  })
  const timer = setInterval(() => {
    for (const answer of answers.splice(0)) answer()
  }, 1)
  t.teardown(() => clearInterval(timer))
  const numbers = Array.from({ length: 10 }, (_, index) => index)
  const responses = await Promise.all(numbers.map(number => kernel.client.get(`/work?number=${number}`)))
  const profiles = await Promise.all(responses.map(response => kernel.profileOf(response)))
  const queriesOf = ({ collectors }: (typeof profiles)[number]) =>
    (collectors.queries as { readonly queries: readonly QueryData[] }).queries
  const place = { server: '/data/shop.db', system: 'sqlite', caller: { file: 'tests/bin/sqlite3.test.ts' } }
  t.match(
    profiles.map(queriesOf),
    numbers.map(number => [
      { ...place, text: 'INSERT', parameters: [['1', number]] },
      { ...place, text: 'SELECT all', rows: 2, parameters: [['1', number]] },
      { ...place, text: 'SELECT one', rows: 1, parameters: [['$id', number]] },
      { ...place, text: 'SELECT each', rows: 5 },
      { ...place, text: 'BROKEN', error: 'near "BROKEN"' },
    ]),
    'each request has its own',
  )
  t.strictSame([...new Set(profiles.map(profile => queriesOf(profile).length))], [5], 'each query is there once')
})
