import { readClock, readTime } from '../../../lib/own-globals.ts'
import { formatNumber } from '../profile/format.ts'
import { groupBy } from '../profile/group-by.ts'
import type { Profile, ProfileSummary } from '../profile/profile.ts'
import { hasEventStream } from '../profile/units.ts'
import { selectSorted } from '../store/base-profile-storage.ts'
import { type ProfileQuery, type ProfileStorage, readLimit } from '../store/profile-storage.ts'
import { addCalled, isAwaitingCalled, readProfiles } from './called.ts'
import { leastForMedian, measureDurations } from './durations.ts'
import { toBadge } from './findings/finding.ts'
import type { Inspector } from './findings/inspector.ts'
import { type ListMark, type ListRequest, marks } from './list-request.ts'
import { isMain } from './relatives.ts'
import { type Badge, isBrowserProbe, isError, workOf } from './summary-view.ts'

/** A profile in the list. */
export interface ListEntry {
  readonly summary: ProfileSummary
  /** 0, or the depth of a sub-request below its main request, which is on the same page. */
  readonly depth: number
  /** The main request at the head of the family; a sub-request that is listed without one is its own. */
  readonly main: ProfileSummary
}

/** A page of the list, and what is known of all of its pages. */
export interface ListResult {
  /** Each main request is followed by its sub-requests. */
  readonly profiles: readonly ListEntry[]
  /** The number of profiles on all pages. */
  readonly total: number
  /** The number of profiles with each mark, independent of the marks in the search. */
  readonly counts: Readonly<Record<ListMark | 'all', number>>
  readonly histogram: readonly Bucket[]
  /** The matching main requests that browsers made by themselves. They are left out of the list. */
  readonly probes: readonly ProfileSummary[]
  /** All main requests, independent of the search: they give the choices of the form. */
  readonly mains: readonly ProfileSummary[]
  readonly pinned: ReadonlySet<string>
  /** The token of the profile that was appended last, independent of the search; empty without one. */
  readonly newest: string
  /** Tokens of the profiles that are only in memory, because writing fails; absent when writing works. */
  readonly unstored?: ReadonlySet<string>
  /** How many of the matching profiles have been read for their findings. */
  readonly examined: number
  /** The notes of the request, and what the result lacks. */
  readonly notes: readonly string[]
}

/**
 * The words for the number of profiles on a page of the list, and on all pages; the latter are
 * empty if there is one page.
 */
export function describeCount(count: number, total: number): { readonly found: string; readonly inAll: string } {
  return {
    found: `${count === 0 ? 'No' : formatNumber(count)} results found`,
    inAll: count === total ? '' : `${formatNumber(total)} in all`,
  }
}

/** What a search needs beside the store. */
export interface ListContext {
  /** The client that looks at the list, as in a summary. */
  readonly client?: string
  /** Without it, no findings are known. */
  readonly facts?: RowFacts
}

/**
 * Milliseconds in which a search reads profiles for their findings: if it looks for findings, and
 * if it only counts them.
 */
const patience = { wanted: 1000, counted: 100 } as const

/** Searches the requested page of the list: main requests and sub-requests that match by themselves. */
export async function searchList(
  storage: Pick<ProfileStorage, 'pinned' | 'search'>,
  wanted: ListRequest,
  { client, facts }: ListContext = {},
): Promise<ListResult> {
  const [pinned, { summaries, unstored }] = await Promise.all([storage.pinned(), storage.search({ limit: readLimit })])
  const { isOfProbes, isPinned, matches, query } = wanted
  const found = summaries.filter(summary => matches(summary) && (!isPinned || pinned.has(summary.token)))
  const probes = found.filter(isBrowserProbe)
  const left = new Set(probes)
  const matching = isOfProbes ? probes : found.filter(summary => !left.has(summary))
  const mains = summaries.filter(isMain)
  const wantsFindings = wanted.marks.includes('findings')
  await facts?.read(matching, wantsFindings ? patience.wanted : patience.counted)
  const examined = facts === undefined ? 0 : matching.filter(summary => facts.get(summary) !== undefined).length
  const hasFindings = (summary: ProfileSummary) => facts?.get(summary)?.badge !== undefined
  const context = { client, isSlow: recognizeSlow(mains), hasFindings }
  const { counts, marked } = selectMarked(matching, wanted, context)
  return {
    profiles: listPage(marked, query),
    total: marked.length,
    counts,
    histogram: createHistogram(
      marked.map(summary => ({ time: summary.time, isError: hasMark('errors', summary, context) })),
    ),
    probes: isOfProbes ? [] : probes.filter(isMain),
    mains,
    pinned,
    newest: summaries[0]?.token ?? '',
    examined,
    notes: [
      ...wanted.notes,
      ...(wantsFindings && examined < matching.length
        ? [
            `The findings of ${formatNumber(examined)} of ${formatNumber(matching.length)} requests are known: each time that the list is loaded, more are read.`,
          ]
        : []),
    ],
    ...(unstored && { unstored }),
  }
}

/**
 * Searches all main requests that match, the newest first, or sub-requests if these are wanted;
 * `context` is needed by some marks. `mains` has the others, too.
 */
export async function searchMains(
  storage: Pick<ProfileStorage, 'pinned' | 'search'>,
  wanted: ListRequest,
  context?: ListContext,
): Promise<Pick<ListResult, 'mains' | 'newest' | 'notes'> & { readonly found: readonly ProfileSummary[] }> {
  const query = { ...wanted.query, offset: 0, limit: Number.MAX_SAFE_INTEGER }
  const { profiles, ...result } = await searchList(storage, { ...wanted, query }, context)
  const isOfSubRequests = wanted.parameters.type === 'sub-request'
  const found = profiles.map(({ summary }) => summary).filter(summary => isOfSubRequests || isMain(summary))
  return { ...result, found }
}

/** Searches all profiles that match by themselves, the newest first: main requests and sub-requests. */
export async function searchProfiles(
  storage: Pick<ProfileStorage, 'search'>,
  { matches }: ListRequest,
): Promise<ProfileSummary[]> {
  const { summaries } = await storage.search({ limit: readLimit })
  return summaries.filter(matches)
}

/**
 * Creates the filter of new profiles for a list. Whether a new request is slow or has findings is
 * not known: it counts as slow, and as one with findings.
 */
export function createFilter(
  { isOfProbes, marks, matches }: ListRequest,
  client?: string,
): (summary: ProfileSummary) => boolean {
  const context = { client, isSlow: () => true, hasFindings: () => true }
  return summary =>
    isBrowserProbe(summary) === isOfProbes && matches(summary) && marks.every(mark => hasMark(mark, summary, context))
}

/** Counts the profiles with each mark, and selects those with all marks that are wanted. */
function selectMarked(
  matching: readonly ProfileSummary[],
  wanted: ListRequest,
  context: MarkContext,
): Pick<ListResult, 'counts'> & { readonly marked: readonly ProfileSummary[] } {
  const counts = { all: matching.length, main: 0, errors: 0, slow: 0, findings: 0, '4xx': 0, api: 0, client: 0 }
  const marked = matching.filter(summary => {
    const found = marks.filter(mark => hasMark(mark, summary, context))
    for (const mark of found) counts[mark]++
    return wanted.marks.every(mark => found.includes(mark))
  })
  return { counts, marked }
}

/** Lists a page of profiles, the newest first: families in the requested order of their main requests. */
function listPage(found: readonly ProfileSummary[], { limit, offset, sort }: ListRequest['query']): ListEntry[] {
  const end = offset + limit
  const groups = groupFamilies(found)
  const listed: ListEntry[] = []
  for (const family of sort === undefined ? groups : selectSorted(groups, ({ main }) => main, end, sort)) {
    if (listed.length >= end) break
    listed.push(...listFamily(family))
  }
  const page = listed.slice(offset, end)
  // The head of a family may be on the page before.
  const first = page.findIndex(({ depth }) => depth === 0)
  const cut = first === -1 ? page.length : first
  return page.map((profile, index) => (index < cut ? { ...profile, depth: 0, main: profile.summary } : profile))
}

function listFamily(family: Family): ListEntry[] {
  const { main } = family
  const members = listMembers(family).map(member => ({ ...member, main }))
  return [{ summary: main, depth: 0, main }, ...members]
}

/** What the marks of a request depend on, beside its summary. */
interface MarkContext {
  /** Whether a main request is slow. */
  readonly isSlow: (summary: ProfileSummary) => boolean
  /** Whether a request is known to have findings. */
  readonly hasFindings: (summary: ProfileSummary) => boolean
  /** The client that looks at the list, as in a summary; `undefined` in a console. */
  readonly client: string | undefined
}

/** Whether a request has a mark. A sub-request has the marks of its status and of its findings only. */
function hasMark(mark: ListMark, summary: ProfileSummary, { client, hasFindings, isSlow }: MarkContext): boolean {
  const { exception, status } = summary
  const isRefused = status >= 400 && status < 500
  if (mark === 'errors') return isError(summary) || (exception !== null && !isRefused)
  if (mark === '4xx') return isRefused
  if (mark === 'findings') return hasFindings(summary)
  if (summary.parent !== null) return false
  if (mark === 'main') return true
  if (mark === 'slow') return isSlow(summary)
  if (mark === 'api') return isCall(summary)
  return summary.client !== null && summary.client === client
}

const programTypes = /^(?:application|text)\/(?:[\w.-]+\+)?(?:json|xml|x-ndjson|event-stream)\b/

/** Whether a script or a program made the request. Browsers report it on HTTPS and on localhost, others do not. */
function isCall({ contentType, destination }: ProfileSummary): boolean {
  return destination === null ? programTypes.test(contentType ?? '') : destination === 'empty'
}

/** Milliseconds from which each request is slow. */
const slowDuration = 500

/** Milliseconds from which a request is slow if it takes three times as long as usual. */
const leastDuration = 50
const slowFactor = 3

/**
 * Creates the function that recognises slow main requests: they took half a second, or at least 50 ms and three
 * times the median of their route and operation. A stream of events is open for as long as its client likes.
 */
export function recognizeSlow(mains: readonly ProfileSummary[]): MarkContext['isSlow'] {
  const bounds = new Map<string, number>()
  for (const [work, group] of groupBy(mains, workOf)) {
    const { median } = group.length < leastForMedian ? { median: slowDuration } : measureDurations(group)
    bounds.set(work, Math.min(slowDuration, Math.max(leastDuration, slowFactor * median)))
  }
  return summary => summary.duration >= (bounds.get(workOf(summary)) ?? slowDuration) && !hasEventStream(summary)
}

/** A main request with its sub-requests. */
interface Family {
  /** A sub-request without a stored parent is the main request of a family of its own. */
  readonly main: ProfileSummary
  /** Its sub-requests on all levels, in any order. */
  readonly members: ProfileSummary[]
}

/** A sub-request in the tree of its family. */
interface FamilyMember {
  readonly summary: ProfileSummary
  /** 1 for a sub-request of the main request itself. */
  readonly depth: number
}

/** Deeper sub-requests are on this level: damaged profiles may be the parents of each other. */
const depthLimit = 20

/** Groups profiles, the newest first, into families in the order of their main requests. */
export function groupFamilies(summaries: readonly ProfileSummary[]): Family[] {
  const families = summaries.map((main): Family => ({ main, members: [] }))
  const byToken = new Map<string, Family>()
  // Of two profiles with the same token, the newest one is found by it.
  for (const family of families.toReversed()) byToken.set(family.main.token, family)
  return families.filter(family => {
    const main = family.main.parent === null ? family : findMain(family, byToken)
    if (main !== family) main.members.push(family.main)
    return main === family
  })
}

function findMain(family: Family, byToken: ReadonlyMap<string, Family>): Family {
  let found = family
  for (let depth = 0; found.main.parent !== null; depth++) {
    const parent = byToken.get(found.main.parent)
    if (parent === undefined) return found
    // A circle has no main request.
    if (depth === depthLimit || parent === family) return family
    found = parent
  }
  return found
}

/** Lists the sub-requests of a family as a tree: each below its parent, in the order in which they began. */
export function listMembers({ main, members }: Family): FamilyMember[] {
  const sorted = members.toReversed().sort((one, other) => one.time - other.time)
  const byParent = groupBy(sorted, ({ parent }) => parent)
  const listed: FamilyMember[] = []
  const add = (parent: ProfileSummary, depth: number) => {
    for (const summary of byParent.get(parent.token) ?? []) {
      listed.push({ summary, depth })
      if (depth < depthLimit) add(summary, depth + 1)
    }
  }
  add(main, 1)
  return listed
}

/**
 * Pins or unpins a profile with all profiles of its family, so that no page of a pinned profile
 * leads to a profile that was removed. False if the profile is not known, or cannot be written.
 */
export async function pinFamily(
  storage: Pick<ProfileStorage, 'pin' | 'search'>,
  token: string,
  isPinned: boolean,
): Promise<boolean> {
  const { summaries } = await storage.search({ limit: readLimit })
  const isWanted = (summary: ProfileSummary) => summary.token === token
  const family = groupFamilies(summaries).find(({ main, members }) => isWanted(main) || members.some(isWanted))
  const tokens = family === undefined ? [] : [family.main, ...family.members].map(({ token }) => token)
  const [isDone] = await Promise.all(
    [token, ...tokens.filter(other => other !== token)].map(each => storage.pin(each, isPinned)),
  )
  return isDone === true
}

/** The requests of a time span. */
export interface Bucket {
  /** Milliseconds since 1970: a whole second. */
  readonly start: number
  /** The start of the next bucket. */
  readonly end: number
  readonly count: number
  /** How many of them failed. */
  readonly errors: number
}

/** The greatest number of buckets. */
const bucketLimit = 48

/** The last time of a `Date`. A damaged profile may have any. */
const lastTime = 8.64e15

/** For fewer requests there is no histogram. */
const leastEntries = 10

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** The lengths of buckets, in milliseconds. Greater ones are whole days. */
const steps = [
  ...[1, 2, 5, 10, 15, 30].map(count => count * second),
  ...[1, 2, 5, 10, 15, 30].map(count => count * minute),
  ...[1, 2, 3, 6, 12, 24].map(count => count * hour),
]

/**
 * Counts requests in buckets of equal length, the oldest first. None for a few requests, or if all are in one bucket.
 */
export function createHistogram(entries: readonly { readonly time: number; readonly isError: boolean }[]): Bucket[] {
  if (entries.length < leastEntries) return []
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const { time } of entries) {
    first = Math.min(first, time)
    last = Math.max(last, time)
  }
  const countFor = (step: number) => Math.floor(last / step) - Math.floor(first / step) + 1
  const step =
    steps.find(step => countFor(step) <= bucketLimit) ?? Math.ceil((last - first) / (bucketLimit - 1) / day) * day
  const count = countFor(step)
  if (count === 1) return []
  const groups = groupBy(entries, ({ time }) => Math.floor(time / step))
  const origin = Math.floor(first / step)
  return Array.from({ length: count }, (_, index) => {
    const group = groups.get(origin + index) ?? []
    const errors = group.filter(({ isError }) => isError).length
    const start = (origin + index) * step
    return { start, end: Math.min(start + step, lastTime), count: group.length, errors }
  })
}

/** The services of {@link RowFacts}. */
interface FactServices {
  readonly storage: Pick<ProfileStorage, 'find' | 'search'>
  readonly inspector: () => Promise<Inspector>
  /** Finds the place in the code that answered a request: file and line, or empty. */
  readonly findPlace: (profile: Profile) => string
}

/** What a row of a list shows, and the summary of the profile does not have. */
interface RowFact {
  /** The badge of the findings; `undefined` without any. */
  readonly badge: Badge | undefined
  /** The place in the code that answered the request; empty if it is not known. */
  readonly place: string
}

/** The number of profiles that are read at once. */
const atOnce = 20

/**
 * Reads the facts of profiles. Lists read summaries only, but findings and places need the whole
 * profile: it is read when a list first needs it. Each version of a profile has a summary of its
 * own, so its facts are forgotten with it: when it is saved again or removed.
 */
export class RowFacts {
  readonly #services: FactServices
  readonly #known = new WeakMap<ProfileSummary, RowFact>()
  /** Those whose called requests are not all stored yet: they are read again. */
  readonly #young = new WeakSet<ProfileSummary>()

  constructor(services: FactServices) {
    this.#services = services
  }

  /** Returns the facts of a profile; `undefined` if it has not been read. */
  get(summary: ProfileSummary): RowFact | undefined {
    return this.#known.get(summary)
  }

  /** Reads the facts that are not known yet, until all are known or this many milliseconds are over. */
  async read(summaries: readonly ProfileSummary[], milliseconds: number = Number.POSITIVE_INFINITY): Promise<void> {
    const rules = await this.#services.inspector()
    const end = readClock() + milliseconds
    const missing = summaries.filter(summary => !this.#known.has(summary) || this.#young.has(summary))
    const { storage } = this.#services
    let all: ReturnType<typeof storage.search> | undefined
    const search = (query: ProfileQuery) => (all ??= storage.search(query))
    for (let at = 0; at < missing.length && readClock() < end; at += atOnce) {
      await this.#read(missing.slice(at, at + atOnce), rules, search)
    }
  }

  /** A profile that is damaged, or was removed meanwhile, has no findings. */
  async #read(summaries: readonly ProfileSummary[], rules: Inspector, search: ProfileStorage['search']): Promise<void> {
    const { findPlace, storage } = this.#services
    const read = await readProfiles(storage, summaries)
    // The number of findings needs no profile of a called request.
    const profiles = await addCalled(read, { find: token => storage.find(token), search }, 0)
    const byToken = new Map(profiles.map(profile => [profile.summary.token, profile]))
    for (const summary of summaries) {
      const profile = byToken.get(summary.token)
      const badge = profile && toBadge(rules.inspect(profile))
      this.#known.set(summary, { badge, place: profile === undefined ? '' : findPlace(profile) })
      if (profile !== undefined && isAwaitingCalled(profile, readTime())) this.#young.add(summary)
      else this.#young.delete(summary)
    }
  }
}
