import assert from 'node:assert'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { type Bundle, TerminateEvent } from 'sinfonietta'
import type { Test } from 'tap'
import type { ProfileSummary } from '#bundles/profiler/profile/profile.ts'
import { disarm, hostileTexts } from '#tests/support/hostile-texts.ts'
import { parseTags, skeletonOf, unescapeHtml } from '#tests/support/html.ts'
import { changeTree, type Json, listPlaces, mergeTrees, type Place } from '#tests/support/json-tree.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { askRichly, richBundle } from '#tests/support/rich-bundle.ts'
import { panelLinksOf } from '#tests/support/screens.ts'
import { serveKernel } from '#tests/support/test-server.ts'
import { seed } from './sample.ts'

/** Pages by their paths. */
type Pages = ReadonlyMap<string, string>

/** A store with the profiles of the test, and the pages that show them. */
interface Exhibition {
  /** Three profiles of requests with much data, and the facts of their process. */
  readonly original: Json
  /** The chosen pages, with or without a profile. */
  readonly paths: readonly string[]
  show(records: Json, paths?: readonly string[]): Promise<Pages>
  /** Stores profiles in the place of the others, for `open`. */
  keep(records: Json): Promise<void>
  open(path: string): Promise<string>
}

const mainToken = 'a00001'
const childToken = 'a00002'
const olderToken = 'a00003'

async function createExhibition(t: Test, choose: Required<PlacesInit>['choosePaths']): Promise<Exhibition> {
  const kernel = await createProfiledKernel(t, { bundles: [richBundle] })
  const { client, storage, storedOf } = kernel
  const { url } = await serveKernel(t, kernel)
  const recorded = await askRichly(url)
  const stored = await Promise.all(recorded.map(({ token }) => storedOf({ headers: { get: () => token } })))
  const profiles = stored.map(({ profile: { collectors, process, processData, ...document } }) => toJson(document))
  const [first] = profiles
  assert(first)
  const rename = (profile: Json, summary: Partial<ProfileSummary>, children: string[] = []) =>
    mergeTrees({ summary: toJson(summary), children }, profile)
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
  const paths = choose([
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
  ])
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
 * Whether a page with a hostile text has the tags of the page with its harmless twin. Longer texts leave room for
 * fewer rows: then all of the page's tags are among those of pages with harmless texts.
 */
function isSame(armed: string, tame: string, known: ReadonlySet<string>): boolean {
  const tags = shapeOf(armed)
  if (isDeepStrictEqual(tags, shapeOf(tame))) return true
  return armed.includes('data-rows="') && tags.every(tag => known.has(tag))
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

/** Places in a part of the profiles, and the kinds of their values. The same pages show them. */
export interface Section {
  readonly name: string
  readonly places: readonly (readonly [place: Place, kind: 'text' | 'number' | 'key'])[]
}

/** The places and the hostile texts of a test. */
export interface PlacesInit {
  /** By default, all of them. */
  choose?(sections: readonly Section[]): readonly Section[]
  /** The pages; by default, all of them. */
  choosePaths?(paths: readonly string[]): readonly string[]
  /** How many of these pages are looked at for a section, those that show most of it. */
  readonly pagesEnough?: number
  /** The texts for the places that decide nothing; by default, the whole list. */
  readonly texts?: readonly string[]
  /** How many random mixtures of these texts are tried, too. */
  readonly mixtures?: number
}

/** Tests one of four parts of all places. */
export async function checkPart(t: Test, index: number): Promise<void> {
  const { deciding, free } = await checkPlaces(t, { choose: choosePart(index, 4) })
  t.ok(deciding > 0, 'some places decide')
  t.ok(free > 0, 'some places are free')
}

/** One of several parts of all sections, with about as many places as the others. */
function choosePart(index: number, count: number): Required<PlacesInit>['choose'] {
  return sections => {
    const parts = Array.from({ length: count }, () => ({ size: 0, sections: [] as Section[] }))
    for (const section of sections.toSorted((one, other) => other.places.length - one.places.length)) {
      const [smallest] = parts.toSorted((one, other) => one.size - other.size)
      assert(smallest)
      smallest.sections.push(section)
      smallest.size += section.places.length
    }
    return parts[index]?.sections ?? []
  }
}

/**
 * Tests that texts in a profile do not change the tags of any page. Returns how many places decide
 * what is shown, and how many do not.
 */
export async function checkPlaces(
  t: Test,
  {
    choose = sections => sections,
    choosePaths = paths => paths,
    pagesEnough = 6,
    texts = [...hostileTexts, '<\r\n\r\n<p>'],
    mixtures = 2,
  }: PlacesInit = {},
): Promise<{ readonly deciding: number; readonly free: number }> {
  const { original, paths, keep, open, show } = await createExhibition(t, choosePaths)
  const before = await show(original)
  const expected = skeletons(before)
  const offenders = findDangers(before)
  const sections = choose(listSections(original))

  // The pages that show a section. For places on all pages, those that show most of it are enough.
  const pathsOf = new Map<Section, readonly string[]>()
  const shown = new Set<string>()
  for (const section of sections) {
    const inner = section.places.flatMap(([place]) => (place === `{${section.name}}` ? [] : [place]))
    const pages = await show(plant(original, new Set(inner.length > 0 ? inner : [section.name]), 'after', 'harmless'))
    const changed = paths.filter(path => pages.get(path) !== before.get(path))
    const weightOf = (path: string) => String(pages.get(path)).split('harmless').length
    const heaviest = changed.toSorted((one, other) => weightOf(other) - weightOf(one))
    const found = (changed.length > 0 ? heaviest : paths).slice(0, pagesEnough)
    pathsOf.set(section, found)
    for (const path of found) shown.add(path)
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
  for (const [section, some] of pathsOf) {
    for (const [place, kind] of section.places) {
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
        const different = [...changed].filter(([path, html]) => !isSame(html, String(tame.get(path)), known))
        const found = [...different.map(([path]) => `${path}: other tags`), ...findDangers(changed)]
        offenders.push(...found.map(text => `${place}, ${manner}: ${text}`))
      }
    }
  }
  const places = sections.flatMap(section => section.places)
  t.comment(`${places.length} places; ${Object.values(free).map(({ size }) => size)} free; ${deciding} deciding`)

  const pages = [...shown]
  const check = async (text: string) => {
    const found: string[] = []
    for (const manner of ['after', 'instead'] as const) {
      const armed = await show(plant(original, free[manner], manner, text), pages)
      const what = `${manner} ${encodeURIComponent(text.toWellFormed())}`
      found.push(...findDangers(armed).map(danger => `${what}: ${danger}`))
      let left = pages.filter(path => !isDeepStrictEqual(shapeOf(String(armed.get(path))), expected.get(path)))
      // A text may have a meaning: for example, two cookies, a command with its key behind a blank, a header or
      // a path with a character that none may have. A harmless text with the same meaning gives the same page.
      for (const tame of [
        disarm(text.replace(/[\r\n\t]/g, ' ')),
        ...['x', 'ж', '\n', '1', '\uFFFD'].map(letter => disarm(text, letter)),
      ]) {
        if (left.length === 0) break
        const twins = await show(plant(original, free[manner], manner, tame), left)
        learn(twins)
        left = left.filter(path => !isSame(String(armed.get(path)), String(twins.get(path)), known))
      }
      found.push(...left.map(path => `${what}: ${path} has other tags`))
    }
    return found
  }
  for (const text of texts) offenders.push(...(await check(text)))
  const piece = fc.oneof(fc.constantFrom(...hostileTexts), fc.constantFrom(...'<>"\'`&=/! -;:{}'), fc.string())
  const mixture = fc.array(piece, { minLength: 1, maxLength: 6 }).map(pieces => pieces.join(''))
  for (const text of fc.sample(mixture, { seed, numRuns: mixtures })) offenders.push(...(await check(text)))
  t.strictSame(offenders, [], `no text changes a tag (FUZZ_SEED=${seed})`)
  return { deciding, free: free.after.size }
}

function listSections(profiles: Json): Section[] {
  const kinds = new Map([...listPlaces(profiles)].map(([place, kind]) => [anyRecord(place), kind]))
  const sections = new Map<string, [Place, 'text' | 'number' | 'key'][]>()
  for (const [place, kind] of kinds) {
    const name = place.replace(/[{}]/g, '').split('.').slice(0, 2).join('.')
    sections.set(name, [...(sections.get(name) ?? []), [place, kind]])
  }
  return [...sections].map(([name, places]) => ({ name, places }))
}

/** The part of a text that is valid in a request line: ASCII without blanks. */
const inTarget = (text: string) => text.replace(/[^!-~]/g, '').replaceAll('#', '')

/** The part of a text that is valid in a header. */
const inHeader = (text: string) => text.replace(/[^ -~]/g, '').trim()

/** Tests that texts from a client do not change the tags of any page. */
export async function checkClientTexts(t: Test, texts: readonly string[] = hostileTexts): Promise<void> {
  // The timeline has marks for a garbage collection and for work after the response that lasts:
  // here each request has both.
  setFlagsFromString('--expose-gc')
  const collectGarbage: (options: object) => void = runInNewContext('gc')
  const register: Bundle['register'] = ({ dispatcher }) => {
    dispatcher.on(TerminateEvent, () => {
      // A major collection takes a tenth of a second beside many other tests.
      collectGarbage({ type: 'minor' })
      return delay(5)
    })
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

  // Durations decide the order of a page, so tags are compared without their order. A text may lead to another
  // answer, such as a 400: its harmless form has the tags of the same answer, or that of another text has.
  const known = new Map<string, Set<string>>()
  const toTargets = [inTarget, (text: string) => encodeURIComponent(text.toWellFormed())]
  const learned = new Set<string>()
  const learn = async (text: string) => {
    if (learned.has(text)) return
    learned.add(text)
    for (const toTarget of toTargets) {
      const { pages } = await ask(toTarget(text), text, 'text/html')
      for (const [path, tags] of skeletons(pages)) known.set(path, new Set([...(known.get(path) ?? []), ...tags]))
    }
  }
  const findStrange = (pages: Pages) =>
    [...skeletons(pages)].flatMap(([path, tags]) => tags.filter(tag => !known.get(path)?.has(tag)))
  const offenders: string[] = []
  for (const text of texts) {
    const shownText = encodeURIComponent(text.toWellFormed())
    await learn(disarm(text))
    for (const toTarget of toTargets) {
      const { pages } = await ask(toTarget(text), text, 'text/html')
      if (findStrange(pages).length > 0) for (const each of hostileTexts) await learn(disarm(each))
      offenders.push(...[...findStrange(pages), ...findDangers(pages)].map(tag => `${shownText}: ${tag}`))
    }
    for (const accept of ['text/markdown', 'text/plain', 'application/problem+json']) {
      const { head } = await ask(shownText, text, accept)
      const isOther = /^content-type: (?:text\/(?:markdown|plain)|application\/problem\+json)/im.test(head)
      if (!isOther) offenders.push(`${shownText}: HTML for ${accept}`)
    }
  }
  t.strictSame(offenders, [], `no text changes a tag (FUZZ_SEED=${seed})`)
}
