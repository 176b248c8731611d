import type { Readable } from 'node:stream'
import { t } from 'tap'
import { Inspector } from '#bundles/profiler/insight/findings/inspector.ts'
import { judgeFix, listFlaws } from '#bundles/profiler/insight/replay/judge-fix.ts'
import { Replayer } from '#bundles/profiler/insight/replay/replayer.ts'
import { verifyFix } from '#bundles/profiler/web/pages/verify-page.ts'
import { StateStreams } from '#bundles/profiler/web/state-stream.ts'
import type { SourceProblem } from '#kernel/bundle.ts'
import type { FindingRule } from '#kernel/profiler-contract.ts'
import { createRequest } from '#kernel/testing/event-factories.ts'
import { Response } from '#lib/http/response.ts'
import { createSignals } from '#lib/signals.ts'
import { createProfile, createRecord, type ProfileInit } from '#tests/support/create-profile.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { until } from '#tests/support/until.ts'

const ours = { headers: { origin: 'http://localhost' } }

interface Flawed {
  readonly rule: string
  readonly name?: string
  readonly count: number
}

/** A profile with findings of these rules. */
function judged(flaws: readonly Flawed[], init: ProfileInit = {}) {
  const findings = flaws.map(({ count, name, rule }) => {
    const values = name === undefined ? {} : { values: { statement: name, 'place-0': `shop.ts:${count}` } }
    const problem = name === undefined ? `It ran ${count} times.` : `{statement} ran ${count} times.`
    const texts = { severity: 'warning', problem, advice: 'Correct it.', evidence: { count } } as const
    return { rule, title: 'A flaw', ...texts, ...values }
  })
  return { profile: createProfile({}, init), findings }
}

t.test('the flaws of a profile are its exception, then its findings', async t => {
  const subject = judged(
    [
      { rule: 'n', count: 5 },
      { rule: 'm', count: 1 },
      { rule: 'n', count: 6 },
    ],
    { exception: 'TypeError' },
  )
  t.strictSame(
    listFlaws(subject).map(({ id, title }) => `${id} ${title}`),
    ['exception TypeError', 'n.0 A flaw', 'm.0 A flaw', 'n.1 A flaw'],
  )
})

t.test('a finding is fixed if neither it nor as many of its rule are left', async t => {
  const before = judged(
    [
      { rule: 'n', name: 'a', count: 51 },
      { rule: 'n', name: 'b', count: 9 },
    ],
    { queries: 61, calls: 3, duration: 109 },
  )
  const judge = (flaws: readonly Flawed[], init: ProfileInit = {}) =>
    judgeFix(listFlaws(before)[0] as never, before, judged(flaws, { queries: 61, calls: 3, duration: 30, ...init }))
  const other = { rule: 'n', name: 'b', count: 9 }
  t.strictSame(judge([other], { queries: 2, calls: 1 }), {
    isFixed: true,
    text: 'Fixed: 61 queries → 2, 3 HTTP client calls → 1, 109.0 ms → 30.0 ms',
  })
  t.strictSame(judge([{ rule: 'n', name: 'a', count: 50 }, other]), {
    isFixed: false,
    text: 'Still there: 109.0 ms → 30.0 ms',
  })
  t.match(judge([{ rule: 'n', name: 'c', count: 51 }, other]), { isFixed: false, text: /^Changed, not fixed: / })
  const nameless = judged([{ rule: 'n', count: 51 }])
  const [flaw] = listFlaws(nameless)
  t.equal(judgeFix(flaw as never, nameless, judged([{ rule: 'n', count: 40 }])).isFixed, false)
  t.equal(judgeFix(flaw as never, nameless, judged([])).isFixed, true)
})

t.test('an exception is fixed if the request no longer fails', async t => {
  const before = judged([], { exception: 'TypeError', status: 500, duration: 5 })
  const judge = (init: ProfileInit) => judgeFix(listFlaws(before)[0] as never, before, judged([], init))
  t.strictSame(judge({ status: 200 }), { isFixed: true, text: 'Fixed: 500 → 200, 5.000 ms → 5.000 ms' })
  t.match(judge({ status: 500, exception: 'TypeError' }), { isFixed: false, text: /^Still there, TypeError: / })
  t.match(judge({ status: 500 }), { isFixed: false })
  t.match(judge({ status: 0 }), { isFixed: false, text: /500 → no response/ })
  const lost = judged([], { exception: 'Error', status: 0 })
  t.match(judgeFix(listFlaws(lost)[0] as never, lost, judged([])).text, /^Fixed: no response → 200, /)
})

t.test('a page verifies a fix by a replay, with the cookies of the browser', async t => {
  const app = { isMended: false }
  const sent: string[] = []
  const rule: FindingRule = {
    name: 'flaws',
    title: 'Flaw',
    find: ({ summary }) =>
      summary.url.includes('flawed') && !app.isMended
        ? [{ severity: 'warning', problem: 'A flaw.', advice: 'Correct it.', evidence: {} }]
        : [],
  }
  const kernel = await createProfiledKernel(t, {
    register: ({ findingRules }) => void findingRules.push(rule),
    handlers: {
      '/flawed': request => {
        sent.push(`${request.headers.get('cookie')} ${request.headers.get('authorization')}`)
        return Response.text('flawed')
      },
      '/fails': () => {
        if (!app.isMended) throw new TypeError('on purpose')
        return Response.text('mended')
      },
      '/act': () => Response.text('acted'),
    },
  })
  const { client } = kernel
  const tokenOf = async (answer: { readonly headers: { get(name: string): string | null } }) =>
    String(answer.headers.get('x-debug-token'))
  const verify = async (token: string, flaw: string, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await client.post(`/_profiler/${token}/verify`, {
      headers: { ...ours.headers, ...headers },
      form: { flaw },
    })
    return { status: answer.status, ...(JSON.parse(answer.text) as object) }
  }
  const secrets = { cookie: 'session=abc', authorization: 'Basic abc' }
  const flawed = await tokenOf(await client.get('/flawed', { headers: secrets }))
  const first = await verify(flawed, 'flaws.0', secrets)
  t.match(first, { status: 200, state: 'present', text: /^Still there: / })
  t.match(first, { links: [{ text: 'New profile' }, { link: new RegExp(`compare\\?a=${flawed}&b=[0-9a-f]{6}$`) }] })
  t.strictSame(sent, ['session=abc Basic abc', 'session=abc Basic abc'])
  await verify(flawed, 'flaws.0')
  t.equal(sent.at(-1), 'null null', 'a program sends no cookies')

  const failed = await tokenOf(await client.get('/fails'))
  t.match(await verify(failed, 'exception'), { state: 'present', text: /^Still there, TypeError: / })
  app.isMended = true
  t.match(await verify(failed, 'exception'), { state: 'fixed', text: /^Fixed: 500 → 200, / })
  t.match(await verify(failed, 'flaws.0'), { status: 404, state: 'unsure' })
  t.match(await verify('ffffff', 'exception'), { status: 404, state: 'unsure' })
  for (const headers of [{}, { origin: 'http://evil.example' }] as Record<string, string>[]) {
    const answer = await client.post(`/_profiler/${failed}/verify`, { headers, form: { flaw: 'exception' } })
    t.equal(answer.status, 404, 'the same gate as for replays')
  }
})

t.test('a request that is not safe, or not complete, is not replayed', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const keep = (init: Parameters<typeof createRecord>[0]) =>
    storage.append(createRecord({ token: '00000a', exception: 'Error', ...init }), '{}')
  const verify = async () =>
    JSON.parse((await client.post('/_profiler/00000a/verify', { ...ours, form: { flaw: 'exception' } })).text)
  keep({ method: 'POST' })
  t.match(await verify(), {
    state: 'unsure',
    text: 'Not replayed: POST may change data. This runs the request for real.',
    links: [{ text: 'Replay', link: '/_profiler/00000a/replay' }],
  })
  keep({ parent: 'ffffff' })
  t.match(await verify(), { text: /^Could not be replayed: A sub-request/, links: [] })
  keep({ url: 'http://localhost/a?token=******' })
  t.match(await verify(), { text: /^Not replayed: the address contains a secret/ })
  keep({ data: { request: { body: { type: 'text/plain', length: 5, state: 'read' } } } })
  t.match(await verify(), { text: /^Not replayed: The body \(text\/plain, 5 bytes\) was not stored/ })
})

t.test('a replay without a profile is no verdict', async t => {
  const { app, storage } = await createProfiledKernel(t)
  storage.append(createRecord({ token: '00000a', exception: 'Error', url: 'http://localhost/' }), '{}')
  const verify = async (result: Awaited<ReturnType<Replayer['replay']>>) => {
    const replayer = Object.assign(Object.create(Replayer.prototype), { replay: async () => result })
    const inspector = async () => new Inspector([])
    const profiler = { whenWritten: async () => undefined } as never
    const request = createRequest('/_profiler/00000a/verify', { method: 'POST', form: { flaw: 'exception' } } as never)
    request.formData = async () => new Map([['flaw', 'exception']]) as never
    const response = await verifyFix('00000a', request, { ...app, inspector, profiler, replayer, storage })
    return JSON.parse(String(response.body))
  }
  t.match(await verify({ problem: 'Too late.' }), { state: 'unsure', text: 'Too late.' })
  t.match(await verify({ token: 'ffffff' }), { state: 'unsure', text: 'The profile of the replay was deleted.' })
})

t.test('a page follows the state of the application', async t => {
  const signals = createSignals(() => undefined)
  const states = new StateStreams(signals, '/srv/app')
  const stream = states.open(createRequest('/_profiler/state')).body as Readable
  let text = ''
  stream.on('data', chunk => {
    text += chunk
  })
  const read = () => [...text.matchAll(/^event: state\ndata: (.+)$/gm)].map(([, data]) => JSON.parse(String(data)))
  await until(() => read().length === 1)
  t.match(read(), [{ version: Math.round(performance.timeOrigin), problem: '' }])
  const report = (...problems: readonly SourceProblem[]) =>
    signals.emit('sources.broken', { problems, isRunning: true })
  report({ message: 'expected', file: '/srv/app/bundles/shop.ts', line: 3 }, { message: 'other' })
  report({ message: 'no place' })
  report()
  signals.emit('files.changed', { files: [] })
  await until(() => read().length === 5)
  t.strictSame(
    read().map(({ problem }) => problem),
    ['', 'bundles/shop.ts:3: expected', 'no place', '', ''],
  )
  t.ok(read()[4].version > read()[3].version)
  const closed = new Promise(resolve => stream.once('close', resolve))
  stream.destroy()
  await closed
  report()
  t.equal(read().length, 5)
})
