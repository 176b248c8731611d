import type { Profile, ProfileSummary } from '../profile/profile.ts'
import { unitOf } from '../profile/units.ts'
import { selectSorted } from '../store/base-profile-storage.ts'
import {
  type ProfileFilter,
  type ProfileStorage,
  readLimit,
  type StoredProfile,
  type SummaryField,
} from '../store/profile-storage.ts'
import { findCalled, findCaller, readProfiles, withCalled } from './called.ts'
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
  /** The request that has made it by an HTTP client call. */
  readonly caller?: ProfileSummary | undefined
  /** The jobs, messages and other units that it has caused, the oldest first. */
  readonly caused?: readonly ProfileSummary[]
}

/** Completes a stored profile by its findings, its relatives, and what has changed since the last edit of files. */
export async function showProfile(
  stored: StoredProfile,
  storage: ProfileStorage,
  inspector: Inspector,
): Promise<ShownProfile & Relatives> {
  const { summaries } = await storage.search({ limit: readLimit })
  const relatives = findRelatives(summaries, stored.profile)
  const [sinceEdit, called, caller] = await Promise.all([
    findSinceEdit(stored.profile, relatives.earlier, { judge: inspector, storage }),
    findCalled(storage, summaries, stored.profile),
    findCaller(storage, summaries, stored.profile),
  ])
  const profile = withCalled(stored.profile, called)
  const { caused } = findLinked(summaries, profile.summary)
  return { ...stored, ...relatives, caused, profile, findings: inspector.inspect(profile), sinceEdit, caller }
}

/** The stored profiles that the page of a profile links to, and those in which it searches for others. */
export interface Relatives {
  /**
   * All stored profiles when the profile was read, the newest first. Its panels search here: a
   * search of the store reads its files again.
   */
  readonly summaries: readonly ProfileSummary[]
  readonly parent: ProfileSummary | undefined
  /** In the order of `children` in the profile. */
  readonly children: readonly ProfileSummary[]
  /** The previous main request. */
  readonly older: ProfileSummary | undefined
  /** The next main request. */
  readonly newer: ProfileSummary | undefined
  /** The number of later main requests, of the next 200 requests. */
  readonly newerCount: number
  /** Whether there are later requests that were not counted. */
  readonly hasMore: boolean
  /** The latest similar requests before this one that were complete, at most 200, the newest first. */
  readonly earlier: readonly ProfileSummary[]
}

/** The number of later requests in which main requests are counted. */
const newerLimit = 200

/**
 * Finds the relatives of a profile. They are searched: `storage.find` would wait a second for each
 * profile that was deleted.
 */
export function findRelatives(summaries: readonly ProfileSummary[], { children, summary }: Profile): Relatives {
  const { parent, token } = summary
  const found = children.length === 0 ? [] : summaries.filter(other => other.parent === token)
  const byToken = new Map(found.map(child => [child.token, child]))
  const { older, since } = lookAround(summaries, summary)
  const next = selectSorted(since, other => other, newerLimit, { field: 'time', direction: 'ascending' })
  const newer = next.filter(other => isMain(other) && compareTime(other, summary) > 0).sort(compareTime)
  return {
    summaries,
    parent: parent === null ? undefined : summaries.find(other => other.token === parent),
    children: children.flatMap(child => byToken.get(child) ?? []),
    older,
    newer: newer[0],
    newerCount: newer.length,
    hasMore: next.length === newerLimit,
    earlier: findEarlier(summaries, summary).filter(({ outcome }) => outcome === 'complete'),
  }
}

/** Whether both requests were answered by the same program. */
function isOfProgram(one: ProfileSummary, other: ProfileSummary): boolean {
  return one.program === other.program
}

/** Whether a request is a main request, not a sub-request. */
export function isMain({ parent }: ProfileSummary): boolean {
  return parent === null
}

/** The units that a unit is linked with, the oldest first. */
export interface LinkedUnits {
  /** Those whose code has begun it, or has put its job into the queue. */
  readonly causes: readonly ProfileSummary[]
  readonly caused: readonly ProfileSummary[]
  /** The other attempts of its job. */
  readonly attempts: readonly ProfileSummary[]
}

/**
 * Finds what has caused a unit, what it has caused, and the other attempts of its job; `summaries`
 * are those of all stored profiles.
 */
export function findLinked(summaries: readonly ProfileSummary[], summary: ProfileSummary): LinkedUnits {
  const { cause, enqueued = [], job, token } = summary
  const causes: ProfileSummary[] = []
  const caused: ProfileSummary[] = []
  const attempts: ProfileSummary[] = []
  for (const other of summaries) {
    if (other.token === token) continue
    const isOfJob = job !== undefined && other.job === job
    if (isOfJob) attempts.push(other)
    if (other.token === cause || (job !== undefined && other.enqueued?.includes(job))) causes.push(other)
    if (other.cause === token || (other.job !== undefined && !isOfJob && enqueued.includes(other.job)))
      caused.push(other)
  }
  for (const found of [causes, caused, attempts]) found.sort(compareTime)
  return { causes, caused, attempts }
}

/**
 * Finds the last main request before another request, and all requests since, in one pass: there
 * may be 100,000 summaries.
 */
function lookAround(summaries: readonly ProfileSummary[], summary: ProfileSummary) {
  const since: ProfileSummary[] = []
  let older: ProfileSummary | undefined
  const isOther = (other: ProfileSummary) => isMain(other) && isOfProgram(other, summary)
  const most = summary.time
  let least = Number.NEGATIVE_INFINITY
  for (const other of summaries) {
    const { time } = other
    if (time >= most && isOfProgram(other, summary)) since.push(other)
    // Most requests are before the one that was found: of them, only the time is read.
    if (time < least || time > most || !isOther(other) || compareTime(other, summary) >= 0) continue
    if (older !== undefined && compareTime(other, older) <= 0) continue
    older = other
    least = time
  }
  return { older, since }
}

/** Takes the first summaries that meet a condition. */
function take(
  summaries: readonly ProfileSummary[],
  limit: number,
  isWanted: (summary: ProfileSummary) => boolean,
): ProfileSummary[] {
  const taken: ProfileSummary[] = []
  for (const summary of summaries) {
    if (taken.length === limit) break
    if (isWanted(summary)) taken.push(summary)
  }
  return taken
}

/**
 * Compares the times of two requests. The token orders requests of the same millisecond, so that the order is stable.
 */
function compareTime(a: ProfileSummary, b: ProfileSummary): number {
  return a.time - b.time || (a.token < b.token ? -1 : Number(a.token > b.token))
}

/** The maximal number of profiles of sub-requests that are read. */
const childLimit = 100

/** Reads the profiles of the sub-requests of a profile; `summaries` are those of all stored profiles. */
export async function findChildren(
  storage: Pick<ProfileStorage, 'find'>,
  summaries: readonly ProfileSummary[],
  { children, summary }: Profile,
): Promise<Profile[]> {
  if (children.length === 0) return []
  const isChild = ({ parent, token }: ProfileSummary) => parent === summary.token && children.includes(token)
  return readProfiles(storage, take(summaries, childLimit, isChild))
}

/** The number of similar profiles that are compared. */
const similarLimit = 200

/**
 * Finds the requests before a request with the same method, route (without a route, the same path)
 * and operation, the newest first. They are the profiles that were stored last: in the order of
 * their times, all would have to be compared.
 */
function findEarlier(summaries: readonly ProfileSummary[], summary: ProfileSummary): ProfileSummary[] {
  const isSimilar = (other: ProfileSummary) => other.time <= summary.time && isSameRequest(other, summary)
  const earlier = take(summaries, similarLimit, isSimilar).filter(other => compareTime(other, summary) < 0)
  return earlier.sort((one, other) => compareTime(other, one))
}

function isSameRequest(one: ProfileSummary, other: ProfileSummary): boolean {
  const isSubRequest = one.parent !== null
  return (
    isOfProgram(one, other) &&
    one.method === other.method &&
    one.route === other.route &&
    one.operation === other.operation &&
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
  'another operation',
  'another route',
  'another method',
]

/** What two requests have in common, for people: `same path, another query`. */
export function likenessOf(one: ProfileSummary, other: ProfileSummary): string {
  if (!unitOf(one).isExchange) return one.route === other.route ? `same ${unitOf(one).noun}` : 'another route'
  if (one.method !== other.method) return 'another method'
  if (one.operation !== other.operation) return 'another operation'
  if (one.url === other.url) return 'same URL'
  if (withoutQuery(one.url) === withoutQuery(other.url)) return 'same path, another query'
  return one.route !== null && one.route === other.route ? 'same route, another path' : 'another route'
}

/** The earlier requests with which a request can be compared. */
interface Predecessors {
  /**
   * The most similar request: the latest one of the same URL, otherwise of the same path, otherwise of the same route.
   */
  readonly previous: ProfileSummary | undefined
  /** The profiles to compare with, the most similar first, at most eight. */
  readonly candidates: readonly ProfileSummary[]
  /** Milliseconds between the 10th and the 90th percentile of their durations; 0 if they are too few. */
  readonly spread: number
}

const candidateLimit = 8
const sameLimit = 50

/**
 * Finds the earlier requests with which a request can be compared; `summaries` are those of all
 * stored profiles, the newest first.
 */
export function findPredecessors(summaries: readonly ProfileSummary[], summary: ProfileSummary): Predecessors {
  const earlier = findEarlier(summaries, summary)
  // The limit may have left out the requests of this URL.
  const same = earlier.some(({ url }) => url === summary.url) ? [] : findSame(summaries, summary)
  const rankOf = (other: ProfileSummary) => likenesses.indexOf(likenessOf(other, summary))
  const candidates = [...same, ...earlier].sort((a, b) => rankOf(a) - rankOf(b)).slice(0, candidateLimit)
  return { previous: candidates[0], candidates, spread: measureSpread(earlier) }
}

function findSame(summaries: readonly ProfileSummary[], summary: ProfileSummary): ProfileSummary[] {
  const isSame = (other: ProfileSummary) =>
    other.url === summary.url && isSameRequest(other, summary) && compareTime(other, summary) < 0
  return take(summaries, sameLimit, isSame).sort((a, b) => compareTime(b, a))
}

/** The number of main requests that are searched. */
const latestLimit = 50

/** Milliseconds within which a page makes most of its requests. */
const pageSpan = 2_000

/**
 * Finds the latest stored main request, without the probes of browsers. If a page in a browser made the request
 * (`Sec-Fetch-Dest`, W3C Fetch Metadata), the result is the page.
 */
export async function findLatest(
  storage: Pick<ProfileStorage, 'search'>,
  program?: string,
): Promise<ProfileSummary | undefined> {
  const { summaries } = await storage.search({ filters: among('program', program), limit: readLimit })
  const mains = take(summaries, latestLimit, isMain)
  const wanted = mains.filter(summary => !isBrowserProbe(summary))
  const [newest = mains[0]] = wanted
  if (newest === undefined || (newest.destination ?? 'document') === 'document') return newest
  const isPage = ({ contentType, time }: ProfileSummary) =>
    contentType?.startsWith('text/html') === true && newest.time - time <= pageSpan
  return wanted.find(isPage) ?? newest
}

/** The filter of a field for one value; none without a value. */
export function among(field: SummaryField, value: string | null | undefined): ProfileFilter[] {
  return value === null || value === undefined ? [] : [{ field, test: 'among', value: new Set([value]) }]
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
  /** The program with the error, if others have it, too. */
  readonly program: string | undefined
  /** The latest requests with this error, the latest first. */
  readonly latest: readonly ProfileSummary[]
}

const occurrenceLimit = 1000
const shownLimit = 3

/** Finds the other requests with the same error; `undefined` for a request without a fingerprint. */
export function findOccurrences(
  summaries: readonly ProfileSummary[],
  summary: ProfileSummary,
): Occurrences | undefined {
  const { fingerprint, parent, route, token } = summary
  if (fingerprint === null) return undefined
  const same = summaries.filter(other => other.fingerprint === fingerprint)
  const all = take(same, occurrenceLimit + 1, other => isOfProgram(other, summary))
  const found = all.slice(0, occurrenceLimit)
  // An error of a sub-request is usually an error of its main request, too, and is then counted once.
  const tokens = new Set(found.map(each => each.token))
  const isOwn = (each: ProfileSummary) => each.token === token || each.parent === token || each.token === parent
  const others = found.filter(each => !isOwn(each) && !(each.parent !== null && tokens.has(each.parent)))
  const times = others.map(({ time }) => time)
  return {
    fingerprint,
    count: others.length,
    hasMore: all.length > found.length,
    first: others.length === 0 ? undefined : Math.min(...times),
    last: others.length === 0 ? undefined : Math.max(...times),
    program: same.every(other => isOfProgram(other, summary)) ? undefined : (summary.program ?? undefined),
    routes: new Set([route, ...others.map(other => other.route)]).size,
    latest: others.slice(0, shownLimit),
  }
}
