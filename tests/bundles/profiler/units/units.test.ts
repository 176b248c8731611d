import { setTimeout } from 'node:timers/promises'
import { profile } from 'sinfonietta'
import { type Test, t } from 'tap'
import type { ProfileSummary } from '#bundles/profiler/profile/profile.ts'
import { beginUnit, followUnit } from '#kernel/contracts/units.ts'
import { observeCalls } from '#lib/observe-calls.ts'
import { createProfiledKernel, waitForProfile } from '#tests/support/profiled-kernel.ts'
import { until } from '#tests/support/until.ts'

/** Boots a kernel, and returns a function that waits for the newest profile of some work. */
async function boot(t: Test) {
  const kernel = await createProfiledKernel(t)
  const saved: ProfileSummary[] = []
  kernel.app.signals.on('profile.saved', summary => void saved.push(summary))
  const find = async (name: string) => {
    await until(() => saved.some(({ route }) => route === name))
    return waitForProfile(kernel.storage, String(saved.findLast(({ route }) => route === name)?.token))
  }
  return { ...kernel, find, saved }
}

t.test('work is profiled as what it is: nothing of an HTTP exchange is invented', async t => {
  const { app, find } = await boot(t)
  const result = await profile('clean up', async () => {
    app.logger.warning('Nothing to do.')
    await app.queries.measure('postgresql', 'DELETE FROM old', [], async () => [1, 2])
    await setTimeout(5)
    return 7
  })
  t.equal(result, 7)
  const { collectors, data, summary } = await find('task clean up')
  const { ip, method, outcome, status, type, url, client, queries, warnings } = summary
  t.strictSame(
    { ip, method, outcome, status, type, url, client, queries, warnings },
    {
      ip: '',
      method: '',
      outcome: 'complete',
      status: 0,
      type: 'task',
      url: '',
      client: null,
      queries: 1,
      warnings: 1,
    },
  )
  t.equal(collectors.queries?.queries[0]?.text, 'DELETE FROM old')
  const exchange = ['request', 'response', 'session', 'redirects', 'router']
  t.strictSame(
    Object.keys(data).filter(name => exchange.includes(name)),
    [],
  )
})

t.test('an error of work is that of its profile, and of its caller', async t => {
  const { find, saved } = await boot(t)
  const error = new TypeError('no such shelf')
  const thrown = () => {
    throw error
  }
  await t.rejects(
    profile('rejected', async () => thrown()),
    error,
  )
  const ship = observeCalls(thrown, () => followUnit({ type: 'task', name: 'observed' }))
  t.throws(() => ship(), error)
  t.throws(() => profile('thrown', thrown), error)
  for (const name of ['rejected', 'thrown', 'observed']) {
    const { summary, collectors } = await find(`task ${name}`)
    t.match(summary, { outcome: 'failed', exception: 'TypeError', status: 0 }, name)
    t.match(collectors.exception?.exceptions[0], { message: 'no such shelf' }, name)
  }
  t.equal(saved.length, 3)
})

t.test('work at the same time keeps its own queries, also within a request', async t => {
  const { app, find } = await boot(t)
  const work = (name: string, count: number) =>
    profile(name, async () => {
      for (let at = 0; at < count; at++) {
        await setTimeout(1)
        app.queries.measure('postgresql', `SELECT ${name}`, [], () => [])
      }
    })
  const names = Array.from({ length: 20 }, (_, index) => `n${index}`)
  await Promise.all(names.map((name, index) => work(name, index)))
  for (const [index, name] of names.entries()) {
    const { collectors } = await find(`task ${name}`)
    const texts = collectors.queries?.queries.map(({ text }) => text) ?? []
    t.strictSame(texts, Array(index).fill(`SELECT ${name}`))
  }
})

t.test('pages, lists and exports say what work is, and offer nothing that only requests have', async t => {
  const { client, find } = await boot(t)
  await client.get('/partnership')
  await t.rejects(
    profile('clean <up>', async () => {
      throw new Error('no such shelf')
    }),
  )
  const { summary } = await find('task clean <up>')
  const read = async (path: string) => (await client.get(`/_profiler/${path}`)).text
  const page = await read(summary.token)
  t.match(page, /<title>[^<]*failed task clean &lt;up&gt;/)
  t.match(page, /The task <code>clean &lt;up&gt;<\/code> failed after [\d.]+ m?s: /)
  const text = page.replace(/<[^>]*>/g, ' ')
  const invented = ['No response', 'curl', 'Request / Response', 'Replay', '127.0.0.1', 'Status', 'http://']
  t.strictSame(
    invented.filter(word => text.includes(word)),
    [],
  )
  const markdown = await read(`${summary.token}.md`)
  t.match(markdown, /^# Failed: `task clean <up>`$/m)
  t.notMatch(markdown, /No response|Client:/)
  const { links } = JSON.parse(await read(`${summary.token}.json`))
  t.strictSame(Object.keys(links.exports), ['html', 'json'])
  const list = await read('empty/search/results')
  t.match(list, />task clean &lt;up&gt;<\/a>/)
  t.match(await read('search.md'), /failed `task clean <up>`/)
  const count = async (query: string) => JSON.parse(await read(`search.json?${query}`)).total
  t.strictSame(
    await Promise.all(['', 'type=task', 'type=request', 'type=job', 'only=errors', 'text=clean'].map(count)),
    [2, 1, 1, 0, 1, 1],
  )
})

t.test('work of the same name has statistics, and a usual time', async t => {
  const { client, find, saved } = await boot(t)
  // Of the same millisecond, the token decides which one is earlier.
  for (let count = 0; count < 6; count++) await profile('tick', () => setTimeout(2))
  await until(() => saved.length === 6)
  const { summary } = await find('task tick')
  const statistics = JSON.parse((await client.get('/_profiler/routes.json')).text)
  t.match(statistics.routes, [{ route: 'task tick', count: 6 }])
  t.equal((await client.get('/_profiler/route?name=task+tick')).status, 200)
  const { overview } = JSON.parse((await client.get(`/_profiler/${summary.token}.json`)).text)
  t.ok(overview.usual.count > 0)
  t.match(overview.sentence, /^The task tick took /)
})

t.test('a task has the findings of its queries, and of equal jobs', async t => {
  const { app, client, find } = await boot(t)
  await profile('seed', async () => {
    for (let id = 0; id < 20; id++)
      app.queries.measure('postgresql', 'SELECT name FROM shelves WHERE id = $1', [id], () => [])
  })
  const rulesOf = async (name: string) => {
    const { token } = (await find(name)).summary
    const { findings } = JSON.parse((await client.get(`/_profiler/${token}.json`)).text)
    return findings.map(({ rule }: { rule: string }) => rule)
  }
  t.strictSame(await rulesOf('task seed'), ['repeated-queries'])
  const work = (name: string, id: string, input: object) =>
    beginUnit({ type: 'job', name, input, job: { queue: 'mail', id } })?.end({})
  for (const id of ['1', '2', '3']) work('mail', id, { to: 7 })
  for (const id of ['4', '4', '4']) work('retried', id, { to: 7 })
  for (const id of ['5', '6', '7']) work('others', id, { to: id })
  for (const id of ['8', '9', '10']) work('schedule', id, {})
  t.strictSame(await rulesOf('job mail'), ['repeated-job'])
  for (const name of ['retried', 'others', 'schedule']) t.strictSame(await rulesOf(`job ${name}`), [], name)
})

t.test('without the profiler, work is only called', async t => {
  t.equal(
    profile('nothing', () => 3),
    3,
  )
})

t.test('a command that turns out to be a consumer is dropped; its jobs are not caused by it', async t => {
  const { saved } = await boot(t)
  const command = beginUnit({ type: 'command', name: 'worker.js' })
  let left = 0
  command?.enterProcess(() => void left++)
  const job = { queue: 'mail', id: '4', attempt: 1 }
  const unit = command?.run(() => beginUnit({ type: 'job', name: 'mail ship', job }))
  unit?.end({})
  command?.end({ exitCode: 0 })
  t.equal(left, 1)
  t.equal(command?.describeSoFar({}), undefined)
  profile('tick', () => undefined)
  await until(() => saved.length > 1)
  t.match(saved, [{ route: 'job mail ship', job: 'mail:4' }, { route: 'task tick' }])
  t.strictSame(
    saved.map(({ cause }) => cause),
    [undefined, undefined],
  )
})

t.test('the profile of a request has nothing of other work', async t => {
  const { client, saved, storage } = await boot(t)
  await client.get('/partnership')
  await until(() => saved.length > 0)
  const { data, summary } = await waitForProfile(storage, String(saved[0]?.token))
  const names = [...Object.keys(summary), ...Object.keys(data)]
  t.strictSame(
    names.filter(name => ['cause', 'job', 'enqueued', 'unit'].includes(name)),
    [],
  )
})
