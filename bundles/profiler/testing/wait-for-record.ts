import { setTimeout as wait } from 'node:timers/promises'
import type { Profile } from '../profile.ts'
import type { ProfileStorage, StoredProfile } from '../store/profile-storage.ts'

/** Milliseconds: a record is kept a moment after its response was sent, on a busy machine a long one. */
const patience = 5000

/** Finds a record as soon as it is kept, and as is wanted. @throws Error after five seconds */
export async function waitForRecord(
  storage: Pick<ProfileStorage, 'find'>,
  token: string,
  isWanted: (profile: Profile) => boolean = () => true,
  limit: number = patience,
): Promise<StoredProfile> {
  const end = performance.now() + limit
  for (;;) {
    const stored = await storage.find(token)
    if (stored !== undefined && isWanted(stored.profile)) return stored
    if (performance.now() > end) throw new Error(`There is no such record "${token}".`)
    await wait(1)
  }
}
