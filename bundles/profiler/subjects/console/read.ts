import { formatCount } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import type { BadWork } from '../../profile/work.ts'

/** The calls of `console` that were recorded, without those of `dump`, and how many there were. */
export function readPrinted({ collectors, summary }: Profile) {
  const { callsByKind, entries: all = [] } = collectors.console ?? {}
  const entries = all.filter(({ method }) => method !== 'dump')
  const dumped = all.length - entries.length
  if (callsByKind !== undefined) return { entries, count: summary.dumps - callsByKind.dump }
  // Of both kinds, some may have been left out.
  return { entries, count: dumped === 0 ? summary.dumps : entries.length }
}

/** How many calls of a method of the console there were. */
export function countPrinted({ collectors }: Profile, method: 'error' | 'warn'): number {
  const { callsByKind, entries = [] } = collectors.console ?? {}
  return callsByKind?.[method] ?? entries.filter(entry => entry.method === method).length
}

/** How many calls of the console were errors, else warnings. */
export function countComplaints(profile: Profile): BadWork {
  const errors = countPrinted(profile, 'error')
  const count = errors || countPrinted(profile, 'warn')
  const tone = errors > 0 ? 'error' : 'warning'
  return { count, text: count === 0 ? '' : formatCount(count, tone), tone }
}
