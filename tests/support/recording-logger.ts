import { createLogger } from '#lib/log/create-logger.ts'
import type { Logger, LogRecord } from '#lib/log/logger.ts'

/** A logger that prints nothing and keeps everything. */
export function createRecorder(): { logger: Logger; records: readonly LogRecord[] } {
  const records: LogRecord[] = []
  const stream = { write: () => true }
  const logger = createLogger({ level: 'debug', format: 'json', stream })
  logger.observe(record => records.push(record))
  return { logger, records }
}
