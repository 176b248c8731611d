import type { Finding } from '../findings/finding.ts'
import type { StoredProfile } from '../store/profile-storage.ts'
import { findRelatives, type Relatives } from './find-relatives.ts'
import type { PageServices } from './page-services.ts'

/** A record, what was found in it, and those that it leads to. */
export interface FoundRecord extends StoredProfile, Relatives {
  readonly findings: readonly Finding[]
}

/** Finds the record of a token with its relatives. A client may know the token of its response before the profile is made. */
export async function findRecord(
  token: string,
  { inspector, profiler, storage }: Pick<PageServices, 'inspector' | 'profiler' | 'storage'>,
): Promise<FoundRecord | undefined> {
  await profiler.whenKept(token)
  const found = await storage.find(token)
  if (found === undefined) return undefined
  const { profile } = found
  const findings = (await inspector()).inspect(profile)
  return { ...found, findings, ...(await findRelatives(storage, profile)) }
}
