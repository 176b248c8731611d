import assert from 'node:assert'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { type Test, t } from 'tap'
import type { ProfileSummary } from '#bundles/profiler/profile/profile.ts'
import type { Bundle } from '#kernel/bundle.ts'
import { TerminateEvent } from '#kernel/events.ts'
import { disarm, hostileTexts } from '#tests/support/hostile-texts.ts'
import { parseTags, skeletonOf, unescapeHtml } from '#tests/support/html.ts'
import { changeTree, type Json, listPlaces, mergeTrees, type Place } from '#tests/support/json-tree.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { askRichly, richBundle } from '#tests/support/rich-bundle.ts'
import { panelLinksOf } from '#tests/support/screens.ts'
import { serveKernel } from '#tests/support/test-server.ts'

/** Pages by their paths. */
type Pages = ReadonlyMap<string, string>

/** A store with the profiles of the test, and the pages that show them. */
interface Exhibition {
  /** Three profiles of requests with much data, and the facts of their process. */
  readonly original: Json
  /** Every page, with or without a profile. */
  readonly paths: readonly string[]
  show(records: Json, paths?: readonly string[]): Promise<Pages>
  /** Stores profiles in the place of the others, for `open`. */
  keep(records: Json): Promise<void>
  open(path: string): Promise<string>
}

/** The number of pages for each place: the lists, and a profile with its most important panels. */
const pagesEnough = 9

const mainToken = 'a00001'
const childToken = 'a00002'
const olderToken = 'a00003'

async function createExhibition(t: Test): Promise<Exhibition> {
  const kernel = await createProfiledKernel(t, { bundles: [richBundle] })
  const { client, storage, storedOf } = kernel
  const { url } = await serveKernel(t, kernel)
  const recorded = await askRichly(url)
  const stored = await Promise.all(recorded.map(({ token }) => storedOf({ headers: { get: () => token } })))
  const profiles = stored.map(({ profile: { collectors, process, processData, ...document } }) => toJson(document))
  const [first] = profiles
  assert(first)
  const rename = (profile: Json, summary: Partial<ProfileSummary>, children: string[] = []) =>
    mergeTrees({ summary, children }, profile)
  const original: Json = {
    main: rename(profiles.reduce(mergeTrees), { token: mainToken, time: 3, exception: 'SomeError' }, [childToken]),
    // Parts that the longer lists of the other profiles hide in the first one.
    child: rename(first, { token: childToken, time: 2, parent: mainToken, controller: 'some_controller' }),
    older: rename(first, { token: olderToken, time: 1 }),
    facts: toJson(stored[0]?.profile.processData),
  }

  async function keep(records: Json): Promise<void> {
    const { facts = {}, ...others } = records as Record<string, Json>
    await storage.purge()
    for (const record of Object.values(others)) {
      const { summary } = record as unknown as { summary?: ProfileSummary }
      if (summary !== undefined) storage.append({ summary, text: JSON.stringify(record) }, JSON.stringify(facts))
    }
  }

  async function open(path: string): Promise<string> {
    const { text } = await client.get(path, { headers: { 'x-profiler': 'off' } })
    return text
  }

  async function show(records: Json, paths: readonly string[]): Promise<Pages> {
    await keep(records)
    const pages = new Map<string, string>()
    for (const path of paths) pages.set(path, await open(path))
    return pages
  }

  const record = `/_profiler/${mainToken}`
  const [menu] = (await show(original, [record])).values()
  const ofRecord = panelLinksOf(String(menu), mainToken)
  t.ok(ofRecord.length > 10, 'the menu names the panels')
  const paths = [
    '/_profiler/empty/search/results?limit=10',
    '/_profiler/empty/search/results?limit=1&sort=url',
    '/_profiler/latest',
    '/_profiler/ffffff',
    `/_profiler/compare?a=${mainToken}&b=${olderToken}`,
    '/_profiler/routes',
    `/_profiler/${mainToken}/replay`,
    `/_wdt/${mainToken}`,
    ...ofRecord,
    ...ofRecord.map(link => link.replace(mainToken, childToken)),
  ]
  // The first requests of all pages change the counters.
  await show(original, paths)
  return { original, paths, keep, open, show: (records, some = paths) => show(records, some) }
}

function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value))
}

/** Replaces a text by another one. */
const manners = {
  after: (text: string, value: string | number) => `${value}${text}`,
  instead: (text: string) => text,
} as const

type Manner = keyof typeof manners

function plant(tree: Json, places: ReadonlySet<Place>, manner: Manner, text: string): Json {
  return changeTree(tree, (value, place) => (places.has(anyRecord(place)) ? manners[manner](text, value) : undefined))
}

const placesOfAny = new Map<Place, Place>()

/** A place in one of the profiles. It is asked for millions of times. */
function anyRecord(place: Place): Place {
  const known = placesOfAny.get(place)
  if (known !== undefined) return known
  const found = place.replace(/^(\{?)(?:main|child|older)\./, '$1')
  placesOfAny.set(place, found)
  return found
}

/** The tags of a page. Those in source code are omitted: highlighting depends on the text. */
function shapeOf(html: string): string[] {
  return skeletonOf(
    html.replace(/<(pre|code) class="source"[\s\S]*?<\/\1>/g, source => source.replace(/<\/?span[^>]*>/g, '')),
  )
}

function skeletons(pages: Pages): Map<string, string[]> {
  return new Map([...pages].map(([path, html]) => [path, shapeOf(html)]))
}

/**
 * Whether a page with a hostile text has the tags of the page with its harmless twin. Escaped texts are longer, so a page over
 * its limit is divided elsewhere: all of its tags are among those of pages with harmless texts.
 */
function isSame(armed: string, tame: string, known: ReadonlySet<string>): boolean {
  const tags = shapeOf(armed)
  if (isDeepStrictEqual(tags, shapeOf(tame))) return true
  return armed.includes('class="paging divided"') && tags.every(tag => known.has(tag))
}

/** The parts of pages that could run a script or lead to another site. */
function findDangers(pages: Pages): string[] {
  return [...pages].flatMap(([path, html]) =>
    parseTags(html).flatMap(({ attributes, name }) => {
      const rel = attributes.find(([key]) => key === 'rel')?.[1] ?? ''
      return attributes.flatMap(([key, value]) => {
        if (/^on|^style$|^srcdoc$/.test(key) || value.toLowerCase() === 'refresh') return [`${path}: ${name} ${key}`]
        if (!/^(?:href|src|action|formaction|xlink:href|data|poster|ping|srcset|background)$/.test(key)) return []
        const { origin, protocol } = new URL(unescapeHtml(value), 'http://localhost/_profiler/')
        // The URL of a request may be on any site, and the link sends no referrer.
        const isMeant = name === 'a' && rel.includes('noreferrer') && /^https?:$/.test(protocol)
        return isMeant || origin === 'http://localhost' ? [] : [`${path}: ${name} ${key}=${value}`]
      })
    }),
  )
}

t.test('tags are parsed as by a browser, also malformed ones', async t => {
  const shapes = (html: string) => parseTags(html).map(({ attributes, name }) => [name, ...attributes.flat()].join(' '))
  t.strictSame(shapes('<p title="a>b"><svg/onload=x>'), ['p title a>b', 'svg onload x'])
  t.strictSame(shapes('1 < 2 <!-- <b> --><!--> <B X=1 y z="</p>'), ['<', '!--', '!--', 'b x 1 y  z </p>'])
  t.strictSame(shapes("<a =b 'c' d='e' /></a "), ["a =b  'c'  d e", '/a'])
  t.equal(unescapeHtml('&lt;b&gt; &amp;&nope;'), '<b> &&nope;')
})

t.test('texts in a profile do not change the tags of any page', async t => {
  const { original, paths, keep, open, show } = await createExhibition(t)
  const places = new Map([...listPlaces(original)].map(([place, kind]) => [anyRecord(place), kind]))
  const before = await show(original)
  const expected = skeletons(before)
  t.strictSame(findDangers(before), [])

  // The pages that show a part of the profiles; for parts on all pages the first are enough.
  const sectionOf = (place: Place) => place.replace(/[{}]/g, '').split('.').slice(0, 2).join('.')
  const pathsOf = new Map<string, string[]>()
  for (const section of new Set([...places.keys()].map(sectionOf))) {
    const all = [...places.keys()].filter(place => sectionOf(place) === section && place !== `{${section}}`)
    const pages = await show(plant(original, new Set(all.length > 0 ? all : [section]), 'after', 'harmless'))
    const found = paths.filter(path => pages.get(path) !== before.get(path))
    pathsOf.set(section, (found.length > 0 ? found : paths).slice(0, pagesEnough))
  }

  // Some texts decide what a page shows: in these places, hostile texts are tried one by one.
  const isFree = async (records: Json, some: readonly string[]) => {
    await keep(records)
    for (const path of some) {
      const html = await open(path)
      if (html !== before.get(path) && !isDeepStrictEqual(shapeOf(html), expected.get(path))) return false
    }
    return true
  }
  const free = { after: new Set<Place>(), instead: new Set<Place>() }
  const hostile = `"'><b -->${hostileTexts[0]}`
  const known = new Set([...expected.values()].flat())
  const learn = (harmless: Pages) => {
    for (const tag of [...skeletons(harmless).values()].flat()) known.add(tag)
  }
  let deciding = 0
  for (const [place, kind] of places) {
    const some = pathsOf.get(sectionOf(place)) ?? []
    for (const manner of kind === 'text' ? (['after', 'instead'] as const) : (['after'] as const)) {
      const alone = new Set([place])
      if (await isFree(plant(original, alone, manner, 'harmless'), some)) {
        free[manner].add(place)
        continue
      }
      deciding++
      // Clients do not send the names of fields.
      if (kind === 'key') continue
      const armed = await show(plant(original, alone, manner, hostile), some)
      // A page without the place is as it was before.
      const changed = new Map([...armed].filter(([path, html]) => html !== before.get(path)))
      const tame = await show(plant(original, alone, manner, disarm(hostile)), [...changed.keys()])
      learn(tame)
      for (const [path, html] of changed) {
        const twin = String(tame.get(path))
        if (!isSame(html, twin, known)) t.strictSame(shapeOf(html), shapeOf(twin), `${place}, ${manner}: ${path}`)
      }
      t.strictSame(findDangers(changed), [], `${place}, ${manner}`)
    }
  }
  t.ok(deciding > 20)
  t.comment(`${places.size} places; ${Object.values(free).map(({ size }) => size)} free; ${deciding} deciding`)

  const check = async (text: string) => {
    for (const manner of ['after', 'instead'] as const) {
      const armed = await show(plant(original, free[manner], manner, text))
      assert.deepStrictEqual(findDangers(armed), [])
      let left = paths.filter(path => !isDeepStrictEqual(shapeOf(String(armed.get(path))), expected.get(path)))
      // A text may have a meaning: for example, two cookies, a command with its key behind a blank, a header or a path with a
      // character that none may have. A harmless text with the same meaning gives the same page.
      for (const tame of [
        disarm(text.replace(/[\r\n\t]/g, ' ')),
        ...['x', 'ж', '\n'].map(letter => disarm(text, letter)),
      ]) {
        if (left.length === 0) break
        const pages = await show(plant(original, free[manner], manner, tame), left)
        learn(pages)
        left = left.filter(path => !isSame(String(armed.get(path)), String(pages.get(path)), known))
      }
      assert.deepStrictEqual(left, [], `${manner} ${encodeURIComponent(text.toWellFormed())}`)
    }
  }
  for (const text of [...hostileTexts, '<\r\n\r\n<p>']) await check(text)
  t.pass('all texts of the list')

  const piece = fc.oneof(fc.constantFrom(...hostileTexts), fc.constantFrom(...'<>"\'`&=/! -;:{}'), fc.string())
  const mutation = fc.array(piece, { minLength: 1, maxLength: 6 }).map(pieces => pieces.join(''))
  await fc.assert(fc.asyncProperty(mutation, check), { numRuns: 6 })
  t.pass('mutations of them')
})

/** The part of a text that is valid in a request line: ASCII without blanks. */
const inTarget = (text: string) => text.replace(/[^!-~]/g, '').replaceAll('#', '')

/** The part of a text that is valid in a header. */
const inHeader = (text: string) => text.replace(/[^ -~]/g, '').trim()

t.test('texts from a client do not change the tags of any page', async t => {
  // The timeline has a mark for the work after the response, if it lasts: here each request has such work.
  const register: Bundle['register'] = ({ dispatcher }) => {
    dispatcher.on(TerminateEvent, () => delay(5))
  }
  const kernel = await createProfiledKernel(t, { register })
  const { client, storage } = kernel
  const { raw } = await serveKernel(t, kernel)
  const off = { headers: { 'x-profiler': 'off' } }

  /** All pages about a request. */
  const ask = async (target: string, text: string, accept: string) => {
    await storage.purge()
    const [word, query] = [inHeader(text), encodeURIComponent(text.toWellFormed())]
    const headers = ['User-Agent', 'Referer', 'X-Word', 'Accept-Language'].map(name => `${name}: ${word}\r\n`)
    const answer = await raw(
      `GET /x${target}?q=${query}&${query}=1 HTTP/1.1\r\nHost: localhost\r\nAccept: ${accept}\r\n` +
        `${headers.join('')}Cookie: a=${word}\r\nConnection: close\r\n\r\n`,
    )
    const [head = '', body = ''] = answer.split(/\r\n\r\n(.*)/s)
    const pages = new Map([['the answer', body]])
    const token = /^x-debug-token: (\w+)/im.exec(head)?.[1]
    if (token === undefined) return { head, pages }
    const record = `/_profiler/${token}`
    for (const path of [
      '/_profiler/empty/search/results',
      ...['request', 'router', 'exception', 'logger', 'time', 'events'].map(panel => `${record}?panel=${panel}`),
      `/_wdt/${token}`,
    ]) {
      pages.set(path.replace(token, '…'), (await client.get(path, off)).text)
    }
    return { head, pages }
  }

  // Durations decide the order of a page, so tags are compared without their order.
  const known = new Map<string, Set<string>>()
  const toTargets = [inTarget, (text: string) => encodeURIComponent(text.toWellFormed())]
  for (const text of hostileTexts.map(text => disarm(text))) {
    for (const toTarget of toTargets) {
      const { pages } = await ask(toTarget(text), text, 'text/html')
      for (const [path, tags] of skeletons(pages)) known.set(path, new Set([...(known.get(path) ?? []), ...tags]))
    }
  }
  for (const text of hostileTexts) {
    for (const toTarget of toTargets) {
      const { pages } = await ask(toTarget(text), text, 'text/html')
      const strange = [...skeletons(pages)].flatMap(([path, tags]) => tags.filter(tag => !known.get(path)?.has(tag)))
      t.strictSame(strange, [], encodeURIComponent(text.toWellFormed()).slice(0, 60))
      t.strictSame(findDangers(pages), [])
    }
    for (const accept of ['text/markdown', 'text/plain', 'application/problem+json']) {
      const { head } = await ask(encodeURIComponent(text.toWellFormed()), text, accept)
      t.match(head, /^content-type: (?:text\/(?:markdown|plain)|application\/problem\+json)/im, 'it is no HTML')
    }
  }
})
