import { t } from 'tap'
import { createDependent, findProfile, startProfiled } from '#tests/support/start-profiled.ts'

/** Pages by the package that connects to a port without a server. */
const pages: Readonly<Record<string, string>> = {
  pg: `await new pg.Client({ host: '127.0.0.1', port: 2 }).connect()`,
  'pg/pool': `await pool.query('SELECT 1')`,
  'pg/name': `await new pg.Pool({ host: 'localhost', port: 2 }).query('SELECT 1')`,
  'pg/socket': `await new pg.Client({ host: '/nowhere' }).connect()`,
  postgres: `await postgres('postgres://127.0.0.1:2/a', { max: 1, connect_timeout: 1 })\`SELECT 1\``,
  mysql2: `await mysql.createConnection({ host: '127.0.0.1', port: 2 })`,
  'mysql2/pool': `await mysql.createPool({ host: '127.0.0.1', port: 2 }).query('SELECT 1')`,
  ioredis: `await new Redis(2, '127.0.0.1', { maxRetriesPerRequest: 1, retryStrategy: () => 5 }).on('error', () => {}).get('a')`,
  redis: `await createClient({ url: 'redis://127.0.0.1:2', socket: { reconnectStrategy: false } }).on('error', () => {}).connect()`,
  'ioredis/early': `await redis.get('a')`,
  mongodb: `await new MongoClient('mongodb://127.0.0.1:2', { serverSelectionTimeoutMS: 50 }).connect()`,
  'mongodb/early': `await mongo.db('a').collection('b').findOne({ c: 1 })`,
}

const program = `
import { createServer } from 'node:http'
import { Redis } from 'ioredis'
import { MongoClient } from 'mongodb'
import mysql from 'mysql2/promise'
import pg from 'pg'
import postgres from 'postgres'
import { createClient } from 'redis'
const pool = new pg.Pool({ host: '127.0.0.1', port: 2 })
const redis = new Redis(2, '127.0.0.1', { maxRetriesPerRequest: 1, retryStrategy: () => 5 }).on('error', () => {})
const mongo = new MongoClient('mongodb://127.0.0.1:2', { serverSelectionTimeoutMS: 50 })
const pages = {
${Object.entries(pages)
  .map(([name, code]) => `  ${JSON.stringify(name)}: async () => { ${code} },`)
  .join('\n')}
}
const server = createServer(async (request, response) => {
  try {
    await pages[request.url.slice(1)]()
  } catch (error) {
    response.statusCode = 503
    response.end(error.constructor.name)
  }
}).listen(0, '127.0.0.1', () => process.stdout.write(JSON.stringify([server.address().port]) + '\\n'))
process.stdin.on('end', () => process.exit()).resume()
`

t.test('a connection refused before there is a query is a failed query of its library, at its line', async t => {
  const { stop, url, viewer } = await startProfiled(t, program, {}, createDependent(t, 'postgres'))
  const lines = program.split('\n')
  const seen: unknown[] = []
  for (const name of Object.keys(pages)) {
    t.equal((await fetch(`${url}/${name}`)).status, 503)
    const { data } = await findProfile(viewer, `/${name}`)
    const queries = Object(data.queries).queries as Readonly<Record<string, unknown>>[]
    const described = queries.map(({ caller, error, server, system, text }) =>
      [text, system, server, error, Object(caller).line].join(),
    )
    seen.push(`${name}: ${described.join('; ')}`)
  }
  const lineOf = (name: string) => lines.findIndex(line => line.startsWith(`  ${JSON.stringify(name)}: async`)) + 1
  const failed = 'connect ECONNREFUSED 127.0.0.1:2'
  const waited =
    'GET a,redis,127.0.0.1:2,Reached the max retries per request limit (which is 1). Refer to "******" option for details.'
  t.strictSame(seen, [
    `pg: connect,postgresql,127.0.0.1:2,${failed},${lineOf('pg')}`,
    `pg/pool: connect,postgresql,127.0.0.1:2,${failed},${lineOf('pg/pool')}`,
    `pg/name: connect,postgresql,localhost:2,${failed},${lineOf('pg/name')}`,
    `pg/socket: connect,postgresql,/nowhere/.s.PGSQL.5432,connect ENOENT /nowhere/.s.PGSQL.5432,${lineOf('pg/socket')}`,
    `postgres: SELECT ?,postgresql,,${failed},${lineOf('postgres')}`,
    `mysql2: connect,mysql,127.0.0.1:2,${failed},${lineOf('mysql2')}`,
    `mysql2/pool: connect,mysql,127.0.0.1:2,${failed},${lineOf('mysql2/pool')}`,
    `ioredis: CONNECT,redis,127.0.0.1:2,${failed},; ${waited},${lineOf('ioredis')}`,
    `redis: CONNECT,redis,127.0.0.1:2,${failed},${lineOf('redis')}`,
    `ioredis/early: ${waited},${lineOf('ioredis/early')}`,
    `mongodb: connect,mongodb,127.0.0.1:2,${failed},${lineOf('mongodb')}`,
    `mongodb/early: connect,mongodb,127.0.0.1:2,${failed},${lineOf('mongodb/early')}; find b,mongodb,,${failed},${lineOf('mongodb/early')}`,
  ])
  await stop()
})
