import type { Profile } from '../profile.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'

/** More sub-requests than this are not read. */
const childLimit = 100

/** Reads the profiles of the sub-requests of a profile. They are searched for: that does not wait for what is gone. */
export async function findChildren(
  storage: Pick<ProfileStorage, 'find' | 'search'>,
  { children, summary }: Profile,
): Promise<Profile[]> {
  if (children.length === 0) return []
  const filters = [{ field: 'parent', test: 'contains', value: summary.token } as const]
  const { summaries } = await storage.search({ filters, limit: childLimit })
  const found = await Promise.all(
    summaries.filter(({ token }) => children.includes(token)).map(({ token }) => storage.find(token)),
  )
  return found.flatMap(stored => stored?.profile ?? [])
}
