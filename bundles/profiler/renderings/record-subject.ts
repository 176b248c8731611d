import type { Finding } from '../findings/finding.ts'
import type { ProfileSummary } from '../profile.ts'
import type { StoredProfile } from '../store/profile-storage.ts'

/** A record that is to be rendered, with what is known of those it belongs to. */
export interface RecordSubject extends StoredProfile {
  /** What was found in it, the worst first. */
  readonly findings: readonly Finding[]
  /** The request that this sub-request was made by, when its record is there. */
  readonly parent: ProfileSummary | undefined
  /** Its sub-requests whose records are there. */
  readonly children: readonly ProfileSummary[]
}
