import { t } from 'tap'
import { bullProgram, checkServers } from '#tests/support/check-jobs.ts'
import { provenRuns } from '#tests/support/sample.ts'
import { listProfiles, readProfile, startProfiled } from '#tests/support/start-profiled.ts'
import { startRedis } from '#tests/support/start-redis.ts'
import { until } from '#tests/support/until.ts'

const source = `
import { createServer } from 'node:http'
import { Queue, Worker } from 'bullmq'
const connection = { host: '127.0.0.1', port: Number(process.env.REDIS) }
const queue = new Queue('mail', { connection })
const server = createServer(async (message, reply) => {
  if (message.url.startsWith('/inner')) return reply.end('inner')
  const options = { attempts: 3, backoff: 1 }
  const data = { to: 'ada@example.org', password: 'hunter22', fails: message.url === '/fail' }
  if (message.url === '/waited') options.timestamp = Date.now() - 60_000
  const jobs = message.url === '/bulk'
    ? await queue.addBulk([{ name: 'ship', data, opts: options }, { name: 'bill', data, opts: options }])
    : [await queue.add('ship', data, options)]
  reply.end(jobs.map(({ id }) => id).join())
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address()
  const work = async job => {
    await fetch('http://127.0.0.1:' + port + '/inner?job=' + job.id)
    console.log('job', job.id)
    if (job.data.fails) throw new TypeError('no such address')
    return { sent: job.data.to, token: 'abcdefgh12345678' }
  }
  const worker = new Worker('mail', work, { connection, concurrency: 10 })
  console.log(JSON.stringify([port, worker.callProcessJob.length, Queue.name]))
})
process.stdin.on('end', () => process.exit()).resume()
`

interface Found {
  readonly token: string
  readonly type: string
  readonly route: string
  readonly url: string
  readonly outcome: string
  readonly job?: string
  readonly enqueued?: readonly string[]
}

/** Whether a profile is of an attempt of a job. */
const isOf = (id: string | undefined) => (found: Found) => found.job?.startsWith(`mail:${id}:`)

interface JobProfile {
  readonly findings: readonly { readonly rule: string; readonly problem: string }[]
  readonly overview: { readonly sentence: string }
  readonly data: {
    readonly unit: unknown
    readonly request?: unknown
    readonly http: { readonly calls: readonly { readonly url: string }[] }
    readonly console: { readonly entries: readonly { readonly values: readonly { readonly text: string }[] }[] }
  }
}

t.test('a job of BullMQ has a profile of its own, which leads to the request that has enqueued it', async t => {
  const { port } = await startRedis(t)
  const { stop, url, viewer } = await startProfiled(t, source, { REDIS: String(port) })
  const list = async (): Promise<readonly Found[]> => {
    const response = await fetch(`${viewer}/_profiler/search.json?limit=1000`)
    return ((await response.json()) as { records: { summary: Found }[] }).records.map(({ summary }) => summary)
  }
  const read = async (token: string) => (await (await fetch(`${viewer}/_profiler/${token}.json`)).json()) as JobProfile
  const count = provenRuns(200)
  const ids = await Promise.all(Array.from({ length: count }, async () => (await fetch(`${url}/ok`)).text()))
  const bulk = (await (await fetch(`${url}/bulk`)).text()).split(',')
  const waited = await (await fetch(`${url}/waited`)).text()
  const failing = await (await fetch(`${url}/fail`)).text()
  let found: readonly Found[] = []
  await until(async () => {
    found = await list()
    return found.filter(({ type }) => type === 'job').length === count + 3 + 3
  })

  const jobs = found.filter(({ type }) => type === 'job')
  const wrong: string[] = []
  for (const { job = '', token } of jobs) {
    const { data } = await read(token)
    const calls = data.http.calls.map(call => call.url.split('=')[1])
    const printed = data.console.entries.map(({ values }) => values.map(({ text }) => text).join(' '))
    const [, id] = job.split(':')
    const enqueuing = found.filter(({ enqueued }) => enqueued?.includes(job))
    if (`${calls} ${printed}` !== `${id} job ${id}` || enqueuing.length !== 1) wrong.push(`${job}: ${calls} ${printed}`)
  }
  t.strictSame(wrong, [], 'each job has its own calls and lines, and one request')
  t.strictSame(
    jobs.filter(isOf(failing)).map(({ outcome }) => outcome),
    Array(3).fill('failed'),
  )
  t.strictSame(new Set(jobs.map(({ route }) => route)), new Set(['job mail ship', 'job mail bill']))

  const done = await read(String(jobs.find(isOf(ids[0]))?.token))
  t.match(done.data.unit, { job: { queue: 'mail', id: ids[0], attempt: 1, attempts: 3, waited: Number } })
  const findingsOf = async (id: string) => {
    const { findings } = await read(String(jobs.find(isOf(id))?.token))
    return findings.map(({ problem, rule }) => `${rule}: ${problem}`).join('\n')
  }
  t.match(
    await findingsOf(String(ids.at(-1))),
    /^repeated-job: [\d,]+ jobs of this name began with the same data within a minute\.$/m,
  )
  t.match(await findingsOf(waited), /^waiting-job: The job waited 6\d s in its queue, and worked /m)
  t.match(await findingsOf(failing), /^failed-job: The job failed in all 3 attempts: /m)
  t.notMatch(JSON.stringify(done), /hunter22|abcdefgh12345678/)
  t.match(JSON.stringify(done.data.unit), /ada@example\.org/)
  t.equal(done.data.request, undefined)

  const [last] = jobs.filter(isOf(failing))
  const failed = await read(String(last?.token))
  t.match(
    failed.overview.sentence,
    /^The job mail ship failed in all 3 attempts, the last after [\d.]+ m?s: TypeError at app\.mjs:\d+: no such address\.$/,
  )
  const page = async (token = '') => (await fetch(`${viewer}/_profiler/${token}`)).text()
  const request = found.find(each => each.url.endsWith('/bulk'))
  /** The links of the overview below its headings. */
  const links = (html: string) =>
    [...html.matchAll(/<h3>(?:Started by|Started|Other attempts)<\/h3>.*?<\/ul>/gs)].flatMap(([list]) =>
      [...list.matchAll(/href="\/_profiler\/(\w+)"/g)].map(([, token]) => token),
    )
  const ofBulk = jobs.filter(({ job = '' }) => bulk.includes(job.split(':')[1] ?? '')).map(({ token }) => token)
  t.strictSame(new Set(links(await page(request?.token))), new Set(ofBulk))
  t.match(links(await page(ofBulk[0])), [request?.token])
  t.equal(links(await page(last?.token)).length, 3, 'its request, and two other attempts')
  await stop()
})

t.test('jobs of a flow and of a schedule lead to their request, and a job has one attempt by default', async t => {
  const { port } = await startRedis(t)
  const source = `
import { createServer } from 'node:http'
import { FlowProducer, Queue, Worker } from 'bullmq'
const connection = { host: '127.0.0.1', port: ${port} }
const queue = new Queue('q', { connection })
const flows = new FlowProducer({ connection })
let number = 0
const child = () => ({ name: 'child', queueName: 'q', data: { number: number++ } })
const flow = () => ({ name: 'parent', queueName: 'q', data: {}, children: [child(), child()] })
const pages = {
  flow: () => flows.add(flow()),
  flows: () => flows.addBulk([flow(), flow()]),
  schedule: () => queue.upsertJobScheduler('often', { every: 40, limit: 5 }, { name: 'often', data: { same: true } }),
  once: () => queue.add('once', {}),
}
const server = createServer(async (message, reply) => {
  await pages[message.url.slice(1)]()
  reply.end()
})
server.listen(0, '127.0.0.1', () => {
  const work = job => {
    if (job.name === 'once') throw 'a text'
  }
  new Worker('q', async job => work(job), { connection })
  console.log(JSON.stringify([server.address().port]))
})
process.stdin.on('end', () => process.exit()).resume()
`
  const { stop, url, viewer } = await startProfiled(t, source)
  for (const page of ['flow', 'flows', 'schedule', 'once']) await (await fetch(`${url}/${page}`)).text()
  const list = async () => (await listProfiles(viewer)) as unknown as readonly Found[]
  const jobsOf = (found: readonly Found[]) =>
    found.filter(({ outcome, type }) => type === 'job' && outcome !== 'pending')
  await until(async () => jobsOf(await list()).length === 3 + 6 + 5 + 1)
  const found = await list()
  const enqueued = ['flow', 'flows', 'schedule', 'once'].map(page => {
    const { enqueued = [] } = found.find(each => each.url.endsWith(`/${page}`)) ?? {}
    return enqueued.filter(name => found.some(({ job }) => job === name)).length
  })
  t.strictSame(enqueued, [3, 6, 1, 1])
  const rules: string[] = []
  for (const { token } of jobsOf(found)) {
    const { findings } = (await readProfile(viewer, token)) as unknown as JobProfile
    rules.push(...findings.map(({ problem, rule }) => `${rule}: ${problem}`))
  }
  t.strictSame(rules, ['failed-job: The job failed in its only attempt: its queue does not try it again.'])
  await stop()
})

t.test('jobs with the same id in two Redis lead to the requests of their own program', async t => {
  const servers = [await startRedis(t), await startRedis(t)]
  const [one, two] = await checkServers(
    t,
    bullProgram,
    servers.map(({ port }) => ({ REDIS: String(port) })),
  )
  t.strictSame(one, two)
})
