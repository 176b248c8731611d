import type { ProfileSummary } from '../profile/profile.ts'
import type { ProfileFilter, ProfileStorage } from '../store/profile-storage.ts'

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

const readLimit = 1000
const latestLimit = 3

/** Finds the other requests with the same error in one search; `undefined` for a request without a fingerprint. */
export async function findOccurrences(
  storage: Pick<ProfileStorage, 'search'>,
  { fingerprint, parent, route, token }: ProfileSummary,
): Promise<Occurrences | undefined> {
  if (fingerprint === null) return undefined
  const { summaries, total } = await storage.search({ filters: [sameError(fingerprint)], limit: readLimit })
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
    latest: others.slice(0, latestLimit),
  }
}

function sameError(fingerprint: string): ProfileFilter {
  return { field: 'fingerprint', test: 'among', value: new Set([fingerprint]) }
}
