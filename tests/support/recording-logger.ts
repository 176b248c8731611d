import type { Logger } from 'sinfonietta'
import type { TestKernel } from 'sinfonietta/testing'
import { createLogger } from '#lib/log/create-logger.ts'

/** What a logger has written. */
export type LogRecord = TestKernel['records'][number]

/** A logger that prints nothing and keeps everything. */
export function createRecorder(): { logger: Logger; records: readonly LogRecord[] } {
  const records: LogRecord[] = []
  const stream = { write: () => true }
  const logger = createLogger({ level: 'debug', format: 'json', stream })
  logger.observe(record => records.push(record))
  return { logger, records }
}
