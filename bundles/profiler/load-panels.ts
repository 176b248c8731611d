import type { Application } from '../../kernel/bundle.ts'
import { loadOnce } from './load-once.ts'
import type { ProfilePanel } from './panels/panel.ts'

/** Creates what gives the panels in the order of the menu. Their code is loaded when they are asked for first. */
export function createPanelLoader(app: Application): () => Promise<readonly ProfilePanel[]> {
  const load = loadOnce(async () => {
    const [{ createPanels }, { createPanelList }] = await Promise.all([
      import('./create-panels.ts'),
      import('./pages/create-panel-list.ts'),
    ])
    const own = createPanels(app)
    return () => createPanelList(own, app.collectors)
  })
  return async () => (await load())()
}
