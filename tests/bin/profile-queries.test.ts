import { type Test, t } from 'tap'
import type { QueryData } from '#tests/support/create-profile.ts'
import { provenRuns } from '#tests/support/sample.ts'
import { lacksMariadb, startMariadb } from '#tests/support/start-mariadb.ts'
import { startMongodb } from '#tests/support/start-mongodb.ts'
import { lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'
import { readProfile, startProfiled } from '#tests/support/start-profiled.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'
import { until } from '#tests/support/until.ts'

const lacksSqlite = Number(process.versions.node.split('.')[0]) < 22 && 'needs node:sqlite of Node 22'

interface Client {
  /** Why its test is skipped. */
  readonly lacks: string | false
  /** Starts its server. Returns its place, which the program has as `place`. */
  readonly start: (t: Test) => Promise<object>
  /** Opens it, with pools of two connections, and defines the function `query(name, number)`, whose statement has the name. */
  readonly source: string
  /** What each query has. */
  readonly expected: (place: Readonly<Record<string, unknown>>) => object
}

const postgres = { lacks: lacksPostgres, start: startPostgres }
const redis = {
  lacks: lacksRedis,
  start: async (t: Test) => {
    const { host, port } = await startRedis(t)
    return { host, port }
  },
}

const clients: Readonly<Record<string, Client>> = {
  pg: {
    ...postgres,
    source: `
      import pg from 'pg'
      const pool = new pg.Pool({ ...place, max: 2 })
      const query = (name, number) => pool.query('SELECT $1::int AS ' + name, [number])`,
    expected: ({ port }) => ({ system: 'postgresql', namespace: 'postgres', server: `127.0.0.1:${port}`, rows: 1 }),
  },
  'postgres.js': {
    ...postgres,
    source: `
      import postgres from 'postgres'
      const sql = postgres({ ...place, username: place.user, max: 2 })
      const query = (name, number) => sql\`SELECT \${number}::int AS \${sql(name)}\``,
    expected: ({ port }) => ({ system: 'postgresql', namespace: 'postgres', server: `127.0.0.1:${port}`, rows: 1 }),
  },
  mysql2: {
    lacks: lacksMariadb,
    start: startMariadb,
    source: `
      import mysql from 'mysql2/promise'
      const pool = mysql.createPool({ ...place, connectionLimit: 2 })
      const query = (name, number) => pool.query('SELECT ? AS ' + name, [number])`,
    expected: ({ port }) => ({ system: 'mysql', namespace: 'shop', server: `127.0.0.1:${port}`, rows: 1 }),
  },
  mongodb: {
    lacks: false,
    start: async t => ({ address: await startMongodb(t) }),
    source: `
      import { MongoClient } from 'mongodb'
      const client = new MongoClient('mongodb://' + place.address, { maxPoolSize: 2 })
      const items = client.db('shop').collection('items')
      const query = (name, number) => items.find({ [name]: number }).toArray()`,
    expected: ({ address }) => ({ system: 'mongodb', namespace: 'shop', server: address, rows: 0 }),
  },
  ioredis: {
    ...redis,
    source: `
      import { Redis } from 'ioredis'
      const client = new Redis(place)
      await client.ping()
      const query = (name, number) => client.get(name + ':' + number)`,
    expected: ({ port }) => ({ system: 'redis', namespace: '0', server: `127.0.0.1:${port}`, rows: 0 }),
  },
  'node-redis': {
    ...redis,
    source: `
      import { createClientPool } from 'redis'
      const pool = await createClientPool({ socket: place }, { minimum: 1, maximum: 2 }).connect()
      const query = (name, number) => pool.get(name + ':' + number)`,
    expected: ({ port }) => ({ system: 'redis', namespace: '0', server: `127.0.0.1:${port}`, rows: 0 }),
  },
  'better-sqlite3': {
    lacks: lacksSqlite,
    start: async () => ({}),
    source: `
      import Database from 'better-sqlite3'
      const database = new Database(':memory:')
      const query = (name, number) => database.prepare('SELECT ? AS ' + name).all(number)`,
    expected: () => ({ system: 'sqlite', server: ':memory:', rows: 1 }),
  },
  'node:sqlite': {
    lacks: lacksSqlite,
    start: async () => ({}),
    source: `
      import { DatabaseSync } from 'node:sqlite'
      const database = new DatabaseSync(':memory:')
      const query = (name, number) => database.prepare('SELECT ? AS ' + name).all(number)`,
    expected: () => ({ system: 'sqlite', rows: 1 }),
  },
}

/** Each request makes three queries. */
const application = (source: string) => `
import { createServer } from 'node:http'
const place = JSON.parse(process.env.PLACE)
process.stdin.on('end', () => process.exit()).resume()
${source}
// Longer than the tests: a connection that is closed when it is used again is an error of fetch.
const server = createServer({ keepAliveTimeout: 600_000 }, async (message, reply) => {
  const name = message.url.slice(1)
  await query(name, 1)
  await Promise.all([query(name, 2), query(name, 3)])
  reply.end(name)
})
server.listen(0, '127.0.0.1', () => process.stdout.write(JSON.stringify([server.address().port]) + '\\n'))
`

/** What a request was answered, and the queries of its profile. */
interface Answered {
  readonly text: string
  readonly queries: readonly QueryData[]
}

/** What the profile of a request has that it must not have, or lacks. */
function findWrong(name: string, source: string, { queries, text }: Answered): unknown[] {
  const names = queries.flatMap(({ text }) => /\br\d+x\b/.exec(text) ?? [])
  const lines = source.split('\n')
  const strange = queries.filter(
    ({ caller, end }) =>
      end === undefined || caller?.file !== 'app.mjs' || !lines[(caller.line ?? 0) - 1]?.includes('query = '),
  )
  const isRight = text === name && names.length === 3 && queries.length === 3 && names.every(each => each === name)
  return isRight && strange.length === 0 ? [] : [{ name, text, names, strange }]
}

t.test('requests at once have their own queries, with their lines', async t => {
  for (const [client, { expected, lacks, source, start }] of Object.entries(clients)) {
    await t.test(client, { skip: lacks }, async t => {
      const place = await start(t)
      const program = application(source)
      const { stop, url, viewer } = await startProfiled(t, program, { PLACE: JSON.stringify(place) })
      const ask = async (name: string): Promise<Answered> => {
        const response = await fetch(`${url}/${name}`)
        const text = await response.text()
        const token = String(response.headers.get('x-debug-token'))
        // It is stored soon after the response.
        await until(() =>
          fetch(`${viewer}/_profiler/${token}.json`).then(
            ({ ok }) => ok,
            // The viewer may close an idle connection just when it is used again.
            () => false,
          ),
        )
        const { data } = await readProfile(viewer, token)
        return { text, queries: (data.queries?.queries ?? []) as readonly QueryData[] }
      }
      const names = Array.from({ length: provenRuns(200) }, (_, index) => `r${index}x`)
      const answers = await Promise.all(names.map(ask))
      t.strictSame(
        answers.flatMap((answer, index) => findWrong(String(names[index]), program, answer)),
        [],
      )
      t.match(answers[0]?.queries, Array(3).fill({ ...expected({ ...place }), source: 'channel' }))
      await stop()
    })
  }
})
