import { type LogLevel, logLevels } from '../../../lib/log/logger.ts'
import type { PanelSubject } from './panel.ts'

/** Which lines of a log are asked for. */
export interface LogFilter {
  /** At least this. */
  readonly level: LogLevel
  /** Empty for all. */
  readonly channel: string
  /** Words that have to occur. */
  readonly text: string
  /** Whether lines that follow from the event tree are shown as well. */
  readonly hasEvents: boolean
}

/** What a line is found by. */
export interface FilteredLine {
  readonly level: LogLevel
  readonly channel: string
  readonly text: string
  readonly isEvent: boolean
}

/** Reads the filter of an address: `?level=warning&channel=app&text=price&events=1`. */
export function readLogFilter(query: PanelSubject['query']): LogFilter {
  return {
    level: logLevels.find(level => level === query.get('level')) ?? 'debug',
    channel: query.get('channel') ?? '',
    text: query.get('text') ?? '',
    hasEvents: Boolean(query.get('events')),
  }
}

/** Decides as the script does, which shows and hides the same lines without asking the server. */
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

/** The levels that a record meets when they are the least that is asked for. */
export function levelsUpTo(level: LogLevel): readonly LogLevel[] {
  return logLevels.slice(0, logLevels.indexOf(level) + 1)
}
