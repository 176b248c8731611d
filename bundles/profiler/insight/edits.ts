import type { Profile, ProfileSummary } from '../profile/profile.ts'
import type { FileEdit } from '../subjects/config/data.ts'

/** Reads the edits of files that were in use when a request began, the oldest first. */
export function readEdits({ process, summary }: Profile): readonly FileEdit[] {
  const { edits = [] } = process.server ?? {}
  return edits.filter(({ files, time }) => time <= summary.time && files.length > 0)
}

/** The files of edits, each once, the latest first. */
export function filesOf(edits: readonly FileEdit[]): readonly string[] {
  return [...new Set(edits.toReversed().flatMap(({ files }) => files))]
}

/** Reads when the process that recorded a profile has started, in milliseconds since 1970; `undefined` if it is not known. */
export function readProcessStart({ process }: Profile): number | undefined {
  const time = Date.parse(String(process.server?.process.started ?? ''))
  return Number.isNaN(time) ? undefined : time
}

/** A restart of the server between two profiles. */
export interface Restart {
  /** Milliseconds since 1970. */
  readonly time: number
  /** The files that were edited between the two profiles. */
  readonly changed: readonly string[]
}

/** Finds the restart between two profiles, in any order; `undefined` if there was none, or it is not known. */
export function findRestart(one: Profile, other: Profile): Restart | undefined {
  const [earlier, later] = one.summary.time <= other.summary.time ? [one, other] : [other, one]
  const time = readProcessStart(later)
  if (time === undefined || earlier.summary.time >= time) return undefined
  return { time, changed: filesOf(editsSince(later, earlier.summary)) }
}

/** The edits between an earlier request and the request of a profile. */
export function editsSince(profile: Profile, { time }: Pick<ProfileSummary, 'time'>): readonly FileEdit[] {
  return readEdits(profile).filter(edit => edit.time > time)
}
