import { formatMicroseconds } from '../../format/format-microseconds.ts'
import { readLogs, type StoredLog } from '../../reading/read-logs.ts'
import type { Section } from './section.ts'
import { toList, toSpan, toValueSpan } from './text.ts'

/** What was logged, with its contexts. */
export const logsSection: Section = {
  panel: 'logger',
  write({ profile }, limit) {
    const { dropped, logs } = readLogs(profile)
    if (logs.length === 0) return []
    return [
      '## Logs',
      toList(logs, limit, writeLog),
      ...(dropped === 0 ? [] : [`${dropped.toLocaleString('en')} records in between were not kept.`]),
    ]
  },
}

function writeLog({ at, channel, context, level, message, place }: StoredLog): string {
  const line = `+${formatMicroseconds(at)} ${level} ${toSpan(channel)} ${toSpan(message)}`
  return [
    place === '' ? line : `${line} at ${toSpan(place)}`,
    ...(Object.keys(context).length === 0 ? [] : [`  - context: ${toValueSpan(context)}`]),
  ].join('\n')
}
