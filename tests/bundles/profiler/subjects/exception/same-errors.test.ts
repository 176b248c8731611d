import { HttpError, type Request } from 'sinfonietta'
import { t } from 'tap'
import { findOccurrences } from '#bundles/profiler/insight/relatives.ts'
import { createEditorLinks } from '#bundles/profiler/panels/editor-links.ts'
import { parseSummary } from '#bundles/profiler/profile/parse-profile.ts'
import type { Profile, ProfileSummary } from '#bundles/profiler/profile/profile.ts'
import { fingerprintOf } from '#bundles/profiler/subjects/exception/record.ts'
import { exchangeView } from '#bundles/profiler/subjects/exchange/show.ts'
import { Response } from '#lib/http/response.ts'
import { createProfile, createSummary, tokenOf } from '#tests/support/create-profile.ts'
import { toText } from '#tests/support/html.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

const frame = { call: 'Shop.pay', file: 'bundles/shop.ts', line: 7, origin: 'application' } as const
const exception = { name: 'Error', message: 'No product 4711', frames: [frame] }
const excerpts = [{ file: 'bundles/shop.ts', line: 7, start: 6, lines: ['', '  throw new NoProduct(id)'] }]

t.test('the fingerprint of an error depends on its class, code and place, and not on its values', async t => {
  const of = (changes: object, sources = excerpts, route: string | null = 'shop') =>
    fingerprintOf({ exceptions: [{ ...exception, ...changes }], excerpts: sources }, route)
  const usual = of({})
  t.match(usual, /^[\da-f]{8}$/)
  const moved = [{ ...excerpts[0], file: 'bundles/shop.ts', line: 9, start: 9, lines: ['throw new NoProduct(id)'] }]
  t.equal(of({ message: 'No product 12' }), usual)
  t.equal(of({}, excerpts, 'other'), usual, 'the route does not matter')
  t.equal(of({ frames: [{ ...frame, line: 9, column: 3 }] }, moved), usual, 'the line has moved')
  const caused = (cause: object) => of({ frames: [{ ...frame, origin: 'vendor' }], cause: { ...exception, ...cause } })
  t.equal(caused({ message: 'No product 12' }), caused({}), 'a place of the cause')
  t.not(caused({ code: 'E' }), caused({}), 'another cause')
  for (const other of [{ name: 'TypeError' }, { code: 'E' }, { frames: [{ ...frame, call: 'Shop.buy' }] }]) {
    t.not(of(other), usual)
  }
  t.not(of({}, []), usual, 'without a source the number of the line counts')
  t.not(of({ frames: [{ ...frame, line: undefined }] }, []), of({}, []))
})

t.test('without a place in the application the route counts; without both there is no fingerprint', async t => {
  const missed = { exceptions: [{ ...exception, frames: [] }], excerpts: [] }
  t.not(fingerprintOf(missed, 'shop'), fingerprintOf(missed, 'home'))
  t.equal(fingerprintOf(missed, null), null)
  t.equal(fingerprintOf({ exceptions: [], excerpts: [] }, 'shop'), null)
})

t.test('a summary of a version without fingerprints has none', async t => {
  const { fingerprint, ...old } = createProfile({}).summary
  t.equal(parseSummary(old)?.fingerprint, null)
  t.equal(parseSummary({ ...old, fingerprint: 'abcdef12' })?.fingerprint, 'abcdef12')
})

/** The summaries of failed requests, the newest first: of the given ones each is later than the one before. */
function summariesOf(...changes: readonly Partial<ProfileSummary>[]): readonly ProfileSummary[] {
  const summaries = changes.map((change, at) =>
    createSummary({ token: tokenOf(at + 1), time: at, fingerprint: 'abcdef12', ...change }),
  )
  return summaries.reverse()
}

t.test('the other requests with an error are counted once, with their times and routes', async t => {
  const summaries = summariesOf(
    { route: 'a' },
    { route: 'a', fingerprint: 'other' },
    { route: 'b', parent: '000004' },
    { route: 'b' },
    { route: null, parent: 'ffffff' },
    { route: 'b' },
    { route: 'b', token: 'aaaaaa' },
    { route: 'b', parent: 'aaaaaa' },
  )
  const { summary } = createProfile({}, { token: 'aaaaaa', route: 'b', fingerprint: 'abcdef12' })
  const found = findOccurrences(summaries, summary)
  t.hasStrict(found, { fingerprint: 'abcdef12', count: 4, hasMore: false, first: 0, last: 5, routes: 3 })
  t.strictSame(
    found?.latest.map(({ token }) => token),
    ['000006', '000005', '000004'],
  )
  t.equal(findOccurrences(summaries, { ...summary, fingerprint: null }), undefined)
  const alone = findOccurrences(summaries, { ...summary, fingerprint: 'unseen' })
  t.hasStrict(alone, { count: 0, first: undefined, last: undefined, routes: 1, latest: [] })
})

t.test('a search for an error reads 1,000 profiles at most', async t => {
  const summaries = summariesOf(...Array.from({ length: 1001 }, () => ({})))
  const { summary } = createProfile({}, { token: 'aaaaaa', fingerprint: 'abcdef12' })
  t.hasStrict(findOccurrences(summaries, summary), { count: 1000, hasMore: true })
  const { show } = await createProfiledKernel(t)
  const profile = createProfile({ exception: { exceptions: [exception], excerpts } }, { fingerprint: 'abcdef12' })
  const html = await show('exception', {
    profile,
    findOccurrences: ({ summary }) => findOccurrences(summaries, summary),
  })
  t.match(toText(html), 'Seen in more than 1,000 other requests : first')
})

t.test('error page, panel, Markdown and list show how often an error was seen', async t => {
  const fail = () => {
    throw new HttpError(409, `Number ${Math.random()}`)
  }
  const handlers = { '/one': fail, '/two': fail, '/fine': () => new Response('fine') }
  const { client, profileOf, show } = await createProfiledKernel(t, { handlers })
  const first = await client.get('/one')
  t.match(toText(first.text), 'No other stored request has this error.')
  const { summary } = await profileOf(first)
  t.match(summary.fingerprint, /^[\da-f]{8}$/)
  t.match((await profileOf(await client.get('/fine'))).summary, { exception: null, fingerprint: null })
  await profileOf(await client.get('/one'))
  const third = await client.get('/two')
  t.match(toText(third.text), /Seen in 2 other requests : first .* last .* on 2 routes ?\. Latest:/)
  t.match(third.text, `<a href="/_profiler/${summary.token}?panel&#x3D;exception"><code>${summary.token}</code></a>`)
  const profile = await profileOf(third)
  t.equal(profile.summary.fingerprint, summary.fingerprint)
  const text = await client.get('/two', { headers: { accept: 'text/markdown' } })
  t.match(text.text, `\n\nSeen in 3 other requests (${summary.fingerprint}): first 20`)
  await profileOf(text)
  t.match(toText(await show('exception', profile)), 'Seen in 3 other requests')
  const markdown = await client.get(`/_profiler/${profile.summary.token}.md`)
  t.match(markdown.text, `\nFingerprint: \`${summary.fingerprint}\`; the list can be filtered by it.\n`)
  const list = await client.get(`/_profiler/search.json?error=${summary.fingerprint?.toUpperCase()}`)
  t.match(list.json(), { total: 4 })
  const page = await client.get(`/_profiler/empty/search/results?error=${summary.fingerprint}`)
  t.match(page.text, `name="error" value="${summary.fingerprint}"`)
})

t.test('the error page does not wait for a slow store', async t => {
  const handlers = {
    '/broken': () => {
      throw new Error('broken')
    },
  }
  const { client, storage } = await createProfiledKernel(t, { handlers })
  Object.assign(storage, { search: () => new Promise(() => {}) })
  const { text } = await client.get('/broken')
  t.match(text, '<h1>broken</h1>')
  t.notMatch(text, 'class="occurrences"')
})

function firstOf({ collectors }: Profile) {
  return collectors.exception?.exceptions[0]
}

const pgError = Object.assign(new Error('duplicate key value violates unique constraint "users_email_key"'), {
  name: 'error',
  length: 205,
  severity: 'ERROR',
  code: '23505',
  detail: 'Key (email)=(x@y.z) already exists.',
  table: 'users',
  constraint: 'users_email_key',
  dataType: undefined,
})

t.test('the properties of an error are shown, in the panel, as text and as Markdown', async t => {
  const issues = [{ code: 'too_small', path: ['age'], message: 'Too small', minimum: 18 }]
  const gathered = Array.from({ length: 5 }, (_, at) => Object.assign(new Error(`part ${at}`), { at }))
  const system = { syscall: 'connect', address: '127.0.0.1', port: 1, errno: -111, code: 'ECONNREFUSED' }
  const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), system)
  const invalid = Object.assign(new AggregateError(gathered, 'invalid', { cause }), { issues })
  const handlers = {
    '/taken': () => {
      throw pgError
    },
    '/invalid': () => {
      throw invalid
    },
  }
  const { client, profileOf, show } = await createProfiledKernel(t, { handlers })
  const response = await client.get('/taken')
  const detail = 'Key (email)=(******) already exists.'
  t.match(toText(response.text), `length 205 severity ERROR detail ${detail} table users constraint users_email_key`)
  const profile = await profileOf(response)
  t.strictSame(firstOf(profile)?.properties, {
    length: 205,
    severity: 'ERROR',
    detail,
    table: 'users',
    constraint: 'users_email_key',
  })
  t.match(toText(await show('exception', profile)), `severity ERROR detail ${detail}`)
  const { text } = await client.get(`/_profiler/${profile.summary.token}.md`)
  t.match(text, `\n- \`detail\`: \`${detail}\`\n- \`table\`: \`users\`\n`)
  const report = await client.get('/taken', { headers: { accept: 'text/plain' } })
  t.match(report.text, `\n- \`detail\`: \`${detail}\`\n`)

  const error = firstOf(await profileOf(await client.get('/invalid')))
  t.match(error, { properties: { issues }, cause: { properties: { syscall: 'connect', port: 1 } } })
  t.strictSame(
    error?.errors?.map(({ frames, properties }) => [properties, frames.length > 0]),
    [0, 1, 2, 3, 4].map(at => [{ at }, true]),
  )
})

t.test('the properties of a chain of errors share their bounds', async t => {
  const many = Array.from({ length: 40 }, () => Object.assign(new Error('x'), { list: Array(50).fill('y'.repeat(50)) }))
  const handlers = {
    '/many-properties': () => {
      throw new AggregateError(many, 'many')
    },
  }
  const { client, profileOf } = await createProfiledKernel(t, { handlers })
  const profile = await profileOf(await client.get('/many-properties'))
  t.ok(JSON.stringify(firstOf(profile)?.errors?.map(({ properties }) => properties)).length < 20_000)
})

t.test('the request is shown with its route, body, user and headers, masked, also as Markdown', async t => {
  const { app, client } = await createProfiledKernel(t)
  // Concatenated, because the page shows the lines of this test.
  const [secret, theme] = ['emasesnepo', 'aipes'].map(text => [...text].reverse().join(''))
  const controller = async (request: Request) => {
    await Promise.allSettled([request.body.json(), request.body.formData()])
    await request.session.set('user_id', 7)
    await request.session.set('theme', theme)
    throw new Error('outer')
  }
  app.routes.add({ name: 'order', path: '/order/:id', controller, defaults: { kind: 'book' } })
  const headers = { 'x-other': 'y', 'user-agent': 'test', authorization: `Bearer ${secret}` }
  const json = { item: 'lamp', password: secret }
  const { text } = await client.post('/order/12?page=2', { json, headers })
  const words = toText(text)
  t.match(words, /Request Route order Route parameters Name Value id 12/)
  t.match(words, 'User Name Value user_id 7 GET parameters Name Value page 2')
  t.match(words, 'Content { "item": "lamp", "password": "******" } Headers Header Value')
  t.match(words, /user-agent test .*1 more headers Other headers Header Value x-other y/)
  t.notOk(text.includes(String(secret)) || text.includes(String(theme)))

  const report = await client.post('/order/12', {
    form: { item: 'lamp', pin: '4711' },
    headers: { accept: 'text/markdown' },
  })
  for (const line of [
    '## Routing\n\nMatched `order`.\n\n### Parameters\n',
    '- `id`: `12`',
    '### User\n\n- `user_id`: `7`',
    '- `item`: `lamp`\n- `pin`: `******`',
    '- `accept`: `text/markdown`',
  ]) {
    t.match(report.text, line)
  }
  const upload = { document: { name: 'cv.txt', type: 'text/plain', content: 'text' } }
  t.match(toText((await client.post('/order/12', { upload })).text), 'Files document: cv.txt, text/plain, 4 bytes')
  t.match(toText((await client.post('/missing', { form: { a: 'b' } })).text), 'The application did not read the body')
})

t.test('a profile without a part has a report and a panel without it', async t => {
  const profile = createProfile(
    { exception: { exceptions: [exception], excerpts } },
    { outcome: 'stream-failed', route: null },
  )
  const { app, show } = await createProfiledKernel(t)
  const { onErrorPage } = exchangeView
  t.hasStrict(await onErrorPage?.toView({ profile, token: '' }, { ...app, editor: createEditorLinks(app) }), {
    user: [],
    headers: [],
    note: '',
    content: false,
  })
  t.strictSame(onErrorPage?.toMarkdown?.(profile, 1), [])
  t.match(await show('exception', profile), 'The response was cut off after 0 bytes: its stream failed.')
})
