import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { createFrameworkBundle } from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { createTestKernel, type TestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import type { ProfileSummary } from '#bundles/profiler/profile/profile.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { siteBundle } from '#bundles/site/site-bundle.ts'
import { NodeServer } from '#kernel/server/node-server.ts'
import { TrustedProxies } from '#lib/http/trusted-proxies.ts'
import {
  bodyNames,
  faultyBundle,
  nonsenseEvents,
  throwableNames,
  valueNames,
} from '#tests/application/faulty-bundle.ts'
import { lifecycle } from '#tests/support/lifecycle.ts'
import { probeBundle } from '#tests/support/probe-bundle.ts'
import { createProject } from '#tests/support/project.ts'
import { provenSample } from '#tests/support/sample.ts'
import { until } from '#tests/support/until.ts'

const events = lifecycle.map(({ eventName }) => eventName)

/** Bodies that are found to be wrong before anything of them is sent. */
const answered: readonly string[] = ['number', 'object', 'destroyed', 'objects-at-once', 'fails-at-once']

/** What came of a request. */
type Answer =
  | { readonly status: number; readonly headers: IncomingMessage['headers']; readonly body: string }
  | 'closed'

interface Site extends TestKernel {
  readonly url: string
  readonly storage: MemoryProfileStorage
  ask(target: string): Promise<Answer>
}

interface SiteOptions {
  readonly directory?: string
  readonly answerTimeout?: number
}

async function startSite(t: Test, environment: string, options: SiteOptions = {}): Promise<Site> {
  const { answerTimeout, directory } = options
  const storage = new MemoryProfileStorage()
  const profiler = environment === 'dev' ? [createProfilerBundle({ storage })] : []
  const bundles = [createFrameworkBundle(), siteBundle, probeBundle, ...profiler, faultyBundle]
  const kernel = await createTestKernel({
    bundles,
    variables: { APP_ENV: environment },
    ...(directory && { directory }),
  })
  t.teardown(() => kernel.close())
  const server = new NodeServer(kernel.app, {
    trustedProxies: new TrustedProxies(),
    ...(answerTimeout && { answerTimeout }),
  })
  const url = await server.listen('127.0.0.1', 0)
  t.teardown(() => server.close({ deadline: 100 }))
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  return { ...kernel, url, storage, ask: target => ask(agent, url + target) }
}

function ask(agent: Agent, url: string): Promise<Answer> {
  return new Promise(resolve => {
    const message = httpRequest(url, { agent }, response => {
      const { headers, statusCode = 0 } = response
      text(response).then(
        body => resolve({ status: statusCode, headers, body }),
        () => resolve('closed'),
      )
    })
    message.on('error', () => resolve('closed'))
    message.end()
  })
}

/** Sends requests whose answers identify them, until it is stopped; returns their number, and wrong answers. */
function startGoodRequests({ ask }: Site): { stop(): Promise<{ count: number; wrong: Answer[] }> } {
  let isOver = false
  let count = 0
  const wrong: Answer[] = []
  const work = async () => {
    while (!isOver) {
      const id = `id-${count++}`
      const answer = await ask(`/own/${id}`)
      const isRight = answer !== 'closed' && answer.body === `${id} ${id}` && answer.headers['x-own'] === id
      if (!isRight) wrong.push(answer)
      await wait(5)
    }
  }
  const all = Promise.all([work(), work()])
  return {
    async stop() {
      isOver = true
      await all
      return { count, wrong }
    },
  }
}

/** A misbehaviour, and the statuses that may come of it. */
interface Fault {
  readonly at: string
  readonly how: string
  readonly scope?: 'all'
  readonly expect: number | 'closed'
}

/** Every event, with what it needs to be dispatched at all. */
function pathOf(at: string): string {
  if (at === 'kernel.exception' || at === 'error_controller') return '/boom'
  return at === 'kernel.view' ? '/array' : '/faulty'
}

/** What is never over, wherever that is. */
function listHanging(): Fault[] {
  return [...events, 'controller', 'argument', 'error_controller'].map(at => ({
    at,
    how: 'hang',
    expect: at === 'kernel.terminate' ? 200 : 503,
  }))
}

function listFaults(): Fault[] {
  const throwing = throwableNames.flatMap(name => [`throw-${name}`, `reject-${name}`])
  const failures: Fault[] = [...events, 'controller', 'argument', 'error_controller'].flatMap(at =>
    throwing.map(how => ({ at, how, expect: at === 'kernel.terminate' ? 200 : 500 })),
  )
  const ofSubRequests: Fault[] = events
    .filter(at => at !== 'kernel.terminate' && at !== 'kernel.view')
    .map(at => ({ at, how: 'throw-error', scope: 'all', expect: 500 }))
  const loops: Fault[] = ['loop', 'loop-later'].map(how => ({ at: 'error_controller', how, expect: 500 }))
  const returning: Fault[] = events.flatMap(at =>
    valueNames.map(name => {
      const isHarmless = name !== 'hostile-thenable' || at === 'kernel.terminate'
      const usual = at === 'kernel.exception' || at === 'kernel.view' ? 500 : 200
      return { at, how: `return-${name}`, expect: isHarmless ? usual : 500 }
    }),
  )
  const returned: Fault[] = ['controller', 'error_controller'].flatMap(at =>
    valueNames.map(name => ({ at, how: `return-${name}`, expect: 500 })),
  )
  const misplaced: Fault[] = nonsenseEvents.map(at => ({ at, how: `nonsense-${at}`, expect: 500 }))
  const twice: Fault[] = ['kernel.request', 'kernel.view', 'kernel.exception'].map(at => ({
    at,
    how: 'twice',
    expect: at === 'kernel.exception' ? 500 : 200,
  }))
  return [...failures, ...ofSubRequests, ...loops, ...returning, ...returned, ...misplaced, ...twice]
}

for (const environment of ['dev', 'prod']) {
  t.test(`${environment}: rt-throw-sync, rt-listener-throws, rt-double-answer: each fault is answered`, async t => {
    const offenders: string[] = []
    const run = async (site: Site, faults: readonly Fault[]) => {
      const good = startGoodRequests(site)
      const queue = faults.values()
      await Promise.all(Array.from({ length: 20 }, () => work(site, queue)))
      const { count, wrong } = await good.stop()
      t.strictSame(wrong, [], `${count} good requests meanwhile were answered rightly`)
      t.ok(count > 2)
    }
    const work = async (site: Site, queue: Iterable<Fault>) => {
      for (const { at, expect, how, scope } of queue) {
        const id = [at, how, scope].filter(Boolean).join(' ')
        const query = new URLSearchParams({ at, how, ...(scope && { scope }) })
        const answer = await site.ask(`${pathOf(at)}?${query}`)
        const again = await site.ask('/text')
        if (answer === 'closed' || again === 'closed') {
          offenders.push(`${id}: closed`)
          continue
        }
        const { body, headers, status } = answer
        if (status !== expect) offenders.push(`${id}: ${status}`)
        if (body === '' || Number(headers['content-length']) !== Buffer.byteLength(body))
          offenders.push(`${id}: not whole`)
        if (again.body !== 'text') offenders.push(`${id}: then ${again.status}`)
        if (environment === 'prod' && /touched|just text|faulty-bundle|throw/.test(body))
          offenders.push(`${id}: reveals`)
        if (how === 'twice' && body !== 'second') offenders.push(`${id}: ${body}`)
      }
    }
    const faults = listFaults()
    t.ok(faults.length > 400, `there are ${faults.length}`)
    await run(await startSite(t, environment), provenSample(faults, 25))
    // On a busy machine the others may take as long as this.
    await run(await startSite(t, environment, { answerTimeout: 2_000 }), listHanging())
    t.strictSame(offenders, [])
  })

  t.test(`${environment}: bodies that cannot be sent end in a 500, or where the answer has begun`, async t => {
    const site = await startSite(t, environment)
    for (const name of bodyNames) {
      const answer = await site.ask(`/body/${name}`)
      if (answer !== 'closed') t.match(answer, { status: 500, body: /Internal Server Error/ }, name)
      // Of bytes that are no Uint8Array the head is gone already, unless a listener has looked at them.
      if (name !== 'buffer') t.equal(answer === 'closed', !answered.includes(name), name)
      t.match(await site.ask('/text'), { status: 200, body: 'text' }, name)
    }
    const failed = site.records.filter(({ message }) => message === 'A response was cut off: its stream failed.')
    t.ok(failed.length >= 3, 'the log says so')
  })

  t.test(`${environment}: a controller that requests itself ends in a 500`, async t => {
    const { ask, records } = await startSite(t, environment)
    t.hasStrict(await ask('/self'), { status: 500 })
    t.match(records.find(({ level }) => level === 'critical')?.message, /nested more than 10 deep/)
    t.ok(records.filter(({ level }) => level === 'critical').length === 1, 'it is logged once')
    t.hasStrict(await ask('/text'), { status: 200 })
  })

  t.test(`${environment}: a session that cannot be saved is logged once, and its response is complete`, async t => {
    const directory = t.testdir()
    mkdirSync(path.join(directory, 'var'))
    writeFileSync(path.join(directory, 'var/sessions'), 'no directory')
    const { ask, records, storage } = await startSite(t, environment, { directory })
    const answer = await ask('/count')
    t.match(answer, { status: 500, headers: { 'cache-control': /private/, 'set-cookie': undefined } })
    const failures = records.filter(({ level }) => level === 'critical')
    t.equal(failures.length, 1)
    t.match(failures[0]?.context, { exception: { code: 'SESSION_STORE_FAILED' } })
    if (environment === 'prod') return
    const stored = await storage.find(String((await findSummary(storage, '/count'))?.token))
    t.match(stored?.profile.data, {
      session: { useCount: 2, uses: [{ method: 'get' }, { method: 'set' }], attributes: { count: 1 } },
      exception: { exceptions: [{ name: 'SESSION_STORE_FAILED', cause: { code: 'EEXIST' } }] },
    })
  })

  t.test(`${environment}: rt-template-throws: a template that fails in the middle leaves no half page`, async t => {
    const page = readFileSync('templates/framework/error.hbs', 'utf8')
    const failing = page.replace('</body>', '{{path (concat "no-such" "-route")}}</body>')
    t.not(failing, page)
    const directory = createProject(t.testdir(), { 'templates/framework/error.hbs': failing })
    const { ask } = await startSite(t, environment, { directory })
    // Only developers see what kept the error page from being made.
    const body = environment === 'dev' ? /no-such-route.*<\/html>\n$/s : /^Internal Server Error\n$/
    t.match(await ask('/boom'), { status: 500, body })
    t.match(await ask('/nope'), { status: 500, body })
    t.match(await ask('/text'), { status: 200, body: 'text' })
  })
}

t.test('rt-throw-sync, rt-message-1m, rt-message-surrogate: what was thrown is described in a record', async t => {
  const { ask, storage } = await startSite(t, 'dev')
  for (const name of throwableNames) {
    const answer = await ask(`/faulty?at=controller&how=throw-${name}`)
    const summary = await findSummary(storage, `throw-${name}`)
    t.match(summary, { status: 500, outcome: 'complete', exception: /./ }, name)
    const stored = await storage.find(String(summary?.token))
    t.match(stored?.profile.data.exception, { exceptions: [{ name: /./, message: String }] }, name)
    if (answer === 'closed' || !['long', 'surrogate'].includes(name)) continue
    const header = String(answer.headers['x-debug-exception'])
    t.ok(Buffer.byteLength(decodeURIComponent(header)) <= 2000 && header.length > 1000, 'the header is there, and cut')
    t.ok(answer.body.length < 128 * 1024, `the page has ${answer.body.length} characters`)
  }
})

t.test('a request without an answer has a profile, and its memory is released', async t => {
  const { ask, storage } = await startSite(t, 'dev', { answerTimeout: 300 })
  t.hasStrict(await ask('/faulty?at=controller&how=hang'), { status: 503 })
  t.hasStrict(await findSummary(storage, 'how=hang'), { status: 503, outcome: 'complete' })
})

async function findSummary(storage: MemoryProfileStorage, part: string): Promise<ProfileSummary | undefined> {
  const filters = [
    { field: 'url', test: 'contains', value: part },
    { field: 'parent', test: 'among', value: new Set(['']) },
  ] as const
  const find = async () => (await storage.search({ filters, limit: 1 })).summaries[0]
  await until(find)
  return find()
}

t.test('rt-template-throws: where the debug error page fails in the middle, the plain one is shown', async t => {
  const page = readFileSync('templates/profiler/error-page.hbs', 'utf8')
  const failing = page.replace('</main>', '{{path (concat "no-such" "-route")}}</main>')
  t.not(failing, page)
  const directory = createProject(t.testdir(), { 'templates/profiler/error-page.hbs': failing })
  const { ask, records } = await startSite(t, 'dev', { directory })
  t.match(await ask('/boom'), { status: 500, body: /Boom &quot;quoted&quot;/ })
  t.hasStrict(
    records.find(({ message }) => /debug error page could not be rendered/.test(message)),
    { level: 'error' },
  )
  t.hasStrict(await ask('/text'), { status: 200 })
})
