import type { ProfileSummary } from '../profile.ts'

/** A row of the list. */
export interface ListedProfile {
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
