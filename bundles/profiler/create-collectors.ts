import type { Application } from '../../kernel/bundle.ts'
import { createEventsCollector } from './collectors/events.ts'
import { createLoggerCollector } from './collectors/logger.ts'
import { createTimeCollector } from './collectors/time.ts'
import type { ProfileCollector } from './profile-collector.ts'

/** Creates the profiler's own collectors, in the order in which they are asked. */
export function createCollectors(app: Application): ProfileCollector[] {
  return [createEventsCollector(app.dispatcher), createTimeCollector(app.redactor), createLoggerCollector()]
}
