import { type LogLevel, logLevels } from '../../../../../lib/log/logger.ts'

/** Which lines of the log are shown. */
export interface LogFilter {
  /** The lowest level. */
  readonly level: LogLevel
  /** Empty for all. */
  readonly channel: string
  /** Words that a line must contain. */
  readonly text: string
  /** Whether notifications are shown as well. */
  readonly hasEvents: boolean
}

/** The parts of a line that the filter looks at. */
export interface FilteredLine {
  readonly level: LogLevel
  readonly channel: string
  readonly text: string
  readonly isEvent: boolean
}

/** Reads the filter of an address: `?level=warning&channel=app&text=price&events=1`. */
export function readLogFilter(query: URLSearchParams): LogFilter {
  return {
    level: logLevels.find(level => level === query.get('level')) ?? 'debug',
    channel: query.get('channel') ?? '',
    text: query.get('text') ?? '',
    hasEvents: Boolean(query.get('events')),
  }
}

/** Whether a line is shown. The client script filters by the same rules, without a request. */
export function isShown(filter: LogFilter, line: FilteredLine): boolean {
  const text = line.text.toLowerCase()
  return (
    levelsUpTo(line.level).includes(filter.level) &&
    (filter.channel === '' || line.channel === filter.channel) &&
    (filter.hasEvents || !line.isEvent) &&
    filter.text
      .toLowerCase()
      .split(/\s+/)
      .every(word => text.includes(word))
  )
}

/** The levels for which a message of this level is shown, when they are the lowest level of the filter. */
export function levelsUpTo(level: LogLevel): readonly LogLevel[] {
  return logLevels.slice(0, logLevels.indexOf(level) + 1)
}
