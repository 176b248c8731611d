import type { Profile } from '../profile.ts'
import { readEventTree } from './event-tree.ts'
import { asNumber, asObject } from './read-soft.ts'

/**
 * The milliseconds until the response was ready to be sent: until the last `kernel.finish_request` was over. The rest of the
 * total is spent on sending. Where no such event was recorded, it is the total.
 */
export function readHandledTime(profile: Profile): number {
  const total = asNumber(asObject(profile.summary).duration)
  const finish = readEventTree(profile).roots.findLast(({ name }) => name === 'kernel.finish_request')
  return finish?.duration === undefined ? total : Math.min(total, (finish.start + finish.duration) / 1000)
}
