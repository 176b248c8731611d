import type { Profile, ProfileSummary } from '../profile/profile.ts'
import type { ProfileFilter, ProfileStorage, StoredProfile } from '../store/profile-storage.ts'
import type { Finding } from './findings/finding.ts'

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

/** More sub-requests than this are not read. */
const readLimit = 100

/** Reads the profiles of the sub-requests of a profile. They are searched for: that does not wait for what is gone. */
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

/** So many that look alike are looked at. */
const limit = 200

/** Finds the record before one that asked for the same: by its method and route; without a route, by its path. */
export async function findPrevious(
  storage: Pick<ProfileStorage, 'search'>,
  summary: ProfileSummary,
): Promise<ProfileSummary | undefined> {
  const { method, route, time, token, url } = summary
  const filters: ProfileFilter[] = [
    { field: 'time', test: 'until', value: time },
    { field: 'method', test: 'contains', value: method },
    route === null
      ? { field: 'url', test: 'contains', value: withoutQuery(url) }
      : { field: 'route', test: 'contains', value: route },
  ]
  const { summaries } = await storage.search({ filters, limit, sort: { field: 'time', direction: 'descending' } })
  return summaries.find(other => other.token !== token && asksForSame(other, summary))
}

function asksForSame(one: ProfileSummary, other: ProfileSummary): boolean {
  const keys = [one, other].map(({ controller, method, parent, route, url }) => {
    const target = route === null ? withoutQuery(url) : ''
    // Many sub-requests may have the address of their main request.
    return JSON.stringify([method, route, target, parent === null ? '' : controller, parent === null])
  })
  return keys[0] === keys[1]
}

function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '')
}

/** A row of the list. */
interface ListedProfile {
  readonly summary: ProfileSummary
  /** Whether it stands below the row of the request that it was made by. */
  readonly isBelowParent: boolean
}

/** Moves sub-requests below the request that they were made by, when that one is listed, too; none is added or lost. */
export function groupByParent(summaries: readonly ProfileSummary[]): ListedProfile[] {
  const listed = new Set(summaries.map(({ token }) => token))
  const rows = new Map<ProfileSummary, ListedProfile>()
  const add = (summary: ProfileSummary, isBelowParent: boolean) => {
    if (rows.has(summary)) return
    rows.set(summary, { summary, isBelowParent })
    // In the order in which they were made, not the latest first.
    const own = summaries.filter(({ parent }) => parent === summary.token)
    for (const child of own.toSorted((a, b) => a.time - b.time)) add(child, true)
  }
  const hasParentHere = ({ parent }: ProfileSummary) => parent !== null && listed.has(parent)
  for (const summary of summaries) if (!hasParentHere(summary)) add(summary, false)
  // Damaged ones may name each other.
  for (const summary of summaries) add(summary, false)
  return [...rows.values()]
}

/** A profile that is to be shown, with its relatives and findings: for panels, exports, the toolbar and tools. */
export interface ShownProfile extends StoredProfile {
  /** What the rules found in it, the worst first. */
  readonly findings: readonly Finding[]
  /** The request that made this sub-request, when its profile is stored. */
  readonly parent: ProfileSummary | undefined
  /** Its sub-requests whose profiles are stored. */
  readonly children: readonly ProfileSummary[]
}
