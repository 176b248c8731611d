import { formatCount } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import type { BadWork } from '../../profile/work.ts'

/** The calls of `console`, without those of `dump`, and how many there were. */
export function readPrinted({ collectors, summary }: Profile) {
  const { entries: all = [] } = collectors.console ?? {}
  const entries = all.filter(({ method }) => method !== 'dump')
  const dumped = all.length - entries.length
  // Of both kinds, some may have been left out.
  return { entries, count: dumped === 0 ? summary.dumps : entries.length }
}

/** How many calls of the console were errors, else warnings, of those that were recorded. */
export function countComplaints({ collectors }: Profile): BadWork {
  const { entries = [] } = collectors.console ?? {}
  const countOf = (wanted: string) => entries.filter(({ method }) => method === wanted).length
  const errors = countOf('error')
  const count = errors || countOf('warn')
  const tone = errors > 0 ? 'error' : 'warning'
  return { count, text: count === 0 ? '' : formatCount(count, tone), tone }
}
