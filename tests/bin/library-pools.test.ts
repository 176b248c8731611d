import { type Test, t } from 'tap'
import { openLibraries } from '#bundles/libraries/libraries.ts'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import { Response } from '#lib/http/response.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { lacksMariadb, startMariadb } from '#tests/support/start-mariadb.ts'
import { startMongodb } from '#tests/support/start-mongodb.ts'
import { lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'

/** A pool of a library. */
interface SmallPool {
  /** A query that takes so many milliseconds. */
  query(time: number): Promise<unknown>
  end(): unknown
}

interface Library {
  readonly lacks: string | false
  /** Starts a server. The result creates pools of at most so many connections. */
  start(t: Test): Promise<(limit: number) => Promise<SmallPool>>
}

const libraries: Readonly<Record<string, Library>> = {
  pg: {
    lacks: lacksPostgres,
    async start(t) {
      const server = await startPostgres(t)
      const { default: pg } = await import('pg')
      return async max => {
        const pool = new pg.Pool({ ...server, max })
        return { query: time => pool.query(`SELECT pg_sleep(${time / 1000})`), end: () => pool.end() }
      }
    },
  },
  mysql2: {
    lacks: lacksMariadb,
    async start(t) {
      const server = await startMariadb(t)
      const { createPool } = await import('mysql2/promise')
      return async connectionLimit => {
        const pool = createPool({ ...server, connectionLimit })
        return { query: time => pool.query(`SELECT SLEEP(${time / 1000})`), end: () => pool.end() }
      }
    },
  },
  mongodb: {
    lacks: false,
    async start(t) {
      const place = await startMongodb(t)
      const { MongoClient } = await import('mongodb')
      return async maxPoolSize => {
        const client = new MongoClient(`mongodb://${place}`, { maxPoolSize })
        const items = client.db('shop').collection('items')
        return { query: time => items.findOne({ $where: `sleep(${time})` }), end: () => client.close() }
      }
    },
  },
  'node-redis': {
    lacks: lacksRedis,
    async start(t) {
      const socket = await startRedis(t)
      const { createClientPool } = await import('redis')
      return async maximum => {
        const pool = createClientPool({ socket }, { minimum: 1, maximum, acquireTimeout: 0 })
        await pool.connect()
        // A client of a pool waits for a list that stays empty.
        const wait = (time: number) => pool.execute(async client => client?.blPop('empty', time / 1000))
        return { query: time => (time === 0 ? pool.get('a') : wait(time)), end: () => pool.destroy() }
      }
    },
  },
}

function block(time: number): void {
  for (const end = performance.now() + time; performance.now() < end; );
}

/** What a request does with a pool, the limit of the pool, and the pools that its waits name. */
const cases: readonly (readonly [
  claim: string,
  limit: number,
  work: (query: SmallPool['query']) => Promise<unknown>,
  waits: readonly object[],
])[] = [
  [
    'a blocked event loop beside a free connection is no wait',
    20,
    async query => {
      const answer = query(0)
      block(60)
      await answer
    },
    [],
  ],
  ['connections that are opened are no waits', 3, query => Promise.all([query(30), query(30), query(30)]), []],
  [
    'a caller without a free connection waits, behind those that wait already',
    2,
    query => Promise.all([query(500), query(500), query(500), query(0)]),
    [{ limit: 2 }, { limit: 2 }],
  ],
  ['the only connection', 1, query => Promise.all([query(500), query(0)]), [{ limit: 1 }]],
]

for (const [name, { lacks, start }] of Object.entries(libraries)) {
  t.test(`${name}: a wait has the pool, all of whose connections were in use`, { skip: lacks }, async t => {
    await openLibraries(process.cwd())
    const createPool = await start(t)
    for (const [claim, limit, work, waits] of cases) {
      await t.test(claim, async t => {
        const pool = await createPool(limit)
        // A first connection is open.
        await pool.query(0)
        const kernel = await createProfiledKernel(t, {
          directory: process.cwd(),
          handlers: {
            '/work': async () => {
              await work(time => pool.query(time))
              return Response.html('done')
            },
          },
        })
        const profile = await kernel.profileOf(await kernel.client.get('/work'))
        await pool.end()
        const pools = (profile.collectors.queries?.waits ?? []).map(({ pool }) => pool)
        t.match(pools, waits)
        t.equal(pools.length, waits.length)
        const problems = findFindings(profile).flatMap(({ problem, rule }) =>
          rule === 'starved-pool' ? [problem] : [],
        )
        const use = limit === 1 ? /: its only connection was in use\.$/ : /: all 2 connections were in use\.$/
        t.match(problems, waits.length === 0 ? [] : [use])
        t.equal(problems.length, Math.min(1, waits.length))
      })
    }
  })
}
