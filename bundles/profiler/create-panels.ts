import type { Application } from '../../kernel/bundle.ts'
import type { ProfilePanel } from './panels/panel.ts'

/** Creates the profiler's own panels, in the order of the menu. */
export function createPanels(_app: Application): ProfilePanel[] {
  return []
}
