import assert from 'node:assert'
import { Readable } from 'node:stream'
import { type Foundation, HttpError } from 'sinfonietta'
import type { FindingRule, InspectedProfile } from 'sinfonietta/profiler'
import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import { judgeFix, listFlaws } from '#bundles/profiler/insight/compare/judge-fix.ts'
import { Inspector } from '#bundles/profiler/insight/findings/inspector.ts'
import { Replayer } from '#bundles/profiler/insight/replay/replay.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { verifyFix } from '#bundles/profiler/web/pages/replay-page.ts'
import { StateStreams } from '#bundles/profiler/web/routes.ts'
import { Response } from '#lib/http/response.ts'
import { createSignals } from '#lib/signals.ts'
import { toil } from '#tests/bundles/profiler/insight/findings/planted/work-pages.ts'
import { createProfile, createQuery, createRecord } from '#tests/support/create-profile.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { until } from '#tests/support/until.ts'

const ours = { headers: { origin: 'http://localhost' } }

/** A rule with a finding for each flaw that a profile was recorded with, and no measure. */
const rule: FindingRule = {
  name: 'n',
  title: 'A flaw',
  find: ({ data }) =>
    [data.flaws ?? []].flat().map(name => ({
      severity: 'warning',
      problem: name === '' ? 'It took 0.12 ms.' : '{statement} is wrong.',
      values: { statement: String(name), 'place-0': `shop.ts:${Math.random()}` },
      advice: 'Correct {place-0}.',
      evidence: {},
    })),
}

const inspector = new Inspector([rule])

t.test('the flaws of a profile are its exception, then its findings', async t => {
  const profile = createProfile({ flaws: ['a', 'b'] }, { exception: 'TypeError' })
  t.strictSame(
    listFlaws(profile, inspector.inspect(profile)).map(({ id, title }) => `${id} ${title}`),
    ['exception TypeError', 'n.0 A flaw', 'n.1 A flaw'],
  )
})

t.test('a finding without a measure is fixed if neither it nor as many of its rule are left', async t => {
  const judge = (before: readonly string[], after: readonly string[]) => {
    const profile = createProfile({ flaws: before }, { duration: 109 })
    const [flaw] = listFlaws(profile, inspector.inspect(profile))
    assert(flaw)
    return judgeFix(flaw, [profile], [createProfile({ flaws: after }, { duration: 30 })], inspector)
  }
  const facts = 'request 109 ms → 30 ms'
  t.strictSame(judge(['a', 'b'], ['b']), { state: 'fixed', text: `Fixed: ${facts}` })
  t.strictSame(judge(['a', 'b'], ['a']), { state: 'present', text: `Still there: ${facts}` })
  t.strictSame(judge(['a', 'b'], ['b', 'c']), { state: 'changed', text: `Changed its form, not fixed: ${facts}` })
  t.match(judge([''], ['']), { state: 'present' }, 'a finding without values')
  t.match(judge([''], []), { state: 'fixed' })
})

t.test('a block of the event loop that is just below the limit is not fixed', async t => {
  const inspector = new Inspector([])
  const blocked = (cpu: number) =>
    createProfile({ memory: { blocks: [{ start: 1, duration: cpu, cpu, by: 'abc123' }] } })
  const judge = (before: number, after: number) => {
    const profile = blocked(before)
    const [flaw] = listFlaws(profile, inspector.inspect(profile))
    assert(flaw)
    return judgeFix(flaw, [profile], [blocked(after), blocked(after), blocked(after)], inspector).text
  }
  t.match(judge(210, 190), /^Hardly less: 210 ms → 190 ms, /)
  t.match(judge(450, 60), /^Fixed: 450 ms → 60 ms, /)
  t.match(judge(1500, 300), /^Less, but still there: 1\.5 s → 300 ms, /)
})

t.test(
  'queries in a loop are not fixed by a block of the event loop, nor without a word by a request that is not faster',
  async t => {
    const inspector = new Inspector([])
    const request = (duration: number, data: Record<string, unknown>, isCold = false) =>
      createProfile(data, { duration, isCold })
    const queries = Array.from({ length: 30 }, (_, id) =>
      createQuery({ start: id * 5, end: id * 5 + 5, parameters: [['id', id]] }),
    )
    const before = createProfile({ queries: { queries, omitted: 0 } }, { duration: 160, queries: 30 })
    const [flaw] = listFlaws(before, inspector.inspect(before))
    assert(flaw)
    const judge = (...after: readonly [Profile, ...Profile[]]) => judgeFix(flaw, [before], after, inspector)
    const three = (duration: number, data: Record<string, unknown> = {}, isCold = false) =>
      judge(request(duration, data, isCold), request(duration, data, isCold), request(duration, data, isCold))
    const block = { start: 1, duration: 140, cpu: 90, by: 'abc123' }
    const computes = { memory: { blocks: [block] } }
    t.match(three(150, computes), {
      state: 'changed',
      text: /^Changed its form, the request blocks the event loop instead/,
    })
    t.match(
      three(150, { memory: { blocks: [{ ...block, by: 'fedcba' }] } }),
      { state: 'doubtful' },
      'of another request',
    )
    t.match(
      judge(request(150, computes), request(9, {}), request(9, {})),
      { state: 'fixed' },
      'a block in one of three',
    )
    t.match(three(158), { state: 'doubtful', text: /^Fixed, but the request takes as long as before: / })
    t.match(three(260), { state: 'doubtful', text: /^Fixed, but the request takes longer: / })
    t.match(three(60), { state: 'fixed' })
    t.match(three(260, {}, true), { state: 'fixed' }, 'cold requests')
    t.match(judge(request(260, {}), request(260, {}), request(60, {})), { state: 'fixed' }, 'one of three is faster')
  },
)

type Page = (work: Foundation) => Response | Promise<Response>

const shown = (bytes = 20_000) => Response.html('x'.repeat(bytes))
const queried = (count: number, page: Page = () => shown()): Page => {
  return app => {
    for (let id = 0; id < count; id++)
      app.queries.measure('sqlite', 'SELECT * FROM prices WHERE id = ?', [id], () => [])
    return page(app)
  }
}
const failing = (error: Error): Page => {
  return () => {
    throw error
  }
}
const lost: Page = async ({ queries }) => {
  for (let id = 0; id < 30; id++) {
    const run = () => Promise.reject(new Error('The database is away.'))
    await queries.measure('sqlite', 'SELECT * FROM prices WHERE id = ?', [id], run).catch(() => undefined)
  }
  return shown()
}
const lostOnce: Page = async ({ queries }) => {
  const run = () => Promise.reject(new Error('The database is away.'))
  await queries.measure('sqlite', 'SELECT * FROM prices', [], run).catch(() => undefined)
  return shown()
}
const broken: Page = () => {
  const body = new Readable({ read: () => undefined })
  body.push('x'.repeat(20_000))
  setImmediate(() => body.destroy(new Error('on purpose')))
  return new Response(body)
}
const redirected = (target: string): Page => {
  return () => Response.redirect(target)
}
const status = (code: number): Page => {
  return () => new Response('x'.repeat(20_000), { status: code })
}

/** What a page did when it was recorded, and what it does in the replay, with the verdict. */
const pairs: readonly (readonly [flaw: string, before: Page, after: Page, state: string, text: RegExp])[] = [
  ['repeated-queries.0', queried(30), queried(1), 'fixed', /^Fixed: 30 queries → 1, request [\d.]+ m?s → [\d.]+ m?s$/],
  ['repeated-queries.0', queried(30), queried(20), 'present', /^Less, but still there: 30 queries → 20, request /],
  [
    'repeated-queries.0',
    queried(30),
    queried(20, ({ queries }) => {
      for (let id = 0; id < 10; id++) queries.measure('sqlite', 'SELECT name FROM prices WHERE id = ?', [id], () => [])
      return shown()
    }),
    'present',
    /^Still there, a part of it in another form: 30 queries → 20, /,
  ],
  ['repeated-queries.0', queried(30), queried(29), 'present', /^Still there: 30 queries → 29, /],
  ['repeated-queries.0', queried(10), queried(9), 'present', /^Hardly less: 10 queries → 9, /],
  ['repeated-queries.0', queried(30), lost, 'present', /^Hardly less: 30 queries → 30, /],
  [
    'repeated-queries.0',
    queried(30),
    failing(new TypeError('on purpose')),
    'failing',
    /^The page now fails: TypeError: on purpose, status 500 instead of status 200$/,
  ],
  ['repeated-queries.0', queried(30), status(503), 'failing', /^The page now fails: status 503 instead of status 200$/],
  ['repeated-queries.0', queried(30), status(404), 'failing', /^The page now fails: status 404 instead of status 200$/],
  [
    'repeated-queries.0',
    queried(30),
    redirected('/login'),
    'failing',
    /^The page now fails: status 302 to \/login instead of status 200$/,
  ],
  [
    'repeated-queries.0',
    queried(30, redirected('/a')),
    queried(1),
    'failing',
    /^The page now fails: status 200 instead/,
  ],
  ['repeated-queries.0', queried(30), broken, 'failing', /^The page now fails: .*status 200, the stream broke off$/],
  ['repeated-queries.0', queried(30, status(404)), queried(1), 'fixed', /^Fixed: 30 queries → 1, 404 → 200, /],
  [
    'repeated-queries.0',
    queried(30, failing(new TypeError('on purpose'))),
    queried(1, failing(new TypeError('on purpose'))),
    'fixed',
    /^Fixed: 30 queries → 1, /,
  ],
  [
    'repeated-queries.0',
    queried(30, failing(new TypeError('on purpose'))),
    failing(new RangeError('as well')),
    'failing',
    /^The page still fails: RangeError: as well, status 500$/,
  ],
  [
    'repeated-queries.0',
    queried(30),
    queried(1, () => shown(3000)),
    'doubtful',
    /^Fixed, but the page is now 2\.9 KiB instead of 20 KiB: 30 queries → 1, /,
  ],
  ['repeated-queries.0', queried(30), queried(1, () => shown(11_000)), 'fixed', /^Fixed: /],
  [
    'repeated-queries.0',
    queried(30, redirected('/a')),
    queried(1, redirected('/b')),
    'doubtful',
    /^Fixed, but the response redirects to \/b instead of \/a: /,
  ],
  [
    'repeated-queries.0',
    queried(30),
    queried(1, ({ logger }) => {
      logger.error('The prices are missing.')
      return shown()
    }),
    'doubtful',
    /^Fixed, but it logs 1 more error: /,
  ],
  [
    'repeated-queries.0',
    queried(30),
    lostOnce,
    'changed',
    /^Changed its form, there is a new finding, Query failed: 30 queries → 0, /,
  ],
  [
    'repeated-queries.0',
    queried(30),
    () => {
      toil(160)
      return shown()
    },
    'changed',
    /^Changed its form, the request blocks the event loop instead: 30 queries → 0, /,
  ],
  ['exception', failing(new TypeError('on purpose')), queried(0), 'fixed', /^Fixed: 500 → 200, request /],
  ['exception', failing(new HttpError(404, 'Not here')), queried(0), 'fixed', /^Fixed: 404 → 200, /],
  [
    'exception',
    failing(new TypeError('on purpose')),
    redirected('/login'),
    'doubtful',
    /^Fixed, but the response redirects to \/login: 500 → 302, /,
  ],
  [
    'exception',
    failing(new TypeError('on purpose')),
    failing(new TypeError('again')),
    'present',
    /^Still there, TypeError: again, status 500: request /,
  ],
  [
    'exception',
    failing(new TypeError('on purpose')),
    failing(new RangeError('as well')),
    'failing',
    /^The page still fails: RangeError: as well, status 500$/,
  ],
  ['exception', failing(new TypeError('on purpose')), status(500), 'failing', /^The page still fails: status 500$/],
  ['exception', failing(new TypeError('on purpose')), status(404), 'failing', /^The page still fails: status 404$/],
  [
    'exception',
    failing(new HttpError(404, 'Not here')),
    failing(new TypeError('x')),
    'failing',
    /^The page still fails: TypeError/,
  ],
]

t.test('a fix is judged by the replay of a real request', async t => {
  let page: Page = () => shown()
  const { client } = await createProfiledKernel(t, {
    register: app => void app.routes.add({ name: 'page', path: '/page', controller: () => page(app) }),
  })
  const verdicts: string[] = []
  for (const [flaw, before, after, state, text] of pairs) {
    page = before
    const token = String((await client.get('/page')).headers.get('x-debug-token'))
    page = after
    const answer = await client.post(`/_profiler/${token}/verify`, { ...ours, form: { flaw } })
    const verdict = JSON.parse(answer.text)
    if (verdict.state !== state || !text.test(verdict.text))
      verdicts.push(`${verdict.state} ${verdict.text}, not ${state} ${text}`)
  }
  t.strictSame(verdicts, [])
})

/** A rule about the time that a response names, and an application whose responses name one time after another. */
function createTimed(times: number[]) {
  const rule: FindingRule = {
    name: 'timed',
    title: 'Slow part',
    find: profile =>
      timeOf(profile) < 100
        ? []
        : [{ severity: 'warning', problem: 'It is slow.', advice: 'Hurry.', evidence: { time: timeOf(profile) } }],
    measure: { unit: 'ms', read: (_, profile) => timeOf(profile) },
  }
  const timeOf = ({ data }: InspectedProfile) => {
    const { headers = [] } = Object(data.response) as { headers?: readonly (readonly [string, string])[] }
    return Number(new Map(headers).get('x-time'))
  }
  const answer = () => {
    const time = times.shift()
    if (time === undefined) throw new TypeError('on purpose')
    return Response.text('', { headers: { 'x-time': String(time) } })
  }
  return { rule, answer, times }
}

t.test('a time is fixed if it is less in three of three replays', async t => {
  const { answer, rule, times } = createTimed([])
  const { client } = await createProfiledKernel(t, {
    register: ({ findingRules }) => void findingRules.push(rule),
    handlers: { '/timed': answer },
  })
  const verify = async (...values: readonly number[]) => {
    times.splice(0, Infinity, ...values)
    const token = String((await client.get('/timed')).headers.get('x-debug-token'))
    const response = await client.post(`/_profiler/${token}/verify`, { ...ours, form: { flaw: 'timed.0' } })
    return JSON.parse(response.text)
  }
  t.match(await verify(300, 400, 10, 20), { state: 'present', text: /^Still there in 1 of 3 replays: 300 ms → 20 ms/ })
  const fixed = await verify(300, 30, 10, 20)
  t.match(fixed, { state: 'fixed', text: /^Fixed: 300 ms → 20 ms, request / })
  t.match(
    fixed.proof,
    /^Slow part\nBefore +300 ms +\S+ m?s\nReplay 1 +30 ms +\S+ m?s\nReplay 2 +10 ms .*\nReplay 3 +20 ms .*s$/,
  )
  t.equal(times.length, 0)
  t.match(await verify(300, 10, 400, 350), {
    state: 'present',
    text: /^Still there in 2 of 3 replays: 300 ms → 350 ms/,
  })
  t.match(await verify(300, 150, 140, 160), { state: 'present', text: /^Less, but still there: 300 ms → 150 ms/ })
  t.match(await verify(105, 90, 95, 99), { state: 'present', text: /^Hardly less: 105 ms → 95 ms/ })
  t.match(await verify(300, 10), { state: 'failing', text: /^The page now fails: TypeError/ })
})

t.test('an exception is fixed if no replay fails', async t => {
  const inspector = new Inspector([])
  const [exception, location] = ['TypeError', { response: { headers: [['location', '/login']] } }]
  const failed = () => createProfile({}, { exception, status: 500 })
  const done = () => createProfile({})
  const judge = (first: ReturnType<typeof createProfile>, ...others: ReturnType<typeof createProfile>[]) => {
    const [flaw] = listFlaws(failed(), [])
    assert(flaw)
    return judgeFix(flaw, [failed()], [first, ...others], inspector)
  }
  t.match(judge(done(), failed(), failed()), {
    state: 'present',
    text: /^Still there, TypeError, status 500: request /,
  })
  t.match(judge(done(), done(), failed()), { state: 'present' })
  t.match(judge(done(), done(), done()), { state: 'fixed', text: /^Fixed: 500 → 200, / })
  t.match(judge(done(), createProfile(location, { status: 302 }), done()), {
    state: 'doubtful',
    text: /^Fixed, but the response redirects to \/login: /,
  })
})

t.test('a failure is not fixed by a redirect of a replay without the cookie of its request', async t => {
  let controller = failing(new TypeError('on purpose'))
  const { client } = await createProfiledKernel(t, {
    register: app =>
      void app.routes.add({
        name: 'account',
        path: '/account',
        controller: ({ cookies }) => (cookies.has('session') ? controller(app) : Response.redirect('/login')),
      }),
  })
  const response = await client.get('/account', { headers: { cookie: 'session=abc' } })
  const token = String(response.headers.get('x-debug-token'))
  const verify = async (headers: Readonly<Record<string, string>> = {}) => {
    const request = { headers: { ...ours.headers, ...headers }, form: { flaw: 'exception' } }
    return JSON.parse((await client.post(`/_profiler/${token}/verify`, request)).text)
  }
  const text = 'Not known, the replay had no header cookie: status 302 to /login'
  t.match(await verify(), { state: 'unsure', text })
  t.match(await verify({ cookie: 'session=def' }), { state: 'present' })
  controller = () => shown()
  t.match(await verify({ cookie: 'session=def' }), { state: 'fixed' })
})

t.test('a replay without the cookie of its request says nothing about a page behind a login', async t => {
  const { client } = await createProfiledKernel(t, {
    handlers: {
      '/account': ({ cookies }) =>
        cookies.has('session') ? Response.text(String(cookies.has('session'))) : Response.redirect('/login'),
    },
    register: ({ findingRules }) =>
      void findingRules.push({
        ...rule,
        find: profile => (profile.summary.status === 200 ? rule.find({ ...profile, data: { flaws: 'a' } }) : []),
      }),
  })
  const response = await client.get('/account', { headers: { cookie: 'session=abc' } })
  const token = String(response.headers.get('x-debug-token'))
  const verify = async (headers: Readonly<Record<string, string>>) => {
    const answer = await client.post(`/_profiler/${token}/verify`, {
      headers: { ...ours.headers, ...headers },
      form: { flaw: 'n.0' },
    })
    return JSON.parse(answer.text)
  }
  t.match(await verify({}), {
    state: 'unsure',
    text: 'Not known, the replay had no header cookie: status 302 to /login instead of status 200',
  })
  t.match(await verify({ cookie: 'session=def' }), { state: 'present' })
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
  t.strictSame(sent, Array(4).fill('session=abc Basic abc'))
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
    const profiler = { whenStored: async () => undefined } as never
    const request = createRequest('/_profiler/00000a/verify', { method: 'POST', form: { flaw: 'exception' } } as never)
    request.formData = async () => new Map([['flaw', 'exception']]) as never
    const response = await verifyFix('00000a', request, { ...app, inspector, profiler, replayer, storage })
    return JSON.parse(String(response.body))
  }
  t.match(await verify({ problem: 'Too late.' }), { state: 'unsure', text: 'Too late.' })
  t.match(await verify({ token: 'ffffff' }), { state: 'unsure', text: 'The profile of the replay was not stored.' })
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
  const report = (...problems: readonly { message: string; file?: string; line?: number }[]) =>
    signals.emit('sources.broken', { problems, served: 'older' })
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
