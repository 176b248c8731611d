import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Client, Pool, QueryResult } from 'pg'
import type { Sql } from 'postgres'
import type { Request } from 'sinfonietta'
import { type Test, t } from 'tap'
import { createSources } from '#bin/application/sources.ts'
import { openLibraries } from '#bundles/libraries/libraries.ts'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import { Response } from '#lib/http/response.ts'
import type { QueryData } from '#tests/support/create-profile.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { type DatabaseServer, lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'

const sources = readFileSync('tests/bin/library-channels.test.ts', 'utf8').split('\n')

/**
 * A way of making queries. Each statement names its request in an identifier, and the line of its
 * call ends with that name.
 */
type Way<library> = (library: library, name: string) => Promise<unknown>

const require = createRequire(import.meta.url)

/** A query builder of code that has no file: `await` runs its query, without code of the application on the stack. */
const build = new Function(
  'pool',
  'text',
  'return { then: (resolve, reject) => pool.query(text).then(resolve, reject) }',
) as (pool: Pool, text: string) => PromiseLike<unknown>

/** The ways of pg. */
const pgWays: Readonly<Record<string, Way<Pool>>> = {
  query: (pool, name) => pool.query(`SELECT 1 AS ${name}_a`),

  async twice(pool, name) {
    await pool.query(`SELECT $1::text AS ${name}_a`, ['x'])
    await pool.query({ text: `SELECT 1 AS ${name}_b` })
  },

  together: (pool, name) =>
    Promise.all([
      pool.query(`SELECT 1 AS ${name}_a`),
      pool.query(`SELECT 1 AS ${name}_b`),
      pool.query(`SELECT 1 AS ${name}_c`),
    ]),

  async builder(pool, name) {
    await build(pool, `SELECT 1 AS ${name}_a`)
    await Promise.all([build(pool, `SELECT 1 AS ${name}_b`)])
  },

  prepared: (pool, name) => pool.query({ name: `p_${name}`, text: `SELECT $1::int AS ${name}_a`, values: [1] }),

  callback: (pool, name) =>
    new Promise((resolve, reject) => {
      pool.query(`SELECT pg_sleep(0.001) AS ${name}_a`, error => {
        if (error) return reject(error)
        pool.query(`SELECT $1::int AS ${name}_b`, [1], error => (error ? reject(error) : resolve(undefined)))
      })
    }),

  async client(pool, name) {
    const client = await pool.connect()
    try {
      await client.query(`SELECT 1 AS ${name}_a`)
      await client.query(`SELECT 1 AS ${name}_b`)
    } finally {
      client.release()
    }
  },

  released: (pool, name) =>
    new Promise((resolve, reject) => {
      pool.connect((error, client, release) => {
        if (error || client === undefined) return reject(error)
        client.query(`SELECT 1 AS ${name}_a`, error => {
          release()
          error ? reject(error) : resolve(undefined)
        })
      })
    }),

  async transaction(pool, name) {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      await client.query(`SELECT 1 AS ${name}_a`)
      await client.query('COMMIT')
    } finally {
      client.release()
    }
  },

  async cursor(pool, name) {
    const { default: Cursor } = await import('pg-cursor')
    const client = await pool.connect()
    try {
      const cursor = client.query(new Cursor(`SELECT generate_series(1, 5) AS ${name}_a`))
      await cursor.read(2)
      const { next } = await new Promise<{ next: Promise<unknown> }>((resolve, reject) => {
        cursor.read(2, error => (error ? reject(error) : resolve({ next: client.query(`SELECT 1 AS ${name}_b`) })))
      })
      await cursor.close()
      await next
    } finally {
      client.release()
    }
  },
}

const postgresWays: Readonly<Record<string, Way<Sql>>> = {
  tagged: (sql, name) => sql`SELECT ${1}::int AS ${sql(`${name}_a`)}`,

  async twice(sql, name) {
    await sql.unsafe(`SELECT 1 AS ${name}_a`)
    await sql.unsafe(`SELECT $1::text AS ${name}_b`, ['x'])
  },

  together: (sql, name) =>
    Promise.all([
      sql.unsafe(`SELECT pg_sleep(0.001) AS ${name}_a`),
      sql.unsafe(`SELECT 1 AS ${name}_b`),
      sql`SELECT 1 AS ${sql(`${name}_c`)}`,
    ]),

  async later(sql, name) {
    const query = sql.unsafe(`SELECT 1 AS ${name}_a`)
    await sql.unsafe(`SELECT 1 AS ${name}_b`)
    await query
  },

  transaction: (sql, name) =>
    sql.begin(async sql => {
      await sql.unsafe(`SELECT 1 AS ${name}_a`)
      await sql.unsafe(`SELECT 1 AS ${name}_b`)
    }),

  async reserved(sql, name) {
    const own = await sql.reserve()
    try {
      await own.unsafe(`SELECT 1 AS ${name}_a`)
    } finally {
      own.release()
    }
  },

  async cursor(sql, name) {
    const rows = sql`SELECT generate_series(1, 5) AS ${sql(`${name}_a`)}`.cursor(2)
    for await (const some of rows) if (some.length > 2) throw new Error('too many')
    await sql.unsafe(`SELECT 1 AS ${name}_b`)
  },

  each: (sql, name) => sql`SELECT generate_series(1, 3) AS ${sql(`${name}_a`)}`.forEach(() => {}),
}

/** The names of the statements of a way, as its source has them. */
function listParts(way: Way<never>): string[] {
  return [...new Set([...way.toString().matchAll(/\$\{name\}_([abc])/g)].map(([, part]) => String(part)))].sort()
}

/** What one request did that another one has in its profile, or that has another place. */
async function findWrong<library>(
  ways: Readonly<Record<string, Way<library>>>,
  get: (way: string, name: string) => Promise<readonly Recorded[]>,
): Promise<unknown[]> {
  const names = Object.keys(ways)
  const answers = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const way = String(names[index % names.length])
      return { way, name: `r${index}x`, read: await get(way, `r${index}x`) }
    }),
  )
  return answers.flatMap(({ name, read, way }) => {
    const parts = read.flatMap(({ text }) => /r\d+x_\w/.exec(text) ?? []).sort()
    const expected = listParts(ways[way] as Way<never>).map(part => `${name}_${part}`)
    const strange = read.filter(({ caller, text }) => {
      const line = sources[(caller?.line ?? 0) - 1] ?? ''
      const [part] = /_[abc]\b/.exec(text) ?? []
      return caller?.file !== 'tests/bin/library-channels.test.ts' || (part !== undefined && !line.includes(part))
    })
    const isRight = JSON.stringify(parts) === JSON.stringify(expected)
    return isRight && strange.length === 0 ? [] : [{ way, name, parts, strange }]
  })
}

type Recorded = Pick<QueryData, 'text' | 'caller'>

t.test('with PostgreSQL', { skip: lacksPostgres }, async t => {
  const server = await startPostgres(t)
  await openLibraries(process.cwd())
  await openLibraries(process.cwd())
  const { default: pg, Pool: NamedPool } = await import('pg')
  const { default: postgres } = await import('postgres')
  t.equal(NamedPool, pg.Pool)
  t.equal(require('pg'), pg, 'the exports are the same object')
  const pool = new NamedPool({ ...server, max: 2 })
  const { user: username, ...place } = server
  const sql = postgres({ ...place, username, max: 2 })
  const commonJs: Sql = require('postgres')({ ...place, username, max: 2 })
  t.teardown(() => Promise.all([pool.end(), sql.end(), commonJs.end()]))
  const ways = { pg: pgWays, postgres: postgresWays, 'postgres-cjs': postgresWays }
  const libraries = { pg: pool, postgres: sql, 'postgres-cjs': commonJs }

  const { client, profileOf } = await createProfiledKernel(t, {
    directory: process.cwd(),
    handlers: {
      async '/do'(request: Request) {
        const { library, name, way } = Object.fromEntries(request.query) as Record<string, keyof typeof ways>
        const run = ways[library as keyof typeof ways][way as string] as Way<unknown>
        await run(libraries[library as keyof typeof ways], String(name))
        return new Response('')
      },
      async '/forms'() {
        const { default: Cursor } = await import('pg-cursor')
        const single = await pool.connect()
        const failed = await single
          .query(new Cursor('SELECT * FROM nowhere'))
          .read(1)
          .catch(error => error.message)
        const config = { text: 'SELECT 1 AS b', callback: undefined as unknown }
        const rows = await new Promise((resolve, reject) => {
          config.callback = (error: Error, result: QueryResult) => (error ? reject(error) : resolve(result.rows))
          void single.query(config as never)
        })
        const own = config.callback
        await new Promise(resolve => single.query(new pg.Query('SELECT 2 AS c')).on('end', resolve))
        single.release()
        return Response.json([failed, rows, config.callback === own])
      },
      async '/starved'() {
        await Promise.all([1, 2, 3, 4, 5].map(() => pool.query('SELECT pg_sleep(0.08)')))
        return new Response('')
      },
      async '/failing'() {
        const errors = await Promise.all([
          pool.query('SELECT * FROM nowhere').catch(error => error.message),
          sql`SELECT * FROM nowhere`.catch(error => error.message),
          postgres({ ...place, port: 1, username })`SELECT 1`.catch(error => error.code),
        ])
        return Response.json(errors)
      },
      async '/changed'() {
        const { rows } = await pool.query('SELECT 1 AS a')
        const { count } = await sql`SELECT generate_series(1, 3)`
        return Response.json([rows, count])
      },
    },
  })
  const queriesOf = async (response: Parameters<typeof profileOf>[0]) =>
    (await profileOf(response)).collectors.queries?.queries ?? []

  for (const library of Object.keys(ways) as (keyof typeof ways)[]) {
    await t.test(
      `${library}: 200 requests at once over a pool of two, each with its queries and their lines`,
      async t => {
        const get = async (way: string, name: string) => {
          const response = await client.get(`/do?library=${library}&way=${way}&name=${name}`)
          if (response.status !== 200) throw new Error(`${way}: ${response.status}`)
          return queriesOf(response)
        }
        t.strictSame(await findWrong<never>(ways[library], get), [])
      },
    )
  }

  await t.test('a query has its place, values and rows', async t => {
    const [first, second, ...more] = await queriesOf(await client.get('/do?library=pg&way=twice&name=one'))
    const expected = {
      system: 'postgresql',
      namespace: 'postgres',
      server: `127.0.0.1:${server.port}`,
      rows: 1,
      source: 'channel',
    }
    t.hasStrict([first, second], [expected, expected])
    t.equal(first?.parameters?.length, 1)
    t.strictSame(more, [])
    const [one, two] = await queriesOf(await client.get('/do?library=postgres&way=twice&name=one'))
    t.hasStrict([one, two], [expected, expected])
    t.equal(two?.parameters?.length, 1)
  })

  await t.test('failed queries have their errors, also one that was never sent', async t => {
    const response = await client.get('/failing')
    t.strictSame(await response.json(), [
      'relation "nowhere" does not exist',
      'relation "nowhere" does not exist',
      'ECONNREFUSED',
    ])
    const queries = await queriesOf(response)
    t.strictSame(queries.map(({ code }) => code).sort(), ['42P01', '42P01', 'ECONNREFUSED'])
  })

  await t.test('cursors that fail, callbacks in objects, and objects of queries', async t => {
    const response = await client.get('/forms')
    t.strictSame(await response.json(), ['relation "nowhere" does not exist', [{ b: 1 }], true])
    const queries = await queriesOf(response)
    t.has(
      queries.map(({ code, end, rows, text }) => ({ code, isEnded: end !== undefined, rows, text })),
      [
        { code: '42P01', isEnded: true, text: 'SELECT * FROM nowhere' },
        { isEnded: true, rows: 1, text: 'SELECT ? AS b' },
        { isEnded: true, rows: 1, text: 'SELECT ? AS c' },
      ],
    )
  })

  await t.test('a pool that starves is a finding', async t => {
    const profile = await profileOf(await client.get('/starved'))
    const [found] = findFindings(profile).filter(({ rule }) => rule === 'starved-pool')
    t.match(sources[(found?.code?.line ?? 0) - 1], /Promise\.all\(\[1, 2, 3, 4, 5\]/)
  })

  await t.test('a change that the application makes to the class goes on', async t => {
    const { prototype } = pg.Client as unknown as { prototype: { query: (...args: unknown[]) => Promise<QueryResult> } }
    const { query } = prototype
    prototype.query = function (this: Client, text: string, ...more) {
      return query.call(this, text.replace('1', '2'), ...more)
    } as typeof query
    const response = await client.get('/changed')
    prototype.query = query
    t.strictSame(await response.json(), [[{ a: 2 }], 3])
    t.match((await queriesOf(response)).map(({ text }) => text).sort(), [/AS a/, /generate_series/])
  })

  await t.test('without a listener, and for a misuse, the library behaves as before', async t => {
    const client = new pg.Client({ ...server })
    await client.connect()
    t.throws(() => client.query(undefined as never), /null or undefined query/)
    t.strictSame((await client.query({ text: 'SELECT 1 AS a' })).rows, [{ a: 1 }])
    await client.end()
  })

  t.test('programs of CommonJS and of ES modules publish', async t => {
    const program = (imports: string) => runProgram(t, server, imports)
    const expected = ['SELECT 1 AS a', 'SELECT 2']
    t.strictSame(program("const { Client } = require('pg'), postgres = require('postgres')"), expected, 'require')
    t.strictSame(program("import { Client } from 'pg'; import postgres from 'postgres'"), expected, 'named import')
    t.strictSame(program("import pg from 'pg'; import postgres from 'postgres'; const { Client } = pg"), expected)
  })
})

/** Runs a program in a process of its own. Returns the statements that its libraries have published. */
function runProgram(t: Test, { database, host, port, user }: DatabaseServer, imports: string): string[] {
  const folder = mkdtempSync(path.join(t.testdir(), 'program-'))
  const isModule = imports.startsWith('import')
  const file = path.join(folder, `program.${isModule ? 'mjs' : 'cjs'}`)
  writeFileSync(
    file,
    `${imports}
    run()
    async function run() {
      const options = ${JSON.stringify({ database, host, port })}
      const client = new Client({ ...options, user: '${user}' })
      await client.connect()
      await client.query('SELECT 1 AS a')
      await client.end()
      const sql = postgres({ ...options, username: '${user}' })
      await sql\`SELECT 2\`
      await sql.end()
    }`,
  )
  const preload = path.join(folder, 'preload.mjs')
  writeFileSync(
    preload,
    `import { subscribe } from 'node:diagnostics_channel'
    import { openLibraries } from '${new URL('../../bundles/libraries/libraries.js', import.meta.url)}'
    await openLibraries(process.cwd())
    subscribe('tracing:sinfonietta:pg:query:start', ({ query }) => console.log(query))
    subscribe('tracing:sinfonietta:postgres:query:start', ({ query }) => query.string === 'SELECT 2' && console.log(query.string))`,
  )
  const printed = String(execFileSync(process.execPath, ['--import', `file://${preload}`, file]))
  return printed.trim().split('\n')
}

t.test('only development with one of the libraries loads what changes them', async t => {
  const folder = mkdtempSync(path.join(tmpdir(), 'application-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  // What this version of Node runs: the source, or the compiled file without one.
  const bundles = createSources(folder).toProgram(path.join(folder, 'bundles/index.ts'))
  mkdirSync(path.dirname(bundles), { recursive: true })
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(bundles, "export const createBundles = () => Promise.resolve([{ name: 'empty', register() {} }])")
  const [programs, channels] = ['bin/programs.js', 'bundles/libraries/libraries.js'].map(file =>
    JSON.stringify(new URL(`../../${file}`, import.meta.url)),
  )
  const program = `
    const [folder, environment, excluded] = process.argv.slice(1)
    if (excluded) await (await import(${channels})).openLibraries(folder, library => library === excluded)
    else await (await (await import(${programs})).bootApplication(folder, { environment })).close()
    const { default: { prototype } } = await import('node:module')
    process.stderr.write(String(process.getBuiltinModule('util').types.isProxy(prototype.load)))`
  const isLoaded = (...args: string[]) => {
    const env = { ...process.env, APP_ENV: undefined, APP_SECRET: 'a'.repeat(32) }
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program, folder, ...args], { env })
    return String(stderr)
  }
  t.equal(isLoaded('dev'), 'false', 'no library')
  mkdirSync(path.join(folder, 'node_modules/pg'), { recursive: true })
  mkdirSync(path.join(folder, 'node_modules/postgres'))
  for (const name of ['pg', 'postgres']) writeFileSync(path.join(folder, `node_modules/${name}/package.json`), '{}')
  t.equal(isLoaded('dev'), 'true')
  t.equal(isLoaded('prod'), 'false')
  t.equal(isLoaded('dev', 'pg'), 'false', 'excluded')
})

/** A package with the class of better-sqlite3, which is made as in version 13. */
const fakeSqlite = {
  'package.json': '{"main":"lib/index.js"}',
  'lib/index.js': "module.exports = require('./database')()",
  'lib/database.js': `
    class Statement { all() { return [{ 1: 1 }] } }
    class Database {}
    Object.assign(Database.prototype, { exec() {}, prepare: () => new Statement() })
    module.exports = () => Database`,
}

t.test('the tests of an application see the queries of its libraries', async t => {
  const folder = mkdtempSync(path.join(tmpdir(), 'queries-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  mkdirSync(path.join(folder, 'node_modules'))
  symlinkSync(process.cwd(), path.join(folder, 'node_modules/sinfonietta'))
  for (const [file, text] of Object.entries(fakeSqlite)) {
    const target = path.join(folder, 'node_modules/better-sqlite3', file)
    mkdirSync(path.dirname(target), { recursive: true })
    writeFileSync(target, text)
  }
  mkdirSync(path.join(folder, 'templates'))
  const libraries = [
    "import Database from 'better-sqlite3'",
    // The requests of a test have no server.
    ...(isBuiltin('node:sqlite') ? ["import { DatabaseSync as Database } from 'node:sqlite'"] : []),
  ]
  const programOf = (imported: string) => `
    ${imported}
    import { createFrameworkBundle, Response } from 'sinfonietta'
    import { createProfiledTestKernel } from 'sinfonietta/profiler/testing'
    const database = new Database(':memory:')
    const show = () => Response.json(database.prepare('SELECT 1').all())
    const shop = { name: 'shop', register: ({ routes }) => void routes.get('home', '/', show) }
    const kernel = await createProfiledTestKernel({ bundles: [createFrameworkBundle(), shop] })
    ;(await kernel.expectProfile(await kernel.client.get('/'))).ran(1)
    await kernel.close()`
  const preload = `--import=${pathToFileURL(path.resolve('dist/bin/testing/open-libraries.js'))}`
  for (const imported of libraries) {
    writeFileSync(path.join(folder, 'shop.mjs'), programOf(imported))
    const options = [preload, '--disable-warning=ExperimentalWarning', 'shop.mjs']
    t.equal(spawnSync(process.execPath, options, { cwd: folder, encoding: 'utf8' }).stderr, '', imported)
  }
})
