import type { ProfileSummary } from '../profile/profile.ts'
import { matchFilter } from './match-filter.ts'
import type { ProfileQuery, ProfileSearchResult } from './profile-storage.ts'
import { sortFirst } from './sort-first.ts'

/** Searches what is kept, which is given oldest first. */
export function searchSummaries(
  kept: readonly { readonly summary: ProfileSummary }[],
  { filters = [], limit, offset = 0, sort }: ProfileQuery,
): ProfileSearchResult {
  const end = offset + limit
  // Mostly the newest are wanted, of all that there are.
  if (filters.length === 0 && sort === undefined) {
    const page = kept.slice(Math.max(0, kept.length - end), Math.max(0, kept.length - offset))
    return { summaries: page.reverse().map(({ summary }) => summary), total: kept.length }
  }
  const [matchesFirst = () => true, ...matchesRest] = filters.map(matchFilter)
  const matching: ProfileSummary[] = []
  for (const { summary } of kept) if (matchesFirst(summary)) matching.push(summary)
  const found = matchesRest.reduce((left, matches) => left.filter(matches), matching.reverse())
  const sorted = sort === undefined ? found : sortFirst(found, end, sort)
  return { summaries: sorted.slice(offset, end), total: found.length }
}
