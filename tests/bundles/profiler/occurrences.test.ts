import { t } from 'tap'
import { findOccurrences } from '#bundles/profiler/insight/occurrences.ts'
import { parseSummary } from '#bundles/profiler/profile/parse-profile.ts'
import type { ProfileSummary } from '#bundles/profiler/profile/profile.ts'
import { fingerprintOf } from '#bundles/profiler/record/fingerprint.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { HttpError } from '#lib/errors/http-error.ts'
import { Response } from '#lib/http/response.ts'
import { createProfile, createRecord } from '#tests/support/create-profile.ts'
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
  t.equal(of({ frames: [{ ...frame, origin: 'vendor' }], cause: exception }), usual, 'a place of the cause')
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

async function storageOf(...changes: readonly Partial<ProfileSummary>[]): Promise<MemoryProfileStorage> {
  const storage = new MemoryProfileStorage()
  for (const [at, change] of changes.entries()) {
    const token = (at + 1).toString(16).padStart(6, '0')
    storage.append(createRecord({ token, time: at, fingerprint: 'abcdef12', ...change }), '{}')
  }
  return storage
}

t.test('the other requests with an error are counted once, with their times and routes', async t => {
  const storage = await storageOf(
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
  const found = await findOccurrences(storage, summary)
  t.hasStrict(found, { fingerprint: 'abcdef12', count: 4, hasMore: false, first: 0, last: 5, routes: 3 })
  t.strictSame(
    found?.latest.map(({ token }) => token),
    ['000006', '000005', '000004'],
  )
  t.equal(await findOccurrences(storage, { ...summary, fingerprint: null }), undefined)
  const alone = await findOccurrences(storage, { ...summary, fingerprint: 'unseen' })
  t.hasStrict(alone, { count: 0, first: undefined, last: undefined, routes: 1, latest: [] })
})

t.test('a search for an error reads 1,000 profiles at most', async t => {
  const storage = await storageOf(...Array.from({ length: 1001 }, () => ({})))
  const { summary } = createProfile({}, { token: 'aaaaaa', fingerprint: 'abcdef12' })
  t.hasStrict(await findOccurrences(storage, summary), { count: 1000, hasMore: true })
  const { show } = await createProfiledKernel(t)
  const profile = createProfile({ exception: { exceptions: [exception], excerpts } }, { fingerprint: 'abcdef12' })
  const html = await show('exception', { profile, findOccurrences: ({ summary }) => findOccurrences(storage, summary) })
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
