import { formatDuration } from '../../format/format-duration.ts'
import type { Profile } from '../../profile.ts'
import { readEventTree } from '../../reading/event-tree.ts'
import { controllerTimes } from '../../reading/kernel-gaps.ts'
import { coveredTime, readCalls } from '../../reading/read-calls.ts'
import { readRenders } from '../../reading/read-renders.ts'
import { asNumber, asObject, asObjects, asText } from '../../reading/read-soft.ts'
import type { ProfileCheck } from '../profile-check.ts'
import { toEnumeration } from './counting.ts'

/** Did a part of the request take no longer than so many milliseconds? */
export function checkDuration(limit: number, part: string): ProfileCheck {
  return {
    claim: `take at most ${limit} ms${part === 'request' ? '' : ` for ${part}`}`,
    panel: 'time',
    examine({ profile }) {
      const parts = measureParts(profile)
      const actual = parts.get(part)
      if (actual !== undefined) {
        return {
          holds: actual <= limit,
          expected: `at most ${limit}`,
          actual,
          found: `it took ${formatDuration(actual)}`,
        }
      }
      const known = [...parts.keys()]
      const found = `nothing was measured of it, but of ${toEnumeration(known)}`
      return { holds: false, expected: part, actual: known, found }
    },
  }
}

/**
 * The milliseconds of all that is known of a request by name: `request`, `controller`, `templates`, `calls`, then each name
 * of its stopwatch, event and listener.
 */
function measureParts(profile: Profile): ReadonlyMap<string, number> {
  const { nodes, roots } = readEventTree(profile)
  const { duration } = profile.summary
  const parts = new Map([['request', duration]])
  const add = (name: string, milliseconds: number) => parts.set(name, (parts.get(name) ?? 0) + milliseconds)
  for (const time of controllerTimes(roots, duration * 1000)) add('controller', time / 1000)
  for (const page of readRenders(profile).pages) add('templates', page.duration)
  const { calls } = readCalls(profile)
  if (calls.length > 0) add('calls', coveredTime(calls))
  for (const { duration, name } of asObjects(asObject(profile.data.time).measured)) {
    add(asText(name), asNumber(duration) / 1000)
  }
  for (const { duration = 0, kind, name } of nodes) if (kind !== 'request') add(name, duration / 1000)
  return parts
}
