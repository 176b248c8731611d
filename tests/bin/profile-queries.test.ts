import { isBuiltin } from 'node:module'
import { type Test, t } from 'tap'
import type { QueryData } from '#tests/support/create-profile.ts'
import { provenRuns } from '#tests/support/sample.ts'
import { lacksMariadb, startMariadb } from '#tests/support/start-mariadb.ts'
import { startMongodb } from '#tests/support/start-mongodb.ts'
import { lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'
import { type ProfileData, startProfiled } from '#tests/support/start-profiled.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'
import { until } from '#tests/support/until.ts'

const lacksSqlite = !isBuiltin('node:sqlite') && 'needs node:sqlite of Node 22'

interface Client {
  /** Why its test is skipped. */
  readonly lacks: string | false
  /** Starts its server. Returns its place, which the program has as `place`. */
  readonly start: (t: Test) => Promise<object>
  /**
   * Opens it, with pools of two connections, and defines the function `query(name, number)`, whose
   * statement has the name.
   */
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
      // The commands of the first request wait for the connection.
      const client = new Redis({ ...place, lazyConnect: true })
      const query = (name, number) => client.get(name + ':' + number)`,
    expected: ({ port }) => ({ system: 'redis', namespace: '0', server: `127.0.0.1:${port}`, rows: 0 }),
  },
  'node-redis': {
    ...redis,
    source: `
      import { createClientPool } from 'redis'
      // On a busy machine, the last of many requests waits for longer than the three seconds of the default.
      const limits = { minimum: 1, maximum: 2, acquireTimeout: 60_000 }
      const pool = await createClientPool({ socket: place }, limits).connect()
      const query = (name, number) => pool.get(name + ':' + number)`,
    expected: ({ port }) => ({ system: 'redis', namespace: '0', server: `127.0.0.1:${port}`, rows: 0 }),
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

/** The file of a client, and its text. It exports the function `query`. */
const moduleOf = (client: string, { source }: Client): readonly [file: string, text: string] => [
  `${client.replace(':', '-')}.mjs`,
  `const place = JSON.parse(process.env.PLACES)['${client}']\n${source}\nexport { query }\n`,
]

/**
 * A program with the clients of some files. Each request makes three queries of the client whose file its path names.
 */
const application = (files: readonly string[]) => `
import { createServer } from 'node:http'
process.stdin.on('end', () => process.exit()).resume()
const clients = {}
for (const file of ${JSON.stringify(files)}) clients[file] = await import('./' + file)
const server = createServer(async (message, reply) => {
  const [, file, name] = message.url.split('/')
  const { query } = clients[file]
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
function findWrong(name: string, [file, text]: ReturnType<typeof moduleOf>, answered: Answered): unknown[] {
  const names = answered.queries.flatMap(({ text }) => /\br\d+x\b/.exec(text) ?? [])
  const lines = text.split('\n')
  const strange = answered.queries.filter(
    ({ caller, end }) =>
      end === undefined || caller?.file !== file || !lines[(caller.line ?? 0) - 1]?.includes('query = '),
  )
  const isRight = answered.text === name && names.length === 3 && names.every(each => each === name)
  return isRight && answered.queries.length === 3 && strange.length === 0
    ? []
    : [{ name, text: answered.text, names, strange }]
}

t.test('requests at once have their own queries, with their lines', async t => {
  const usable = Object.entries(clients).filter(([, { lacks }]) => !lacks)
  const starting = new Map<Client['start'], Promise<object>>()
  const places: Record<string, object> = {}
  for (const [client, { start }] of usable) {
    const place = starting.get(start) ?? start(t)
    starting.set(start, place)
    places[client] = await place
  }
  const modules = Object.fromEntries(usable.map(([client, each]) => moduleOf(client, each)))
  const cwd = t.testdir({ node_modules: {}, 'package.json': '{ "dependencies": { "postgres": "*" } }', ...modules })
  const variables = { PLACES: JSON.stringify(places) }
  const { stop, url, viewer } = await startProfiled(t, application(Object.keys(modules)), variables, cwd)

  const ask = async (target: string): Promise<Answered> => {
    const response = await fetch(`${url}/${target}`)
    const text = await response.text()
    const token = String(response.headers.get('x-debug-token'))
    let found: ProfileData | undefined
    // It is stored soon after the response.
    await until(async () => {
      const answer = await fetch(`${viewer}/_profiler/${token}.json`)
      if (answer.ok) found = (await answer.json()) as ProfileData
      return found !== undefined
    }, 200)
    return { text, queries: (found?.data.queries?.queries ?? []) as readonly QueryData[] }
  }

  for (const [client, each] of Object.entries(clients)) {
    await t.test(client, { skip: each.lacks }, async t => {
      const module = moduleOf(client, each)
      const requests = Array.from({ length: provenRuns(200) }, (_, index) => `r${index}x`)
      const answers = await Promise.all(requests.map(name => ask(`${module[0]}/${name}`)))
      t.strictSame(
        answers.flatMap((answer, index) => findWrong(String(requests[index]), module, answer)),
        [],
      )
      t.match(answers[0]?.queries, Array(3).fill({ ...each.expected({ ...places[client] }), source: 'channel' }))
    })
  }
  await stop()
})
