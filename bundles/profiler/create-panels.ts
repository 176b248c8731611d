import type { Application } from '../../kernel/bundle.ts'
import { createHttpPanel } from './panels/http.ts'
import { memoryPanel } from './panels/memory.ts'
import type { ProfilePanel } from './panels/panel.ts'
import { templatesPanel } from './panels/templates.ts'

/** Creates the profiler's own panels, in the order of the menu. */
export function createPanels({ directory }: Application): ProfilePanel[] {
  return [templatesPanel, memoryPanel, createHttpPanel(directory)]
}
