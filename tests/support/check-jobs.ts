import type { Test } from 'tap'
import { startPostgres } from '#tests/support/start-postgres.ts'
import { type ProfileData, readProfile, startProfiled } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

/**
 * Serves `/add` and `/fail`, whose jobs make an HTTP client call and print a line with their ids.
 * `begin` starts a worker and returns what enqueues.
 */
const program = (begin: string) => `
import { createServer } from 'node:http'
const connectionString = process.env.DATABASE
const settings = { port: 0 }
const work = async (id, data) => {
  await (await fetch('http://127.0.0.1:' + settings.port + '/inner?job=' + id)).text()
  console.log('job', id)
  if (data.fails) throw new TypeError('no such address')
  return { sent: data.to, token: 'abcdefgh12345678' }
}
${begin}
const server = createServer(async (message, reply) => {
  if (message.url.startsWith('/inner')) return reply.end('inner')
  reply.end(await add({ to: 'ada@example.org', password: 'hunter22', fails: message.url === '/fail' }))
})
server.listen(0, '127.0.0.1', () => {
  settings.port = server.address().port
  console.log(JSON.stringify([settings.port]))
})
process.stdin.on('end', () => process.exit()).resume()
`

/** Starts workers of pg-boss; `start` imports it. */
export const bossProgram = (start: string) => `
${start}
const boss = new PgBoss({ connectionString, max: 4 })
boss.on('error', console.error)
await boss.start()
await boss.createQueue('mail')
for (let count = 0; count < 20; count++)
  await boss.work('mail', { includeMetadata: true, pollingIntervalSeconds: 0.5 }, async ([job]) => work(job.id, job.data))
const add = data => boss.send('mail', data, { retryLimit: 1, retryDelay: 0 })
`

/** Starts a worker of graphile-worker. */
export const graphileProgram = `
import { makeWorkerUtils, run } from 'graphile-worker'
const events = new (await import('node:events')).EventEmitter()
const utils = await makeWorkerUtils({ connectionString })
await utils.migrate()
const logger = new (await import('graphile-worker')).Logger(() => () => {})
await run({ connectionString, concurrency: 10, pollInterval: 50, logger, taskList: { mail: (data, { job }) => work(job.id, data) } })
const add = async data => {
  const { id } = await utils.addJob('mail', data, { maxAttempts: data.fails ? 1 : 2 })
  return id
}
`

interface JobData {
  readonly unit: { readonly job: { readonly id: string; readonly attempt: number; readonly waited: number } }
  readonly http: { readonly calls: readonly { readonly url: string }[] }
  readonly console: { readonly entries: readonly { readonly values: readonly { readonly text: string }[] }[] }
}

interface Job extends ProfileData {
  readonly overview: { readonly sentence: string }
}

/**
 * Runs a program in which `count` requests at once enqueue jobs, and another one a job that fails `failing`
 * times. Compares each job with the request that has enqueued it. Returns the last attempt of the failed one.
 */
export async function checkJobs(t: Test, source: string, failing: number, count: number, cwd?: string) {
  const { database, host, port, user } = await startPostgres(t)
  const DATABASE = `postgres://${user}@${host}:${port}/${database}`
  const { stop, url, viewer } = await startProfiled(t, program(source), { DATABASE }, cwd)
  const list = async () => {
    const response = await fetch(`${viewer}/_profiler/search.json?limit=1000`)
    return ((await response.json()) as { records: ProfileData[] }).records.map(({ summary }) => summary)
  }
  const ids = await Promise.all(Array.from({ length: count }, async () => (await fetch(`${url}/add`)).text()))
  const failed = await (await fetch(`${url}/fail`)).text()
  let found: readonly ProfileData['summary'][] = []
  await until(async () => {
    found = await list()
    return found.filter(({ type }) => type === 'job').length === count + failing
  }, 60)
  const jobs = await Promise.all(
    found.filter(({ type }) => type === 'job').map(async ({ token }) => (await readProfile(viewer, token)) as Job),
  )
  const wrong: string[] = []
  for (const { data, summary } of jobs) {
    const { console, http, unit } = data as unknown as JobData
    const { id } = unit.job
    const calls = http.calls.map(each => each.url.split('=')[1]).join()
    const printed = console.entries.map(({ values }) => values.map(({ text }) => text).join(' ')).join()
    const enqueuing = found.filter(({ enqueued }) => (enqueued as string[] | undefined)?.includes(`mail:${id}`))
    if (calls !== id || printed !== `job ${id}` || summary.job !== `mail:${id}` || enqueuing.length !== 1)
      wrong.push(`${id}: ${calls} ${printed} ${enqueuing.length}`)
  }
  t.strictSame(wrong, [], 'each job has its own calls and lines, and one request')
  const last = jobs.find(({ data }) => {
    const { attempt, id } = (data as unknown as JobData).unit.job
    return id === failed && attempt === failing
  })
  const done = jobs.find(({ summary }) => summary.job === `mail:${ids[0]}`)
  t.match(done, { summary: { route: 'job mail', outcome: 'complete' }, data: { unit: { job: { waited: Number } } } })
  t.notMatch(JSON.stringify(jobs), /hunter22|abcdefgh12345678/)
  t.match(JSON.stringify(done?.data.unit), /ada@example\.org/)
  await stop()
  return last
}
