import type { ProfileSummary } from '../profile/profile.ts'
import type { ProfileQuery } from './profile-storage.ts'

/** The field to sort by, and the direction. */
export type SortOrder = NonNullable<ProfileQuery['sort']>

/** One in so many is looked at to guess which ones can be among the first. */
const sampling = 64

/**
 * The first ones of a list once it is sorted, without sorting all of it. Texts are in the order of their code units, what
 * is `null` stands last in both directions, and equals stay in the order in which they are given.
 */
export function sortFirst(summaries: readonly ProfileSummary[], count: number, order: SortOrder): ProfileSummary[] {
  const compare = typeof summaries[0]?.[order.field] === 'number' ? compareNumbers(order) : compareTexts(order)
  const sample: ProfileSummary[] = []
  for (const [index, summary] of summaries.entries()) if (index % sampling === 0) sample.push(summary)
  const worst = sample.sort(compare)[count - 1]
  if (worst === undefined) return summaries.toSorted(compare).slice(0, count)
  // As many as are wanted are no worse than this one, so what is worse can be none of them. Several times faster than filter().
  const candidates: ProfileSummary[] = []
  for (const summary of summaries) if (compare(summary, worst) <= 0) candidates.push(summary)
  return candidates.sort(compare).slice(0, count)
}

type Compare = (one: ProfileSummary, other: ProfileSummary) => number

/** A field is a number in all summaries, or in none. */
function compareNumbers({ direction, field }: SortOrder): Compare {
  const sign = direction === 'ascending' ? 1 : -1
  return (one, other) => sign * (Number(one[field]) - Number(other[field]))
}

function compareTexts({ direction, field }: SortOrder): Compare {
  const less = direction === 'ascending' ? -1 : 1
  return (one, other) => {
    const text = one[field]
    const otherText = other[field]
    if (text === null) return otherText === null ? 0 : 1
    if (otherText === null) return -1
    if (text < otherText) return less
    return text > otherText ? -less : 0
  }
}
