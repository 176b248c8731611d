import type { Application } from '../../kernel/bundle.ts'
import { createPanelList } from './pages/create-panel-list.ts'
import type { ProfilePanel } from './panels/panel.ts'

/** Creates what gives the panels in the order of the menu. Their code is loaded when they are asked for first. */
export function createPanelLoader(app: Application): () => Promise<readonly ProfilePanel[]> {
  let own: Promise<readonly ProfilePanel[]> | undefined
  return async () => {
    own ??= import('./create-panels.ts').then(({ createPanels }) => createPanels(app))
    return createPanelList(await own, app.collectors)
  }
}
