import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Request } from 'sinfonietta'
import { createOpenTelemetryBundle } from 'sinfonietta/opentelemetry'
import { type Test, t } from 'tap'
import { loadInstrumentations } from '#bin/application/instrumentation.ts'
import { instrumentations } from '#bundles/opentelemetry/instrumentations.ts'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import { Response } from '#lib/http/response.ts'
import type { QueryData } from '#tests/support/create-profile.ts'
import { createProfiledKernel, waitForProfile } from '#tests/support/profiled-kernel.ts'
import { lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'

/** Not in one piece: a profile contains the lines of this file around an error. */
const canary = ['canary', '8k2p'].join('-')

const pgInstrumentation = `
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg'
export const instrumentations = [new PgInstrumentation({ enhancedDatabaseReporting: true })]
`

const sources = readFileSync('tests/bin/instrumentation.test.ts', 'utf8').split('\n')

/**
 * The ways in which a controller makes queries. Each statement names the request in an identifier, which is not masked.
 */
const ways: Readonly<Record<string, (pool: Pool, name: string) => Promise<unknown>>> = {
  query: (pool, name) => pool.query(`SELECT 1 AS ${name}_a`),

  async twice(pool, name) {
    await pool.query(`SELECT $1::text AS ${name}_a`, ['x'])
    await pool.query({ text: `SELECT 1 AS ${name}_b` })
  },

  async together(pool, name) {
    await Promise.all(['a', 'b', 'c'].map(part => pool.query(`SELECT 1 AS ${name}_${part}`)))
  },

  callback: (pool, name) =>
    new Promise((resolve, reject) => {
      pool.query(`SELECT pg_sleep(0.001) AS ${name}_a`, error => (error ? reject(error) : resolve(undefined)))
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
}

const parts: Readonly<Record<string, readonly string[]>> = {
  query: ['a'],
  twice: ['a', 'b'],
  together: ['a', 'b', 'c'],
  callback: ['a'],
  client: ['a', 'b'],
  transaction: ['a'],
}

t.test('queries of pg are recorded by the spans of its instrumentation', { skip: lacksPostgres }, async t => {
  const server = await startPostgres(t)
  const directory = createApplication(t, pgInstrumentation)
  await loadInstrumentations(directory, false)
  await loadInstrumentations(directory, false)
  t.strictSame(
    instrumentations.map(({ instrumentationName }) => instrumentationName),
    ['@opentelemetry/instrumentation-pg'],
  )
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ ...server, max: 2 })
  t.teardown(() => pool.end())

  const { client, profileOf, storage } = await createProfiledKernel(t, {
    directory: process.cwd(),
    bundles: [createOpenTelemetryBundle()],
    handlers: {
      async '/pg/query'(request: Request) {
        const { name, way } = Object.fromEntries(request.query)
        await ways[String(way)]?.(pool, String(name))
        return new Response('')
      },
      async '/pg/starved'() {
        await Promise.all([1, 2, 3, 4, 5].map(() => pool.query('SELECT pg_sleep(0.08)')))
        return new Response('')
      },
      async '/pg/new'() {
        const cold = new pg.Pool({ ...server, max: 2 })
        await Promise.all([1, 2].map(() => cold.query('SELECT pg_sleep(0.08)')))
        await cold.end()
        return new Response('')
      },
      async '/pg/open'() {
        const client = await pool.connect()
        await client.query('BEGIN')
        await client.query('SELECT 1 AS open_a')
        client.release(true)
        return new Response('')
      },
      '/pg/late'() {
        void delay(20).then(() => pool.query('SELECT 1 AS late_a'))
        return new Response('')
      },
      '/pg/unfinished'() {
        void pool.query('SELECT pg_sleep(0.1) AS unfinished_a')
        return new Response('')
      },
      async '/pg/error'() {
        await pool.query('SELECT * FROM nowhere WHERE password = $1', [canary])
      },
    },
  })
  const queriesOf = async (response: Parameters<typeof profileOf>[0]) =>
    (await profileOf(response)).collectors.queries?.queries ?? []

  await t.test('300 overlapping requests with a pool of two: each has its queries, and their places', async t => {
    const names = Object.keys(ways)
    const answers = await Promise.all(
      Array.from({ length: 300 }, async (_, index) => {
        const way = String(names[index % names.length])
        const name = `r${index}`
        return { name, way, response: await client.get(`/pg/query?way=${way}&name=${name}`) }
      }),
    )
    const wrong: unknown[] = []
    const places = new Map<string, Set<string>>()
    for (const { name, response, way } of answers) {
      const queries = await queriesOf(response)
      const found = queries.flatMap(({ text }) => /r\d+_\w/.exec(text) ?? []).sort()
      const expected = parts[way]?.map(part => `${name}_${part}`)
      if (JSON.stringify(found) !== JSON.stringify(expected)) wrong.push({ name, way, found })
      const own = places.get(way) ?? new Set()
      for (const { caller } of queries) own.add(`${caller?.file}:${caller?.line}`)
      places.set(way, own)
    }
    t.strictSame(wrong, [])
    t.strictSame(
      Object.fromEntries([...places].map(([way, own]) => [way, own.size])),
      { query: 1, twice: 2, together: 1, callback: 1, client: 2, transaction: 3 },
      JSON.stringify([...places].map(([way, own]) => [way, ...own])),
    )
    const files = [...places.values()].flatMap(own => [...own].map(place => place.replace(/:\d+$/, '')))
    t.strictSame([...new Set(files)], ['tests/bin/instrumentation.test.ts'])
  })

  await t.test('a query has its server, rows and source', async t => {
    const [first, second, ...more] = await queriesOf(await client.get('/pg/query?way=twice&name=one'))
    const expected: Partial<QueryData> = {
      system: 'postgresql',
      namespace: 'postgres',
      server: `127.0.0.1:${server.port}`,
      rows: 1,
      source: 'span',
    }
    t.hasStrict([first, second], [expected, expected])
    t.equal(first?.parameters?.length, 1)
    t.ok((first?.end ?? 0) > (first?.start ?? 0))
    t.strictSame(more, [])
  })

  await t.test('a pool that starves, and a transaction that is left open, are findings', async t => {
    const find = async (path: string) =>
      findFindings(await profileOf(await client.get(path))).map(({ code, rule }) =>
        `${rule} ${code === undefined ? '' : (sources[code.line - 1] ?? code.file)}`.trim(),
      )
    t.match(await find('/pg/starved'), [/^starved-pool .*Promise\.all\(\[1, 2, 3, 4, 5\]/])
    const ofNew = (await find('/pg/new')).filter(found => found.startsWith('starved-pool'))
    t.strictSame(ofNew, [], 'opening a connection is not waiting')
    t.match(await find('/pg/open'), [/^open-transaction .*'BEGIN'/])
  })

  await t.test('a query after the response, and one that ends after it, belong to their request', async t => {
    const late = await client.get('/pg/late')
    const unfinished = await client.get('/pg/unfinished')
    for (const response of [late, unfinished]) {
      const token = response.headers.get('x-debug-token')
      const profile = await waitForProfile(
        storage,
        token,
        ({ collectors }) => collectors.queries?.queries[0]?.end !== undefined,
      )
      t.equal(profile.collectors.queries?.queries.length, 1)
    }
  })

  await t.test('a failed query has its message and its SQLSTATE', async t => {
    const response = await client.get('/pg/error')
    t.equal(response.status, 500)
    const [query] = await queriesOf(response)
    t.match(query, { error: 'relation "nowhere" does not exist', code: '42P01', rows: undefined })
    t.match(query?.text, 'FROM nowhere')
    t.notMatch(JSON.stringify((await profileOf(response)).data), canary)
  })
})

/** An application whose file of instrumentations has this text. */
function createApplication(t: Test, text: string): string {
  // Below the project, whose packages are installed. Each file is imported once, so each needs a path of its own.
  const directory = mkdtempSync(path.join(t.testdir(), 'application-'))
  mkdirSync(path.join(directory, 'dist'))
  writeFileSync(path.join(directory, 'package.json'), '{"type":"module"}')
  writeFileSync(path.join(directory, 'dist/instrumentation.js'), text)
  return directory
}

t.test('an application without the file has no instrumentations', async t => {
  await t.resolves(loadInstrumentations(t.testdir(), false))
})

t.test('a file without a list of instrumentations is refused', async t => {
  for (const text of ['', 'export const instrumentations = {}', 'export const instrumentations = [{}, null]']) {
    const directory = createApplication(t, text)
    await t.rejects(loadInstrumentations(directory, false), {
      code: 'APPLICATION_INSTRUMENTATION_INVALID',
      message: /instrumentation\.js must export a list "instrumentations"/,
    })
  }
})

t.test('the error of a missing package has the command that installs it', async t => {
  const missing = createApplication(t, "import '@opentelemetry/instrumentation-nothing'")
  await t.rejects(loadInstrumentations(missing, false), {
    code: 'APPLICATION_INSTRUMENTATION_MISSING',
    message: /instrumentation\.js needs the package "@opentelemetry\/instrumentation-nothing".+: npm install @open/,
  })
  const broken = createApplication(t, 'throw new TypeError("of the application")')
  await t.rejects(loadInstrumentations(broken, false), new TypeError('of the application'))

  const stub = '({ getModuleDefinitions: () => [], setTracerProvider() {} })'
  const folder = mkdtempSync(path.join(tmpdir(), 'application-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  mkdirSync(path.join(folder, 'dist'))
  writeFileSync(path.join(folder, 'dist/instrumentation.js'), `exports.instrumentations = [${stub}]`)
  await t.rejects(loadInstrumentations(folder, false), {
    code: 'APPLICATION_INSTRUMENTATION_MISSING',
    message: /npm install @opentelemetry\/instrumentation$/,
  })
})

t.test('a library that was imported before its instrumentation is reported', async t => {
  await import('ioredis')
  const stub = "({ getModuleDefinitions: () => [{ name: 'ioredis' }, { name: 'redis' }], setTracerProvider() {} })"
  const warned = once(process, 'warning')
  const directory = createApplication(t, `export const instrumentations = [${stub}]`)
  await loadInstrumentations(directory, false)
  const { length } = instrumentations
  await loadInstrumentations(directory, false)
  t.equal(instrumentations.length, length, 'each is registered once')
  const [{ message }] = await warned
  t.match(message, /^The package "ioredis" was imported before its instrumentation/)
})

t.test('the program before each test loads the instrumentations of the working directory', async t => {
  await t.resolves(import('#bin/testing/instrument-tests.ts'), 'this project has none')
  const stub = '({ getModuleDefinitions: () => [], setTracerProvider() {} })'
  const text = `export const instrumentations = [${stub}]\nglobalThis.isInstrumented = true`
  const directory = createApplication(t, text)
  writeFileSync(path.join(directory, 'instrumentation.ts'), text)
  const program = new URL('../../bin/testing/instrument-tests.js', import.meta.url).href
  const parameters = ['--import', program, '-p', 'globalThis.isInstrumented']
  t.equal(String(execFileSync(process.execPath, parameters, { cwd: directory })), 'true\n')
})
