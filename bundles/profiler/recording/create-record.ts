import type { Redactor } from '../../../lib/redact/redactor.ts'
import { type Profile, schemaVersion } from '../profile.ts'
import type { ProfileRecord } from '../store/profile-storage.ts'
import type { CollectedData } from './collected-data.ts'
import type { Pass } from './pass.ts'

/** Makes the record of what was collected of a pass; nothing unmasked is in it. */
export function createRecord(
  pass: Pass,
  { data, failures, summary }: CollectedData,
  redactor: Redactor,
): ProfileRecord {
  const children = pass.children.map(({ token }) => token)
  const profile: Profile = {
    schemaVersion,
    summary: { ...summary, outcome: pass.outcome, subRequests: children.length },
    children,
    data,
    failures,
  }
  // Collectors have masked what they tell; this finds what they could not recognise: secrets of the environment.
  return { summary: profile.summary, text: redactor.knownSecrets(JSON.stringify(profile)) }
}
