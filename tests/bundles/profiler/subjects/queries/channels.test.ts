import { type Channel, channel, type TracingChannel, tracingChannel } from 'node:diagnostics_channel'
import { measureSqlite } from 'sinfonietta'
import { type Test, t } from 'tap'
import { readQueries } from '#bundles/profiler/subjects/queries/read.ts'
import { Queries } from '#kernel/contracts/queries.ts'
import { Response } from '#lib/http/response.ts'
import { createProfiledKernel, profilePage } from '#tests/support/profiled-kernel.ts'

// The messages of libraries, as they publish them: these tests need no servers.
// `attribution.test.ts` has the libraries.

/** The queries of a request whose controller does this. */
async function queriesOf(t: Test, work: () => unknown) {
  const { profile } = await profilePage(t, async () => {
    await work()
    return Response.html('done')
  })
  return readQueries(profile).queries
}

/** Traces an operation from code that has no file, as if the library did it by itself, and resolves with its result. */
const traceAlone = new Function(
  'before',
  'channel',
  'message',
  'return new Promise(resolve => setImmediate(() => resolve((before?.publish({}), channel.tracePromise(async () => 1, message)))))',
) as (before: Channel | undefined, channel: TracingChannel, message: object) => Promise<unknown>

const mysqlServer = { serverAddress: 'db', serverPort: 3306, database: 'shop' }

t.test('mysql2: a query, a prepared statement, a pool and a socket', async t => {
  const query = tracingChannel('mysql2:query')
  const execute = tracingChannel('mysql2:execute')
  const queries = await queriesOf(t, async () => {
    const pool = { ...mysqlServer }
    const run = (done: () => void) =>
      query.traceCallback(
        (done: (error: unknown, rows: unknown) => void) => done(null, [1, 2]),
        0,
        { ...pool, query: 'SELECT 7' },
        null,
        done,
      )
    tracingChannel('mysql2:pool:connect').traceCallback(run, 0, pool, null, () => undefined)
    const waiting = (done: () => void) => void setImmediate(done)
    const message = { ...mysqlServer, query: 'SELECT 7' }
    await new Promise<unknown>(resolve => {
      // Below the query are no frames of the application.
      const runAlone = new Function(
        'query',
        'message',
        'resolve',
        'query.tracePromise(async () => [1], message).then(resolve)',
      )
      tracingChannel('mysql2:pool:connect').traceCallback(
        waiting,
        0,
        pool,
        null,
        runAlone.bind(null, query, message, resolve),
      )
    })
    const socket = { serverAddress: '/run/mysql.sock', serverPort: undefined, database: '' }
    await execute
      .tracePromise(() => Promise.reject(new Error('gone')), { ...socket, query: 'SELECT ?', values: [8] })
      .catch(() => {})
  })
  t.hasStrict(queries, [
    { system: 'mysql', text: 'SELECT ?', parameters: [['1', 7]], rows: 2, server: 'db:3306', namespace: 'shop' },
    { parameters: [['1', 7]] },
    { parameters: [['1', 8]], error: 'gone', server: '/run/mysql.sock', namespace: undefined },
  ])
  t.match(queries[1]?.caller.file, /channels\.test\.[jt]s$/)
})

const redisServer = { serverAddress: 'cache', serverPort: 6379, database: 2 }

t.test('ioredis: commands, a MULTI, and commands that it sends by itself', async t => {
  const command = tracingChannel('ioredis:command')
  const send = (name: string, args: readonly string[], result: unknown) =>
    command.tracePromise(async () => result, { ...redisServer, command: name, args })
  const queries = await queriesOf(t, async () => {
    await send('get', ['a'], null)
    await send('get', ['b'], 'x')
    await send('set', ['b', '?'], 'OK')
    await send('mget', ['a', 'b'], [null, 'x'])
    await send('hgetall', ['?'], { one: 1 })
    await send('getBuffer', ['b'], Buffer.from('x'))
    await tracingChannel('ioredis:batch').tracePromise(() => send('incr', ['c'], 'QUEUED'), {
      ...redisServer,
      batchMode: 'MULTI',
      batchSize: 1,
    })
    const message = { ...redisServer, command: 'get', args: ['from another request'] }
    await traceAlone(undefined, command, message)
  })
  t.strictSame(
    queries.map(({ batch, rows, text }) => [text, rows, batch]),
    [
      ['GET a', 0, undefined],
      ['GET b', 1, undefined],
      ['SET b ?', undefined, undefined],
      ['MGET a b', 1, undefined],
      ['HGETALL ?', 1, undefined],
      ['GETBUFFER ?', 1, undefined],
      ['MULTI', undefined, 1],
    ],
  )
  t.hasStrict(queries[0], { system: 'redis', server: 'cache:6379', namespace: '2', source: 'channel' })
})

t.test('node-redis: commands, a pipeline, a MULTI, and a pool', async t => {
  const send = (name: string, args: readonly string[], batchSize?: number) =>
    tracingChannel('node-redis:command').tracePromise(async () => 'x', {
      ...redisServer,
      command: name,
      args: [name, ...args],
      ...(batchSize !== undefined && { batchMode: 'PIPELINE', batchSize }),
    })
  const batch = (batchMode: string, work: () => Promise<unknown>) =>
    tracingChannel('node-redis:batch').tracePromise(work, { ...redisServer, batchMode, batchSize: 2 })
  const wait = channel('node-redis:pool:connection-wait')
  const queries = await queriesOf(t, async () => {
    wait.publish({})
    await send('GET', ['a'])
    await batch('PIPELINE', () => Promise.all([send('GET', ['b'], 2), send('GET', ['c'], 2)]))
    await batch('MULTI', async () => 'x')
    const message = { ...redisServer, command: 'GET', args: ['GET', 'from another request'] }
    await traceAlone(wait, tracingChannel('node-redis:command'), message)
  })
  t.strictSame(
    queries.map(({ batch, rows, text }) => [text, rows, batch]),
    [
      ['GET a', 1, undefined],
      ['GET b', 1, 2],
      ['GET c', 1, 2],
      ['MULTI', undefined, 2],
    ],
  )
})

t.test('queries outside of a request are not recorded', async t => {
  await createProfiledKernel(t)
  const command = { ...redisServer, command: 'get', args: ['a'] }
  t.equal(await tracingChannel('ioredis:command').tracePromise(async () => 'x', command), 'x')
  const query = { ...mysqlServer, query: 'SELECT 1' }
  let isDone = false
  const done = () => {
    isDone = true
  }
  tracingChannel('mysql2:query').traceCallback((call: () => void) => call(), 0, query, null, done)
  t.ok(isDone)
})

t.test('node:sqlite: statements of a database that is not measured otherwise', async t => {
  const sqlite = channel('sqlite.db.query')
  const queries = await queriesOf(t, () => {
    sqlite.publish({ sql: `SELECT 'x', 1.0`, database: { location: () => '/var/shop.db' }, duration: 2_000_000 })
    sqlite.publish({ sql: 'SELECT 2', database: {}, duration: 0 })
    sqlite.publish({ sql: 'SELECT 3', database: measureSqlite(createDatabase(), new Queries()), duration: 0 })
    sqlite.publish('an unknown message')
  })
  t.hasStrict(queries, [
    { system: 'sqlite', text: 'SELECT ?, ?', server: '/var/shop.db', source: 'channel' },
    { text: 'SELECT ?', server: undefined },
  ])
  const [{ end = 0, start } = { start: 0 }] = queries
  t.ok(end - start >= 1.99, `${start} to ${end}`)
})

function createDatabase() {
  const nothing = () => []
  return { exec: nothing, prepare: () => ({ run: nothing, get: nothing, all: nothing, iterate: nothing }) }
}

t.test('after the profiler has closed, nothing listens to the channels', async t => {
  const names = ['mysql2:query', 'mysql2:execute', 'mysql2:pool:connect', 'ioredis:command', 'node-redis:command']
  const areWatched = () => names.map(name => tracingChannel(name).start.hasSubscribers)
  await t.test('a kernel', async t => {
    await createProfiledKernel(t)
    t.strictSame(areWatched(), [true, true, true, true, true])
  })
  t.strictSame(areWatched(), [false, false, false, false, false])
})
