import { groupBy } from '../profile/group-by.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'

/** A main request with its sub-requests. */
export interface Family {
  /** A sub-request without a stored parent is the main request of a family of its own. */
  readonly main: ProfileSummary
  /** Its sub-requests on all levels, in any order. */
  readonly members: ProfileSummary[]
}

/** A sub-request in the tree of its family. */
export interface FamilyMember {
  readonly summary: ProfileSummary
  /** 1 for a sub-request of the main request itself. */
  readonly depth: number
}

/** Deeper sub-requests are on this level: damaged profiles may be the parents of each other. */
const depthLimit = 20

/** The number of profiles that lists read: the newest. */
export const readLimit = 100_000

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
 * Pins or unpins a profile with all profiles of its family, so that no page of a pinned profile leads to a profile that was
 * removed. False if the profile is not known, or cannot be written.
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
