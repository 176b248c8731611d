import type { ProfileSummary } from '../profile/profile.ts'
import type { ProfileFilter, ProfileQuery, ProfileSearchResult } from './profile-storage.ts'

/** Searches profiles that are in the order in which they were appended. */
export function searchSummaries(
  profiles: readonly { readonly summary: ProfileSummary }[],
  { filters = [], limit, offset = 0, sort }: ProfileQuery,
): ProfileSearchResult {
  const end = offset + limit
  // The usual search does not read all profiles.
  if (filters.length === 0 && sort === undefined) {
    const page = profiles.slice(Math.max(0, profiles.length - end), Math.max(0, profiles.length - offset))
    return { summaries: page.reverse().map(({ summary }) => summary), total: profiles.length }
  }
  const summaries = profiles.map(({ summary }) => summary).reverse()
  const found = filters.reduce((left, filter) => left.filter(matchFilter(filter)), summaries)
  const sorted = sort === undefined ? found : selectSorted(found, summary => summary, end, sort)
  return { summaries: sorted.slice(offset, end), total: found.length }
}

/** Creates the function that tests whether a summary meets a condition. `null` counts as an empty text. */
export function matchFilter({ field, test, value }: ProfileFilter): (summary: ProfileSummary) => boolean {
  if (typeof value === 'object') return summary => value.has(toText(summary[field]))
  if (typeof value === 'string') {
    const isWanted = test === 'contains'
    return summary => toText(summary[field]).includes(value) === isWanted
  }
  // Comparisons with NaN are false.
  if (test === 'from') return summary => toNumber(summary[field]) >= value
  return summary => toNumber(summary[field]) <= value
}

function toText(value: string | number | boolean | null): string {
  return typeof value === 'string' ? value : String(value ?? '')
}

function toNumber(value: string | number | boolean | null): number {
  return typeof value === 'number' ? value : Number.NaN
}

type Compare = (one: ProfileSummary, other: ProfileSummary) => number

/** `null` is last in both directions. */
function compareBy({ direction, field }: NonNullable<ProfileQuery['sort']>): Compare {
  const less = direction === 'ascending' ? -1 : 1
  return (one, other) => {
    const value = one[field]
    const otherValue = other[field]
    if (value === otherValue) return 0
    if (value === null) return 1
    if (otherValue === null) return -1
    return value < otherValue ? less : -less
  }
}

/** Selects the first items in the order of their summaries. Sorting all of 100,000 would take longer than a search may. */
export function selectSorted<item>(
  items: readonly item[],
  summaryOf: (item: item) => ProfileSummary,
  count: number,
  sort: NonNullable<ProfileQuery['sort']>,
): item[] {
  const compareSummaries = compareBy(sort)
  const compare = (one: item, other: item) => compareSummaries(summaryOf(one), summaryOf(other))
  let first: item[] = []
  let last: item | undefined
  for (const item of items) {
    if (last !== undefined && compare(item, last) >= 0) continue
    first.push(item)
    if (first.length < count + 1000) continue
    first = first.sort(compare).slice(0, count)
    last = first.at(-1)
  }
  return first.sort(compare).slice(0, count)
}
