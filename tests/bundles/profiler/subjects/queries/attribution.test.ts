import { AsyncLocalStorage } from 'node:async_hooks'
import { EventEmitter, once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createPool as createCallbackPool, createConnection } from 'mysql2'
import { createPool, type Pool } from 'mysql2/promise'
import { createClient, createClientPool, RedisClientPool } from 'redis'
import { type Test, t } from 'tap'
import { readQueries, readWaits, type StoredQuery } from '#bundles/profiler/subjects/queries/read.ts'
import { Response } from '#lib/http/response.ts'
import { createProfiledKernel, type ProfiledInit } from '#tests/support/profiled-kernel.ts'
import { provenRuns } from '#tests/support/sample.ts'
import { lacksMariadb, startMariadb } from '#tests/support/start-mariadb.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'

type Work = (number: number) => Promise<unknown>

/** The queries of overlapping requests, each of which works with its own number. */
async function runOverlapping(t: Test, work: Work, count = provenRuns(300), init: ProfiledInit = {}) {
  const kernel = await createProfiledKernel(t, {
    ...init,
    handlers: {
      '/work': async ({ query }) => {
        await work(Number(query.get('number')))
        return Response.html('done')
      },
    },
  })
  const numbers = Array.from({ length: count }, (_, index) => index + 1000)
  const responses = await Promise.all(numbers.map(number => kernel.client.get(`/work?number=${number}`)))
  const profiles = await Promise.all(responses.map(response => kernel.profileOf(response)))
  return profiles.map((profile, index) => ({ number: Number(numbers[index]), queries: readQueries(profile).queries }))
}

/** Each request has so many queries, and no query of another request. */
function checkOwners(
  t: Test,
  requests: readonly { readonly number: number; readonly queries: readonly StoredQuery[] }[],
  expected: number,
): void {
  const wrong = requests.flatMap(({ number, queries }) => queries.filter(query => !ofNumber(query, number)))
  t.strictSame(wrong, [], 'no query of another request')
  const counts = new Set(requests.map(({ queries }) => queries.length))
  t.strictSame([...counts], [expected], 'all queries of each request')
  const places = new Set(requests.flatMap(({ queries }) => queries.map(({ caller }) => caller.file ?? 'none')))
  t.match([...places], [/attribution\.test\.[jt]s$/], 'each has its place in the code')
}

function ofNumber({ parameters = [], text }: StoredQuery, number: number): boolean {
  return text.includes(String(number)) || parameters.some(([, value]) => value === number)
}

/** Statements that say which request they belong to. */
const mysqlWork: Readonly<Record<string, (pool: Pool, number: number) => Promise<unknown>>> = {
  async 'pool.query'(pool, number) {
    await pool.query('SELECT ? AS number, SLEEP(0.001)', [number])
    await pool.query(`SELECT ${number}`)
  },
  async 'pool.execute'(pool, number) {
    await Promise.all([pool.execute('SELECT ? AS number', [number]), pool.execute('SELECT ? + 1', [number])])
  },
  async 'a connection'(pool, number) {
    const connection = await pool.getConnection()
    await connection.query('SELECT ?', [number])
    await pause(1)
    await connection.execute('SELECT ?', [number])
    connection.release()
  },
}

t.test('queries of mysql2 belong to the request that made them', { skip: lacksMariadb }, async t => {
  const server = await startMariadb(t)
  const pool = createPool({ ...server, connectionLimit: 2 })
  t.teardown(() => pool.end())
  for (const [name, work] of Object.entries(mysqlWork)) {
    await t.test(name, async t => checkOwners(t, await runOverlapping(t, number => work(pool, number)), 2))
  }

  await t.test('callbacks', async t => {
    const pool = createCallbackPool({ ...server, connectionLimit: 2 })
    t.teardown(() => pool.promise().end())
    const work = (number: number) =>
      new Promise(resolve => {
        pool.query('SELECT ?', [number], () => {
          pool.execute('SELECT ?', [number], () => {
            pool.getConnection((_error, connection) => {
              connection.query(`SELECT ${number}`, () => {
                connection.release()
                resolve(undefined)
              })
            })
          })
        })
      })
    checkOwners(t, await runOverlapping(t, work), 3)
  })

  await t.test('a wait outside of requests is not that of the request that releases the connection', async t => {
    const pool = createPool({ ...server, connectionLimit: 1 })
    t.teardown(() => pool.end())
    const steps = new EventEmitter()
    let job: Promise<unknown> | undefined
    const kernel = await createProfiledKernel(t, {
      handlers: {
        '/work': async () => {
          const connection = await pool.getConnection()
          const asked = once(steps, 'asked')
          steps.emit('connected')
          await asked
          await connection.query('SELECT SLEEP(0.02)')
          connection.release()
          await job
          return Response.html('done')
        },
      },
    })
    // A connection that has to be opened may be a wait of the request.
    await pool.query('SELECT 1')
    const connected = once(steps, 'connected')
    const working = kernel.client.get('/work')
    await connected
    job = pool.query('SELECT 7')
    steps.emit('asked')
    const profile = await kernel.profileOf(await working)
    t.strictSame(
      readQueries(profile).queries.map(({ text }) => text),
      ['SELECT SLEEP(?)'],
    )
    t.strictSame(readWaits(profile).waits, [])
  })

  await t.test('rows, errors and transactions', async t => {
    await pool.query('CREATE TABLE products (id INT PRIMARY KEY, name VARCHAR(20))')
    const [request] = await runOverlapping(
      t,
      async () => {
        const connection = await pool.getConnection()
        await connection.beginTransaction()
        await connection.execute('INSERT INTO products (id, name) VALUES (?, ?), (8, ?)', [7, 'tea', 'cup'])
        await connection.query('INSERT INTO products (id, name) VALUES (?)', [[7, 'milk']]).catch(() => {})
        await connection.query('SELECT * FROM products WHERE name = ?', ['tea'])
        await connection.rollback()
        connection.release()
        await pool.query('SELEC').catch(() => {})
      },
      1,
    )
    t.hasStrict(request?.queries, [
      {
        system: 'mysql',
        text: 'START TRANSACTION',
        source: 'channel',
        namespace: 'shop',
        server: `127.0.0.1:${server.port}`,
      },
      { text: 'INSERT INTO products (id, name) VALUES (?, ?), (?, ?)', rows: 2 },
      { code: 'ER_DUP_ENTRY', error: `Duplicate entry '******' for key 'PRIMARY'` },
      { text: 'SELECT * FROM products WHERE name = ?', parameters: [['name', 'tea']], rows: 1 },
      { text: 'ROLLBACK' },
      { code: 'ER_PARSE_ERROR' },
    ])
    t.strictSame(request?.queries[1]?.parameters, [
      ['id', 7],
      ['name', 'tea'],
      ['id', 8],
      ['name', 'cup'],
    ])
  })

  await t.test('a stream of rows, and a connection of its own', async t => {
    const connection = createConnection(server)
    t.teardown(() => connection.destroy())
    const stream = async (number: number) => {
      for await (const row of connection.query('SELECT ? AS number', [number]).stream()) t.ok(row)
      await connection
        .query('SELEC')
        .stream()
        .toArray()
        .catch(() => {})
      await connection.execute('SELECT ? AS number', [number]).stream().toArray()
    }
    const [request] = await runOverlapping(t, stream, 1)
    t.strictSame(
      request?.queries.map(({ end, error }) => [end !== undefined, error !== '']),
      [
        [true, false],
        [true, true],
        [true, false],
      ],
    )
  })

  await t.test('a request that ends before its query, and sub-requests', async t => {
    const late: Promise<unknown>[] = []
    const requests = await runOverlapping(t, async number => {
      late.push(pool.query('SELECT ?, SLEEP(0.002)', [number]))
    })
    const wrong = requests.flatMap(({ number, queries }) => queries.filter(query => !ofNumber(query, number)))
    t.strictSame(wrong, [])
    await Promise.all(late)
    const kernel = await createProfiledKernel(t, {
      handlers: {
        '/main': async request => {
          await pool.query('SELECT 1')
          return kernel.app.kernel.handle(request.duplicate({ method: 'GET', target: '/inner' }))
        },
        '/inner': async () => {
          await pool.query('SELECT 2')
          return Response.html('inner')
        },
      },
    })
    const main = await kernel.profileOf(await kernel.client.get('/main'))
    t.strictSame(
      readQueries(main).queries.map(({ parameters }) => parameters),
      [[['1', 1]]],
    )
    const inner = (await kernel.storage.find(String(main.children[0])))?.profile
    t.strictSame(inner && readQueries(inner).queries.map(({ parameters }) => parameters), [[['1', 2]]])
  })
})

t.test('commands of ioredis belong to the request that sent them', { skip: lacksRedis }, async t => {
  const server = await startRedis(t)
  const redis = new Redis(server)
  t.teardown(() => redis.disconnect())
  await redis.ping()
  await t.test('commands', async t => {
    const work = async (number: number) => {
      await redis.set(`k:${number}`, 'x')
      await Promise.all([redis.get(`k:${number}`), redis.pipeline().get(`p:${number}`).exec()])
    }
    checkOwners(t, await runOverlapping(t, work), 3)
  })
  await t.test('values, misses, a MULTI and errors', async t => {
    const [request] = await runOverlapping(
      t,
      async () => {
        await redis.set('sess:secret', 'secret')
        await redis.get('miss')
        await redis.get('sess:secret')
        await redis.hgetall('nothing')
        await redis.mget('miss', 'sess:secret')
        await redis.getBuffer('sess:secret')
        await redis.multi().set('b', 1).get('b').exec()
        await redis.lpush('sess:secret', 1).catch(() => {})
      },
      1,
    )
    t.strictSame(
      request?.queries.map(({ batch, code, error, rows, text }) => [text, rows, batch, error || code]),
      [
        ['SET sess:****** ?', undefined, undefined, undefined],
        ['GET miss', 0, undefined, undefined],
        ['GET sess:******', 1, undefined, undefined],
        ['HGETALL ?', 0, undefined, undefined],
        ['MGET ? ?', 1, undefined, undefined],
        ['GET sess:******', 1, undefined, undefined],
        ['MULTI', undefined, 2, undefined],
        [
          'LPUSH sess:****** ?',
          undefined,
          undefined,
          'WRONGTYPE Operation against a key holding the wrong kind of value',
        ],
      ],
    )
    t.match(request?.queries[1], { system: 'redis', namespace: '0', source: 'channel', twin: undefined })
    t.equal(request?.queries[5]?.twin, 2)
  })
  await t.test('commands that wait for the connection are not those of another request', async t => {
    const lazy = new Redis({ ...server, lazyConnect: true })
    t.teardown(() => lazy.disconnect())
    const requests = await runOverlapping(t, number => lazy.get(`k:${number}`), 50)
    const wrong = requests.flatMap(({ number, queries }) => queries.filter(query => !ofNumber(query, number)))
    t.strictSame(wrong, [])
  })
})

t.test('commands of node-redis belong to the request that sent them', { skip: lacksRedis }, async t => {
  const socket = await startRedis(t)
  const client = await createClient({ socket }).connect()
  t.teardown(() => client.destroy())
  await t.test('commands', async t => {
    const work = async (number: number) => {
      await client.set(`k:${number}`, 'x')
      await Promise.all([client.get(`k:${number}`), client.multi().get(`p:${number}`).execAsPipeline()])
    }
    checkOwners(t, await runOverlapping(t, work), 3)
  })
  await t.test('a MULTI and an error', async t => {
    const [request] = await runOverlapping(
      t,
      async () => {
        await client.multi().set('a', '1').get('a').exec()
        await client.lPush('a', '1').catch(() => {})
      },
      1,
    )
    t.hasStrict(request?.queries, [
      { text: 'MULTI', batch: 2, error: '' },
      { text: 'LPUSH a ?', error: 'WRONGTYPE Operation against a key holding the wrong kind of value' },
    ])
  })
  await t.test('a pool', async t => {
    const pool = createClientPool({ socket }, { maximum: 2, acquireTimeout: 0 })
    await pool.connect()
    t.teardown(() => pool.destroy())
    const work = async (number: number) => {
      await pool.get(`k:${number}`)
      await Promise.all([
        pool.execute(async client => {
          await client.get(`e:${number}`)
          await client.multi().get(`m:${number}`).execAsPipeline()
        }),
        pool.multi().get(`p:${number}`).execAsPipeline(),
      ])
    }
    checkOwners(t, await runOverlapping(t, work), 4)
  })
  await t.test('a pool keeps other contexts of the application, and its own method after the profiler', async t => {
    const pool = createClientPool({ socket }, { maximum: 1, acquireTimeout: 0 })
    await pool.connect()
    t.teardown(() => pool.destroy())
    const seen: [number: number, stored: number | undefined][] = []
    await t.test('profiled', async t => {
      const storage = new AsyncLocalStorage<number>()
      const work = (number: number) =>
        storage.run(number, () => pool.execute(async () => seen.push([number, storage.getStore()])))
      await runOverlapping(t, work, 20)
    })
    t.strictSame(
      seen,
      seen.map(([number]) => [number, number]),
    )
    t.equal(RedisClientPool.prototype.execute.name, 'execute')
  })
})

t.test('a request that is not recorded has no queries', { skip: lacksRedis }, async t => {
  const redis = new Redis(await startRedis(t))
  t.teardown(() => redis.disconnect())
  await redis.ping()
  const kernel = await createProfiledKernel(t, {
    handlers: { '/work': async () => Response.html(String(await redis.get('a'))) },
  })
  const response = await kernel.client.get('/work', { headers: { 'x-profiler': 'off' } })
  t.equal(response.status, 200)
  t.equal(response.headers.get('x-debug-token'), null)
})
