import type { Application } from '../../kernel/bundle.ts'
import type { ProfileCollector } from './profile-collector.ts'

/** Creates the profiler's own collectors, in the order in which they are asked. */
export function createCollectors(_app: Application): ProfileCollector[] {
  return []
}
