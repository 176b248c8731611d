import type { Application } from '../../kernel/bundle.ts'
import { loadOnce } from './load-once.ts'
import { createPanelList } from './pages/create-panel-list.ts'
import type { ProfilePanel } from './panels/panel.ts'

/** Creates what gives the panels in the order of the menu. Their code is loaded when they are asked for first. */
export function createPanelLoader(app: Application): () => Promise<readonly ProfilePanel[]> {
  const own = loadOnce(async () => (await import('./create-panels.ts')).createPanels(app))
  return async () => createPanelList(await own(), app.collectors)
}
