import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { FileProfileStorage } from '#bundles/profiler/store/file-profile-storage.ts'
import { lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'
import { runProcess, startProcess } from '#tests/support/start-process.ts'
import { listProfiles, readProfile, startProfiled } from '#tests/support/start-profiled.ts'
import { startRedis } from '#tests/support/start-redis.ts'
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

t.test(
  'a job whose worker is killed is done by the next one, and leads to the request of the killed process',
  async t => {
    const { port } = await startRedis(t)
    const source = `
import { createServer } from 'node:http'
import { Queue, Worker } from 'bullmq'
const connection = { host: '127.0.0.1', port: ${port} }
const queue = new Queue('mail', { connection })
const server = createServer(async (_, reply) => reply.end((await queue.add('ship', { to: 7 }, { attempts: 3 })).id))
server.listen(0, '127.0.0.1', () => {
  const work = async job => {
    console.log('begun', job.id)
    if (process.env.HANGS) await new Promise(() => {})
    return 'sent'
  }
  new Worker('mail', work, { connection, concurrency: 20, lockDuration: 500, stalledInterval: 200, maxStalledCount: 5 })
  console.log(JSON.stringify([server.address().port]))
})
process.stdin.on('end', () => process.exit()).resume()
`
    const cwd = t.testdir({ node_modules: {} })
    const first = await startProfiled(t, source, { PROFILER_ALONE: '1', HANGS: '1' }, cwd)
    const ids = await Promise.all(Array.from({ length: 20 }, async () => (await fetch(first.url)).text()))
    await until(() => (first.output.stdout.match(/begun/g) ?? []).length === 20)
    // Another process knows only what is written.
    const directory = path.join(cwd, 'node_modules/.cache/sinfonietta/profiler')
    const storage = new FileProfileStorage({ directory, onProblem: () => undefined })
    await until(async () => {
      const { summaries } = await storage.search({ limit: 100 })
      return summaries.filter(({ enqueued }) => enqueued !== undefined).length === 20
    })
    await storage.close()
    first.child.kill('SIGKILL')
    await new Promise(resolve => first.child.once('exit', resolve))
    const second = await startProfiled(t, source, { PROFILER_ALONE: '1' }, cwd)
    const doneIn = async () =>
      (await listProfiles(second.viewer)).filter(({ outcome, type }) => type === 'job' && outcome === 'complete')
    await until(async () => new Set((await doneIn()).map(({ job }) => job)).size === 20, 60)
    const requests = (await listProfiles(second.viewer)).filter(({ enqueued }) => enqueued !== undefined)
    const done = await doneIn()
    const isOf = (id: string) => (name: unknown) => String(name).startsWith(`mail:${id}:`)
    const found = ids.map(id => [
      id,
      requests.filter(({ enqueued }) => (enqueued as readonly string[]).some(isOf(id))).length,
      done.some(({ job }) => isOf(id)(job)),
    ])
    t.strictSame(
      found,
      ids.map(id => [id, 1, true]),
      'each job has its request and its end',
    )
    const [last] = done
    const { data } = await readProfile(second.viewer, String(last?.token))
    t.notMatch(data.unit, { job: { waited: Number } }, 'it was worked on meanwhile')
    await second.stop()
  },
)

t.test(
  'a seed script that Ctrl-C ends says why it was slow, up to a moment before',
  { skip: lacksPostgres },
  async t => {
    const { database, host, port, user } = await startPostgres(t)
    const seed = `
import pg from 'pg'
const client = new pg.Client('postgres://${user}@${host}:${port}/${database}')
await client.connect()
await client.query('CREATE TABLE shelves (id int, name text)')
for (let id = 0; ; id++) {
  await client.query('INSERT INTO shelves VALUES ($1, $2)', [id, 'shelf'])
  if (id === 3000) console.log('ready')
}
`
    const cwd = t.testdir({ 'seed.mjs': seed, node_modules: {} })
    const env = { ...environment, PROFILER_PORT: '0', PROFILER_ALONE: '1' }
    const child = startProcess(t, [process.execPath, program, 'seed.mjs'], { cwd, env })
    await once(child.stdout as NodeJS.ReadableStream, 'data')
    const folder = path.join(cwd, 'node_modules/.cache/sinfonietta/commands')
    await until(() => {
      const [file = ''] = readdirSync(folder).filter(name => name.endsWith('.json'))
      const { text } = JSON.parse(readFileSync(path.join(folder, file), 'utf8'))
      return JSON.parse(text).summary.queries > 3000
    }, 20)
    child.kill('SIGINT')
    const [, signal] = await once(child, 'exit')
    t.equal(signal, 'SIGINT')
    const idle = "process.stdin.on('end', () => process.exit()).resume(); console.log('[]')"
    const { stop, viewer } = await startProfiled(t, idle, { PROFILER_ALONE: '1' }, cwd)
    const [summary, ...others] = await listProfiles(viewer)
    t.strictSame(others, [])
    t.match(summary, { route: 'command seed.mjs', outcome: 'failed' })
    t.ok(Number(summary?.queries) > 3000, String(summary?.queries))
    const shown = (await readProfile(viewer, String(summary?.token))) as unknown as {
      readonly overview: { readonly sentence: string }
      readonly findings: readonly { readonly rule: string }[]
    }
    t.match(
      shown.overview.sentence,
      /^The command seed\.mjs was ended by SIGINT after more than .*; [\d,]+ queries took /,
    )
    t.ok(shown.findings.some(({ rule }) => rule === 'repeated-queries'))
    await stop()
  },
)
