import { setTimeout as sleep } from 'node:timers/promises'
import { type Application, HttpError } from 'sinfonietta'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { Response } from '#lib/http/response.ts'
import { type Pages, page } from './page.ts'
import type { CreatePool } from './small-pool.ts'

const isLate = ({ data }: Profile): boolean => data.late !== undefined

/** A value with the letters of a number: the name of another column each time. */
const letters = (index: number) => `column_${'abcdefghijklmnopqrstuvwxyz'[index % 26]}${'x'.repeat(index / 26)}`

const select = (column: string) => `SELECT * FROM stock WHERE ${column} = ?`

function fail(message: string, code?: string): () => Promise<never> {
  return () => Promise.reject(Object.assign(new Error(message), { code }))
}

/** Pages with queries. */
export function createQueryPages({ logger, queries, view }: Application, createPool: CreatePool): Pages {
  const run = (text: string, values: readonly unknown[] = [], result: unknown = []) =>
    queries.measure('sqlite', text, values, () => result)
  return {
    'swallowed-query': {
      answer: 'failed-query',
      async handle() {
        const refused = fail('relation "prices" does not exist', '42P01')
        await queries.measure('postgresql', 'SELECT * FROM prices', [], refused).catch(() => []) // here: swallowed-query
        return page()
      },
    },
    'swallowed-cache': {
      answer: 'failed-query',
      async handle() {
        try {
          await queries.measure('redis', 'GET basket:7', undefined, fail('Connection is closed.')) // here: swallowed-cache
        } catch {
          // The page has no basket.
        }
        return page()
      },
    },
    'query-as-404': {
      answer: 'failed-query',
      async handle() {
        const refused = fail('too many connections', '53300')
        const find = () => queries.measure('postgresql', select('id'), [7], refused) // here: query-as-404
        await find().catch(() => undefined)
        throw new HttpError(404, 'No such product.')
      },
    },
    'reported-query': {
      answer: 'healthy',
      async handle() {
        const refused = fail('relation "prices" does not exist', '42P01')
        await queries.measure('postgresql', 'SELECT * FROM prices', [], refused).catch(error => {
          logger.warning('The prices are not shown.', { exception: error })
        })
        return page()
      },
    },
    'query-cause': {
      answer: 'healthy',
      async handle() {
        const refused = fail('too many connections', '53300')
        const cause: unknown = await Promise.resolve(queries.measure('postgresql', select('id'), [7], refused)).catch(
          error => error,
        )
        throw new HttpError(404, 'No such product.', { cause })
      },
    },
    'unique-name': {
      answer: 'healthy',
      async handle() {
        const refused = fail('duplicate key value violates unique constraint "users_name"', '23505')
        await queries.measure('postgresql', 'INSERT INTO users VALUES (?)', ['Ada'], refused).catch(() => undefined)
        return Response.html('<body>The name is taken.</body>')
      },
    },
    'query-again': {
      answer: 'healthy',
      async handle() {
        const serialize = 'UPDATE stock SET count = count - 1 WHERE id = ?'
        await queries.measure('postgresql', serialize, [1], fail('deadlock detected', '40P01')).catch(() => undefined)
        await queries.measure('postgresql', serialize, [1], async () => ({ rowCount: 1 }))
        return page()
      },
    },
    items: {
      answer: 'repeated-queries',
      async handle() {
        for (let id = 0; id < 10; id++) await run(select('id'), [id])
        return page()
      },
    },
    'item-writes': {
      answer: 'repeated-queries',
      async handle() {
        for (let id = 0; id < 12; id++) {
          await queries.measure('sqlite', 'INSERT INTO hits VALUES (?)', [id], () => ({ changes: 1 })) // here: item-writes
        }
        return page()
      },
    },
    'nine-items': {
      answer: 'healthy',
      async handle() {
        for (let id = 0; id < 9; id++) await run(select('id'), [id])
        return page()
      },
    },
    'same-queries': {
      answer: 'duplicate-queries',
      async handle() {
        for (let time = 0; time < 3; time++) {
          queries.measure('sqlite', select('id'), [1], () => []) // here: same-queries
        }
        return page()
      },
    },
    'same-keys': {
      answer: 'duplicate-queries',
      async handle() {
        for (let time = 0; time < 4; time++) {
          await queries.measure('redis', 'GET user:1', undefined, async () => 'Ada') // here: same-keys
        }
        return page()
      },
    },
    // A repeated write is intended, and a retry after a failure is right.
    'same-writes': {
      answer: 'healthy',
      async handle() {
        const busy = () => queries.measure('sqlite', 'SELECT busy', [], fail('busy'))
        for (let time = 0; time < 3; time++) await busy().catch(() => undefined)
        queries.measure('sqlite', 'SELECT busy', [], () => [])
        for (let time = 0; time < 3; time++) await run('INSERT INTO hits VALUES (?)', [1])
        for (let time = 0; time < 2; time++) await run(select('id'), [1])
        return page()
      },
    },
    'query-sequence': {
      answer: 'sequential-queries',
      async handle() {
        for (let index = 0; index < 3; index++) {
          await queries.measure('sqlite', select(letters(index)), ['open'], () => sleep(60)) // here: query-sequence
        }
        return page()
      },
    },
    'query-together': {
      answer: 'healthy',
      async handle() {
        await Promise.all([0, 1, 2].map(index => run(select(letters(index)), ['open'], sleep(60))))
        return page()
      },
    },
    // Each query needs a value of the one before it.
    'dependent-queries': {
      answer: 'healthy',
      async handle() {
        await run('SELECT id FROM users WHERE name = ?', ['Ada'], sleep(60))
        await run('SELECT * FROM baskets WHERE user_id = ?', [70], sleep(60))
        await run('SELECT * FROM items WHERE basket_id = ?', [700], sleep(60))
        return page()
      },
    },
    'slow-query': {
      answer: 'slow-query',
      async handle() {
        await queries.measure('sqlite', select('state'), ['open'], () => sleep(120)) // here: slow-query
        return page()
      },
    },
    'quick-query': {
      answer: 'healthy',
      async handle() {
        await run(select('state'), ['open'], sleep(50))
        return page()
      },
    },
    rows: {
      answer: 'many-rows',
      handle() {
        queries.measure('sqlite', 'SELECT * FROM stock', [], () => Array.from({ length: 1000 })) // here: rows
        return page()
      },
    },
    'deleted-rows': {
      answer: 'healthy',
      handle() {
        run('DELETE FROM stock', [], { changes: 12_000 })
        run('SELECT * FROM stock', [], Array.from({ length: 999 }))
        return page()
      },
    },
    'many-queries': {
      answer: 'many-queries',
      handle() {
        for (let index = 0; index < 50; index++) run(select(letters(index)), [1])
        return page()
      },
    },
    'different-queries': {
      answer: 'healthy',
      handle() {
        for (let index = 0; index < 49; index++) run(select(letters(index)), [1])
        return page()
      },
    },
    'template-query': {
      answer: 'template-queries',
      handle: async () => Response.html(await view.render('planted/stock', {})),
    },
    'passed-query': {
      answer: 'healthy',
      async handle() {
        const count = String(run('SELECT count(*) FROM stock', [], [7]))
        return Response.html(await view.render('planted/count', { count }))
      },
    },
    'open-transaction': {
      answer: 'open-transaction',
      async handle({ query }) {
        await queries.measure('postgresql', 'BEGIN', undefined, async () => ({})) // here: open-transaction
        await queries.measure('postgresql', 'UPDATE stock SET count = 0', undefined, async () => ({ rowCount: 1 }))
        if (!query.has('sure')) return page()
        await queries.measure('postgresql', 'COMMIT', undefined, async () => ({}))
        return page()
      },
    },
    'idle-transaction': {
      answer: 'idle-transaction',
      async handle() {
        await queries.measure('postgresql', 'BEGIN', undefined, async () => [])
        await queries.measure('postgresql', 'SELECT 1', undefined, async () => []) // here: idle-transaction
        await sleep(150)
        await queries.measure('postgresql', 'COMMIT', undefined, async () => [])
        return page()
      },
    },
    'open-savepoint': {
      answer: 'open-transaction',
      async handle() {
        const run = (text: string) => queries.measure('mysql', text, undefined, async () => [])
        await queries.measure('mysql', 'START TRANSACTION', undefined, async () => []) // here: open-savepoint
        await run('SAVEPOINT one')
        await run('ROLLBACK TO SAVEPOINT one')
        return page()
      },
    },
    'answered-savepoint': {
      answer: 'healthy',
      async handle() {
        const run = (text: string) => queries.measure('postgresql', text, undefined, async () => ({ rowCount: 1 }))
        for (const text of ['BEGIN', 'SAVEPOINT one']) await run(text)
        const refused = fail('relation "prices" does not exist', '42P01')
        await queries.measure('postgresql', 'SELECT * FROM prices', [], refused).catch(() => [])
        for (const text of ['ROLLBACK TO one', 'COMMIT']) await run(text)
        return page()
      },
    },
    'looped-keys': {
      answer: 'repeated-commands',
      async handle() {
        for (let id = 0; id < 12; id++) {
          await queries.measure('redis', `GET item:${id}`, undefined, async () => 'Ada') // here: looped-keys
        }
        return page()
      },
    },
    // Writes fill the cache, commands at the same time do not wait for one another, and nine keys are few.
    'right-keys': {
      answer: 'healthy',
      async handle() {
        const get = (key: string) => queries.measure('redis', `GET ${key}`, undefined, async () => 'Ada')
        const set = (key: string) => queries.measure('redis', `SET ${key} ?`, undefined, async () => 'OK')
        const names = Array.from({ length: 12 }, (_, id) => `item:${id}`)
        await Promise.all(names.map(get))
        for (const key of names) await set(`new:${key}`)
        for (const key of names) await get(`new:${key}`)
        for (const key of names.slice(0, 9)) await get(`few:${key}`)
        return page()
      },
    },
    'ended-transactions': {
      answer: 'healthy',
      async handle() {
        const run = (text: string) => queries.measure('postgresql', text, undefined, async () => ({ rowCount: 1 }))
        for (const end of ['COMMIT', 'ROLLBACK']) {
          await run('BEGIN')
          await run('UPDATE stock SET count = 0')
          await run(end)
        }
        await queries.measure('postgresql', 'BEGIN', undefined, fail('too many connections')).catch(error => {
          logger.warning('Not begun.', { exception: error })
        })
        return page()
      },
    },
    'starved-pool': {
      answer: 'starved-pool',
      async handle() {
        const pool = createPool(1)
        await Promise.all([1, 2, 3].map(() => pool.run('SELECT * FROM reports', 60))) // here: starved-pool
        return page()
      },
    },
    'large-pool': {
      answer: 'healthy',
      async handle() {
        const pool = createPool(2)
        await Promise.all([1, 2].map(id => pool.run(`SELECT * FROM reports_${'ab'[id - 1]}`, 60)))
        return page()
      },
    },
    'late-query': {
      answer: 'late-work',
      isComplete: isLate,
      handle() {
        void sleep(30).then(() => queries.measure('sqlite', select('id'), [1], () => [])) // here: late-query
        return page()
      },
    },
  }
}
