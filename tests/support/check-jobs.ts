import path from 'node:path'
import type { Test } from 'tap'
import { startPostgres } from '#tests/support/start-postgres.ts'
import { listProfiles, type ProfileData, readProfile, startProfiled } from '#tests/support/start-profiled.ts'
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

/** Whether the name of a job is that of an id in the queue. */
const isOf = (id: string | undefined, name: unknown) => `${name}:`.startsWith(`mail:${id}:`)

/** Starts a worker of BullMQ. */
export const bullProgram = `
import { Queue, Worker } from 'bullmq'
const connection = { host: '127.0.0.1', port: Number(process.env.REDIS) }
const queue = new Queue('mail', { connection })
new Worker('mail', job => work(job.id, job.data), { connection })
const add = async data => (await queue.add('mail', data)).id
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
  const { stop, url, viewer } = await startProfiled(t, program(source), await startDatabase(t), cwd)
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
    const name = String(summary.job)
    const enqueuing = found.filter(({ enqueued }) => (enqueued as string[] | undefined)?.includes(name))
    if (calls !== id || printed !== `job ${id}` || !isOf(id, name) || enqueuing.length !== 1)
      wrong.push(`${id}: ${calls} ${printed} ${enqueuing.length}`)
  }
  t.strictSame(wrong, [], 'each job has its own calls and lines, and one request')
  const last = jobs.find(({ data }) => {
    const { attempt, id } = (data as unknown as JobData).unit.job
    return id === failed && attempt === failing
  })
  const done = jobs.find(({ summary }) => isOf(ids[0], summary.job))
  t.match(done, { summary: { route: 'job mail', outcome: 'complete' }, data: { unit: { job: { waited: Number } } } })
  t.notMatch(JSON.stringify(jobs), /hunter22|abcdefgh12345678/)
  t.match(JSON.stringify(done?.data.unit), /ada@example\.org/)
  await stop()
  return last
}

/** Starts a PostgreSQL. Gives the environment of a program that uses it. */
export async function startDatabase(t: Test) {
  const { database, host, port, user } = await startPostgres(t)
  return { DATABASE: `postgres://${user}@${host}:${port}/${database}` }
}

/**
 * Runs a program in two folders, each with a server of its own that has its jobs. Compares the links of the jobs with
 * the programs.
 */
export async function checkServers(t: Test, source: string, servers: readonly Readonly<Record<string, string>>[]) {
  const root = t.testdir({ one: { shop: { node_modules: {} } }, two: { shop: { node_modules: {} } } })
  const start = (env: Readonly<Record<string, string>>, index: number) => {
    const listed = { PROFILER_ALONE: '', TMPDIR: root }
    return startProfiled(
      t,
      program(source),
      { ...env, ...listed },
      path.join(root, index === 0 ? 'one' : 'two', 'shop'),
    )
  }
  const programs = await Promise.all(servers.map(start))
  // One after the other: jobs with the same id, of the same millisecond, are the same.
  const ids: string[][] = []
  for (const { url } of programs) {
    const found: string[] = []
    for (let count = 0; count < 5; count++) found.push(await (await fetch(`${url}/add`)).text())
    ids.push(found)
  }
  const [{ viewer } = { viewer: '' }] = programs
  let found: readonly ProfileData['summary'][] = []
  await until(async () => {
    found = await listProfiles(viewer)
    return found.filter(({ type }) => type === 'job').length === 10
  }, 60)
  const wrong: string[] = []
  for (const { program, token } of found.filter(({ type }) => type === 'job')) {
    const page = await (await fetch(`${viewer}/_profiler/${token}`)).text()
    const [, list = ''] = /<h3>Started by<\/h3>(.*?)<\/ul>/s.exec(page) ?? []
    const causes = [...list.matchAll(/href="\/_profiler\/(\w+)"/g)].map(([, cause]) => cause)
    const owners = causes.map(cause => found.find(each => each.token === cause)?.program)
    if (owners.join() !== program) wrong.push(`${program}: ${owners}`)
  }
  t.strictSame(wrong, [], 'each job leads to the request of its own program')
  await Promise.all(programs.map(({ stop }) => stop()))
  return ids
}
