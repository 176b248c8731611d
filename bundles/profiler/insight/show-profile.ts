import type { ProfileStorage, StoredProfile } from '../store/profile-storage.ts'
import type { Inspector } from './findings/inspector.ts'
import { findRelatives, type Relatives, type ShownProfile } from './relatives.ts'
import { findSinceEdit } from './since-edit.ts'

/** Completes a stored profile by its findings, its relatives, and what has changed since the last edit of files. */
export async function showProfile(
  stored: StoredProfile,
  storage: ProfileStorage,
  inspector: Inspector,
): Promise<ShownProfile & Relatives> {
  const { profile } = stored
  const relatives = await findRelatives(storage, profile)
  const sinceEdit = await findSinceEdit(profile, relatives.earlier, { judge: inspector, storage })
  return { ...stored, ...relatives, findings: inspector.inspect(profile), sinceEdit }
}
