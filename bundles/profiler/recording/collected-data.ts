import type { ProfileSummary } from '../profile.ts'

/** What collectors have told of a pass; what some of them are still about to tell is there when `pending` resolves. */
export interface CollectedData {
  readonly summary: ProfileSummary
  readonly data: Record<string, unknown>
  /** The messages of those that failed, by their names. */
  readonly failures: Record<string, string>
  readonly pending: Promise<unknown> | undefined
}
