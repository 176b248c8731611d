import type { Profile } from '../../profile/profile.ts'
import type { TimeData } from './data.ts'

/** The measurements of the stopwatch. */
interface Stopwatch extends Pick<TimeData, 'measured'> {
  /** How many names and periods were not recorded because there were too many. */
  readonly dropped: number
}

/** Reads the measurements of the stopwatch of a profile: empty lists if nothing was recorded. */
export function readStopwatch({ collectors }: Profile): Stopwatch {
  const { dropped = 0, measured = [] } = collectors.time ?? {}
  return { measured, dropped: measured.reduce((sum, event) => sum + event.dropped, dropped) }
}
