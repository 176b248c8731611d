import type { Profile } from '../profile/profile.ts'

/** The start of the process that recorded a profile. */
export interface ProcessStart {
  /** Milliseconds since 1970. */
  readonly time: number
  /** The files whose change made the server start the process; `undefined` if it was started for another reason. */
  readonly changed: readonly string[] | undefined
}

/** Reads the start of the process that recorded a profile; `undefined` if it is not known. */
export function readProcessStart({ process }: Profile): ProcessStart | undefined {
  const { changed, process: facts } = process.server ?? {}
  const time = Date.parse(String(facts?.started))
  return Number.isNaN(time) ? undefined : { time, changed }
}

/** Finds the restart between two profiles, in any order; `undefined` if there was none, or it is not known. */
export function findRestart(one: Profile, other: Profile): ProcessStart | undefined {
  const [earlier, later] = one.summary.time <= other.summary.time ? [one, other] : [other, one]
  const start = readProcessStart(later)
  return start !== undefined && earlier.summary.time < start.time ? start : undefined
}
