import { once } from 'node:events'
import path from 'node:path'
import { t } from 'tap'
import { lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'
import { startProcess } from '#tests/support/start-process.ts'
import { until } from '#tests/support/until.ts'

const preload = path.join(import.meta.dirname, '../../bin/exports/profile.js')
const { NODE_ENV: _, PROFILER_VIEWER: __, ...environment } = process.env

/** Each request makes three queries over a pool of two connections; each statement has the number of its request. */
const application = `
import { createServer } from 'node:http'
import pg from 'pg'
const pool = new pg.Pool({ ...JSON.parse(process.env.DATABASE), max: 2 })
const server = createServer(async (message, reply) => {
  const name = message.url.slice(1)
  await pool.query('SELECT 1 AS ' + name)
  await Promise.all([pool.query('SELECT 2 AS ' + name), pool.query('SELECT $1::text AS ' + name, ['x'])])
  reply.end(name)
})
server.listen(0, '127.0.0.1', () => process.stdout.write(server.address().port + '\\n'))
process.stdin.on('end', () => process.exit()).resume()
`

interface Found {
  readonly summary: Readonly<Record<string, unknown>> & { readonly token: string; readonly url: string }
  readonly data: Readonly<Record<string, unknown>>
}

t.test('requests to any server have their own queries, also behind a pool', { skip: lacksPostgres }, async t => {
  const database = await startPostgres(t)
  const child = startProcess(t, [process.execPath, '--import', preload, 'app.mjs'], {
    cwd: t.testdir({ 'app.mjs': application, node_modules: {} }),
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...environment, PROFILER_PORT: '0', DATABASE: JSON.stringify(database) },
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', text => {
      output[name] += text
    })
  }
  await until(() => output.stdout.includes('\n'))
  const [, viewer = ''] = /^Profiler: (http:\S+)\/_profiler\/\n/.exec(output.stderr) ?? []
  const names = Array.from({ length: 60 }, (_, index) => `r${index}x`)
  const answers = names.map(async name => (await fetch(`http://127.0.0.1:${Number(output.stdout)}/${name}`)).text())
  t.strictSame(await Promise.all(answers), names)
  const read = async (link: string) => (await (await fetch(`${viewer}/_profiler/${link}`)).json()) as unknown
  let records: readonly Found[] = []
  await until(async () => {
    records = ((await read('search.json?limit=100')) as { readonly records: Found[] }).records
    return records.length === names.length
  })
  const wrong: unknown[] = []
  for (const { summary } of records) {
    const name = summary.url.split('/').at(-1)
    const { data } = (await read(`${summary.token}.json`)) as Found
    const found = JSON.stringify(data.queries).match(/\br\d+x\b/g) ?? []
    const hasPlaces = JSON.stringify(data.queries).includes('app.mjs')
    if (summary.queries !== 3 || !hasPlaces || found.some(each => each !== name))
      wrong.push([name, summary.queries, found])
  }
  t.strictSame(wrong, [])
  child.stdin?.end()
  await once(child, 'exit')
})
