import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import { type Test, t } from 'tap'
import { startApplication } from '#tests/bin/site-process.ts'
import { textOf } from '#tests/support/html.ts'
import { rulesOfMachine } from '#tests/support/machine-rules.ts'
import { makeApplication } from '#tests/support/new-application.ts'
import { createProject } from '#tests/support/project.ts'
import { type DatabaseServer, lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'

/** The controller asks for the books of one author after the other: 1 + 50 queries. */
const slow = `    const { rows: authors } = await database.query('SELECT id, name FROM authors ORDER BY name')
    for (const author of authors) {
      const { rows } = await database.query('SELECT title FROM books WHERE author_id = $1 ORDER BY id', [author.id])
      author.books = rows
    }
    return authors`

const fixed = `    const { rows } = await database.query(
      "SELECT a.name, json_agg(b ORDER BY b.id) AS books FROM authors a JOIN books b ON b.author_id = a.id GROUP BY a.name ORDER BY a.name",
    )
    return rows`

const bundleFile = 'bundles/shop/shop-bundle.ts'
const files = {
  'instrumentation.ts': `import { PgInstrumentation } from '@opentelemetry/instrumentation-pg'

export const instrumentations = [new PgInstrumentation({ enhancedDatabaseReporting: true })]
`,
  [bundleFile]: `import { Redis } from 'ioredis'
import pg from 'pg'
import { type Bundle, defineController, Response } from 'sinfonietta'

export function createShopBundle(): Bundle {
  const database = new pg.Pool({ connectionString: String(process.env.SHOP_DATABASE), max: 2 })
  const cache = new Redis(String(process.env.SHOP_CACHE))

  async function listAuthors() {
${slow}
  }

  return {
    name: 'shop',
    register({ routes, view }) {
      routes.add({
        name: 'authors',
        path: '/authors',
        controller: defineController('authors', async request => {
          const visits = await cache.incr('visits:authors')
          return Response.html(view.render('shop/authors', { authors: await listAuthors(), visits }, request))
        }),
      })
    },
    async close() {
      await database.end()
      cache.disconnect()
    },
  }
}
`,
  'templates/shop/authors.hbs':
    '<html><body>{{#each authors}}<p>{{name}}: {{#each books}}{{title}} {{/each}}</p>{{/each}}</body></html>',
}

t.test(
  'an application with PostgreSQL and Redis: 1 + 50 queries are found, and fixed',
  { skip: lacksPostgres || lacksRedis },
  async t => {
    const [database, cache] = await Promise.all([startPostgres(t), startRedis(t)])
    await fill(database)
    const directory = makeShop(t)
    const { host, password, port, user } = database
    const site = startApplication(t, directory, ['--port=0'], {
      SHOP_DATABASE: `postgres://${user}:${password}@${host}:${port}/postgres`,
      SHOP_CACHE: `redis://${cache.host}:${cache.port}`,
    })
    let origin = await site.url()

    const before = await visit(origin)
    t.match(before.body, /<p>Author 1: Book 1 Book 51 /)
    t.match(before.timing, /db;desc="51 queries";dur=\d/)
    const profile = await readProfile(`${origin}/_profiler/${before.token}.json`)
    t.match(profile.summary, { queries: 51, cacheCalls: 1 })
    const findings = profile.findings.filter(({ rule }) => !rulesOfMachine.includes(rule))
    t.strictSame(
      findings.map(({ rule }) => rule),
      ['repeated-queries'],
    )
    const line = findLine(path.join(directory, bundleFile), 'WHERE author_id')
    const [{ problem = '', code } = {}] = findings
    t.match(problem, /50/)
    t.match(code, { file: bundleFile, line })
    const markdown = await (await fetch(`${origin}/_profiler/${before.token}.md`)).text()
    // Which part of a first request is the longest depends on the machine.
    t.match(markdown, /^`GET \/authors` took \d.*; finding: .*\.$/m, 'the sentence of the overview')
    t.match(markdown, 'N+1: `SELECT title FROM books WHERE author_id = $1 ORDER BY id` ran 50 times')
    t.notMatch(JSON.stringify(profile), password)

    // The supervisor restarts the application with the changed file.
    const file = path.join(directory, bundleFile)
    writeFileSync(file, readFileSync(file, 'utf8').replace(slow, fixed))
    origin = await site.url()
    const after = await visit(origin)
    t.equal(after.body, before.body)
    const fixedProfile = await readProfile(`${origin}/_profiler/${after.token}.json`)
    t.match(fixedProfile.summary, { queries: 1, cacheCalls: 1 })
    t.strictSame(
      fixedProfile.findings.filter(({ rule }) => !rulesOfMachine.includes(rule)),
      [],
    )
    t.match(fixedProfile.process, { server: { edits: [{ files: [bundleFile] }] } })
    const comparison = await (await fetch(`${origin}/_profiler/compare?a=${before.token}&b=${after.token}`)).text()
    t.match(textOf(comparison), 'queries (51 → 1)')
  },
)

/** Creates the application. */
function makeShop(t: Test): string {
  const directory = createProject(makeApplication(t), files)
  const link = (name: string) => {
    const place = path.join(directory, 'node_modules', name)
    mkdirSync(path.dirname(place), { recursive: true })
    symlinkSync(path.resolve('node_modules', name), place)
  }
  for (const name of ['@opentelemetry', '@types/pg', 'ioredis', 'pg']) link(name)
  const index = path.join(directory, 'bundles/index.ts')
  const list = readFileSync(index, 'utf8')
    .replace('homeBundle]', 'homeBundle, createShopBundle()]')
    .replace(/^import { homeBundle/m, "import { createShopBundle } from './shop/shop-bundle.ts'\nimport { homeBundle")
  writeFileSync(index, list)
  return directory
}

async function fill(server: DatabaseServer): Promise<void> {
  const client = new pg.Client(server)
  await client.connect()
  await client.query(`CREATE TABLE authors (id int, name text);
    CREATE TABLE books (id int, author_id int, title text);
    INSERT INTO authors SELECT i, 'Author ' || i FROM generate_series(1, 50) i;
    INSERT INTO books SELECT i, 1 + (i - 1) % 50, 'Book ' || i FROM generate_series(1, 200) i`)
  await client.end()
}

async function visit(origin: string): Promise<{ body: string; token: string; timing: string }> {
  const response = await fetch(`${origin}/authors`, { headers: { accept: 'text/html' } })
  const token = String(response.headers.get('x-debug-token'))
  // Without the toolbar, which has the token.
  const [body = ''] = /<p>.*<\/p>/.exec(await response.text()) ?? []
  return { body, token, timing: String(response.headers.get('server-timing')) }
}

/** The part of a profile that is checked. */
interface ReadProfile {
  readonly summary: object
  readonly findings: readonly { readonly rule: string; readonly problem: string; readonly code?: object }[]
  readonly process: object
}

async function readProfile(url: string): Promise<ReadProfile> {
  return (await fetch(url)).json() as Promise<ReadProfile>
}

function findLine(file: string, text: string): number {
  return (
    readFileSync(file, 'utf8')
      .split('\n')
      .findIndex(line => line.includes(text)) + 1
  )
}
