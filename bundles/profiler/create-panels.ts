import type { Application } from '../../kernel/bundle.ts'
import { createEventsPanel } from './panels/events.ts'
import { createLoggerPanel } from './panels/logger.ts'
import type { ProfilePanel } from './panels/panel.ts'
import { createTimePanel } from './panels/time.ts'

/** Creates the profiler's own panels, in the order of the menu. */
export function createPanels(_app: Application): ProfilePanel[] {
  return [createTimePanel(), createLoggerPanel(), createEventsPanel()]
}
