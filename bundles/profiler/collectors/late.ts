import type { Pass } from '../recording/pass.ts'
import type { ProfileCollector } from '../recording/profile-collector.ts'
import { roundTime } from '../recording/round-time.ts'

/** Tells that work went on after the response was sent, and since when that is. */
export const lateCollector: ProfileCollector = {
  name: 'late',
  tellsLate: true,
  collect(pass) {
    const { main, outcome } = pass
    if (main.overAt === undefined || outcome !== 'complete') return undefined
    const since = main.start + main.overAt - pass.start
    return hasWorked(pass, since) ? { since: roundTime(since) } : undefined
  },
}

function hasWorked({ calls, logs, renders }: Pass, since: number): boolean {
  if (logs.latest > since || (renders?.renders.at(-1)?.start ?? since) > since) return true
  // One that nobody waited for may be under way still; of one that has answered, perhaps nobody reads the rest.
  return calls?.calls.some(({ head = Infinity, end = head }) => end > since) ?? false
}
