import { setTimeout as delay } from 'node:timers/promises'
import type { Profile } from '../../profile/profile.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import { awaitedWork } from '../../subjects/work.ts'

/**
 * Milliseconds after a response until work that has begun since is in its profile. Later updates
 * of a profile come more slowly.
 */
const firstWait = 300
const longestWait = 2400

function isAtWork(profile: Profile): boolean {
  return awaitedWork.flatMap(({ list }) => list(profile)).some(({ end }) => end === undefined)
}

/**
 * Waits until the profiles of recent requests are complete: what is done after the response is
 * stored then. Work that begins later is not known. A request that ended a while ago is as it is.
 */
export async function awaitLateWork<Profiles extends readonly [Profile, ...Profile[]]>(
  profiles: Profiles,
  storage: Pick<ProfileStorage, 'find'>,
): Promise<Profiles> {
  let latest = profiles
  const end = Math.max(...profiles.map(({ summary }) => summary.time + summary.duration))
  for (let wait = firstWait; wait <= longestWait; wait *= 2) {
    const left = end + wait - Date.now()
    if (left <= 0) continue
    await delay(Math.min(left, wait))
    const read = async (profile: Profile) => (await storage.find(profile.summary.token))?.profile ?? profile
    // Each profile is replaced by a newer version of itself.
    const next = (await Promise.all(latest.map(read))) as unknown as Profiles
    const isSame = JSON.stringify(next.map(({ data }) => data)) === JSON.stringify(latest.map(({ data }) => data))
    latest = next
    if (isSame && !latest.some(isAtWork)) break
  }
  return latest
}
