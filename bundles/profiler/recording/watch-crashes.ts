import type { RequestContext } from '../../../kernel/request-context.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { Profiler } from './profiler.ts'

/**
 * Lets a profiler know when an error that nobody has caught, or a promise's that nobody has handled, is about to end the
 * process; returns what ends that. The process ends as it would without: this is only told.
 */
export function watchCrashes(profiler: Profiler, context: RequestContext, logger: Logger): () => void {
  const onCrash = (error: unknown) => {
    // The request is the one whose work has failed, also long after its response.
    const culprit = context.current
    profiler.crash(error, culprit)
    const token = profiler.find(culprit)?.token
    if (token !== undefined) logger.critical('What ends the process is in the record {record}.', { record: token })
  }
  process.on('uncaughtExceptionMonitor', onCrash)
  return () => process.off('uncaughtExceptionMonitor', onCrash)
}
