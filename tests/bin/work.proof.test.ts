import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { listProfiles, readProfile, startProfiled } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

/** The command `sinfonietta profile`. */
const program = path.join(import.meta.dirname, '../fixtures/profiled-program.js')
const { NODE_ENV: _, PROFILER_VIEWER: __, ...environment } = process.env

t.test('a seed script with 5,000 inserts says why it is slow', { skip: lacksPostgres }, async t => {
  const { database, host, port, user } = await startPostgres(t)
  const seed = `
import pg from 'pg'
const client = new pg.Client('postgres://${user}@${host}:${port}/${database}')
await client.connect()
await client.query('CREATE TABLE shelves (id int, name text)')
for (let id = 0; id < 5000; id++) await client.query('INSERT INTO shelves VALUES ($1, $2)', [id, 'shelf'])
await client.end()
`
  const cwd = t.testdir({ 'seed.mjs': seed, node_modules: {} })
  const env = { ...environment, PROFILER_PORT: '0', PROFILER_ALONE: '1' }
  const { code, stderr } = await runProcess(t, [process.execPath, program, 'seed.mjs'], { cwd, env })
  t.equal(code, 0, stderr)
  const idle = "process.stdin.on('end', () => process.exit()).resume(); console.log('[]')"
  const { stop, viewer } = await startProfiled(t, idle, { PROFILER_ALONE: '1' }, cwd)
  const [summary] = await listProfiles(viewer)
  t.match(summary, { route: 'command seed.mjs', outcome: 'complete', queries: 5001 })
  const shown = (await readProfile(viewer, String(summary?.token))) as unknown as {
    readonly overview: { readonly sentence: string }
    readonly findings: readonly { readonly rule: string; readonly problem: string }[]
  }
  t.match(shown.overview.sentence, /^The command seed\.mjs took .*5,001 queries/)
  const rules = shown.findings.map(({ rule }) => rule)
  t.strictSame(rules.includes('repeated-queries'), true)
  await stop()
})

t.test('kill -9 loses no work that was stored', async t => {
  const source = `
import { profile } from 'sinfonietta'
let count = 0
setInterval(() => profile('tick ' + count++, async () => { console.log(count) }), 5)
process.stdin.on('end', () => process.exit()).resume()
console.log('[]')
`
  const cwd = t.testdir({ node_modules: { sinfonietta: t.fixture('symlink', process.cwd()) } })
  const first = await startProfiled(t, source, { PROFILER_ALONE: '1' }, cwd)
  const list = async (viewer: string) => {
    const response = await fetch(`${viewer}/_profiler/search.json?limit=1000&type=task`)
    const { records } = (await response.json()) as { records: { summary: { route: string } }[] }
    return records.map(({ summary }) => summary.route)
  }
  let stored: readonly string[] = []
  await until(async () => {
    stored = await list(first.viewer)
    return stored.length > 100
  })
  // The list knows profiles that wait 50 ms for the disk: those of half a second later were written after them.
  await until(async () => (await list(first.viewer)).length > stored.length + 100)
  first.child.kill('SIGKILL')
  await new Promise(resolve => first.child.once('exit', resolve))
  writeFileSync(path.join(cwd, 'app.mjs'), '')
  const idle = "process.stdin.on('end', () => process.exit()).resume(); console.log('[]')"
  const second = await startProfiled(t, idle, { PROFILER_ALONE: '1' }, cwd)
  const left = new Set(await list(second.viewer))
  t.strictSame(
    stored.filter(route => !left.has(route)),
    [],
  )
  await second.stop()
})
