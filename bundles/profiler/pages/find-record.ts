import type { StoredProfile } from '../store/profile-storage.ts'
import { findRelatives, type Relatives } from './find-relatives.ts'
import type { PageServices } from './page-services.ts'

/** A record, and those that it leads to. */
export interface FoundRecord extends StoredProfile, Relatives {}

/** Finds the record of a token with its relatives. A client may know the token of its response before the profile is made. */
export async function findRecord(
  token: string,
  { profiler, storage }: Pick<PageServices, 'profiler' | 'storage'>,
): Promise<FoundRecord | undefined> {
  await profiler.whenKept(token)
  const found = await storage.find(token)
  return found && { ...found, ...(await findRelatives(storage, found.profile)) }
}
