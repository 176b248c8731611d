import type { ProfileSummary } from '../profile/profile.ts'
import type { ProfileFilter } from './profile-storage.ts'

/** Makes the test whether a summary meets a condition. A field that is `null` is written as an empty text. */
export function matchFilter({ field, test, value }: ProfileFilter): (summary: ProfileSummary) => boolean {
  if (typeof value === 'object') return summary => value.has(toText(summary[field]))
  if (typeof value === 'string') {
    const isWanted = test === 'contains'
    return summary => toText(summary[field]).includes(value) === isWanted
  }
  // A text is no number, and a comparison with NaN is never true.
  if (test === 'from') return summary => toNumber(summary[field]) >= value
  return summary => toNumber(summary[field]) <= value
}

function toText(value: string | number | null): string {
  return typeof value === 'string' ? value : String(value ?? '')
}

function toNumber(value: string | number | null): number {
  return typeof value === 'number' ? value : Number.NaN
}
