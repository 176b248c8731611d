import type { Application } from '../../kernel/bundle.ts'
import { configPanel } from './panels/config.ts'
import type { ProfilePanel } from './panels/panel.ts'
import { requestPanel } from './panels/request.ts'

/** Creates the profiler's own panels, in the order of the menu. */
export function createPanels(_app: Application): ProfilePanel[] {
  return [requestPanel, configPanel]
}
