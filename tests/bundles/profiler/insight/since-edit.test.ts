import assert from 'node:assert'
import fc from 'fast-check'
import type { FindingRule } from 'sinfonietta/profiler'
import { t } from 'tap'
import { compareTimes } from '#bundles/profiler/insight/durations.ts'
import { Inspector } from '#bundles/profiler/insight/findings/inspector.ts'
import { showProfile } from '#bundles/profiler/insight/relatives.ts'
import { describeTimes, listClaims } from '#bundles/profiler/insight/since-edit.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { createRecord, type RecordInit } from '#tests/support/create-profile.ts'

const minute = 60_000
const noon = Date.parse('2026-11-20T12:00:00Z')

/** A rule that finds as many flaws as the profile was recorded with. */
const flaws: FindingRule = {
  name: 'flaws',
  title: 'Flaw',
  find: ({ data }) =>
    Array.from({ length: Number(data.flaws ?? 0) }, (_, index) => {
      const values = { name: `part ${index}` }
      return { severity: 'warning', problem: '{name} is wrong.', values, advice: 'Correct it.', evidence: {} }
    }),
}

/** A store, and the function that shows the request that is added last. Times are in minutes after noon. */
function createStore(edits: readonly (readonly [minutes: number, ...files: string[]])[]) {
  const storage = new MemoryProfileStorage()
  const facts = edits.map(([minutes, ...files]) => ({ time: noon + minutes * minute, files }))
  const inspector = new Inspector([flaws])
  let count = 0
  const add = (minutes: number, init: RecordInit = {}) => {
    const token = (0xa00000 + count++).toString(16)
    const time = noon + minutes * minute
    // The process knows the edits until then.
    const server = { edits: facts.filter(edit => edit.time <= time) }
    storage.append(createRecord({ token, time, ...init }), JSON.stringify({ server, ...init.processData }))
    return token
  }
  const show = async (minutes: number, init: RecordInit = {}) => {
    const stored = await storage.find(add(minutes, init))
    assert(stored)
    return (await showProfile(stored, storage, inspector)).sinceEdit
  }
  const showWithout = async (minutes: number) => {
    const stored = await storage.find(add(minutes))
    assert(stored)
    // Other profiles were removed after the search.
    const gone = new Proxy(storage, {
      get: (target, name) => (name === 'find' ? async () => undefined : Reflect.get(target, name).bind(target)),
    })
    return (await showProfile(stored, gone, inspector)).sinceEdit
  }
  return { add, show, showWithout }
}

const headersOf = (...headers: readonly (readonly [string, string])[]) => ({ response: { headers } })

t.test('without an edit, or without a request before it, there is nothing to compare with', async t => {
  t.equal(await createStore([]).show(1), undefined)
  const { add, show } = createStore([[5, 'shop.ts']])
  t.equal(await show(6), undefined)
  add(1, { route: 'other', url: 'http://localhost:8000/other' })
  t.equal(await show(7), undefined)
})

t.test('a request is compared with the last similar ones before the edit', async t => {
  const { add, show } = createStore([
    [2, 'old.ts'],
    [5, 'bundles/shop.ts', 'b.ts'],
    [6, 'templates/a.hbs'],
    [6.5, 'b.ts'],
  ])
  add(1, { duration: 900, queries: 9 })
  add(3, { duration: 100, queries: 31, isCold: true })
  const before = add(4, { duration: 120, queries: 31 })
  const found = await show(7, { duration: 30, queries: 2 })
  assert(found)
  t.strictSame(found.files, ['b.ts', 'templates/a.hbs', 'bundles/shop.ts'], 'each once, the latest first')
  t.equal(found.time, noon + 6.5 * minute)
  t.hasStrict(found.before, { token: before })
  t.equal(found.isSameUrl, true)
  t.equal(found.times.before.count, 1, 'only of the version before the edit, without its cold first')
  const change = { name: 'Queries', before: '31', now: '2', text: '29 queries fewer', tone: 'ok' }
  t.strictSame(found.changes, [change])
  t.strictSame(listClaims(found), [change])
  t.match(describeTimes(found.times), { name: 'Time', before: '120 ms', now: '30 ms', text: /too few warm requests/ })
})

t.test('the same URL comes first, then the same route', async t => {
  const { add, show } = createStore([[5, 'shop.ts']])
  const product = (id: number) => ({ url: `http://localhost:8000/products/${id}`, route: 'product' })
  const first = add(1, product(1))
  const second = add(2, product(2))
  t.match(await show(6, product(1)), { isSameUrl: true, before: { token: first } })
  t.match(await show(7, product(3)), { isSameUrl: false, before: { token: second } })
})

t.test('status, exception, findings, counts, headers and size are compared', async t => {
  const { add, show } = createStore([[5, 'shop.ts']])
  const old = { 'cache-control': 'no-cache', etag: '"1"', 'x-old': 'yes' }
  const current = { 'cache-control': 'max-age=60', etag: '"2"', vary: 'Cookie' }
  add(1, { size: 1000, errors: 1, data: { flaws: 2, ...headersOf(...Object.entries(old)) } })
  const found = await show(6, {
    ...{ status: 500, exception: 'TypeError', size: 3000, calls: 2, errors: 0 },
    data: headersOf(...Object.entries(current)),
  })
  t.strictSame(
    found?.changes.map(({ before, name, now, text, tone }) => `${name}: ${before} → ${now} (${text}) ${tone}`),
    [
      'Answer: 200 → 500 TypeError (200 → 500 TypeError) error',
      'Logged errors: 1 → 0 (1 logged error fewer) ok',
      'HTTP client calls: 0 → 2 (2 HTTP client calls more) warning',
      'cache-control: no-cache → max-age=60 (cache-control changed) plain',
      'x-old: yes → – (x-old removed) plain',
      'vary: – → Cookie (vary added) plain',
      'Size: 1000 B → 2.9 KiB (2.0 KiB more) plain',
    ],
  )
  const mended = await show(7, { size: 1000, errors: 1, data: { flaws: 3, ...headersOf(...Object.entries(old)) } })
  t.strictSame(
    mended?.changes.map(({ text }) => text),
    ['new: Flaw'],
    'the status is that before the edit',
  )
  const { add: fail, show: mend } = createStore([[5, 'shop.ts']])
  fail(1, { status: 500, exception: 'TypeError', data: headersOf(['x-debug-exception', 'x']) })
  t.match(await mend(6), { changes: [{ name: 'Answer', tone: 'ok' }] }, 'the headers of an error page are not compared')
  t.match(await mend(7, { status: 302 }), { changes: [{ name: 'Answer', tone: 'ok' }] })
  const { add: answer, show: redirect } = createStore([[5, 'shop.ts']])
  answer(1)
  t.match(await redirect(6, { status: 302 }), { changes: [{ name: 'Answer', tone: 'warning' }] })
  t.match(await redirect(7, { status: 0 }), { changes: [{ now: 'no response', tone: 'error' }] })
  const { add: large, show: shrink } = createStore([[5, 'shop.ts']])
  large(1, { size: 3000 })
  t.match(await shrink(6, { size: 1000 }), { changes: [{ name: 'Size', text: '2.0 KiB less' }] })
  const { add: unmeasured, show: measure } = createStore([[5, 'shop.ts']])
  unmeasured(1, { size: null })
  t.strictSame((await measure(6, { size: 1000 }))?.changes, [])
  const { add: remove, showWithout } = createStore([[5, 'shop.ts']])
  remove(1, { data: { flaws: 1 } })
  t.strictSame((await showWithout(6))?.changes, [])
})

/** A request with a listener that took these milliseconds of the whole. */
const slow = (listener: number, duration: number, name = 'PriceListener.onRequest'): RecordInit => ({
  duration,
  data: {
    events: {
      spans: [
        [null, 'kernel.request', 0, listener * 1000],
        [0, name, 0, listener * 1000],
      ],
    },
  },
  processData: { events: { listeners: [{ event: 'kernel.request', name, priority: 0, site: 'prices.ts:12' }] } },
})

t.test('a slow listener is not fixed because something else got slower', async t => {
  const { add, show } = createStore([[5, 'prices.ts']])
  for (const minutes of [1, 2, 3]) add(minutes, slow(140, 612))
  for (const minutes of [6, 7]) add(minutes, slow(140, 1050))
  t.strictSame((await show(8, slow(140, 1050)))?.changes, [])
})

t.test('a time is new or fixed if its file was edited and three requests before and three since agree', async t => {
  const changesOf = async (file: string, before: readonly number[], now: readonly number[]) => {
    const { add, show } = createStore([[5, file]])
    for (const [index, time] of before.entries()) add(1 + index, slow(time, time + 160))
    const [last = 0, ...earlier] = now.toReversed()
    for (const [index, time] of earlier.toReversed().entries()) add(6 + index, slow(time, time + 160))
    return (await show(9, slow(last, last + 160)))?.changes.map(({ before, now, text }) => `${text} ${before} → ${now}`)
  }
  t.strictSame(await changesOf('prices.ts', [140, 150, 160], [30, 90, 40]), ['fixed: Slow listener 150 ms → 40 ms'])
  t.strictSame(await changesOf('prices.ts', [140, 150, 160], [30, 200, 40]), [], 'not all since')
  t.strictSame(await changesOf('other.ts', [140, 150, 160], [30, 30, 40]), [], 'the listener is as before')
  t.strictSame(await changesOf('prices.ts', [140, 150], [30, 30, 40]), [], 'too few before')
  t.strictSame(await changesOf('prices.ts', [140, 150, 160], [30, 40]), [], 'too few since')
  t.strictSame(await changesOf('prices.ts', [140, 90, 160], [30, 30, 40]), [], 'not all before')
  t.strictSame(await changesOf('prices.ts', [105, 105, 105], [95, 95, 95]), [], 'hardly less')
  t.strictSame(await changesOf('prices.ts', [30, 30, 40], [140, 150, 160]), ['new: Slow listener 30 ms → 150 ms'])
  t.strictSame(await changesOf('prices.ts', [95, 95, 95], [105, 105, 105]), [])
})

t.test('a time is judged by the latest warm requests', async t => {
  const changesOf = async (coldBefore: readonly number[], coldNow: readonly number[], count: number) => {
    const { add, show } = createStore([[50, 'prices.ts']])
    for (let index = 0; index < count; index++) add(index, { ...slow(140, 300), isCold: coldBefore.includes(index) })
    for (let index = 1; index < count; index++) add(50 + index, { ...slow(30, 190), isCold: coldNow.includes(index) })
    return (await show(90, slow(30, 190)))?.changes.map(({ text }) => text)
  }
  const fixed = ['fixed: Slow listener']
  t.strictSame(await changesOf([], [], 3), fixed)
  t.strictSame(await changesOf([2], [], 3), [], 'a cold one of three before')
  t.strictSame(await changesOf([], [1], 3), [], 'a cold one of three since')
  t.strictSame(await changesOf([7], [7], 8), fixed, 'seven warm ones, and a cold one later')
})

t.test('a finding of a page that now fails is not fixed', async t => {
  const { add, show } = createStore([[5, 'shop.ts']])
  add(1, { data: { flaws: 2 } })
  const found = await show(6, { status: 500, exception: 'TypeError' })
  t.strictSame(
    found?.changes.map(({ text }) => text),
    ['200 → 500 TypeError'],
  )
  const { add: fill, show: empty } = createStore([[5, 'shop.ts']])
  fill(1, { data: { flaws: 1, response: { size: 9000 } } })
  t.match((await empty(6, { data: { response: { size: 900 } } }))?.changes, [{ text: 'gone: Flaw', tone: 'plain' }])
})

t.test('headers are compared with requests that had the same cookies, without the cookies of the response', async t => {
  const { add, show } = createStore([[5, 'shop.ts']])
  const exchange = (cookies: string, ...headers: readonly (readonly [string, string])[]) => ({
    data: { request: { headers: [['cookie', cookies]] }, response: { headers } },
  })
  add(1, exchange('theme=dark', ['vary', 'Cookie']))
  add(2, exchange('theme=dark; session=******', ['x-user', 'known']))
  const changesOf = async (...init: Parameters<typeof exchange>) =>
    (await show(6, exchange(...init)))?.changes.map(({ text }) => text)
  t.strictSame(await changesOf('theme=dark', ['set-cookie', 'session=******; HttpOnly; SameSite=Lax']), [
    'vary removed',
  ])
  t.strictSame(await changesOf('theme=dark; session=******', ['x-user', 'known']), [])
  t.strictSame(await changesOf('', ['x-new', 'yes']), [], 'a new browser')
})

t.test('headers and sizes are compared with requests that have asked for the same', async t => {
  const headers = [['content-encoding', 'gzip']]
  const exchange = (fields: object, vary: string, response: object = {}) => ({
    size: Object.keys(response).length > 0 ? 900 : 9000,
    data: {
      request: { headers: Object.entries(fields), ...fields },
      response: { headers: [['vary', vary]], ...response },
    },
  })
  const asked: readonly (readonly [before: object, now: object, vary: string])[] = [
    [{}, { 'accept-encoding': 'gzip' }, 'Origin'],
    [{ accept: 'text/html' }, { accept: '*/*' }, ''],
    [{ 'user-agent': 'curl' }, { 'user-agent': 'a browser' }, 'User-Agent'],
    [{}, { 'x-team': '1' }, 'Accept,x-TEAM'],
    [{}, { httpVersion: '2' }, ''],
    [{}, { authorization: '******' }, ''],
    [{}, {}, '*'],
    [{ referer: 'http://a/' }, {}, 'Accept'],
  ]
  const found = asked.map(async ([before, now, vary]) => {
    const { add, show } = createStore([[5, 'shop.ts']])
    add(1, exchange(before, vary))
    const fields = [['vary', vary], ...headers]
    return (await show(6, exchange(now, vary, { headers: fields })))?.changes.map(({ text }) => text)
  })
  const changed = ['content-encoding added', '7.9 KiB less']
  t.strictSame(await Promise.all(found), [[], [], [], [], [], [], [], changed])
})

t.test('a value that requests before the edit had, too, is no change', async t => {
  const { add, show } = createStore([[5, 'shop.ts']])
  add(1, { queries: 51, status: 304, size: 100, data: { flaws: 1, ...headersOf(['x-time', '1']) } })
  add(2, { queries: 2, data: { ...headersOf(['x-time', '2']) } })
  const found = await show(6, {
    queries: 30,
    status: 304,
    size: 100,
    data: { flaws: 1, ...headersOf(['x-time', '3']) },
  })
  t.strictSame(found?.changes, [])
})

t.test('a response that says "not modified" is no change of the page', async t => {
  const { add, show } = createStore([[5, 'shop.ts']])
  add(1, { status: 200, size: 9000, data: headersOf(['content-type', 'text/html']) })
  t.match(await show(6, { status: 304, size: 0, queries: 2, data: headersOf() }), { changes: [{ name: 'Queries' }] })
  add(2, { status: 304, size: 0, data: headersOf(['vary', 'Cookie']) })
  t.strictSame(
    (await show(7, { status: 200, size: 9000, data: headersOf(['content-type', 'text/html']) }))?.changes,
    [],
  )
  t.match(await show(8, { status: 500 }), { changes: [{ name: 'Answer', text: '304 → 500' }] })
})

/** Requests with these durations, the latest first. The earliest one is cold. */
const requestsOf = (durations: readonly number[]) =>
  durations.map((duration, index) => ({ duration, isCold: index === durations.length - 1 }))

t.test('times are compared when there are enough of them, and have changed if most of them are apart', async t => {
  const times = (before: readonly number[], now: readonly number[]) =>
    describeTimes(compareTimes(requestsOf(before), requestsOf(now))).text
  const slow = [100, 101, 102, 103, 104, 300]
  t.equal(times(slow, [30, 31, 32, 33, 200]), '−70 %')
  t.equal(times([30, 31, 32, 33, 34, 90], slow), '+219 %')
  const unsteady = [30, 31, 32, 33, 34, 35, 36, 37, 38, 300, 90]
  t.equal(times(unsteady, [60, 61, 62, 63, 64, 200]), '+82 %', 'one of ten is unusual')
  t.equal(times(slow, [30, 31, 32, 200]), 'too few warm requests to compare: 5 of 5 before the edit, 3 of 4 since')
  t.equal(times(slow, [106, 105, 107, 108, 109]), 'within the usual spread (100 ms to 104 ms)', 'below 5 %')
  t.equal(times([1, 1, 1, 1, 1, 1], [2, 2, 2, 2, 2, 2]), 'within the usual spread (1.0 ms to 1.0 ms)', 'below 2 ms')
  t.equal(times([100, 110, 50, 60, 70, 1], [120, 90, 55, 130, 140, 1]), 'within the usual spread (50 ms to 110 ms)')
})

t.test('cold requests are no slower code: they do not count, and are shown only while there are no others', async t => {
  const { add, show } = createStore([[50, 'shop.ts']])
  for (let minute = 0; minute < 10; minute++) add(minute, { duration: 10 + minute / 10, isCold: minute < 3 })
  const cold = await show(60, { duration: 90, isCold: true })
  assert(cold)
  t.strictSame(listClaims(cold), [])
  t.match(describeTimes(cold.times), {
    now: '90 ms',
    text: 'too few warm requests to compare: 5 of 5 before the edit, 0 of 4 since',
    tone: 'plain',
  })
  for (const minute of [61, 62, 63, 64]) await show(minute, { duration: 40, isCold: true })
  for (const minute of [65, 66, 67]) await show(minute, { duration: 10 })
  const warm = await show(68, { duration: 11 })
  assert(warm)
  t.match(describeTimes(warm.times), { now: '10 ms', text: 'within the usual spread (10 ms to 11 ms)' })
})

t.test('durations of one distribution rarely count as a change', t => {
  const duration = fc.integer({ min: 10, max: 400 })
  let changes = 0
  let compared = 0
  const sample = fc.array(duration, { minLength: 5, maxLength: 30 })
  fc.assert(
    fc.property(sample, sample, (before, now) => {
      const { change } = compareTimes(requestsOf(before), requestsOf(now))
      compared++
      if (change === 'faster' || change === 'slower') changes++
    }),
    { numRuns: 3000, seed: 19 },
  )
  t.ok(changes / compared < 0.03, `${changes} of ${compared}`)
  fc.assert(
    fc.property(fc.array(duration, { minLength: 1, maxLength: 30 }), durations => {
      const requests = requestsOf(durations)
      return ['usual', 'unknown'].includes(compareTimes(requests, requests).change)
    }),
  )
  t.end()
})

t.test('the latest similar requests are compared', async t => {
  const { add, show } = createStore([[900, 'shop.ts']])
  for (let index = 0; index < 1000; index++) add(index, { queries: index < 900 ? 5 : 3 })
  t.match(await show(1000, { queries: 3 }), {
    changes: [{ text: '2 queries fewer' }],
    times: { before: { count: 20 } },
  })
})
