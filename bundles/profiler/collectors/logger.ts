import type { TracedLog } from '../recording/log-trace.ts'
import type { Pass } from '../recording/pass.ts'
import type { ProfileCollector } from '../recording/profile-collector.ts'

/** What was logged in a pass. */
export interface LoggerData {
  readonly records: readonly TracedLog[]
  /** How many records, between the first and the last, were not kept. */
  readonly dropped: number
}

/** Tells what was logged while a request was handled. The logger has masked it. */
export function createLoggerCollector(): ProfileCollector {
  return {
    name: 'logger',
    tellsLate: true,
    collect({ logs }: Pass): LoggerData | undefined {
      const records = logs.toArray()
      return records.length === 0 ? undefined : { records, dropped: logs.dropped }
    },
  }
}
