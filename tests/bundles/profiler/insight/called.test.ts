import { type Test, t } from 'tap'
import { toMarkdown } from '#bundles/profiler/export/markdown.ts'
import { addCalled } from '#bundles/profiler/insight/called.ts'
import { findAdded, judgeFix, listFlaws } from '#bundles/profiler/insight/compare/judge-fix.ts'
import { writeAdvice, writeProblem } from '#bundles/profiler/insight/findings/finding.ts'
import { Inspector } from '#bundles/profiler/insight/findings/inspector.ts'
import { summarizeProfile } from '#bundles/profiler/insight/overview/overview.ts'
import { toPlainText } from '#bundles/profiler/insight/overview/sentence.ts'
import { mainRequests, showProfile } from '#bundles/profiler/insight/relatives.ts'
import { RowFacts } from '#bundles/profiler/insight/search-list.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { readCalled } from '#bundles/profiler/profile/work.ts'
import {
  createProfile,
  createQuery,
  createRecord,
  createStorage,
  keep,
  type RecordInit,
} from '#tests/support/create-profile.ts'
import { hostileTexts } from '#tests/support/hostile-texts.ts'

const begin = Date.parse('2026-11-20T23:15:09.042Z')
const inspector = new Inspector([])

interface Made {
  readonly token: string
  readonly target: string
  readonly start: number
  readonly end: number
  readonly status?: number
}

/** The calls of a program, whose responses have tokens. */
const calls = (...made: readonly Made[]): Profile['data'] => ({
  http: {
    calls: made.map(({ end, start, status = 200, target, token }) => ({
      ...{ client: 'fetch', method: 'GET', url: `http://127.0.0.1:4000${target}`, start, end, head: end, status },
      ...{ caller: { file: 'app.js', line: 7 }, response: { headers: [['x-debug-token', token]] } },
    })),
  },
})

/** A request of a program. Its address is that which its caller knows. */
const made = (program: string, token: string, target: string, init: RecordInit = {}): RecordInit => ({
  ...{ program, token, url: `http://127.0.0.1:4000${target}`, time: begin, duration: 100, route: target },
  ...init,
})

const show = async (...[main, ...others]: readonly RecordInit[]) => {
  const storage = createStorage(...others, main ?? {})
  const stored = await storage.find(main?.token ?? '')
  return stored === undefined ? undefined : showProfile(stored, storage, inspector)
}

/** The findings of the first profile. */
const findingsOf = async (...profiles: readonly RecordInit[]) =>
  ((await show(...profiles))?.findings ?? []).map(finding => `${writeProblem(finding)} ${writeAdvice(finding)}`)

const sentenceOf = async (...profiles: readonly RecordInit[]) => {
  const shown = await show(...profiles)
  return shown && toPlainText(summarizeProfile(shown).sentence)
}

const thrown = (message: string, file = 'stock/list.js') => ({
  exceptions: [{ name: 'TypeError', message, frames: [{ call: 'list', file, line: 24, origin: 'application' }] }],
  excerpts: [],
})

const many = (count: number, targetOf: (index: number) => string): Made[] =>
  Array.from({ length: count }, (_, index) => ({
    token: `${index + 100}aaa`.padStart(6, 'a'),
    target: targetOf(index),
    start: index * 10,
    end: index * 10 + 9,
  }))

const answersOf = (all: readonly Made[], init: RecordInit = {}) =>
  all.map(({ target, token }) => made('stock', token, target, { duration: 8, ...init }))

t.test('repeated calls of a program name it, its route, and the line', async t => {
  const all = many(25, index => `/stock/${index}`)
  const shop = made('shop', 'abc001', '/page', { data: calls(...all), duration: 260 })
  const found = await findingsOf(shop, ...answersOf(all, { route: '/stock/:sku' }))
  t.strictSame(found, [
    'N+1: 25 similar calls to GET http://127.0.0.1:4000/stock/:id, 225 ms in total; stock answered them by its route /stock/:sku. Get all values with one call, if the API supports it: app.js:7.',
  ])
  const [some] = await findingsOf(shop, ...answersOf(all.slice(0, 20), { route: '/stock/:sku' }))
  t.match(some, '; stock answered 20 of them by its route /stock/:sku.', 'others are missing')
  const [none] = await findingsOf(shop)
  t.match(none, /225 ms in total\. Get/)
  const [mixed] = await findingsOf(shop, ...answersOf(all.slice(0, 9)), ...answersOf(all.slice(9), { program: 'new' }))
  t.match(mixed, /225 ms in total\. Get/, 'two programs have answered')
})

t.test('the route of the called program says that names in a path are values', async t => {
  const skus = ['red', 'blue', 'green', 'grey', 'pink', 'gold']
  const all = many(6, index => `/shelf/${skus[index]}/items`)
  const found = async (route: string | null) => {
    const shop = made('shop', 'abc001', '/page', { data: calls(...all), duration: 80 })
    return (await findingsOf(shop, ...answersOf(all, { route })))[0] ?? ''
  }
  for (const route of ['/shelf/:sku/items', '/shelf/{sku}/items', '/shelf/[sku]/items', '/:sku/items'])
    t.match(await found(route), 'N+1: 6 similar calls', route)
  for (const route of ['/shelf/*', '/shelf/:sku*', '/shelf/[...path]', 'shelf', '/other/:sku/items', '/', null])
    t.notMatch(await found(route), 'N+1', String(route))
})

t.test('calls in sequence name the programs that have answered, and claim nothing else', async t => {
  const shop = made('shop', 'abc001', '/page', {
    data: calls(
      { token: 'aaa001', target: '/stock', start: 0, end: 100 },
      { token: 'aaa002', target: '/price', start: 101, end: 190 },
    ),
    duration: 200,
  })
  const [first] = await findingsOf(shop, made('stock', 'aaa001', '/stock'), made('price', 'aaa002', '/price'))
  t.equal(
    first,
    '2 calls ran one after another (stock, then price), 189 ms in total; the longest took 100 ms. If no call needs the response of another, which is not known, start them together and wait with Promise.all(): app.js:7.',
  )
  t.match((await findingsOf(shop, made('stock', 'aaa001', '/stock')))[0], /one after another, 189 ms/)
})

const failing = (status = 500) =>
  made('shop', 'abc001', '/page', {
    data: calls({ token: 'aaa001', target: '/stock/7', start: 0, end: 90, status }),
  })

t.test('the error of a called program is named with its place, over any number of programs', async t => {
  const stock = made('stock', 'aaa001', '/stock/7', {
    ...{ status: 500, exception: 'TypeError', data: { exception: thrown('no shelf') } },
  })
  const call = 'to GET http://127.0.0.1:4000/stock/:id'
  const advice = 'Correct the error in stock, or answer without it where it is called: app.js:7.'
  t.strictSame(await findingsOf(failing(), stock), [
    `stock answered 500 ${call}: TypeError: no shelf (stock/list.js:24). ${advice}`,
  ])
  t.strictSame(
    (await show(failing(), stock))?.findings.map(({ rule }) => rule),
    ['called-error'],
  )
  t.match(
    await sentenceOf(failing(), stock),
    /took 100 ms; stock answered 500 with TypeError at stock\/list\.js:24: no shelf; 1 HTTP client call took 90 ms, in stock\.$/,
  )

  const gate = (status: number, exception = {}) =>
    made('gate', 'aaa001', '/stock/7', {
      status,
      data: { ...calls({ token: 'bbb001', target: '/item/7', start: 0, end: 80, status: 500 }), ...exception },
    })
  const inner = { ...stock, token: 'bbb001', url: 'http://127.0.0.1:4000/item/7', duration: 60 }
  t.strictSame(await findingsOf(failing(502), gate(502), inner), [
    `gate answered 502 ${call} after stock had answered 500: TypeError: no shelf (stock/list.js:24). ${advice}`,
  ])
  t.strictSame(await findingsOf(failing(200), gate(200), inner), [], 'the gate has answered without it')
  t.match(
    await sentenceOf(
      {
        ...failing(502),
        status: 502,
        exception: 'Error',
        data: { ...failing(502).data, exception: thrown('bad', 'a.js') },
      },
      gate(502),
      inner,
    ),
    /failed with 502 after 100 ms: TypeError at a\.js:24: bad; gate answered 502 after stock answered 500 with TypeError at stock\/list\.js:24: no shelf\.$/,
  )
})

t.test('facts of a called request that are missing are not claimed', async t => {
  const stock = made('stock', 'aaa001', '/stock/7', { status: 500 })
  const others: Record<string, RecordInit> = {
    'another path': { ...stock, url: 'http://127.0.0.1:4000/stock/8' },
    'another query': { ...stock, url: 'http://127.0.0.1:4000/stock/7?all' },
    'another method': { ...stock, method: 'POST' },
    'before the call': { ...stock, time: begin - 3000 },
    'after the call': { ...stock, time: begin + 3000 },
    'no error': { ...stock, status: 404 },
  }
  for (const [name, other] of Object.entries(others)) t.strictSame(await findingsOf(failing(), other), [], name)
  t.strictSame(await findingsOf(failing()), [], 'no profile')
  t.match(await sentenceOf(failing()), /took 100 ms; HTTP call 1 answered 500; 1 HTTP client call /)
  t.match((await findingsOf(failing(), stock))[0], /^stock answered 500 to GET \S+\. Correct/, 'no exception')

  const storage = createStorage(failing())
  storage.append({ ...createRecord({ ...stock, exception: 'TypeError' }), text: '{"damaged' }, '{}')
  const found = await storage.find('abc001')
  const shown = found && (await showProfile(found, storage, inspector))
  t.match(shown?.findings.map(writeProblem), [/^stock answered 500 to GET \S+: TypeError\.$/], 'it is damaged')
  t.match(shown?.findings[0]?.place, { panel: 'http', anchor: 'call-0' })

  const retried = calls(
    { token: 'aaa001', target: '/stock/7', start: 0, end: 40, status: 500 },
    { token: 'aaa002', target: '/stock/7', start: 50, end: 90 },
  )
  const shop = made('shop', 'abc001', '/page', { data: retried })
  t.strictSame(await findingsOf(shop, stock, made('stock', 'aaa002', '/stock/7')), [], 'it was sent again')
})

t.test('the sentence follows the longest calls to the last program', async t => {
  const names = ['shop', 'gate', 'stock', 'price', 'tax', 'rate', 'bank']
  const chain = (count: number, step = 10): RecordInit[] =>
    names.slice(0, count).map((program, index) =>
      made(program, index === 0 ? 'abc001' : `aaa00${index}`, `/${program}`, {
        duration: 400 - index * step,
        data: {
          ...(index === count - 1
            ? {
                queries: {
                  queries: Array.from({ length: 9 }, (_, at) =>
                    createQuery({ text: `SELECT ${at}`, start: at * 30, end: at * 30 + 30 }),
                  ),
                },
              }
            : calls({
                token: `aaa00${index + 1}`,
                target: `/${names[index + 1]}`,
                start: 2,
                end: 404 - (index + 1) * step,
              })),
        },
      }),
    )
  const end = '9 queries took 270 ms \\(bundles/shop/products\\.ts:12\\)'
  for (const [count, path] of [
    [2, 'gate'],
    [4, 'gate → stock → price'],
    [5, 'gate → stock → price → tax'],
    [7, 'gate → stock → 3 more → bank'],
  ] as const)
    t.match(
      await sentenceOf(...chain(count)),
      new RegExp(`: 1 HTTP client call took \\d+ ms, in ${path}, where ${end}`),
      path,
    )

  const even = chain(7, 60)
  const last = { ...even[6], data: { queries: { queries: [createQuery({ text: 'SELECT 1', start: 0, end: 30 })] } } }
  t.match(
    await sentenceOf(...even.slice(0, 6), last),
    /: 1 HTTP client call took \d+ ms, in gate → stock → 3 more → bank\.$/,
    'a query of less than a tenth of the time, in the last of many programs',
  )

  const work = { queries: { queries: [createQuery({ start: 395, end: 500, text: 'SELECT 1' })] } }
  const busy = chain(2).map((init, index) =>
    index === 0 ? { ...init, duration: 510, data: { ...init.data, ...work } } : init,
  )
  t.match(await sentenceOf(...busy), /; here 1 query took 105 ms \(bundles/, 'work of the program itself')
  const [caller = {}, slower = {}] = chain(2)
  const short = { ...caller, data: calls({ token: 'aaa001', target: '/gate', start: 2, end: 102 }), duration: 104 }
  t.match(await sentenceOf(short, slower), /took 100 ms, in gate\.$/, 'a cause that is longer than the calls')

  const both = calls(
    { token: 'aaa001', target: '/gate', start: 0, end: 200 },
    { token: 'aaa002', target: '/other', start: 200, end: 390 },
  )
  t.match(
    await sentenceOf(
      { ...caller, data: both },
      { ...slower, duration: 200, data: {} },
      made('other', 'aaa002', '/other'),
    ),
    / 2 HTTP client calls took 390 ms, most of it in gate/,
  )

  const [shop = {}, gate = {}] = chain(3)
  t.match(
    await sentenceOf(shop, gate),
    / in gate, where 1 HTTP client call took 38\d ms/,
    'the next profile is missing',
  )
  const own = { ...gate, program: 'shop' }
  t.match(
    await sentenceOf(shop, own, ...chain(3).slice(2)),
    new RegExp(`, in GET /gate → stock, where ${end}`),
    'an own route',
  )
  const loop = { ...gate, data: calls({ token: 'abc001', target: '/shop', start: 0, end: 380 }) }
  t.match(
    await sentenceOf(shop, loop),
    / in gate, where 1 HTTP client call took 380 ms/,
    'a profile that names its caller',
  )
})

t.test('of many calls the longest chain is read, and all are counted', async t => {
  const all = many(80, index => `/stock/${index}`)
  const answers = answersOf(all, { queries: 2 })
  const slow = { ...answers[70], duration: 500, data: { exception: thrown('slow') } }
  const storage = createStorage(...answers.filter((_, index) => index !== 70), slow)
  const [profile] = await addCalled(
    [createProfile(calls(...all), made('shop', 'abc001', '/page', { duration: 900 }))],
    storage,
  )
  const called = readCalled(profile)
  t.equal(called.length, 80)
  t.equal(called.filter(each => each.profile !== undefined).length, 30)
  t.ok(called[70]?.profile)
})

t.test('a row of the list has the findings of called requests that are stored after it', async t => {
  const time = Date.now()
  const stock = made('stock', 'aaa001', '/stock/7', { status: 500, time })
  const badges = async (shop: RecordInit) => {
    const storage = createStorage(shop)
    const facts = new RowFacts({ storage, inspector: async () => inspector, findPlace: () => '' })
    const read = async () => {
      const { summaries } = await storage.search({ filters: [mainRequests], limit: 10 })
      await facts.read(summaries)
      const summary = summaries.find(({ program }) => program === 'shop')
      return summary && facts.get(summary)?.badge?.text
    }
    const before = await read()
    keep(storage, { ...stock, time: shop.time ?? time })
    return [before, await read()]
  }
  t.strictSame(await badges({ ...failing(), time }), [undefined, '1 finding'])
  t.strictSame(await badges({ ...failing(), time: time - 60_000 }), [undefined, undefined], 'an old one is read once')
})

t.test('texts of another store are values: escaped, and bounded', async t => {
  for (const hostile of hostileTexts) {
    const text = `${hostile}${'x'.repeat(10_000)}`
    const stock = made(text, 'aaa001', '/stock/7', {
      ...{ status: 500, exception: text, route: text, controller: text },
      data: { exception: { exceptions: [{ name: text, message: text, frames: [] }], excerpts: [] } },
    })
    const shown = await show(failing(), stock)
    if (shown === undefined) throw new Error('It is stored.')
    const sentence = summarizeProfile(shown).sentence
    const own = sentence.filter(({ isValue }) => !isValue).map(each => each.text)
    t.notMatch(own.join(''), 'xxx')
    t.ok(toPlainText(sentence).length < 400)
    for (const finding of shown.findings) {
      t.notMatch(`${finding.title}${finding.problem}${finding.advice}`, 'xxx')
      t.ok(`${writeProblem(finding)}${writeAdvice(finding)}`.length < 800)
    }
    t.notMatch(toMarkdown(shown, 'findings'), /\n\r?\n<p>/)
  }
})

t.test('a verdict is the same where the called profile is missing', async t => {
  const check = async (t: Test, shop: RecordInit, answers: readonly RecordInit[]) => {
    const joined = await addCalled([createProfile(shop.data ?? {}, shop)], createStorage(...answers))
    const [profile] = joined
    const alone = createProfile(shop.data ?? {}, { ...shop, token: 'abc002' })
    const flaws = listFlaws(profile, inspector.inspect(profile))
    t.ok(flaws.length > 0)
    for (const flaw of flaws) {
      const { state } = judgeFix(flaw, joined, [alone, alone, alone], inspector)
      t.match(state, /present|changed/, flaw.id)
    }
    t.strictSame(
      findAdded([alone, alone, alone], [profile, profile, profile], inspector).filter(
        ({ rule }) => rule !== 'called-error',
      ),
      [],
    )
  }
  const all = many(9, index => `/stock/${index}`)
  const named = many(9, index => `/stock/item-${'abcdefghi'[index]}`)
  const ofRoute = { route: '/stock/:sku' }
  await check(t, made('shop', 'abc001', '/page', { data: calls(...all), duration: 200 }), answersOf(all, ofRoute))
  await check(t, made('shop', 'abc001', '/page', { data: calls(...named), duration: 200 }), answersOf(named, ofRoute))
  await check(t, failing(), [made('stock', 'aaa001', '/stock/7', { status: 500 })])
  const two = [
    { token: 'aaa001', target: '/stock', start: 0, end: 100 },
    { token: 'aaa002', target: '/price', start: 101, end: 190 },
  ]
  const pair = [made('stock', 'aaa001', '/stock'), made('price', 'aaa002', '/price')]
  await check(t, made('shop', 'abc001', '/page', { data: calls(...two), duration: 200 }), pair)
})

t.test('a call without a token leads to the only request with its trace context, and back', async t => {
  const context = (digit: number, name = 'traceparent') => [name, `00-${'a'.repeat(32)}-${`${digit}`.repeat(16)}-01`]
  const aborted = (...headers: readonly unknown[]) => ({
    ...{ client: 'fetch', method: 'GET', url: 'http://127.0.0.1:4000/slow', start: 10, end: 60 },
    ...{ isAborted: true, error: 'This operation was aborted', request: { headers } },
  })
  const shop = (...all: readonly unknown[]) =>
    made('shop', 'abc001', '/page', { data: { http: { calls: all } }, calls: all.length, duration: 70 })
  const slow = (token: string, headers: readonly unknown[], init: RecordInit = {}) =>
    made('stock', token, '/slow', { data: { request: { headers } }, time: begin + 20, ...init })
  const linksOf = async (caller: RecordInit, ...others: readonly RecordInit[]) => {
    const shown = await show(caller, ...others)
    const [back] = await Promise.all(others.map(other => show(other, caller, ...others.filter(each => each !== other))))
    const called = shown === undefined ? [] : readCalled(shown.profile).map(({ summary }) => summary.token)
    return [called.join(), back?.caller?.token ?? '']
  }
  const one = shop(aborted(context(1, 'Traceparent')))
  const answer = slow('bbb001', [context(1)])
  t.strictSame(await linksOf(one, answer, slow('bbb002', [context(2)])), ['bbb001', 'abc001'])
  const unknown: readonly (readonly [string, RecordInit, ...RecordInit[]])[] = [
    ['a second request with it, such as a forged one', one, answer, slow('bbb002', [context(1)])],
    ['a repeated call with it', shop(aborted(context(1)), aborted(context(1))), answer],
    ['another trace context', one, slow('bbb001', [context(2)])],
    ['none in the call', shop(aborted()), answer],
    ['none in the request', one, slow('bbb001', [])],
    ['a malformed one', shop(aborted(['traceparent', '1'])), slow('bbb001', [['traceparent', '1']])],
    ['two of them', one, slow('bbb001', [context(1), context(1)])],
    ['another address', one, slow('bbb001', [context(1)], { url: 'http://127.0.0.1:4001/slow' })],
    ['another method', one, slow('bbb001', [context(1)], { method: 'POST' })],
    ['another time', one, slow('bbb001', [context(1)], { time: begin + 10_000 })],
    [
      'more requests of the address than are read',
      one,
      answer,
      ...Array.from({ length: 10 }, (_, index) => slow(`ccc00${index}`, [])),
    ],
  ]
  const wrong: string[] = []
  for (const [name, caller, ...others] of unknown)
    if ((await linksOf(caller, ...others)).join('') !== '') wrong.push(name)
  t.strictSame(wrong, [])
})
