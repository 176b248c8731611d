import type { Profile, ProfileSummary } from '../profile/profile.ts'
import type { ProfileFilter, ProfileStorage, StoredProfile } from '../store/profile-storage.ts'
import { measureSpread } from './durations.ts'
import type { Finding } from './findings/finding.ts'
import type { Inspector } from './findings/inspector.ts'
import { findSinceEdit, type SinceEdit } from './since-edit.ts'
import { isBrowserProbe } from './summary-view.ts'

/** A profile with its relatives and findings, as panels, exports, the toolbar and tools show it. */
export interface ShownProfile extends StoredProfile {
  /** The most severe first. */
  readonly findings: readonly Finding[]
  /** The request that made this sub-request, when its profile is stored. */
  readonly parent: ProfileSummary | undefined
  /** Its sub-requests whose profiles are stored. */
  readonly children: readonly ProfileSummary[]
  /** The latest similar requests before it, the newest first. */
  readonly earlier: readonly ProfileSummary[]
  /** What has changed since the last edit of files; absent without an edit, or without a similar request before it. */
  readonly sinceEdit?: SinceEdit | undefined
}

/** Completes a stored profile by its findings, its relatives, and what has changed since the last edit of files. */
export async function showProfile(
  stored: StoredProfile,
  storage: ProfileStorage,
  inspector: Inspector,
): Promise<ShownProfile & Relatives> {
  const { profile } = stored
  const relatives = await findRelatives(storage, profile)
  const sinceEdit = await findSinceEdit(profile, relatives.earlier, { judge: inspector, storage })
  return { ...stored, ...relatives, findings: inspector.inspect(profile), sinceEdit }
}

/** The stored profiles that the page of a profile links to. */
export interface Relatives {
  readonly parent: ProfileSummary | undefined
  /** In the order of `children` in the profile. */
  readonly children: readonly ProfileSummary[]
  /** The previous main request. */
  readonly older: ProfileSummary | undefined
  /** The next main request. */
  readonly newer: ProfileSummary | undefined
  /** The number of later main requests that were found. */
  readonly newerCount: number
  /** Whether there may be more later requests than were searched. */
  readonly hasMore: boolean
  /** The latest similar requests before this one that were complete, at most 200, the newest first. */
  readonly earlier: readonly ProfileSummary[]
}

/** The maximal number of sub-requests that are searched for. */
const childLimit = 1000

/** The number of requests in which the next main request is searched: most may be sub-requests. */
const neighbourLimit = 200

/** Finds the relatives of a profile. It searches: `find` would wait a second for each profile that was deleted. */
export async function findRelatives(storage: ProfileStorage, { summary, children }: Profile): Promise<Relatives> {
  const { parent, time, token } = summary
  const search = async (filter: ProfileFilter, limit: number, direction?: 'ascending' | 'descending') => {
    const sort = direction && { sort: { field: 'time', direction } as const }
    const { summaries } = await storage.search({ filters: [filter], limit, ...sort })
    return summaries
  }
  const [parents, found, before, after, earlier] = await Promise.all([
    parent === null ? [] : search({ field: 'token', test: 'contains', value: parent }, 1),
    children.length === 0 ? [] : search({ field: 'parent', test: 'contains', value: token }, childLimit),
    search({ field: 'time', test: 'until', value: time }, neighbourLimit, 'descending'),
    search({ field: 'time', test: 'from', value: time }, neighbourLimit, 'ascending'),
    findSimilar(storage, summary),
  ])
  const byToken = new Map(found.map(child => [child.token, child]))
  const isMain = (other: ProfileSummary) => other.parent === null
  const newer = after
    .filter(isMain)
    .toSorted(compareTime)
    .filter(other => compareTime(other, summary) > 0)
  return {
    parent: parents.find(other => other.token === parent),
    children: children.flatMap(child => byToken.get(child) ?? []),
    older: before
      .filter(isMain)
      .toSorted(compareTime)
      .findLast(other => compareTime(other, summary) < 0),
    newer: newer[0],
    newerCount: newer.length,
    hasMore: after.length === neighbourLimit,
    earlier: earlier.filter(other => other.outcome === 'complete' && compareTime(other, summary) < 0),
  }
}

/** Compares the times of two requests. The token orders requests of the same millisecond, so that the order is stable. */
function compareTime(a: ProfileSummary, b: ProfileSummary): number {
  return a.time - b.time || (a.token < b.token ? -1 : Number(a.token > b.token))
}

/** The maximal number of profiles of sub-requests that are read. */
const readLimit = 100

/** Reads the profiles of the sub-requests of a profile. They are searched first: `find` would wait a second for each that was deleted. */
export async function findChildren(
  storage: Pick<ProfileStorage, 'find' | 'search'>,
  { children, summary }: Profile,
): Promise<Profile[]> {
  if (children.length === 0) return []
  const filters = [{ field: 'parent', test: 'contains', value: summary.token } as const]
  const { summaries } = await storage.search({ filters, limit: readLimit })
  const found = await Promise.all(
    summaries.filter(({ token }) => children.includes(token)).map(({ token }) => storage.find(token)),
  )
  return found.flatMap(stored => stored?.profile ?? [])
}

/** The number of similar profiles that are compared. */
const similarLimit = 200

/** Finds the previous profiles with the same method and route (without a route, with the same path), the newest first. */
export async function findSimilar(
  storage: Pick<ProfileStorage, 'search'>,
  summary: ProfileSummary,
): Promise<readonly ProfileSummary[]> {
  const { method, route, time, token, url } = summary
  // The filter with the fewest results comes first.
  const filters: ProfileFilter[] = [
    route === null
      ? { field: 'url', test: 'contains', value: withoutQuery(url) }
      : { field: 'route', test: 'among', value: new Set([route]) },
    { field: 'time', test: 'until', value: time },
    { field: 'method', test: 'contains', value: method },
    ...(summary.parent === null ? [mainRequests] : []),
  ]
  // The results are the profiles that were stored last. A search sorted by time would have to compare all that match.
  const { summaries } = await storage.search({ filters, limit: similarLimit })
  const similar = summaries.filter(other => other.token !== token && isSameRequest(other, summary))
  return similar.sort((one, other) => compareTime(other, one))
}

function isSameRequest(one: ProfileSummary, other: ProfileSummary): boolean {
  const isSubRequest = one.parent !== null
  return (
    one.method === other.method &&
    one.route === other.route &&
    (one.route !== null || withoutQuery(one.url) === withoutQuery(other.url)) &&
    isSubRequest === (other.parent !== null) &&
    // Sub-requests often have the URL of their main request, so the controller distinguishes them.
    (!isSubRequest || one.controller === other.controller)
  )
}

/** A URL without its query and its fragment. */
function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '')
}

/** What two requests have in common, from the most to the least. */
const likenesses = [
  'same URL',
  'same path, another query',
  'same route, another path',
  'another route',
  'another method',
]

/** What two requests have in common, for people: `same path, another query`. */
export function likenessOf(one: ProfileSummary, other: ProfileSummary): string {
  if (one.method !== other.method) return 'another method'
  if (one.url === other.url) return 'same URL'
  if (withoutQuery(one.url) === withoutQuery(other.url)) return 'same path, another query'
  return one.route !== null && one.route === other.route ? 'same route, another path' : 'another route'
}

/** The earlier requests with which a request can be compared. */
interface Predecessors {
  /** The most similar request: the latest one of the same URL, otherwise of the same path, otherwise of the same route. */
  readonly previous: ProfileSummary | undefined
  /** The profiles to compare with, the most similar first, at most eight. */
  readonly candidates: readonly ProfileSummary[]
  /** Milliseconds between the 10th and the 90th percentile of their durations; 0 if they are too few. */
  readonly spread: number
}

const candidateLimit = 8
const sameLimit = 50

/** Finds the earlier requests with which a request can be compared. */
export async function findPredecessors(
  storage: Pick<ProfileStorage, 'search'>,
  summary: ProfileSummary,
): Promise<Predecessors> {
  const similar = await findSimilar(storage, summary)
  const earlier = similar.filter(other => compareTime(other, summary) < 0)
  // The limit of the search may have left out the requests of this URL.
  const same = earlier.some(({ url }) => url === summary.url) ? [] : await findSame(storage, summary)
  const rankOf = (other: ProfileSummary) => likenesses.indexOf(likenessOf(other, summary))
  const candidates = [...same, ...earlier].sort((a, b) => rankOf(a) - rankOf(b)).slice(0, candidateLimit)
  return { previous: candidates[0], candidates, spread: measureSpread(earlier) }
}

async function findSame(
  storage: Pick<ProfileStorage, 'search'>,
  summary: ProfileSummary,
): Promise<readonly ProfileSummary[]> {
  const { time, url } = summary
  const { summaries } = await storage.search({
    filters: [
      { field: 'url', test: 'among', value: new Set([url]) },
      { field: 'time', test: 'until', value: time },
    ],
    limit: sameLimit,
  })
  return summaries
    .filter(other => isSameRequest(other, summary) && compareTime(other, summary) < 0)
    .sort((a, b) => compareTime(b, a))
}

/** The number of main requests that are searched. */
const latestLimit = 50

/** Milliseconds within which a page makes most of its requests. */
const pageSpan = 2_000

/**
 * Finds the latest stored main request, without the probes of browsers. If a page in a browser made the request
 * (`Sec-Fetch-Dest`, W3C Fetch Metadata), the result is the page.
 */
export async function findLatest(storage: Pick<ProfileStorage, 'search'>): Promise<ProfileSummary | undefined> {
  const { summaries } = await storage.search({ filters: [mainRequests], limit: latestLimit })
  const wanted = summaries.filter(summary => !isBrowserProbe(summary))
  const [newest = summaries[0]] = wanted
  if (newest === undefined || (newest.destination ?? 'document') === 'document') return newest
  const isPage = ({ contentType, time }: ProfileSummary) =>
    contentType?.startsWith('text/html') === true && newest.time - time <= pageSpan
  return wanted.find(isPage) ?? newest
}

/** Matches main requests: they have no parent, and the filter reads a missing parent as an empty text. */
export const mainRequests: ProfileFilter = { field: 'parent', test: 'among', value: new Set(['']) }

/** The other stored requests with the error of a request. */
export interface Occurrences {
  readonly fingerprint: string
  readonly count: number
  /** Whether there may be more, which were not read. */
  readonly hasMore: boolean
  /** The time of the first and of the last one, in milliseconds since 1970; `undefined` without any. */
  readonly first: number | undefined
  readonly last: number | undefined
  /** The number of routes with the error, that of the request itself included. */
  readonly routes: number
  /** The latest requests with this error, the latest first. */
  readonly latest: readonly ProfileSummary[]
}

const occurrenceLimit = 1000
const shownLimit = 3

/** Finds the other requests with the same error in one search; `undefined` for a request without a fingerprint. */
export async function findOccurrences(
  storage: Pick<ProfileStorage, 'search'>,
  { fingerprint, parent, route, token }: ProfileSummary,
): Promise<Occurrences | undefined> {
  if (fingerprint === null) return undefined
  const { summaries, total } = await storage.search({ filters: [sameError(fingerprint)], limit: occurrenceLimit })
  // An error of a sub-request is usually an error of its main request, too, and is then counted once.
  const tokens = new Set(summaries.map(each => each.token))
  const isOwn = (each: ProfileSummary) => each.token === token || each.parent === token || each.token === parent
  const others = summaries.filter(each => !isOwn(each) && !(each.parent !== null && tokens.has(each.parent)))
  const times = others.map(({ time }) => time)
  return {
    fingerprint,
    count: others.length,
    hasMore: total > summaries.length,
    first: others.length === 0 ? undefined : Math.min(...times),
    last: others.length === 0 ? undefined : Math.max(...times),
    routes: new Set([route, ...others.map(other => other.route)]).size,
    latest: others.slice(0, shownLimit),
  }
}

function sameError(fingerprint: string): ProfileFilter {
  return { field: 'fingerprint', test: 'among', value: new Set([fingerprint]) }
}
