import type { Caller } from '../../../lib/stack/callers.ts'
import { oncePerProfile } from './once-per-profile.ts'
import { joinPeriods, totalOf } from './periods.ts'
import type { Profile } from './profile.ts'
import type { ConnectionWaitData } from './query-data.ts'

/** A wait of a profile. */
export interface StoredWait extends ConnectionWaitData {
  readonly caller: Caller
}

/** The waits of a profile for free connections of pools. */
export interface StoredWaits {
  readonly waits: readonly StoredWait[]
  /** Milliseconds in which at least one part of the request waited. */
  readonly time: number
}

/** Reads the waits of a profile for free connections: none where there is nothing. */
export const readWaits: (profile: Profile) => StoredWaits = oncePerProfile(collectors => {
  const waits = (collectors.queries?.waits ?? []).map(({ caller = {}, ...wait }) => ({ ...wait, caller }))
  return { waits, time: totalOf(joinPeriods(waits)) }
})
