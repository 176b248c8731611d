import type { Profile, ProfileSummary } from '../profile.ts'
import type { ProfileFilter, ProfileStorage } from '../store/profile-storage.ts'

/** The records that a record leads to, as far as they are there. */
export interface Relatives {
  readonly parent: ProfileSummary | undefined
  /** In the order in which the profile names them. */
  readonly children: readonly ProfileSummary[]
  /** The main request before it. */
  readonly older: ProfileSummary | undefined
  /** The main request after it. */
  readonly newer: ProfileSummary | undefined
  /** How many main requests came after it, as far as was looked. */
  readonly newerCount: number
  /** Whether there are more that were not looked at. */
  readonly hasMore: boolean
}

/** More sub-requests than this are not looked for. */
const childLimit = 1000

/** How far the next main request is looked for among sub-requests. */
const neighbourLimit = 200

/** Finds the relatives of a profile by searching, which does not wait for records that are gone. */
export async function findRelatives(storage: ProfileStorage, { summary, children }: Profile): Promise<Relatives> {
  const { parent, time, token } = summary
  const search = async (filter: ProfileFilter, limit: number, direction?: 'ascending' | 'descending') => {
    const sort = direction && { sort: { field: 'time', direction } as const }
    const { summaries } = await storage.search({ filters: [filter], limit, ...sort })
    return summaries
  }
  const [parents, found, before, after] = await Promise.all([
    parent === null ? [] : search({ field: 'token', test: 'contains', value: parent }, 1),
    children.length === 0 ? [] : search({ field: 'parent', test: 'contains', value: token }, childLimit),
    search({ field: 'time', test: 'until', value: time }, neighbourLimit, 'descending'),
    search({ field: 'time', test: 'from', value: time }, neighbourLimit, 'ascending'),
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
  }
}

/** Within a millisecond any order will do, as long as it stays the same. */
function compareTime(a: ProfileSummary, b: ProfileSummary): number {
  return a.time - b.time || (a.token < b.token ? -1 : Number(a.token > b.token))
}
