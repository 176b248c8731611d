import { recordLink } from '../../links.ts'
import type { Profile } from '../../profile.ts'
import { readLogs, severityOf } from '../../reading/read-logs.ts'
import type { PassFrame } from './span.ts'

/** A warning, or worse, as a mark on the time axis. */
export interface LogMark {
  /** Microseconds since the main request began. */
  readonly at: number
  readonly level: string
  readonly isError: boolean
  readonly message: string
  readonly link: string
}

/** Reads the log records of level warning and above. */
export function readLogMarks(profile: Profile, { offset, token }: PassFrame): LogMark[] {
  const link = recordLink(token, 'logger')
  return readLogs(profile).logs.flatMap(({ at, index, level, message }) => {
    const severity = severityOf(level)
    if (severity === 'plain') return []
    return [{ at: offset + at, level, isError: severity === 'error', message, link: `${link}#log-${index}` }]
  })
}
