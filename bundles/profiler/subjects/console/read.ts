import { formatCount } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import type { BadWork } from '../../profile/work.ts'

/** How many calls of the console were errors, else warnings, of those that were recorded. */
export function countComplaints({ collectors }: Profile): BadWork {
  const { entries = [] } = collectors.console ?? {}
  const countOf = (wanted: string) => entries.filter(({ method }) => method === wanted).length
  const errors = countOf('error')
  const count = errors || countOf('warn')
  const tone = errors > 0 ? 'error' : 'warning'
  return { count, text: count === 0 ? '' : formatCount(count, tone), tone }
}
