import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import { compareTime, findSimilar, withoutQuery } from '../relatives.ts'
import { leastCounts, percentile } from '../route-statistics.ts'
import { compareProfiles } from './comparison.ts'
import { judgeComparison, type Verdict } from './judge-comparison.ts'

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
export interface Predecessors {
  /** The closest: the latest of the same URL, else of the same path, else of the same route. */
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
  // The limit of the search may leave out those of this URL.
  const same = earlier.some(({ url }) => url === summary.url) ? [] : await findSame(storage, summary)
  const rankOf = (other: ProfileSummary) => likenesses.indexOf(likenessOf(other, summary))
  const candidates = [...same, ...earlier].sort((a, b) => rankOf(a) - rankOf(b)).slice(0, candidateLimit)
  return { previous: candidates[0], candidates, spread: measureSpread(earlier) }
}

/** What has changed since the previous request. */
export interface PreviousComparison {
  readonly previous: ProfileSummary
  /** What both requests have in common: `same URL`. */
  readonly likeness: string
  readonly verdict: Verdict
}

/** Compares a profile with the closest previous one; `undefined` if there is none. */
export async function compareWithPrevious(
  storage: Pick<ProfileStorage, 'find' | 'search'>,
  profile: Profile,
): Promise<PreviousComparison | undefined> {
  const { summary } = profile
  const { previous, spread } = await findPredecessors(storage, summary)
  const found = previous && (await storage.find(previous.token))
  if (previous === undefined || found === undefined) return undefined
  const verdict = judgeComparison(compareProfiles(found.profile, profile, spread))
  return { previous, likeness: likenessOf(previous, summary), verdict }
}

async function findSame(
  storage: Pick<ProfileStorage, 'search'>,
  summary: ProfileSummary,
): Promise<readonly ProfileSummary[]> {
  const { controller, method, parent, route, time, url } = summary
  const { summaries } = await storage.search({
    filters: [
      { field: 'url', test: 'among', value: new Set([url]) },
      { field: 'time', test: 'until', value: time },
    ],
    limit: sameLimit,
  })
  return summaries
    .filter(other => other.method === method && other.route === route)
    .filter(other => (other.parent === null) === (parent === null))
    .filter(other => (parent === null || other.controller === controller) && compareTime(other, summary) < 0)
    .sort((a, b) => compareTime(b, a))
}

function measureSpread(summaries: readonly ProfileSummary[]): number {
  if (summaries.length < leastCounts.p50) return 0
  const sorted = Float64Array.from(summaries, ({ duration }) => duration).sort()
  return percentile(sorted, 90) - percentile(sorted, 10)
}
