import type { Profile } from '../profile.ts'
import { readLogs } from '../reading/read-logs.ts'

/** A message, and how often it was logged. */
export interface LogUse {
  readonly level: string
  readonly channel: string
  readonly message: string
  readonly times: number
}

/** Reads what was logged in a profile, by level, channel and message, in the order in which each came first. */
export function readLogUses(profile: Profile): Map<string, LogUse> {
  const uses = new Map<string, LogUse>()
  for (const { channel, level, message } of readLogs(profile).logs) {
    const key = JSON.stringify([level, channel, message])
    uses.set(key, { level, channel, message, times: (uses.get(key)?.times ?? 0) + 1 })
  }
  return uses
}
