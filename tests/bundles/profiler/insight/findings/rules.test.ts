import type { FindingRule } from 'sinfonietta/profiler'
import { t } from 'tap'
import { judgeFix, listFlaws } from '#bundles/profiler/insight/compare/judge-fix.ts'
import {
  linkToFinding,
  splitSentence,
  toBadge,
  writeAdvice,
  writeProblem,
} from '#bundles/profiler/insight/findings/finding.ts'
import { findFindings, Inspector } from '#bundles/profiler/insight/findings/inspector.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { createProfile, type ProfileInit } from '#tests/support/create-profile.ts'

const find = (data: Profile['data'], init?: ProfileInit) => findFindings(createProfile(data, init))
const rulesOf = (...values: Parameters<typeof find>) => find(...values).map(({ rule }) => rule)
const problemOf = (...values: Parameters<typeof find>) =>
  find(...values)
    .map(writeProblem)
    .join('\n')

/** Creates calls to different URLs, each with its start and duration in milliseconds. */
const calls = (...periods: readonly (readonly [start: number, duration: number])[]) => ({
  calls: periods.map(([start, duration], index) => ({
    method: 'GET',
    url: `http://a/${'x'.repeat(index + 1)}`,
    start,
    end: start + duration,
    status: 200,
  })),
})

const sequence = (http: object, more: object = {}) => find({ http, ...more }, { duration: 1000 })

t.test('calls are in sequence if each begins after the previous one, in the same listener', async t => {
  t.hasStrict(sequence(calls([0, 30], [40, 60], [110, 30])), [
    { rule: 'sequential-calls', place: { anchor: 'call-1' }, evidence: { count: 3, time: 120, saving: 60 } },
  ])
  const caller = { file: 'shop/stock.ts', line: 7 }
  const { calls: located } = calls([0, 90], [100, 90])
  t.match(sequence({ calls: located.map(call => ({ ...call, caller })) }), [
    { advice: /with Promise\.all\(\): \{place-0\}\.$/, values: { 'place-0': 'shop/stock.ts:7' }, code: caller },
  ])
  t.strictSame(sequence(calls([0, 40], [50, 40])), [], 'there is little to save')
  t.strictSame(sequence(calls([0, 90], [10, 90])), [], 'side by side')
  t.hasStrict(sequence(calls([0, 90], [10, 100], [120, 80], [210, 80])), [{ evidence: { count: 2, time: 160 } }])
  t.strictSame(sequence(calls([0, 90], [1000, 90])), [], 'late calls delay no client')
  const spans = [
    [null, 'kernel.request', 0, 300_000],
    [0, 'one', 0, 99_000],
    [0, 'other', 99_000, null, 0],
  ]
  t.strictSame(sequence(calls([10, 80], [110, 80]), { events: { spans } }), [], 'by two listeners')
  t.hasStrict(sequence(calls([110, 80], [210, 80]), { events: { spans } }), [{ evidence: { count: 2 } }])
})

t.test('a call to which another was redirected is a part of it', async t => {
  const hop = (url: string, start: number, location?: string, more: object = {}) => ({
    ...{ method: 'GET', url: `http://a${url}`, start, head: start + 90, end: start + 100 },
    ...(location === undefined ? { status: 200 } : { status: 302, response: { headers: [['Location', location]] } }),
    ...more,
  })
  const alone: Record<string, object[]> = {
    'an absolute address': [hop('/old', 0, 'http://a/new'), hop('/new', 100)],
    'a path': [hop('/old', 0, '/new?token=******#part'), hop('/new?token=1', 101)],
    'a relative path': [hop('/shop/old', 0, 'new'), hop('/shop/new', 100)],
    'two redirects': [hop('/old', 0, '/newer'), hop('/newer', 100, '/new'), hop('/new', 200)],
    'the same address, with a cookie': [hop('/old', 0, '/old'), hop('/old', 100)],
    'before the body has ended': [hop('/old', 0, '/new'), hop('/new', 95)],
    'an address that is not known': [hop('/old', 0, '', { response: undefined }), hop('/new', 100)],
    'of a call that writes': [
      hop('/old', 0, '/new', { method: 'POST', status: 303 }),
      hop('/new', 100),
      hop('/b', 200),
    ],
  }
  for (const [name, calls] of Object.entries(alone)) t.strictSame(sequence({ calls }), [], name)
  const two = [hop('/old', 0, '/new'), hop('/new', 100), hop('/b', 200)]
  const evidence = { count: 2, time: 300, saving: 100 }
  t.hasStrict(sequence({ calls: two }), [{ place: { anchor: 'call-2' }, evidence }], 'the next call is another')
  for (const [name, calls] of Object.entries({
    'another address': [hop('/old', 0, '/new'), hop('/b', 100)],
    'no address': [hop('/old', 0, 'http://['), hop('/b', 100)],
    'not modified': [hop('/old', 0, '/b', { status: 304 }), hop('/b', 100)],
  }))
    t.hasStrict(sequence({ calls }), [{ evidence: { count: 2 } }], name)
})

t.test('Node.js warns at the eleventh listener, and the line of a helper is named with that of its caller', async t => {
  const site = { file: 'helper.js', line: 3, callers: [{ file: 'page.js', line: 9 }] }
  const message = 'Possible EventEmitter memory leak detected. 11 change listeners added to [EventEmitter].'
  const records = [{ at: 10, level: 'warning', channel: 'listeners', message, site }]
  const [finding] = find({ logger: { records } })
  t.match(finding && writeProblem(finding), 'EventEmitter has at least 11 listeners of change')
  t.match(finding && writeAdvice(finding), 'helper.js:3, page.js:9')
})

t.test('similar calls differ in an identifier, or in a value of the query', async t => {
  const five = (url: (index: number) => string, changes: object = {}) =>
    rulesOf({
      http: {
        calls: Array.from({ length: 5 }, (_, index) => ({
          ...{ method: 'GET', url: url(index), start: 0, end: 1, status: 200 },
          ...changes,
        })),
      },
    })
  const found = ['repeated-calls']
  t.strictSame(
    five(index => `http://a/items/${index}`),
    found,
  )
  t.strictSame(
    five(index => `http://a/items/${index}/parts?full`),
    found,
  )
  t.strictSame(
    five(index => `http://a/items/0000000${index}-aaaa-bbbb-cccc-123456789abc`),
    found,
  )
  t.strictSame(
    five(index => `http://a/blobs/${String(index).repeat(40)}`),
    found,
  )
  t.strictSame(
    five(index => `http://a/items?id=${index}&full=1`),
    found,
  )
  t.strictSame(
    five(index => `http://a/items?id${index}`),
    [],
    'another name',
  )
  t.strictSame(
    five(index => `http://1000${index}/items`),
    [],
    'another host',
  )
  t.strictSame(
    five(index => `http://a/page-${index}`),
    [],
  )
  for (const changes of [{ status: 503 }, { status: 429 }, { error: 'x' }, { end: undefined }, { method: 'PUT' }]) {
    t.strictSame(
      five(() => 'http://a/', changes),
      'error' in changes ? ['failed-call'] : [],
      JSON.stringify(changes),
    )
  }
})

t.test('a slow listener takes a least time, whatever the rest of its request takes', async t => {
  const slow = (spans: readonly unknown[], duration = 200) => find({ events: { spans } }, { duration })
  const call = (name: string, duration: number | null) => [0, name, 0, duration]
  const request = [null, 'kernel.request', 0, 150_000]
  t.hasStrict(slow([request, call('SlowListener.onRequest', 150_000)]), [
    { rule: 'slow-listener', place: { panel: 'events', anchor: 'span-1' }, evidence: { time: 150, duration: 200 } },
  ])
  const listeners = [{ event: 'kernel.request', name: 'SlowListener.onRequest', priority: 0, site: 'shop/geo.ts:12' }]
  const spans = [request, call('SlowListener.onRequest', 150_000)]
  const [located] = find({ events: { spans } }, { duration: 200, processData: { events: { listeners } } })
  t.strictSame(located?.code, { file: 'shop/geo.ts', line: 12 })
  t.strictSame(slow([request, call('Quick', 99_000)]), [])
  t.hasStrict(slow([request, call('Slow', 150_000)], 8000), [{ rule: 'slow-listener' }], 'beside something slower')
  t.strictSame(slow([request, call('NeverOver', null)]), [])
  // Of 150 ms, the process has not run for 140, or for 30.
  const stopped = (cpu: number) => {
    const memory = { blocks: [{ start: 0, duration: 150, cpu, by: '', isAlone: true }] }
    return find({ events: { spans: [request, call('Stopped', 150_000)] }, memory }).map(
      ({ evidence }) => evidence?.time,
    )
  }
  t.strictSame([stopped(10), stopped(120)], [[], [150]])
  t.strictSame([stopped(60), stopped(110)], [[], [110]], 'its time is that of the overview')
  const rulesOfListener = (changes: object) =>
    find(
      { events: { spans: [request, call('CorsListener.onRequest', 150_000)] } },
      { processData: { events: { listeners: [{ ...listeners[0], name: 'CorsListener.onRequest', ...changes }] } } },
    ).map(({ rule }) => rule)
  t.strictSame(rulesOfListener({}), ['slow-listener'], 'the name is that of a listener of the framework')
  t.strictSame(rulesOfListener({ bundle: 'framework' }), [])
  t.strictSame(slow([[null, 'kernel.terminate', 0, 150_000], call('Mailer', 150_000)]), [])
  const ofServer = (...spans: readonly unknown[]) =>
    find({ events: { spans, places: [[1, 'app.js:3']] } }, { duration: 400 })
  const middleware = [
    ['phase', 'middleware', 0, 150_000],
    ['function', 'session', 0, 150_000, 0],
  ]
  const handler = [
    ['phase', 'handler', 150_000, 200_000],
    ['function', 'showUser', 150_000, 200_000, 2],
  ]
  t.hasStrict(ofServer(...middleware, ...handler), [
    { rule: 'slow-listener', values: { listener: 'session', event: 'middleware' }, code: { file: 'app.js', line: 3 } },
  ])
  t.strictSame(ofServer(...middleware), [], 'without a handler, it may be the function that answers')
  const nested = [request, call('Outer', 150_000), [null, 'a.b', 0, 140_000, 1], [0, 'Inner', 0, 140_000, 2]]
  t.hasStrict(slow(nested), [{ values: { listener: 'Inner', event: 'a.b' } }])
})

t.test('the event loop was blocked by this request, by another one, or by unknown work', async t => {
  const blocked = (...blocks: readonly object[]) => find({ memory: { blocks } })
  const own = (duration: number, cpu: number) => ({ by: 'abc123', duration, cpu, isOwn: true })
  t.hasStrict(blocked(own(200, 200), own(250, 250), own(1000, 99)), [
    { problem: 'This request blocked the event loop for 450 ms.', place: { panel: 'time' }, evidence: { count: 2 } },
  ])
  t.match(blocked(own(3700, 2300)), [{ problem: 'This request blocked the event loop for 3.7 s (2.3 s of CPU time).' }])
  const [other, unknown] = blocked({ by: 'fedcba', duration: 300, cpu: 300 }, { duration: 300, cpu: 300 })
  t.hasStrict(other, { values: { token: 'fedcba' }, place: { panel: 'time', token: 'fedcba' } })
  t.equal(other && linkToFinding(other, 'abc123'), '/_profiler/fedcba?panel=time')
  t.match(unknown?.problem, 'Whose work it was is not known.')
  t.match(blocked({ ...own(300, 300), isOwn: false }), [
    { problem: /, by this request or by work that was not recorded\.$/ },
  ])
})

t.test('a synchronous call that waits blocks the event loop for all of its time, and is named', async t => {
  const spans = [
    [null, 'kernel.request', 0, 900_000],
    [10, 'GeoListener.onRequest', 1000, 810_000, 0],
    [null, 'kernel.controller_arguments', 910_000, 1000],
    [null, 'kernel.response', 1_911_000, 1000],
  ]
  const blocked = (...blocks: readonly object[]) =>
    find({ events: { spans }, memory: { blocks } }).filter(({ rule }) => rule === 'blocked-loop')
  const inListener = { start: 10, duration: 801, cpu: 700, by: 'abc123', isOwn: true }
  t.hasStrict(blocked(inListener), [
    {
      problem: 'This request blocked the event loop for 801 ms, in {name}.',
      values: { name: 'GeoListener.onRequest' },
      place: { panel: 'events', anchor: 'span-1' },
      evidence: { count: 1, time: 801 },
    },
  ])
  const inController = { ...inListener, start: 1000, duration: 911 }
  t.hasStrict(blocked(inController), [
    { values: { name: 'SomeController' }, place: { panel: 'events', anchor: 'controller' } },
  ])
  for (const by of ['abc123', 'fedcba', '']) {
    t.match(
      blocked({ ...inListener, cpu: 4, by }),
      [{ problem: /^The process did not run for 801 ms: /, place: { panel: 'time' }, evidence: { time: 801 } }],
      'a stopped process has no culprit',
    )
  }
  t.strictSame(blocked({ ...inListener, cpu: 90 }), [], 'other programs had the machine')
  const caller = { function: 'show', file: 'shop/show.ts', line: 12 }
  const syncCalls = [{ name: 'execSync', start: 5, duration: 806, caller }]
  t.hasStrict(
    find({ events: { spans: [] }, memory: { blocks: [{ ...inListener, cpu: 4, by: '' }], syncCalls } }),
    [
      {
        rule: 'blocked-loop',
        problem: 'This request blocked the event loop for 801 ms, in {name}.',
        values: { name: 'execSync()' },
        code: { file: 'shop/show.ts', line: 12 },
      },
    ],
    'the call is the cause, and has no other finding',
  )
  const alone = { ...inListener, cpu: 801, by: '', isOwn: false }
  t.match(blocked({ ...alone, isAlone: false }), [
    { problem: 'The event loop was blocked for 801 ms. Whose work it was is not known.' },
  ])
  t.match(blocked({ ...alone, isAlone: true }), [{ problem: /, in \{name\} or in work that was not recorded\.$/ }])
})

t.test(
  'a block in a listener of the framework is not the fault of the application, such as the first error page',
  t => {
    const spans = [
      [null, 'kernel.exception', 0, 900_000],
      [-128, 'ErrorListener.onException', 1000, 810_000, 0],
    ]
    const listener = { name: 'ErrorListener.onException', event: 'kernel.exception', priority: -128, site: 'e.ts:3' }
    const block = { start: 10, duration: 801, cpu: 700, by: 'abc123', isOwn: true }
    const blocked = (isCold: boolean, more: object) => {
      const process = { events: { listeners: [{ ...listener, ...more }] } }
      const profile = createProfile(
        { events: { spans }, memory: { blocks: [block] } },
        { isCold, processData: process },
      )
      return new Inspector([]).inspect(profile).find(({ rule }) => rule === 'blocked-loop')
    }
    const problem = 'The event loop was blocked for 801 ms in {name}, a listener of the framework.'
    t.hasStrict(blocked(true, { bundle: 'framework' }), { severity: 'info', problem, values: { name: listener.name } })
    t.notHas(blocked(true, { bundle: 'framework' }), { code: {} }, 'nothing of it is to be mended')
    t.hasStrict(blocked(false, { bundle: 'framework' }), { severity: 'warning', problem })
    const own = {
      problem: /^This request blocked the event loop/,
      code: { file: 'e.ts', line: 3 },
      severity: 'warning',
    }
    t.match(blocked(true, {}), own, 'of a listener of the application')
    t.end()
  },
)

t.test('work is late if it began after the response, or had not ended', async t => {
  const late = (data: Profile['data']) => find({ late: { since: 10 }, ...data })
  const call = { method: 'POST', url: 'http://a/', start: 9 }
  t.hasStrict(late({ http: { calls: [{ ...call, end: 9 }, { ...call, head: 9 }, call] } }), [
    { problem: 'Work continued after the response was sent: 1 HTTP client call.', place: { anchor: 'call-2' } },
  ])
  const log = (at: number) => ({ at, level: 'info', message: 'late' })
  t.match(late({ logger: { records: [log(9000), log(11_000), log(12_000)] } }), [
    { problem: /for 2\.0 ms: 2 log messages\.$/, place: { panel: 'logger', anchor: 'log-1' } },
  ])
  t.strictSame(late({ logger: { records: [log(9000)] } }), [])
  const aborted = { ...call, end: 30, error: 'aborted', isAborted: true }
  t.strictSame(late({ http: { calls: [aborted, { ...aborted, head: 10 }] } }), [], 'the abort itself is no work')
  t.match(late({ http: { calls: [{ ...aborted, head: 11 }] } }), [{ evidence: { calls: 1 } }])
  t.strictSame(rulesOf({ http: { calls: [call] } }), [])
})

const failure = { method: 'GET', url: 'http://a/', start: 1, end: 3, status: 0, error: 'connect ECONNREFUSED' }

t.test('a call has failed if nothing else in the profile says so', async t => {
  const failed = (data: Profile['data'] = {}, init: ProfileInit = {}, changes: object = {}) =>
    rulesOf({ http: { calls: [{ ...failure, ...changes }] }, ...data }, init).filter(rule => rule === 'failed-call')
  t.strictSame(failed(), ['failed-call'])
  t.strictSame(failed({}, { status: 404 }), ['failed-call'])
  const chain = (message: string) => ({
    exceptions: [{ name: 'Error', message: 'Failed.', frames: [], cause: { name: 'Error', message, frames: [] } }],
  })
  t.strictSame(failed({ exception: chain('connect ECONNREFUSED') }, { status: 404 }), [], 'it is the cause')
  t.strictSame(failed({ exception: chain('another one') }, { status: 404 }), ['failed-call'])
  const log = (at: number, level: string) => ({ logger: { records: [{ at, level, message: 'No rates.' }] } })
  t.strictSame(failed(log(3000, 'warning')), [], 'it is logged')
  t.strictSame(failed(log(3000, 'info')), ['failed-call'])
  t.strictSame(failed(log(2900, 'error')), ['failed-call'], 'logged before')
  for (const init of [{ status: 500 }, { status: 0 }, { outcome: 'aborted' }, { duration: 2 }] as const)
    t.strictSame(failed({}, init), [], JSON.stringify(init))
  t.strictSame(failed({}, {}, { error: 'user left', isAborted: true }), [], 'the application has ended it')
  t.strictSame(failed({}, {}, { error: 'The operation was aborted by the server' }), ['failed-call'])
  const again = { ...failure, start: 4, end: 5, status: 200, error: undefined }
  t.strictSame(failed({ http: { calls: [failure, again] } }), [], 'the second attempt succeeds')
  const besides = { ...again, start: 0 }
  t.strictSame(failed({ http: { calls: [failure, besides] } }), ['failed-call'], 'another one at the same time')
  t.match(problemOf({ http: { calls: [failure, failure] } }), 'GET http://a/ failed 2 times (connect ECONNREFUSED)')
})

t.test('a chain of redirects has two GET requests; without a page it has five', async t => {
  const redirects = (count: number, method = 'GET') =>
    Array.from({ length: count }, (_, index) => ({ token: 'fedcba', status: 302, method, url: `http://a/${index}` }))
  t.hasStrict(find({ redirects: redirects(2) }), [
    { rule: 'redirect-chain', place: { token: 'fedcba' }, values: { chain: '/0 → /1 → /somewhere?q=1' } },
  ])
  t.strictSame(rulesOf({ redirects: redirects(1) }), [])
  t.strictSame(rulesOf({ redirects: [...redirects(1, 'POST'), ...redirects(1)] }), [], 'after a form')
  t.strictSame(rulesOf({ redirects: redirects(4) }, { status: 302 }), [])
  t.strictSame(rulesOf({ redirects: redirects(5) }, { status: 302 }), ['redirect-chain'])
})

t.test('a replay without a finding that only a browser or a new process shows proves no fix', async t => {
  const judge = new Inspector([])
  const log = { at: 1, level: 'warning', channel: 'listeners', message: 'Too many listeners.' }
  const stateOf = (data: Profile['data'], now: Profile['data'] = {}) => {
    const before = createProfile(data)
    const [flaw] = listFlaws(before, judge.inspect(before))
    return flaw && judgeFix(flaw, [before], [createProfile(now)], judge).state
  }
  const missing = { paths: ['/gone.css'] }
  t.equal(stateOf({ missing }), 'unsure')
  t.equal(stateOf({ missing }, { missing }), 'present')
  t.equal(stateOf({ logger: { records: [log] } }), 'unsure')
  t.equal(
    stateOf({ redirects: ['fedcba', 'abcdef'].map(token => ({ token, status: 302, method: 'GET', url: '/' })) }),
    'unsure',
  )
  t.equal(stateOf({ http: { calls: [failure] } }), 'fixed')
})

t.test('a GET that changes the session is an info, a logout by GET a warning', async t => {
  const used = (method: string, init: ProfileInit = {}) =>
    find({ session: { uses: [{ method, trace: ['at node_modules/auth/a.js:1:1', 'at save (shop/b.ts:4:2)'] }] } }, init)
  t.hasStrict(used('set'), [{ rule: 'changed-session', severity: 'info', code: { file: 'shop/b.ts', line: 4 } }])
  t.hasStrict(used('set'), [{ place: { panel: 'request', anchor: 'session' } }])
  t.hasStrict(used('invalidate', { status: 302 }), [{ severity: 'warning', values: { call: 'session.invalidate()' } }])
  for (const init of [{ method: 'POST' }, { status: 303 }]) t.strictSame(used('set', init), [], JSON.stringify(init))
  for (const method of ['get', 'flashes', 'flash']) t.strictSame(used(method), [], method)
})

t.test('a session is unneeded if it is new and stays empty', async t => {
  const time = Date.parse('2026-11-20T23:15:09.042Z')
  const session = { uses: [{ method: 'get' }], metadata: { createdAt: time + 1 }, attributes: {}, flashes: {} }
  t.match(problemOf({ session }), 'The session was used (1 time, first by an unknown caller), but')
  t.hasStrict(find({ session }), [{ place: { panel: 'request', anchor: 'session' } }])
  t.match(
    problemOf({ session: { ...session, uses: [{ method: 'has', trace: ['at a (b.ts:1:2)'] }] } }),
    'first at a (b',
  )
  for (const changes of [
    { metadata: { createdAt: time - 1 } },
    { metadata: undefined },
    { attributes: { a: 1 } },
    { flashes: { a: 1 } },
    { uses: [{ method: 'get' }, { method: 'flash' }] },
    { uses: [] },
  ]) {
    t.strictSame(rulesOf({ session: { ...session, ...changes } }), [], JSON.stringify(changes))
  }
})

const headers = (...pairs: readonly (readonly [string, string])[]) => ({ headers: pairs })

t.test('a page may forbid caching if the request had credentials', async t => {
  const response = headers(['Cache-Control', 'no-store'])
  t.strictSame(rulesOf({ response }), ['uncacheable-response'])
  t.strictSame(rulesOf({ response, request: headers(['cookie', 'a=******']) }), [])
  t.strictSame(rulesOf({ response, request: headers(['authorization', '******']) }), [])
  t.strictSame(rulesOf({ response, session: { useCount: 1 } }), [], 'it used the session')
  t.strictSame(rulesOf({ response: headers(['cache-control', 'no-store'], ['set-cookie', 'a=1']) }), [])
  for (const init of [{ method: 'POST' }, { status: 404 }, { parent: 'fedcba' }, { contentType: null }])
    t.strictSame(rulesOf({ response }, init), [], JSON.stringify(init))
})

t.test('a long text response should be compressed if the client accepts it', async t => {
  const long = (accept: string, response: object = {}, init: ProfileInit = {}) =>
    rulesOf({ request: headers(['accept-encoding', accept]), response: { size: 20_000, ...response } }, init)
  for (const accept of ['gzip', 'deflate, br', '*;q=0, gzip;q=0.5', 'br;q=1.0'])
    t.strictSame(long(accept), ['uncompressed-response'], accept)
  for (const accept of ['', 'identity', 'gzip;q=0', 'br; q=0.00, deflate']) t.strictSame(long(accept), [], accept)
  t.strictSame(rulesOf({ response: { size: 20_000 } }), [])
  t.strictSame(long('gzip', { size: 14_000 }), [])
  t.strictSame(long('gzip', headers(['content-encoding', 'br'])), [])
  t.strictSame(long('gzip', headers(['cache-control', 'private, no-transform'])), [])
  t.strictSame(long('gzip', headers(['vary', 'Accept-Encoding'])), [])
  t.strictSame(long('gzip', {}, { contentType: 'image/png' }), [])
  for (const init of [{ method: 'HEAD' }, { status: 206 }, { parent: 'fedcba' }])
    t.strictSame(long('gzip', {}, init), [])
})

t.test('the required attributes of a cookie depend on its name and the scheme', async t => {
  const flawsOf = (cookie: string, init: ProfileInit = {}) =>
    find({ response: headers(['set-cookie', cookie]) }, init).flatMap(({ evidence }) => evidence.flaws)
  const https = { url: 'https://a/' }
  t.strictSame(flawsOf('theme=******; Path=/'), [])
  t.strictSame(flawsOf('theme=******; Path=/', https), [1])
  t.strictSame(flawsOf('theme=******; Secure', https), [])
  t.strictSame(flawsOf('session=******'), [2])
  t.strictSame(flawsOf('session=******', https), [3])
  t.strictSame(flawsOf('session=******; HttpOnly; samesite=lax'), [])
  t.strictSame(flawsOf('csrf_token=******; SameSite=Strict'), [])
  t.strictSame(flawsOf('theme=******; SameSite=None', https), [1])
  t.strictSame(flawsOf('session=; Max-Age=0'), [])
  t.strictSame(flawsOf('session=; Expires=Thu, 01 Jan 1970 00:00:00 GMT'), [])
  t.strictSame(flawsOf('session=******; Expires=Fri, 01 Jan 2100 00:00:00 GMT'), [2])
  t.strictSame(flawsOf('session=******', { parent: 'fedcba' }), [])
})

t.test('the most severe finding is first; an error of a rule becomes a finding', async t => {
  const rule = (name: string, found: FindingRule['find']): FindingRule => ({ name, title: `The ${name}`, find: found })
  const finding = { problem: 'It is so, {how} and {what}.', values: { how: 'really' }, advice: 'Do.', evidence: {} }
  const findings = findFindings(createProfile({}), [
    rule('much', () => Array.from({ length: 20 }, () => ({ ...finding, severity: 'info' }))),
    rule('broken', () => {
      throw new Error('it is broken')
    }),
    rule('grave', () => [{ ...finding, severity: 'error' }]),
  ])
  t.equal(findings.length, 12)
  const [first] = findings
  t.hasStrict(first, { rule: 'grave', title: 'The grave' })
  t.strictSame(first && splitSentence('problem', first), [
    { text: 'It is so, ', isValue: false },
    { text: 'really', isValue: true },
    { text: ' and ', isValue: false },
    { text: '{what}', isValue: false },
    { text: '.', isValue: false },
  ])
  t.strictSame(toBadge(findings), { text: '12 findings', tone: 'error' })
  t.equal(toBadge([]), undefined)
  t.equal(findings.map(writeProblem).at(-1), 'This check failed: it is broken.')
  t.equal(first && linkToFinding(first, 'abc123'), '/_profiler/abc123?panel=findings')
})
