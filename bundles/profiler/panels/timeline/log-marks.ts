import { recordLink } from '../../pages/links.ts'
import type { Profile } from '../../profile.ts'
import { asNumber, asObject, asObjects, asText } from '../read-soft.ts'
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

const errorLevels = ['error', 'critical', 'alert', 'emergency']

/** Reads the log records of level warning and above. */
export function readLogMarks({ data }: Profile, { offset, token }: PassFrame): LogMark[] {
  const link = recordLink(token, 'logger')
  return asObjects(asObject(data.logger).records).flatMap(({ at, level, message }, index) => {
    const isError = errorLevels.includes(asText(level))
    if (!isError && level !== 'warning') return []
    const mark = { at: offset + asNumber(at), level: asText(level), isError, message: asText(message) }
    return [{ ...mark, link: `${link}#log-${index}` }]
  })
}
